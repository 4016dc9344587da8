"""`highbar baseline ratchet`: a policy and a baseline in, higher thresholds out, printed or written."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Literal

import click

from highbar.cli import streams
from highbar.cli.options import format_option
from highbar.errors import InputError, Problem
from highbar.language.threshold import ThresholdError, read_share

_STEP = "1%"

_EXAMPLES = """\b
Examples:
  highbar baseline ratchet                          propose
  highbar baseline ratchet --write                  and write it into the policy
  highbar baseline ratchet --history history/       to what the last five runs show together
  highbar baseline ratchet --rule step --step 0.5%  slightly above the baseline
"""


@click.command("ratchet", short_help="Raise the thresholds to what a baseline has shown.", epilog=_EXAMPLES)
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option("--baseline", type=click.Path(), metavar="FILE", help="The baseline; else the one that the policy names.")
@click.option(
    "--history",
    type=click.Path(),
    metavar="DIR",
    help="Raise to what the last five runs of this history show together, failed ones included, and not to a baseline.",
)
@click.option("--agent-version", metavar="V", help="Which step of a progressive threshold holds.")
@click.option(
    "--rule",
    type=click.Choice(["bound", "step"]),
    default="bound",
    show_default=True,
    help="How far: to the worse end of the baseline's interval, or by a step beyond its value.",
)
@click.option("--step", metavar="SHARE", help=f"How far beyond, with --rule step; {_STEP} by default.")
@click.option("--write", is_flag=True, help="Write the policy; else only show what would change.")
@format_option()
def command(
    *,
    policy: str | None,
    baseline: str | None,
    history: str | None,
    agent_version: str | None,
    rule: Literal["bound", "step"],
    step: str | None,
    write: bool,
    report_format: str,
) -> int:
    """Raise the thresholds of a policy to what a baseline, or a history of runs, has shown. None is ever lowered.

    A baseline is a run that passed, so repeated raises select lucky runs; pooled runs of a history do not. They must
    have the same suite, scoring and judge, and be of ancestors of the commit that is checked out.
    --write replaces the digits of the thresholds, and nothing else in the policy.
    """
    from highbar.bar.raising import ratchet  # not needed for help and usage errors
    from highbar.bar.ratchet import Climb  # as above
    from highbar.report.baseline_text import render_ratchet, render_ratchet_json  # as above

    climb = Climb(rule, _step(rule, step))
    if history is not None and (baseline is not None or rule == "step"):
        raise InputError(
            Problem(
                "option.conflict", f"--history cannot be combined with {'--baseline' if baseline else '--rule step'}"
            )
        )
    named = Path(baseline) if baseline else None
    found = ratchet(_policy(policy), named, climb, agent_version, write=write, history=history)
    screen = streams.display(sys.stdout)
    streams.print_text(render_ratchet_json(found) if report_format == "json" else render_ratchet(found, screen))
    return 0


def _policy(named: str | None) -> Path:
    if named is not None:
        return Path(named)
    from highbar import policy as policies  # as above

    found = policies.find_here()
    if found is None:
        raise InputError(policies.missing())
    return found


def _step(rule: str, text: str | None) -> Fraction:
    if text is not None and rule != "step":
        raise InputError(Problem("option.needs-another", "--step goes with --rule step"))
    try:
        step = read_share(text or _STEP)
    except ThresholdError as error:
        raise InputError(Problem("option.bad-value", f"--step: {error.message}", hint=error.hint)) from None
    if step == 0:
        raise InputError(Problem("option.bad-value", "--step: found 0, wanted a share above 0", hint="write 1%"))
    return step
