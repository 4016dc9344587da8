"""lm-evaluation-harness samples: against the harness's own means, on its real files, and where the two differ."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from tests.importers.imported import FIXTURES, Row, imported, recognized, refusal, samples, totals, written

FOLDER = FIXTURES / "lm_eval"
(WORDS,) = FOLDER.glob("samples_words_*.jsonl")
(CHOICES,) = FOLDER.glob("samples_choices_*.jsonl")
(TOTALS,) = FOLDER.glob("results_*.json")
COLUMNS = ("exact_match_strict_match", "exact_match_flexible_extract", "acc", "acc_norm")
POLICY = {
    "thresholds": {"blocking": {"accuracy": "≥ 1%"}},
    "metrics": [{"name": f"mean_{column}", "formula": f"mean({column})"} for column in COLUMNS],
}


def line(document: int = 0, **changes: Any) -> dict[str, Any]:
    made = {"doc_id": document, "doc": {"q": "?"}, "target": "a", "filter": "none", "metrics": ["acc"], "acc": 1.0}
    return {**made, "arguments": {"gen_args_0": {"arg_0": "?"}}, "filtered_resps": ["a"], **changes}


def rows_of(tmp_path: Path, *lines: dict[str, Any]) -> list[Row]:
    return imported("lm-eval", jsonl(tmp_path, *lines))[0]


def jsonl(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    text = "".join(json.dumps(one) + "\n" for one in lines)
    return written(tmp_path, "samples_t_2026-01-01T00-00-00.0.jsonl", text)


# --- against the tool's own arithmetic ---------------------------------------------------------


def test_every_mean_is_the_harnesss_own():
    counted = totals("lm_eval")
    words = highbar.check(WORDS, POLICY).metrics
    assert words["mean_exact_match_strict_match"].value == counted["words"]["exact_match,strict-match"]
    assert words["mean_exact_match_flexible_extract"].value == counted["words"]["exact_match,flexible-extract"]
    choices = highbar.check(CHOICES, POLICY).metrics
    assert choices["mean_acc"].value == choices["accuracy"].value == counted["choices"]["acc,none"]
    assert choices["mean_acc_norm"].value == counted["choices"]["acc_norm,none"]


def test_there_are_as_many_rows_as_documents_were_run():
    counted = totals("lm_eval")["n-samples"]
    for path, task in ((WORDS, "words"), (CHOICES, "choices")):
        assert len(imported("lm-eval", path)[0]) == counted[task]["effective"]


def test_a_group_is_its_tasks_together():
    verdict = highbar.check([WORDS, CHOICES], POLICY)
    assert verdict.counts.scenarios == 16
    assert verdict.metrics["accuracy"].value == Fraction(4 + 6, 16)


def test_with_several_filters_an_answer_is_right_where_it_is_under_every_one():
    rows, report = imported("lm-eval", WORDS)
    for row in rows:
        both = (row["exact_match_strict_match"], row["exact_match_flexible_extract"])
        assert row["correct"] == (both == (1, 1))
    assert report.records == 16
    assert report.merged == 8
    assert highbar.check(WORDS, POLICY).metrics["accuracy"].value == Fraction(1, 2)


# --- what becomes what -------------------------------------------------------------------------


def test_a_document_becomes_a_row():
    rows, _ = imported("lm-eval", WORDS)
    assert rows[1] == {
        "id": "words/1",
        "input": "2 + 2 =",
        "output": "4",
        "expected": "4",
        "predicted": "4",
        "correct": True,
        "judge": "exact_match",
        "exact_match_strict_match": 1.0,
        "exact_match_flexible_extract": 1.0,
        "suite": "words",
        "tags": {"question": "2 + 2", "answer": "4", "subject": "doubles"},
    }


def test_exact_match_judges_before_accuracy_and_other_metrics_never_do(tmp_path):
    both = line(metrics=["acc", "exact_match"], exact_match=0.0)
    assert rows_of(tmp_path, both)[0]["correct"] is False
    (row,) = rows_of(tmp_path, line(metrics=["bleu"], bleu=17.5))
    assert row["bleu"] == 17.5
    assert "correct" not in row
    assert "expected" not in row


def test_a_score_that_is_no_number_is_unscored_and_counts_as_wrong(tmp_path):
    rows, report = imported("lm-eval", jsonl(tmp_path, line(0, acc=float("nan")), line(1, acc=None), line(2)))
    assert [row["correct"] for row in rows] == [False, False, True]
    assert report.unscored == 2


def test_numbers_of_numpy_come_as_text(tmp_path):
    rows = rows_of(tmp_path, line(0, acc="True"), line(1, acc="0.0"), line(2, acc="half"))
    assert [row.get("acc") for row in rows] == [1.0, 0.0, None]


def test_an_infinite_score_is_not_dropped_from_an_average(tmp_path):
    scored = [line(n, metrics=["mae"], mae=value) for n, value in enumerate((1.0, float("inf")))]
    rows, report = imported("lm-eval", jsonl(tmp_path, *scored))
    assert [row["mae"] for row in rows] == [1.0, 1e18]
    assert "infinite" in report.warnings[0]


def test_a_document_without_the_line_of_a_filter_is_not_right(tmp_path):
    path = jsonl(tmp_path, line(0, filter="a"), line(1, filter="a"), line(0, filter="b"))
    rows, report = imported("lm-eval", path)
    assert [row["correct"] for row in rows] == [True, False]
    assert report.unscored == 1


def test_what_a_metric_of_the_whole_corpus_needs_is_counted_as_unread(tmp_path):
    _, report = imported("lm-eval", jsonl(tmp_path, line(metrics=["f1"], f1=["gold", "said"])))
    assert report.unread == {"parts of metrics over the whole corpus": 1}


def test_older_lines_name_neither_filter_nor_metrics(tmp_path):
    old = {"doc_id": 0, "doc": {}, "target": "a", "arguments": [["?", {}]], "filtered_resps": ["a"], "acc": 1}
    (row,) = rows_of(tmp_path, old)
    assert (row["correct"], row["input"]) == (True, "?")


# --- what is refused ---------------------------------------------------------------------------


def test_totals_are_refused_with_a_word_about_samples(tmp_path):
    assert recognized(TOTALS) == "lm-eval"
    assert "--log_samples" in refusal("lm-eval", TOTALS)


def test_a_document_that_stands_twice_with_one_filter_is_refused(tmp_path):
    told = refusal("lm-eval", jsonl(tmp_path, line(0), line(1), line(0)))
    assert ":3: document 0 stands twice with the filter none" in told


@pytest.mark.hazard("H57")
def test_a_file_cut_in_the_middle_of_a_line_is_refused(tmp_path):
    data = WORDS.read_bytes().rstrip()
    for cut in range(20, len(data), 97):
        if data[cut - 1 : cut] not in (b"\n", b"}") and data[cut : cut + 1] != b"\n":
            assert "cut off" in refusal("lm-eval", written(tmp_path, "samples_w_2026-01-01T00.jsonl", data[:cut]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"doc_id": None}, "no doc_id"),
        ({"doc_id": "first"}, "doc_id: found 'first', wanted a finite number"),
        ({"filter": 3}, "filter: found 3, wanted text"),
        ({"metrics": "acc"}, "metrics: found 'acc', wanted a list"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, change, told):
    assert told in refusal("lm-eval", jsonl(tmp_path, line(1), line(2, **change)))


@pytest.mark.parametrize("path", samples("lm_eval"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    if path.suffix == ".json":
        assert refusal("lm-eval", path)
        return
    assert recognized(path) == "lm-eval"
    lines = [json.loads(one) for one in path.read_text("utf-8").splitlines()]
    rows, report = imported("lm-eval", path)
    assert report.records == len(lines)
    assert len(rows) == len({one["doc_id"] for one in lines})
