"""The page of `highbar judge label`, used as a person does: by keys, by touch, in two sittings, with hostile texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from highbar.store.labels import Labels, read_labels
from tests.browser.test_quality import AXE, LOOKS
from tests.chromium import PHONE, Open, Visit
from tests.commandline import run
from tests.trials_to_label import answer_page, judged_row, judged_rows, write

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>\u202e\x1b"


def _page(folder: Path, rows: Sequence[dict[str, Any]], *arguments: str) -> Path:
    write(folder / "results.jsonl", rows)
    done = run(folder, "judge", "label", "results.jsonl", *arguments)
    assert done.exit == 0, done.err
    return folder / "labels.html"


def _begin(page: Page, name: str = "ada") -> None:
    page.get_by_label("Name").fill(name)
    page.keyboard.press("Enter")
    expect(page.locator("#tools")).to_be_visible()


def _press(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def _saved(page: Page, folder: Path) -> Labels:
    expect(page.locator("#tools")).to_be_visible()  # the page begins after it is loaded, and takes no key before
    with page.expect_download() as download:
        page.keyboard.press("s")
    assert download.value.suggested_filename == "labels.jsonl"
    download.value.save_as(folder / "labels.jsonl")
    return read_labels(folder / "labels.jsonl")


def _misdeeds(visit: Visit) -> list[str]:
    """What the page did, but for the file that it saved."""
    return [deed for deed in visit.misdeeds if not deed.startswith("blob:")]


def test_a_person_labels_by_keys_from_start_to_saved_file(tmp_path: Path, open_page: Open) -> None:
    before = datetime.now(UTC).date()
    visit = open_page(_page(tmp_path, judged_rows(2, 2)))
    page = visit.page
    _begin(page)
    place = page.locator("#place")
    expect(place).to_have_text("Trial 1 of 4, 0 of 8 answered")
    expect(page.locator("#conversation")).to_contain_text("Answer to ")
    _press(page, "yn")
    expect(place).to_have_text("Trial 2 of 4, 2 of 8 answered")
    _press(page, "?u")
    expect(place).to_have_text("Trial 2 of 4, 2 of 8 answered")
    _press(page, "yyk")
    expect(page.locator("#statements li[aria-current=true] button[aria-pressed=true]")).to_have_text("Yes")
    _press(page, "n")  # another answer, and on to the next open statement
    expect(place).to_have_text("Trial 3 of 4, 4 of 8 answered")
    expect(page.locator("#saved")).to_have_text("7 not saved yet")
    _press(page, "?yny")
    expect(page.locator("#done")).to_be_visible()
    labels = _saved(page, tmp_path)
    assert [label.observed for label in labels.lines] == [True, False, True, False, None, True, False, True]
    assert (labels.people, len(labels.trials), labels.incomplete) == (("ada",), 4, 0)
    assert {label.on for label in labels.lines} <= {datetime.now(UTC).date(), before}
    assert {trial.sample.stratum for trial in labels.trials} == {"passed", "failed"}
    expect(page.locator("#saved")).to_have_text("all saved")
    assert _misdeeds(visit) == []
    assert len(visit.requests) == 2  # the page, and the file that it saved


def test_answers_survive_a_closed_page(tmp_path: Path, open_page: Open) -> None:
    page = open_page(_page(tmp_path, judged_rows(2, 2))).page
    _begin(page)
    _press(page, "yny")
    page.reload()
    expect(page.locator("#place")).to_have_text("Trial 2 of 4, 3 of 8 answered")
    assert [label.observed for label in _saved(page, tmp_path).lines] == [True, False, True]


def test_a_file_that_is_newer_than_the_answers_of_the_browser_is_kept(tmp_path: Path, open_page: Open) -> None:
    rows, other = judged_rows(2, 2), {"id": "X", "trial": 1, "behavior": "b", "observed": None, "by": "zoe"}
    page = open_page(_page(tmp_path, rows)).page
    _begin(page)
    _press(page, "yny")
    _saved(page, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    for changed in (False, True):  # elsewhere, after the browser
        lines[0]["observed"] = other["observed"] = changed
        lines[0]["on"] = "2026-01-02"
        write(tmp_path / "labels.jsonl", [other, *lines[:2]])
        _page(tmp_path, rows, "--labels", "labels.jsonl")
        page.reload()
        expect(page.locator("#note")).to_have_text("Newer answers of the file replaced answers of this browser: 1.")
        labels = _saved(page, tmp_path).lines
        assert [(label.id == "X", label.observed) for label in labels] == [
            (True, changed), (False, changed), (False, False), (False, True),
        ]  # fmt: skip
        assert labels[1].on == date(2026, 1, 2), "the day of the newer answer"
    _press(page, "kkkn")  # newer than the file
    page.reload()
    assert [label.observed for label in _saved(page, tmp_path).lines] == [True, False, False, True]


def test_a_file_of_labels_is_loaded_and_goes_on(tmp_path: Path, open_page: Open) -> None:
    html = _page(tmp_path, judged_rows(2, 2))
    first = open_page(html).page
    _begin(first)
    _press(first, "yny")
    _saved(first, tmp_path)
    other = {"id": "X", "trial": 1, "behavior": "b", "observed": None, "by": "zoe"}
    with (tmp_path / "labels.jsonl").open("a") as file:
        file.write(json.dumps(other) + "\n")
    page = open_page(html).page  # another browser: nothing is stored
    _begin(page)
    expect(page.locator("#place")).to_have_text("Trial 1 of 4, 0 of 8 answered")
    page.locator("#file").set_input_files(tmp_path / "labels.jsonl")
    expect(page.locator("#place")).to_have_text("Trial 2 of 4, 3 of 8 answered")
    _press(page, "n")
    labels = _saved(page, tmp_path)
    assert sorted((label.by, label.observed) for label in labels.lines if label.by == "ada") == [
        ("ada", False), ("ada", False), ("ada", True), ("ada", True),
    ]  # fmt: skip
    assert [label.id for label in labels.unbound] == ["X"]


def test_a_file_that_has_no_labels_is_refused_with_the_line(tmp_path: Path, open_page: Open) -> None:
    page = open_page(_page(tmp_path, judged_rows(1, 1), "--by", "ada")).page
    expect(page.locator("#tools")).to_be_visible()
    (tmp_path / "other.jsonl").write_text('{"id": "a", "trial": 1, "behavior": "b", "observed": 1, "by": "c"}\n')
    page.locator("#file").set_input_files(tmp_path / "other.jsonl")
    expect(page.locator("#note")).to_have_text("Line 1 is not a label; nothing was loaded.")
    _press(page, "y")
    assert len(_saved(page, tmp_path).lines) == 1


def test_only_the_rest_is_asked_of_who_labeled_before(tmp_path: Path, open_page: Open) -> None:
    lines = answer_page(_page(tmp_path, judged_rows(2, 2)), "ada", [True] * 3)
    (tmp_path / "labels.jsonl").write_text("".join(f"{line}\n" for line in lines))
    html = _page(tmp_path, judged_rows(2, 2), "--labels", "labels.jsonl")
    page = open_page(html).page
    _begin(page, "ada")
    expect(page.locator("#place")).to_have_text("Trial 2 of 4, 3 of 8 answered")
    page = open_page(html).page
    _begin(page, "bob")
    expect(page.locator("#place")).to_have_text("Trial 1 of 4, 0 of 8 answered")
    _press(page, "n")
    assert [(label.by, label.observed) for label in _saved(page, tmp_path).lines] == [
        *[("ada", True)] * 3,
        ("bob", False),
    ]


def test_nothing_that_is_shown_says_what_the_judge_said(tmp_path: Path, open_page: Open) -> None:
    page = open_page(_page(tmp_path, judged_rows(3, 3), "--by", "ada")).page
    expect(page.locator("#tools")).to_be_visible()
    for _ in range(6):
        shown = page.locator("html").inner_html()
        for word in ("SECRET-EVIDENCE", "not_observed", "some-model", "passed", "failed"):
            assert word not in shown.split("<script")[0].split("</style>")[1]
        _press(page, "jj")


@pytest.mark.hazard("H110")
def test_hostile_texts_are_shown_and_nothing_more(tmp_path: Path, open_page: Open) -> None:
    call = {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}
    messages = [{"role": HOSTILE, "content": HOSTILE, "tool_calls": [call]}, {"role": "assistant", "content": HOSTILE}]
    row = judged_row(HOSTILE.replace("\x1b", ""), 2**62 + 1, messages=messages)
    names = (HOSTILE, "__proto__", "constructor")
    row["judged"]["statements"] = {name: {"statement": HOSTILE, "judgment": "observed"} for name in names}
    visit = open_page(_page(tmp_path, [row]))
    page = visit.page
    _begin(page, HOSTILE.split("\u202e", maxsplit=1)[0])
    expect(page.locator("#conversation")).to_contain_text(r"<img src=x onerror=alert(1)>")
    expect(page.locator("#statements li").first).to_contain_text(r"\u202e\x1b")
    _press(page, "yny")
    labels = _saved(page, tmp_path)
    assert page.locator("img").count() == 0
    assert [label.behavior for label in labels.lines] == list(names)
    assert {(label.id, label.trial) for label in labels.lines} == {(row["id"], 2**62 + 1)}
    assert _misdeeds(visit) == []


def test_a_long_conversation_is_cut_until_it_is_wanted(tmp_path: Path, open_page: Open) -> None:
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"message {n} " * 20} for n in range(1000)]
    messages[1]["content"] = "a" * 300_000 + "the end"
    page = open_page(
        _page(tmp_path, [judged_row("S1", messages=messages, output=messages[-1]["content"])], "--by", "ada")
    ).page
    expect(page.locator(".message")).to_have_count(1000)
    expect(page.locator(".message").nth(1)).not_to_contain_text("the end")
    page.get_by_role("button", name="Show the other 280007 characters").click()
    expect(page.locator(".message").nth(1)).to_contain_text("the end")


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_wrong(look: str, tmp_path: Path, open_page: Open) -> None:
    calls = [{"name": "look_up", "arguments": {"order": 7}}]
    page = open_page(_page(tmp_path, [judged_row("S1", tool_calls=calls)]), **LOOKS[look]).page
    expect(page.locator("#who")).to_be_visible()
    for keys in (None, "y", "n"):
        if keys is None:
            pass
        elif keys == "y":
            _begin(page)
            _press(page, keys)
        else:
            _press(page, keys)
            expect(page.locator("#done")).to_be_visible()
        found = page.evaluate(f"async () => {{ {AXE}; return (await axe.run()).violations }}")
        assert [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found] == []


def test_a_phone_shows_statement_and_answers_without_scrolling_sideways(tmp_path: Path, open_page: Open) -> None:
    rows = [judged_row("S" * 90, output="word " * 2000)]
    page = open_page(_page(tmp_path, rows), viewport=PHONE, has_touch=True, is_mobile=True).page
    _begin(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    yes = page.get_by_role("button", name="Yes").first
    expect(yes).to_be_in_viewport()
    box = yes.bounding_box()
    assert box is not None
    assert box["height"] >= 40  # a thumb's worth
    yes.tap()
    page.get_by_role("button", name="No").last.tap()
    expect(page.locator("#done")).to_be_visible()


def test_without_scripts_the_page_says_what_it_needs(tmp_path: Path, open_page: Open) -> None:
    page = open_page(_page(tmp_path, judged_rows(1, 1)), java_script_enabled=False).page
    expect(page.locator("#quiet")).to_be_visible()
