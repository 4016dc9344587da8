"""The page of `highbar history page` in a browser: hostile texts, accessibility, few runs, no script."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from highbar.model.history import NewRun
from tests.browser.test_quality import AXE, LOOKS
from tests.chromium import PHONE, Open
from tests.commandline import run
from tests.history_runs import add, counts, new_run

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>\u202e\x1b"


def history(count: int = 12) -> list[NewRun]:
    """Runs of two branches and three versions; the suite changes once; `flaky` passes every other time."""
    found = []
    for number in range(count):
        passed = {"steady": 2, "broke": 2 * int(number < count // 2), "flaky": 2 * int(number % 2), "mixed": 1}
        facts = {
            "branch": "topic" if number % 4 == 3 else "main",
            "agent_version": f"1.{number // 4}",
            "suite": "first" if number < 2 else "second",
        }
        found.append(new_run(number, counts(passed, 2), threshold=0.5 if number < 8 else 0.3, **facts))
    return found


def written(folder: Path, *runs: NewRun) -> Path:
    add(folder / "history", *runs)
    done = run(folder, "history", "page", "--output", "site")
    assert done.exit == 0, done.err
    return folder / "site" / "index.html"


def violations(page: Page) -> list[str]:
    found = page.evaluate(f"async () => {{ {AXE}; return (await axe.run()).violations }}")
    return [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found]


@pytest.mark.hazard("H110")
def test_hostile_texts_are_shown_and_nothing_more(tmp_path: Path, open_page: Open) -> None:
    rows = counts({HOSTILE: 1, "__proto__": 0}, category=HOSTILE)
    facts = {"branch": HOSTILE, "commit": HOSTILE, "agent_version": HOSTILE, "parents": (HOSTILE,), "suite": None}
    runs = []
    for number in range(10):
        new = new_run(number, rows, **facts)
        rules = tuple(replace(rule, rule=HOSTILE, threshold=HOSTILE, metric=HOSTILE) for rule in new.run.rules)
        metrics = {HOSTILE: replace(new.run.metrics["pass_rate"], value=0.5)}
        runs.append(replace(new, run=replace(new.run, rules=rules, metrics=metrics)))
    visit = open_page(written(tmp_path, *runs))
    page = visit.page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    expect(page.locator("table.runs")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("table.heat")).to_contain_text(r"\u202e\x1b")
    assert page.locator("img").count() == 0
    assert visit.misdeeds == []


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_wrong(look: str, tmp_path: Path, open_page: Open) -> None:
    page = open_page(written(tmp_path, *history(30)), **LOOKS[look]).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert violations(page) == []
    if look == "phone":
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("count", [1, 2])
def test_very_few_runs_are_a_page_too(count: int, tmp_path: Path, open_page: Open) -> None:
    visit = open_page(written(tmp_path, *history(count)))
    assert violations(visit.page) == []
    assert visit.misdeeds == []


def test_the_page_needs_no_script(tmp_path: Path, open_page: Open) -> None:
    page = open_page(written(tmp_path, *history()), java_script_enabled=False).page
    expect(page.locator("svg.trend").first).to_be_visible()
    expect(page.locator("table.heat tbody th code")).to_have_text(["flaky", "mixed", "broke", "steady"])
