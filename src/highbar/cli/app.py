"""The table of commands. A command's module is loaded only when it is used, to keep start-up fast."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

import highbar
from highbar.cli.guard import REFUSED, REPORTS_BEGUN
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, Problem
from highbar.removed import removed
from highbar.report import CALIBRATIONS, COMPARISONS, REPORTERS, Reporter

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "run": "highbar.cli.run",
        "check": "highbar.cli.check",
        "grade": "highbar.cli.grade",
        "judge": "highbar.cli.judge",
        "compare": "highbar.cli.compare",
        "baseline": "highbar.cli.baseline",
        "history": "highbar.cli.history",
        "policy": "highbar.cli.policy",
        "suite": "highbar.cli.suite",
        "agent": "highbar.cli.agent",
        "plan": "highbar.cli.plan",
        "import": "highbar.cli.import_",
        "mcp": "highbar.cli.mcp",
        "metrics": "highbar.cli.metrics",
        "schema": "highbar.cli.schema",
        "init": "highbar.cli.init",
        "explain": "highbar.cli.explain",
        "completion": "highbar.cli.completion",
    }
)
"""Every command, in the order of the help, and its module. `command` in that module is a click command that returns
the exit code."""


class ReportFiles(NamedTuple):
    """The option that names the report files of a command, and the formats of what it reports."""

    option: str
    formats: Mapping[str, Reporter]


REPORT_FILES: Mapping[str, ReportFiles] = MappingProxyType(
    {
        "check": ReportFiles("--output", REPORTERS),
        "compare": ReportFiles("--output", COMPARISONS),
        "run": ReportFiles("--report", REPORTERS),
        "judge calibrate": ReportFiles("--output", CALIBRATIONS),
    }
)
"""Every command that writes report files."""

ALIASES: Mapping[str, str] = MappingProxyType({"lint": "policy"})
"""Other names of commands; `lint` is for people who know linters."""

_EXAMPLES = """\b
Examples:
  highbar init --agent                       start with a suite, a policy and a tiny agent
  highbar run suite.yaml                     run the agent on the suite, and judge it
  highbar check results.jsonl                judge by the highbar.yaml here or above
  highbar check runs/first --output v.json   judge a run again, and save the verdict as JSON
  highbar policy                             what the policy demands, in words

\b
Exit codes:
  0  pass               3  inconclusive
  1  fail               4  internal error, or a report could not be written
  2  nothing could be judged: bad results, bad policy, wrong usage
"""


class CommandGroup(click.Group):
    """A group that loads a command only when it is used, and suggests similar names for an unknown one.

    `table` has every command, in the order of the help, and its place: `module`, in which it is named `command`, or
    `module:name`.
    """

    def __init__(self, *, table: Mapping[str, str], **keywords: Any) -> None:
        super().__init__(invoke_without_command=True, **keywords)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of all commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        """The command with this name, loaded now; None if there is none."""
        if cmd_name not in self.table:
            return None
        module, _, name = self.table[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name or "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names. Raises WrongUsage if there is none."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            message = f"there is no command {name!r}"
            raise WrongUsage("option.unknown-command", message, hint=self._hint(ctx, name), context=ctx)
        return super().resolve_command(ctx, args)

    def _hint(self, ctx: click.Context, name: str) -> str:
        from highbar.language.spelling import did_you_mean  # only if something is misspelled

        known = self.list_commands(ctx)
        if "check" in known and Path(name).exists():
            return f"highbar check {shlex.quote(name)}"
        return did_you_mean(name, known) or f"{ctx.command_path} --help lists the commands"


class _RootGroup(CommandGroup):
    """The group of all commands, which also finds a command by its alias."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


@click.group(
    cls=_RootGroup,
    table=COMMANDS,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(highbar.__version__, message="highbar %(version)s")
@click.pass_context
def root(context: click.Context) -> int:
    """Judge a version of an AI agent: did it pass, and why not.

    An agent and scenarios, or recorded results, and a policy go in; metrics, and one verdict with a reason for every
    rule, come out.
    """
    return help_of_group(context)


def help_of_group(context: click.Context) -> int:
    """Print the help if the group was called without a command, and return the exit code of wrong usage."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
    return REFUSED


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code. Wrong usage raises InputError.

    click's own `main` is not used: it reads the completion variable of the environment before the arguments, and no
    environment variable may make a check exit with 0.
    """
    if not arguments:
        from highbar.cli.completion import answered_shell  # only for a shell that completes a command

        if answered_shell(root):
            return 0
    found: dict[str, Any] = {}
    try:
        _refuse_a_deleted_folder(arguments)
        with root.make_context("highbar", list(arguments)) as context:
            found = context.meta
            code = root.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        problem = _problem(error)
        _replace_old_reports(arguments, (problem,))
        raise InputError(problem) from error
    except BaseException as error:
        if not found.get(REPORTS_BEGUN):
            _replace_old_reports(arguments, error.problems if isinstance(error, InputError) else ())
        raise
    # Fail closed: Python ends with exit code 0, a pass, if a command returns None.
    if not isinstance(code, int):
        raise TypeError(f"the command returned {code!r}, not an exit code")
    return code


def _replace_old_reports(arguments: Sequence[str], problems: Sequence[Problem]) -> None:
    """Replace the reports of an earlier run, so that a call that failed leaves no old verdict behind."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    kind = REPORT_FILES.get(words[0] if words else "") or REPORT_FILES.get(" ".join(words[:2]))
    if kind is None or not any(argument.startswith(kind.option) for argument in arguments):
        return
    from highbar.cli import streams  # only if something is wrong
    from highbar.cli.outputs import UNFINISHED, withdraw_outputs  # as above

    for failure in withdraw_outputs(arguments, kind.option, kind.formats, problems or (UNFINISHED,)):
        streams.say(f"highbar: {failure}")  # only say so: the caller raises what is wrong with the call


def _refuse_a_deleted_folder(arguments: Sequence[str]) -> None:
    """Raise InputError if the working folder was deleted: paths and the policy are looked up from there."""
    if {"-h", "--help", "--version"}.isdisjoint(arguments):
        try:
            Path.cwd()
        except OSError as error:
            message = f"the working folder is not there any more: {error.strerror}"
            raise InputError(Problem("machine.no-folder", message, hint="change to a folder that exists")) from None


_CODES = (
    (click.NoSuchOption, "option.unknown"),
    (click.MissingParameter, "option.missing"),
    (click.BadParameter, "option.bad-value"),
    (click.BadOptionUsage, "option.no-value"),
)
"""The codes of Click's own errors, the first that fits; of any other, an argument is too much."""


def _problem(error: click.ClickException) -> Problem:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "highbar"
    gone = removed(f"{path} {error.option_name}") if isinstance(error, click.NoSuchOption) else None
    if gone is not None:
        return gone
    hint = f"{path} --help explains the options"
    if isinstance(error, WrongUsage):
        return Problem(error.code, error.message, hint=error.hint or hint)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "option.unexpected")
    return Problem(code, error.format_message(), hint=hint)
