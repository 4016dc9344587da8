"""One result of a promptfoo export → one row.

`failureReason` tells an error from a failed assertion. Assertions become behaviors; negative ones (`not-…`) and those
of red-team plugins become must-nots, so that one which failed fails the trial even where a threshold let the test pass.
A result that no assertion looked at is not judged, whatever `success` says, and nor is one whose judge broke.
"""

from __future__ import annotations

from collections.abc import Collection

from highbar.importers import Row
from highbar.importers.naming import as_text, means_correct, score_column, tags
from highbar.importers.promptfoo_checks import (
    RED_TEAM,
    Checked,
    as_object,
    cut,
    declared_in,
    digest,
    each_checked,
    forbids,
    kind_of,
    label_of,
    name_of,
    unchecked,
)
from highbar.importers.record import Record
from highbar.importers.report import Report
from highbar.model.judging import ScorerDemand

_NONE, _ASSERTION, _ERROR = 0, 1, 2
_FROM_METADATA = ("category", "capability", "cluster")
_LONGEST_TAG = 200
_NUMBERS = (int, float, bool)


class Result:
    """One result of an export."""

    def __init__(self, values: object, place: str, report: Report, *, trusted: bool) -> None:
        self._top = top = Record(values, place)
        self._place = place
        self._report = report
        self.trusted = trusted
        self._test = as_object(top.value("testCase"))
        self._response = as_object(top.value("response"))
        self._grading = as_object(top.value("gradingResult"))
        self._success = top.flag("success")
        self._declared = list(declared_in(self._test.get("assert")))
        self._checked = list(each_checked(self._grading, self._declared, place))
        self._missing = unchecked(self._grading, self._declared, place)
        self.named = self._named_scores()
        prompt = as_object(top.value("prompt"))
        self._asked = as_text(prompt.get("raw"))
        label = as_text(prompt.get("label") or prompt.get("display")) or ""
        self.column = {
            "provider": self._provider(),
            "prompt": label if len(label) <= _LONGEST_TAG else f"{cut(label)}#{digest(label)}",
        }

    @property
    def ended(self) -> str:
        """How promptfoo counts it."""
        if self._success is True:
            return "successes"
        return "errors" if self._top.value("failureReason") == _ERROR else "failures"

    def add_labels(self, known: set[str]) -> None:
        """Take note of what judged it, or was to."""
        for one in self._checked:
            known.add(one.label)
        if not self._checked:
            known.update(label_of(assertion) for assertion in self._declared)

    def test(self) -> tuple[str, str]:
        """The name of the test, and a digest that only repetitions of it share."""
        variables = self._test.get("vars", self._top.value("vars"))
        described = self._test.get("description")
        mark = digest((described, variables, self._test.get("assert")))
        if isinstance(described, str) and described:
            return described, mark
        only = next(iter(variables.values())) if isinstance(variables, dict) and len(variables) == 1 else variables
        return as_text(only) or "test", mark

    def _provider(self) -> str:
        provider = self._top.value("provider")
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return named if isinstance(named, str) else ""

    def row(self) -> Row:
        """The columns; who the test is comes later, in the places that are kept for it."""
        own = _flat(self._test.get("metadata"))
        metadata = {**_flat(self._top.value("metadata")), **own}  # the answer of an agent can add to the former
        described = {name: metadata[name] for name in _FROM_METADATA if isinstance(metadata.get(name), str)}
        if "category" not in own and self._attacked(metadata):
            described["category"] = "adversarial"
        judging = self._judging()
        behaviors, must_not = self._verdicts(judging)
        error, judge_error = self._errors()
        unjudged = None if error else self._unjudged(judging, judge_error)
        passed = self._passed(judging, broken=error is not None, unjudged=unjudged)
        if any(forbids(kind_of(one)) for one in self._missing) and not any(must_not.values()):
            must_not = {}  # that the others held does not say that none happened
            unjudged = unjudged or (None if error else self._told_missing())
        right = [seen for name, seen in behaviors.items() if means_correct(name)]
        score = self._top.number("score")
        return {
            "id": None,
            "trial": None,
            "category": None,
            "capability": None,
            "cluster": None,
            **described,
            **(self._demands() if not self._checked else {}),
            **({"expected_behaviors": list(behaviors)} if behaviors else {}),
            **({"must_not": must_not} if must_not else {}),
            "behaviors": [name for name, seen in behaviors.items() if seen] if behaviors else None,
            "passed": passed,
            "correct": all(right) if right else None,
            "error": error,
            "unjudged": unjudged,
            "output": as_text(self._response.get("output")) or "",  # nothing is an answer that says nothing
            "input": self._asked,
            **self._measures(),
            "quality_score": score if score is not None and 0 <= score <= 1 and self._checked else None,
            **{score_column(name): value for name, value in self.named.items()},
            "tags": self._tags(metadata),
        }

    def _tags(self, metadata: Row) -> dict[str, str] | None:
        known = {key: text for key, text in self.column.items() if text}
        return tags({**_flat(self._top.value("vars")), **metadata, **known}, _FROM_METADATA)

    def _attacked(self, metadata: Row) -> bool:
        """Whether this is a test of a red team: by its plugin, or by what is asserted, checked or not."""
        return (
            bool(metadata.get("pluginId"))
            or any(one.kind.startswith(RED_TEAM) for one in self._checked)
            or any(kind_of(assertion).startswith(RED_TEAM) for assertion in self._declared)
        )

    def _judging(self) -> list[Checked]:
        """The assertions that judge: all of them, or those that the policy names."""
        demands = {demand.scorer: demand for demand in self._report.judged_by}
        return (
            [self._by_demand(one, demands) for one in self._checked if _judges(one.kind, one.label, one.name, demands)]
            if demands
            else self._checked
        )

    @staticmethod
    def _by_demand(one: Checked, demands: dict[str, ScorerDemand]) -> Checked:
        """An assertion as the policy's bound sees it. What must not happen did, whatever its score is."""
        demand = demands.get(one.label) or demands.get(one.name)
        return one if demand is None or forbids(one.kind) else one._replace(held=_held(one, demand))

    def _verdicts(self, judging: list[Checked]) -> tuple[dict[str, bool], dict[str, bool]]:
        """Behaviors and whether they were seen; must-nots and whether they happened. The same name twice: the worse.

        An assertion that does not say what it is may have been a must-not, and counts as one.
        """
        behaviors: dict[str, bool] = {}
        must_not: dict[str, bool] = {}
        for kind, name, _, held, _, broken in judging:
            if not forbids(kind):
                behaviors[name] = behaviors.get(name, True) and held
            elif broken is None:
                must_not[name] = must_not.get(name, False) or not held
        return behaviors, must_not

    def _demands(self) -> Row:
        """What the test demands, of a result that nobody looked at."""
        behaviors = [name_of(one) for one in self._declared if not forbids(kind_of(one))]
        must_not = [name_of(one) for one in self._declared if forbids(kind_of(one))]
        return {
            "expected_behaviors": list(dict.fromkeys(behaviors)) or None,
            "must_not": list(dict.fromkeys(must_not)) or None,
        }

    def _unjudged(self, judging: list[Checked], judge_error: str | None) -> str | None:
        """Why nobody can say whether it passed, for no fault of the agent; None if it is known or was not asked."""
        if judge_error is not None:
            return f"judge: {judge_error}"
        broken = next((one for one in judging if one.broken is not None), None)
        failed = any(not one.held and one.broken is None for one in judging)
        if broken is not None and not (failed and self._test.get("threshold") is None):
            return f"judge: {broken.label}: {broken.broken}"
        if self._report.judged_by:
            return self._not_heard()
        if self._failed():
            return None
        if self._success is None:
            return "promptfoo does not say whether it succeeded"
        return self._told_missing() if self._missing else None

    def _told_missing(self) -> str:
        return f"{len(self._missing)} of {len(self._declared)} assertions were not checked"

    def _failed(self) -> bool:
        """Whether promptfoo says that it failed, in whatever place."""
        return (
            self._success is False
            or self._grading.get("pass") is False
            or (self._success is None and self._top.value("failureReason") == _ASSERTION)
        )

    def _not_heard(self) -> str | None:
        """What the policy's judges did not say, or not all of it; None if it is known or would change nothing."""
        met = {demand.scorer: self._meets(demand) for demand in self._report.judged_by}
        for scorer, holds in met.items():
            if holds is None:
                return f"judged_by: {scorer} says nothing here"
        if not all(met.values()):
            return None
        for one in self._missing:
            if _judges(kind_of(one), label_of(one), name_of(one), met):
                return f"judged_by: {label_of(one)} was declared and not checked"
        return None

    def _meets(self, demand: ScorerDemand) -> bool | None:
        """Whether a judge of the policy holds: all of its assertions, else the score of that name; None without any."""
        found = [one for one in self._checked if demand.scorer in (one.label, one.name) and one.broken is None]
        return all(_held(one, demand) for one in found) if found else demand.holds(self.named.get(demand.scorer))

    def _passed(self, judging: list[Checked], *, broken: bool, unjudged: str | None) -> bool | None:
        """False if promptfoo says so; its true counts if something demanded was seen.

        If only must-nots were checked it is left to whether there is an output at all.
        """
        self._report.unscored += unjudged is not None or (not judging and not self.trusted and not broken)
        if broken:
            return False
        if unjudged is not None:
            return None
        if self._report.judged_by:
            return all(self._meets(demand) for demand in self._report.judged_by)
        if self._failed():
            return False
        seen = any(not forbids(one.kind) for one in judging)
        return True if self._success is True and (seen or self.trusted) else None

    def _errors(self) -> tuple[str | None, str | None]:
        """What stopped the agent, and what stopped its judge; a failed assertion stops nothing.

        Grading that ended with an exception leaves an answer without a grade.
        """
        reason = self._top.value("failureReason")
        if reason in (_NONE, _ASSERTION) and not isinstance(reason, bool):
            failed = as_text(self._response.get("error")) if self._response.get("output") is None else None
            return failed, None  # a provider that gave an error and no answer crashed, whatever else is said
        told = as_text(self._top.value("error")) or as_text(self._response.get("error"))
        if reason is None:  # before version 3: what was graded is no error
            return None if self._grading else told, None
        if reason != _ERROR:
            self._report.warn(f"failureReason {as_text(reason)} is not known; it is read as an error")
        told = told or "an error without a message"
        answered = self._response.get("output") is not None and not self._response.get("error") and not self._grading
        return (None, told) if answered and reason == _ERROR else (told, None)

    def _measures(self) -> Row:
        """Latency, tokens and cost. From promptfoo's cache an answer takes no time, which says nothing of the agent."""
        used = as_object(self._response.get("tokenUsage", self._top.value("tokenUsage")))
        usage = Record(used, f"{self._place}: tokenUsage")
        cached = self._response.get("cached") is True
        if cached:
            self._report.warn("some answers came from promptfoo's cache; they have no latency (run with --no-cache)")
        return {
            "latency_ms": None if cached else self._top.number("latencyMs"),
            "tokens_used": usage.whole("total") or usage.whole("cached") or None,
            "cost_usd": self._top.number("cost") or None,
        }

    def _named_scores(self) -> dict[str, float]:
        named = _flat(self._top.value("namedScores"))
        if not named:
            return {}
        scores = Record(named, f"{self._place}: namedScores")
        return {name: number for name in scores if (number := scores.number(name)) is not None}


def _held(one: Checked, demand: ScorerDemand) -> bool:
    """Whether an assertion holds: by promptfoo's own verdict, or by its score if the policy gives a bound."""
    if demand.at_least is None:
        return one.held
    return demand.holds(float(one.held) if one.score is None else one.score) is True


def _judges(kind: str, label: str, name: str, demands: Collection[str]) -> bool:
    """Whether the policy names an assertion, or it may be a must-not, which fails whoever judges."""
    return label in demands or name in demands or forbids(kind)


def _flat(value: object) -> Row:
    """The members of an object that can be sliced by: numbers and short texts, but not promptfoo's own (`_…`)."""
    if not value or type(value) is not dict:
        return {}
    return {
        key: member
        for key, member in value.items()
        if (len(member) <= _LONGEST_TAG if type(member) is str else type(member) in _NUMBERS) and key[:1] != "_"
    }
