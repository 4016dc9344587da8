"""Recorded answers in, result rows out: the result of every check on an answer, with the evidence.

    answered         behaviors, violations, correct, predicted; `unjudged` if a check could not be carried out
    error            `error`, and the violations in whatever was received
    infrastructure   `unjudged: not run: …`, as for a trial that was never called

Every row has everything that its scenario demands, so that an agent gains nothing by not answering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from highbar import checks
from highbar.checks import Check, Finding, Functions
from highbar.checks.tree import no, yes
from highbar.model.answer import Answer
from highbar.running.calls import EMPTY_REPLY
from highbar.running.judging.questions import ANSWER, CANNOT_TELL, NO_FINDINGS, JudgeFindings, Judgments, tables
from highbar.running.received import Received, receive, tag_fault, transcript, version_of
from highbar.running.records import TrialEnded, answer_of
from highbar.running.rows import are_distinct, encoded, with_distinct_keys
from highbar.suite import Behavior, Scenario, Suite
from highbar.suite.check_words import check_in_words

NEVER_CALLED = "the run ended before"
NOTHING: Mapping[str, Any] = {}
LONGEST_REASON = 2000
"""Characters of the reason why a trial has no answer or no judgment."""


class _CheckResults(Struct):
    """The results of a list of checks, by name: observed or not, the evidence, why it was missed, why it is unknown."""

    observed: dict[str, bool]
    found: dict[str, Any]
    missed: dict[str, str]
    unclear: dict[str, str]

    def note(self, name: str, check: Check, finding: Finding, *, must_not: bool = False) -> None:
        """Add the result of a check. A must-not that did not happen needs no explanation.

        If a judge cannot tell, an expected behavior counts as not observed, since an agent must not gain by being
        unclear; a must-not counts as unknown.
        """
        if finding.observed is None and finding.reason == CANNOT_TELL and not must_not:
            finding = no(CANNOT_TELL)
        if finding.observed is None:
            self.unclear[name] = finding.reason or "it could not be carried out"
            return
        self.observed[name] = finding.observed
        if finding.found is not None and (finding.observed or not must_not):
            self.found.setdefault(name, finding.found)
        if not finding.observed and not must_not:
            self.missed.setdefault(name, finding.reason or f"wanted: {check_in_words(check)}")


class Grader:
    """Turns the answers to one suite into rows.

    `functions` finds the functions of `python` checks, `judgments` what a judge found. `agent_version` is the version
    of the run, for replies that do not report one. `origin` is the value of `highbar_run`, for the rows of a run.
    """

    def __init__(
        self,
        suite: Suite,
        functions: Functions | None = None,
        *,
        agent_version: str | None = None,
        judgments: Judgments | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self.suite = suite
        self.functions = functions
        self.judgments = judgments
        self.agent_version = agent_version
        self.labels = suite.labels
        self.origin = origin

    def row(
        self,
        ended: TrialEnded | None,
        scenario: Scenario,
        trial: int,
        *,
        reason: str | None = None,
        violated: Mapping[str, Any] = NOTHING,
    ) -> dict[str, Any]:
        """The row of one trial, in plain values. `reason` is why it was not run, if `ended` is None or gives none.

        `violated`: must-nots that an earlier grading of the same answer found violated, with the evidence. They stay so
        where this one cannot check them.
        """
        row = self._start(ended, scenario, trial)
        if ended is None or ended.outcome == "infrastructure":
            self._fill_not_run(row, ended, scenario, (ended and ended.reason) or reason or NEVER_CALLED, violated)
            return row
        received = receive(ended)
        judged = NO_FINDINGS if self.judgments is None else self.judgments(scenario, ended)
        # An error without a reason is still an error: only None means that there is no fault.
        fault = ended.reason or "" if ended.outcome == "error" else _fault(received, scenario)
        if fault is None:
            self._fill_answered(row, received, scenario, judged, violated)
        else:
            self._fill_error(row, received, scenario, fault, judged, violated)
        return row

    def _start(self, ended: TrialEnded | None, scenario: Scenario, trial: int) -> dict[str, Any]:
        """The columns that a trial's row has with any outcome."""
        row: dict[str, Any] = {"id": scenario.id, "trial": trial}
        if self.suite.name is not None:
            row["suite"] = self.suite.name
        version = (ended and version_of(ended)) or self.agent_version
        if version is not None:
            row["agent_version"] = version
        row |= scenario.row
        if scenario.answer is not None:
            row["answer_checked"] = True
        if ended is not None:
            row["attempts"] = ended.attempts
        if self.origin is not None:
            row["highbar_run"] = self.origin
        return row

    def _fill_answered(
        self,
        row: dict[str, Any],
        received: Received,
        scenario: Scenario,
        judged: JudgeFindings,
        violated: Mapping[str, Any],
    ) -> None:
        answer = answer_of(received.ended)
        expected = self._grade_behaviors(scenario.expected_behaviors, answer, judged)
        if expected.observed:
            row["behaviors"] = _marks(expected.observed)
        forbidden = self._violations(row, scenario, answer, judged, violated)
        if scenario.answer is not None:
            finding = checks.apply(scenario.answer, answer, functions=self.functions, judged=judged.findings)
            # The same dictionaries, so that the row shows evidence for the answer together with that of behaviors.
            graded = _CheckResults({}, expected.found, expected.missed, expected.unclear)
            graded.note(ANSWER, scenario.answer, finding)
            if ANSWER in graded.observed:
                row["correct"] = graded.observed[ANSWER]
        if scenario.expected is not None:
            # Empty, not absent: an empty text is a wrong label, but an absent one could leave the trial undecided.
            predicted = checks.predicted(answer, self.labels, scenario.predict)
            row["predicted"] = "" if predicted is None else predicted
        unclear = {**expected.unclear, **forbidden.unclear}
        if unclear:
            row["unjudged"] = _unjudged(unclear, judged)[:LONGEST_REASON]
        _explain(row, expected, forbidden)
        _show(row, received, scenario)
        if judged.judged is not None:
            by_behavior = tables(scenario, answer, self.functions)
            _show_judge(row, replace(judged, judged=replace(judged.judged, behaviors=by_behavior)))

    def _fill_error(
        self,
        row: dict[str, Any],
        received: Received,
        scenario: Scenario,
        fault: str,
        judged: JudgeFindings,
        violated: Mapping[str, Any],
    ) -> None:
        """Fill the row of an error: the trial failed, and must-nots may have happened before the error."""
        row["error"] = fault.strip()[:LONGEST_REASON] or "the agent failed"
        if scenario.answer is not None:
            row["correct"] = False
        if scenario.must_not:
            _explain(row, self._violations(row, scenario, answer_of(received.ended), judged, violated))
        _show(row, received, scenario)
        _show_judge(row, judged)

    def _fill_not_run(
        self,
        row: dict[str, Any],
        ended: TrialEnded | None,
        scenario: Scenario,
        reason: str,
        violated: Mapping[str, Any],
    ) -> None:
        row["unjudged"] = f"not run: {reason}"[:LONGEST_REASON]
        received = receive(ended) if ended is not None else None
        if received is not None and received.replies:
            row["messages"] = with_distinct_keys(transcript(scenario, received.ended))
            _show_report(row, received)
        # Earlier turns may have been answered. A violation in them counts; none in them says nothing about the trial.
        answer = answer_of(ended) if ended is not None else Answer()
        known: dict[str, Any] = {}
        found = self._violations(known, scenario, answer, NO_FINDINGS, violated)
        if known.get("violations"):
            row |= known
            _explain(row, found)

    def _violations(
        self,
        row: dict[str, Any],
        scenario: Scenario,
        answer: Answer,
        judged: JudgeFindings,
        violated: Mapping[str, Any],
    ) -> _CheckResults:
        """Set `violations`, except if none was found and a must-not could not be checked."""
        # If nothing was received, nothing happened, whatever a check finds in an empty reply.
        wanted = scenario.must_not if answer.replies else {}
        forbidden = self._grade_behaviors(wanted, answer, judged, must_not=True)
        for name, behavior in scenario.must_not.items():
            if name in violated and name not in forbidden.observed:
                forbidden.unclear.pop(name, None)
                forbidden.note(name, behavior.check, yes(violated[name]), must_not=True)
        happened = [name for name in scenario.must_not if forbidden.observed.get(name)]
        if scenario.must_not and (happened or not forbidden.unclear):
            row["violations"] = happened
        return forbidden

    def _grade_behaviors(
        self,
        behaviors: Mapping[str, Behavior],
        answer: Answer,
        judged: JudgeFindings,
        *,
        must_not: bool = False,
    ) -> _CheckResults:
        graded = _CheckResults({}, {}, {}, {})
        for name, behavior in behaviors.items():
            finding = checks.apply(
                behavior.check, answer, must_not=must_not, functions=self.functions, judged=judged.findings
            )
            graded.note(name, behavior.check, finding, must_not=must_not)
        return graded


