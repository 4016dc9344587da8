"""Two runs over the same scenarios: what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from highbar.model import notebook
from highbar.model.verdict import Doubt, RuleResult, Source, Value
from highbar.model.words import Decision

if TYPE_CHECKING:  # of files of other tools, and of chosen rows
    from highbar.model.judging import Judging, Selection

Change = Literal["better", "worse", "within_margin", "cannot_tell"]
"""What became of a metric: surely better, surely worse by more than the margin, surely not, or none of these."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Head over base, with its bounds: 1 is no change. None where the data cannot bound that end."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric over the pairs in both runs, and head less base with its bounds (None where unbounded).

    `pairs` is how many pairs it rests on; `missing` of the pairs have the metric in one run only, `lost` of them in the
    base only. Where the difference is undefined, `reason` says why.
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
    """The difference of one metric, what it amounts to, and the margin that was held against it, in words."""

    difference: Difference
    outcome: Change
    margin: str | None = None


@dataclass(frozen=True, slots=True)
class PassChange:
    """How many scenarios broke and were fixed, and the mid-p value of McNemar's exact test that both are as likely."""

    broken: int
    fixed: int
    p_value: float


@dataclass(frozen=True, slots=True)
class SliceChange:
    """The changes of the pairs that share one value of one column.

    `stands_out` marks a slice whose passes changed by more than chance, among all the slices looked at; `adjusted` is
    its p-value by Benjamini and Hochberg.
    """

    by: tuple[str, str]
    pairs: int
    metrics: Mapping[str, MetricChange]
    passes: PassChange
    adjusted: float
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs: where it came from, which version it is of, and how much it holds."""

    sources: tuple[Source, ...]
    is_baseline: bool
    agent_version: str | None
    scenarios: int
    trials: int
    date: str | None = None
    forced: str | None = None
    judged_by: tuple[Judging, ...] = ()  # who judged, where the rows come from files of other tools
    selection: Selection | None = None  # which rows were taken, if not all


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from base to head. `verdict` is None where no rule compares the two.

    A scenario is broken where all its trials passed in the base and not all did in the head, and fixed the other way
    round; flaky where some of its trials passed and others did not, in either run.
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
        """Whether rules compared the two and the verdict is a pass."""
        return self.verdict == "pass"

    def _repr_html_(self) -> str | None:
        """The comparison in a notebook."""
        return notebook.shown(self)
