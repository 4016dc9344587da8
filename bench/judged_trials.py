"""Runs that a judge and people judged, as the product has them once rows and labels are read and scored.

An agent's run becomes records by part of the rows and scored labels, and the gate judges a rule on them. Only the
reading of files is left out: a test compares such a run with `highbar check` of its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from highbar import gate
from highbar.changes.scored_run import ScoredRun, measured, scoring_of
from highbar.load.judged_rows import RowPart
from highbar.model import Policy, RuleResult, ThresholdRule
from highbar.model.comparison import Side
from highbar.model.judgments import JudgedTrial, LabeledTrial, Sampling
from highbar.model.records import ScenarioRecord
from highbar.verdicts.corrections import Corrections
from highbar.verdicts.judged_parts import ScoredLabel, ScoredPart
from highbar.verdicts.judged_units import ScoredParts

ALPHA = 0.05
PARTS: tuple[RowPart, RowPart] = ("passed", "failed")
_ZERO = Fraction(0)

Truths = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


class JudgedTrials(Struct, frozen=True):
    """A run: for each scenario and trial, how many of `statements` people and the judge see, and who was labeled."""

    name: str
    statements: int
    people: Counts
    judge: Counts
    asked: Truths

    @property
    def passed(self) -> Truths:
        """Which trials the judge passed: it saw every behavior."""
        return np.asarray(self.judge == self.statements)


def scored_run(policy: Policy, run: JudgedTrials) -> ScoredRun:
    """The run as the judge has it."""
    records = tuple(_record(f"{i}", one, run.statements) for i, one in enumerate(run.judge.tolist()))
    about = Side((), is_baseline=False, agent_version=None, scenarios=len(records), trials=run.judge.size)
    return ScoredRun(records, about, scoring_of(policy))


def _record(name: str, seen: list[int], statements: int) -> ScenarioRecord:
    """A scenario of which so many behaviors were seen in each trial."""
    score = Fraction(sum(seen), len(seen) * statements)
    return ScenarioRecord(
        name, len(seen), sum(one == statements for one in seen), {}, {"error": _ZERO, "behavior_score": score}
    )


def parts_of(run: JudgedTrials) -> tuple[ScoredPart, ...]:
    """The rows of the run by part."""
    found = []
    for i, seen in enumerate(run.judge.tolist()):
        for part, side in zip(PARTS, (True, False), strict=True):
            here = [one for one in seen if (one == run.statements) is side]
            if here:
                record = _record(f"{i}", here, run.statements)
                found.append(ScoredPart(part, record, record))
    return tuple(found)


def labels_of(run: JudgedTrials) -> tuple[ScoredLabel, ...]:
    """The labeled trials of a run, as the judge and as people have them."""
    sizes = {True: int(run.passed.sum()), False: int((~run.passed).sum())}
    drawn = {side: int((run.asked & (run.passed == side)).sum()) for side in sizes}
    found = []
    for i, j in np.argwhere(run.asked).tolist():
        judge, people = int(run.judge[i, j]), int(run.people[i, j])
        side = judge == run.statements
        sample = Sampling(run.name, 0, PARTS[not side], drawn[side], sizes[side], "judge", {}, JudgedTrial("", "", {}))
        trial = LabeledTrial(f"{i}", j + 1, sample, {}, {}, {})
        values = {
            "passed": (Fraction(side), Fraction(people == run.statements)),
            "behavior_score": (Fraction(judge, run.statements), Fraction(people, run.statements)),
        }
        found.append(ScoredLabel(trial, values, {}, is_error=False))
    return tuple(found)


def places_of(run: JudgedTrials) -> Mapping[tuple[str, int], RowPart]:
    """The part of every trial of the run."""
    return {(f"{i}", j + 1): PARTS[not side] for (i, j), side in np.ndenumerate(run.passed)}


def judged(policy: Policy, run: JudgedTrials, others: tuple[ScoredLabel, ...] = ()) -> RuleResult:
    """The first threshold of the policy for this run, corrected by its labels and `others`, of another run."""
    own = labels_of(run)
    whole = measured(policy, scored_run(policy, run))
    rows = ScoredParts(policy.weights, parts_of(run), own, places_of(run))
    corrections = Corrections(policy, whole, rows, (*others, *own))
    evidence = gate.Evidence(whole, policy.metrics, {}, None, ALPHA, corrections=corrections)
    (rule,) = (one for one in policy.rules if isinstance(one, ThresholdRule))
    return gate.judge(rule, evidence)
