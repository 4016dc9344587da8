"""`highbar judge`: find out how good a judge is, by comparing it with people's labels of the same trials."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

from highbar.cli.commands import SuggestingGroup, help_of_group

_EXAMPLES = """\b
Examples:
  highbar judge label runs/pr                make a page to label 60 trials with
  highbar judge label runs/pr --terminal     the same in the terminal
  highbar judge calibrate runs/pr --labels labels.jsonl
"""
_COMMANDS: Mapping[str, str] = MappingProxyType(
    {"label": "highbar.cli.judge_label", "calibrate": "highbar.cli.judge_calibrate"}
)
"""Every command, in the order of the help, and the module that has it as `command`."""


class _JudgeCommands(SuggestingGroup):
    """A group that loads a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name]).command
        return command


@click.group(
    "judge",
    cls=_JudgeCommands,
    invoke_without_command=True,
    short_help="Find out how good a judge is.",
    epilog=_EXAMPLES,
)
@click.pass_context
def command(context: click.Context) -> int:
    """Find out how good the judge of a run is: people label a sample (label), and are compared with it (calibrate)."""
    return help_of_group(context)
