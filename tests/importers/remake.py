"""Makes the fixtures again with the real tools, and compares them with those that are kept.

    python -m tests.importers.remake [--keep] [--environments FOLDER] [TOOL…]

Each recipe below `recipes/` runs in an environment of its own, with the versions that it pins. What must be the same is
what the tool itself counts (`totals.json`), and how many rows, errors and unscored our reader finds in each file; times
and marks differ in every run. Where real files are at hand, the tools that have a reader of their own count what is in
them, which must be what `counts.json` says. `--keep` puts the new files in the place of the old ones. Exits with 1 on a
difference.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from highbar.errors import InputError
from tests.importers.imported import COUNTS, FIXTURES, SAMPLES, imported, recognized

RECIPES = Path(__file__).parent / "recipes"
SUITES = Path(__file__).parent / "suites"
"""Suites of other tools, and what the tools say about answers to them."""
_HEADER = re.compile(r"^# /// script\n(.*?)^# ///$", re.DOTALL | re.MULTILINE)


def recipes() -> dict[str, Path]:
    """The recipe of each tool, by the name of its folder of fixtures."""
    return {path.stem.removeprefix("make_"): path for path in sorted(RECIPES.glob("make_*.py"))}


def folder_of(name: str) -> Path:
    """The folder of fixtures that a recipe makes."""
    return SUITES / name.removesuffix("_suites") if name.endswith("_suites") else FIXTURES / name


def header(recipe: Path) -> dict[str, Any]:
    """The header of a recipe: inline script metadata."""
    found = _HEADER.search(recipe.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{recipe.name} has no header that says what it needs")
    return tomllib.loads(re.sub(r"^# ?", "", found[1], flags=re.MULTILINE))


def pinned(recipe: Path) -> list[str]:
    """What a recipe needs, each with its version."""
    needed: list[str] = header(recipe)["dependencies"]
    return needed


def interpreter(recipe: Path) -> str:
    """A Python that is new enough for a recipe: this one, or the oldest sufficient one that is installed."""
    least = int(header(recipe)["requires-python"].removeprefix(">=3."))
    if sys.version_info.minor >= least:
        return sys.executable
    names = (shutil.which(f"python3.{minor}") for minor in range(least, least + 5))
    found = next(
        (name for name in names if name and not subprocess.run([name, "-c", ""], check=False).returncode), None
    )
    if found is None:
        raise FileNotFoundError(f"{recipe.name} needs Python 3.{least} or later")
    return found


def environment(folder: Path, name: str) -> Path:
    """The Python of an environment that holds what the recipes of a tool need; it is made once."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter(recipes()[name]), "-m", "venv", str(folder / name)], check=True)
    if needed := pinned(recipes()[name]):
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *needed], check=True)
    return python


def counted(folder: Path) -> list[object]:
    """What the tool counts, and what our reader finds in each of its files."""
    found: list[object] = [json.loads((folder / "totals.json").read_text("utf-8"))]
    for path in sorted(folder.iterdir()):
        tool = None if path.name == "totals.json" or path.is_dir() else recognized(path)
        if tool is None:
            continue
        try:
            report = imported(tool, path)[1]
            found.append((path.suffix, report.rows, report.errors, report.unscored, report.skipped))
        except InputError as error:  # a fixture may be there to be refused
            found.append((path.suffix, str(error).split(":")[-1]))
    return found


def _counts(name: str, python: Path, *, keep: bool) -> bool:
    """Whether the tool's own reader finds in the real files what is kept in `counts.json`; true where it has none."""
    counter = RECIPES / f"count_{name}.py"
    if not counter.exists() or not SAMPLES.exists():
        return True
    done = subprocess.run(
        [str(python), str(counter), str(SAMPLES / name)], check=True, stdout=subprocess.PIPE, text=True
    )
    kept = json.loads(COUNTS.read_text("utf-8"))
    found = json.loads(done.stdout.splitlines()[-1])
    if keep:
        COUNTS.write_text(json.dumps({**kept, name: found}, indent=1, sort_keys=True) + "\n", "utf-8")
    return bool(kept.get(name) == found)


def main(arguments: list[str]) -> int:
    """Make them again and say of each tool whether it counts the same; 1 if one does not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=", ".join(recipes()))
    parser.add_argument("--keep", action="store_true", help="put the new files in the place of the old ones")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where environments stay for the next time")
    asked = parser.parse_args(arguments)
    differ = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in asked.tools or recipes():
            recipe, made = recipes()[name], Path(temporary) / "made" / name
            python = environment(asked.environments or Path(temporary), name)
            subprocess.run([str(python), str(recipe), str(made)], check=True, stdout=subprocess.DEVNULL)
            same = counted(made) == counted(folder_of(name)) and _counts(name, python, keep=asked.keep)
            differ += not same
            told = "the same" if same else "DIFFERENT"
            print(f"{name}: {told} ({', '.join(pinned(recipe)) or 'see the recipe'})")  # noqa: T201 - a program
            if asked.keep:
                shutil.rmtree(folder_of(name))
                shutil.copytree(made, folder_of(name))
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
