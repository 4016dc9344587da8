"""What the sums show besides metrics: slices that are worse than the rest, repeated trials, weight on few scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.measure import doubts
from highbar.measure.limits import FALSE_DISCOVERIES, FEW_CLUSTERS, FEW_WEIGHTED, HEAVY
from highbar.measure.parts import of_metric
from highbar.measure.values import Measured
from highbar.model import Ratio, Repetition
from highbar.model.reduction import RepetitionSums
from highbar.statistics.bounds import effective_clusters
from highbar.statistics.second_run import Noise
from highbar.statistics.second_run import trial_noise as noise_of
from highbar.statistics.slices import benjamini_hochberg, effective_counts, rounded_sums, shrink, worse_than_rest
from highbar.statistics.trials import VarianceSplit, never_failed_bound, variance_split_from_sums

COMPARED = "pass_rate"
FEW_REPEATED, SMALL_PART = 5, Fraction(1, 20)
"""The least Σ(1 - 1/m), in number and as a share of the scenarios, that shows a correlation of their m trials.

They are ten scenarios with two trials each, and a tenth of the suite.
"""


class SliceStanding(Struct, frozen=True):
    """How the pass rate of a slice compares with the rest; `likely` is shrunk toward that of all slices."""

    worse: bool = False
    p_value: float | None = None
    likely: float | None = None


def standings(whole: Measured, slices: Sequence[Measured]) -> list[SliceStanding]:
    """For each slice, whether its pass rate is below the rest; at most one in ten of those is marked by chance."""
    of_whole = whole.sums(COMPARED)
    parts = [part.sums(COMPARED) for part in slices]
    found = [i for i, part in enumerate(parts) if part is not None and part.clusters]
    if of_whole is None or len(found) < 2:
        return [SliceStanding() for _ in slices]
    whole_sums = rounded_sums(of_whole)
    rounded_parts = [rounded_sums(part) for part in parts if part is not None and part.clusters]
    p_values = [worse_than_rest(part, whole_sums.without(part)) for part in rounded_parts]
    marked = benjamini_hochberg(p_values, FALSE_DISCOVERIES)
    likely = shrink(effective_counts(rounded_parts))
    standing = [SliceStanding() for _ in slices]
    for i, place in enumerate(found):
        standing[place] = SliceStanding(marked[i], p_values[i], likely[i])
    return standing


def repetition(sums: RepetitionSums | None, scenarios: int, alpha: float) -> Repetition | None:
    """The variance between and within scenarios, from repeated trials; None if no scenario has two."""
    split = sums and _variance_split(sums, scenarios)
    if sums is None or not split:
        return None
    return Repetition(
        flaky=sums.flaky,
        between=split.between,
        within=split.within,
        correlation=split.correlation,
        fewest=sums.fewest,
        still_possible=never_failed_bound(sums.fewest, alpha),
    )


def _variance_split(sums: RepetitionSums, scenarios: int) -> VarianceSplit | None:
    return variance_split_from_sums(
        scenarios=scenarios,
        freedom=sums.freedom,
        within=sums.within,
        rate=sums.rate,
        rate_squares=sums.rate_squares,
        inverse_trials=sums.inverse_trials,
    )


def noise_share(sums: RepetitionSums | None, scenarios: int, *, pooled: bool, undecided: bool = False) -> Noise:
    """The share of an estimate's variance that is trial noise; a range if repeated trials do not show it.

    A few repeated scenarios show it only for themselves, and may have been repeated because they are flaky. Undecided
    trials may or may not agree with the others.
    """
    if sums is None:
        return Noise()
    split = _variance_split(sums, scenarios)
    trials = float(scenarios / sums.inverse_trials) if sums.inverse_trials else 1.0
    repeated = scenarios - sums.inverse_trials  # a scenario with two trials counts half, one with more at most 1
    enough = repeated >= FEW_REPEATED and repeated >= SMALL_PART * scenarios and not undecided
    return noise_of(split, sums.freedom, trials, pooled=pooled, enough=enough)


def weight_warnings(whole: Measured, *, weighted: bool, clustered: bool) -> tuple[str, ...]:
    """Warnings that weights or clusters make a metric depend on few scenarios, or that heavy scenarios fail more."""
    name = "weighted_pass_rate" if weighted else COMPARED
    root = of_metric(whole.policy, whole.policy.metrics[name]).root
    if not (weighted or clustered) or not isinstance(root, Ratio):
        return ()
    totals = whole.group.ratios[root]
    if not totals.sums.clusters:
        return ()
    unit = "cluster" if clustered else "scenario"
    found = []
    share = totals.largest / float(totals.sums.d)
    if share > HEAVY:
        found.append(f"one {unit} carries {share:.0%} of the weight: what it does decides much of {name}")
    effective = effective_clusters(totals.sums)
    few = FEW_WEIGHTED if weighted and doubts.weights_differ(root, whole.group) else FEW_CLUSTERS
    if effective < few:
        found.append(
            f"the {totals.sums.clusters} {unit}s are worth about {effective:.0f} of equal weight:"
            f" bounds are rough below {few}"
        )
    if weighted and doubts.heavier_fail_more(root, whole.group):
        found.append(f"scenarios with more weight fail more often than others: few of them decide {name}")
    return tuple(found)


def trial_warnings(whole: Measured, metrics: Iterable[str]) -> tuple[str, ...]:
    """Warnings on metrics whose trials may not be a sample: slow scenarios may have been tried more often."""
    found = {name: whole.value(name).doubt for name in dict.fromkeys(metrics)}
    return tuple(f"{name}: {doubt.reason}" for name, doubt in found.items() if doubt and doubt.about == "trials")