def says_failed(row: Mapping[str, Any]) -> bool:
    """Whether a row shows a failed trial. It is an estimate for the progress line; the engine decides."""
    if row.get("error") or row.get("violations") or row.get("correct") is False:
        return True
    marks = row.get("behaviors") or {}
    if isinstance(marks, dict) and not all(marks.values()):
        return True
    return "correct" not in row and "predicted" in row and row["predicted"] != row["expected"]


def _unjudged(unclear: Mapping[str, str], judged: JudgeFindings) -> str:
    """Why a trial is undecided: first what the judge could not decide, then checks that could not be carried out."""
    by_judge = {name: why for name, why in unclear.items() if why in (judged.failure, CANNOT_TELL)}
    others = {name: why for name, why in unclear.items() if name not in by_judge}
    parts = [f"judge: {judged.failure}"] if by_judge and judged.failure else []
    parts += [f"judge: {', '.join(by_judge)}: {CANNOT_TELL}"] if by_judge and not judged.failure else []
    parts += ["check: " + "; ".join(f"{name}: {why}" for name, why in others.items())] if others else []
    return "; ".join(parts)


def _show_judge(row: dict[str, Any], judged: JudgeFindings) -> None:
    """Set the columns `judge` and `judged`: which judge it was, and what it said."""
    if judged.judged is not None:
        row["judge"] = judged.judge
        row["judged"] = with_distinct_keys(to_builtins(judged.judged))


