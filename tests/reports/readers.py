"""Each report read back by a parser of its format: its verdict, its rules, its values and its failed scenarios."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from junitparser import xunit2
from markdown_it import MarkdownIt

MISSED = frozenset({"fail", "undefined", "inconclusive"})
WORDS = {"FAIL": frozenset({"fail", "undefined"}), "INCONCLUSIVE": frozenset({"inconclusive"}), "WARN": MISSED}


@dataclass(frozen=True, slots=True)
class Shown:
    """A number as a reader sees it, rounded: `92.0% (82.6–97.2)`."""

    text: str

    def is_about(self, exact: float | None) -> bool:
        if exact is None:
            return self.text == "undefined"
        found = re.match(r"(-?)\$?(\d+)(?:\.(\d+))?(%?)", self.text)
        if found is None:
            return False
        sign, whole, decimals, percent = found.groups(default="")
        scale = 100 if percent else 1
        value = float(f"{sign}{whole}.{decimals or 0}") / scale
        return abs(value - exact) <= 0.51 * 10.0 ** -len(decimals) / scale


Number = float | Shown | None


@dataclass(frozen=True, slots=True)
class Rule:
    """What a report says of a rule: which outcomes it can mean, its level where it shows one, and its value."""

    outcomes: frozenset[str]
    level: str | None = None
    value: Number = None
    has_value: bool = True  # whether the report shows one


@dataclass(slots=True)
class Found:
    """What a report says. `failed` is None where it does not list the scenarios that failed."""

    verdict: str
    rules: dict[str, Rule] = field(default_factory=dict)
    metrics: dict[str, Number] = field(default_factory=dict)
    failed: set[str] | None = None


def read_json(text: str) -> Found:
    document = json.loads(text)
    return Found(
        document["verdict"],
        {r["rule"]: Rule(frozenset({r["outcome"]}), r["level"], r["value"]) for r in document["rules"]},
        {name: value["value"] for name, value in document["metrics"].items()},
        {scenario["id"] for scenario in document["scenarios_failed"]},
    )


def failed_there(case: Any) -> bool:
    """Whether a test case is a failure, or an error that is not an undecided scenario."""
    return any(one.type != "undecided" for one in case.result) if case.is_failure or case.is_error else False


def read_junit(text: str) -> Found:
    rules, scenarios = xunit2.JUnitXml.fromstring(text.encode())
    whole = {one.name: one.value for one in rules.properties()}
    found = Found(whole["verdict"], failed={case.name for case in scenarios if failed_there(case)})
    for name in (name.removesuffix(".scenarios") for name in whole if name.endswith(".scenarios")):
        found.metrics[name.removeprefix("metric.")] = float(whole[name]) if name in whole else None
    for case in rules:
        own = {one.name: one.value for one in case.properties()}
        # Whether it passed is taken from what a CI system looks at; which way it did not, from the property.
        outcome = own["outcome"] if case.is_failure or case.is_skipped else "pass"
        value = float(own["value"]) if "value" in own else None
        found.rules[own["rule"]] = Rule(frozenset({outcome}), case.classname.rpartition(".")[2], value)
    return found


def read_markdown(text: str) -> Found:
    """The tables below the headings that say what they hold; a name is the first code span of its cell."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    found, heading, row = Found(""), "", []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = tokens[place + 1].content
            found.verdict = found.verdict or heading.partition(":")[0].casefold()
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline" and tokens[place - 1].type == "td_open":
            row.append(token)
        elif token.type == "tr_close" and row:
            _markdown_row(found, heading, row)
    return found


def _markdown_row(found: Found, heading: str, row: list) -> None:
    texts = [cell.content for cell in row]
    names = [[part.content for part in cell.children if part.type == "code_inline"] for cell in row]
    if heading == "Demands":
        outcome, _, level = texts[0].replace("*", "").partition(" ")
        shown = Shown(texts[2]) if texts[2] else None
        below = [part.content for part in row[1].children].index("<br>")  # the paths, below the title
        for part in row[1].children[below:]:
            if part.type == "code_inline":
                found.rules[part.content] = Rule(frozenset({outcome}), level.strip("()") or "blocking", shown)
    elif heading == "Metrics":
        found.metrics[names[0][0]] = Shown(texts[1])
    elif heading == "Failed scenarios":
        found.failed = (found.failed or set()) | {names[0][0]}


