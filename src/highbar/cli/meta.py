"""`--meta KEY=VALUE`: what the caller says about the run: its date, commit and link. In CI they are filled in.

Outside of CI and without the option nothing is added, so that the same input gives the same report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import click

Meta = tuple[tuple[str, str], ...]
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9 _.-]{0,39}")
_LONGEST_VALUE = 500


def meta_option(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the option; its function takes all of them as one argument, `meta`."""
    return click.option(
        "--meta",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_read,
        help="Show this in the HTML report, such as commit=4f2a9c1. Repeatable. In CI: commit, link and date.",
    )(command)


def _read(context: click.Context, param: click.Parameter, given: Sequence[str]) -> Meta:  # noqa: ARG001 - click's signature
    """What was given, then what the CI says under other keys. Raises BadParameter."""
    found: dict[str, str] = {}
    for argument in given:
        key, equals, value = argument.partition("=")
        if not equals or not _KEY.fullmatch(key) or not value.strip():
            raise click.BadParameter(f"{argument!r} is not KEY=VALUE, such as commit=4f2a9c1")
        if len(value) > _LONGEST_VALUE:
            raise click.BadParameter(f"the value of {key} has {len(value)} characters; at most {_LONGEST_VALUE}")
        if key in found:
            raise click.BadParameter(f"{key} is given twice")
        found[key] = value
    more = {key: value[:_LONGEST_VALUE] for key, value in _of_ci(os.environ) if value and value.strip()}
    return tuple({**found, **{key: value for key, value in more.items() if key not in found}}.items())


def _of_ci(environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    if environment.get("GITHUB_ACTIONS") == "true":
        yield "commit", environment.get("GITHUB_SHA")
        where = [environment.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
        if all(where):
            yield "link", "{}/{}/actions/runs/{}".format(*where)
    elif environment.get("GITLAB_CI") == "true":
        yield "commit", environment.get("CI_COMMIT_SHA")
        yield "link", environment.get("CI_JOB_URL")
        yield "date", environment.get("CI_JOB_STARTED_AT")
