"""Options that several commands share: formats, the engine, the agent's name, `--meta` and `--github`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

import click
from msgspec import Struct

from highbar import importers
from highbar.cli import streams
from highbar.cli.guard import NOT_WRITTEN
from highbar.cli.usage import WrongUsage
from highbar.errors import ReportError
from highbar.model import Format

if TYPE_CHECKING:  # see EngineOptions.choice and _FormatName.shell_complete
    from click.shell_completion import CompletionItem

    from highbar.model.job import EngineChoice


def take_fields(kind: type[Struct], arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the arguments of a command that are fields of `kind`, and return them."""
    return {name: arguments.pop(name) for name in kind.__struct_fields__ if name in arguments}


# --- --format and --output --------------------------------------------------------------------


def format_option(names: Sequence[str] = ("text", "json")) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add `--format` to a command, whose function takes it as `report_format`."""
    formats = click.Choice(list(names))
    return click.option(
        "--format", "report_format", type=formats, default="text", show_default=True, help="What to print."
    )


def output_option(
    endings: str, name: str = "--output", argument: str = "outputs"
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the repeatable option that names report files; `endings` lists the file endings for the help text."""
    return click.option(
        name,
        argument,
        multiple=True,
        metavar="[FORMAT=]FILE",
        help=f"Also write a report to a file; its ending ({endings}) decides the format. Repeatable.",
    )


# --- --today -----------------------------------------------------------------------------------


class _Day(click.ParamType):  # type: ignore[type-arg] # generic only in the newest click
    """A date in ISO 8601: year, month and day."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        try:
            return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC).date()
        except ValueError:
            self.fail(f"{value!r} is not a date such as 2026-11-17.", param, ctx)


DAY = _Day()


# --- --engine: what reduces the rows ---------------------------------------------------------

NAMES = ("duckdb", "spark")
"""Our own engines, listed here so that help and completion do not load them."""


class _EngineName(click.Choice):  # type: ignore[type-arg] # generic only in the newest click
    """One of our engines, or of an installed package; packages are searched only if the name is not ours."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            from highbar.engine.opening import engine_names  # only for a name that is not ours

            if value in engine_names():
                return value
        return super().convert(value, param, ctx)


class EngineOptions(Struct, frozen=True, eq=False):
    """The engine options, as written on the command line."""

    engine: str
    spark_master: str | None
    spark_remote: str | None
    memory_limit: str | None

    def choice(self) -> EngineChoice:
        """The chosen engine. Raises UsageError for options that cannot be combined."""
        from highbar.engine.opening import choose_engine  # the engine is loaded only for a command that reads rows

        if self.engine != "spark":
            for option, value in (("--spark-master", self.spark_master), ("--spark-remote", self.spark_remote)):
                if value is not None:
                    raise WrongUsage("option.needs-another", f"{option} is for --engine spark")
            return choose_engine(self.engine, memory_limit=self.memory_limit)
        if self.spark_master is not None and self.spark_remote is not None:
            raise WrongUsage(
                "option.conflict", "--spark-master and --spark-remote are two ways to name a session: give one"
            )
        if self.memory_limit is not None:
            raise WrongUsage("option.conflict", "--memory-limit is for this process; a Spark session has its own")
        return choose_engine(self.engine, spark_master=self.spark_master, spark_remote=self.spark_remote)


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the engine options to a command, whose function takes them as one argument, `engine`."""

    @click.option(
        "--engine",
        type=_EngineName(NAMES),
        default="duckdb",
        show_default=True,
        help="What reduces the rows: this process, or Spark (pip install 'highbar[spark]').",
    )
    @click.option("--spark-master", metavar="URL", help="The master of the Spark session; else local[*].")
    @click.option("--spark-remote", metavar="URL", help="The address of a Spark Connect server.")
    @click.option(
        "--memory-limit", metavar="SIZE", help="The most memory to use, such as 600MB; more goes to the disk."
    )
    @wraps(command)
    def with_engine(**arguments: Any) -> int:
        fields = take_fields(EngineOptions, arguments)
        return command(engine=EngineOptions(**fields), **arguments)

    return with_engine


# --- --input-format: our own formats, those of known tools, and those of plugins -------------

OURS: tuple[str, ...] = get_args(Format)
TOOLS = tuple(importer.name for importer in importers.IMPORTERS)


class _FormatName(click.ParamType):  # type: ignore[type-arg] # generic only in the newest click
    """One of `names`, or the format of a plugin; plugins are searched only if the name is not among `names`."""

    name = "format"

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        listed = str(value).replace("_", "-")  # lm_eval and every_eval_ever are the tools' own spellings
        value = listed if listed in self.names else value
        if value not in self.names and value not in importers.format_names():
            wanted = ", ".join(dict.fromkeys((*self.names, *importers.format_names())))
            self.fail(f"{value!r} is not one of {wanted}.", param, ctx)
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - likewise
        incomplete: str,
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # only a shell asks

        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


INPUT_FORMAT = _FormatName((*OURS, *TOOLS))
TOOL = _FormatName(TOOLS)
AGENT_HELP = "The name of the agent, which tells its runs in a history from others; else the policy's."
_LONGEST_NAME = 250
"""Characters of an agent's name, which tables show."""
MAP_HELP = "Which path of a foreign record feeds which column; by default the policy's map."
FORMAT_HELP = f"What the results are, whatever their names: {', '.join((*OURS, *TOOLS))}."
WHERE_HELP = "Judge only rows with this value, if the policy has no select: tags.model=x. May be repeated."
SUBSET_HELP = "Allow --where or select to leave a scenario without any row."


