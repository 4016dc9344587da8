"""`highbar plan`: how many scenarios or trials a clear verdict needs, given numbers, a policy, or results."""

from __future__ import annotations

import sys
from typing import Any, get_args

import click

from highbar.cli import streams
from highbar.cli.options import FORMAT_HELP, INPUT_FORMAT, format_option
from highbar.cli.streams import watching
from highbar.errors import InputError, Problem
from highbar.model import Policy, SpendingKind
from highbar.model.job import Job
from highbar.planning import Plan
from highbar.planning.questions import PlanOptions, Question, answer_numbers, answer_rules, read_question
from highbar.report import PLANS

_EXAMPLES = """\b
Examples:
  highbar plan --threshold 85% --rate 90%          scenarios until 90% passes 85%
  highbar plan --threshold 85% --rate 90% --trials 3 --icc 0.3
  highbar plan --scenarios 100                     what 100 scenarios can show
  highbar plan --scenarios 100 --threshold 85% --rate 90% --rate 80%
  highbar plan --difference 5% --differing 10%     scenarios that show 5 points
  highbar plan --sequential --threshold 85% --scenarios 200
                                                   what stopping early saves
  highbar plan --policy highbar.yaml               what each rule needs
  highbar plan results.jsonl                       what would settle each rule
"""


@click.command("plan", short_help="Say how many scenarios or trials are needed.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option("--agent-version", metavar="V", help="Which version is planned for, for progressive thresholds.")
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--threshold", metavar="SHARE", help="The threshold to reach: 85%.")
@click.option("--rate", multiple=True, metavar="SHARE", help="A supposed true rate. May be repeated.")
@click.option(
    "--scenarios",
    type=click.IntRange(1, 10**9),
    metavar="N",
    help="Say what so many scenarios can show; with --sequential, how many there are.",
)
@click.option("--difference", metavar="SHARE", help="A difference between two versions that is to be shown.")
@click.option("--differing", metavar="SHARE", help="On how many scenarios the versions differ; 10% by default.")
@click.option("--power", metavar="SHARE", help="The chance of a clear verdict; 80% by default.")
@click.option("--confidence", metavar="SHARE", help="The confidence of the gate; by default the policy's, or 95%.")
@click.option("--tolerate", metavar="SHARE", help="The failure rate that 100% must exclude; 5% by default.")
@click.option("--trials", type=click.IntRange(1, 10**6), metavar="N", help="Trials of each scenario; 1 by default.")
@click.option("--icc", metavar="SHARE", help="How alike the trials of a scenario are: their intraclass correlation.")
@click.option("--sequential", is_flag=True, help="Plan for a run that stops as soon as it is decided.")
@click.option(
    "--spending",
    type=click.Choice(get_args(SpendingKind)),
    help="With --sequential: whether it can be decided early from its start, or mostly near its end.",
)
@format_option(tuple(PLANS))
def command(*, report_format: str, **options: Any) -> int:
    """Say how many scenarios or trials a clear verdict takes, and what a given number of them can show.

    It answers from --threshold, --scenarios or --difference; else for each rule of the policy; and from RESULTS, what
    would settle each rule.
    """
    question = read_question(PlanOptions(**options))
    streams.print_text(PLANS[report_format](_answer(question), streams.display(sys.stdout)))
    return 0


def _answer(question: Question) -> Plan:
    if question.options.results:
        return _from_results(question)
    if question.options.about_policy:
        return answer_rules(_policy(question), question)
    return answer_numbers(question)


def _from_results(question: Question) -> Plan:
    from highbar import pipeline  # the other questions do not need the engine
    from highbar.bar.on_demand import with_readers  # as above
    from highbar.verdicts.settling import plan_from  # as above

    job = Job(
        question.options.results,
        policy=question.options.policy,
        agent_version=question.options.agent_version,
        input_format=question.options.input_format,
        stdin=streams.standard_input(),
    )
    with watching(quiet=False) as watch:
        return plan_from(pipeline.check(with_readers(job), watch))


def _policy(question: Question) -> Policy:
    from highbar import policy as policies  # numbers alone need neither the reader nor its YAML parser

    here = policies.find_here() if question.options.policy is None else None
    found = question.options.policy if here is None else str(here)
    if found is None:
        missing = policies.missing()
        hint = "ask with --threshold or --scenarios, or name results; highbar plan --help has examples"
        raise InputError(
            Problem("policy.missing", f"nothing to plan: {missing.message}", hint=f"{hint}; {missing.hint}")
        )
    policy = policies.read_named(found)
    known = question.options.agent_version or policy.agent_version
    return policies.resolve_version(policy, given=known) if known else policy
