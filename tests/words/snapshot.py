"""Writes the words of Highbar, so that a change of them is read as a diff: `scripts/words`.

    problems.txt   what refusals say, by code: the texts of the source, with {…} where a value comes
    help.txt       what each command prints with --help
    NAME.txt       the reports of a folder of `tests/golden` or `examples`

Tests ask for codes, places and values; they repeat no wording that stands here.
"""

from __future__ import annotations

import ast
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from highbar.cli.app import root
from highbar.codes import read_codes
from tests.commandline import run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "highbar"
REPORTS = {
    "composite": ("tests/golden/guide-composite-just-missed", ("check", "results.jsonl", "--policy", "policy.yaml")),
    "support-agent": ("examples/support-agent", ("check", "v2.jsonl")),
    "comparison": ("examples/support-agent", ("compare", "v1.jsonl", "v2.jsonl")),
    "policy": ("examples/support-agent", ("policy", "highbar.yaml")),
    "plan": ("examples/support-agent", ("plan", "v1.jsonl")),
}
"""By file of the snapshot: a folder, and a command in it."""
FORMATS = {"check": ((), ("-v",), ("--format", "markdown")), "compare": ((), ("--format", "markdown"))}
"""The further words with which a command is called, each for a report of its own."""


def snapshots() -> Mapping[str, str]:
    """The text of each file of the snapshot."""
    reports = {f"{name}.txt": report(folder, command) for name, (folder, command) in REPORTS.items()}
    return {"problems.txt": problems(), "help.txt": helps(), **reports}


# --- refusals --------------------------------------------------------------------------------


def problems() -> str:
    """What refusals say, by code; a code that is only built from parts has no text here."""
    found: dict[str, dict[str, None]] = {code: {} for code in read_codes()}
    for path in sorted(SOURCE.rglob("*.py")):
        for code, texts in _refusals(ast.parse(path.read_text("utf-8"))):
            if code in found:
                found[code].setdefault("\n  hint: ".join(texts))
    return "\n".join(
        f"{code}\n{''.join(f'  {text}{chr(10)}' for text in sorted(texts))}" for code, texts in found.items()
    )


def _refusals(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Calls with a code as a text, each with the texts beside it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts = [text for one in given if (text := _text(one)) is not None]
            codes = [text for text in texts if "." in text or text == "removed"]
            for code in codes:
                yield code, [text for text in texts if text != code] or ["…"]


def _text(node: ast.expr) -> str | None:
    """A text of the source, with {…} where a value comes; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            parts = (one.value if isinstance(one, ast.Constant) else _place(one) for one in values)
            return "".join(map(str, parts))
        case _:
            return None


def _place(node: ast.expr) -> str:
    return f"{{{ast.unparse(node.value)}}}" if isinstance(node, ast.FormattedValue) else "{…}"


# --- help ------------------------------------------------------------------------------------


def helps() -> str:
    """What each command prints with --help."""
    return "\n".join(f"$ {' '.join(words)} --help\n{text}" for words, text in _helps(root, ("highbar",)))


def _helps(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    context = click.Context(command, info_name=" ".join(words), max_content_width=120, terminal_width=120)
    yield words, command.get_help(context)
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _helps(inner, (*words, name))


# --- reports ---------------------------------------------------------------------------------


def report(folder: str, command: Sequence[str]) -> str:
    """What a command prints in a copy of a folder, in several formats."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        shutil.copytree(ROOT / folder, copy)
        calls = [(*command, *more) for more in FORMATS.get(command[0], ((),))]
        done = [(call, run(copy, *call)) for call in calls]
    return "\n".join(f"$ highbar {' '.join(call)}\n{one.out}{one.err}" for call, one in done)


def write(*, only_check: bool) -> int:
    """Write the snapshot, or only look at it; name the files that differ, and return how many did."""
    now = snapshots()
    stale = [HERE / name for name, text in now.items() if not _is(HERE / name, text)]
    stale += [path for path in HERE.glob("*.txt") if path.name not in now]
    for path in stale:
        sys.stderr.write(f"{path.relative_to(ROOT)}\n")
        if not only_check:
            path.write_text(now[path.name], "utf-8") if path.name in now else path.unlink()
    return len(stale)


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


if __name__ == "__main__":
    differ = write(only_check="--check" in sys.argv)
    sys.exit(differ if "--check" in sys.argv else 0)
