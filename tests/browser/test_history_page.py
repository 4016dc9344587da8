"""The page of `highbar history page`, used as a person does: by keys, filters and search, with hostile texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from highbar.history import History
from highbar.history.overview import overview
from highbar.model.history import NewRun
from highbar.report.html.history import render
from tests.browser.test_quality import AXE, LOOKS
from tests.chromium import PHONE, Open, Visit
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


def ready(visit: Visit) -> Page:
    expect(visit.page.locator("#strip[data-ready]")).to_be_attached()
    return visit.page


def violations(page: Page) -> list[str]:
    found = page.evaluate(f"async () => {{ {AXE}; return (await axe.run()).violations }}")
    return [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found]


def test_a_person_moves_from_run_to_run_by_keys(tmp_path: Path, open_page: Open) -> None:
    runs = history()
    visit = open_page(written(tmp_path, *runs))
    page = ready(visit)
    page.locator("#strip button").last.focus()
    details = page.locator("#run")
    expect(details).to_contain_text(runs[11].run.record)
    page.keyboard.press("ArrowLeft")
    expect(details).to_contain_text(runs[10].run.record)
    expect(details).to_contain_text("2026-01-01 10:00 UTC")
    expect(page.locator("#strip button:focus")).to_have_attribute(
        "aria-label", "fail, 2026-01-01 10:00, main, 000000000000"
    )
    page.keyboard.press("Home")
    expect(details).to_contain_text(runs[0].run.record)
    expect(page.locator("#strip button[tabindex='0']")).to_have_count(1)
    page.locator("svg.trend").first.click(position={"x": 900, "y": 60})
    expect(details).not_to_contain_text(runs[0].run.record)
    assert visit.misdeeds == []


def test_scenarios_are_searched_and_read_cell_by_cell(tmp_path: Path, open_page: Open) -> None:
    page = ready(open_page(written(tmp_path, *history())))
    rows = page.locator("#rows tr")
    expect(rows.locator("th code")).to_have_text(["flaky", "mixed", "broke", "steady"])
    page.keyboard.press("/")
    page.keyboard.type("mix")
    expect(page.locator("#status")).to_have_text("1 of 4 scenarios")
    rows.locator("svg").focus()
    expect(page.locator("#cell")).to_contain_text("mixed: 1 of 2 trials passed. Run: ")
    expect(page.locator("#cell")).to_contain_text("11:00")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#cell")).to_contain_text("10:00")
    page.locator("#search").fill("")
    expect(rows).to_have_count(4)
    rows.locator("svg").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#cell")).to_contain_text("mixed: ")


def test_filters_leave_the_runs_that_match_everywhere(tmp_path: Path, open_page: Open) -> None:
    page = ready(open_page(written(tmp_path, *history())))
    cells = page.locator("#strip li:visible")
    page.get_by_label("Branch").select_option("topic")
    expect(page.locator("#shown")).to_have_text("3 of 12 runs")
    expect(cells).to_have_count(3)
    expect(page.locator("svg.trend").first.locator("g.track:not([hidden])")).to_have_count(1)
    expect(page.locator("#run")).to_contain_text("topic")
    page.get_by_label("Agent version").select_option("1.0")
    expect(cells).to_have_count(1)
    expect(page.locator("g.track[clip-path]").first).to_be_attached()
    expect(page.locator("#shown-columns rect")).to_have_count(1)
    page.get_by_label("From").fill("2027-01-01")
    expect(page.locator("#shown")).to_have_text("0 of 12 runs")
    expect(page.locator("#run")).to_have_text("No run is left.")
    page.get_by_role("button", name="Reset").click()
    expect(cells).to_have_count(12)
    expect(page.locator("#run dl")).to_be_visible()
    page.locator("#verdict").select_option("fail")
    expect(page.locator("#strip li:visible button.pass")).to_have_count(0)


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
    page = ready(visit)
    expect(page.locator("#run")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#run")).to_contain_text(r"\u202e\x1b")
    page.locator("#strip button").last.focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_label("Search").fill("<img")
    expect(page.locator("#rows th").last).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_label("Branch").select_option(index=1)
    expect(page.locator("#shown")).to_have_text("10 runs")
    assert page.locator("img").count() == 0
    assert visit.misdeeds == []


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_wrong(look: str, tmp_path: Path, open_page: Open) -> None:
    page = ready(open_page(written(tmp_path, *history(30)), **LOOKS[look]))
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.locator("#rows svg").first.focus()
    assert violations(page) == []
    if look == "phone":
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("count", [1, 2])
def test_very_few_runs_are_a_page_too(count: int, tmp_path: Path, open_page: Open) -> None:
    visit = open_page(written(tmp_path, *history(count)))
    page = ready(visit)
    page.locator("#strip button").last.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#strip button[aria-current]")).to_have_count(1)
    expect(page.locator("#shown")).to_have_text("1 run" if count == 1 else "2 runs")
    assert violations(page) == []
    assert visit.misdeeds == []


@pytest.mark.slow
def test_two_thousand_runs_open_and_can_be_filtered(tmp_path: Path, open_page: Open) -> None:
    runs = [new_run(number, listed=None, branch="main" if number % 3 else f"b{number}").run for number in range(2000)]
    (tmp_path / "page.html").write_text(render(overview(History(str(tmp_path), ()), runs)), "utf-8")
    page = ready(open_page(tmp_path / "page.html"))
    expect(page.locator("#strip button")).to_have_count(2000)
    page.get_by_label("Branch").select_option("b0")
    expect(page.locator("#shown")).to_have_text("1 of 2000 runs")
    expect(page.locator("g.others[clip-path]").first).to_be_attached()


def test_without_scripts_the_page_can_be_read(tmp_path: Path, open_page: Open) -> None:
    page = open_page(written(tmp_path, *history()), java_script_enabled=False).page
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator("svg.trend").first).to_be_visible()
    expect(page.locator("#rows tr")).to_have_count(4)
    expect(page.locator("#run dl")).to_be_visible()
