"""A suite in, sentences out: its settings, how each behavior is recognized, and what is never checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from highbar.language.exact import write_decimal
from highbar.language.phrases import count, some_and_more
from highbar.suite.check_words import check_in_words
from highbar.suite.judge_words import judge_lines
from highbar.suite.parts import Agent, Behavior, RunSettings, Suite

_NO_CATEGORY = "(no category)"


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
        for counter, listed in ((expected, scenario.expected_behaviors), (forbidden, scenario.must_not)):
            for name, behavior in listed.items():
                counter[name] += 1
                used.setdefault(name, []).append(behavior)
    for name, found in used.items():
        ways = list(dict.fromkeys(_recognized(behavior) for behavior in found))
        way = ways[0] if len(ways) == 1 else f"in {len(ways)} ways, depending on the scenario; the first: {ways[0]}"
        where = [f"expected in {count(expected[name], 'scenario')}"] if expected[name] else []
        where += [f"must not happen in {count(forbidden[name], 'scenario')}"] if forbidden[name] else []
        yield name, f"{_sentence(way)} {_sentence(', '.join(where))}"


def _recognized(behavior: Behavior) -> str:
    words = check_in_words(behavior.check)
    return f"weak, by a list of English phrases that ships with Highbar: {words}" if behavior.weak else words


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
    if suite.is_plan:
        yield "This file only lists the scenarios that must have a result: it asks nothing and checks nothing."


def settings(suite: Suite) -> Iterator[tuple[str, str]]:
    """Sentences about the tool that the suite was written for, the agent, the judges, the canaries and the run."""
    if suite.tool is not None:
        sentences = (f"This suite was written for {suite.tool.name}", *suite.tool.notes)
        yield suite.tool.name, " ".join(map(_sentence, sentences))
    if suite.agent is not None:
        yield "agent", _say_agent(suite.agent)
    yield from judge_lines(suite)
    if not suite.is_plan:
        yield "run", _say_run(suite.run)


def _say_agent(agent: Agent) -> str:
    version = f", version {agent.version}" if agent.version else ""
    reports = [what for what in ("behaviors", "quality") if getattr(agent, f"reports_{what}")]
    itself = f"; it reports {' and '.join(reports)} itself" if reports else ""
    target = agent.target if isinstance(agent.target, str) else " ".join(agent.target)
    kinds = {"python": "Python function", "http": f"HTTP ({agent.format})", "command": "command"}
    return _sentence(f"{kinds[agent.kind]} {target}{version}{itself}")


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
