"""A baseline of several runs: what is pooled, what is refused, and how later runs are compared with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar import history
from highbar.history.pooled_records import pooled_record
from highbar.model.job import Job, Wants
from highbar.pipeline import check_result
from highbar.running.order import permutation
from highbar.store import baseline_reading
from tests.commandline import run
from tests.judged_results import judged_row, labels_of, write_lines
from tests.recorded_runs import record
from tests.repository import commit, put

pytestmark = pytest.mark.process  # git says which commits are ancestors
ALONE = {"thresholds": {"pass_rate": "70%"}}
POLICY = {
    **ALONE,
    "baseline": {"file": "baseline.json", "margin": {"pass_rate": "0%", "latency_p95": "10% of baseline"}},
}
NEW = {**POLICY, "baseline": {"file": "baseline.json", "new_failures": "all"}}


def rows(number, *failed, scenarios=20, trials=1, text="question {}", **columns):
    """Results in which these scenarios fail, in all trials."""
    return "".join(
        json.dumps(
            {
                "id": f"S{n}",
                "trial": trial,
                "input": text.format(n),
                "passed": f"S{n}" not in failed,
                "latency_ms": 100 * n + number,
                **columns,
            }
        )
        + "\n"
        for n in range(scenarios)
        for trial in range(1, trials + 1)
    )


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    put(tmp_path, {"highbar.json": ALONE})
    return tmp_path


@pytest.fixture
def add(made):
    """Adds a run to the history of a folder, or copies its record if a test before this one has made it."""

    def add(folder, number, *failed, **how):
        # What is there already, a baseline or a repository, has a say in the record.
        if (folder / "baseline.json").exists() or (folder / ".git" / "HEAD").exists():
            add_anew(folder, number, *failed, **how)
        else:
            assert json.loads((folder / "highbar.json").read_text()) == ALONE
            made(folder, add_alone, number, *failed, **how)

    return add


def add_alone(folder, number, *failed, **how):
    put(folder, {"highbar.json": ALONE})
    add_anew(folder, number, *failed, **how)


def add_anew(folder, number, *failed, options=(), **how):
    put(folder, {"run.jsonl": rows(number, *failed, **how)})
    done = run(folder, "history", "add", "run.jsonl", "--time", f"2026-11-{number:02}", *options)
    assert done.exit == 0, done.err


def recorded(folder, *options, policy=POLICY):
    put(folder, {"highbar.json": policy})
    return run(folder, "baseline", "record", "--history", "history", *options)


def baseline(folder):
    return baseline_reading.read_baseline(folder / "baseline.json")


def judged(folder, number, *failed, policy=POLICY, **how):
    put(folder, {"highbar.json": policy, "now.jsonl": rows(number, *failed, **how)})
    return run(folder, "check", "now.jsonl", "--format", "json")


# --- what is pooled ---------------------------------------------------------------------------


def test_the_last_five_runs_are_pooled_scenario_by_scenario_failed_ones_included(add, project):
    for number, failed in enumerate([("S0",) * 1, ("S1",), tuple(f"S{n}" for n in range(9)), (), (), ("S1", "S2")], 1):
        add(project, number, *failed)
    assert [one.verdict for one in history.read_history(project / "history").runs].count("fail") == 1
    done = recorded(project)
    assert done.exit == 0, done.err
    assert done.out.startswith("wrote baseline.json: 20 scenarios, ")
    assert "pooled from 5 runs" in done.out
    found = baseline(project)
    assert (found.runs, found.trials) == (5, 100)
    counts = {one.id: (one.passed, one.trials) for one in found.scenarios}
    assert (counts["S0"], counts["S1"], counts["S19"]) == ((4, 5), (2, 5), (5, 5))
    assert float(found.metrics["pass_rate"].value) == pytest.approx(1 - 12 / 100)
    assert found.metrics["latency_p95"].value == 1806
    shown = run(project, "baseline", "show").out
    assert "pooled from  5 runs of a history" in shown


def test_fewer_runs_than_asked_for_are_said(add, project):
    add(project, 1)
    add(project, 2, "S1")
    done = recorded(project, "--runs", "3")
    assert done.exit == 0
    assert "only 2 runs of the 3 asked for; the fewer, the more luck is in it" in done.out
    assert baseline(project).runs == 2


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"options": ("--agent", "other")}, "1 run of an agent with no name, or of a named one"),
        ({"judge": "another"}, "1 run with another judge"),
        ({"options": ("--branch", "topic")}, "1 run of other branches"),
    ],
)
def test_runs_that_are_not_alike_are_left_out_and_that_is_said(add, project, how, reason):
    add(project, 1, "S1", **how)
    add(project, 2, judge="one") if "judge" in how else add(project, 2)
    done = recorded(project)
    assert done.exit == 0, done.err
    assert f"left out: {reason}" in done.out
    assert baseline(project).runs == 1


def test_a_run_with_undecided_trials_is_left_out(add, project):
    add(project, 1)
    put(project, {"run.jsonl": rows(2) + json.dumps({"id": "U", "unjudged": "the judge failed", "trial": 1}) + "\n"})
    assert run(project, "history", "add", "run.jsonl", "--time", "2026-11-02").exit == 0
    done = recorded(project)
    assert "left out: 1 run with undecided trials" in done.out
    assert "U" not in {one.id for one in baseline(project).scenarios}


def test_a_run_that_stopped_early_is_left_out(project):
    """It lacks scenarios, so that nothing would compare them; `baseline record RUN` refuses it, too."""
    ids = [f"S{n}" for n in range(60)]
    suite = {"scenarios": [{"id": id_, "input": "Is it?", "answer": {"contains": "yes"}} for id_ in ids]}
    alone = {"evidence": "sequential", "thresholds": {"pass_rate": "80%"}}
    policy = {**alone, "baseline": POLICY["baseline"]}
    put(project, {"suite.json": suite, "highbar.json": alone})
    first = permutation(ids, 1)[:40]
    record(project / "part", project / "suite.json", lambda id_, _: "yes" if id_ in first else None, how="decided")
    assert run(project, "check", "part", "--history", "history").exit == 0
    refused = recorded(project, policy=policy)
    assert refused.exit == 2
    assert "no run of this history can be pooled: 1 run that stopped early" in refused.err
    assert "--run-all" in refused.err
    assert not (project / "baseline.json").exists()
    record(project / "whole", project / "suite.json", lambda *_: "yes", seed=2)
    put(project, {"highbar.json": alone})
    assert run(project, "check", "whole", "--history", "history").exit == 0
    done = recorded(project, policy=policy)
    assert done.exit == 0, done.err
    assert "left out: 1 run that stopped early" in done.out
    assert (len(baseline(project).scenarios), baseline(project).runs) == (60, 1)


def test_only_runs_of_the_same_text_of_a_scenario_are_pooled(add, project):
    add(project, 1, "S1", text="old {}")
    add(project, 2)
    add(project, 3, "S1")
    assert recorded(project).exit == 0
    assert {one.trials for one in baseline(project).scenarios} == {2}


def test_a_scenario_that_is_new_has_fewer_trials(add, project):
    add(project, 1, scenarios=19)
    add(project, 2)
    assert recorded(project).exit == 0
    assert {one.id: one.trials for one in baseline(project).scenarios} == {
        **{f"S{n}": 2 for n in range(19)},
        "S19": 1,
    }


def test_runs_of_commits_that_are_no_ancestors_are_left_out(add, project):
    first = commit(project, {".gitignore": "*\n"})
    add(project, 1, options=("--commit", first))
    add(project, 2, "S1", options=("--commit", "f" * 40))
    done = recorded(project)
    assert "1 run of commits that are no ancestors" in done.out
    assert baseline(project).runs == 1


def test_a_damaged_record_is_named_and_left_out(add, project):
    add(project, 1, "S1")
    add(project, 2)
    first = history.read_history(project / "history").runs[0]
    path = project / "history" / f"{first.record}.parquet"
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    done = recorded(project)
    assert (done.exit, baseline(project).runs) == (0, 1)
    assert f"history/{first.record}.parquet is left out" in done.err


def test_pooling_twice_gives_the_same_bytes(add, project):
    for number in (1, 2, 3):
        add(project, number, f"S{number}")
    recorded(project)
    first = (project / "baseline.json").read_bytes()
    recorded(project)
    assert (project / "baseline.json").read_bytes() == first


# --- what is refused --------------------------------------------------------------------------


def test_runs_that_together_miss_a_threshold_need_force(add, project):
    for number in (1, 2):
        add(project, number, *(f"S{n}" for n in range(8)))
    done = recorded(project)
    assert done.exit == 2
    assert "the runs together fail: thresholds.blocking.pass_rate" in done.err
    assert not (project / "baseline.json").exists()
    assert recorded(project, "--force", "a new model").exit == 0
    assert (baseline(project).forced, baseline(project).verdict) == ("a new model", "fail")


@pytest.mark.parametrize("rule", [{"required_scenarios": ["S1"]}, {"suite": "ids.txt"}, {}])
def test_a_policy_without_rules_about_metrics_can_pool_runs_too(add, project, rule):
    for number in (1, 2):
        add(project, number, "S3", scenarios=4)
    put(project, {"ids.txt": "S0\nS1\nS2\nS3\n"})
    done = recorded(project, policy={**rule, "baseline": NEW["baseline"]})
    assert done.exit == 0, done.err
    assert (baseline(project).runs, baseline(project).verdict) == (2, "inconclusive")


def test_shares_that_a_policy_corrects_for_its_judge_do_not_pass_uncorrected(project):
    """The judge passes everything, and people only every second trial. Records have no single trials to correct."""
    answers = [judged_row(f"s{n}", True) for n in range(20)]
    write_lines(project / "labels.jsonl", labels_of(answers, {f"s{n}": n % 2 == 0 for n in range(20)}))
    policy = {"thresholds": {"pass_rate": "70%", "accuracy": "70%"}, "judge": {"labels": "labels.jsonl"}}
    for correct, exit_ in ((False, 0), (True, 2)):
        policy["judge"]["correct"] = correct
        put(project, {"highbar.json": policy})
        rows = [{**row, "correct": True} for row in answers]
        write_lines(project / "run.jsonl", rows)
        added = run(project, "history", "add", "run.jsonl", "--time", f"2026-11-0{1 + correct}")
        assert added.exit == 0, added.err
        done = recorded(project, policy={**policy, "baseline": NEW["baseline"]})
        assert done.exit == exit_, done.err
    assert "the runs together are inconclusive: thresholds.blocking.pass_rate" in done.err
    assert "`judge: correct` needs the trials that people labeled" in done.err


def test_one_failed_run_among_good_ones_needs_none(add, project):
    for number in (1, 2, 3, 4):
        add(project, number)
    add(project, 5, *(f"S{n}" for n in range(8)))
    assert recorded(project).exit == 0


def test_runs_that_are_surely_worse_than_the_present_baseline_need_force(add, project):
    for number in (1, 2, 3):
        add(project, number)
    assert recorded(project).exit == 0
    for number in (4, 5, 6, 7, 8):
        add(project, number, *(f"S{n}" for n in range(5)))
    done = recorded(project)
    assert done.exit == 2
    assert "the runs together fail: baseline.pass_rate" in done.err


def test_a_scenario_that_passed_in_the_baseline_and_in_none_of_the_runs_needs_force(add, project):
    for number in (1, 2, 3):
        add(project, number)
    assert recorded(project, policy=NEW).exit == 0
    for number in (4, 5, 6, 7, 8):
        add(project, number, "S3")
    done = recorded(project, policy=NEW)
    assert (done.exit, done.codes) == (2, ["baseline.not-comparable"])
    assert ": S3\n" in done.err


def test_a_scenario_that_is_gone_needs_force(add, project):
    add(project, 1)
    assert recorded(project).exit == 0
    add(project, 2, scenarios=19)
    done = recorded(project, "--runs", "1")
    assert (done.exit, done.codes, ": S19\n" in done.err) == (2, ["baseline.not-comparable"], True)


def test_runs_that_were_scored_in_another_way_are_refused(add, project):
    add(project, 1)
    done = recorded(project, policy={**POLICY, "pass_score": 0.5})
    assert (done.exit, done.codes) == (2, ["history.not-poolable"])


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--history", "nowhere"], "history.missing", "nowhere"),
        (["run.jsonl", "--history", "history"], "option.conflict", "RESULTS"),
        (["--history", "history", "--where", "judge=a"], "option.conflict", "--where"),
        (["run.jsonl", "--runs", "3"], "option.needs-another", "--runs"),
        ([], "option.missing", "--history DIR"),
    ],
)
def test_wrong_usage_is_refused(add, project, words, code, named):
    add(project, 1)
    put(project, {"highbar.json": POLICY})
    done = run(project, "baseline", "record", *words)
    assert (done.exit, done.codes, named in done.err) == (2, [code], True), done.err


# --- compared with it -------------------------------------------------------------------------


def test_every_report_says_from_how_many_runs_the_baseline_is(add, project):
    for number in (1, 2, 3):
        add(project, number, f"S{number}")
    recorded(project)
    done = judged(project, 9, "S1", "S7")
    assert "90.0% against 95.0% in the baseline of 3 runs, -5.0 points" in done.rule("baseline.pass_rate")["reason"]
    assert "the base is a baseline of 3 runs, pooled scenario by scenario" in done.json["warnings"]
    text = run(project, "compare", "baseline.json", "now.jsonl").out
    assert "60 trials, 3 runs pooled" in text
    document = json.loads(run(project, "compare", "baseline.json", "now.jsonl", "--format", "json").out)
    assert (document["base"]["runs"], document["head"]["runs"]) == (3, 1)


def test_a_scenario_that_failed_in_a_pooled_run_is_no_new_failure_and_one_that_never_did_is(add, project):
    for number, failed in enumerate([("S1",), (), ("S2",), (), ()], 1):
        add(project, number, *failed)
    recorded(project, policy=NEW)
    found = judged(project, 9, "S1", policy=NEW).rule("baseline.new_failures")
    assert (found["outcome"], "S1 (4 of 5 before), which their earlier runs do not rule out" in found["reason"]) == (
        "pass",
        True,
    )


def test_a_scenario_that_passed_in_some_of_the_pooled_runs_is_not_called_fixed(add, project):
    for number, failed in enumerate([("S1", "S2", "S3"), ("S2",), ("S2",)], 1):
        add(project, number, *failed)
    recorded(project, policy=NEW)
    (found,) = (note for note in judged(project, 9, policy=NEW).json["warnings"] if "since the baseline" in note)
    assert found.endswith("2 passed now, and only sometimes in the baseline: S1, S3; 1 was fixed: S2")


def test_one_failure_in_a_baseline_without_any_is_new(add, project):
    for number in range(1, 6):
        add(project, number)
    recorded(project, policy=NEW)
    assert judged(project, 9, "S7", policy=NEW).rule("baseline.new_failures")["outcome"] == "fail"


def test_a_scenario_that_failed_once_of_many_and_now_always_is_new(add, project):
    for number, failed in enumerate([("S1",), (), (), (), ()], 1):
        add(project, number, *failed, trials=4)
    recorded(project, policy=NEW)
    found = judged(project, 9, "S1", trials=8, policy=NEW).rule("baseline.new_failures")
    assert (found["outcome"], "not now: S1" in found["reason"]) == ("fail", True)


@pytest.mark.parametrize(
    "block", [{}, {"quarantine": ["S19"]}, {"baseline": {**NEW["baseline"], "history": "history"}}]
)
def test_a_scenario_that_is_left_out_is_no_better_than_one_that_fails(add, project, block):
    for number, failed in enumerate([("S19",), (), (), (), ()], 1):
        add(project, number, *failed, trials=4)
    recorded(project, policy=NEW)
    found = judged(project, 9, scenarios=19, trials=4, policy={**NEW, **block}).rule("baseline.new_failures")
    assert found["outcome"] == "fail"
    assert found["reason"] == "1 scenario passed in the baseline, with no result now: S19"


# --- laws -------------------------------------------------------------------------------------

VALUES = {
    "latency_ms": st.integers(0, 5000),
    "correct": st.booleans(),
    "quality_score": st.sampled_from([0, 0.25, 1]),
    "violations": st.lists(st.just("leak"), max_size=1),
    "tokens_used": st.integers(1, 900),
}


@st.composite
def several_runs(draw):
    """Runs of two scenarios, each of which has the same columns in all of them.

    None crashes: alone in its run, a crash counts in all that its scenario might ask for; beside other trials of one
    run, only in what these show that it asks for.
    """
    columns = [draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True)) for _ in range(2)]
    return [
        [{"passed": draw(st.booleans()), **{name: draw(VALUES[name]) for name in own}} for own in columns]
        for _ in range(draw(st.integers(1, 3)))
    ]


@pytest.mark.slow
@settings(max_examples=25)
@given(several_runs(), st.integers(1, 2))
def test_pooled_runs_are_what_one_run_with_all_their_trials_is(tmp_path_factory, runs, trials):
    """Scenario by scenario, for every measure that all of the runs have."""
    folder = tmp_path_factory.mktemp("pooled")

    def records(name, listed):
        file = folder / name
        file.write_text("".join(json.dumps(row) + "\n" for row in listed))
        job = Job((str(file),), policy={"thresholds": {"pass_rate": "1%"}}, wants=Wants(run=True))
        found = check_result(job).run
        assert found is not None
        return {one.id: one for one in found.records}

    parts = [
        [{"id": f"S{n}", "trial": trial, **row} for n, row in enumerate(one) for trial in range(1, trials + 1)]
        for one in runs
    ]
    # A record is of one scenario: the runs can be read together, each with scenarios of its own.
    apart = [{**row, "id": f"{row['id']} of run {number}"} for number, part in enumerate(parts) for row in part]
    alone = records("apart.jsonl", apart)
    whole = records(
        "all.jsonl",
        [{**row, "trial": row["trial"] + 10 * number} for number, part in enumerate(parts) for row in part],
    )
    for id_, expected in whole.items():
        found = pooled_record([alone[f"{id_} of run {number}"] for number in range(len(parts))])
        assert (found.trials, found.passed) == (expected.trials, expected.passed)
        assert found.values == expected.values
        assert {name: found.ranked(name) for name in expected.ranks} == expected.ranks
        assert (found.lone, found.valueless) == (expected.lone, expected.valueless)
