"""Ask a person in a terminal about trials to label: one statement after the other, saved after every answer.

The agent's text cannot control the terminal: characters that are not printable are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from highbar.labeling.book import LabelBook
from highbar.labeling.drawing import DrawnTrial
from highbar.language.phrases import count
from highbar.report.visible import visible

_ANSWERS = {"y": True, "n": False, "?": None}
_WORDS = {True: "yes", False: "no", None: "cannot tell"}
QUESTION = "y yes, n no, ? cannot tell, u undo, q quit: "


class Console(Struct, frozen=True):
    """How to show text, how to ask for a key (an empty reply is the end of the input), and how to save the labels."""

    show: Callable[[str], None]
    ask: Callable[[str], str]
    save: Callable[[str], None]


def ask_for_labels(book: LabelBook, by: str, console: Console) -> int:
    """Ask a person about everything that they have not answered, until they are done or quit.

    Returns how many statements are left.
    """
    done: list[tuple[DrawnTrial, str]] = []
    shown: DrawnTrial | None = None
    while waiting := book.open(by):
        trial, name = waiting[0]
        if trial is not shown:
            console.show("\n".join(_trial(trial, book)))
            shown = trial
        console.show("\n".join(_statement(trial, name, book, by)))
        reply = console.ask(QUESTION)
        key = reply.strip().lower()[:1]
        if key in _ANSWERS:
            book.put(trial, name, by, observed=_ANSWERS[key])
            done.append((trial, name))
            console.show(f"  {_WORDS[_ANSWERS[key]]}")
            console.save(book.text)
        elif key == "u" and done:
            book.remove(*done.pop(), by)
            shown = None
            console.save(book.text)
        elif key == "q" or not reply:
            break
    return len(book.open(by))


def _trial(trial: DrawnTrial, book: LabelBook) -> Iterator[str]:
    number = book.drawing.trials.index(trial) + 1
    yield ""
    yield f"─── trial {number} of {len(book.drawing.trials)}: {visible(trial.id)}, trial {trial.trial} ───"
    for message in trial.messages:
        yield ""
        yield f"{visible(message.role)}:"
        yield from _indented(message.text)
        for tool, arguments in message.calls:
            yield f"  calls {visible(tool)}:"
            yield from _indented(arguments)


def _indented(text: str) -> Iterator[str]:
    return (f"    {visible(line)}" for line in text.split("\n"))


def _statement(trial: DrawnTrial, name: str, book: LabelBook, by: str) -> Iterator[str]:
    number = book.drawing.statements - len(book.open(by)) + 1
    yield ""
    yield f"Is this true of the conversation? ({number} of {count(book.drawing.statements, 'statement')})"
    yield f"  {visible(trial.statements[name])}  [{visible(name)}]"
