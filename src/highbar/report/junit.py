"""The verdict as JUnit XML: a test case for each rule and for each scenario, as GitLab, Jenkins and GitHub read them.

- A blocking rule that did not pass is a failure. A warning is skipped, so that it is shown but fails nothing.
- A scenario that failed a trial is a failure; it is an error if all its failed trials ended in errors, or if it is
  undecided.
- The reason is in `message`, which Jenkins shows, and in the body, the only part that GitLab shows.
- GitLab merges test cases whose suite, class and name, joined by `_`, are equal; other readers merge those with the
  same name in a suite. Names are unique for both.
- Every suite and case has a time, since some readers show a missing one as NaN.
- GitLab reads no file above 30 MB. A last case counts the scenarios that do not fit or that the verdict does not list.

ASCII only, so that the file reads the same in any encoding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.parsers import expat

from msgspec import Struct, field

from highbar.errors import Problem
from highbar.language.digits import Bounds, as_float, bounds_by_metric, rule_bounds
from highbar.model import RuleResult, ScenarioResult, Value, Verdict, Where
from highbar.report import PAGE, Display
from highbar.report.early_words import at_stopping
from highbar.report.headline import NO_VERDICT, judge_line, quarantine_line, quarantined_ids, saved_line
from highbar.report.reruns import how_sure, is_close
from highbar.report.titles import rule_title
from highbar.report.visible import cut, visible

if TYPE_CHECKING:  # few runs compare, and creating these classes takes time
    from highbar.model.comparison import Comparison

LARGEST = 29_000_000  # bytes; GitLab reads at most 30 MB
_LONGEST_NAME = 400
"""Characters of a name: CI systems show it in a list."""
_MOST_BROKEN = 10_000
"""Broken scenarios of a comparison, each a test case: as many as CI systems can show."""
_BROKEN = "passed in the base, not in the head"
_LONGEST_MESSAGE = 1000
"""Characters of a line of a message: CI systems show it in a list."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_Attributes = Iterable[tuple[str, str | int | None]]


class _TestSuite(Struct):
    """Rendered test cases, with the counts that the suite element states and the names that are taken."""

    name: str
    cases: list[str] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=lambda: {"failure": 0, "error": 0, "skipped": 0})
    taken: set[str] = field(default_factory=set)
    size: int = 0
    seconds: float = 0.0

    def add(self, case: _TestCase) -> None:
        text = case.render(self._unique(case))
        self.size += len(text) + 1
        self.seconds += case.seconds
        self.cases.append(text)
        if case.outcome:
            self.count[case.outcome] += 1

    def _unique(self, case: _TestCase) -> str:
        """The case's name, with a number appended if a reader would merge it with another case."""
        name, place = case.name, 1
        while not self.taken.isdisjoint(keys := (name, f"{case.classname}_{name}")):
            place += 1
            name = f"{case.name} ({place})"
        self.taken.update(keys)
        return name

    def render(self, properties: _Attributes = ()) -> Iterator[str]:
        count = self.count
        yield _open(
            "testsuite",
            [("name", self.name), ("tests", len(self.cases)), ("failures", count["failure"]),
             ("errors", count["error"]), ("skipped", count["skipped"]), ("time", _seconds(self.seconds))],
        )  # fmt: skip
        yield from _properties(properties)
        yield from self.cases
        yield "</testsuite>"


