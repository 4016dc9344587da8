"""`highbar import`: another tool's files in, rows with our columns out, and a summary of what became of each record."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.options import MAP_HELP, TOOL, TOOLS
from highbar.errors import InputError, Problem, ReportError

if TYPE_CHECKING:  # see command
    from highbar.load.foreign import Guidance

_EXAMPLES = """\b
Examples:
  highbar import inspect logs/*.eval -o results.jsonl
  highbar import promptfoo output.json -o results.parquet
  highbar import junit report.xml
  highbar import map home-grown.json --map map.yaml -o results.jsonl

`highbar check` reads the same files as they are; this command shows what it makes of them.
"""
_CHUNK = 1024 * 1024


@click.command("import", short_help="Turn another tool's results into rows.", epilog=_EXAMPLES)
@click.argument("tool", type=TOOL, metavar="FORMAT")
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE...")
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=f"For FORMAT map. {MAP_HELP}")
@click.option(
    "--policy", type=click.Path(), metavar="FILE", help="The policy whose judged_by and map say how files are read."
)
@click.option("--calls", is_flag=True, help="With tool calls and messages, as highbar grade reads them.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write .jsonl or .parquet; else print JSONL.")
def command(
    *, tool: str, files: tuple[str, ...], map_file: str | None, policy: str | None, calls: bool, output: str | None
) -> int:
    """Turn the FILEs of another tool into rows with the columns that Highbar judges by.

    FORMAT is one of the tools below. A summary goes to standard error: what was mapped, what was left out and why.
    """
    _refuse_output(output, (*files, *(file for file in (map_file, policy) if file)))
    from highbar.load.files import import_files  # not needed for help, completion and usage errors

    guidance = _guidance(map_file, policy, calls=calls)
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        rows = Path(folder) / "rows.jsonl"
        for line in import_files(files, tool, str(rows), stdin=streams.standard_input(), guidance=guidance):
            streams.say(line)
        if output is None:
            _print(rows)
            return 0
        if output.endswith(".parquet"):
            from highbar.engine.parquet import to_parquet  # it loads the engine, which JSONL does not need

            to_parquet(str(rows), str(rows.with_suffix(".parquet")))
            rows = rows.with_suffix(".parquet")
        _place(rows, output)
    return 0


command.help = (
    f"{command.help}\n\nFORMAT is {', '.join(TOOLS[:-1])} or {TOOLS[-1]}, or one that an installed package adds."
)


def _guidance(map_file: str | None, policy: str | None, *, calls: bool) -> Guidance:
    """How to read the files, the same as in a check: --map, else the policy's `map`, and its `judged_by`."""
    from highbar import policy as policies  # see command
    from highbar.load import foreign  # as above

    # `highbar grade` judges the answers itself, so rows for it need no judgment; `highbar check` still requires one.
    return replace(foreign.guidance(map_file, policies.choose(policy)), calls=calls, answers_only=calls)


def _refuse_output(output: str | None, files: tuple[str, ...]) -> None:
    if output is None:
        return
    if not output.endswith((".jsonl", ".parquet")):
        raise InputError(
            Problem(
                "output.unknown-ending",
                "the output's name has no known ending",
                file=output,
                hint="end it in .jsonl or .parquet",
            )
        )
    if any(Path(output).resolve() == Path(file).resolve() for file in files):
        raise InputError(Problem("file.read-and-written", "this file is both read and written", file=output))


def _print(rows: Path) -> None:
    with rows.open(encoding="utf-8", newline="") as stream:
        while text := stream.read(_CHUNK):
            streams.print_text(text)


def _place(made: Path, output: str) -> None:
    """Copy to a temporary file and rename it, so that no reader sees half of the rows. Raises ReportError."""
    target = Path(output).resolve()
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    try:
        shutil.copyfile(made, beside)
        beside.replace(target)
    except OSError as error:
        raise ReportError(f"{output} could not be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
