"""L2: two statements about one thing must agree, or nothing is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar
from tests.laws.twice import FORMS, POLICY, attempt, objects, replay, row, written


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_what_is_stated_twice_is_refused_in_every_form(form: str) -> None:
    for seed in range(6 if "large" in form else 25):
        replay(form, seed)


def test_the_same_rows_are_judged_if_nothing_is_stated_twice(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(written(row(number)) + "\n" for number in range(3)), "utf-8")
    assert highbar.check(path, POLICY).verdict == "pass"
    assert len(list(objects(row(0)))) == 8


def test_one_attempt_of_a_search_says_which_form_it_tried(tmp_path: Path) -> None:
    assert attempt(1, tmp_path) in FORMS
