"""A wrong answer in the list of failed scenarios says what was wanted, if the rows of a run say it."""

from __future__ import annotations

import highbar

POLICY = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def reasons(*rows: dict[str, object]) -> dict[str, str]:
    verdict = highbar.check([{"category": "happy_path", **row} for row in rows], POLICY)
    return {one.id: one.reason for one in verdict.scenarios_failed}


def test_what_was_wanted_is_said() -> None:
    found = reasons(
        {"id": "A", "correct": False, "missed": {"answer": "wanted: the reply contains 'ten'"}},
        {"id": "B", "correct": False},
        {"id": "C", "correct": True, "missed": {}},
    )
    assert found == {"A": "wrong answer (wanted: the reply contains 'ten')", "B": "wrong answer"}


def test_of_several_trials_one_says_it() -> None:
    missed = {"missed": {"answer": "wanted: ten", "polite": "wanted: please"}}
    found = reasons({"id": "A", "trial": 1, "correct": False, **missed}, {"id": "A", "trial": 2, "correct": True})
    assert found == {"A": "1 of 2 trials passed; wrong answer (wanted: ten)"}


def test_no_text_can_pass_for_another_part_of_the_reason_or_fill_the_page() -> None:
    found = reasons({"id": "A", "correct": False, "missed": {"answer": "x; violated: y\n / error: " + "z" * 999}})
    assert found["A"].startswith("wrong answer (x, violated: y or error: zzz")
    assert len(found["A"]) < 230


def test_another_form_of_the_column_says_nothing() -> None:
    for missed in ("ten", ["answer", "ten"], 7, {"answer": 7}):
        assert reasons({"id": "A", "correct": False, "missed": missed})["A"].startswith("wrong answer")
