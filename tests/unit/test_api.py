from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pytest
from msgspec.structs import replace

import highbar
from highbar.model.number import Number

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
TEXT = "thresholds:\n  blocking:\n    pass_rate: ≥ 90%\n"


def rows(count: int = 40, failed: int = 1) -> list[dict[str, object]]:
    return [{"id": f"S-{i}", "passed": i >= failed, "latency_ms": 100.0 + i, "output": "a word"} for i in range(count)]


def verdict(**options) -> highbar.Verdict:
    return highbar.check(rows(), POLICY, **options)


def test_dir_shows_the_api():
    assert set(dir(highbar)) == {*highbar.__all__, "__version__"}
    for name in highbar.__all__:
        assert getattr(highbar, name) is not None


def test_every_iterable_of_rows_is_read_alike():
    expected = verdict()
    forms = (
        tuple(rows()),
        iter(rows()),
        (row for row in rows()),
        map(dict, rows()),
        [MappingProxyType(r) for r in rows()],
    )
    for form in forms:
        assert highbar.check(form, POLICY) == expected


def test_several_paths_may_come_from_a_generator(tmp_path: Path):
    for part in range(2):
        lines = (json.dumps(row) + "\n" for row in rows()[part::2])
        (tmp_path / f"part{part}.jsonl").write_text("".join(lines))
    assert highbar.check(tmp_path.glob("*.jsonl"), POLICY).counts.scenarios == 40


REFUSED = {
    "a dict": {"id": "A"},
    "bytes": b"bytes",
    "nothing": None,
    "a number": 7,
    "a pandas column": pd.Series([1]),
    "a polars column": pl.Series([1]),
    "an array": np.array([1, 2]),
    "numbers": [1, 2],
    "lists": [["A"]],
    "an empty path": "",
    "no rows": [],
    "an empty iterator": iter(()),
}


@pytest.mark.parametrize("results", REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_in_our_words(results):
    with pytest.raises(highbar.InputError) as error:
        highbar.check(results, POLICY)
    assert "duckdb" not in str(error.value).lower()


def test_scalars_of_numpy_are_values():
    made = [
        {"id": f"S-{i}", "passed": np.bool_(i > 0), "latency_ms": np.float32(100 + i), "tokens_used": np.int64(i)}
        for i in range(40)
    ]
    found = highbar.check(made, POLICY)
    assert found.verdict == "pass"
    assert found.metrics["latency_p50"].value == 119


@pytest.mark.parametrize(
    "row", [{"id": "A", "passed": True, 1: "x"}, {"id": "A", "passed": {1, 2}}, {"id": float("nan")}]
)
def test_a_row_that_json_cannot_say_is_refused_with_its_number(row):
    with pytest.raises(highbar.InputError, match="<rows>: row 2: "):
        highbar.check([{"id": "B", "passed": True}, row], POLICY)


def test_polars_needs_no_pyarrow(monkeypatch):
    expected = highbar.check(pl.DataFrame(rows()), POLICY)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for frame in (pl.DataFrame(rows()), pl.DataFrame(rows()).lazy()):
        assert highbar.check(frame, POLICY) == expected
        assert highbar.check(frame, POLICY).metrics == verdict().metrics


@pytest.mark.parametrize("policy", [TEXT, "thresholds: { blocking: { pass_rate: 90% } }", POLICY])
def test_a_policy_is_yaml_text_or_a_mapping(policy):
    assert highbar.check(rows(), policy).verdict == "pass"
    assert highbar.check(rows(failed=9), policy).verdict == "fail"


def test_a_problem_in_yaml_text_has_its_line():
    with pytest.raises(highbar.InputError, match=r"<policy>:3:"):
        highbar.check(rows(), "thresholds:\n  blocking:\n    pass_rat: 90%\n")


MAP = {"columns": {"id": "case", "passed": "ok"}}


@pytest.mark.parametrize("given", [MAP, "columns: { id: case, passed: ok }", "columns:\n  id: case\n  passed: ok\n"])
def test_a_map_applies_to_rows_frames_and_files(given, tmp_path: Path):
    foreign = [{"case": f"S-{i}", "ok": i > 0, "note": None if i else "x"} for i in range(40)]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in foreign))
    for results in (foreign, pd.DataFrame(foreign), pl.DataFrame(foreign), pl.DataFrame(foreign).to_arrow(), file):
        found = highbar.check(results, POLICY, map=given)
        assert (found.verdict, found.counts.scenarios, found.counts.failed) == ("pass", 40, 1)
    with pytest.raises(highbar.InputError, match="colums"):
        highbar.check(foreign, POLICY, map={"colums": {}})


def test_both_sides_of_a_comparison_are_chosen_by_where():
    base = [{**row, "tags": {"model": model}} for model in "ab" for row in rows(20, failed=2 * (model == "b"))]
    found = highbar.compare(base, base, where={"tags.model": "b"})
    assert found.pairs == 20


def test_values_format_as_numbers():
    found = verdict().metrics["pass_rate"]
    assert f"{found.value:.1%} {found:.1%} {found.value:.3f} {float(found):.3f}" == "97.5% 97.5% 0.975 0.975"
    undefined = verdict().metrics["safety_rate"]
    assert f"{undefined:.1%}" == "undefined"
    with pytest.raises(ValueError, match="undefined"):
        float(undefined)
    assert Number(1, 3) == Fraction(1, 3)
    assert (
        f"{Number(1, 8):.2f} {Number(3, 8):.2f} {Number(10**30)} {Number(2, 3):>8.1%}" == f"0.12 0.38 {10**30}    66.7%"
    )
    change = highbar.compare(rows(), rows(failed=5)).metrics["pass_rate"].difference
    assert f"{change.value:+.1%}" == "-10.0%"


