"""One result of a promptfoo export → one row.

`failureReason` distinguishes errors from failed assertions. Assertions become behaviors; negative ones (`not-…`) and
those of red-team plugins become must-nots, which fail the trial even if a threshold lets the test pass. A result
without an assertion is undecided, whatever `success` is, and so is a result whose judge broke.
"""

from __future__ import annotations

from collections.abc import Collection

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.limits import LONGEST_TAG
from highbar.importers.promptfoo_checks import (
    CheckedAssertion,
    assertion_label,
    checked_assertions,
    declared_assertions,
    unchecked_assertions,
)
from highbar.importers.promptfoo_plan import is_list_of_texts
from highbar.importers.record import Record, as_object
from highbar.importers.report import Report
from highbar.importers.tool_calls import Call, calls_in
from highbar.language.promptfoo_names import (
    RED_TEAM,
    assertion_kind,
    assertion_name,
    conversation_of,
    forbids,
    key_of_test,
    taggable,
)
from highbar.language.tool_names import flat_tags, means_correct, score_column, shorten, text_or_json, value_digest
from highbar.model.judging import ScorerDemand

_NONE, _ASSERTION, _ERROR = 0, 1, 2


class Result:
    """One result of an export."""

    def __init__(self, values: object, place: str, report: Report, *, success_judges: bool) -> None:
        self._top = top = Record(values, place)
        self._place = place
        self._report = report
        self.success_judges = success_judges
        self._test = as_object(top.value("testCase"))
        self._response = as_object(top.value("response"))
        self._grading = as_object(top.value("gradingResult"))
        self._success = top.flag("success")
        self._declared = list(declared_assertions(self._test.get("assert")))
        self._checked = list(checked_assertions(self._grading, self._declared, place))
        self._missing = unchecked_assertions(self._grading, self._declared, place)
        self.named = self._named_scores()
        prompt = as_object(top.value("prompt"))
        self._asked = text_or_json(prompt.get("raw"))
        label = text_or_json(prompt.get("label") or prompt.get("display")) or ""
        self.column = {
            "provider": self._provider(),
            "prompt": label if len(label) <= LONGEST_TAG else f"{shorten(label)}#{value_digest(label)}",
        }

    @property
    def ended(self) -> str:
        """The statistic in which promptfoo counts this result."""
        if self._success is True:
            return "successes"
        return "errors" if self._top.value("failureReason") == _ERROR else "failures"

    @property
    def number(self) -> int | None:
        """The place of the test and its repetition in the run; None if the test names its own prompts or providers."""
        number = self._top.value("testIdx")
        own = "prompts" in self._test or "providers" in self._test
        return number if type(number) is int and number >= 0 and not own else None

    @property
    def cell(self) -> tuple[int, int] | None:
        """The places of the test and of the prompt, which no other result of a run has; None if they are not known."""
        row, column = self._top.value("testIdx"), self._top.value("promptIdx")
        return (row, column) if type(row) is int and type(column) is int else None

    @property
    def has_list(self) -> bool:
        """Whether a variable is a list of texts, because promptfoo was not to make a test of each."""
        return any(map(is_list_of_texts, as_object(self._top.value("vars")).values()))

    def add_labels(self, known: set[str]) -> None:
        """Add the labels of the checked assertions or, if there are none, of the declared ones."""
        for one in self._checked:
            known.add(one.label)
        if not self._checked:
            known.update(assertion_label(assertion) for assertion in self._declared)

    def test(self) -> tuple[str, str]:
        """The name of the test, and a digest that only its repetitions share."""
        variables = self._test.get("vars", self._top.value("vars"))
        conversation = conversation_of(self._test.get("metadata"))
        return key_of_test(self._test.get("description"), variables, self._test.get("assert"), conversation)

    def _provider(self) -> str:
        provider = self._top.value("provider")
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return named if isinstance(named, str) else ""

    def row(self) -> Row:
        """The columns in their final order; id, trial and cluster may be filled in later."""
        own = taggable(self._test.get("metadata"))
        metadata = {
            **taggable(self._top.value("metadata")),
            **own,
        }  # an agent's answer can add to the result's metadata
        described = {name: metadata[name] for name in SCENARIO_TEXTS if isinstance(metadata.get(name), str)}
        if "category" not in own and self._is_red_team(metadata):
            described["category"] = "adversarial"
        judging = self._judging()
        behaviors, must_not = self._verdicts(judging)
        error, judge_error = self._errors()
        unjudged = None if error else self._unjudged(judging, judge_error)
        passed = self._passed(judging, broken=error is not None, unjudged=unjudged)
        if any(forbids(assertion_kind(one)) for one in self._missing) and not any(must_not.values()):
            must_not = {}  # fail closed: a must-not that was not checked may have happened
            unjudged = unjudged or (None if error else self._missing_reason())
        right = [seen for name, seen in behaviors.items() if means_correct(name)]
        score = self._top.number("score")
        return {
            "id": None,
            "trial": None,
            "category": None,
            "capability": None,
            "cluster": conversation_of(self._test.get("metadata")),  # one turn depends on those before it
            **described,
            **(self._demands() if not self._checked else {}),
            **({"expected_behaviors": list(behaviors)} if behaviors else {}),
            **({"must_not": must_not} if must_not else {}),
            "behaviors": [name for name, seen in behaviors.items() if seen] if behaviors else None,
            "passed": passed,
            "correct": all(right) if right else None,
            "error": error,
            "unjudged": unjudged,
            "output": text_or_json(self._response.get("output")) or "",  # no output is an empty answer
            "input": self._asked,
            **self._measures(),
            "quality_score": score if score is not None and 0 <= score <= 1 and self._checked else None,
            **{score_column(name): value for name, value in self.named.items()},
            "tags": self._tags(metadata),
            "tool_calls": self._calls() if self._report.calls else None,
        }

    def _calls(self) -> list[Call] | None:
        """The tool calls of an answer that is a list of them, or has `tool_calls`; None for any other answer."""
        output = self._response.get("output")
        found = calls_in(output.get("tool_calls")) if isinstance(output, dict) else calls_in(output)
        return found or None

    def _tags(self, metadata: Row) -> dict[str, str] | None:
        known = {key: text for key, text in self.column.items() if text}
        return flat_tags({**taggable(self._top.value("vars")), **metadata, **known}, SCENARIO_TEXTS)

    def _is_red_team(self, metadata: Row) -> bool:
        """Whether this is a red-team test: by its plugin, or by an assertion, checked or not."""
        return (
            bool(metadata.get("pluginId"))
            or any(one.kind.startswith(RED_TEAM) for one in self._checked)
            or any(assertion_kind(assertion).startswith(RED_TEAM) for assertion in self._declared)
        )

    def _judging(self) -> list[CheckedAssertion]:
        """The assertions that judge: all of them, or those that the policy names."""
        demands = {demand.scorer: demand for demand in self._report.judged_by}
        return (
            [self._by_demand(one, demands) for one in self._checked if _judges(one.kind, one.label, one.name, demands)]
            if demands
            else self._checked
        )

    @staticmethod
    def _by_demand(one: CheckedAssertion, demands: dict[str, ScorerDemand]) -> CheckedAssertion:
        """The assertion with the policy's bound applied. A must-not keeps its result: a score cannot excuse it."""
        demand = demands.get(one.label) or demands.get(one.name)
        return one if demand is None or forbids(one.kind) else one._replace(passed=_passes(one, demand))

    def _verdicts(self, judging: list[CheckedAssertion]) -> tuple[dict[str, bool], dict[str, bool]]:
        """Whether each behavior was seen, and whether each must-not happened. Of two with one name the worse counts.

        An assertion of unknown type may be a must-not, and counts as one.
        """
        behaviors: dict[str, bool] = {}
        must_not: dict[str, bool] = {}
        for kind, name, _, passed, _, broken in judging:
            if not forbids(kind):
                behaviors[name] = behaviors.get(name, True) and passed
            elif broken is None:
                must_not[name] = must_not.get(name, False) or not passed
        return behaviors, must_not

    def _demands(self) -> Row:
        """The behaviors and must-nots that the test declares, for a result without checked assertions."""
        behaviors = [assertion_name(one) for one in self._declared if not forbids(assertion_kind(one))]
        must_not = [assertion_name(one) for one in self._declared if forbids(assertion_kind(one))]
        return {
            "expected_behaviors": list(dict.fromkeys(behaviors)) or None,
            "must_not": list(dict.fromkeys(must_not)) or None,
        }

    def _unjudged(self, judging: list[CheckedAssertion], judge_error: str | None) -> str | None:
        """Why the trial is undecided, for no fault of the agent; None if it is decided."""
        if judge_error is not None:
            return f"judge: {judge_error}"
        broken = next((one for one in judging if one.broken is not None), None)
        failed = any(not one.passed and one.broken is None for one in judging)
        if broken is not None and not (failed and self._test.get("threshold") is None):
            return f"judge: {broken.label}: {broken.broken}"
        if self._report.judged_by:
            return self._policy_unjudged()
        if self._failed():
            return None
        if self._success is None:
            return "promptfoo does not say whether it succeeded"
        return self._missing_reason() if self._missing else None

    def _missing_reason(self) -> str:
        return f"{len(self._missing)} of {len(self._declared)} assertions were not checked"

    def _failed(self) -> bool:
        """Whether promptfoo says that it failed, in any of three places."""
        return (
            self._success is False
            or self._grading.get("pass") is False
            or (self._success is None and self._top.value("failureReason") == _ASSERTION)
        )

    def _policy_unjudged(self) -> str | None:
        """Which judge of the policy has no result, or not for all its assertions.

        None if every judge has them, or if another judge is bad, so that a missing assertion would change nothing.
        """
        met = {demand.scorer: self._meets(demand) for demand in self._report.judged_by}
        for scorer, good in met.items():
            if good is None:
                return f"judged_by: {scorer} says nothing here"
        if not all(met.values()):
            return None
        for one in self._missing:
            if _judges(assertion_kind(one), assertion_label(one), assertion_name(one), met):
                return f"judged_by: {assertion_label(one)} was declared and not checked"
        return None

    def _meets(self, demand: ScorerDemand) -> bool | None:
        """Whether a demand is met: by all assertions of that name or, without any, by its score; None without both."""
        found = [one for one in self._checked if demand.scorer in (one.label, one.name) and one.broken is None]
        return all(_passes(one, demand) for one in found) if found else demand.holds(self.named.get(demand.scorer))

    def _passed(self, judging: list[CheckedAssertion], *, broken: bool, unjudged: str | None) -> bool | None:
        """False if promptfoo says that it failed; True if it succeeded and a behavior was checked; otherwise None.

        None also if only must-nots were checked: Highbar then judges the must-nots, and a blank output does not pass.
        """
        self._report.unscored += unjudged is not None or (not judging and not self.success_judges and not broken)
        if broken:
            return False
        if unjudged is not None:
            return None
        if self._report.judged_by:
            return all(self._meets(demand) for demand in self._report.judged_by)
        if self._failed():
            return False
        seen = any(not forbids(one.kind) for one in judging)
        return True if self._success is True and (seen or self.success_judges) else None

    def _errors(self) -> tuple[str | None, str | None]:
        """The error of the agent and the error of its judge; a failed assertion is neither.

        If an error has an answer but no grade, grading raised the exception, so the error is the judge's.
        """
        reason = self._top.value("failureReason")
        if reason in (_NONE, _ASSERTION) and not isinstance(reason, bool):
            failed = text_or_json(self._response.get("error")) if self._response.get("output") is None else None
            return failed, None  # without an answer, an error of the response is a crash
        message = text_or_json(self._top.value("error")) or text_or_json(self._response.get("error"))
        if reason is None:  # before version 3, and a graded result is not an error there
            return None if self._grading else message, None
        if reason != _ERROR:
            self._report.warn(f"failureReason {text_or_json(reason)} is not known; it is read as an error")
        message = message or "an error without a message"
        answered = self._response.get("output") is not None and not self._response.get("error") and not self._grading
        return (None, message) if answered and reason == _ERROR else (message, None)

    def _measures(self) -> Row:
        """Latency, tokens and cost. An answer from promptfoo's cache takes no time, so it has no latency."""
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
        named = taggable(self._top.value("namedScores"))
        if not named:
            return {}
        scores = Record(named, f"{self._place}: namedScores")
        return {name: number for name in scores if (number := scores.number(name)) is not None}


def _passes(one: CheckedAssertion, demand: ScorerDemand) -> bool:
    """Whether an assertion passes: by promptfoo's own verdict, or by its score if the policy gives a bound."""
    if demand.at_least is None:
        return one.passed
    return demand.holds(float(one.passed) if one.score is None else one.score) is True


def _judges(kind: str, label: str, name: str, demands: Collection[str]) -> bool:
    """Whether an assertion judges: the policy names it, or it may be a must-not, which always counts."""
    return label in demands or name in demands or forbids(kind)