class _TestCase(Struct, frozen=True):
    """A test case. `outcome` is the element for a case that did not pass: failure, error or skipped; else empty."""

    classname: str
    name: str
    outcome: str = ""
    type: str = ""
    message: str = ""
    body: str = ""
    seconds: float = 0.0
    properties: tuple[tuple[str, str | int | None], ...] = ()
    attributes: tuple[tuple[str, str | int | None], ...] = ()

    def render(self, name: str) -> str:
        # The schema of Jenkins' xUnit plugin allows properties only for suites; Jenkins' junit step reads them here.
        inside = [*_properties(self.properties)]
        if self.outcome:
            head = _open(self.outcome, [("message", self.message), ("type", self.type)])
            inside.append(f"{head}{_body(self.body)}</{self.outcome}>")
        identity = [("classname", self.classname), ("name", name), ("time", _seconds(self.seconds))]
        head = _open("testcase", [*identity, *self.attributes])
        return "".join([head, *inside, "</testcase>"]) if inside else f"{head[:-1]}/>"


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """Two suites, `rules` and `scenarios`; the properties of the first have the verdict, the counts and the metrics."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    rules, scenarios = _TestSuite("rules"), _TestSuite("scenarios")
    for problem in verdict.problems:
        rules.add(_problem(problem))
    for rule in verdict.rules:
        rules.add(_rule(rule, verdict, bounds))
    for rule in verdict.advice:
        rules.add(_advice(rule, verdict, bounds))
    room = LARGEST - rules.size
    listed = 0
    quarantined = quarantined_ids(verdict)
    # The list has failed scenarios first, so that the ones that do not fit are the least important.
    for scenario in verdict.scenarios or _failed_scenarios(verdict):
        if scenarios.size > room:
            break
        scenarios.add(_scenario(scenario, quarantined=scenario.id in quarantined))
        listed += 1
    if listed < verdict.counts.scenarios:
        scenarios.add(_unlisted(verdict, listed))
    return _document([(rules, _whole(verdict, bounds)), (scenarios, ())])


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """An error for each problem and no rules, so that readers see errors, not an empty success."""
    suite = _TestSuite("problems")
    for problem in problems:
        suite.add(_problem(problem))
    return _document([(suite, (("verdict", "none"),))])


def render_comparison(comparison: Comparison, _display: Display = PAGE) -> str:
    """The rules that compare two runs; if a blocking rule did not pass, also a failure for each broken scenario."""
    from highbar.report.comparison_words import as_verdict  # few runs compare

    verdict = as_verdict(comparison)
    bounds = bounds_by_metric(verdict.rules)
    rules, broken = _TestSuite("rules"), _TestSuite("broken")
    for rule in verdict.rules:
        rules.add(_rule(rule, verdict, bounds))
    missed = any(rule.outcome != "pass" and rule.level == "blocking" for rule in verdict.rules)
    listed = comparison.broken[:_MOST_BROKEN] if missed else ()
    for id_ in listed:
        broken.add(_TestCase("highbar.broken", _name(id_), "failure", "broken", _BROKEN, _BROKEN))
    if missed and len(listed) < len(comparison.broken):
        rest = f"... and {len(comparison.broken) - len(listed)} more"
        broken.add(_TestCase("highbar.broken", rest, "skipped", "unlisted", _BROKEN, _BROKEN))
    about = (
        ("verdict", comparison.verdict or "none"),
        ("direction", comparison.direction),
        ("scenarios", comparison.pairs),
        ("broken", comparison.passes.broken),
        ("fixed", comparison.passes.fixed),
    )
    return _document([(rules, about), (broken, ())])


def _problem(problem: Problem) -> _TestCase:
    place = problem.place_text
    hint = f"\nhint: {visible(problem.hint)}" if problem.hint else ""
    message = visible(problem.coded_message)
    name = visible(place) or NO_VERDICT
    return _TestCase("highbar.problems", name, "error", "problem", message, f"{NO_VERDICT}\n{message}{hint}")


def _document(suites: Iterable[tuple[_TestSuite, _Attributes]]) -> str:
    """The file. It is parsed once here, because a CI system shows no failures of a file that it cannot parse."""
    made = list(suites)
    counts = [("tests", sum(len(suite.cases) for suite, _ in made))]
    counts += [(f"{kind}s", sum(suite.count[kind] for suite, _ in made)) for kind in ("failure", "error")]
    time = _seconds(sum(suite.seconds for suite, _ in made))
    head = _open("testsuites", [("name", "highbar"), *counts, ("time", time)])
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for suite, properties in made:
        lines += suite.render(properties)
    text = "\n".join([*lines, "</testsuites>", ""])
    expat.ParserCreate().Parse(text, True)  # noqa: FBT003 - expat's signature: this is all of it
    return text


# --- rules -----------------------------------------------------------------------------------


def _rule(rule: RuleResult, verdict: Verdict, bounds: Bounds) -> _TestCase:
    """A failure if a blocking rule did not pass for any reason; its name has the rule's title and path."""
    # A warning as a failure would mark a build that the gate passes as unstable; as a success nobody would see it.
    missed = "" if rule.outcome == "pass" else "skipped" if rule.level == "warning" else "failure"
    message = f"warning: {visible(rule.reason)}" if missed == "skipped" else visible(rule.reason)
    lines = [message, visible(rule.description or ""), how_sure(rule, verdict) if is_close(rule) else ""]
    return _TestCase(
        classname=f"highbar.rules.{rule.level}",
        name=_case_name(rule, verdict),
        outcome=missed,
        type=rule.outcome,
        message=message,
        body="\n".join(line for line in lines if line),
        properties=(
            ("rule", rule.rule),
            ("outcome", rule.outcome),
            ("level", rule.level),
            ("metric", rule.metric),
            *_where(rule.slice),
            ("threshold", rule.threshold),
            *(_value("", rule.value, rule_bounds(rule, bounds)) if rule.value else ()),
            ("raw", _number(None if rule.raw is None else rule.raw.value, rule_bounds(rule, bounds))),
            ("stopping", at_stopping(rule) or None),
            *(_rerun_properties(rule) if is_close(rule) else ()),
        ),
        attributes=(("file", rule.place.file), ("line", rule.place.line)),
    )