def test_repr_is_one_line_and_str_the_report(tmp_path: Path):
    found = verdict()
    several = (found, *found.metrics.values(), *found.rules, *found.slices, highbar.compare(rows(), rows()))
    for each in several:
        assert "\n" not in repr(each)
        assert len(repr(each)) < 300
    assert str(found) == highbar.render(found).rstrip("\n")
    assert str(several[-1]) == highbar.render(several[-1]).rstrip("\n")
    found.save(tmp_path / "verdict.json")
    assert "pass" in repr(highbar.read_verdict(tmp_path / "verdict.json"))


def test_a_dict_is_the_json_document():
    found = verdict()
    assert found.to_dict() == json.loads(highbar.render(found, "json"))
    both = highbar.compare(rows(), rows(failed=4))
    assert both.to_dict() == json.loads(highbar.render(both, "json"))


@pytest.fixture(params=["pandas", "polars", "neither"])
def library(request, monkeypatch) -> Iterator[str]:
    hidden = {"pandas": (), "polars": ("pandas",), "neither": ("pandas", "polars")}[request.param]
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    return request.param


def test_frames_are_of_what_is_installed(library):
    found = verdict()
    sizes = {"metrics": len(found.metrics), "rules": 1, "scenarios": 40}
    for table, size in sizes.items():
        frame = found.to_frame(table)
        assert len(frame) == size
        assert type(frame).__module__.partition(".")[0] == {"neither": "builtins"}.get(library, library)
    listed = found.to_frame("scenarios")
    first = listed[0] if library == "neither" else {name: listed[name][0] for name in listed.columns}
    assert (first["id"], first["passed"], first["reason"]) == ("S-0", False, "marked as not passed")
    with pytest.raises(highbar.InputError, match="metrics, rules, scenarios"):
        found.to_frame("rows")


def test_a_frame_has_the_numbers_of_the_json_report():
    found = verdict()
    below = Fraction(9 * 10**39 - 1, 10**40)
    value = replace(found.rules[0].value, value=below)
    rule = replace(found.rules[0], metric="pass_rate", threshold=">= 0.9", value=value)
    metrics = {"pass_rate": value, "huge": replace(value, value=Fraction(10) ** 400)}
    changed = replace(found, rules=(rule,), metrics=metrics)
    document = changed.to_dict()
    assert changed.to_frame("rules")["value"][0] == document["rules"][0]["value"] < 0.9
    assert list(changed.to_frame("metrics")["value"]) == [one["value"] for one in document["metrics"].values()]


def test_a_frame_of_rules_names_the_values_of_a_slice():
    found = verdict()
    part = (("category", ("b", "a")), ("tags.locale", ("de",)))
    of_slice = replace(found, rules=(replace(found.rules[0], slice=part),))
    assert of_slice.to_frame("rules")["slice"][0] == "category=b or a, tags.locale=de"


@pytest.mark.parametrize("form", ["rows", "generator", "frame", "file"])
def test_reports_read_what_they_need(form, tmp_path: Path):
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    forms = {"rows": rows(), "generator": iter(rows()), "frame": pd.DataFrame(rows()), "file": file}
    found = highbar.check(forms[form], POLICY)
    assert not found.scenarios
    assert found.details is None
    found.save(saved := tmp_path / "verdict.json")
    assert highbar.render(found, "junit").count('classname="highbar.scenarios') == 40
    again = rows() if form == "generator" else forms[form]
    whole = highbar.check(again, POLICY, details=True, list_scenarios=True)
    assert found.complete(details=True, scenarios=True) == whole
    assert found.to_html() == highbar.render(whole, "html") != highbar.render(highbar.read_verdict(saved), "html")


def test_a_report_is_not_made_of_other_results(tmp_path: Path):
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    found = highbar.check(file, POLICY)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(failed=2)))
    with pytest.raises(highbar.ReportError, match="changed since"):
        found.to_html()
    file.unlink()
    with pytest.raises(highbar.InputError):
        found.to_html()


def test_a_verdict_is_not_taken_for_a_truth_value():
    with pytest.raises(TypeError, match=r"use verdict\.passed"):
        bool(verdict())


def test_polars_fields_without_any_value_are_absent():
    frame = pl.DataFrame(
        {"id": ["a", "b"], "passed": [True, True], "tags": [{"a": "x", "b": None}] * 2, "own": [None] * 2}
    )
    assert highbar.check(frame, POLICY).counts.scenarios == 2


def test_a_decimal_is_not_rounded_up_to_a_threshold():
    row = {"id": "a", "passed": True, "quality_score": Decimal("0.99999999999999999999")}
    with pytest.raises(highbar.InputError, match="more digits"):
        highbar.check([row], POLICY)
    with pytest.raises(highbar.InputError, match=r"row 1: quality_score: the decimal 0.9+ has more digits"):
        highbar.check(pd.DataFrame([row]), POLICY)
    assert highbar.check([{**row, "quality_score": Decimal("0.75")}], POLICY).metrics["pass_rate"].value == 1


def test_a_decimal_is_the_number_that_is_written():
    rows = [{"id": id_, "passed": True, "cost_usd": Decimal("0.1"), "own": Decimal("0.3")} for id_ in "ab"]
    policy = {**POLICY, "metrics": [{"name": "mine", "formula": "mean(own)"}]}
    for given in (rows, pd.DataFrame(rows)):
        found = highbar.check(given, policy).metrics
        assert (float(found["cost_per_pass"]), float(found["mine"])) == (0.1, 0.3)
