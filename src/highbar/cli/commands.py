"""A group of commands that suggests the one that was meant."""

from __future__ import annotations

from pathlib import Path

import click


class UnknownCommandError(click.UsageError):
    """There is no such command; `hint` names the one that was probably meant."""

    def __init__(self, name: str, hint: str, context: click.Context) -> None:
        super().__init__(f"there is no command {name!r}", context)
        self.hint = hint


class SuggestingGroup(click.Group):
    """A group that knows its commands by `list_commands` and `get_command` alone."""

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
            return f"highbar check {name}"
        return did_you_mean(name, known) or f"{ctx.command_path} --help lists the commands"
