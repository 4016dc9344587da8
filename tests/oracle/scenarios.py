"""All trials of one id: what one of them has, or the suite demands, all have. Nothing here comes from the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from tests.oracle.trials import (
    CELLS,
    CELLS_UNKNOWN,
    HARM_UNKNOWN,
    RATE_UNKNOWN,
    Ends,
    Row,
    Settings,
    Trial,
    exact,
    forbidden_names,
    has_label,
    known,
    once,
)

DEMANDS = ("expected_behaviors", "must_not", "expected", "answer")
DESCRIPTIONS = ("category", "capability", "cluster", "weight")
PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"
AS_ENDS = {PASSED: known(1), FAILED: known(0), UNDECIDED: RATE_UNKNOWN}


def is_blank(value: Any) -> bool:
    """Whether a value describes nothing."""
    return value is None or (isinstance(value, str) and not value.strip())


@dataclass(frozen=True, eq=False)
class Scenario:
    """The trials, what describes them all, and what the suite demands of each."""

    id: str
    trials: tuple[Trial, ...]
    settings: Settings
    demands: Mapping[str, Any] = field(default_factory=dict)
    in_checking_suite: bool = False

    # what describes it

    @cached_property
    def described(self) -> Row:
        """Each column as the first row has it that has it at all; then as the suite says it. Tags one by one."""
        found: dict[str, Any] = {}
        tags: dict[str, str] = {}
        for row in (*(trial.row for trial in self.trials), self.demands):
            found = {name: value for name, value in row.items() if not is_blank(value)} | found
            tags = {name: value for name, value in (row.get("tags") or {}).items() if not is_blank(value)} | tags
        return found | {"tags": tags}

    @once
    def column(self, name: str) -> str | None:
        """The scenario's value of a column, `tags.name` included, as the text that slices and rules name it by."""
        value = self.described.get(name)
        if name.startswith("tags."):
            value = self.described["tags"].get(name.removeprefix("tags."))
        return None if value is None else str(value)

    @cached_property
    def weight(self) -> Fraction:
        """The product of the category's weight, the capability's and the scenario's own; each 1 if absent."""
        own = exact(self.described.get("weight", 1))
        category = self.settings.by_category.get(self.column("category") or "", Fraction(1))
        return category * self.settings.by_capability.get(self.column("capability") or "", Fraction(1)) * own

    # what one trial has, or the suite demands

    @cached_property
    def has_answers(self) -> bool:
        """Whether a row says or asks whether the answer is right, or the suite asks for it."""
        demanded = self.demands.get("answer") is not None or self.demands.get("expected") is not None
        return demanded or any(trial.correct is not None for trial in self.trials)

    @cached_property
    def asks_are_known(self) -> bool:
        """Whether anything shows what the scenario asks for, so that a crash leaves alone what it does not ask for."""
        return self.in_checking_suite or any(trial.shows_what_is_asked for trial in self.trials)

    def crash_counts(self, trial: Trial) -> bool:
        """Whether an error counts in a measure that the scenario does not have: not if its asks are known."""
        return not self.asks_are_known or trial.unjudged

    @cached_property
    def has_cells(self) -> bool:
        """Whether a row falls into a cell of precision and recall, or the suite expects a label."""
        demanded = has_label(self.demands.get("expected"), self.settings)
        return demanded or any(trial.cells is not None for trial in self.trials)

    @cached_property
    def most_expected(self) -> int:
        """The largest number of behaviors that a row expects; at least one if the suite expects any."""
        demanded = bool(self.demands.get("expected_behaviors"))
        return max(int(demanded), *(len(trial.expected_behaviors) for trial in self.trials))

    @cached_property
    def has_must_nots(self) -> bool:
        """Whether a row, or the suite, lists something that must not happen."""
        return bool(forbidden_names(self.demands.get("must_not"))) or any(trial.must_not for trial in self.trials)

    @once
    def has_number(self, column: str) -> bool:
        """Whether a row records a value of a number column."""
        return any(trial.number(column) is not None for trial in self.trials)

    @once
    def gives(self, key: str) -> bool:
        """Whether the rows' own columns, or the suite's demands, give a measure to this scenario."""
        if key == "correct":
            return self.has_answers
        if key in CELLS:
            return self.has_cells
        if key in ("behavior_score", "observed_behaviors", "expected_behaviors"):
            return bool(self.most_expected)
        return True

    # what became of a trial

    @once
    def state(self, trial: Trial) -> str:
        """Passed, failed or undecided."""
        own = trial.row.get("passed")
        if trial.error or trial.violated or own is False:
            return FAILED
        score, correct = trial.behavior_score, trial.correct
        if own is None and ((score and score.best < self.settings.pass_score) or (correct and not correct.best)):
            return FAILED
        if trial.unjudged:
            return UNDECIDED
        if own:
            return PASSED
        return PASSED if self.something_judges(trial) and not self.something_is_open(trial) else UNDECIDED

    def something_judges(self, trial: Trial) -> bool:
        """Whether anything at all judges this trial: an answer, behaviors, or a must-not that was checked."""
        checked = trial.must_not and trial.must_not_known and trial.answered
        return bool(trial.correct or trial.expected_behaviors or checked)

    def something_is_open(self, trial: Trial) -> bool:
        """Whether a demand of the row is not known, or the scenario is judged by something that this row lacks."""
        score, correct = trial.behavior_score, trial.correct
        row_leaves_open = (
            (score is not None and score.undecided)
            or (correct is not None and correct.undecided)
            or (trial.must_not and not trial.must_not_known)
        )
        lacks = (
            (self.has_answers and correct is None)
            or (self.most_expected and not trial.expected_behaviors)
            or self.lacks_must_nots(trial)
            or self.lacks_violations(trial)
            or any(other.row.get("passed") is not None for other in self.trials)
        )
        return bool(row_leaves_open or lacks)

    def lacks_must_nots(self, trial: Trial) -> bool:
        """Whether the scenario lists must-nots, and this row neither lists any nor says what was violated."""
        return self.has_must_nots and not trial.must_not and not trial.says("violations")

    @once
    def lacks_violations(self, trial: Trial) -> bool:
        """Whether another trial says what was violated, and this row does not."""
        return not trial.says("violations") and any(other.says("violations") for other in self.trials)

    @cached_property
    def states(self) -> list[str]:
        """The state of each trial."""
        return [self.state(trial) for trial in self.trials]

    @cached_property
    def outcome(self) -> str:
        """Failed if any trial failed; else undecided if any is; else passed."""
        return next(state for state in (FAILED, UNDECIDED, PASSED) if state in self.states)

    # measures: None where this trial has no part in one

    @once
    def measure(self, trial: Trial, key: str) -> Ends | None:
        """A trial's value of a measure that is a rate or a count."""
        if key == "passed":
            return AS_ENDS[self.state(trial)]
        if key == "error":
            return self.errors(trial)
        if key == "violated":
            return self.violations(trial)
        if key == "correct":
            return trial.correct or self.imputed_rate(trial, has=self.has_answers)
        if key == "behavior_score":
            return trial.behavior_score or self.imputed_rate(trial, has=bool(self.most_expected))
        if key in CELLS:
            return self.cell(trial, key)
        return self.pooled(trial, key)

    def errors(self, trial: Trial) -> Ends:
        """An error is known, unless nobody knows whether the agent ran at all."""
        if trial.unjudged and not trial.error and not (trial.row.get("output") or "").strip():
            return HARM_UNKNOWN
        return known(trial.error)

    def violations(self, trial: Trial) -> Ends:
        """Whether the trial violated something, as far as anyone looked."""
        if trial.violated:
            return known(1)
        if self.lacks_violations(trial):
            return HARM_UNKNOWN
        if trial.must_not or trial.says("violations"):
            return known(0) if trial.must_not_known else HARM_UNKNOWN
        if trial.blank or trial.unjudged:
            return HARM_UNKNOWN
        return HARM_UNKNOWN if self.lacks_must_nots(trial) else known(0)

    def imputed_rate(self, trial: Trial, *, has: bool) -> Ends | None:
        """A rate that the row does not give: an error is bad, the rest is open."""
        if trial.error:
            return known(0) if has or self.crash_counts(trial) else None
        return RATE_UNKNOWN if has or trial.blank or trial.unjudged else None

    def cell(self, trial: Trial, key: str) -> Ends | None:
        """tp, fp or fn: what has no outcome is both kinds of wrong at its worst; an error is a false negative."""
        if trial.cells is not None:
            return trial.cells[key]
        if trial.error:
            return known(key == "false_negatives") if self.has_cells or self.crash_counts(trial) else None
        return CELLS_UNKNOWN[key] if self.has_cells or trial.blank or trial.unjudged else None

    def pooled(self, trial: Trial, key: str) -> Ends | None:
        """Counts of behaviors: what the row lacks is as many as another trial expects."""
        expected = len(trial.expected_behaviors) or self.most_expected
        if not expected:
            if not (trial.blank or trial.unjudged or (trial.error and self.crash_counts(trial))):
                return None
            expected = 1
        if key == "expected_behaviors":
            return known(expected)
        if trial.expected_behaviors:
            return trial.behaviors_observed
        return known(0) if trial.error else Ends(Fraction(0), Fraction(expected))


def scenarios_of(rows: Sequence[Row], settings: Settings, suite: Sequence[Any] | None = None) -> list[Scenario]:
    """The rows by id, each id with what the suite says of it."""
    entries = {entry["id"]: entry for entry in suite or () if not isinstance(entry, str)}
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    checks = any(entry.get(name) not in (None, []) for entry in entries.values() for name in DEMANDS)
    listed = {entry if isinstance(entry, str) else entry["id"] for entry in suite or ()} if checks else set()
    return [
        Scenario(name, tuple(Trial(row, settings) for row in own), settings, entries.get(name, {}), name in listed)
        for name, own in by_id.items()
    ]
