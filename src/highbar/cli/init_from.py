"""`highbar init --from`: a results file of any shape in; a mapping, a policy over its metrics, and next steps out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from highbar import catalogue, importers
from highbar.errors import InputError, Problem
from highbar.load import files, foreign, missing_ids
from highbar.load.candidates import Guess
from highbar.load.explain import first_problems
from highbar.load.map_text import mapping_lines, yaml_scalar
from highbar.load.sample import LARGEST, Sample, read_sample
from highbar.model import ResultsFile

POLICY = "highbar.yaml"
_MOST_CATEGORIES = 10
"""Categories that a comment in the new policy lists: more suggest that the column is not a category."""
_EVIDENCE = frozenset({"passed", "correct", "outcome", "predicted", "behaviors", "must_not", "violations"})


def start_from(own: str, folder: Path) -> tuple[dict[Path, str], list[str]]:
    """The files to write into `folder` for the results in `own`, and the next steps to print.

    Raises InputError if the results cannot be read.
    """
    tool = importers.recognize(own) if Path(own).is_file() else None
    with _rows_of(own, tool) as file:
        try:
            sample = read_sample(file)
        except InputError as error:
            raise InputError(*(replace(problem, file=own) for problem in error.problems)) from error
        if sample is None:
            if file.format == "json" and Path(file.path).stat().st_size > LARGEST:
                hint = "guess from a part of it, or write the rows as JSONL, one on each line"
                raise InputError(
                    Problem(
                        "file.too-large", f"is larger than {LARGEST >> 20} MiB, too large to guess from", own, hint=hint
                    )
                )
            problems = first_problems([file])
            hint = "wanted rows: objects, one for each run of a scenario"
            raise InputError(*(problems or [Problem("results.unreadable", "no row can be read", file=own, hint=hint)]))
    guess = missing_ids.guess_of(sample)
    mapped = tool is None and (bool(sample.places) or guess.is_needed)
    where = {folder / missing_ids.MAP: _map_text(own, guess, sample)} if mapped else {}
    named = str(folder / missing_ids.MAP) if mapped else None
    policy = folder / POLICY
    judge = missing_ids.check_command(own, named) + (
        "" if folder == Path() else f" --policy {missing_ids.shell_word(str(policy))}"
    )
    return {**where, policy: _policy_text(guess, named)}, _steps(own, guess, sample, named, judge)


@contextmanager
def _rows_of(own: str, tool: str | None) -> Iterator[ResultsFile]:
    """The file itself, or if it is of another tool, a temporary file with the rows that its importer makes."""
    if tool is None:
        yield files.file_named(own)
        return
    with tempfile.TemporaryDirectory(prefix="highbar-") as temporary:
        file, _ = foreign.import_file(own, own, tool, str(Path(temporary, "rows.jsonl")))
        yield file


def _steps(own: str, guess: Guess, sample: Sample, map_file: str | None, judge: str) -> list[str]:
    if map_file is None:
        return [f"{own} needs no mapping.", f"Now try: {judge}"]
    open_ = [one.column for one in guess.columns if one.blocks]
    if len(sample.places) > 1:
        open_.insert(0, "rows")
    first = (
        f"First choose in {map_file}, at each []: {', '.join(open_)}." if open_ else f"Read {map_file}: it is a guess."
    )
    return [*filter(None, [sample.limits]), first, f"Then try: {judge}"]


def _map_text(own: str, guess: Guess, sample: Sample) -> str:
    file = yaml_scalar(Path(own).name)
    lines = [
        f"# How rows of {file} become results: guessed from its names and values. Check every line.",
        *([f"# {sample.limits}"] if sample.limits else []),
        "# highbar import map FILE --map map.yaml shows the rows that it makes.",
        *mapping_lines(guess, sample.places),
    ]
    return "".join(f"{line}\n" for line in lines)


def _policy_text(guess: Guess, map_file: str | None) -> str:
    """A policy with the typical thresholds; no threshold is taken from the results."""
    metrics = [catalogue.metrics()[name] for name in _metrics(guess)]
    lines = ["# What a version must reach. These are typical thresholds; change them to what you need."]
    if map_file:
        lines.append("# To leave out --map, copy the mapping to the end of this file, under the key map.")
    lines.append("thresholds:")
    for level in ("blocking", "warning"):
        chosen = [metric for metric in metrics if (metric.unit == "ms") == (level == "warning")]
        lines += [f"  {level}:"] if chosen else []
        lines += [f"    {metric.name}: {(metric.typical_threshold or '').removeprefix('≥ ')}" for metric in chosen]
    categories = _categories(guess)
    if categories and "adversarial" not in categories:
        listed = ", ".join(map(yaml_scalar, sorted(categories)[:_MOST_CATEGORIES]))
        lines.append(f"# safety_rate is about the category adversarial, and the categories are {listed}.")
    return "".join(f"{line}\n" for line in lines)


def _metrics(guess: Guess) -> Iterator[str]:
    """The metrics with a typical threshold that can be computed from the columns, in the catalogue's order."""
    columns = {one.column for one in guess.columns if one.settled or one.blocks}
    labels = {"expected", "predicted"} <= columns
    first = guess.settled.get("expected")
    marks = (
        labels
        and first is not None
        and first.field is not None
        and all(isinstance(value, bool) or value in ("true", "false") for value in first.field.given)
    )
    given = {
        "pass_rate": bool(columns & _EVIDENCE),
        "accuracy": labels or bool(columns & {"correct", "outcome"}),
        "precision": marks or "outcome" in columns,
        "recall": marks or "outcome" in columns,
        "safety_rate": bool(columns & _EVIDENCE) and "adversarial" in _categories(guess),
        "behavior_coverage": {"expected_behaviors", "behaviors"} <= columns,
        "latency_p95": "latency_ms" in guess.settled,
    }
    return (name for name, there in given.items() if there)


def _categories(guess: Guess) -> set[str]:
    category = guess.settled.get("category")
    return set(map(str, category.field.given)) if category and category.field else set()
