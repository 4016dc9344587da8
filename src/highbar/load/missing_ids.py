"""A file whose rows name no scenario → one problem for the whole file, with the mapping that it probably needs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from highbar.errors import Problem
from highbar.load.candidates import Guess, read_fields
from highbar.load.guess import guess
from highbar.load.map_text import listed_fields, mapping_lines, yaml_scalar
from highbar.load.sample import Sample, read_sample
from highbar.model import ResultsFile

MAP = "map.yaml"
ROWS = "<rows>"
"""The name of rows from Python in messages."""


def missing_id(file: ResultsFile) -> Problem | None:
    """The problem of a file without ids; None if some row has an id, or if the file cannot be read."""
    sample = None if file.imported else read_sample(file)
    if sample is None or sample.has_ids:
        return None
    return of_sample(sample, file.name)


def of_sample(sample: Sample, name: str) -> Problem:
    """The problem of the file from which the sample was taken."""
    top = [field for field in read_fields(sample.rows) if len(field.path) == 1]
    if sample.places:
        keys = " and ".join(yaml_scalar(".".join(place.keys)) for place in sample.places[:3])
        what = f"the rows are not at the top of the file, but under {keys}"
    else:
        which = "no row" if sample.whole else f"none of the first {len(sample.rows):,} rows"
        what = f"{which} has an id, which names its scenario"
    if name == ROWS:
        return Problem(
            "row.missing-id", f"{what}; the keys are {listed_fields(top)}", file=name, hint=_rename(guess_of(sample))
        )
    return Problem(
        "row.missing-id",
        f"{what}; the columns are {listed_fields(top)}",
        file=name,
        hint=f"this mapping is a guess. `{init_command(name)}` writes it, with a policy; then `{check_command(name)}`",
        example="\n".join(mapping_lines(guess_of(sample), sample.places)),
    )


def of_table(rows: tuple[Mapping[str, Any], ...], package: str) -> Problem:
    """The problem of a data frame or a table with these first rows."""
    top = [field for field in read_fields(rows) if len(field.path) == 1]
    message = f"no row has an id, which names its scenario; the columns are {listed_fields(top)}"
    return Problem("row.missing-id", message, hint=_rename(guess_of(Sample(rows, whole=True)), package))


def _rename(guess: Guess, package: str | None = None) -> str:
    """The hint with code that renames the columns of a frame, or the keys of rows in Python."""
    new_names = {
        one.field.path[0]: column
        for column, one in guess.settled.items()
        if one.field and len(one.field.path) == 1 and one.field.path[0] != column and "." not in column
        if not one.options and one.constant is None
    }
    if not new_names:
        return "name the scenario in the column id"
    if package is None:
        return f"a guess: rename the keys: {new_names}"
    return f"a guess: df.rename({'columns=' if package == 'pandas' else ''}{new_names})"


def guess_of(sample: Sample) -> Guess:
    """The guess of a mapping from a sample."""
    has_keys = bool(sample.places) and sample.places[0].kind == "{}"
    return guess(read_fields(sample.rows), cells=sample.cells, has_keys=has_keys)


def init_command(name: str) -> str:
    """The command that writes the mapping."""
    return f"highbar init --from {shell_word(name)}"


def check_command(name: str, map_file: str | None = MAP) -> str:
    """The command that checks the file with that mapping."""
    return f"highbar check {shell_word(name)}" + (f" --map {shell_word(map_file)}" if map_file else "")


def shell_word(name: str) -> str:
    """A file name as a word of a shell command; FILE if it cannot be printed."""
    if not name.isprintable() or name.startswith("<"):
        return "FILE"
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
