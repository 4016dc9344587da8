"""Which rows are judged: `select` and `--where` choose among the rows of a scenario, and say what they leave out."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from tests.commandline import check, judged, refused, run
from tests.importers.imported import FIXTURES

RULE = {"thresholds": {"blocking": {"pass_rate": "90%"}}}
ROWS = [
    {"id": "a", "passed": True, "tags": {"model": "x"}, "tier": "one", "n": 1},
    {"id": "a", "passed": False, "tags": {"model": "y"}, "tier": "one", "n": 1},
    {"id": "b", "passed": True, "tags": {"model": "x"}, "tier": "two", "n": 1},
    {"id": "b", "passed": True, "tags": {"model": "y"}, "tier": "two", "n": 1},
]
CHOSEN = {"where": {"tags.model": ["x"]}, "rows_left_out": 2, "scenarios_left_out": 0}


def test_where_chooses_among_the_rows_of_a_scenario_and_counts_what_it_leaves_out(tmp_path):
    forms = ("markdown", "html", "text", "junit")
    outputs = [word for form in forms for word in ("--output", f"{form}=v.{form}")]
    done = check(tmp_path, ROWS, RULE, "--where", "tags.model=x", *outputs)
    verdict = judged(done, "pass")
    assert verdict["select"] == CHOSEN
    assert verdict["counts"]["left_out"] == 2
    assert verdict["counts"]["trials"] == 2
    for form in forms:
        text = (tmp_path / f"v.{form}").read_text("utf-8")
        assert "2 rows left out" in text or form not in ("markdown", "html")
        assert "left out" in text or "left_out" in text, form
    assert run(
        tmp_path, "check", "results.jsonl", "--policy", "policy.json", "--where", "tags.model=x", "--quiet"
    ).out.endswith("2 rows left out\n")
    judged(check(tmp_path, ROWS, RULE, "--where", "tags.model=y"), "fail")


def test_select_in_the_policy_does_the_same_and_where_may_not_overrule_it(tmp_path):
    policy = {**RULE, "select": {"tags.model": "x"}}
    assert judged(check(tmp_path, ROWS, policy), "pass")["select"] == CHOSEN
    refused(check(tmp_path, ROWS, policy, "--where", "tags.model=y"), "the policy already selects the rows to judge")


def test_a_scenario_that_loses_all_its_rows_is_refused_unless_a_subset_is_wanted(tmp_path):
    refused(check(tmp_path, ROWS, RULE, "--where", "tier=two"), "1 scenario: a", "--subset")
    rows = [row for row in ROWS if row["tags"]["model"] == "x"]
    done = check(tmp_path, rows, RULE, "--where", "tier=two", "--subset")
    assert judged(done, "pass")["select"]["scenarios_left_out"] == 1


def test_a_subset_does_not_get_past_the_suite(tmp_path):
    (tmp_path / "suite.json").write_text('["a", "b"]')
    rows = [row for row in ROWS if row["tags"]["model"] == "x"]
    done = check(tmp_path, rows, {**RULE, "suite": "suite.json"}, "--where", "tier=two", "--subset")
    judged(done, "fail")


@pytest.mark.parametrize(
    ("where", "code", "told"),
    [
        ("tags.model=z", "select.nothing", "found 'x', 'y'"),
        ("tags.modle=x", "select.nothing", "'tags.modle'"),
        ("tags.modle=x", "select.nothing", "did you mean 'tags.model'? found"),
        ("model=x", "select.nothing", "'tags.model'"),
        ("tire=one", "select.nothing", "did you mean 'tier'? found"),
        ("tier=onw", "select.nothing", "did you mean 'one'? found 'one', 'two'"),
        ("n=1", "select.column", "not text"),
        ("passed=true", "select.column", "'passed'"),
        ("category=happy_path", "select.column", "rules: [{ metric: pass_rate, where: { category: NAME }"),
        ("id=a", "select.column", "'id'"),
        ("tags=x", "select.column", ": tags.model"),
        ("catgory=x", "policy.misspelled", "'category'"),
        ("model", "option.bad-value", "COLUMN=VALUE"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(tmp_path, where, code, told):
    refused(check(tmp_path, ROWS, RULE, "--where", where), told, code=code)


@pytest.mark.parametrize(
    ("select", "code", "told"),
    [
        ({}, "policy.empty-value", "select: "),
        ({"passed": "x"}, "select.column", "'passed'"),
        ({"tags.model": []}, "policy.empty-value", "select.tags.model: "),
        ({"tags.model": 1}, "policy.wrong-type", "select.tags.model: found a number '1'"),
    ],
)
def test_a_bad_select_is_a_problem_of_the_policy(tmp_path, select, code, told):
    refused(check(tmp_path, ROWS, {**RULE, "select": select}), told, line=1, code=code)


def test_a_row_that_is_left_out_must_be_sound_all_the_same(tmp_path):
    rows = [*ROWS, {"id": "a", "passed": "yes", "tags": {"model": "z"}}]
    refused(check(tmp_path, rows, RULE, "--where", "tags.model=x"), "passed", line=5)


def test_of_several_agent_versions_one_can_be_chosen(tmp_path):
    rows = [{"id": "a", "trial": n, "passed": n == 1, "agent_version": f"{n}.0"} for n in (1, 2)]
    refused(check(tmp_path, rows, RULE), "'1.0', '2.0'", code="agent.several-versions")
    assert judged(check(tmp_path, rows, RULE, "--where", "agent_version=1.0"), "pass")["agent_version"] == "1.0"


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_every_form_of_rows_is_chosen_from_alike(tmp_path, form):
    flat = [{"id": row["id"], "passed": row["passed"], "model": row["tags"]["model"]} for row in ROWS]
    name = f"results.{form}"
    if form == "csv":
        text = "id,passed,model\n" + "".join(f"{r['id']},{str(r['passed']).lower()},{r['model']}\n" for r in flat)
        (tmp_path / name).write_text(text)
    elif form == "json":
        (tmp_path / name).write_text(json.dumps(flat))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(flat), tmp_path / name)
    (tmp_path / "policy.json").write_text(json.dumps(RULE))
    done = run(tmp_path, "check", name, "--policy", "policy.json", "--where", "model=x", "--format", "json")
    assert judged(done, "pass")["counts"]["left_out"] == 2


def test_the_python_interface_chooses_too():
    verdict = highbar.check(ROWS, RULE, where={"tags.model": "x"})
    assert verdict.passed
    assert verdict.selection is not None
    assert verdict.selection.rows == 2


def test_compare_chooses_in_both_runs(tmp_path):
    for name in ("base.jsonl", "head.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--where", "tags.model=x", "--format", "json")
    assert done.exit == 0, done.err
    assert done.json["base"]["select"] == CHOSEN
    assert (
        "only rows with tags.model x: 2 rows left out"
        in run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--where", "tags.model=x").out
    )


def test_a_baseline_of_other_rows_is_not_compared_with(tmp_path):
    policy = {**RULE, "baseline": {"file": "baseline.json", "margin": {"pass_rate": "1%"}}}
    rows = [{**row, "passed": True} for row in ROWS]
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(tmp_path, "baseline", "record", "results.jsonl", "--policy", "policy.json", "--where", "tags.model=x")
    assert done.exit == 0, done.err
    assert json.loads((tmp_path / "baseline.json").read_text())["select"] == {"tags.model": ["x"]}
    judged(check(tmp_path, rows, policy, "--where", "tags.model=x"), "pass")
    done = check(tmp_path, rows, policy, "--where", "tags.model=y")
    judged(done, "fail")
    assert "other rows" in done.rule("baseline.pass_rate")["reason"]


@pytest.mark.process
def test_a_change_of_select_is_shown_and_the_rows_of_before_are_judged_too(tmp_path):
    def write(model: str) -> None:
        (tmp_path / "highbar.json").write_text(json.dumps({**RULE, "select": {"tags.model": model}}))

    write("y")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "highbar.json"], ["commit", "-qm", "policy"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    write("x")
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "HEAD", "--format", "json")
    assert done.exit == 1
    assert [one["what"] for one in done.json["against"]["weakened"]] == ["highbar.json"]


def test_results_of_several_models_get_the_hint_that_fits(tmp_path):
    done = check(tmp_path, ROWS, RULE)
    refused(done, "tags.model (x, y)", "--where tags.model=x", code="results.duplicate-trial")
    again = [{"id": "a", "passed": True, "tags": {"model": "x"}}] * 2
    refused(check(tmp_path, again, RULE), "`trial`", code="results.duplicate-trial")


def test_pooled_models_are_named_with_the_option_that_takes_them_apart(tmp_path):
    rows = [{**row, "trial": 1 + (row["tags"]["model"] == "y")} for row in ROWS]
    verdict = judged(check(tmp_path, rows, RULE), "fail")
    assert any(
        "tags.model (x, y): they are pooled" in note and "--where tags.model=x" in note for note in verdict["warnings"]
    )
    judged(check(tmp_path, rows, RULE, "--where", "tags.model=x"), "pass")


@pytest.mark.parametrize("asked", ["slice", "rule"])
def test_variants_of_one_scenario_are_in_no_one_slice_of_what_tells_them_apart(tmp_path, asked):
    rows = [{**row, "trial": number} for number, row in enumerate(ROWS)]
    by_model = {"rules": [{"metric": "pass_rate", "threshold": "90%", "where": {"tags.model": "x"}}]}
    policy, options = (RULE, ["--slice", "tags.model"]) if asked == "slice" else (by_model, [])
    done = check(tmp_path, rows, policy, *options)
    refused(done, "the trials of scenario 'a' do not agree on tags.model", "tags.model (x, y)", "--where tags.model=x")
    verdict = judged(check(tmp_path, rows, policy, *options, "--where", "tags.model=x"), "pass")
    assert verdict["counts"]["left_out"] == 2


def test_providers_of_one_promptfoo_file_are_judged_one_at_a_time(tmp_path):
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 10% } }\n", "utf-8")
    arguments = ("check", str(FIXTURES / "promptfoo" / "matrix.json"), "--slice", "tags.provider", "--format", "json")
    done = run(tmp_path, *arguments)
    refused(done, "do not agree on tags.provider", "--where tags.provider=")
    named = re.search(r"--where (tags\.provider=[^\s,]+)", done.problems)
    assert run(tmp_path, *arguments, "--where", named[1]).json["counts"]["left_out"] == 4


def test_variants_with_ids_of_their_own_are_named_by_their_cluster(tmp_path):
    rows = [
        {"id": f"{row['id']} {row['tags']['model']}", "cluster": row["id"], "passed": True, "tags": row["tags"]}
        for row in ROWS
    ]
    verdict = judged(check(tmp_path, rows, RULE), "pass")
    assert any("tags.model (x, y): they are pooled" in note for note in verdict["warnings"])
    refused(check(tmp_path, rows, RULE, "--where", "tags.model=x"), "--subset")
    judged(check(tmp_path, rows, RULE, "--where", "tags.model=x", "--subset"), "pass")


def test_one_model_is_not_named(tmp_path):
    rows = [{"id": "a", "trial": n, "passed": True, "tags": {"model": "x", "seed": str(n)}} for n in (1, 2)]
    assert not any("pooled" in note for note in judged(check(tmp_path, rows, RULE), "pass")["warnings"])


def test_highbar_policy_says_which_rows_are_judged(tmp_path):
    policy = "thresholds: { blocking: { pass_rate: 50% } }\nselect: { tags.model: [x, y] }\n"
    Path(tmp_path, "highbar.yaml").write_text(policy)
    assert "Only rows with tags.model x or y are judged." in run(tmp_path, "policy").out


CHOICE = {**RULE, "select": {"tags.model": "x"}}


def tagged(id_: str, trial: int, model: str | None, *, passed: bool) -> dict[str, object]:
    return {"id": id_, "trial": trial, "passed": passed} | ({"tags": {"model": model}} if model else {})


def test_a_trial_without_the_tag_is_of_the_model_of_the_other_trials(tmp_path):
    rows = [tagged("a", 1, "x", passed=True), tagged("a", 2, None, passed=False), tagged("b", 1, "x", passed=True)]
    verdict = judged(check(tmp_path, rows, CHOICE), "fail")
    assert verdict["counts"]["trials"] == 3
    assert verdict["counts"]["left_out"] == 0
    judged(check(tmp_path, rows, RULE, "--where", "tags.model=x"), "fail")
    assert not highbar.check(rows, CHOICE).passed


def test_a_trial_without_the_tag_is_left_out_with_the_other_trials(tmp_path):
    rows = [tagged("a", 1, "y", passed=True), tagged("a", 2, None, passed=False), tagged("b", 1, "x", passed=True)]
    verdict = judged(check(tmp_path, rows, CHOICE, "--subset"), "pass")
    assert verdict["select"] == {"where": {"tags.model": ["x"]}, "rows_left_out": 2, "scenarios_left_out": 1}


@pytest.mark.parametrize("model", ["x", "y", "z"])
def test_a_trial_without_the_tag_beside_trials_of_several_models_is_refused(tmp_path, model):
    rows = [
        tagged("a", 1, "x", passed=True),
        tagged("a", 2, "y", passed=True),
        tagged("a", 3, None, passed=False),
        tagged("b", 1, "z", passed=True),
    ]
    done = check(tmp_path, rows, RULE, "--where", f"tags.model={model}", "--subset")
    refused(done, "'a'", "trial 3", "tags.model", "'x', 'y'")


def test_a_trial_that_another_column_leaves_out_need_not_say_its_model(tmp_path):
    rows = [
        {**tagged("a", 1, "x", passed=True), "tier": "one"},
        {**tagged("a", 2, "y", passed=True), "tier": "one"},
        {**tagged("a", 3, None, passed=False), "tier": "two"},
    ]
    done = check(tmp_path, rows, RULE, "--where", "tags.model=x", "--where", "tier=one")
    assert judged(done, "pass")["counts"]["left_out"] == 2
    rows[2].pop("tier")
    refused(check(tmp_path, rows, RULE, "--where", "tags.model=x", "--where", "tier=one"), "trial 3", "tags.model")


def test_a_scenario_without_the_tag_in_any_trial_loses_all_its_rows(tmp_path):
    rows = [tagged("a", 1, "x", passed=True), tagged("b", 1, None, passed=False)]
    refused(check(tmp_path, rows, CHOICE), "1 scenario: b", "--subset")


def test_the_other_trials_may_stand_in_another_file(tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps(CHOICE))
    (tmp_path / "a.jsonl").write_text(json.dumps(tagged("a", 1, "x", passed=True)) + "\n")
    (tmp_path / "b.csv").write_text("id,trial,passed\na,2,false\n")
    done = run(tmp_path, "check", "a.jsonl", "b.csv", "--policy", "policy.json", "--format", "json")
    assert judged(done, "fail")["counts"]["trials"] == 2


def test_compare_takes_the_same_trials(tmp_path):
    rows = [tagged("a", 1, "x", passed=True), tagged("a", 2, None, passed=False), tagged("b", 1, "x", passed=True)]
    for name in ("base.jsonl", "head.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--where", "tags.model=x", "--format", "json")
    assert done.json["base"]["select"]["rows_left_out"] == 0


LOG = {
    "version": 2,
    "status": "error",
    "eval": {
        "task": "t",
        "task_id": "tid",
        "eval_id": "e",
        "run_id": "r",
        "created": "2026-01-01T00:00:00+00:00",
        "model": "x",
        "dataset": {"name": "d", "samples": 2, "sample_ids": ["a", "b"]},
        "config": {"epochs": 2},
        "scorers": [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}],
    },
    "results": {"total_samples": 4, "completed_samples": 3, "scores": []},
    "samples": [
        {"id": id_, "epoch": epoch, "input": "q", "target": "a", "scores": {"match": {"value": "C"}}}
        for id_, epoch in (("a", 1), ("a", 2), ("b", 1))
    ],
}
"""A log that lacks one of the epochs that were planned."""


@pytest.mark.parametrize("where", ["tags.model=x", "judge=match", "suite=t"])
def test_epochs_of_inspect_that_never_ran_are_of_the_model_and_the_judge_of_the_log(tmp_path, where):
    (tmp_path / "policy.json").write_text(json.dumps(RULE))
    (tmp_path / "log.json").write_text(json.dumps(LOG))
    done = run(tmp_path, "check", "log.json", "--policy", "policy.json", "--where", where, "--format", "json")
    verdict = judged(done, "fail")
    assert verdict["counts"]["trials"] == 4
    assert verdict["counts"]["left_out"] == 0
    rows = [json.loads(line) for line in run(tmp_path, "import", "inspect", "log.json").out.splitlines()]
    assert [(row["tags"], row["judge"], row["suite"]) for row in rows] == [({"model": "x"}, "match", "t")] * 4


def test_a_case_of_pydantic_evals_that_crashed_is_judged_with_its_repetitions(tmp_path):
    assertion = {"P": {"name": "P", "value": True, "source": {"name": "P", "arguments": None}}}
    case = {
        "name": "a [1/2]",
        "inputs": "a",
        "metadata": None,
        "output": "o",
        "metrics": {},
        "attributes": {"model": "x"},
        "scores": {},
        "labels": {},
        "assertions": assertion,
        "task_duration": 0.1,
        "source_case_name": "a",
        "evaluator_failures": [],
    }
    crash = {"name": "a [2/2]", "inputs": "a", "metadata": None, "error_message": "boom", "source_case_name": "a"}
    (tmp_path / "report.json").write_text(json.dumps({"name": "v", "cases": [case], "failures": [crash]}))
    (tmp_path / "policy.json").write_text(json.dumps(RULE))
    done = run(
        tmp_path, "check", "report.json", "--policy", "policy.json", "--where", "tags.model=x", "--format", "json"
    )
    assert judged(done, "fail")["counts"]["errors"] == 1


@pytest.mark.parametrize(
    ("column", "blanks"),
    [("tags", ("", " ", "\u200b", None)), ("tags.model", ("",)), ("model", ("", "\u2800")), ("suite", ("",)),
     ("judge", ("\t",)), ("agent_version", ("",))],
)  # fmt: skip
def test_a_blank_text_leaves_no_row_out_that_its_scenario_has_chosen(tmp_path, column, blanks):
    def said(text):
        return {"tags": {"model": text}} if column == "tags" else {column: text}

    named = "tags.model" if column == "tags" else column
    rows = [{"id": "b", "trial": 1, "passed": True, **said("x")}]
    for at, blank in enumerate(blanks):
        rows += [
            {"id": f"a{at}", "trial": 1, "passed": True, **said("x")},
            {"id": f"a{at}", "trial": 2, "passed": False, **said(blank)},
        ]
    verdict = judged(check(tmp_path, rows, {**RULE, "select": {named: "x"}}), "fail")
    assert verdict["counts"]["left_out"] == 0
    assert [one["id"] for one in verdict["scenarios_failed"]] == [f"a{at}" for at in range(len(blanks))]
    nowhere = [
        *rows,
        *({"id": f"c{at}", "trial": 1, "passed": False, **said(blank)} for at, blank in enumerate(blanks)),
    ]
    told = ", ".join(f"c{at}" for at in range(len(blanks)))
    count = "1 scenario" if len(blanks) == 1 else f"{len(blanks)} scenarios"
    refused(
        check(tmp_path, nowhere, RULE, "--where", f"{named}=x"), f"there is no row with {named} 'x' in {count}: {told}"
    )


@pytest.mark.parametrize(
    ("column", "blank", "name"),
    [("category", "", "results.jsonl"), ("category", " ", "results.csv"), ("category", "\u200b", "results.parquet"),
     ("capability", "", "results.parquet"), ("cluster", " ", "results.parquet"), ("tags.locale", "", "results.parquet"),
     ("team", "\u200b", "results.csv")],
)  # fmt: skip
def test_a_blank_text_describes_a_scenario_as_an_absent_one_does(tmp_path, column, blank, name):
    rows = [
        {"id": "a", "trial": 1, "passed": True, column: "adversarial"},
        {"id": "a", "trial": 2, "passed": False, column: blank},
        {"id": "b", "trial": 1, "passed": True, column: "adversarial"},
        {"id": "c", "trial": 1, "passed": False, column: blank},
    ]
    rule = {"metric": "pass_rate", "where": {column: "adversarial"}, "threshold": "80%"}
    verdict = judged(check(tmp_path, rows, {"rules": [rule], "slices": [column]}), "fail")
    written = tmp_path / name
    if name.endswith("csv"):
        lines = [",".join(rows[0]), *(",".join(str(value).lower() for value in row.values()) for row in rows)]
        written.write_text("\n".join(lines) + "\n", "utf-8")
    elif name.endswith("parquet"):
        parquet.write_table(pa.Table.from_pylist(rows), written)
    again = judged(run(tmp_path, "check", name, "--policy", "policy.json", "--format", "json"), "fail")
    assert again["rules"][0]["value"] == verdict["rules"][0]["value"] == 0.75
    assert [one["by"] for one in again["slices"]] == [{column: "adversarial"}]
