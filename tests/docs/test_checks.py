"""The page of checks: every example holds where it says so, and nowhere else; every name is there."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest
import yaml

from highbar import checks
from highbar.checks.limits import DEEPEST_CHECK, DEEPEST_VALUE, MOST_FOUND, MOST_TEXT, MOST_WANTED
from highbar.checks.messages import METADATA
from highbar.checks.names import CHECKS, LIMITS, MODIFIERS, VALUE_CHECKS
from highbar.model.answer import Answer, ToolCall
from tests.docs.pages import ROOT, blocks

PAGE = (ROOT / "docs" / "reference" / "checks.md").read_text("utf-8")


class Loader(yaml.SafeLoader):
    """YAML as a suite is read: scalars by the rules of JSON, so that `Yes` is text."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^-?[0-9]+\.[0-9]+$"), list("-0123456789"))


def load(text: str) -> Any:
    return yaml.load(text, Loader)  # noqa: S506  # it is a SafeLoader


def section(heading: str) -> str:
    found = PAGE.partition(f"\n## {heading}\n")[2]
    assert found
    return found.partition("\n## ")[0]


def examples(file: str) -> list[tuple[Any, Any, Any]]:
    """The check, what it holds for, and what it fails for, of each example in a block of the page."""
    (block,) = [block for block in blocks(PAGE) if block.file == file]
    return [tuple(example.values()) for example in load(block.text)]


def read(value: Any, *, must_not: bool = False) -> checks.Check:
    reading = checks.read(value, must_not=must_not)
    assert reading.problems == ()
    assert reading.check is not None
    return reading.check


@pytest.mark.parametrize(("check", "good", "bad"), [*examples("reply.yaml"), *examples("combinations.yaml")])
def test_a_check_of_the_reply_holds_as_the_page_says(check, good, bad):
    assert checks.apply(read(check), Answer((good,))).observed is True
    assert checks.apply(read(check), Answer((bad,))).observed is False


def test_the_page_has_the_keys_that_must_nots_do_not_read():
    text = section("Must-nots are read more strictly").partition("```text\n")[2].partition("```")[0]
    assert text.replace(",", " ").split() == sorted(METADATA, key=lambda name: (name.lower(), name))


@pytest.mark.parametrize(("check", "good", "bad"), examples("calls.yaml"))
def test_a_check_of_calls_holds_as_the_page_says(check, good, bad):
    def called(made: list[dict[str, Any]]) -> Answer:
        calls = [ToolCall(name, arguments) for call in made for name, arguments in call.items()]
        return Answer((None,), (tuple(calls),))

    assert checks.apply(read(check), called(good)).observed is True
    assert checks.apply(read(check), called(bad)).observed is False


@pytest.mark.parametrize(("check", "good", "bad"), examples("reported.yaml"))
def test_a_check_of_what_was_reported_holds_as_the_page_says(check, good, bad):
    def found(reported: dict[str, Any]) -> bool | None:
        measured = {name: value for name, value in reported.items() if name in LIMITS}
        answer = Answer(("x",), state=reported.get("state"), context=reported.get("context"), measured=measured)
        judged = {"The reply is kind.": checks.Finding(reported.get("judge"))}
        return checks.apply(
            read(check), answer, functions=lambda _: lambda _: reported["python"], judged=judged
        ).observed

    assert found(good) is True
    assert found(bad) is False


@pytest.mark.parametrize(("check", "violated", "clean"), examples("must-not.yaml"))
def test_a_must_not_is_violated_as_the_page_says(check, violated, clean):
    for answer, observed in ((violated, True), (clean, False)):
        assert checks.apply(read(check, must_not=True), Answer((answer,)), must_not=True).observed is observed


def test_every_check_has_an_example_and_every_modifier_too():
    shown = str([example[0] for block in blocks(PAGE) if block.file for example in examples(block.file)])
    assert [name for name in (CHECKS.keys() | MODIFIERS) - {"reply"} if f"'{name}':" not in shown] == []
    assert "`reply: any`" in PAGE
    assert [name for name in VALUE_CHECKS if f"`{name}`" not in section("What the reply says")] == []


def test_every_behavior_of_the_glossary_is_on_the_page():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section("Behaviors that need no definition"), re.MULTILINE))
    assert rows == {name: entry.meaning for name, entry in checks.GLOSSARY.items()}


def test_the_limits_are_those_of_the_code():
    for limit in (f"{MOST_TEXT:,}", f"{MOST_WANTED:,}", f"{DEEPEST_VALUE} levels", f"{DEEPEST_CHECK} deep"):
        assert limit in section("Limits")
    assert f"at most {MOST_FOUND} characters" in PAGE
