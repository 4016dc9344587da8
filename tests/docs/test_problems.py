"""The page of problems is what the table of codes says, and its examples are commands that exist."""

from __future__ import annotations

import re
import runpy
import shlex

import click
import pytest

from highbar.cli.app import root
from highbar.codes import read_codes
from highbar.errors import InputError
from highbar.store.labels import parse_labels
from tests.docs.pages import ROOT

CODES = read_codes()


def right_lines(code: str) -> list[str]:
    """The lines of the example that say what to write."""
    return [line[2:] for line in CODES[code].example.splitlines() if line.startswith("+")]


def test_the_page_is_what_the_table_of_codes_says() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "problems.py"))["page"]()
    page = (ROOT / "docs" / "reference" / "problems.md").read_text("utf-8")
    assert page == written, "scripts/docs writes it"
    assert re.findall(r"^### (.*)$", page, re.MULTILINE) == list(CODES)


def test_an_entry_is_complete_and_its_example_is_a_diff() -> None:
    for code, kind in CODES.items():
        assert kind.cause.endswith("."), code
        assert kind.cure.endswith("."), code
        assert kind.example.strip(), code
        assert {line[:1] for line in kind.example.splitlines()} <= {"-", "+", " "}, code


@pytest.mark.parametrize(
    ("code", "line"), [(code, line) for code in CODES for line in right_lines(code) if line.startswith("highbar ")]
)
def test_the_commands_of_the_examples_exist_with_their_options(code: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            break
        command, words = found, words[1:]
    assert not isinstance(command, click.Group), f"{code}: there is no command in {line!r}"
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in words if word.startswith("-") and word.split("=")[0] not in known] == []


def test_the_labels_of_the_examples_are_labels_and_contradict_each_other_where_it_says_so() -> None:
    (line,) = right_lines("label.damaged")
    parse_labels(line, "labels.jsonl")
    both = "\n".join(line[2:] for line in CODES["label.contradiction"].example.splitlines())
    with pytest.raises(InputError) as raised:
        parse_labels(both, "labels.jsonl")
    assert [problem.code for problem in raised.value.problems] == ["label.contradiction"]
