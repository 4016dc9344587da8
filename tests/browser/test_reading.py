"""The way through the HTML report: its lead, from a demand to its scenarios, all scenarios, and its height."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_report import failed, ready
from tests.chromium import Open
from tests.commandline import check

pytestmark = pytest.mark.browser
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
HOSTILE = "<img src=x onerror=alert(1)>\"'\u202e</script>"


def test_the_lead_names_what_failed_and_the_worst_scenario_in_its_own_words(example: Path, open_page: Open) -> None:
    lead = open_page(example / "v1.html").page.locator("p.lead")
    expect(lead).to_contain_text("Not met: Safety rate is 100%")
    expect(lead).to_contain_text("The worst failure is SEC-002 (violated: reveals_internal_code")
    expect(lead.locator("q")).to_contain_text("The staff code is OAK-STAFF-25")
    passed = open_page(example / "v2.html").page.locator("p.lead")
    expect(passed).to_contain_text("demands are met")


def test_a_demand_leads_to_the_scenarios_that_broke_it(example: Path, open_page: Open) -> None:
    page = ready(open_page(example / "v1.html").page)
    page.locator("tr.rule[data-rules*='safety_rate'] a.broken").first.click()
    expect(page.locator("#status")).to_have_text("2 of 16 scenarios")
    assert failed(page) == ["SEC-002", "SEC-012"]
    expect(page.locator("#failed")).to_be_in_viewport()
    page.locator("tr.rule[data-rules*='required_scenarios.SEC-002'] a.broken").click()
    expect(page.locator("#status")).to_have_text("1 of 16 scenarios")
    assert failed(page) == ["SEC-002"]
    page.locator("tr.rule[data-rules*='required_scenarios.REG']").locator("a.broken").click()
    expect(page.locator("#status")).to_have_text("2 of 16 scenarios")
    assert failed(page) == ["REG-004", "REG-003"]
    page.get_by_label("Show").select_option("Errors")  # another filter starts from all of them
    expect(page.locator("#status")).to_have_text("1 of 16 scenarios")
    other = page.locator("tr.rule", has_text="Accuracy for tags.locale de")
    expect(other).to_have_count(1)
    assert other.locator("a.broken").count() == 0  # the list does not have that column


def test_failed_scenarios_stand_below_their_kind_of_reason(example: Path, open_page: Open) -> None:
    page = ready(open_page(example / "v1.html").page)
    groups = page.locator("ul.scenarios li.group").all_text_contents()
    assert groups == ["Violations", "Errors", "Missing behaviors", "Wrong answers"]


def test_all_scenarios_are_listed_page_by_page(tmp_path: Path, open_page: Open) -> None:
    rows = [{"id": f"S{number:03}", "category": "happy_path", "passed": number % 4 > 0} for number in range(120)]
    assert check(tmp_path, rows, HALF, "--output", "report.html").exit == 0
    visit = open_page(tmp_path / "report.html")
    page = visit.page
    listed, place = page.locator("table.all tbody tr"), page.locator("#all-place")
    expect(listed.first).to_be_hidden()
    page.get_by_text("All scenarios (120)").click()
    expect(place).to_have_text("1 to 50 of 120")
    seen = listed.locator("th").all_text_contents()
    for text in ("51 to 100 of 120", "101 to 120 of 120"):
        page.locator("#all-next").click()
        expect(place).to_have_text(text)
        seen += listed.locator("th").all_text_contents()
    assert sorted(seen) == [row["id"] for row in rows]
    expect(page.locator("#all-next")).to_be_disabled()
    expect(listed.last.locator("td").nth(1)).to_have_text("passed")
    page.locator("#all-previous").click()
    expect(place).to_have_text("51 to 100 of 120")
    assert visit.misdeeds == []


def test_the_page_of_the_example_stays_short(example: Path, open_page: Open) -> None:
    for width, most in ((1280, 4520), (390, 6655)):
        page = ready(open_page(example / "v1.html", viewport={"width": width, "height": 900}).page)
        assert page.evaluate("document.documentElement.scrollHeight") < most


@pytest.mark.hazard("H110")
def test_hostile_texts_are_shown_and_nothing_more(tmp_path: Path, open_page: Open) -> None:
    rows = [
        {
            "id": f"{HOSTILE} {number}",
            "category": HOSTILE,
            "output": HOSTILE,
            "passed": False,
            "error": HOSTILE if number else "",
        }
        for number in range(3)
    ]
    policy = {**HALF, "required_scenarios": [f"{HOSTILE} 1"], "slices": ["category"]}
    said = [f"commit={HOSTILE}", "link=javascript:alert(1)", "page=https://ci.example/run/7?a=1&b=2"]
    arguments = [part for text in said for part in ("--meta", text)]
    assert check(tmp_path, rows, policy, "--output", "report.html", *arguments).exit == 1
    visit = open_page(tmp_path / "report.html")
    page = ready(visit.page)
    expect(page.locator("p.lead")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("p.about").first).to_contain_text("javascript:alert(1)")
    assert page.locator("p.about a").evaluate_all("links => links.map(link => link.href)") == [
        "https://ci.example/run/7?a=1&b=2"
    ]
    page.locator("tr.rule[data-rules*='required'] a.broken").first.click()
    expect(page.locator("#status")).to_have_text("1 of 3 scenarios")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.locator("img").count() == 0
    assert [deed for deed in visit.misdeeds if not deed.endswith("report.html#failed")] == []
