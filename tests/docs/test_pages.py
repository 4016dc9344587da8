"""What the README and the documentation show is what happens."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from tests import commandline
from tests.docs.pages import LANGUAGES, ROOT, Block, blocks, pages, prepare, real, render

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]
POLICIES = [
    pytest.param(page, block, id=f"{page.relative_to(ROOT)}:{page.read_text('utf-8')[: block.start].count(chr(10))}")
    for page in pages()
    for block in blocks(page.read_text("utf-8"))
    if block.is_policy
]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_gives_the_output_that_stands_below_it(page: Path) -> None:
    assert render(page) == page.read_text("utf-8"), "python -m tests.docs.pages writes the real outputs"


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_a_crash(page: Path) -> None:
    assert not re.search(r"Traceback \(|internal error:", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    text = page.read_text("utf-8")
    found = list(blocks(text))
    assert {block.language for block in found} <= LANGUAGES
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(found)


@pytest.mark.parametrize(("page", "block"), POLICIES)
def test_every_policy_that_a_page_shows_is_accepted(page: Path, block: Block, tmp_path: Path) -> None:
    folder = prepare(tmp_path)
    for other in blocks(page.read_text("utf-8")):
        if other.file:  # such as the suite that the policy names
            real(other, folder)
    name = f"highbar.{block.language}"
    (folder / name).write_text(block.text, "utf-8")
    done = commandline.run(folder, "policy", name)
    assert done.exit == 0, done.out + done.err


@pytest.mark.parametrize("page", PAGES)
def test_every_json_and_yaml_block_can_be_read(page: Path) -> None:
    for block in blocks(page.read_text("utf-8")):
        if block.language == "json":
            json.loads(block.text)
        if block.language == "yaml":
            yaml.safe_load(block.text)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for match in LINK.finditer(prose):
        target, anchor = match["target"], match["anchor"]
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors(file), f"{target}#{anchor}: no such heading"


def test_every_page_is_reachable_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = [match["target"] for match in LINK.finditer(page.read_text("utf-8"))]
        todo += [(page.parent / target).resolve() for target in targets if target and "://" not in target]
    assert set(pages()) <= seen


LATER = {
    f"{name}.md"
    for name in (
        "suite", "checks", "tutorial", "run-folder", "three-kinds-of-errors", "run-http-agent", "run-command-agent",
        "several-turns", "tool-calls", "resume", "rate-limits", "run-in-ci", "pytest", "grade", "run-other-suites",
        "agentskills", "every-eval-ever",
        "run-speed", "label-a-judge", "judge", "can-you-trust-the-judge", "history", "drift-luck-and-flakiness",
        "early-stopping", "run-until-decided", "gates", "code-at-the-ref",
    )
}  # fmt: skip
"""Pages of what was added after the bound was set: suites, checks, runs, judges, history, records, early stopping."""
LATER_SECTIONS = (
    "## Run an agent",
    "## highbar run",
    "## highbar agent",
    "## highbar grade",
    "## highbar judge",
    "## A calibration",
    "## highbar history",
    "## run",
    "### Run",
    "### Running agents",
    "## When an agent is run",
    "## judge",
    "## quarantine",
    "## Sequential",
    "## If the run stops early",
)
"""Sections about these in older pages, by their headings."""
LATER_ROWS = re.compile(
    r"\|[^|]*\b(judges?|canary|calibrated|corrected|raw|sensitivity|quarantined?|history|drift|sequential|spending|horizon|open|until_decided|seed)\b"
)
"""Rows about these in tables of older pages, by their first cell."""
MOST_LATER = 17_000
BEYOND = {
    "whole-suite.md": "known noise decides what passes, and belongs on a page",
    "## A judge that changed": "labels that no longer hold passed agents that are not good enough",
    "## Behavior coverage": "a judged coverage is corrected since it was found to pass 60 % of bad agents",
    "## Labels of another run": "when labels expire, and what 20 new ones are for",
    "## What the suite cannot see": "the first line of a plan needs its meaning",
}
"""Pages by their names and sections by their headings that are beyond the bounds, each with its reason.

They go when the pages are made shorter.
"""
FOR_CODING_AGENTS = {"mcp.md", "fix-a-red-gate.md"}
"""Pages about the server for coding agents; a program writes the reference of its tools."""
MOST_FOR_CODING_AGENTS = 1_500


def test_the_documentation_is_short_enough_to_be_read() -> None:
    """At most 25,000 words in the README and docs/, without code, decisions and the tables that programs wrote."""
    names = (
        "second-run",
        "rising-bars",
        "false-alarms",
        "coverage-table",
        "off-the-grid",
        "run-speed",
        "can-you-trust-the-judge",
        "drift-luck-and-flakiness",
        "early-stopping",
        "gates",
        "whole-suite",
    )
    written = {f"{name}.md" for name in names}
    words = {"older": 0, "later": 0, "for coding agents": 0}
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if "decisions" not in page.parts and page.name not in ("mcp-tools.md", "problems.md"):  # programs write these
            prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
            for section in re.split(r"^(?=#)", prose, flags=re.MULTILINE):
                if page.name in BEYOND or section.partition("\n")[0] in BEYOND:
                    continue
                is_later = page.name in LATER or section.partition("\n")[0] in LATER_SECTIONS
                lines = [line for line in section.splitlines() if page.name not in written or not line.startswith("|")]
                for line in lines:
                    found = sum(re.search(r"\w", word) is not None for word in line.split())
                    is_new = page.name in FOR_CODING_AGENTS
                    of_later = is_later or LATER_ROWS.match(line) is not None
                    words["for coding agents" if is_new else "later" if of_later else "older"] += found
    assert words["older"] <= 25_000
    assert words["later"] <= MOST_LATER
    assert words["for coding agents"] <= MOST_FOR_CODING_AGENTS


def test_the_pictures_are_those_that_are_computed() -> None:
    for file, draw in runpy.run_path(str(ROOT / "docs" / "pictures.py"))["PICTURES"].items():
        assert file.read_text("utf-8") == draw(), "run scripts/docs"


def test_the_reference_of_the_tools_is_the_one_that_is_written() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "tools.py"))
    assert written["PAGE"].read_text("utf-8") == written["page"](), "run scripts/docs"


def anchors(page: Path) -> set[str]:
    """The names that headings get when a page is shown: lower case, words joined by hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
