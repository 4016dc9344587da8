"""`highbar judge`: find out how good a judge is, by comparing it with people's labels of the same trials."""

from __future__ import annotations

import click

from highbar.cli.app import CommandGroup, help_of_group

_EXAMPLES = """\b
Examples:
  highbar judge label runs/pr                make a page to label 60 trials with
  highbar judge calibrate runs/pr --labels labels.jsonl
"""
_COMMANDS = {"label": "highbar.cli.judge_label", "calibrate": "highbar.cli.judge_calibrate"}


@click.group(
    "judge",
    cls=CommandGroup,
    table=_COMMANDS,
    short_help="Find out how good a judge is.",
    epilog=_EXAMPLES,
)
@click.pass_context
def command(context: click.Context) -> int:
    """Find out how good the judge of a run is: people label a sample (label), and are compared with it (calibrate)."""
    return help_of_group(context)
