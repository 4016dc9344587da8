"""Which labels of a judge count, which of them are of this run, and whether these contradict the others.

Labels are of this run if they are of a random sample of its trials: the same conversation, and the same question to
the same judge. Others expire, because a judge changes without changing its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct

from highbar.language.phrases import count, some
from highbar.load.judged_rows import JudgedRows, Stratum
from highbar.model.judge_quality import LabelSource
from highbar.model.judgments import LabeledTrial
from highbar.statistics.judges import chance_of_same_rates
from highbar.store.labels import Labels
from highbar.verdicts.judged_parts import ScoredLabel
from highbar.verdicts.label_rates import strata_of

MOST_DAYS = 30
"""For so many days after their day, labels of another run count."""
LEAST_OF_THIS_RUN = 20
"""Labeled trials of this run that must not contradict labels of another one that correct a share."""
_CONTRADICTED = 0.05
"""The p-value below which labels of this run contradict those of another one."""
_CLOCKS_DIFFER = timedelta(days=1)
_BIND = "highbar judge calibrate RESULTS --labels FILE --bind NEW.jsonl makes them say so"
_DRAW = "highbar judge label RESULTS draws them"


class UsableLabels(Struct, frozen=True):
    """The labeled trials that count. If there are none, `why` says why; `expired` counts those of another run."""

    trials: tuple[LabeledTrial, ...] = ()
    why: str | None = None
    expired: int = 0


def usable_labels(rows: JudgedRows, labels: Labels | None, today: date) -> UsableLabels:
    """The labeled trials of the judge of these rows that have not expired."""
    if labels is None:
        return UsableLabels(why="the policy names no labels; highbar judge label RESULTS makes some")
    if rows.elsewhere:
        return UsableLabels(
            why=f"{count(rows.elsewhere, 'trial')} name a judge, but not what it said (no column `judged`)"
        )
    if len(rows.by) != 1:
        found = f"the trials rest on {len(rows.by)} judges ({some(list(rows.by))})" if rows.by else "no row names it"
        return UsableLabels(why=f"{found}; labels are of one")
    (judge,) = rows.by
    known = _each_once(trial for trial in labels.complete if trial.sample.judge == judge)
    other = [trial.id for trial in known if not rows.agrees(trial)]
    if other:
        return UsableLabels(
            why=f"{labels.file} says that the judge said something else than these rows do, of {some(other)}"
        )
    current = tuple(trial for trial in known if _is_judged_here(rows, trial) or not _has_expired(trial, today))
    expired = len(known) - len(current)
    if any(trial.is_answered for trial in current):
        return UsableLabels(current, expired=expired)
    return UsableLabels(why=_why_none(labels, known, expired), expired=expired)


def _why_none(labels: Labels, known: Sequence[LabeledTrial], expired: int) -> str:
    if expired:
        return (
            f"the labels in {labels.file} are of another run, and expired: their day (`on`) is over {MOST_DAYS} days"
            " ago, missing or in the future; label this run: highbar judge label RESULTS draws its trials"
        )
    if labels.complete and not known:
        others = dict.fromkeys(str(trial.sample.judge) for trial in labels.complete)
        return f"{labels.file} has labels of another judge: {some(list(others))}"
    if labels.unbound and not labels.trials:
        return f"the labels in {labels.file} do not say which conversation they are about; {_BIND}"
    return f"{labels.file} has no trial of which every statement has an answer"


def _each_once(trials: Iterable[LabeledTrial]) -> tuple[LabeledTrial, ...]:
    """The trials without those that were drawn again: the same conversation counts as one measurement."""
    found: dict[tuple[str, int, str], LabeledTrial] = {}
    for trial in trials:
        found.setdefault((trial.id, trial.trial, trial.sample.judged.conversation), trial)
    return tuple(found.values())


def _has_expired(trial: LabeledTrial, today: date) -> bool:
    """Whether a label is too old, does not say its day, or is of a day that has not come."""
    return trial.on is None or not -_CLOCKS_DIFFER <= today - trial.on <= timedelta(days=MOST_DAYS)


# --- of which run ----------------------------------------------------------------------------


def source_of(rows: JudgedRows, scored: Sequence[ScoredLabel]) -> LabelSource:
    """Whether the labels are of this run, of another, or mixed; by digests, never assumed."""
    here = len(labels_of_this_run(rows, scored))
    return "another run" if not here else "same run" if here == len(scored) else "mixed"


def labels_of_this_run(rows: JudgedRows, scored: Sequence[ScoredLabel]) -> tuple[ScoredLabel, ...]:
    """The labels of trials that were drawn at random from these rows."""
    sizes = rows.sizes
    return tuple(one for one in scored if _is_drawn_here(rows, sizes, one.trial))


def _is_judged_here(rows: JudgedRows, trial: LabeledTrial) -> bool:
    """Whether these rows have the conversation of a labeled trial, with the same question to the judge."""
    place, judged = rows.places.get((trial.id, trial.trial)), trial.sample.judged
    return place is not None and (place.conversation, place.digest) == (judged.conversation, judged.digest)


def _is_drawn_here(rows: JudgedRows, sizes: Mapping[Stratum, int], trial: LabeledTrial) -> bool:
    if not _is_judged_here(rows, trial):
        return False
    place, sample = rows.places[trial.id, trial.trial], trial.sample
    return sample.drawn > 0 and (sample.stratum, sample.of) == (place.stratum, sizes[place.stratum])


# --- do they agree ---------------------------------------------------------------------------


def why_unconfirmed(labels: Sequence[ScoredLabel], here: Collection[ScoredLabel], column: str) -> str | None:
    """Why labels of another run may not be true of the judge in this run; None if labels of this run confirm them."""
    if len(here) < LEAST_OF_THIS_RUN:
        few = f"there {'is' if len(here) == 1 else 'are'} {len(here)}"
        return (
            "labels of another run correct it only if at least"
            f" {LEAST_OF_THIS_RUN} labeled trials of this run agree with them, and {few}; {_DRAW}"
        )
    own = {id(one) for one in here}
    others = [one for one in labels if id(one) not in own]
    p_value = chance_of_same_rates(strata_of(here, column), strata_of(others, column))
    if p_value >= _CONTRADICTED:
        return None
    return (
        f"the labels of this run contradict those of another run (p {p_value:.2g}), as if the judge had changed: remove"
        " the older ones, and label more of this run"
    )
