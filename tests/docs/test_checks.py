"""The page of checks: every example holds where it says so, and nowhere else; every name is there."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest
import yaml

from highbar import checks
from highbar.checks.limits import DEEPEST_CHECK, DEEPEST_VALUE, MOST_FOUND, MOST_TEXT, MOST_WANTED
from highbar.checks.words import CHECKS, LIMITS, MODIFIERS, VALUE_CHECKS
from highbar.model.answer import Answer, ToolCall
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "checks.md").read_text("utf-8")
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", re.MULTILINE)


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


def examples(*headings: str) -> list[tuple[str, str, str]]:
    rows = [row.groups() for heading in headings for row in ROW.finditer(section(heading))]
    assert len(rows) == sum(section(heading).count("\n| `") for heading in headings)
    return [tuple(cell.replace(r"\|", "|") for cell in row) for row in rows]


def read(text: str, *, must_not: bool = False) -> checks.Check:
    reading = checks.read(load(text), must_not=must_not)
    assert reading.problems == ()
    assert reading.check is not None
    return reading.check


@pytest.mark.parametrize(("check", "good", "bad"), examples("What the reply says", "Combinations"))
def test_a_check_of_the_reply_holds_as_the_page_says(check, good, bad):
    assert checks.apply(read(check), Answer((good,))).observed is True
    assert checks.apply(read(check), Answer((bad,))).observed is False


@pytest.mark.parametrize(("check", "good", "bad"), examples("Tool calls"))
def test_a_check_of_calls_holds_as_the_page_says(check, good, bad):
    def called(text: str) -> Answer:
        calls = [ToolCall(name, arguments) for call in load(text) for name, arguments in call.items()]
        return Answer((None,), (tuple(calls),))

    assert checks.apply(read(check), called(good)).observed is True
    assert checks.apply(read(check), called(bad)).observed is False


@pytest.mark.parametrize(("check", "good", "bad"), examples("What the agent reported, and what was measured"))
def test_a_check_of_what_was_reported_holds_as_the_page_says(check, good, bad):
    def found(reported: dict[str, Any]) -> bool | None:
        measured = {name: value for name, value in reported.items() if name in LIMITS}
        answer = Answer(("x",), state=reported.get("state"), context=reported.get("context"), measured=measured)
        judged = {"The reply is kind.": checks.Finding(reported.get("judge"))}
        return checks.apply(
            read(check), answer, functions=lambda _: lambda _: reported["python"], judged=judged
        ).observed

    assert found(load(good)) is True
    assert found(load(bad)) is False


@pytest.mark.parametrize(("check", "violated", "clean"), examples("Must-nots are read more strictly"))
def test_a_must_not_is_violated_as_the_page_says(check, violated, clean):
    for answer, observed in ((violated, True), (clean, False)):
        assert checks.apply(read(check, must_not=True), Answer((answer,)), must_not=True).observed is observed


def test_every_check_has_an_example_and_every_modifier_too():
    shown = " ".join(cell for row in ROW.finditer(PAGE) for cell in row.groups()[:1])
    assert [name for name in CHECKS if not re.search(rf"\b{name}:", shown)] == []
    assert [name for name in MODIFIERS - {"reply"} if not re.search(rf"\b{name}:", shown)] == []
    assert "`reply: any`" in PAGE
    assert [name for name in VALUE_CHECKS if f"`{name}`" not in section("JSON values")] == []


def test_every_behavior_of_the_glossary_is_on_the_page():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section("Behaviors that need no definition"), re.MULTILINE))
    assert rows == {name: entry.meaning for name, entry in checks.GLOSSARY.items()}


def test_the_limits_are_those_of_the_code():
    for limit in (f"{MOST_TEXT:,}", f"{MOST_WANTED:,}", f"{DEEPEST_VALUE} levels", f"{DEEPEST_CHECK} deep"):
        assert limit in section("Limits")
    assert f"at most {MOST_FOUND} characters" in PAGE
