"""Laws of the history: to add again changes nothing, order changes nothing, and the whole is the sum of its parts."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from highbar import history
from highbar.history.order import by_ancestry
from highbar.history.series import series
from tests.history_runs import add, counts, new_run

IDS = ["A", "B", "C-1", "ü'\u202e"]


@st.composite
def runs(draw):
    """A run of some scenarios, of one of two suites, with texts that are known or not."""
    chosen = draw(st.lists(st.sampled_from(IDS), min_size=1, unique=True))
    trials = draw(st.integers(1, 3))
    passed = {id_: draw(st.integers(0, trials)) for id_ in chosen}
    known = draw(st.booleans())
    found = counts(passed, trials) if known else counts(passed, trials, digest=None)
    facts = {name: draw(st.sampled_from(["a", "b", None])) for name in ("suite", "scoring", "judge")}
    return new_run(draw(st.integers(0, 6)), found, **facts)


def pooled(history_):
    """All counts of a history by scenario text."""
    return {
        (one.id, one.digest, one.suite): Counter(
            {name: getattr(one, name) for name in ("runs", "trials", "passed", "failed", "undecided", "failed_runs")}
        )
        for one in history_.scenarios().scenarios
    }


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(runs(), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_to_add_again_in_any_order_gives_the_same_files(some, random):
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        # Of two runs with the same name the first stays, so each name is given once.
        some = list({run.run.record: run for run in some}.values())
        add(first, *some)
        before = {file.name: file.read_bytes() for file in first.iterdir()}
        add(first, *some)
        assert {file.name: file.read_bytes() for file in first.iterdir()} == before
        random.shuffle(some)
        add(second, *some)
        assert history.read_history(second).runs == history.read_history(first).runs
        assert pooled(history.read_history(second)) == pooled(history.read_history(first))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(runs(), min_size=2, max_size=5), st.data())
def test_a_history_is_the_sum_of_its_parts(some, data):
    # Results that are in two records count once, so each run has results of its own here.
    some = [replace(run, run=replace(run.run, results=(f"{place:064x}",))) for place, run in enumerate(some)]
    some = list({run.run.record: run for run in some}.values())
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = Path(folder, "whole"), [Path(folder, "left"), Path(folder, "right")]
        for part in parts:
            part.mkdir()
        for file in add(whole, *some):
            shutil.copy(file, data.draw(st.sampled_from(parts)))
        read = [history.read_history(part) for part in parts]
        assert {run.record for one in read for run in one.runs} == {
            run.record for run in history.read_history(whole).runs
        }
        total: dict[object, Counter[str]] = {}
        for one in read:
            for key, found in pooled(one).items():
                total[key] = total.get(key, Counter()) + found
        assert total == {key: +found for key, found in pooled(history.read_history(whole)).items()}


@given(st.lists(runs(), max_size=12))
def test_a_series_has_every_run_once_and_never_joins_what_differs(some):
    found = [run.run for run in some]
    whole = series(found, "pass_rate")
    assert [point.run for point in whole.points] == found
    for segment in whole.segments:
        measured = {point.run.measured_with for point in segment.points}
        assert len(measured) == 1
        assert len(segment.points) == 1 or None not in measured.pop()
    for before, after in zip(whole.segments, whole.segments[1:], strict=False):
        assert after.because is not None
        last, first = before.points[-1].run, after.points[0].run
        assert last.measured_with != first.measured_with or None in last.measured_with


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=2)), max_size=10))
def test_by_ancestry_no_run_is_lost_and_none_without_a_circle_comes_before_a_parent(graph):
    found = [
        replace(
            new_run(place).run,
            commit=str(commit),
            parents=tuple(str(parent) for parent in parents if parent < commit),
        )
        for place, (commit, parents) in enumerate(graph)
    ]
    ordered = by_ancestry(found)
    assert sorted(run.record for run in ordered) == sorted(run.record for run in found)
    for place, run in enumerate(ordered):
        assert not {later.commit for later in ordered[place + 1 :]} & set(run.parents or ())
