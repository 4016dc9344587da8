"""The same scenarios in several runs → one record for each, with all its trials: the scenarios of a pooled baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from highbar.columns import EXTRA, UNBOUNDED_NAMES
from highbar.model.records import ONE, ScenarioRecord

_ABSENT_IS_0 = frozenset({"error", "violated", "unjudged"})
"""Measures that a record leaves out if they are 0."""


def pooled_record(runs: Sequence[ScenarioRecord]) -> ScenarioRecord:
    """One scenario over several runs, the newest last: all its trials, and the mean of each value over them.

    Category, weight and cluster are those of the newest run. A measure that only some of the runs have is left out: its
    mean would cover only the trials that happen to have it.
    """
    newest = runs[-1]
    trials = sum(run.trials for run in runs)
    values = {name: value for name in _names(runs) if (value := _mean(runs, name)) is not None}
    return ScenarioRecord(
        id=newest.id,
        trials=trials,
        passed=sum(run.passed for run in runs),
        columns=newest.columns,
        values=values,
        ranks=_ranks(runs) if len(runs) > 1 else newest.ranks,
        weight=newest.weight,
        cluster=newest.cluster,
        lone=frozenset(name for name in values if all(name in run.lone for run in runs if name in run.values)),
        valueless=frozenset(name for run in runs for name in run.valueless if name in values),
    )


def _names(runs: Iterable[ScenarioRecord]) -> list[str]:
    return sorted({name for run in runs for name in run.values})


def _mean(runs: Sequence[ScenarioRecord], name: str) -> Fraction | None:
    """The mean over all trials; None if only some of the runs have the measure."""
    if name in _ABSENT_IS_0:
        known = [(run.values.get(name, Fraction(0)), run.trials) for run in runs]
    else:
        known = [(run.values[name], run.trials) for run in runs if name in run.values]
        # A value that comes only from an error, in a scenario without such a demand, need not be in the other runs.
        if len(known) < len(runs) and not all(name in run.lone for run in runs if name in run.values):
            return None
    mean = sum((value * trials for value, trials in known), Fraction(0)) / sum(trials for _, trials in known)
    # The object ONE itself: sums recognize it by identity, and skip an exact product.
    return ONE if mean == 1 else mean


def _ranks(runs: Sequence[ScenarioRecord]) -> dict[str, tuple[Fraction | None, ...]]:
    """The values of single trials, for columns that every run has; trials that never completed come last."""
    names = {name for run in runs for name in run.ranks}
    names |= {name for name in _names(runs) if name in UNBOUNDED_NAMES or name.startswith(EXTRA)}
    if any(run.values.get("error") for run in runs):
        names |= {"latency_ms"}
    found = {}
    for name in sorted(names):
        listed = [run.ranked(name) for run in runs]
        values = [value for values in listed for value in values]
        # If only crashed trials are ranked, a run without the column lacks no value.
        if all(listed) or (values and not any(value is not None for value in values)):
            found[name] = tuple(sorted(values, key=lambda value: (value is None, value or 0)))
    return found
