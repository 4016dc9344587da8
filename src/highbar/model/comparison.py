"""Two runs over the same scenarios: what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from highbar.model.against import Source
from highbar.model.judging import Judging, Selection
from highbar.model.literals import Decision
from highbar.model.verdict import Doubt, RuleResult, Value

if TYPE_CHECKING:  # a cycle: details has a field of type Comparison
    from highbar.model.details import TrialDetail

Change = Literal["better", "worse", "within_margin", "cannot_tell"]
"""How a metric changed, by its interval: certainly better; certainly worse by more than the margin; certainly not worse
by more than the margin; or none of these."""


Direction = Literal["better", "worse", "mixed", "no clear change"]


class Factor(Struct, frozen=True):
    """Head divided by base, with its bounds: 1 is no change. A bound is None if the data do not limit that end."""

    value: float
    low: float | None
    high: float | None


class Difference(Struct, frozen=True):
    """A metric over the scenarios of both runs, and head minus base with its bounds (None if unbounded).

    `pairs` is the number of scenarios behind it. `missing` counts the scenarios that have the metric in one run only,
    `lost` those that have it in the base only. If the difference is undefined, `reason` says why.
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
    """The difference of one metric, its outcome, and the margin that the policy allows, in words.

    `allowed` is the worst difference that the margin accepts; None without a margin, or if the difference is undefined.
    """

    difference: Difference
    outcome: Change
    margin: str | None = None
    allowed: Fraction | None = None


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
    runs: int = 1  # how many runs a baseline pools


class MovedScenario(Struct, frozen=True):
    """A scenario that broke or was fixed, with its trials in both runs; None if that run cannot be read again."""

    id: str
    base: tuple[TrialDetail, ...] | None
    head: tuple[TrialDetail, ...] | None


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
    moved: tuple[MovedScenario, ...] = ()  # the first that broke or were fixed; only if a report shows them
    read_again: Callable[[Comparison], Comparison] | None = None  # None if the results are not at hand

    @property
    def direction(self) -> Direction:
        """The common direction of the pass rate and of every metric that a rule compares; `mixed` if they disagree.

        Other metrics do not count: of twenty, one or two change by chance alone. Only a certain fall of the safety rate
        always counts as worse, because the pass rate can hide a few unsafe scenarios among many safe ones.
        """
        named = dict.fromkeys(("pass_rate", *(rule.metric for rule in self.rules if rule.metric)))
        found = {self.metrics[name].outcome for name in named if name in self.metrics}
        safety = self.metrics.get("safety_rate")
        found |= {"worse"} if safety is not None and safety.outcome == "worse" else set()
        if {"better", "worse"} <= found:
            return "mixed"
        return "better" if "better" in found else "worse" if "worse" in found else "no clear change"

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; False if no rule compares the two."""
        return self.verdict == "pass"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        compared = (name for name in self.__struct_fields__ if name != "read_again")
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    __hash__ = None  # type: ignore[assignment] # its mappings have none either

    def complete(self) -> Comparison:
        """The comparison with the outputs of both runs, for scenarios that broke or were fixed; HTML shows them.

        The results are read again. Raises ReportError if they have changed since.
        """
        return self if self.moved or self.read_again is None else self.read_again(self)

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
