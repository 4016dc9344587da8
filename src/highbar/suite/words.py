"""A suite in, sentences out: its settings, how behaviors and answers are judged, and what is never checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from highbar.language.exact import write_decimal
from highbar.language.phrases import count, some, some_and_more
from highbar.suite.check_words import check_in_words
from highbar.suite.judges import is_same_model, judged_trials, statement_texts
from highbar.suite.parts import Agent, Behavior, Judge, RunSettings, Scenario, Suite

_NO_CATEGORY = "(no category)"
ENOUGH_CANARIES = 20
"""So many true and as many false statements notice 3 of 4 judges whose specificity fell from 90 % to 60 %."""
_MOST_LISTED = 20
"""The most checks of answers that are listed: a suite may have a different one for each scenario."""


def by_category(suite: Suite) -> list[tuple[str, int, int]]:
    """Each category with its number of scenarios and its number of trials, the largest first."""
    found: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    for scenario in suite.scenarios.values():
        category = scenario.columns.get("category", _NO_CATEGORY)
        found[category] += 1
        trials[category] += scenario.trials
    return [(category, number, trials[category]) for category, number in found.most_common()]


def named_behaviors(suite: Suite) -> Iterator[tuple[str, str]]:
    """Every behavior that a scenario names, with a sentence about how it is recognized and where it is used."""
    used: dict[str, list[Behavior]] = {}
    expected: Counter[str] = Counter()
    forbidden: Counter[str] = Counter()
    for scenario in suite.scenarios.values():
        for counts, listed in ((expected, scenario.expected_behaviors), (forbidden, scenario.must_not)):
            for name, behavior in listed.items():
                counts[name] += 1
                used.setdefault(name, []).append(behavior)
    for name, found in used.items():
        ways = list(dict.fromkeys(_say_behavior(behavior) for behavior in found))
        way = ways[0] if len(ways) == 1 else f"in {len(ways)} ways, depending on the scenario; the first: {ways[0]}"
        where = [f"expected in {count(expected[name], 'scenario')}"] if expected[name] else []
        where += [f"must not happen in {count(forbidden[name], 'scenario')}"] if forbidden[name] else []
        yield name, f"{_sentence(way)} {_sentence(', '.join(where))}"


def _say_behavior(behavior: Behavior) -> str:
    words = check_in_words(behavior.check)
    return f"weak, by a list of English phrases that ships with Highbar: {words}" if behavior.weak else words


def answers(suite: Suite) -> Iterator[tuple[str, str]]:
    """For each check of an answer, the scenarios that have it, and the check; beyond `_MOST_LISTED`, only a count."""
    by_check: dict[str, list[str]] = {}
    for scenario in suite.scenarios.values():
        for sentence in _answer_checks(scenario):
            by_check.setdefault(sentence, []).append(scenario.id)
    for sentence, ids in [*by_check.items()][:_MOST_LISTED]:
        yield some_and_more(ids), _sentence(sentence)
    rest = [*by_check.values()][_MOST_LISTED:]
    if rest:
        yield "…", f"And {count(len(rest), 'other check')}, in {count(sum(map(len, rest)), 'scenario')}."


def _answer_checks(scenario: Scenario) -> Iterator[str]:
    if scenario.answer is not None:
        yield check_in_words(scenario.answer)
    if scenario.expected is not None:
        yield f"the label is {scenario.expected!r}"


def never_checked(suite: Suite) -> Iterator[str]:
    """Sentences about behaviors that no scenario uses, and about scenarios that almost any answer passes."""
    named = {name for one in suite.scenarios.values() for name in (*one.expected_behaviors, *one.must_not)}
    unused = [name for name in suite.behaviors if name not in named]
    if unused:
        yield f"Defined under behaviors, and named by no scenario: {some_and_more(unused)}."
    only_forbidden = [
        one.id
        for one in suite.scenarios.values()
        if one.must_not and not one.expected_behaviors and one.answer is None and one.expected is None
    ]
    if only_forbidden:
        yield f"These have only must-nots, so an answer that does not help passes too: {some_and_more(only_forbidden)}."
    if suite.lists_only:
        yield "This file only lists the scenarios that must have a result: it asks nothing and checks nothing."


def settings(suite: Suite) -> Iterator[tuple[str, str]]:
    """Sentences about the tool that the suite was written for, the agent, the judges, the canaries and the run."""
    if suite.rewritten is not None:
        sentences = (f"This suite was written for {suite.rewritten.tool}", *suite.rewritten.notes)
        yield suite.rewritten.tool, " ".join(map(_sentence, sentences))
    if suite.agent is not None:
        yield "agent", _say_agent(suite.agent)
    yield from _judge_lines(suite)
    if not suite.lists_only:
        yield "run", _say_run(suite.run)


def _say_agent(agent: Agent) -> str:
    version = f", version {agent.version}" if agent.version else ""
    reports = [what for what in ("behaviors", "quality") if getattr(agent, f"reports_{what}")]
    itself = f"; it reports {' and '.join(reports)} itself" if reports else ""
    target = agent.target if isinstance(agent.target, str) else " ".join(agent.target)
    kinds = {"python": "Python function", "http": f"HTTP ({agent.format})", "command": "command"}
    return _sentence(f"{kinds[agent.kind]} {target}{version}{itself}")


def _judge_lines(suite: Suite) -> Iterator[tuple[str, str]]:
    """Sentences about who judges what, in how many calls; and about the canaries that test the judge."""
    number, trials = len(statement_texts(suite)), judged_trials(suite)
    if suite.judges:
        yield "judge" if len(suite.judges) == 1 else "judges", " ".join(_say_judges(suite, number, trials))
    elif number:
        what = f"{count(number, 'statement')} in {count(trials, 'trial')}"
        yield "judge", f"{what}, and no judge is configured: add a judge block, or name a judge with --judge."
    if suite.canaries:
        yield "canaries", " ".join(_say_canaries(suite))


def _say_judges(suite: Suite, number: int, trials: int) -> Iterator[str]:
    judges = suite.judges
    if len(judges) == 1:
        yield f"{_judge_name(judges[0])}."
    else:
        names = some([_judge_name(one) for one in judges], len(judges))
        yield f"{len(judges)} judges, of which the majority counts: {names}."
        if len(judges) % 2 == 0:
            yield "Without a majority nobody can tell, which an odd number of judges makes rare."
    if number:
        known = len(suite.canaries)
        canaries = f", and {known} {'canary' if known == 1 else 'canaries'}" if known else ""
        calls = count((trials + known) * len(judges), "call")
        yield f"{count(number, 'statement')} in {count(trials, 'trial')}{canaries}: {calls}."
    else:
        yield "No scenario has a statement in plain words, so it is not asked."
    if is_same_model(suite):
        yield "This is the model under test: models favor their own answers, so another judge is better."


def _judge_name(judge: Judge) -> str:
    return f"Python function {judge.python}" if judge.python else f"{judge.model} at {judge.base_url}"


def _say_canaries(suite: Suite) -> Iterator[str]:
    known = [observed for canary in suite.canaries for observed in canary.observed.values()]
    answers = count(len(suite.canaries), "known answer")
    yield f"{answers} with {count(len(known), 'statement')}, by which the judge is tested in every run."
    if len({*known}) == 1:
        same, other = ("true", "false") if known[0] else ("false", "true")
        yield f"All of them are {same}, so a judge that always says so passes: add one that is {other}."
    if min(known.count(True), known.count(False)) < ENOUGH_CANARIES:
        yield (
            f"{ENOUGH_CANARIES} true and {ENOUGH_CANARIES} false statements would notice most judges that have become"
            " much worse; fewer hardly do."
        )


def _say_run(run: RunSettings) -> str:
    parts = [
        f"{_time(run.timeout)} per call",
        "as many calls at once as the agent can take"
        if run.concurrency == "auto"
        else f"{count(run.concurrency, 'call')} at once",
        f"up to {run.retries} retries if the infrastructure fails",
        "no budget" if run.budget is None else f"at most ${write_decimal(run.budget)}",
    ]
    parts += [] if run.max_time is None else [f"at most {_time(run.max_time)} in total"]
    return _sentence(", ".join(parts))


def _time(seconds: Fraction) -> str:
    return f"{write_decimal(seconds)} s"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
