"""Judged trials → a random sample: half of it from trials that the judge passed, half from trials that it failed.

There are two strata because a judge can be wrong in two ways, and the rarer outcome would hardly occur in a simple
sample. Within a stratum every trial is equally likely. Trials are ordered by a digest of the seed and the trial, so the
same seed gives the same sample on every machine, and a larger sample contains the smaller one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.labeling.conversation import ShownMessage, shown_messages
from highbar.labeling.rows import FAILED, PASSED, JudgedRow, rows_to_label
from highbar.language.phrases import some_and_more
from highbar.load.judged_rows import stratum_of
from highbar.model import ResultsFile
from highbar.model.judgments import Sampling
from highbar.store.labels import run_digest

_Key = tuple[str, int]


class DrawnTrial(Struct, frozen=True):
    """A trial to label: its statements by name, its conversation, and how it was drawn."""

    id: str
    trial: int
    statements: Mapping[str, str]
    messages: tuple[ShownMessage, ...]
    sample: Sampling

    @property
    def key(self) -> _Key:
        """The unique key of the trial in its run."""
        return self.id, self.trial


class Drawing(Struct, frozen=True):
    """The drawn trials, in the order in which people are asked, and the number of judged trials (`of`)."""

    run: str
    seed: int
    trials: tuple[DrawnTrial, ...]
    of: int

    @property
    def statements(self) -> int:
        """The number of statements, which is how many answers a person gives."""
        return sum(len(trial.statements) for trial in self.trials)


class RunToLabel(Struct, frozen=True):
    """The keys of all judged trials of a run, by stratum."""

    files: tuple[ResultsFile, ...]
    digest: str
    strata: Mapping[str, tuple[_Key, ...]]


def judged_run(files: Sequence[ResultsFile]) -> RunToLabel:
    """The judged trials in results. Raises InputError if there are none, or if several judges judged them."""
    strata: dict[str, list[_Key]] = {PASSED: [], FAILED: []}
    judgments: list[tuple[str, int, str]] = []
    judges: dict[str, None] = {}
    for found in rows_to_label(files):
        strata[stratum_of(found.row)].append(found.key)
        judgments.append((*found.key, found.judged.digest))
        judges[str(found.row.get("judge", ""))] = None
    name = files[0].name if len(files) == 1 else None
    if not judgments:
        hint = "a suite with `judge:` and statements in plain words makes highbar run ask a judge"
        raise InputError(
            Problem(
                "label.nothing-judged",
                "there is nothing to label: no trial of these results was judged",
                name,
                hint=hint,
            )
        )
    if len(judges) > 1:
        message = f"these results are of several judges: {some_and_more(list(judges))}"
        raise InputError(Problem("judge.several", message, name, hint="label the trials of one judge at a time"))
    return RunToLabel(tuple(files), run_digest(judgments), {name: tuple(keys) for name, keys in strata.items()})


def draw(run: RunToLabel, trials: int, seed: int) -> Drawing:
    """Draw a random sample of `trials` judged trials of a run, or all of them if there are fewer."""
    drawn = chosen_trials(run, trials, seed)
    found = {row.key: row for row in rows_to_label(run.files) if row.key in drawn}
    sizes = {name: (sum(stratum == name for stratum in drawn.values()), len(keys)) for name, keys in run.strata.items()}
    made = tuple(_trial(found[key], run.digest, seed, name, *sizes[name]) for key, name in drawn.items())
    return Drawing(run.digest, seed, made, sum(map(len, run.strata.values())))


def chosen_trials(run: RunToLabel, trials: int, seed: int) -> dict[_Key, str]:
    """The drawn trials, each with its stratum, in an order that does not reveal the stratum."""
    order = {key: _place(run.digest, seed, key) for keys in run.strata.values() for key in keys}
    sizes = shares(trials, {name: len(keys) for name, keys in run.strata.items()})
    drawn = {
        key: name for name, keys in run.strata.items() for key in sorted(keys, key=order.__getitem__)[: sizes[name]]
    }
    return {key: drawn[key] for key in sorted(drawn, key=order.__getitem__)}


def shares(trials: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """How many trials of each of the two strata to draw: half, or more if the other one is too small.

    >>> shares(60, {"passed": 500, "failed": 500}), shares(60, {"passed": 500, "failed": 7})
    ({'passed': 30, 'failed': 30}, {'passed': 53, 'failed': 7})
    """
    failed = min(sizes[FAILED], max(trials // 2, trials - sizes[PASSED]))
    return {PASSED: min(sizes[PASSED], trials - failed), FAILED: failed}


def _place(run: str, seed: int, key: _Key) -> bytes:
    return hashlib.sha256(json.dumps([run, seed, *key]).encode()).digest()


def _trial(found: JudgedRow, run: str, seed: int, stratum: str, drawn: int, of: int) -> DrawnTrial:
    return DrawnTrial(
        id=found.id,
        trial=found.trial,
        statements={name: judged.statement for name, judged in found.judged.statements.items()},
        messages=shown_messages(found.row),
        sample=found.sampling(run, stratum, seed=seed, drawn=drawn, of=of),
    )
