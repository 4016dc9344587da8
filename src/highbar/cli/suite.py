"""`highbar suite`: a suite file in; what it asks and how it recognizes behaviors, or all its problems, out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from highbar.cli.streams import print_described, say
from highbar.language.phrases import count
from highbar.report import Display
from highbar.report.layout import columns, paragraph, title
from highbar.report.visible import visible

if TYPE_CHECKING:  # see command
    from highbar.suite import Suite

_EXAMPLES = """\b
Examples:
  highbar suite suite.yaml
"""


@click.command("suite", short_help="Check a suite and say in words what it checks.", epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
def command(files: tuple[str, ...]) -> int:
    """Check a suite of scenarios, or several, and say in words what it asks and checks.

    Nothing is run. FILE is YAML, JSON, JSONL or CSV.
    """
    from highbar.suite import read, unread_columns  # help and completion need neither the reader nor its YAML parser

    def describe(file: str, screen: Display) -> str:
        suite = read(file)
        if suite.own_texts:
            say(f"warning: {unread_columns(suite.file, suite.own_texts)}")
        return _describe(suite, screen)

    return print_described(files, describe)


def _describe(suite: Suite, screen: Display) -> str:
    from highbar.suite import words  # see command

    scenarios, trials = count(len(suite.scenarios), "scenario"), count(suite.trials, "trial")
    lines = [f"{visible(suite.file or 'suite')} is valid: {scenarios}, {trials}"]
    if suite.own_columns:
        lines.append(visible(f"columns of your own: {', '.join(suite.own_columns)}"))
    if suite.ignored:
        lines.append(visible(f"columns of results, which are not compared: {', '.join(suite.ignored)}"))
    if suite.description:
        lines.append(visible(suite.description))
    lines += [*title("Scenarios", screen), *columns(_categories(words.by_category(suite)), 2, screen)]
    lines += _section("Behaviors, and how each is recognized", words.named_behaviors(suite), screen)
    lines += _section("Answers, and how each is checked", words.answers(suite), screen)
    lines += _section("Settings", words.settings(suite), screen)
    never = [("-", visible(text)) for text in words.never_checked(suite)]
    lines += [*title("Never checked", screen), *columns(never, 2, screen)] if never else []
    return "\n".join(lines) + "\n"


def _categories(rows: Iterable[tuple[str, int, int]]) -> list[tuple[str, str]]:
    return [
        (visible(category), count(number, "scenario") + ("" if trials == number else f", {count(trials, 'trial')}"))
        for category, number, trials in rows
    ]


def _section(heading: str, rows: Iterable[tuple[str, str]], screen: Display) -> list[str]:
    found = [(visible(name), visible(sentence)) for name, sentence in rows]
    lines = title(heading, screen) if found else []
    for name, sentence in found:
        lines += [f"  {name}", *paragraph(sentence, 6, screen)]
    return lines
