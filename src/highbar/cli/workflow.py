"""`--github`: whether GitHub Actions is told, and the exit code if a file of the step cannot be written."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

import click

from highbar.cli import streams
from highbar.errors import ReportError

_NOT_WRITTEN = 4


def github_option(help_: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the option; its function takes yes, no, or None for "only in a workflow"."""
    return click.option("--github/--no-github", default=None, help=help_)


def tell_github(wanted: bool | None, code: int, tell: Callable[[ModuleType], None]) -> int:  # noqa: FBT001 - see above
    """Tell GitHub, if asked to or if this is a workflow. Returns the exit code, or 4 if a requested file failed."""
    if wanted is False or (wanted is None and os.environ.get("GITHUB_ACTIONS") != "true"):
        return code
    from highbar.cli import github  # only in a workflow

    try:
        tell(github)
    except ReportError as error:
        streams.say(f"highbar: {error}")
        return _NOT_WRITTEN if wanted else code  # a container may lack the files of a step: nobody asked for them
    return code
