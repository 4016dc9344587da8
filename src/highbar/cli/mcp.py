"""`highbar mcp`: serve coding agents over standard input and output, limited to the files below one folder."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path

import click

from highbar.cli import streams
from highbar.cli.guard import KILLED_BY
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, Problem

_EXAMPLES = """\b
Examples:
  highbar mcp                                    for the files below this folder
  highbar mcp ~/agents/library --against-ref origin/main
  highbar mcp --allow-run --budget '$5'          may run the suite's agent, for $5
"""


@click.command("mcp", short_help="Serve coding agents over the Model Context Protocol.", epilog=_EXAMPLES)
@click.argument("folder", default=".", type=click.Path())
@click.option("--policy", type=click.Path(), metavar="FILE", help="Judge by this policy, and let no call name another.")
@click.option(
    "--against-ref", metavar="REF", help="Judge by the policy as it was at this git ref, too, in every call of check."
)
@click.option("--allow-run", is_flag=True, help="Offer the tool run, which executes what a suite names.")
@click.option("--budget", metavar="USD", help="What all runs together may cost, such as '$5'. With --allow-run.")
def command(*, folder: str, policy: str | None, against_ref: str | None, allow_run: bool, budget: str | None) -> int:
    """Answer questions of a coding agent about the files below FOLDER, this one unless given.

    It speaks the Model Context Protocol on standard input and output, and ends with them: a client starts it. The tools
    only read, no file outside of FOLDER, and run no code. docs/how-to/mcp.md says how to set up a client.
    """
    money = _budget(budget, allow_run=allow_run)
    root = Path(folder).resolve()
    if not root.is_dir():
        raise InputError(
            Problem("file.missing", "is not a folder that can be served", folder, hint="name a folder that exists")
        )
    try:
        import anyio  # from an optional extra

        from highbar.mcp_server.confinement import Workspace  # as above
        from highbar.mcp_server.runs import Allowance  # as above
        from highbar.mcp_server.serving import serve_stdio  # as above
    except ModuleNotFoundError:
        message = "highbar mcp needs the package mcp, which is not installed"
        raise InputError(Problem("machine.missing-package", message, hint="pip install 'highbar[mcp]'")) from None
    os.chdir(root)
    workspace = Workspace(root, policy, against_ref)
    if policy is not None:
        workspace.inside(policy)
    anyio.run(serve_stdio, workspace, None if money is None else Allowance(money), _end)
    return 0


def _end(number: int) -> None:
    """End the process at once with the signal's exit code, since a thread that waits for stdin would never end."""
    streams.say(f"highbar: stopped by {signal.Signals(number).name}")
    os._exit(KILLED_BY + number)


def _budget(text: str | None, *, allow_run: bool) -> Fraction | None:
    """The budget for runs; None if runs are not allowed. Raises if --budget or --allow-run is given alone."""
    if not allow_run:
        if text is not None:
            raise WrongUsage("option.needs-another", "--budget goes with --allow-run")
        return None
    from highbar.suite.amounts import usd  # only if runs are allowed

    amount = None if text is None else usd(text)
    if amount is None or amount <= 0:
        hint = "--allow-run --budget '$5' lets all runs of this server together cost $5"
        found = "no budget" if text is None else f"the budget {text!r}"
        raise InputError(
            Problem("option.bad-value", f"--allow-run: found {found}, wanted an amount of money", hint=hint)
        )
    return amount
