"""How large the source is, package by package: `scripts/size` prints the table, and `--against REF` the change.

    lines      as `wc -l` counts them; they can be packed
    nodes      of the syntax tree, without imports and expression contexts; they cannot
    functions  methods and nested functions too
    structs    dataclasses and msgspec's structs
    inside     imports inside functions

The tests hold each package to the lines and nodes in `tests/architecture/sizes.csv`. `scripts/size --lower` lowers
those figures to what the packages have now, and raises none: a package that has to grow is edited there by hand, with
the reason in the commit's message.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median

from bench.walk_meter import Function, is_record

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/highbar"
FIGURES = ROOT / "tests" / "architecture" / "sizes.csv"
COLUMNS = ("files", "lines", "nodes", "functions", "structs", "inside")
HELD = ("lines", "nodes")
UNCOUNTED = (ast.expr_context, ast.alias, ast.Import, ast.ImportFrom)

Sizes = Mapping[str, Counter[str]]
"""By package, or by the name of a module that belongs to none: how much there is of each column."""


def texts_now() -> dict[str, str]:
    """The files of the source as they are, by their path below it."""
    folder = ROOT / SOURCE
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.py")}


def texts_at(ref: str) -> dict[str, str]:
    """The files of the source as they were at a commit."""
    git = ["git", "-C", str(ROOT)]
    packed = subprocess.run([*git, "archive", ref, SOURCE], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        files = {one.name: archive.extractfile(one) for one in archive if one.name.endswith(".py")}
        return {name.removeprefix(f"{SOURCE}/"): file.read().decode() for name, file in files.items() if file}


def sizes(texts: Mapping[str, str]) -> Sizes:
    """Count every file."""
    found: dict[str, Counter[str]] = {}
    for path, text in sorted(texts.items()):
        found.setdefault(path.split("/")[0], Counter()).update(size_of(text))
    return found


def size_of(text: str) -> Counter[str]:
    """Count one file."""
    nodes = list(ast.walk(ast.parse(text)))
    functions = [node for node in nodes if isinstance(node, Function)]
    within = {id(node) for function in functions for node in ast.walk(function)}
    return Counter(
        files=1,
        lines=text.count("\n"),
        nodes=sum(not isinstance(node, UNCOUNTED) for node in nodes),
        functions=len(functions),
        structs=sum(isinstance(node, ast.ClassDef) and is_record(node) for node in nodes),
        inside=sum(isinstance(node, ast.Import | ast.ImportFrom) and id(node) in within for node in nodes),
    )


def held() -> dict[str, dict[str, int]]:
    """The figures that no package may exceed."""
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return {row["package"]: {column: int(row[column]) for column in HELD} for row in csv.DictReader(file)}


def lower(now: Sizes) -> None:
    """Lower the figures to the sizes of today, and forget packages that are gone; a new package gets its size."""
    before = held() if FIGURES.exists() else {}
    with FIGURES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("package", *HELD))
        for package, size in now.items():
            most = before.get(package, size)
            writer.writerow((package, *(min(size[column], most[column]) for column in HELD)))


def rows(now: Sizes, before: Sizes | None) -> Iterable[tuple[str, ...]]:
    """The table, the sum last; with an earlier commit, the change beside each number."""
    yield ("", *COLUMNS)
    for package in [*dict.fromkeys([*now, *(before or ())]), "in all"]:
        is_sum = package == "in all"
        size = sum(now.values(), Counter()) if is_sum else now.get(package, Counter())
        if before is None:
            yield (package, *(f"{size[column]:,}" for column in COLUMNS))
            continue
        was = sum(before.values(), Counter()) if is_sum else before.get(package, Counter())
        yield (package, *(f"{size[column]:,} ({size[column] - was[column]:+,})" for column in COLUMNS))


def main() -> None:
    """Print the table, or lower the figures that the tests hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="REF", help="print the change since this commit, too")
    parser.add_argument("--lower", action="store_true", help="lower the figures in tests/architecture/sizes.csv")
    options = parser.parse_args()
    texts = texts_now()
    now = sizes(texts)
    if options.lower:
        lower(now)
    table = list(rows(now, sizes(texts_at(options.against)) if options.against else None))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *numbers in table:
        print(
            name.ljust(widths[0]),
            *(each.rjust(width) for each, width in zip(numbers, widths[1:], strict=True)),
            sep="  ",
        )
    print(f"\nmedian lines of a file: {median(text.count(chr(10)) for text in texts.values()):.0f}")


if __name__ == "__main__":
    main()