def _case_name(rule: RuleResult, verdict: Verdict) -> str:
    """`Safety rate is 100% (thresholds.blocking.safety_rate)`: with the path, rules with equal titles differ."""
    words = rule_title(rule, verdict)
    return _name(words if words == visible(rule.rule) else f"{words} ({rule.rule})")


def _rerun_properties(rule: RuleResult) -> tuple[tuple[str, str | int | None], ...]:
    return (
        ("second_run", _end(rule.second_run)),
        ("second_run_low", _end(rule.second_run_low)),
        ("more_scenarios", rule.more_scenarios),
    )


def _advice(rule: RuleResult, verdict: Verdict, bounds: Bounds) -> _TestCase:
    """A typical threshold, if there is no policy: always skipped, since it decides nothing."""
    message = f"advice: {visible(rule.reason)}"
    properties = _rule(rule, verdict, bounds).properties
    return _TestCase(
        "highbar.advice", _case_name(rule, verdict), "skipped", rule.outcome, message, message, properties=properties
    )


def _where(where: Where) -> Iterator[tuple[str, str]]:
    return ((f"where.{column}", value) for column, values in where for value in values)


def _value(prefix: str, value: Value, bounds: tuple[Fraction, ...]) -> Iterator[tuple[str, str | int | None]]:
    """The value and its interval as properties; None, which is left out, for an undefined value or an open end."""
    named = f"{prefix}." if prefix else ""
    yield prefix or "value", _number(value.value, bounds)
    yield f"{named}low", _end(value.low)
    yield f"{named}high", _end(value.high)
    yield f"{named}scenarios", value.scenarios
    yield f"{named}missing", value.missing or None
    yield f"{named}undecided", value.undecided or None
    yield f"{named}best", _number(value.best, bounds)
    if value.corrected is not None:
        yield f"{named}corrected", _number(value.corrected.value, bounds)
        yield f"{named}corrected.low", _end(value.corrected.low)
        yield f"{named}corrected.high", _end(value.corrected.high)


def _whole(verdict: Verdict, bounds: Bounds) -> Iterator[tuple[str, str | int | None]]:
    counts = verdict.counts
    yield "verdict", verdict.verdict or "none"
    yield "agent_version", verdict.agent_version
    yield "policy", verdict.policy.file if verdict.policy else None
    yield "policy_sha256", verdict.policy.sha256 if verdict.policy else None
    yield "confidence", _number(verdict.confidence)
    yield from (("scenarios", counts.scenarios), ("trials", counts.trials), ("errors", counts.errors))
    yield from (("unjudged", counts.unjudged), ("failed", counts.failed), ("undecided", counts.undecided))
    yield from ([("left_out", counts.left_out)] if verdict.selection else [])
    yield "judge", judge_line(verdict.judge, str) or None
    yield "quarantined", quarantine_line(verdict, str) or None
    yield "sequential", saved_line(verdict) or None
    for name, value in verdict.metrics.items():
        yield from _value(f"metric.{name}", value, bounds.get(name, ()))