def _marks(observed: Mapping[str, bool]) -> dict[str, bool] | list[str]:
    """Whether each was observed, by name; or the list of observed names if some differ only in case.

    Readers refuse an object whose keys differ only in case.
    """
    if are_distinct(observed):
        return dict(observed)
    return [name for name, is_observed in observed.items() if is_observed]


def _explain(row: dict[str, Any], *graded: _CheckResults) -> None:
    """Set the columns `found` and `missed`: the evidence by behavior, and why an expected one was not observed."""
    for column, entries in (
        ("found", [pair for one in graded for pair in one.found.items()]),
        ("missed", [pair for one in graded for pair in one.missed.items()]),
    ):
        if entries:
            values = {name: with_distinct_keys(value) for name, value in entries}
            row[column] = values if are_distinct(values) else [*values.items()]


def _show(row: dict[str, Any], received: Received, scenario: Scenario) -> None:
    """Set the columns with what the agent said and did, and what was measured."""
    last = received.last
    if last is not None and last.output is not None and (last.output.strip() or "error" in row):
        row["output"] = last.output  # a blank one, too, if it is all that came: else nothing was received
    calls = received.tool_calls
    if calls:
        row["tool_calls"] = calls
    if scenario.turns or scenario.messages or any(reply.messages for reply in received.replies):
        row["messages"] = with_distinct_keys(transcript(scenario, received.ended))
    _show_report(row, received)
    row |= received.measured
    if received.tags and not tag_fault(received.tags, scenario):
        row["tags"] = {**row.get("tags", {}), **received.tags}
        row["agent_tags"] = received.tags  # marks them: no rule may select rows by tags that the agent chose


def _show_report(row: dict[str, Any], received: Received) -> None:
    """Set the column `reported`: what the agent reported of itself and checks can read."""
    last = received.last
    report = {name: getattr(last, name, None) for name in ("state", "context", "behaviors")}
    report = {name: value for name, value in report.items() if value is not None}
    if report:
        # As one text where readers would refuse its keys, so that it can be read back.
        row["reported"] = report if with_distinct_keys(report) == report else encoded(report)


def _fault(received: Received, scenario: Scenario) -> str | None:
    """Why an answer counts as an error: it is empty, reports an error, or has a value that a row cannot contain."""
    last = received.last
    if last is None or received.ended.turns[-1].reply is None or last.is_empty:
        return EMPTY_REPLY
    if last.error is not None:
        return last.error or "the agent reported an error"
    fault = received.wrong or (tag_fault(received.tags, scenario) if received.tags else None)
    return fault and f"malformed reply: {fault}"