# --- --agent: the agent's name ---------------------------------------------------------------


def agent_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A callback for --agent: the name, if it is printable, not blank and not too long. Raises BadParameter."""
    if value is not None and (not value.strip() or not value.isprintable() or len(value) > _LONGEST_NAME):
        raise click.BadParameter(f"{value!r} is not a name", context, parameter)
    return value


# --- --meta: facts about the run from the caller; in CI also the commit, the link and the date
# Without the option and outside of CI nothing is added, so that the same input gives the same report.

Meta = tuple[tuple[str, str], ...]
_KEY = r"[A-Za-z][A-Za-z0-9 _.-]{0,39}"
_LONGEST_VALUE = 500
"""Characters of one --meta value: a link to a job, not a document."""


def meta_option(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--meta` to a command, whose function takes all its values as one argument, `meta`."""
    return click.option(
        "--meta",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_read,
        help="Say this in reports that show it (HTML), such as commit=4f2a9c1. Repeatable."
        " In CI: commit, link and date.",
    )(command)


def _read(context: click.Context, param: click.Parameter, given: Sequence[str]) -> Meta:  # noqa: ARG001 - click's signature
    """The given pairs, then those of the CI environment whose keys were not given. Raises BadParameter."""
    found: dict[str, str] = {}
    for argument in given:
        key, equals, value = argument.partition("=")
        if not equals or not re.fullmatch(_KEY, key) or not value.strip():
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


# --- --github: whether GitHub Actions gets a summary, annotations and outputs ----------------


def github_option(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--github/--no-github` to a command; its value is True, False, or None for "only in a workflow"."""
    explained = "Write annotations, the summary and outputs for GitHub Actions. The default in a workflow."
    return click.option("--github/--no-github", default=None, help=explained)(command)


def report_to_github(
    wanted: bool | None,  # noqa: FBT001 - the value of the option: on, off, or not given
    code: int,
    report: Callable[[ModuleType], None],
) -> int:
    """Call `report` if --github asks for it or this is a workflow. Returns `code`, or 4 if a requested file failed."""
    if wanted is False or (wanted is None and os.environ.get("GITHUB_ACTIONS") != "true"):
        return code
    from highbar.cli import github  # only in a workflow

    try:
        report(github)
    except ReportError as error:
        streams.say(f"highbar: {error}")
        # Without --github a failure changes nothing: a container in a workflow may not see the files of the step.
        return NOT_WRITTEN if wanted else code
    return code
