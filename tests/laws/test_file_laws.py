"""L1 and L4 over a few fixed seeds; `scripts/fuzz files forms` tries as many as there is time for."""

from __future__ import annotations

import pytest

from highbar.engine import duckdb as engine
from tests import fuzzing
from tests.laws import files, forms


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_l1_what_is_judged_is_what_the_files_hold(tmp_path, first):
    outcomes = set()
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcomes.add(files.attempt(seed, folder).rpartition(": ")[2])
    assert outcomes == {"judged", "refused"}


@pytest.mark.parametrize("seed", [3178832215])
def test_l1_what_the_search_has_found_stays_found(tmp_path, seed):
    assert files.attempt(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_l4_rows_give_the_same_in_every_form(tmp_path, seed):
    assert forms.attempt(seed, tmp_path)


@pytest.fixture
def small_files_are_large(monkeypatch):
    """What is done with a file depends on these sizes and on nothing else, and this is faster."""
    for name, size in (("SMALL_BYTES", 10), ("LARGE_BYTES", 50)):
        monkeypatch.setattr(engine, name, size * 1000)
    for name, size in (("MEDIUM", 20), ("LARGE", 60)):
        monkeypatch.setattr(forms, name, size * 1000)


HALVES = [dict(list(forms.FORMS.items())[start::2]) for start in (0, 1)]
"""Each has JSON, text and typed forms, with and without compression."""


@pytest.mark.slow
@pytest.mark.usefixtures("small_files_are_large")
@pytest.mark.parametrize(("seed", "chosen"), [(1, forms.FORMS), (3, forms.FORMS), (4, HALVES[0]), (5, HALVES[1])])
def test_l4_more_rows_give_the_same_in_more_forms(tmp_path, seed, chosen):
    """Seeds 4 and 5 are sound rows with many columns, which one form after another reads in the same way."""
    assert forms.attempt(seed, tmp_path, chosen)


@pytest.mark.usefixtures("small_files_are_large")
@pytest.mark.parametrize("fault", forms.FAULTS, ids=lambda fault: fault.name)
def test_l4_a_fault_is_refused_in_every_form(tmp_path, fault):
    rows = [{"id": f"s{n}", "passed": True, "category": "edge_case", "agent_version": "1"} for n in range(2)]
    chosen = {name: forms.FORMS[name] for name in ("jsonl large", "json", "csv", "parquet")}
    forms.compare([rows[0], fault.put(rows[1])], fault, tmp_path, chosen)


def test_what_breaks_a_law_is_shown_with_the_seed_that_shows_it_again(monkeypatch, capsys):
    def attempt(seed, _):
        assert seed % 3, "a fault"
        return "fine"

    monkeypatch.setitem(fuzzing.LAWS, "thirds", lambda _: attempt)
    assert fuzzing.main(["5", "thirds"]) == 1
    again = capsys.readouterr().out.split("scripts/fuzz ")[1].split()[0]
    assert fuzzing.main([again]) == 1
    assert fuzzing.main(["thirds@1"]) == 0
    assert fuzzing.main(["halves"]) == 2