PATHS = (
    "thresholds", "risk", "progressive", "pass_criteria", "required_scenarios", "optional_scenarios", "composite",
    "metrics", "default",
)  # fmt: skip


def is_path(text: str) -> bool:
    """Whether a line holds paths of rules, and no reason."""
    return text.startswith(("rules[", "suite", "baseline.", *(f"{path}." for path in PATHS)))


def read_text(text: str) -> Found:
    """The sections by their titles, rows by their indent; a cell ends where two spaces follow."""
    found = Found(text.partition(":")[0].casefold())
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            section = sections.setdefault(line, [])
        else:
            section.append(line)
    for heading, lines in sections.items():
        if heading.startswith("Demands that are"):
            found.rules |= _text_rules(lines)
        rows = [re.split(r"\s{2,}", line.strip()) for line in lines if re.match(r"  [^ …]", line)]
        if heading == "Metrics":
            found.metrics |= {row[0]: Shown(row[1]) for row in rows if len(row) == 3}
        elif heading.startswith("Failed scenario"):
            found.failed = {row[0] for row in rows}
    for line in re.findall(r"^  undefined: (.*(?:\n  (?!undefined).*)*)", text, re.MULTILINE):
        found.metrics |= dict.fromkeys(line.partition(":")[0].split(", "), Shown("undefined"))
    return found


def _text_rules(lines: list[str]) -> dict[str, Rule]:
    """Each demand, and below it the paths of its rules."""
    rules: dict[str, Rule] = {}
    rule, at = None, 0
    for line in lines:
        cells = re.split(r"\s{2,}", line.strip())
        if rule and line.startswith("      ") and is_path(cells[0]):
            rules |= dict.fromkeys(cells[0].split(", "), rule)
        elif cells[0] in WORDS:
            rule = Rule(WORDS[cells[0]], "warning" if cells[0] == "WARN" else None, has_value=False)
        elif re.match(r"\s{3,}value\s", line):
            at = line.index("value")
        elif re.match(r"  \S.*\S  ", line):
            # A rule about scenarios has no value: its reason stands there, which may begin with their number.
            value = re.match(r"(?!\d+ scenarios? passed)[-$]?\d.*?(?=  |$)", line[at:])
            rule = Rule(frozenset({"pass"}), None, Shown(value[0]) if value else None)
    return rules


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass(slots=True)
class Element:
    """An element of a page, with the text in it that a reader sees."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str, klass: str = "") -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and (not klass or klass in child.attributes.get("class", "").split()):
                    yield child
                yield from child.all(tag, klass)

    @property
    def text(self) -> str:
        unseen = self.tag in {"script", "style", "svg", "template"}
        return "" if unseen else "".join(one if isinstance(one, str) else one.text for one in self.children)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in {element.tag for element in self.open}:
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_html(text: str) -> Found:
    """What is visible without a script; the level of a rule stands in an attribute."""
    page = _Page()
    page.feed(text)
    root = page.root
    found = Found(next(root.all("h1")).text.split()[0].casefold().rstrip(":"), failed=set())
    (verdict,) = re.findall(r"pass|fail|inconclusive", found.verdict)
    found.verdict = verdict
    for row in root.all("tr", "rule"):
        value = re.sub(r"^undefined .*", "undefined", next(row.all("td", "value")).text.strip())  # and what it lacks
        word = next(row.all("td", "outcome")).text.split()[0]
        outcomes = MISSED if word == "warning" else frozenset({word})
        name = re.sub(r"^(rules\[\d+\]) .*", r"\1", next(row.all("code")).text)
        found.rules[name] = Rule(outcomes, row.attributes["data-level"], Shown(value) if value else None)
    for table in root.all("table", "metrics"):
        for row in table.all("tr"):
            cells = list(row.all("td"))
            if cells:
                found.metrics[next(row.all("code")).text] = Shown(cells[0].text)
    for listed in root.all("dl", "undefined"):
        found.metrics |= {name.text: Shown("undefined") for term in listed.all("dt") for name in term.all("code")}
    for listed in root.all("ul", "scenarios"):
        items = [item for item in listed.all("li") if item.attributes.get("class") != "group"]  # that is a heading
        found.failed |= {next(item.all("code")).text for item in items}
    return found


READERS: dict[str, Callable[[str], Found]] = {
    "text": read_text,
    "json": read_json,
    "markdown": read_markdown,
    "github-comment": lambda text: read_markdown(text.removeprefix("<!-- highbar -->\n")),
    "junit": read_junit,
    "html": read_html,
}
