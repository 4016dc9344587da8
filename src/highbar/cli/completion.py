"""`highbar completion`: print a shell's completion script, and answer the shell when that script calls us."""

from __future__ import annotations

import os

import click

_VARIABLE = "_HIGHBAR_COMPLETE"

_EXAMPLES = """\b
Examples:
  bash   echo 'eval "$(highbar completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(highbar completion zsh)"' >> ~/.zshrc
  fish   highbar completion fish > ~/.config/fish/completions/highbar.fish
"""


@click.command("completion", short_help="Print a shell's completion script.", epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of a SHELL."""
    from highbar.cli import streams  # not needed if no shell asks

    streams.print_text(_script(context.find_root().command, shell))
    return 0


def _script(root: click.Command, shell: str) -> str:
    from click.shell_completion import get_completion_class  # as above

    known = get_completion_class(shell)
    if known is None:
        raise LookupError(f"click knows no completion for {shell}")
    made = known(root, {}, "highbar", _VARIABLE)
    return f"{made.source_template % made.source_vars()}\n"


def answered_shell(root: click.Command) -> bool:
    """Answer a shell that asks for completions, with a variable and no arguments; returns False if none asks."""
    shell, _, order = os.environ.get(_VARIABLE, "").partition("_")
    if order != "complete":
        return False
    from click.shell_completion import get_completion_class  # as above

    known = get_completion_class(shell)
    if known is None:
        return False
    from highbar.cli import streams  # as above

    streams.print_text(f"{known(root, {}, 'highbar', _VARIABLE).complete()}\n")
    return True
