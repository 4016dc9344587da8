"""The exceptions that Highbar raises.

    HighbarError
    ├── InputError      results, policy or usage could not be judged: exit 2, with every problem
    └── ReportError     a report could not be written: exit 4

A caller of the Python API writes `except highbar.InputError as error: print(error.problems)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class LineExcerpt(Struct, frozen=True):
    """A line of a file, or the part of it around a problem; `before` is the number of characters before the problem."""

    text: str
    before: int


class Problem(Struct, frozen=True):
    """One thing that is wrong with an input: its kind, where, what was found, what was wanted, and a hint.

    `code` names the kind: the room and what is wrong, such as `row.wrong-type`; `problems.toml` lists all of them.
    `example` is text of several lines that the hint asks the user to paste.
    """

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    excerpt: LineExcerpt | None = None
    example: str | None = None

    @property
    def advice(self) -> str | None:
        """The hint, with the example below it if there is one."""
        return self.hint if self.example is None else "\n".join(filter(None, (self.hint, self.example)))

    @property
    def place_text(self) -> str:
        """`file:line:column`, as far as they are known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    @property
    def coded_message(self) -> str:
        """The message, with its code at the end."""
        return f"{self.message} [{self.code}]"

    def __str__(self) -> str:
        text = f"{self.place_text}: {self.coded_message}" if self.place_text else self.coded_message
        return f"{text}\nhint: {self.advice}" if self.advice else text


class HighbarError(Exception):
    """The base class of every exception that Highbar raises on purpose."""


class InputError(HighbarError):
    """Results, a policy or a call cannot be judged; `problems` has every problem that was found."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class DuplicateResults(InputError):
    """Two or more rows have the same scenario and trial; `keys` has the scenario and the trial of each problem."""

    def __init__(self, problems: Sequence[Problem], keys: Sequence[tuple[str, int | None]]) -> None:
        super().__init__(*problems)
        self.keys = tuple(keys)


class ReportError(HighbarError):
    """A requested report could not be written."""
