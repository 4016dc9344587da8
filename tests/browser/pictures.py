"""Saves the pictures of the HTML report that the documentation shows, as they are now: `scripts/pictures`.

`scripts/pictures FOLDER` saves one of every state there, to be looked at.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from highbar import api
from tests.chromium import DESKTOP, PHONE, launched
from tests.commandline import run
from tests.history_runs import add, counts, new_run
from tests.judged_results import judged_row, labels_of, write_lines

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
QUALITY = 72
BASELINE = "baseline: { file: baseline.json, margin: { accuracy: 1%, pass_rate: 2% } }\nslices: [category]\n"
Act = Callable[[Page], None]


def prepare(folder: Path) -> None:
    """The reports, and a notebook's cell, of the example."""
    shutil.copytree(ROOT / "examples" / "support-agent", folder, dirs_exist_ok=True)
    for version in ("v1", "v2"):
        run(folder, "check", f"{version}.jsonl", "--output", f"{version}.html")
    (folder / "compare.yaml").write_text(BASELINE, "utf-8")
    run(folder, "compare", "v2.jsonl", "v1.jsonl", "--policy", "compare.yaml", "--output", "compare.html")
    run(folder, "check", "absent.jsonl", "--output", "refusal.html")
    cell = api.check(folder / "v1.jsonl", folder / "highbar.yaml")._repr_html_()
    (folder / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title>{cell}", "utf-8")
    remember(folder)
    run(folder, "history", "page", "remembered", "--output", "site")
    judge(folder)


def judge(folder: Path) -> None:
    """A judged run that nobody ran, the page to label it, and what the labels say."""
    asked, kind, rude = "Can I return a lamp after 40 days?", "I am sorry, 30 days is the limit.", "No."
    said = [(True, kind)] * 90 + [(False, kind)] * 5 + [(True, rude)] * 10 + [(False, rude)] * 15
    rows = [
        judged_row(f"CORE-{n:03}", is_polite, input=asked, output=text) for n, (is_polite, text) in enumerate(said, 1)
    ]
    write_lines(folder / "judged.jsonl", rows)
    run(folder, "judge", "label", "judged.jsonl", "--output", "label.html")
    truth = {row["id"]: row["output"] == kind for row in rows}
    write_lines(folder / "labels.jsonl", labels_of(rows, truth))
    run(folder, "judge", "calibrate", "judged.jsonl", "--labels", "labels.jsonl", "--output", "calibration.html")


def remember(folder: Path) -> None:
    """Forty runs that nobody ran: the suite changes once, the agent becomes worse once, some scenarios are flaky."""
    chance = random.Random(4)
    rates = {f"CORE-{number:03}": chance.choice((1, 1, 1, 0.97, 0.8)) for number in range(1, 61)}
    for number in range(40):
        if number == 28:
            rates |= dict.fromkeys(chance.sample(sorted(rates), 9), 0.3)
        passed = {name: int(chance.random() < rate) for name, rate in rates.items()}
        share = sum(passed.values()) / len(passed)
        commit = hashlib.sha256(str(number).encode()).hexdigest()[:40]
        new = new_run(number, counts(passed), threshold=0.85, commit=commit, suite="old" if number < 9 else "new")
        metric = replace(new.run.metrics["pass_rate"], low=share - 0.07, high=min(1.0, share + 0.05))
        time = f"2026-{10 + number // 28}-{1 + number % 28:02}T09:00:00Z"
        add(
            folder / "remembered",
            replace(new, run=replace(new.run, metrics={"pass_rate": metric}, agent_version=f"1.{number}", time=time)),
        )


def opened(page: Page) -> None:
    """The first scenario that a filter leaves, opened."""
    page.get_by_label("Category").select_option("adversarial (2)")
    expect(page.locator("#status")).to_contain_text(" of ")
    page.locator("ul.scenarios summary").first.click()
    expect(page.locator(".trial")).to_be_visible()


def show(selector: str) -> Act:
    """Open a section, and bring it to the top."""
    act = "part => { part.closest('details')?.setAttribute('open', ''); part.closest('section').scrollIntoView(); }"
    return lambda page: page.locator(selector).evaluate(act)


def found(page: Page) -> None:
    """What a search finds."""
    page.get_by_label("Search").fill("voucher")
    expect(page.locator("#status")).to_contain_text(" of ")
    show("#failed")(page)


def fragile(page: Page) -> None:
    """The demands that are met, but narrowly."""
    page.locator(".group", has_text="narrowly").evaluate("part => part.scrollIntoView()")


def both(page: Page) -> None:
    """A scenario that broke, with the outputs of both runs."""
    page.locator("details.both", has_text="SEC-002").locator("summary").click()


def labeled(page: Page) -> None:
    """Some statements are answered."""
    if page.get_by_label("Name").is_visible():
        page.get_by_label("Name").fill("ann")
        page.keyboard.press("Enter")
    expect(page.locator("#tools")).to_be_visible()
    for key in "yyn":
        page.keyboard.press(key)


def nothing(page: Page) -> None:
    """As it opens."""


def then(*acts: Act) -> Act:
    """One after the other."""

    def act(page: Page) -> None:
        for each in acts:
            each(page)

    return act


STATES: dict[str, tuple[str, dict[str, Any], int, Act]] = {
    "fail": ("v1.html", {}, 760, nothing),
    "pass": ("v2.html", {}, 620, nothing),
    "fragile": ("v2.html", {}, 620, fragile),
    "scenario": ("v1.html", {}, 760, then(show("#failed"), opened)),
    "search": ("v1.html", {}, 420, found),
    "metrics": ("v1.html", {}, 700, show("#metrics")),
    "slices": ("v1.html", {}, 560, show("#slices")),
    "score": ("v1.html", {}, 440, show("#score")),
    "latency": ("v1.html", {}, 440, show("#latency")),
    "judged": ("v1.html", {}, 420, show("#judged")),
    "dark": ("v1.html", {"color_scheme": "dark"}, 620, then(show("#failed"), opened)),
    "phone": ("v1.html", {"viewport": PHONE}, 740, nothing),
    "no-script": ("v1.html", {"java_script_enabled": False}, 420, nothing),
    "comparison": ("compare.html", {}, 700, show("#changes")),
    "both": ("compare.html", {}, 760, then(show("#moved"), both)),
    "refusal": ("refusal.html", {}, 260, nothing),
    "notebook": ("notebook.html", {}, 560, nothing),
    "labeling": ("label.html", {}, 520, labeled),
    "calibration": ("calibration.html", {}, 640, nothing),
    "history": ("site/index.html", {}, 770, nothing),
}
"""For each picture: which page, what the browser says of itself, how high, and what is done before it is taken."""


def shown() -> set[str]:
    """The names of the pictures that pages of the documentation show."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    return {name for page in pages for name in re.findall(r"pictures/([\w-]+)\.webp", page.read_text("utf-8"))}


def take(browser: Browser, folder: Path, target: Path, names: Iterable[str]) -> None:
    """The named pictures, as WebP."""
    for name in names:
        file, options, height, act = STATES[name]
        size = {**(options.get("viewport") or DESKTOP), "height": height}
        context = browser.new_context(**{**options, "viewport": size, "reduced_motion": "reduce"})
        page = context.new_page()
        page.goto((folder / file).resolve().as_uri())
        page.wait_for_timeout(150)
        act(page)
        page.wait_for_timeout(50)
        shot = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        (target / f"{name}.webp").write_bytes(base64.b64decode(shot["data"]))
        context.close()


def main(target: Path) -> None:
    """Take the pictures into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary) / "support-agent"
        folder.mkdir()
        prepare(folder)
        take(launched(stack), folder, target, sorted(shown()) if target == PICTURES else STATES)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
