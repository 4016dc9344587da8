"""How far a reader walks through one check, and what is hard to keep in mind: `scripts/walk` prints one table.

`--checkout FOLDER` measures another checkout with the same interpreter, so that before and after can be compared;
`--against FOLDER` puts one beside this one. `--list WORD` prints the places behind the lines whose name has that word.

Traced is `highbar check` of the example's results with the four rules of the README (a plain check), with the
example's own policy (every kind of rule), and the plain one with `--against-ref` at an unchanged commit. A module is
entered if a function of it is called; start-up is left out, and measured by itself: whole processes, by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.run import by_turns, machine, processor
from bench.walk_meter import Count, counts

ROOT = Path(__file__).resolve().parents[1]
TURNS = 11
# The same for every checkout: what changes in the README must not change the measure.
POLICY = """\
thresholds:
  blocking: { safety_rate: 100%, accuracy: ≥ 95% }
  warning: { latency_p95: < 5000ms }
required_scenarios: { ids: [SEC-001, SEC-002] }
"""


def copy_example(checkout: Path, folder: Path) -> None:
    """Make the folder a repository of one commit, with the checkout's example and the plain policy."""
    shutil.copytree(checkout / "examples" / "support-agent", folder, dirs_exist_ok=True)
    (folder / "plain.yaml").write_text(POLICY, "utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=walk", "-c", "user.email=walk@example.com"]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "as it is"]):
        subprocess.run([*git, *command], check=True)


def traced(checkout: Path, folder: Path, *arguments: str) -> Iterator[Count]:
    """What one check of the example enters and calls, in a process of its own."""
    program = str(ROOT / "bench" / "walk_trace.py")
    done = subprocess.run(
        [sys.executable, program, str(checkout / "src" / "highbar"), "check", "v2.jsonl", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        stdout=subprocess.PIPE,
        check=True,
    )
    seen = json.loads(done.stdout)
    modules = tuple(f"{name}: {calls:,} calls" for name, calls in seen["modules"].items())
    yield Count("  modules entered", f"{len(modules)}", modules)
    yield Count("  calls", f"{seen['calls']:,}", modules)
    yield Count("  kinds of dataclasses and structs made", f"{len(seen['dataclasses'])}", tuple(seen["dataclasses"]))


def start_up(checkout: Path, folder: Path) -> Iterator[Count]:
    """The plain check beside `import duckdb`, the least that it can cost; medians of processes that run by turns."""
    check = f"import sys; sys.path.insert(0, {str(checkout / 'src')!r}); from highbar.cli import main; sys.exit(main())"
    arguments = ["check", str(folder / "v2.jsonl"), "--policy", str(folder / "plain.yaml"), "--quiet"]
    commands = [sys.executable, "-c", check, *arguments], [sys.executable, "-c", "import duckdb"]
    by_turns(1, *commands)  # writes the bytecode and warms the disk's cache
    ours, base = by_turns(TURNS, *commands)
    yield Count("start-up against `import duckdb`", f"{ours.seconds / base.seconds:.2f}")
    ours, base = by_turns(TURNS, *commands, key=processor)
    yield Count("  by processor time, which a busy machine moves less", f"{ours.processor / base.processor:.2f}")


def measured(checkout: Path) -> Iterator[Count]:
    """Every line of the table for one checkout."""
    yield from counts(checkout / "src" / "highbar")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        copy_example(checkout, folder)
        # Without bytecode, start-up would be the time of the compiler. It goes beside the example, so that a checkout
        # that is only measured stays as it is.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        yield Count("a plain check:", "")
        yield from traced(checkout, folder, "--policy", "plain.yaml")
        yield Count("the same with --against-ref:", "")
        yield from traced(checkout, folder, "--policy", "plain.yaml", "--against-ref", "HEAD")
        yield Count("every kind of rule:", "")
        yield from traced(checkout, folder, "--policy", "highbar.yaml")
        yield from start_up(checkout, folder)


def show(columns: Sequence[list[Count]], titles: Sequence[str]) -> None:
    """Print the counts of each checkout side by side."""
    rows = [("", *titles), *((row[0].what, *(count.number for count in row)) for row in zip(*columns, strict=True))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        print(name.ljust(widths[0]), *cells, sep="  ")


def main() -> None:
    """Print the table, or the places behind some of its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the checkout that is measured")
    parser.add_argument("--against", type=Path, help="a second one, in a column before it")
    parser.add_argument("--list", metavar="WORD", help="print what is behind the lines that have this word")
    options = parser.parse_args()
    checkouts = [path.resolve() for path in (options.against, options.checkout) if path]
    if options.list:
        found = [count for count in measured(checkouts[-1]) if options.list in count.what]
        for count in found:
            print(count.what.strip(), count.number, *count.places, sep="\n  ")
        if not found:
            parser.error(f"no line of the table has {options.list!r} in its name")
        return
    columns = [list(measured(checkout)) for checkout in checkouts]
    print(f"{machine()}\n")
    show(columns, [path.name for path in checkouts])


if __name__ == "__main__":
    main()
