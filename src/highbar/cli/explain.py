"""`highbar explain`: what the code at the end of a problem means, and what to do."""

from __future__ import annotations

import sys

import click

from highbar.cli import streams
from highbar.errors import InputError, Problem
from highbar.report.layout import columns, paint, paragraph, title

_EXAMPLES = """\b
Examples:
  highbar explain row.wrong-type
  highbar explain                  list all codes
"""


@click.command("explain", short_help="Say what the code of a problem means, and what to do.", epilog=_EXAMPLES)
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Say what the code at the end of a problem means: its cause, its cure and an example; without a code, list all.

    In the example, a line that begins with - is wrong, and one that begins with + is what to write or to do instead.
    """
    streams.print_text(_all_codes() if code is None else _entry(code.strip("[] ")))
    return 0


def _entry(code: str) -> str:
    from highbar.codes import near_codes, read_codes  # not needed for help

    known = read_codes()
    if code not in known:
        near = ", ".join(near_codes(code, known))
        hint = f"did you mean one of these: {near}?" if near else "highbar explain lists all codes"
        raise InputError(Problem("option.bad-value", f"there is no code {code!r}", hint=hint))
    screen, kind = streams.display(sys.stdout), known[code]
    lines = [paint(code, "bold", screen), *paragraph(kind.cause, 2, screen)]
    lines += [*title("What to do", screen), *paragraph(kind.cure, 2, screen)]
    lines += [*title("Example", screen), *(f"  {line}" for line in kind.example.splitlines())]
    return "\n".join(lines) + "\n"


def _all_codes() -> str:
    from highbar.codes import read_codes  # not needed for help

    known, screen = read_codes(), streams.display(sys.stdout)
    lines: list[str] = []
    for room in dict.fromkeys(kind.room for kind in known.values()):
        lines += title(room, screen)
        lines += columns([(code, kind.cause) for code, kind in known.items() if kind.room == room], 2, screen)
    return "\n".join(lines) + "\n"
