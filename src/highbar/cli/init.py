"""`highbar init`: write files to start from: an example, the tutorial, or a policy and a mapping for own results."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from highbar.cli import streams
from highbar.errors import InputError, Problem, ReportError

_EXAMPLES = """\b
Examples:
  highbar init --agent               a tiny agent, scenarios for it and a policy: highbar run suite.yaml
  highbar init                       a policy, results that fail it and results that pass
  highbar init --from own.jsonl      a policy and a mapping for a file of your own
  highbar init --tutorial library    the files of the guide to recorded results
"""


_STARTERS = {
    "agent": ("highbar run suite.yaml",),
    "tutorial": ("highbar check v1.jsonl",),
    "results": ("highbar check results/v1.jsonl", "highbar check results/v2.jsonl"),
}
"""The folder of each starter in `starters`, and the commands to try with its files."""


@click.command("init", short_help="Write a policy to start from.", epilog=_EXAMPLES)
@click.argument("folder", default=".", type=click.Path())
@click.option("--agent", is_flag=True, help="Write a suite, a policy and a tiny agent that can be run at once.")
@click.option("--from", "own", type=click.Path(), metavar="FILE", help="Guess a mapping from this file of results.")
@click.option("--tutorial", is_flag=True, help="Write the files of the guide to recorded results.")
def command(folder: str, own: str | None, *, agent: bool, tutorial: bool) -> int:
    """Write files to start from into FOLDER; nothing is overwritten.

    With --from, a mapping that is guessed from the names and values in FILE, and a policy over the metrics that FILE
    has, with the typical thresholds. Read both before you trust them.
    """
    chosen = [
        name for name, given in (("--agent", agent), ("--from", own is not None), ("--tutorial", tutorial)) if given
    ]
    if len(chosen) > 1:
        raise InputError(Problem("option.conflict", f"{' and '.join(chosen)} exclude each other"))
    root = Path(folder)
    if own is not None:
        from highbar.cli.init_from import start_from  # it loads the readers of results, which the others do not need

        files, steps = start_from(own, root)
    else:
        kind = "agent" if agent else "tutorial" if tutorial else "results"
        files, steps = _starter(kind, root), _next_steps(folder, _STARTERS[kind])
    _refuse_overwriting(list(files))
    _write(files)
    streams.print_text("".join(f"{path}\n" for path in files))
    for step in steps:
        streams.say(step)
    return 0


def _starter(kind: str, root: Path) -> dict[Path, str]:
    """The files of a starter, where they are to be written. The ending .txt keeps code of users out of our own."""
    source = Path(__file__).parent / "starters" / kind
    paths = (path for path in sorted(source.rglob("*")) if path.is_file())
    return {root / str(path.relative_to(source)).removesuffix(".txt"): path.read_text("utf-8") for path in paths}


def _next_steps(folder: str, commands: Sequence[str]) -> list[str]:
    enter = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    return [f"Now try: {enter}{command}" for command in commands]


def _refuse_overwriting(paths: list[Path]) -> None:
    problems = [
        Problem(
            "file.exists",
            "already there",
            file=str(path),
            hint="init never overwrites: move it away, or name another folder",
        )
        for path in paths
        if path.exists() or path.is_symlink()
    ]
    if problems:
        raise InputError(*problems)


def _write(files: Mapping[Path, str]) -> None:
    """Write all files or none: if one fails, those already written and the folders made for them are removed."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            for folder in _missing_folders(path):
                folder.mkdir()
                made.append(folder)
            _write_new(path, text)
            made.append(path)
    except BaseException as error:
        # In reverse, so that a folder is empty again before it is removed.
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink()
        if isinstance(error, FileExistsError):
            _refuse_overwriting([path for path in files if path not in made])
        if isinstance(error, OSError):
            raise ReportError(f"{error.filename or path} could not be written: {error.strerror or error}") from error
        raise


def _write_new(path: Path, text: str) -> None:
    """Write a temporary file, then link it to `path`. Raises FileExistsError if `path` exists by now."""
    beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        try:
            path.hardlink_to(beside)  # unlike a rename, a link never replaces a file
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    finally:
        beside.unlink(missing_ok=True)


def _missing_folders(path: Path) -> list[Path]:
    return [folder for folder in reversed(path.parents) if not folder.exists()]
