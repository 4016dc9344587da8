"""A copy of a run's rows is judged like the run's folder, in whatever form, and however many of them are copied.

`attempt(seed, folder)` makes a run from the seed: whole, filtered, interrupted or in shards. It copies its rows into
every form that can carry them, some of them left out or graded by another suite, and judges both by one policy. No copy
passes where the folder does not. `python -m tests.fuzzing copies@SEED` shows one again.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import highbar
from highbar.load.checkout import Checkout
from highbar.running.order import shard_of
from tests.laws.forms import BASE, FORMS, Form, Row, expresses
from tests.recorded_runs import record

LIGHT = [name for name in FORMS if not any(word in name for word in ("large", "medium", "blank", "mark"))]
"""Forms that cost little to write and to read."""
COMMITS = (None, "1" * 40, "2" * 40)


def flat(rows: Sequence[Row]) -> list[Row]:
    """The rows with every member of the column as a column of its own, as `pandas.json_normalize` writes them."""
    found = []
    for row in rows:
        run = row.get("highbar_run") or {}
        rest = {name: value for name, value in row.items() if name != "highbar_run"}
        found.append({**rest, **{f"highbar_run.{name}": value for name, value in run.items()}})
    return found


def as_text(rows: Sequence[Row]) -> list[Row]:
    """The rows with the column as JSON text, as it comes back from a table of text."""
    return [
        {**row, "highbar_run": json.dumps(row["highbar_run"])} if row.get("highbar_run") else dict(row) for row in rows
    ]


SHAPES: Mapping[str, Callable[[Sequence[Row]], list[Row]]] = {"as written": list, "flat": flat, "text": as_text}


def plain(row: Row) -> Row:
    """The columns of a row by which it is judged, in types that every form has."""
    kept = ("id", "trial", "answer_checked", "correct", "error", "unjudged", "output", "highbar_run")
    return {name: row[name] for name in kept if name in row}


def verdict(results: Any, policy: Mapping[str, Any], *, subset: bool) -> str:
    """What a check says: pass, fail, inconclusive; or `refused`."""
    try:
        return str(highbar.check(results, policy, subset=subset).verdict)
    except highbar.InputError:
        return "refused"


class Made:
    """A run as the seed has it: its folders, and its suite."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        count = chance.randint(2, 6)
        scenarios = [
            {"id": f"S{place}", "input": "?", "answer": "yes", "trials": chance.choice((1, 1, 2))}
            for place in range(count)
        ]
        self.suite = folder / "suite.json"
        self.suite.write_text(json.dumps(scenarios))
        self.kind = chance.choice(("whole", "filtered", "interrupted", "shards", "shards"))
        good = {f"S{place}": chance.random() < 0.8 for place in range(count)}
        never = chance.choice(list(good)) if chance.random() < 0.3 or self.kind == "interrupted" else None

        def answer(id_: str, _: int) -> str | None:
            return None if id_ == never else "yes" if good[id_] else "no"

        self.folders = []
        if self.kind == "shards":
            for number in range(1, 3):
                ids = [id_ for id_ in good if shard_of(id_, 2) == number]
                commit = Checkout(chance.choice(COMMITS[: chance.choice((1, 2, 3))]), changed=chance.random() < 0.15)
                path = folder / f"shard-{number}"
                if ids and chance.random() < 0.9:
                    self.folders.append(
                        record(path, self.suite, answer, shard=(number, 2), chosen_ids=ids, checkout=commit)
                    )
        if not self.folders:
            more: dict[str, Any] = {}
            if self.kind == "filtered":
                more["only"] = chance.sample(list(good), count - 1)
            if self.kind == "interrupted":
                more["how"] = "interrupted"
            self.folders.append(record(folder / "run", self.suite, answer, **more))

    @property
    def rows(self) -> list[Row]:
        """All rows, as they stand in the folders."""
        return [
            plain(json.loads(line))
            for folder in self.folders
            for line in (folder / "results.jsonl").read_text("utf-8").splitlines()
        ]


def attempt(seed: int, folder: Path, forms: Sequence[str] = LIGHT) -> str:
    """One run from the seed, and copies of its rows; an AssertionError is a fault."""
    chance = random.Random(seed)
    with _inside(folder):
        return _compare(chance, folder, forms)


def _compare(chance: random.Random, folder: Path, forms: Sequence[str]) -> str:
    made = Made(chance, folder)
    policy: dict[str, Any] = {"thresholds": {"blocking": {"accuracy": chance.choice(("≥ 0%", "≥ 50%", "≥ 100%"))}}}
    if chance.random() < 0.5:
        policy["suite"] = str(made.suite)
        if chance.random() < 0.3:  # another version of the suite than the one that graded the run
            text = made.suite.read_text("utf-8").replace('"answer": "yes"', '"answer": "no"', 1)
            made.suite.write_text(text, "utf-8")
    subset = chance.random() < 0.3
    wanted = verdict(list(map(str, made.folders)), policy, subset=subset)
    rows, deleted = made.rows, 0
    if chance.random() < 0.5 and len(rows) > 1:
        deleted = chance.randint(1, len(rows) - 1)
        rows = chance.sample(rows, len(rows) - deleted)
    if chance.random() < 0.15:
        rows = [
            {name: value for name, value in row.items() if name != "highbar_run" or place}
            for place, row in enumerate(rows)
        ]
    shape = chance.choice(list(SHAPES))
    copied = SHAPES[shape](rows)
    for name, form in {"jsonl": BASE, **{name: FORMS[name] for name in chance.sample(forms, 3)}}.items():
        if not _carries(form, copied):
            continue
        found = verdict(form.write(copied, folder), policy, subset=subset)
        assert found != "pass" or wanted == "pass", (
            f"{made.kind}, {shape}, {name}, {deleted} deleted: {found}, not {wanted}"
        )
        alike = deleted or subset or wanted == "refused" or len({"highbar_run" in row for row in rows}) > 1
        assert alike or found == wanted, f"{made.kind}, {shape}, {name}: {found} of the copy, {wanted} of the folder"
    return f"{made.kind}: {wanted}"


def _carries(form: Form, rows: Sequence[Row]) -> bool:
    return len(rows) > 1 and expresses(form, rows)


@contextmanager
def _inside(folder: Path) -> Any:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
