"""lm-evaluation-harness samples: against the harness's own means, on its real files, and where the two differ."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.model.judging import ScorerDemand
from tests.commandline import refused, run
from tests.importers.imported import FIXTURES, Row, imported, problems_of, recognized, refusal, samples, totals, written

FOLDER = FIXTURES / "lm_eval"
(WORDS,) = FOLDER.glob("samples_words_*.jsonl")
(CHOICES,) = FOLDER.glob("samples_choices_*.jsonl")
(TOTALS,) = FOLDER.glob("results_*.json")
(SUMS,) = FOLDER.glob("samples_sums_*.jsonl")
(BROKEN,) = FOLDER.glob("samples_broken_*.jsonl")
PICKED = FOLDER / "picked"
STRICT = ScorerDemand("exact_match", filter="strict-match")
COLUMNS = ("exact_match_strict_match", "exact_match_flexible_extract", "acc", "acc_norm")
POLICY = {
    "thresholds": {"blocking": {"accuracy": "≥ 1%"}},
    "metrics": [{"name": f"mean_{column}", "formula": f"mean({column})"} for column in COLUMNS],
}


def line(document: int = 0, **changes: Any) -> dict[str, Any]:
    made = {"doc_id": document, "doc": {"q": "?"}, "target": "a", "filter": "none", "metrics": ["acc"], "acc": 1.0}
    return {**made, "arguments": {"gen_args_0": {"arg_0": "?"}}, "filtered_resps": ["a"], **changes}


def rows_of(tmp_path: Path, *lines: dict[str, Any], judged_by: tuple[ScorerDemand, ...] = ()) -> list[Row]:
    return imported("lm-eval", jsonl(tmp_path, *lines), judged_by=judged_by)[0]


def checked(folder: Path, *paths: Path, accuracy: str = "1%"):
    """`highbar check` of files or folders, with a bar for accuracy."""
    (folder / "policy.yaml").write_text(f"thresholds:\n  blocking: {{ accuracy: {accuracy} }}\n", "utf-8")
    return run(folder, "check", *map(str, paths), "--policy", "policy.yaml", "--format", "json")


def jsonl(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    text = "".join(json.dumps(one) + "\n" for one in lines)
    return written(tmp_path, "samples_t_2026-01-01T00-00-00.0.jsonl", text)


# --- against the tool's own arithmetic ---------------------------------------------------------


def test_every_mean_is_the_harnesss_own():
    counted = totals("lm_eval")
    words, _ = imported("lm-eval", WORDS, judged_by=(STRICT,))
    for column, name in (("strict_match", "strict-match"), ("flexible_extract", "flexible-extract")):
        values = [row[f"exact_match_{column}"] for row in words]
        assert sum(values) / len(values) == counted["words"][f"exact_match,{name}"]
    choices = highbar.check(CHOICES, POLICY).metrics
    assert choices["mean_acc"].value == choices["accuracy"].value == counted["choices"]["acc,none"]
    assert choices["mean_acc_norm"].value == counted["choices"]["acc_norm,none"]
    assert highbar.check(SUMS, POLICY).metrics["accuracy"].value == counted["sums"]["exact_match,digits"]


def test_there_are_as_many_rows_as_documents_were_run():
    counted = totals("lm_eval")["n-samples"]
    for path, task in ((SUMS, "sums"), (CHOICES, "choices")):
        assert len(imported("lm-eval", path)[0]) == counted[task]["effective"]
    assert len(imported("lm-eval", WORDS, judged_by=(STRICT,))[0]) == counted["words"]["effective"]


def test_several_tasks_are_judged_together():
    verdict = highbar.check([SUMS, CHOICES], POLICY)
    assert verdict.counts.scenarios == 16
    assert verdict.metrics["accuracy"].value == Fraction(6 + 6, 16)


# --- who judges --------------------------------------------------------------------------------


def test_with_several_filters_the_policy_says_which_judges(tmp_path):
    done = checked(tmp_path, WORDS)
    assert done.exit == 2
    assert "exact_match,strict-match, exact_match,flexible-extract" in done.problems
    assert "judged_by: { lm_eval: { metric: exact_match, filter: strict-match } }" in done.problems
    rows, report = imported("lm-eval", WORDS, judged_by=(STRICT,))
    assert [row["correct"] for row in rows] == [row["exact_match_strict_match"] == 1 for row in rows]
    assert report.records == 16
    assert report.merged == 8
    assert report.judges == ("exact_match,strict-match",)
    assert report.scorers["exact_match,flexible-extract"] == "a column, does not judge: judged_by names another"


def test_all_that_the_policy_names_must_hold():
    flexible = ScorerDemand("exact_match", filter="flexible-extract")
    rows, _ = imported("lm-eval", WORDS, judged_by=(STRICT, flexible))
    for row in rows:
        assert row["correct"] == (row["exact_match_strict_match"] == row["exact_match_flexible_extract"] == 1)


@pytest.mark.parametrize(
    ("demand", "code", "named"),
    [
        (ScorerDemand("acc"), "judge.unknown-scorer", "acc"),
        (ScorerDemand("exact_match", filter="none"), "judge.unknown-scorer", "exact_match with the filter none"),
        (ScorerDemand("exact_match"), "judge.unknown-scorer", "exact_match without a filter"),
    ],
)
def test_a_judge_that_the_file_does_not_have_is_refused_with_those_that_it_has(demand, code, named):
    (problem,) = problems_of("lm-eval", WORDS, judged_by=(demand,))
    assert problem.code == code
    assert f"names {named}" in problem.message
    assert "exact_match,strict-match, exact_match,flexible-extract" in problem.message


def test_the_harnesss_accuracy_judges_and_the_policy_may_name_another(tmp_path):
    lines = [line(n, metrics=["acc", "acc_norm"], acc_norm=n / 2) for n in range(3)]
    assert [row["correct"] for row in rows_of(tmp_path, *lines)] == [True] * 3
    norm = (ScorerDemand("acc_norm", Fraction(1, 2)),)
    assert [row["correct"] for row in rows_of(tmp_path, *lines, judged_by=norm)] == [False, True, True]


def test_two_metrics_that_say_what_is_right_are_too_many(tmp_path):
    (problem,) = problems_of("lm-eval", jsonl(tmp_path, line(metrics=["acc", "exact_match"], exact_match=0.0)))
    assert problem.code == "judge.undeclared"
    assert "acc, exact_match" in problem.message


def test_a_file_without_an_accuracy_is_refused_with_its_metrics(tmp_path):
    done = checked(tmp_path, jsonl(tmp_path, line(metrics=["bleu"], bleu=17.5)))
    refused(done, "bleu", code="judge.undeclared")
    (row,) = rows_of(tmp_path, line(metrics=["bleu"], bleu=17.5), judged_by=(ScorerDemand("bleu", Fraction(17)),))
    assert (row["bleu"], row["correct"]) == (17.5, True)


def test_a_document_that_the_metric_said_nothing_of_is_undecided(tmp_path):
    done = checked(tmp_path, BROKEN, accuracy="70%")  # 4 of 8 are right, and of 2 nothing is known
    assert done.json["counts"]["unjudged"] == 2
    assert done.exit == 3
    assert checked(tmp_path, BROKEN, accuracy="80%").exit == 1


# --- what is missing ---------------------------------------------------------------------------


def copied(folder: Path, source: Path, drop: int | None = None) -> Path:
    """The samples and the totals of one task in a folder, without one of its lines."""
    run_folder = folder / "run"
    run_folder.mkdir()
    (run_folder / TOTALS.name).write_bytes((source.parent / TOTALS.name).read_bytes())
    lines = source.read_text("utf-8").splitlines(keepends=True)
    path = run_folder / source.name
    path.write_text("".join(one for number, one in enumerate(lines) if number != drop), "utf-8")
    return path


@pytest.mark.parametrize("drop", [0, 3, 7])
def test_a_document_that_is_missing_is_seen_by_the_totals(tmp_path, drop):
    assert checked(tmp_path, copied(tmp_path, SUMS, drop)).exit == 2
    assert "holds 7 documents, and results_" in refusal("lm-eval", tmp_path / "run" / SUMS.name)


def test_samples_that_the_totals_were_not_made_of_are_refused(tmp_path):
    path = copied(tmp_path, BROKEN, 5)  # its metric gave nothing, so that the harness counts 7 of 8
    assert "their hashes differ" in refusal("lm-eval", path)


def test_a_gap_in_the_numbers_is_refused_if_no_totals_say_that_it_was_meant(tmp_path):
    done = checked(tmp_path, jsonl(tmp_path, line(0), line(2)))
    refused(done, "document 1 ", code="import.incomplete")
    assert "documents 0, 1, 2, 3, 4 … " in refusal("lm-eval", jsonl(tmp_path, line(10**17)))
    assert checked(tmp_path, PICKED / SUMS.name).json["counts"]["scenarios"] == 3
    alone = written(tmp_path, SUMS.name, (PICKED / SUMS.name).read_bytes())
    assert "documents 1, 3, 4 " in refusal("lm-eval", alone)


def test_a_line_of_a_filter_that_one_document_lacks_is_refused(tmp_path):
    path = jsonl(tmp_path, line(0, filter="a"), line(1, filter="a"), line(0, filter="b"))
    (problem,) = problems_of("lm-eval", path)
    assert problem.code == "import.incomplete"
    assert "document 1 " in problem.message
    assert "the filter b" in problem.message


@pytest.mark.parametrize("filter_name", ["strict-match", "flexible-extract"])
def test_a_filter_that_the_totals_declare_and_no_line_has_is_refused(tmp_path, filter_name):
    path = copied(tmp_path, WORDS)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(one for one in lines if json.loads(one)["filter"] != filter_name), "utf-8")
    totals = json.loads((path.parent / TOTALS.name).read_text("utf-8"))
    del totals["task_hashes"]
    written(path.parent, TOTALS.name, totals)
    done = checked(tmp_path, path)
    refused(done, TOTALS.name, f"exact_match,{filter_name}", code="import.incomplete")


def test_a_metric_that_the_totals_declare_and_no_line_has_is_refused(tmp_path):
    path = copied(tmp_path, CHOICES)
    lines = [json.loads(one) for one in path.read_text("utf-8").splitlines()]
    for one in lines:
        del one["acc"]
        one["metrics"].remove("acc")
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    (problem,) = problems_of("lm-eval", path, judged_by=(ScorerDemand("acc_norm"),))
    assert problem.code == "import.incomplete"
    assert "acc,none" in problem.message


def test_a_folder_is_read_with_its_totals(tmp_path):
    done = checked(tmp_path, PICKED)
    assert done.json["counts"]["scenarios"] == 3
    assert any("results_2026-01-01T00-00-00.000000.json: read for its totals" in one for one in done.json["warnings"])


def test_a_folder_that_lacks_the_samples_of_a_task_is_refused(tmp_path):
    copied(tmp_path, SUMS)
    done = checked(tmp_path, tmp_path / "run")
    assert done.exit == 2
    assert "the totals have the task 'words', and there are no samples of it" in done.problems


def test_the_model_is_a_tag_if_the_totals_name_it():
    assert {row["tags"]["model"] for row in imported("lm-eval", SUMS)[0]} == {"clerk"}


# --- what becomes what -------------------------------------------------------------------------


def test_a_document_becomes_a_row():
    rows, _ = imported("lm-eval", WORDS, judged_by=(STRICT,))
    assert rows[1] == {
        "id": "words/1",
        "input": "2 + 2 =",
        "output": "4",
        "expected": "4",
        "predicted": "4",
        "correct": True,
        "judge": "exact_match,strict-match",
        "exact_match_strict_match": 1.0,
        "exact_match_flexible_extract": 1.0,
        "suite": "words",
        "tags": {"model": "clerk", "question": "2 + 2", "answer": "4", "subject": "doubles"},
    }


def test_a_score_that_is_no_number_leaves_the_document_undecided(tmp_path):
    rows, report = imported("lm-eval", jsonl(tmp_path, line(0, acc=float("nan")), line(1, acc=None), line(2)))
    assert [row.get("correct") for row in rows] == [None, None, True]
    assert [row.get("unjudged") for row in rows] == ["judge: no score by acc"] * 2 + [None]
    assert not any("expected" in row for row in rows[:2])
    assert report.unscored == 2


def test_numbers_of_numpy_come_as_text(tmp_path):
    rows = rows_of(tmp_path, line(0, acc="True"), line(1, acc="0.0"), line(2, acc="half"))
    assert [row.get("acc") for row in rows] == [1.0, 0.0, None]


def test_an_infinite_score_is_not_dropped_from_an_average(tmp_path):
    scored = [line(n, metrics=["mae"], mae=value) for n, value in enumerate((1.0, float("inf")))]
    rows, report = imported("lm-eval", jsonl(tmp_path, *scored), judged_by=(ScorerDemand("mae"),))
    assert [row["mae"] for row in rows] == [1.0, 1e18]
    assert "infinite" in report.warnings[0]


def test_what_a_metric_of_the_whole_corpus_needs_is_counted_as_unread(tmp_path):
    path = jsonl(tmp_path, line(metrics=["f1"], f1=["gold", "said"]))
    _, report = imported("lm-eval", path, judged_by=(ScorerDemand("f1"),))
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
    (problem,) = problems_of("lm-eval", jsonl(tmp_path, line(0), line(1), line(0)))
    assert (problem.code, problem.line) == ("import.duplicate", 3)
    assert "document 0 " in problem.message
    assert "the filter none" in problem.message


@pytest.mark.hazard("H57")
def test_a_file_cut_in_the_middle_of_a_line_is_refused(tmp_path):
    data = WORDS.read_bytes().rstrip()
    for cut in range(20, len(data), 97):
        if data[cut - 1 : cut] not in (b"\n", b"}") and data[cut : cut + 1] != b"\n":
            (problem,) = problems_of("lm-eval", written(tmp_path, "samples_w_2026-01-01T00.jsonl", data[:cut]))
            assert (problem.code, "cut off" in problem.message) == ("file.not-json", True)


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"doc_id": None}, "import.wrong-value", "doc_id"),
        ({"doc_id": "first"}, "import.wrong-value", "doc_id: found 'first'"),
        ({"filter": 3}, "import.wrong-value", "filter: found 3"),
        ({"metrics": "acc"}, "import.wrong-value", "metrics: found 'acc'"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, change, code, place):
    (problem,) = problems_of("lm-eval", jsonl(tmp_path, line(1), line(2, **change)))
    assert problem.code == code
    assert problem.line == 2 or problem.message.startswith("line 2: ")
    assert place in problem.message


FIXED = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash"}


@pytest.mark.parametrize("path", samples("lm_eval"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    if path.suffix == ".json":
        assert refusal("lm-eval", path)
        return
    assert recognized(path) == "lm-eval"
    lines = [json.loads(one) for one in path.read_text("utf-8").splitlines()]
    metric = next(key for key in lines[0].get("metrics") or lines[0] if key not in FIXED)
    demand = (ScorerDemand(metric),)
    rows, report = imported("lm-eval", path, judged_by=demand)
    assert report.records == len(lines)
    assert len(rows) == len({one["doc_id"] for one in lines})
