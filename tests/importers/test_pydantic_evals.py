"""pydantic-evals reports: against its own averages, on real files, and where the two differ."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest

import highbar
from highbar.model.judging import ScorerDemand
from tests.commandline import check, judged, refused
from tests.importers.imported import FIXTURES, imported, problems_of, recognized, refusal, samples, totals, written

ONCE = FIXTURES / "pydantic_evals" / "once.json"
REPEATED = FIXTURES / "pydantic_evals" / "repeated.json"
POLICY = {
    "thresholds": {"blocking": {"pass_rate": "≥ 10%"}},
    "metrics": [{"name": "mean_relevance", "formula": "mean(relevance)"}],
}


def test_a_crash_counts_in_the_mean_of_a_score_which_pydantic_evals_leaves_out() -> None:
    for name in ("once", "repeated"):
        file = FIXTURES / "pydantic_evals" / f"{name}.json"
        assert "it crashed, is undecided or did not" in (
            highbar.check(file, POLICY).metrics["mean_relevance"].reason or ""
        )
        ranged = {**POLICY, "metrics": [{**one, "range": "0-1"} for one in POLICY["metrics"]]}
        mean = highbar.check(file, ranged).metrics["mean_relevance"]
        average = Fraction(totals("pydantic_evals")[name]["scores"]["relevance"])
        assert mean.value < average
        # Of six, one crashed and two have no score because their judge broke: at worst these are 0.
        assert name != "once" or mean.value == average * (mean.scenarios - 3) / mean.scenarios


def test_its_share_of_true_assertions_is_over_what_succeeded_alone() -> None:
    """pydantic-evals: 5 of 7 assertions. Left out of that: the crash, and all that the broken judge did not say."""
    rows, _ = imported("pydantic-evals", ONCE)
    judged = [row for row in rows if "error" not in row and "unjudged" not in row]
    said = [(name, row) for row in judged for name in row["expected_behaviors"]]
    true = sum(name in row["behaviors"] for name, row in said)
    assert (true + 1) / (len(said) + 1) == totals("pydantic_evals")["once"]["assertions"]
    verdict = highbar.check(ONCE, POLICY)
    assert (verdict.metrics["pass_rate"].value, verdict.metrics["pass_rate"].best) == (Fraction(2, 6), Fraction(4, 6))
    # plain and waver 1, rude and crash 0, a half where one of two judges broke, 0 where the only one did
    coverage = verdict.metrics["behavior_coverage"]
    assert (coverage.value, coverage.best) == (Fraction(5, 12), Fraction(4, 6))


def test_failures_that_stand_apart_are_rows_with_an_error() -> None:
    rows, report = imported("pydantic-evals", ONCE)
    (crash,) = (row for row in rows if row["id"] == "crash")
    assert crash["error"] == "RuntimeError: the agent crashed"
    assert crash["category"] == "adversarial"
    assert report.errors == 1
    assert report.rows == 6


def test_repeats_are_trials_of_one_scenario_wherever_they_stand() -> None:
    rows, report = imported("pydantic-evals", REPEATED)
    waver = sorted((row["trial"], "error" in row) for row in rows if row["id"] == "waver")
    assert waver == [(0, False), (1, True), (2, False)]
    assert report.missing == 0
    verdict = highbar.check(REPEATED, POLICY)
    assert (verdict.counts.scenarios, verdict.counts.trials, verdict.counts.errors) == (6, 18, 4)
    assert verdict.metrics["pass_rate"].value == (1 + Fraction(2, 3)) / 6


def test_a_broken_evaluator_leaves_the_case_undecided() -> None:
    rows, report = imported("pydantic-evals", ONCE)
    by_name = {row["id"]: row for row in rows}
    assert by_name["judge down"]["behaviors"] == {"EqualsExpected": True}
    for name in ("judge down", "unjudged"):
        assert "passed" not in by_name[name]
        assert by_name[name]["unjudged"] == "judge: polite: TimeoutError: the judge timed out"
    assert report.unscored == 2


def test_the_rest_goes_into_columns_and_tags() -> None:
    rows, _ = imported("pydantic-evals", ONCE)
    plain = rows[0]
    assert (plain["tokens_used"], plain["tone"], plain["correct"], plain["suite"]) == (9, "warm", True, "rote")
    assert plain["tags"] == {"model": "rote-1"}
    assert plain["latency_ms"] > 0


def test_a_run_that_is_missing_counts_as_an_error(tmp_path: Path) -> None:
    report = json.loads(REPEATED.read_text("utf-8"))
    report["cases"] = [case for case in report["cases"] if case["name"] != "plain [2/3]"]
    path = written(tmp_path, "report.json", report)
    rows, said = imported("pydantic-evals", path)
    assert (said.records, said.missing, said.rows) == (17, 1, 18)
    assert rows[-1]["error"] == "run 2 of 3 is not in the report"
    assert (rows[-1]["id"], rows[-1]["trial"], rows[-1]["category"]) == ("plain", 1, "happy_path")
    assert highbar.check(path, POLICY).metrics["pass_rate"].value == Fraction(4, 3) / 6


@pytest.mark.parametrize("path", samples("pydantic_evals"), ids=lambda path: path.name[-30:])
def test_real_files_have_a_row_for_every_case_or_are_refused(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict):
        assert recognized(path) is None
        assert "this is no pydantic-evals report" in refusal("pydantic-evals", path)
        return
    assert recognized(path) == "pydantic-evals"
    rows, report = imported("pydantic-evals", path)
    assert len(rows) == len(document["cases"]) + len(document["failures"])
    assert report.errors == len(document["failures"])


def test_evaluators_of_the_whole_report_that_failed_are_told(tmp_path: Path) -> None:
    report = {**json.loads(ONCE.read_text("utf-8")), "report_evaluator_failures": [{"name": "Matrix"}]}
    assert imported("pydantic-evals", written(tmp_path, "r.json", report))[1].warnings == [
        "1 evaluators of the whole report failed"
    ]


def test_a_data_set_is_not_taken_for_a_report(tmp_path: Path) -> None:
    data = {"name": "rote", "cases": [{"name": "a", "inputs": "a"}], "evaluators": ["EqualsExpected"]}
    assert "the data set of one" in refusal("pydantic-evals", written(tmp_path, "cases.json", data))


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ({"assertions": {"polite": {"value": "yes"}}}, "import.wrong-value", "value: found 'yes'"),
        ({"assertions": None}, "import.missing-value", "assertions"),
        ({"name": ""}, "import.missing-value", "name"),
        ({"source_case_name": "plain"}, "import.wrong-value", "found 'plain'"),
        ({"task_duration": "1s"}, "import.wrong-value", "task_duration: found '1s'"),
        ({"scores": {"relevance": None}}, "import.wrong-value", "relevance: found null"),
    ],
)
def test_what_is_not_as_the_tool_writes_it_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, object], code: str, named: str
) -> None:
    report = json.loads(ONCE.read_text("utf-8"))
    report["cases"][0] |= change
    (problem,) = problems_of("pydantic-evals", written(tmp_path, "report.json", report))
    assert problem.code == code
    assert named in problem.message
    assert problem.message.startswith("cases[0]: ")


def test_breaking_an_assertion_never_makes_a_case_pass(tmp_path: Path) -> None:
    report = json.loads(ONCE.read_text("utf-8"))
    before = {row["id"]: row.get("passed") for row in imported("pydantic-evals", ONCE)[0]}
    for number, case in enumerate(report["cases"]):
        for name in case["assertions"]:
            for value in (False, None):
                broken = copy.deepcopy(report)
                broken["cases"][number]["assertions"][name]["value"] = value
                rows, _ = imported("pydantic-evals", written(tmp_path, "report.json", broken))
                assert all(before[row["id"]] or not row.get("passed") for row in rows)
                assert not rows[number].get("passed")


def test_repeats_that_were_not_as_often_are_refused(tmp_path: Path) -> None:
    report = json.loads(REPEATED.read_text("utf-8"))
    report["cases"][1]["name"] = "plain [2/2]"
    done = check(tmp_path, json.dumps(report).encode(), POLICY, name="report.json")
    refused(done, "found 'plain [1/3]' beside 'plain [2/2]'")
    report["cases"][1]["name"] = "plain [5/3]"
    assert "found run 5 of 3" in refusal("pydantic-evals", written(tmp_path, "report.json", report))
    report["cases"][1] |= {"name": "plain [2/3]", "source_case_name": None}
    assert "has no source_case_name" in refusal("pydantic-evals", written(tmp_path, "report.json", report))


def test_an_evaluator_that_broke_makes_the_verdict_inconclusive_at_most(tmp_path: Path) -> None:
    report = json.loads(ONCE.read_text("utf-8"))
    report["cases"] = [case for case in report["cases"] if case["name"] in ("plain", "judge down")]
    report["failures"] = []
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
    judged(check(tmp_path, json.dumps(report).encode(), policy, name="report.json"), "inconclusive")


def test_an_assertion_that_its_evaluator_gives_elsewhere_is_missed(tmp_path: Path) -> None:
    """`Judged` gives an assertion, a score and a label at once."""
    report = json.loads(ONCE.read_text("utf-8"))
    del report["cases"][1]["assertions"]["polite"]
    rows, _ = imported("pydantic-evals", written(tmp_path, "report.json", report))
    assert "judge: polite: says nothing of this trial" in rows[1]["unjudged"]


def test_a_report_in_which_nothing_judges_is_refused_crashes_or_not(tmp_path: Path) -> None:
    report = json.loads(ONCE.read_text("utf-8"))
    for case in report["cases"]:
        case["assertions"], case["evaluator_failures"] = {}, []
    refused(
        check(tmp_path, json.dumps(report).encode(), POLICY, name="report.json"), "'relevance', 'tone'", "judged_by"
    )


def test_the_policy_says_who_judges() -> None:
    rows, report = imported("pydantic-evals", ONCE, judged_by=(ScorerDemand("relevance", Fraction(1, 2)),))
    passed = {row["id"]: row.get("passed") for row in rows}
    assert passed == dict.fromkeys(("crash", "judge down", "unjudged")) | {"plain": True, "waver": True, "rude": False}
    assert report.judges == ("relevance",)
    assert report.scorers["polite"].startswith("a column, does not judge")
