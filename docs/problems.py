"""Writes the reference of the codes of problems: `python docs/problems.py`. Every entry comes from `codes.toml`."""

from __future__ import annotations

from pathlib import Path

from highbar.codes import ProblemKind, read_codes

PAGE = Path(__file__).parent / "reference" / "problems.md"
_BEGINNING = """\
# Problems and their codes

Every problem that ends a command with exit code 2 has a code at the end of its line, such as `[row.wrong-type]`; in
JSON it is `problems[].code`. Codes stay when messages are reworded: match them in scripts. `highbar explain CODE`
prints an entry of this page, and `highbar explain` lists all; `docs/problems.py` writes it. See also:
[troubleshooting](../troubleshooting.md), [exit codes](exit-codes.md).

In the examples, a line that begins with `-` is wrong; one that begins with `+` is what to write or to do instead.
"""


def page() -> str:
    """The whole page: one heading for each room, one for each code."""
    parts, room = [_BEGINNING], ""
    for code, kind in read_codes().items():
        if kind.room != room:
            room = kind.room
            parts.append(f"## {room}\n")
        parts.append(_section(code, kind))
    return "\n".join(parts)


def _section(code: str, kind: ProblemKind) -> str:
    return f"### {code}\n\n{kind.cause}\n\n**What to do:** {kind.cure}\n\n```diff\n{kind.example}```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
