"""L2: two statements about one thing must agree, or nothing is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar
from highbar.engine import duckdb as engine
from tests.laws import twice
from tests.laws.twice import FORMS, POLICY, attempt, distinct, objects, replay, row, written

LARGE = [form for form in FORMS if "large" in form]


@pytest.mark.slow
@pytest.mark.parametrize("form", [form for form in FORMS if form not in LARGE])
def test_what_is_stated_twice_is_refused_in_every_form(form: str) -> None:
    for seed in distinct(form, 25):
        replay(form, seed)


@pytest.mark.slow
@pytest.mark.parametrize("form", LARGE)
def test_what_is_stated_twice_in_a_large_file_is_refused(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        replay(form, seed)
    # What is done with a file depends on these sizes and on nothing else.
    for module, name, size in ((engine, "SMALL_BYTES", 50_000), (engine, "LARGE_BYTES", 400_000)):
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(twice, "LARGE_BYTES", 400_000)
    for seed in range(2, 6):
        replay(form, seed)


def test_the_same_rows_are_judged_if_nothing_is_stated_twice(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(written(row(number)) + "\n" for number in range(3)), "utf-8")
    assert highbar.check(path, POLICY).verdict == "pass"
    assert len(list(objects(row(0)))) == 8


def test_one_attempt_of_a_search_says_which_form_it_tried(tmp_path: Path) -> None:
    assert attempt(1, tmp_path) in FORMS
