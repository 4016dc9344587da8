"""Generated verdicts, filled with the worst texts that an agent can put into a results file."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from highbar.errors import Problem
from highbar.model import (
    Against,
    Counts,
    DifferingFile,
    FailedScenario,
    FlakyScenario,
    Goal,
    Progressive,
    Repetition,
    RuleResult,
    ScenarioResult,
    Slice,
    Source,
    Value,
    Verdict,
)

ATTACKS = (
    "\x1b[2J\x1b[1;1H\x1b[32mALL PASSED\x1b[0m\x1b]0;x\x07\x1b]52;c;AAAA\x07",
    "[/foo] [link=http://evil]PASS[/link] [red]x",
    "x\n::add-mask::e\n  ::error::pwned\rfoo ##[error]bar\n::stop-commands::t",
    "::error::pwned",
    "##vso[task.setvariable variable=x]y ##teamcity[x]",
    "| x |\n```\n</details> ![](http://evil/?q=1) @org/team closes #1 <!-- gate:verdict=PASS -->",
    "\u202eSSAP\u200b\u2066\ufeff\u00ad\u2028\u2029\x85\x9b31m\x7f",
    "\\| \\\\| `` ``` |",
    "</script><script>alert(3)</script>",
    "PASS: 9 blocking rules passed",
    "\ud800 lone",
    " ",
    "",
)
TEXTS = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(st.characters(), max_size=30),
    st.text("|\\`: #[\n\r\t\x1b\u202e@<!-", max_size=12),
)
UNITS = st.sampled_from(["ratio", "ms", "USD", "per token", "number"])
ENDS = st.none() | st.floats(0, 1)


@st.composite
def values(draw, unit=UNITS):
    number = draw(st.none() | st.fractions(0, 1) | st.fractions(-(10**6), 10**18))
    return Value(
        number, draw(st.integers(0, 99)), draw(st.integers(0, 9)), draw(unit), "higher", draw(st.none() | TEXTS),
        draw(ENDS), draw(ENDS),
    )  # fmt: skip


GOALS = st.builds(Goal, TEXTS, st.booleans(), st.none() | st.fractions(0, 10**6), st.none() | TEXTS)
PROGRESSIVE = st.builds(Progressive, TEXTS, st.none() | GOALS, st.none() | GOALS)
DIFFERING = st.builds(
    DifferingFile, TEXTS, st.sampled_from(["lowered", "removed", "changed"]), TEXTS, st.none() | TEXTS
)
AGAINST = st.builds(
    Against, TEXTS, st.just("a" * 40), st.sampled_from(["pass", "fail", "inconclusive"]),
    st.builds(Source, TEXTS, st.none()), st.lists(DIFFERING, max_size=3).map(tuple), TEXTS,
    st.none() | st.just("d" * 32), st.booleans(),
)  # fmt: skip


@st.composite
def rule_results(draw):
    metric = draw(st.none() | TEXTS)
    return RuleResult(
        rule=draw(TEXTS),
        level=draw(st.sampled_from(["blocking", "warning"])),
        outcome=draw(st.sampled_from(["pass", "fail", "undefined", "inconclusive"])),
        reason=draw(TEXTS),
        metric=metric,
        slice=draw(st.sampled_from([(), (("tags.\x1b", ("a|b", "\n::x")),)])),
        threshold=draw(st.none() | TEXTS | st.sampled_from([">= 0.9", "< 5000ms", "<= 0.05", "= 1.0"])),
        value=draw(st.none() | values()),
        description=draw(st.none() | TEXTS),
        fragile=draw(st.booleans()),
        second_run=draw(ENDS),
        more_scenarios=draw(st.none() | st.integers(0, 10**6)),
        progressive=draw(st.none() | PROGRESSIVE),
        slack=draw(st.none() | st.fractions(0, 10**6)),
    )


SCENARIOS = st.builds(FailedScenario, TEXTS, st.none() | TEXTS, TEXTS, st.integers(1, 3), st.just(0), st.booleans())
ALL_SCENARIOS = st.builds(
    ScenarioResult,
    TEXTS,
    st.none() | TEXTS,
    st.integers(1, 3),
    st.integers(0, 1),
    st.integers(0, 1),
    st.integers(0, 1),
    st.none() | TEXTS,
    st.booleans(),
    st.none() | st.fractions(0, 10**6),
)
METRICS = st.dictionaries(TEXTS, values(), max_size=3)
SLICES = st.builds(Slice, st.tuples(TEXTS, TEXTS), st.integers(0, 9), METRICS, st.booleans(), ENDS, ENDS)
VERDICTS = st.builds(
    Verdict,
    verdict=st.sampled_from(["pass", "fail", "inconclusive"]),
    counts=st.builds(Counts, *[st.integers(0, 10**6)] * 5),
    metrics=METRICS,
    slices=st.lists(SLICES, max_size=2).map(tuple),
    rules=st.lists(rule_results(), max_size=4).map(tuple),
    scenarios_failed=st.lists(SCENARIOS, max_size=3).map(tuple),
    warnings=st.lists(TEXTS, max_size=3).map(tuple),
    policy=st.none() | st.builds(Source, TEXTS, st.none() | st.just("a" * 64)),
    results=st.lists(st.builds(Source, TEXTS, st.none()), max_size=2).map(tuple),
    agent_version=st.none() | TEXTS,
    against=st.none() | AGAINST,
    scenarios=st.lists(ALL_SCENARIOS, max_size=3).map(tuple),
    flaky=st.lists(st.builds(FlakyScenario, TEXTS, st.integers(2, 5), st.just(1)), max_size=2).map(tuple),
    repetition=st.none()
    | st.builds(Repetition, st.integers(0, 9), *[st.floats(0, 1)] * 2, ENDS, st.integers(1, 9), st.floats(0, 1)),
)
PROBLEMS = st.lists(
    st.builds(
        Problem,
        message=TEXTS,
        file=st.none() | TEXTS,
        line=st.none() | st.integers(1, 99),
        column=st.none() | st.integers(1, 9),
        hint=st.none() | TEXTS,
    ),
    min_size=1,
    max_size=3,
)
SHARES = st.fractions(0, 1)
HUNDREDTHS = st.integers(0, 10_000).map(lambda whole: Fraction(whole, 10_000))
