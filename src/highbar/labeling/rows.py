"""Results files → the trials that a judge has judged, each with its row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.columns import BY_NAME
from highbar.errors import InputError, Problem
from highbar.load.row_reading import read_rows
from highbar.model import ResultsFile
from highbar.model.judgments import JudgedTrial, Sampling
from highbar.store.forms import DamagedError
from highbar.store.label_form import read_judged
from highbar.store.labels import JUDGE_UNDECIDED
from highbar.store.reading import path_text

PASSED, FAILED = "passed", "failed"
_LONGEST_TEXT = 100
"""Characters of a text in a column of the user; longer texts are not stored in labels."""
_MOST_PROBLEMS = 20
"""Problems in one refusal: enough to see what they have in common."""
_NOT_SCORED = frozenset({"judged", "found", "missed", "messages", "tool_calls", "left_out"})
"""Columns of a run's rows that no metric uses. Columns of the kind `shows` are not scored either."""


class JudgedRow(Struct, frozen=True):
    """A trial that a judge has judged, and its whole row."""

    id: str
    trial: int
    judged: JudgedTrial
    row: Mapping[str, Any]

    @property
    def judge(self) -> str | None:
        """The judge, as the row names it; None if it does not."""
        found = self.row.get("judge")
        return None if found is None else str(found)

    @property
    def key(self) -> tuple[str, int]:
        """The unique key of the trial in its run."""
        return self.id, self.trial

    def sampling(self, run: str, stratum: str, *, seed: int = 0, drawn: int = 0, of: int = 0) -> Sampling:
        """How the trial came to be labeled: `drawn` trials of the `of` in its stratum were, or it was not drawn."""
        row = {**scored_columns(self.row), "id": self.id, "trial": self.trial}
        return Sampling(run, seed, stratum, drawn, of, self.judge, row, self.judged)


def rows_to_label(files: Sequence[ResultsFile]) -> Iterator[JudgedRow]:
    """The judged trials of all files. Raises InputError if a file is invalid or two rows are of the same trial.

    A trial that is undecided for a reason other than the judge is left out: no label can decide it.
    """
    seen: set[tuple[str, int]] = set()
    for file in files:
        for row in read_rows(file):
            if row.get("judged") is None or not _is_decidable(row):
                continue
            id_, trial = str(row["id"]), row.get("trial", 1)
            if (id_, trial) in seen:
                hint = "label the trials of one run at a time"
                raise InputError(
                    Problem(
                        "results.duplicate-trial",
                        f"two rows are of the same trial: {id_}, trial {trial}",
                        file.name,
                        hint=hint,
                    )
                )
            seen.add((id_, trial))
            yield JudgedRow(id_, trial, _judged(row["judged"], file.name, f"{id_}, trial {trial}"), row)


def _is_decidable(row: Mapping[str, Any]) -> bool:
    return str(row.get("unjudged", JUDGE_UNDECIDED)).startswith(JUDGE_UNDECIDED.strip())


def _judged(found: object, file: str, trial: str) -> JudgedTrial:
    try:
        # In CSV the column is JSON text; in JSON lines it is an object.
        return read_judged(json.loads(found) if isinstance(found, str) else found)
    except DamagedError as error:
        faults = error.faults[:_MOST_PROBLEMS]
        problems = [
            Problem("row.wrong-type", f"{trial}: judged: {path_text(path)}{message}", file) for path, message in faults
        ]
    except (ValueError, RecursionError):
        problems = [Problem("row.wrong-type", f"{trial}: judged: found text that is not JSON, wanted an object", file)]
    raise InputError(*problems)


def scored_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that score and select a trial, without longer texts: a file of labels has no more than it needs."""
    return {name: value for name, value in row.items() if name not in _NOT_SCORED and _is_scored(name, value)}


def _is_scored(name: str, value: Any) -> bool:
    if name in BY_NAME:
        return BY_NAME[name].kind != "shows"
    if name == "agent_tags":  # marks the tags that the agent chose, by which no rule may select trials
        return True
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _LONGEST_TEXT)
