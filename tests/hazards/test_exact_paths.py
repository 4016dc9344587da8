"""A path names one file: a pattern or a column of a folder, which DuckDB may see in it, changes nothing."""

from __future__ import annotations

import re

import duckdb
import pytest

from highbar import history
from highbar.load import files, sample
from highbar.load.explain import first_problems
from highbar.model import ResultsFile
from tests.architecture.repository import SOURCE
from tests.commandline import run
from tests.history_runs import add, counts, new_run

MAP = 'columns:\n  id: name\n  passed: {path: ok, values: {"1": true, "0": false}}\n'
POLICY = "thresholds:\n  blocking:\n    pass_rate: 100%\n"
NAMES = ["run[1].parquet", "run?.parquet", "run*.parquet", r"ru\[n]*.parquet", "ok=1/r.parquet"]


def two_files(folder, name):
    """The file of this name, in which a scenario failed, and one in which it passed that a pattern may find."""
    for path, ok in ((folder / "run1.parquet", 1), (folder / name, 0)):
        path.parent.mkdir(exist_ok=True)
        duckdb.sql(f"COPY (SELECT 'a' AS name, '{ok}' AS ok) TO '{folder}/new' (FORMAT parquet)")
        (folder / "new").rename(path)
    return folder / name


@pytest.mark.parametrize("name", NAMES)
def test_a_mapping_reads_the_parquet_file_that_was_named(tmp_path, name):
    two_files(tmp_path, name)
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    done = run(tmp_path, "check", name, "--map", "map.yaml", "--policy", "policy.yaml")
    assert done.exit == 1, done.err + done.out


def test_a_folder_that_is_called_as_the_home_folder_is_not_it(tmp_path, monkeypatch):
    two_files(tmp_path, "~/r.parquet")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "run1.parquet").rename(tmp_path / "home" / "r.parquet")
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    done = run(tmp_path, "check", "~/r.parquet", "--map", "map.yaml", "--policy", "policy.yaml")
    assert done.exit == 1, done.err + done.out


@pytest.mark.parametrize("name", NAMES)
def test_a_guess_is_made_from_the_parquet_file_that_was_named(tmp_path, name):
    found = sample.read_sample(files.file_named(str(two_files(tmp_path, name))))
    assert found is not None
    assert list(found.rows) == [{"name": "a", "ok": "0"}]


def test_a_refusal_is_about_the_values_in_the_file(tmp_path):
    path = tmp_path / "id=fine" / "r.parquet"
    path.parent.mkdir()
    duckdb.sql(f"COPY (SELECT '' AS id, true AS passed) TO '{path}'")
    (problem,) = first_problems([ResultsFile(str(path), "r.parquet", "parquet")])
    assert problem.code == "row.wrong-value"
    assert problem.message.startswith("row 1: id: found ''")


@pytest.mark.parametrize("folder", ["passed=1", "category=x", "id=A", "h[1]"])
def test_a_history_has_the_numbers_of_its_records(tmp_path, folder):
    add(tmp_path / folder, new_run(1, counts({"A": 2, "B": 3}, trials=4)))
    (tmp_path / "h1").mkdir()
    found = history.read_history(str(tmp_path / folder))
    for scenarios in (found.scenarios().scenarios, [one for _, one in found.counts()]):
        assert [(one.id, one.category, one.passed, one.failed) for one in scenarios] == [
            ("A", "happy_path", 2, 2),
            ("B", "happy_path", 3, 1),
        ]


def test_every_reader_ignores_the_names_of_folders():
    for module in SOURCE.rglob("*.py"):
        text = module.read_text("utf-8")
        reads = len(re.findall(r"(?:FROM |\")read_(?:parquet|csv|json)\w*\(", text))
        assert not reads or text.count("hive_partitioning") >= 1, module
