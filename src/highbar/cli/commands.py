"""Parts that commands share: groups of commands that are loaded on use, and the options `--format` and `--output`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from highbar.cli import streams
from highbar.cli.guard import REFUSED
from highbar.errors import InputError, Problem
from highbar.report import Display

Command = Callable[..., int]


class UnknownCommandError(click.UsageError):
    """The command does not exist; `hint` names the one that was probably meant."""

    def __init__(self, name: str, hint: str, context: click.Context) -> None:
        super().__init__(f"there is no command {name!r}", context)
        self.hint = hint


class CommandGroup(click.Group):
    """A group that loads a command only when it is used, and suggests similar names for an unknown one.

    `table` has every command, in the order of the help, and its place: `module`, in which it is named `command`, or
    `module:name`.
    """

    def __init__(self, *arguments: Any, table: Mapping[str, str], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
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
        """The command that the first argument names. Raises UnknownCommandError if there is none."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise UnknownCommandError(name, self._hint(ctx, name), ctx)
        return super().resolve_command(ctx, args)

    def _hint(self, ctx: click.Context, name: str) -> str:
        from highbar.language.spelling import did_you_mean  # only if something is misspelled

        known = self.list_commands(ctx)
        if "check" in known and Path(name).exists():
            return f"highbar check {shlex.quote(name)}"
        return did_you_mean(name, known) or f"{ctx.command_path} --help lists the commands"


def help_of_group(context: click.Context) -> int:
    """Print the help if the group was called without a command, and return the exit code of wrong usage."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
    return REFUSED


def format_option(names: Sequence[str] = ("text", "json")) -> Callable[[Command], Command]:
    """Add `--format` to a command, whose function takes it as `report_format`."""
    formats = click.Choice(list(names))
    return click.option(
        "--format", "report_format", type=formats, default="text", show_default=True, help="What to print."
    )


def output_option(endings: str, name: str = "--output", argument: str = "outputs") -> Callable[[Command], Command]:
    """Add the repeatable option that names report files; `endings` lists the file endings for the help text."""
    return click.option(
        name,
        argument,
        multiple=True,
        metavar="[FORMAT=]FILE",
        help=f"Also write a report to a file; its ending ({endings}) decides the format. Repeatable.",
    )


def print_described(files: Iterable[str], describe: Callable[[str, Display], str]) -> int:
    """Print the description of each file; if any has problems, print nothing and raise InputError with all of them."""
    texts: list[str] = []
    problems: list[Problem] = []
    for file in files:
        try:
            texts.append(describe(file, streams.display(sys.stdout)))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    streams.print_text("\n".join(texts))
    return 0
