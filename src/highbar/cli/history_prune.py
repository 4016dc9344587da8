"""`highbar history prune`: list the records that are too old, and with --yes remove them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from highbar.cli import streams
from highbar.cli.history import branch_option, history_option, read_folder
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, Problem, ReportError
from highbar.language.phrases import count

_AGE = re.compile("([1-9][0-9]{0,5})([dw])")
_DAYS = {"d": 1, "w": 7}


@click.command("prune", short_help="Remove old runs.")
@history_option
@branch_option
@click.option("--keep", type=click.IntRange(1), metavar="N", help="Keep the last N runs.")
@click.option("--older-than", metavar="TIME", help="Remove runs that are older, such as 90d or 12w.")
@click.option("--yes", is_flag=True, help="Remove them; without it the command only says what it would remove.")
def command(*, folder: str, branch: str | None, keep: int | None, older_than: str | None, yes: bool) -> int:
    """Remove old runs from a history. Without --yes it only says which.

    With both --keep and --older-than a run is removed only if both allow it. Damaged records are never removed.
    """
    if keep is None and older_than is None:
        raise WrongUsage("option.missing", "say what to keep: --keep N or --older-than 90d")
    limit = None if older_than is None else _time_limit(older_than)
    runs = [run for run in read_folder(folder, may_be_empty=True).runs if branch is None or run.branch == branch]
    old = runs if keep is None else runs[: max(0, len(runs) - keep)]
    chosen = [run for run in old if limit is None or datetime.fromisoformat(run.time) < limit]
    verb = "removed" if yes else "would be removed"
    for run in chosen:
        file = Path(folder) / f"{run.record}.parquet"
        if yes:
            _remove(file)
        streams.print_text(f"{run.time[:16].replace('T', ' ')}  {run.verdict}  {file}\n")
    streams.say(
        f"{len(chosen)} of {count(len(runs), 'run')} {verb}" + ("" if yes or not chosen else "; --yes removes them")
    )
    return 0


def _time_limit(text: str) -> datetime:
    """The time before which a run is too old."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise InputError(
            Problem("option.bad-value", f"--older-than {text!r} is not a time", hint="write days or weeks: 90d, 12w")
        )
    age = timedelta(days=int(found[1]) * _DAYS[found[2]])
    try:
        return datetime.now(UTC) - age
    except OverflowError:  # before the first year, so nothing is removed
        return datetime.min.replace(tzinfo=UTC)


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise ReportError(f"{file} could not be removed: {error.strerror or error}") from error
