"""Two runs over the same scenarios: what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct

from highbar.model.judging import Judging, Selection
from highbar.model.verdict import Doubt, RuleResult, Source, Value
from highbar.model.words import Decision

Change = Literal["better", "worse", "within_margin", "cannot_tell"]
"""How a metric changed: surely better, surely worse by more than the margin, surely not worse by that, or unclear."""


class Factor(Struct, frozen=True):
    """Head divided by base, with its bounds: 1 is no change. A bound is None if the data do not limit that end."""

    value: float
    low: float | None
    high: float | None


class Difference(Struct, frozen=True):
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


class MetricChange(Struct, frozen=True):
    """The difference of one metric, its outcome, and the margin that the policy allows, in words."""

    difference: Difference
    outcome: Change
    margin: str | None = None


class PassChange(Struct, frozen=True):
    """How many scenarios broke and were fixed, and the mid-p value of McNemar's exact test."""

    broken: int
    fixed: int
    p_value: float


class SliceChange(Struct, frozen=True):
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


class Side(Struct, frozen=True):
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


class Comparison(Struct, frozen=True):
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

    def __repr__(self) -> str:
        found = "no verdict" if self.verdict is None else self.verdict
        return f"<Comparison: {found}, {len(self.broken)} broken, {len(self.fixed)} fixed of {self.pairs} scenarios>"

    def __str__(self) -> str:
        from highbar.report import render  # a layer above, loaded on call only: see pyproject.toml

        return render(self).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of the comparison, as `--format json` prints it, as a dict."""
        from highbar.store.comparison import write  # a layer above, loaded on call only: see pyproject.toml

        return write(self)

    def to_html(self) -> str:
        """The comparison as one HTML page, as `--output report.html` writes it."""
        from highbar.report import render  # a layer above, loaded on call only: see pyproject.toml

        return render(self, "html")

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        # A layer above, so it may be loaded only by the call: see the import contract in pyproject.toml.
        from highbar.report.html.compact import compact_comparison

        return compact_comparison(self)
