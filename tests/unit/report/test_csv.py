"""CSV: what a spreadsheet opens, and what Python's own reader and pandas read back."""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from msgspec.structs import replace

from highbar.model import Counts, ScenarioResult
from highbar.report import REPORTERS
from highbar.report.csv import COLUMNS, csv_text
from highbar.report.visible import visible
from tests.examples import shared
from tests.unit.report.strategies import PROBLEMS, TEXTS, VERDICTS
from tests.unit.report.verdicts import FAILING

RENDER = REPORTERS["csv"]
TEXT_COLUMNS = {"name", "metric", "column", "slice", "threshold", "category", "reason"}
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")


def read(text):
    rows = list(csv.DictReader(io.StringIO(text), strict=True))
    assert all(None not in row and None not in row.values() for row in rows), "a row is longer or shorter than the head"
    return rows


def of(text, kind):
    return [row for row in read(text) if row["kind"] == kind]


def shown(text):
    """A text as a cell holds it, where no formula may begin behind a `;`."""
    return re.sub(r";(?=[\s\"']*[=+\-@＝＋－＠])", r"\\x3b", visible(text))


def plain(cell):
    """The text in a cell, without the apostrophe that keeps a spreadsheet from reading a formula."""
    return cell.removeprefix("'")


@pytest.mark.slow
@shared(VERDICTS)
@pytest.mark.hazard("H113")
@pytest.mark.hazard("H118")
def test_it_reads_back_whatever_the_texts_are_and_nothing_is_a_formula(verdict):
    text = RENDER(verdict)
    rows = read(text)
    assert [row["outcome"] for row in rows if row["kind"] == "verdict"] == [verdict.verdict]
    assert [(plain(row["name"]), row["outcome"], row["level"]) for row in rows if row["kind"] == "rule"] == [
        (shown(rule.rule), rule.outcome, rule.level) for rule in verdict.rules
    ]
    assert [plain(row["metric"]) for row in rows if row["kind"] == "metric"] == [
        shown(name) for name in verdict.metrics
    ]
    listed = verdict.scenarios or verdict.scenarios_failed
    assert [plain(row["name"]) for row in rows if row["kind"] == "scenario"] == [shown(one.id) for one in listed]
    assert not [row for row in rows for column in TEXT_COLUMNS if row[column].startswith(FORMULAS)]


@given(TEXTS)
@pytest.mark.hazard("H113")
def test_a_text_is_quoted_so_that_taking_one_apostrophe_away_gives_it_back(text):
    (cell,) = next(csv.reader([f'"{csv_text(text)}"']))
    assert plain(cell) == shown(text)


@pytest.mark.parametrize(
    "text", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "＝1+1", "－1", "\n=1", "'=1", "\0=1"]
)
@pytest.mark.hazard("H113")
def test_what_a_spreadsheet_would_compute_begins_with_an_apostrophe(text):
    listed = (ScenarioResult(text, text, 1, 0, reason=text),)
    (row,) = of(RENDER(replace(FAILING, scenarios=listed)), "scenario")
    assert all(row[column].startswith("'") for column in ("name", "category", "reason"))


@pytest.mark.parametrize("text", ["a;=1+1", "a; -1", 'a";"=1', "x;@SUM(1)", "x;＝1", "a;'=1"])
@pytest.mark.hazard("H113")
def test_where_a_semicolon_begins_a_cell_none_begins_with_a_formula(text):
    listed = (ScenarioResult(text, text, 1, 0, reason=text),)
    written = RENDER(replace(FAILING, scenarios=listed)).splitlines()
    (line,) = [line for line in written if line.startswith('"scenario"')]
    assert not [cell for cell in line.split(";")[1:] if cell.strip(" '\"").startswith(FORMULAS)]


def test_a_text_that_is_no_formula_stays_as_it_is():
    assert [csv_text(text) for text in ("SEC-001", "≥ 90%", "a=b", "1", "a; b")] == [
        "SEC-001",
        "≥ 90%",
        "a=b",
        "1",
        "a; b",
    ]


def test_numbers_are_numbers_also_below_zero():
    value = replace(FAILING.metrics["accuracy"], low=-0.5)
    table = pd.read_csv(io.StringIO(RENDER(replace(FAILING, metrics={"accuracy": value}))))
    (low,) = table[table["kind"] == "metric"]["low"]
    assert low == -0.5


def test_pandas_reads_metrics_rules_and_scenarios_from_the_one_table():
    listed = (
        ScenarioResult("A", "happy_path", 3, 1, reason="missing: x", required=True),
        ScenarioResult("B", None, 1, 1),
    )
    table = pd.read_csv(io.StringIO(RENDER(replace(FAILING, scenarios=listed))))
    assert list(table.columns) == list(COLUMNS)
    metrics = table[table["kind"] == "metric"].set_index("name")
    assert tuple(metrics.loc["accuracy", ["value", "low", "high", "scenarios"]]) == (0.92, 0.826, 0.972, 50)
    assert metrics.loc["precision", "value"] != metrics.loc["precision", "value"]
    rules = table[table["kind"] == "rule"].set_index("name")
    assert tuple(rules.loc["thresholds.blocking.safety_rate", ["outcome", "threshold", "value"]]) == (
        "fail",
        ">= 1.0",
        0.9,
    )
    assert tuple(rules.loc["rules[0]", ["column", "slice"]]) == ("tags.locale", "de or fr")
    scenarios = table[table["kind"] == "scenario"].set_index("name")
    assert tuple(scenarios.loc["A", ["outcome", "trials", "passed_trials", "required"]]) == ("fail", 3, 1, "yes")
    assert scenarios.loc["B", "outcome"] == "pass"
    (slices,) = table[(table["kind"] == "slice") & (table["slice"] == "de") & (table["name"] == "accuracy")]["value"]
    assert slices == 0.96


def test_what_is_not_listed_is_counted():
    (row,) = of(RENDER(FAILING), "unlisted")
    assert (row["scenarios"], row["reason"]) == ("48", "so many scenarios more, which are not listed; 4 failed in all")
    listed = (ScenarioResult("A", None, 1, 1),)
    assert of(RENDER(replace(FAILING, scenarios=listed, counts=Counts(1, 1, 0, 0, 0))), "unlisted") == []


@shared(PROBLEMS)
def test_where_nothing_could_be_judged_there_is_no_verdict_but_every_problem(problems):
    text = RENDER.refusal(problems)
    assert [row["outcome"] for row in of(text, "verdict")] == ["none"]
    assert len(of(text, "problem")) == len(problems)