# --- scenarios -------------------------------------------------------------------------------


def _scenario(scenario: ScenarioResult, *, quarantined: bool = False) -> _TestCase:
    trials, passed = scenario.trials, scenario.passed_trials
    # A violation is a failure of the agent even if the trial also ended in an error.
    only_errors = scenario.errors == trials - passed and not scenario.violated
    why = visible(scenario.reason or "")
    message = why if trials == 1 else f"{passed} of {trials} trials passed; {why}"
    lines = [message, "required by the policy" if scenario.required else "quarantined" if quarantined else ""]
    missed = "" if scenario.passed else "error" if only_errors or scenario.undecided else "failure"
    kind = (
        "undecided" if scenario.undecided else "error" if only_errors else "violated" if scenario.violated else "failed"
    )
    # Jenkins takes everything after the last dot as the class.
    category = "." + visible(scenario.category).replace(".", "_") if scenario.category else ""
    return _TestCase(
        classname=f"highbar.scenarios{category}",
        name=_name(scenario.id),
        outcome=missed,
        type=kind,
        message=message,
        body="\n".join(line for line in lines if line),
        properties=(
            ("category", scenario.category),
            *((("quarantined", "yes"),) if quarantined else ()),
            *((("trials", trials), ("passed_trials", passed)) if trials > 1 else ()),
        ),
        seconds=float(scenario.duration_ms or 0) / 1000,
    )


def _failed_scenarios(verdict: Verdict) -> Iterator[ScenarioResult]:
    """The failed and undecided scenarios, for a verdict without the list of all scenarios."""
    for one in verdict.scenarios_failed:
        yield ScenarioResult(
            one.id, one.category, one.trials, one.passed_trials, reason=one.reason, required=one.required
        )
    yield from (one.as_result() for one in verdict.scenarios_undecided)


def _unlisted(verdict: Verdict, listed: int) -> _TestCase:
    rest = verdict.counts.scenarios - listed
    message = (
        f"{listed} of {verdict.counts.scenarios} scenarios are listed here, the failed first; "
        f"{verdict.counts.failed} failed in all"
    )
    return _TestCase("highbar.scenarios", f"... and {rest} more", "skipped", "unlisted", message, message)


# --- XML -------------------------------------------------------------------------------------


def _name(text: str) -> str:
    return cut(visible(text), _LONGEST_NAME) if text.strip() else "(blank)"


def _seconds(time: float) -> str:
    return f"{time:.6f}".rstrip("0").rstrip(".")


def _number(value: Fraction | None, bounds: Iterable[Fraction] = ()) -> str | None:
    """The float of the JSON report, on the same side of every bound; None if the value is undefined."""
    return None if value is None else repr(as_float(value, bounds))


def _end(found: float | None) -> str | None:
    """An end of an interval; None if it is unknown or infinite."""
    return repr(found) if found is not None and math.isfinite(found) else None


def _open(element: str, attributes: _Attributes) -> str:
    """An opening tag; attributes whose value is None are left out."""
    pairs = [f'{name}="{_attribute(str(value))}"' for name, value in attributes if value is not None]
    return f"<{' '.join([element, *pairs])}>"


def _properties(found: _Attributes) -> Iterator[str]:
    known = [(name, value) for name, value in found if value is not None]
    if known:
        inside = (f"{_open('property', [('name', name), ('value', value)])[:-1]}/>" for name, value in known)
        yield f"<properties>{''.join(inside)}</properties>"


def _body(text: str) -> str:
    """`text`, which is visible already, as XML; never blank, or GitLab would show the element's attributes instead."""
    shortened = "\n".join(cut(line, _LONGEST_MESSAGE) for line in text.split("\n"))
    return _xml(shortened if shortened.strip() else "(no reason given)")


@lru_cache(maxsize=1000)  # a hundred thousand scenarios share a few categories
def _attribute(text: str) -> str:
    return _xml(cut(visible(text), _LONGEST_MESSAGE))


def _xml(text: str) -> str:
    """The only encoder of this format: visible text as ASCII XML, for attributes and between tags."""
    return text.translate(_ESCAPES).encode("ascii", "xmlcharrefreplace").decode()
