"""The longest field that `csv` reads is a setting of the caller's process: a check leaves it as it was."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import highbar
from highbar.documents.csv_fields import fields_up_to

CALLERS = 7_000
LONG = "x" * 200_000


@pytest.fixture(autouse=True)
def limit_of_caller() -> Iterator[None]:
    before = csv.field_size_limit(CALLERS)
    yield
    assert csv.field_size_limit(before) == CALLERS


def read_long_field(after: Callable[[], object]) -> None:
    with fields_up_to(len(LONG)):
        assert next(csv.reader([LONG])) == [LONG]
        after()


def test_a_long_field_is_read_inside_and_an_exception_restores_the_limit() -> None:
    with pytest.raises(ValueError, match="math domain"):
        read_long_field(lambda: math.sqrt(-1))


def test_readers_that_end_in_any_order_keep_the_largest_limit_until_the_last_has_ended() -> None:
    first, second = fields_up_to(8_000_000), fields_up_to(9_000)
    with first:
        second.__enter__()
        assert csv.field_size_limit() == 8_000_000
    assert csv.field_size_limit() == 9_000
    second.__exit__(None, None, None)


def test_a_reader_that_the_garbage_collector_ends_while_another_begins_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> Iterator[object]:
        with fields_up_to(9_000):
            yield

    reader = read()
    next(reader)
    set_limit = csv.field_size_limit

    def collect(*limit: int) -> int:
        monkeypatch.undo()
        reader.close()  # as the collector would, in this thread
        return set_limit(*limit)

    monkeypatch.setattr(csv, "field_size_limit", collect)
    with fields_up_to(8_000):
        assert csv.field_size_limit() >= 8_000


def check_csv(tmp_path: Path, rows: str) -> highbar.Verdict:
    path = tmp_path / "r.csv"
    path.write_text(f"id,passed,output\n{rows}", "utf-8")
    return highbar.check(path, {"thresholds": {"blocking": {"pass_rate": "100%"}}})


def test_a_check_of_sound_csv_with_long_fields_leaves_the_limit(tmp_path: Path) -> None:
    assert check_csv(tmp_path, f"a,true,{LONG}\n").passed


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (f"a,true,{LONG}\n" * 2, "lines 2 and 3"),
        (f"a,perhaps,{LONG}\n", "perhaps"),
        (f'a,true,{LONG}\na,true,"5" {LONG}\n', "r.csv:3"),
    ],
    ids=["a result twice", "a bad value", "a stray quote"],
)
def test_a_refusal_of_csv_with_long_fields_leaves_the_limit(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(highbar.InputError) as caught:
        check_csv(tmp_path, rows)
    assert message in str(caught.value)
