"""Two runs over the same scenarios: what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from highbar.model.verdict import Doubt, RuleResult, Source, Value
from highbar.model.words import Decision

if TYPE_CHECKING:  # of files of other tools, and of chosen rows
    from highbar.model.judging import Judging, Selection

Change = Literal["better", "worse", "within_margin", "cannot_tell"]
"""How a metric changed: surely better, surely worse by more than the margin, surely not worse by that, or unclear."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Head divided by base, with its bounds: 1 is no change. A bound is None if the data do not limit that end."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric over the scenarios of both runs, and head minus base with its bounds (None if unbounded).

    `pairs` is the number of scenarios behind it; `missing` have the metric in one run only, `lost` of those in the base
    only. If the difference is undefined, `reason` says why.
    """

    base: Value
    head: Value
    value: Fraction | None
    low: float | None
    high: float | None
    pairs: int
    missing: int = 0
    lost: int = 0
    reason: str | None = None
    factor: Factor | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class MetricChange:
    """The difference of one metric, its outcome, and the margin that the policy allows, in words."""

    difference: Difference
    outcome: Change
    margin: str | None = None


@dataclass(frozen=True, slots=True)
class PassChange:
    """How many scenarios broke and were fixed, and the mid-p value of McNemar's exact test."""

    broken: int
    fixed: int
    p_value: float


@dataclass(frozen=True, slots=True)
class SliceChange:
    """The changes of the pairs that share one value of one column.

    `stands_out`: the pass rate changed by more than chance, corrected for the number of slices; `adjusted` is the
    p-value after that correction (Benjamini and Hochberg).
    """

    by: tuple[str, str]
    pairs: int
    metrics: Mapping[str, MetricChange]
    passes: PassChange
    adjusted: float
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs: its files, the agent version, and its size."""

    sources: tuple[Source, ...]
    is_baseline: bool
    agent_version: str | None
    scenarios: int
    trials: int
    date: str | None = None
    forced: str | None = None
    judged_by: tuple[Judging, ...] = ()  # who judged, if the rows come from files of other tools
    selection: Selection | None = None  # which rows were taken, if not all


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from base to head. `verdict` is None if no rule compares the two.

    A scenario is broken if all its trials passed in the base but not in the head, and fixed the other way round; it is
    flaky if some of its trials passed and others did not, in either run.
    """

    verdict: Decision | None
    pairs: int
    metrics: Mapping[str, MetricChange]
    slices: tuple[SliceChange, ...]
    passes: PassChange
    broken: tuple[str, ...]
    fixed: tuple[str, ...]
    flaky: tuple[str, ...]
    only_in_base: tuple[str, ...]
    only_in_head: tuple[str, ...]
    rules: tuple[RuleResult, ...]
    base: Side
    head: Side
    warnings: tuple[str, ...] = ()
    policy: Source | None = None
    confidence: Fraction = Fraction(95, 100)
    latency: Factor | None = None  # of the mean latency of the pairs

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; False if no rule compares the two."""
        return self.verdict == "pass"

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        # A layer above, so it may be loaded only by the call: see the import contract in pyproject.toml.
        from highbar.report.html.compact import compact_comparison

        return compact_comparison(self)
