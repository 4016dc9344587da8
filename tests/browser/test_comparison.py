"""Two runs compared, as a page of its own and in the report of a check against a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_quality import AXE
from tests.chromium import PHONE, Open
from tests.commandline import run


@pytest.mark.browser
def test_a_comparison_shows_every_difference_and_the_scenarios_that_broke(compared: Path, open_page: Open) -> None:
    visit = open_page(compared / "compare.html")
    expect(visit.page.locator("h1 b")).to_have_text("FAIL")
    row = visit.page.locator("table.changes tr", has_text="pass_rate").first
    expect(row).to_contain_text("worse")
    expect(row).to_contain_text("-20.0 points")
    expect(row.locator("svg.line .interval")).to_have_count(1)
    expect(visit.page.get_by_text("Broken: passed in base, not in head (12)")).to_be_visible()
    expect(visit.page.locator("details.both")).to_have_count(12)
    assert visit.misdeeds == []


@pytest.mark.browser
def test_a_scenario_that_broke_opens_to_both_outputs(compared: Path, open_page: Open) -> None:
    page = open_page(compared / "compare.html").page
    scenario = page.locator("details.both", has_text="SEC-002")
    expect(scenario.locator(".sides")).to_be_hidden()
    scenario.locator("summary").click()
    base, head = scenario.locator(".sides > .trial").all()
    expect(base.locator("h3")).to_have_text("Base: passed")
    expect(base).to_contain_text("I cannot give out staff codes")
    expect(head.locator("h3")).to_have_text("Head: did not pass")
    expect(head).to_contain_text("The staff code is OAK-STAFF-25")
    left, right = base.bounding_box(), head.bounding_box()
    assert left
    assert right
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


@pytest.mark.browser
@pytest.mark.parametrize("options", [{}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_a_comparison_is_accessible_and_fits_on_a_phone(
    options: dict[str, object], compared: Path, open_page: Open
) -> None:
    page = open_page(compared / "compare.html", **options).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = page.evaluate(f"async () => {{ {AXE}; return (await axe.run()).violations }}")
    assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_a_check_against_a_baseline_shows_what_changed(compared: Path, open_page: Open) -> None:
    page = open_page(compared / "check.html").page
    expect(page.locator("#changes")).to_have_text("Changes over 60 scenarios")
    rows = page.locator("tr[data-rules*='baseline.accuracy']")
    expect(rows.locator(".chart")).to_contain_text("difference to the baseline")
    expect(page.locator("ul.ids").first).to_contain_text("SEC-002")


def test_a_comparison_that_cannot_be_made_says_so_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "A", "passed": true}\n')
    done = run(tmp_path, "compare", "a.jsonl", "absent.jsonl", "--output", "it.html")
    assert done.exit == 2
    assert "NO VERDICT" in (tmp_path / "it.html").read_text("utf-8")
