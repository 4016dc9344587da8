"""`highbar init`: a commented policy and a small results file that passes it, to start from."""

from __future__ import annotations

from pathlib import Path

import click

from highbar.cli import streams
from highbar.errors import InputError, Problem, ReportError

POLICY = "highbar.yaml"
SCHEMA = "highbar.schema.json"
RESULTS = "results/example.jsonl"

_EXAMPLES = """\b
Examples:
  highbar init && highbar check results/
  highbar init evals
"""


@click.command("init", short_help="Write a policy and example results.", epilog=_EXAMPLES)
@click.argument("folder", default=".", type=click.Path())
def command(folder: str) -> int:
    """Write a commented policy, its schema for editors and example results into FOLDER; nothing is overwritten."""
    from highbar.cli.starter import POLICY_TEXT, RESULTS_TEXT  # help does without the texts
    from highbar.policy.schema import schema  # help does without the whole catalogue
    from highbar.store.encoding import encode  # likewise

    root = Path(folder)
    files = {root / POLICY: POLICY_TEXT, root / SCHEMA: encode(schema()), root / RESULTS: RESULTS_TEXT}
    _refuse_overwriting(list(files))
    _write(files)
    where = "" if folder == "." else f"cd {folder} && "
    streams.put("".join(f"{path}\n" for path in files))
    streams.say(f"Now try: {where}highbar check {RESULTS}")
    return 0


def _refuse_overwriting(paths: list[Path]) -> None:
    problems = [
        Problem("already there", file=str(path), hint="init never overwrites: move it away, or name another folder")
        for path in paths
        if path.exists() or path.is_symlink()
    ]
    if problems:
        raise InputError(*problems)


def _write(files: dict[Path, str]) -> None:
    """Write all the files or none: if one fails, those already written are removed."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            for folder in _missing_folders(path):
                folder.mkdir()
                made.append(folder)
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                made.append(path)
                stream.write(text)
    except BaseException as error:
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink()
        if isinstance(error, OSError):
            raise ReportError(f"{error.filename or path} could not be written: {error.strerror or error}") from error
        raise


def _missing_folders(path: Path) -> list[Path]:
    return [folder for folder in reversed(path.parents) if not folder.exists()]
