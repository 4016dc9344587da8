from __future__ import annotations

import json

import jsonschema
import pytest

from highbar.cli import run_guarded
from highbar.store.plan import schema
from tests import commandline
from tests.commandline import Run

RESULTS = "".join(json.dumps({"id": f"s{at}", "passed": at >= 5}) + "\n" for at in range(50))
POLICY = "evidence: confident\nthresholds: { blocking: { pass_rate: ≥ 85% } }\n"
SCHEMA = jsonschema.Draft202012Validator(schema())


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """The command line in a folder, without the half second of a process for each call."""

    def call(folder, *arguments):
        (folder / ".git").mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        code = run_guarded(arguments)
        return Run(code, *capfdbinary.readouterr())

    return call


@pytest.fixture
def plan(run):
    """The JSON plan."""

    def call(folder, *arguments):
        done = run(folder, "plan", *arguments, "--format", "json")
        assert done.exit == 0, done.err
        assert done.err == ""
        assert done.json["schema"] == "highbar/plan/1"
        SCHEMA.validate(done.json)
        return done.json

    return call


@pytest.fixture
def refusal(run):
    """The call with its problems; a plan that cannot be made is exit 2 and prints nothing."""

    def call(folder, *arguments):
        done = run(folder, "plan", *arguments)
        assert (done.exit, done.out) == (2, "")
        return done

    return call


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "results.jsonl").write_text(RESULTS, "utf-8")
    (tmp_path / "highbar.yaml").write_text(POLICY, "utf-8")
    return tmp_path


def test_scenarios_to_pass_and_to_fail(tmp_path, plan):
    document = plan(tmp_path, "--threshold", "85%", "--rate", "90%", "--rate", "80%")
    assert document["assumptions"] == {
        "confidence": 0.95,
        "power": 0.8,
        "tolerate": 0.05,
        "trials": 1,
        "correlation": None,
    }
    assert document["suppositions"] == [
        {"threshold": 0.85, "rate": 0.9, "outcome": "pass", "scenarios": 304, "runs": 304, "fewest": 281},
        {"threshold": 0.85, "rate": 0.8, "outcome": "fail", "scenarios": 381, "runs": 381, "fewest": 360},
    ]


@pytest.mark.parametrize(
    ("arguments", "scenarios"),
    [
        (("--power", "90%"), 408),
        (("--power", "0.9"), 408),
        (("--trials", "3", "--icc", "0.3"), 174),
        (("--confidence", "0.90"), 229),
    ],
)
def test_what_a_plan_assumes_can_be_said(tmp_path, arguments, scenarios, plan):
    document = plan(tmp_path, "--threshold", "≥ 85%", "--rate", "90%", *arguments)
    assert document["suppositions"][0]["scenarios"] == scenarios


def test_a_threshold_alone_is_tried_with_rates_on_both_sides(tmp_path, plan):
    outcomes = [row["outcome"] for row in plan(tmp_path, "--threshold", "85")["suppositions"]]
    assert outcomes == ["fail"] * 4 + ["pass"] * 5
    perfect = plan(tmp_path, "--threshold", "100%", "--tolerate", "1%")["suppositions"]
    assert (perfect[-1]["rate"], perfect[-1]["outcome"], perfect[-1]["scenarios"]) == (1, "pass", 299)
    assert [row["outcome"] for row in perfect[:-1]] == ["fail"] * 4


def test_what_a_suite_can_show(tmp_path, plan):
    document = plan(tmp_path, "--scenarios", "100")
    assert [row["threshold"] for row in document["suites"]] == [0.8, 0.85, 0.9, 0.95, 0.99, 1]
    row = document["suites"][1]
    assert (row["passes_from"], row["fails_to"]) == (92, 78)
    assert [
        (one["differing"], one["difference"] and round(one["difference"], 3)) for one in document["differences"]
    ] == [
        (0.05, None),
        (0.1, 0.079),
        (0.2, 0.111),
    ]


def test_how_a_suite_would_be_judged(tmp_path, plan):
    document = plan(tmp_path, "--scenarios", "100", "--threshold", "85%", "--rate", "90%")
    (row,) = document["chances"]
    assert (round(row["pass"], 2), round(row["fail"], 2), round(row["inconclusive"], 2)) == (0.32, 0, 0.68)
    assert document["differences"] == []


def test_scenarios_that_show_a_difference(tmp_path, plan):
    (row,) = plan(tmp_path, "--difference", "5%", "--differing", "20%")["differences"]
    assert row == {"scenarios": 495, "differing": 0.2, "difference": 0.05}
    assert plan(tmp_path, "--difference", "5%")["differences"][0]["scenarios"] == 248


def test_what_a_policy_needs(suite, plan):
    for arguments in ((), ("--policy", "highbar.yaml")):
        document = plan(suite, *arguments)
        (rule,) = document["rules"]
        assert (rule["rule"], rule["fewest"], rule["scenarios"]) == ("thresholds.blocking.pass_rate", 19, 126)
        assert document["policy"] == "highbar.yaml"
    (sized,) = plan(suite, "--policy", "highbar.yaml", "--scenarios", "100")["rules"]
    assert round(sized["rate_to_pass"], 3) == 0.935


def test_what_would_settle_each_rule(suite, run, plan):
    document = plan(suite, "results.jsonl")
    (rule,) = document["rules"]
    (judged,) = run(suite, "check", "results.jsonl", "--format", "json").json["rules"]
    assert (rule["settled"], rule["outcome"]) == (False, "inconclusive")
    assert rule["more_scenarios"] == judged["more_scenarios"] == pytest.approx(281 - 50, abs=10)
    assert document["counts"] == {"scenarios": 50, "trials": 50}
    assert document["repetition"] is None
    piped = commandline.run(suite, "plan", "-", "--input-format", "jsonl", "--format", "json", stdin=RESULTS.encode())
    assert piped.json["rules"] == document["rules"]


def test_the_exit_code_is_0_whatever_the_verdict_would_be(suite, run):
    assert run(suite, "check", "results.jsonl").exit == 3
    assert run(suite, "plan", "results.jsonl").exit == 0


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--threshold", "85%", "--rate", "85%"), "plan.impossible", "--rate"),
        (("--threshold", "85%", "--rate", "150%"), "option.bad-value", "--rate: found 150%"),
        (("--threshold", "0%"), "option.bad-value", "above 0%"),
        (("--threshold", "< 85%"), "option.bad-value", "--threshold: "),
        (("--rate", "90%"), "option.needs-another", "--rate needs --threshold"),
        (("--threshold", "85%", "--trials", "3"), "option.needs-another", "--trials needs --icc"),
        (("--threshold", "85%", "--icc", "0.3"), "option.needs-another", "--icc needs --trials"),
        (("--threshold", "85%", "--power", "100%"), "option.bad-value", "--power: found 100%"),
        (("--threshold", "85%", "--confidence", "0.4"), "option.bad-value", "--confidence: found 0.4"),
        (("--threshold", "85%", "--differing", "10%"), "option.needs-another", "--differing needs"),
        (("--difference", "20%"), "plan.impossible", "20%"),
        (("--scenarios", "0"), "option.bad-value", "--scenarios"),
        (("--scenarios", "100", "--trials", "3", "--icc", "0.3"), "option.needs-another", "--trials needs --threshold"),
        (("--threshold", "85%", "--policy", "highbar.yaml"), "option.conflict", "--policy"),
        (("missing.jsonl",), "file.missing", "missing.jsonl: "),
        (("missing.jsonl", "--power", "90%"), "option.conflict", "--power"),
        ((), "policy.missing", ""),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, arguments, code, named, refusal):
    done = refusal(tmp_path, *arguments)
    assert set(done.codes) == {code}
    assert named in done.err


def test_every_problem_is_said_at_once(tmp_path, refusal):
    done = refusal(tmp_path, "--threshold", "85%", "--rate", "x", "--power", "2", "--icc", "0.3", "--confidence", "5")
    assert all(f"{option}" in done.err for option in ("--rate:", "--power:", "--icc needs", "--confidence:"))


def test_a_policy_without_a_rule_about_a_number_has_no_plan(tmp_path, refusal):
    (tmp_path / "highbar.yaml").write_text("required_scenarios: { ids: [A] }\n")
    assert refusal(tmp_path).codes == ["plan.nothing"]


def test_a_refusal_as_json_is_json(tmp_path, run):
    done = run(tmp_path, "plan", "--threshold", "x", "--format", "json")
    assert done.exit == 2
    assert "--threshold" in done.json["problems"][0]["message"]


@pytest.mark.process
def test_a_plan_from_numbers_needs_no_engine(tmp_path):
    done = commandline.run(tmp_path, "plan", "--threshold", "85%", environment={"PYTHONVERBOSE": "1"})
    assert done.exit == 0
    assert "duckdb" not in done.err


# --- as text ---------------------------------------------------------------------------------


def test_the_text_says_the_same(suite, run):
    told = run(suite, "plan", "--threshold", "85%", "--rate", "90%").out
    assert told == (
        "confidence 95%, chance of a clear verdict 80%\n\n"
        "Scenarios needed\n"
        "  wanted  true rate  verdict  scenarios\n"
        "  ≥ 85%   90%        pass     304\n"
    )
    repeated = run(suite, "plan", "--threshold", "85%", "--rate", "90%", "--trials", "3", "--icc", "0.3").out
    assert "3 trials per scenario, correlation 0.3" in repeated
    assert repeated.splitlines()[-1].split() == ["≥", "85%", "90%", "pass", "174", "522"]


def test_the_text_of_a_suite(suite, run):
    told = run(suite, "plan", "--scenarios", "100", "--threshold", "85%", "--rate", "99%").out
    assert "  ≥ 85%   ≥ 93.5%  ≤ 74.8%  92 to 100 pass  0 to 78 pass  102\n" in told
    assert told.splitlines()[-1].split() == ["≥", "85%", "99%", "over", "99%", "under", "1%", "under", "1%"]
    small = run(suite, "plan", "--scenarios", "10", "--threshold", "85%").out
    assert "  ≥ 85%   -       ≤ " in small


def test_the_text_of_a_policy_and_of_results(suite, run):
    beforehand = run(suite, "plan").out
    row = ["thresholds.blocking.pass_rate", "≥", "85%", "19", "126", "126", "92.5%"]
    assert beforehand.splitlines()[-1].split() == row
    found = run(suite, "plan", "results.jsonl").out
    assert "50 scenarios, 50 trials: 0 of 1 rules about a number are settled\n" in found
    *row, needed = found.splitlines()[-1].split()
    assert row == ["thresholds.blocking.pass_rate", "90.0%", "≥", "85%", "50"]
    (rule,) = run(suite, "plan", "results.jsonl", "--format", "json").json["rules"]
    assert int(needed) == 50 + rule["more_scenarios"]


def test_the_text_of_repeated_trials(tmp_path, run):
    rows = [
        {"id": f"s{at}", "trial": trial, "passed": at < 20 or (at + trial) % 3 != 0}
        for at in range(40)
        for trial in range(3)
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    told = run(tmp_path, "plan", "results.jsonl").out
    assert "no policy" in told.splitlines()[0]
    assert "What trials buy" in told
    assert "20 scenarios passed only sometimes" in " ".join(told.split())


def test_what_stands_in_files_is_not_printed_raw(tmp_path, run):
    (tmp_path / "results.jsonl").write_text(RESULTS, "utf-8")
    (tmp_path / "p\x1b[31m.yaml").write_text(
        'rules: [{ metric: pass_rate, threshold: ≥ 85%, where: { team: "\\e[2Jx" } }]\n', "utf-8"
    )
    for arguments in (("results.jsonl",), ()):
        done = run(tmp_path, "plan", *arguments, "--policy", "p\x1b[31m.yaml")
        assert done.exit == 0, done.err
        assert b"\x1b" not in done.stdout


def test_the_text_of_differences_and_of_the_rules_that_a_suite_can_show(suite, run):
    told = run(suite, "plan", "--scenarios", "100").out
    assert told.splitlines()[-2].split() == ["10%", "7.9", "points", "100"]
    assert told.splitlines()[-3].split() == ["5%", "-", "100"]
    sized = run(suite, "plan", "--scenarios", "100", "--policy", "highbar.yaml").out
    assert sized.splitlines()[-1].split() == ["thresholds.blocking.pass_rate", "≥", "85%", "≥", "93.5%", "≤", "74.8%"]
    (suite / "highbar.yaml").write_text("thresholds: { warning: { error_rate: ≤ 5%, cost_per_pass: 0.5 } }\n", "utf-8")
    lower = run(suite, "plan", "--scenarios", "100", "--policy", "highbar.yaml").out
    assert "  thresholds.warning.error_rate  ≤ 5%    ≤ 0.8%  ≥ 12.3%\n" in lower
    assert "Rules without a number\n  thresholds.warning.cost_per_pass: how much cost_per_pass varies" in lower


def test_a_difference_and_a_threshold_may_be_asked_together(tmp_path, plan):
    document = plan(tmp_path, "--difference", "5%", "--threshold", "85%", "--rate", "90%", "--scenarios", "100")
    assert [row["scenarios"] for row in document["differences"]] == [248]
    assert len(document["chances"]) == len(document["suites"]) == 1


def test_repeated_trials_as_json(tmp_path, plan):
    rows = [{"id": f"s{at}", "trial": trial, "passed": (at * trial) % 3 != 1} for at in range(30) for trial in range(3)]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = plan(tmp_path, "results.jsonl")["repetition"]
    assert found["trials"] == 3
    assert [row["trials"] for row in found["equal"]] == [1, 2, 3, 5, 10]
    assert 0 <= found["narrowest"] < 1


# --- runs that stop early --------------------------------------------------------------------


def test_a_run_that_stops_early_beside_all_scenarios_judged_once(tmp_path, plan):
    document = plan(tmp_path, "--sequential", "--threshold", "85%", "--scenarios", "200", "--rate", "95%")
    (row,) = document["sequential"]
    assert (round(row["pass"], 4), round(row["expected"], 1)) == (0.9985, 66.8)
    assert round(row["fixed"]["pass"], 3) == 1.0
    assert (row["rule"], row["spending"], row["scenarios"]) == (None, "linear", 200)


def test_a_run_that_stops_early_is_tried_at_the_threshold_and_on_both_sides(tmp_path, plan, run):
    arguments = ("--sequential", "--threshold", "85%", "--scenarios", "200")
    document = plan(tmp_path, *arguments)
    at = next(row for row in document["sequential"] if row["rate"] == 0.85)
    assert (round(at["pass"], 4), round(at["fail"], 4), round(at["expected"], 1)) == (0.0493, 0.0495, 190.5)
    text = run(tmp_path, "plan", *arguments).out
    assert "85%        5% (4%)      90% (91%)     5% (5%)      190 of 200  -" in text


def test_late_spending_saves_less_and_passes_more(tmp_path, plan):
    arguments = ("--sequential", "--threshold", "85%", "--scenarios", "200", "--rate", "90%")
    (linear,), (late,) = (plan(tmp_path, *arguments, "--spending", kind)["sequential"] for kind in ("linear", "late"))
    assert late["pass"] > linear["pass"]
    assert late["expected"] > linear["expected"]


def test_every_rule_of_a_policy_if_the_run_stops_early(tmp_path, plan, run):
    policy = "evidence: sequential\nspending: late\nthresholds: { blocking: { pass_rate: 85%, accuracy: 90% } }\n"
    (tmp_path / "highbar.yaml").write_text(policy, "utf-8")
    document = plan(tmp_path, "--sequential", "--scenarios", "150")
    assert {(row["rule"], row["level"], row["spending"]) for row in document["sequential"]} == {
        ("thresholds.blocking.pass_rate", "blocking", "late"),
        ("thresholds.blocking.accuracy", "blocking", "late"),
    }
    assert document["joint_sequential"]["rules"] == document["joint"]["rules"] == 2
    assert "Without --scenarios, up to: the rule's horizon" in " ".join(
        run(tmp_path, "plan", "--sequential").out.split()
    )
    text = " ".join(run(tmp_path, "plan", "--sequential", "--scenarios", "150").out.split())
    assert "Without --scenarios" not in text
    assert "All 2 blocking rules at once, for an agent halfway to perfection: a chance between" in text
    assert "if the run stops early" in text
    assert "late spending, policy highbar.yaml" in text


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--sequential", "--threshold", "85%"), "option.needs-another", "--sequential needs --scenarios"),
        (("--spending", "late", "--threshold", "85%"), "option.needs-another", "--spending needs --sequential"),
        (("--sequential", "--spending", "late"), "option.needs-another", "--spending needs --threshold"),
        (("--sequential", "--scenarios", "90", "--difference", "5%"), "option.conflict", "--difference"),
        (
            ("--sequential", "--scenarios", "90", "--threshold", "85%", "--trials", "3", "--icc", "0.3"),
            "option.conflict",
            "--trials",
        ),
        (("--sequential", "--scenarios", "90", "--threshold", "85%", "--power", "90%"), "option.conflict", "--power"),
        (("--sequential", "--scenarios", "90000", "--threshold", "85%"), "option.bad-value", "20000"),
    ],
)
def test_what_does_not_go_with_a_run_that_stops_early_is_refused(suite, arguments, code, named, refusal):
    done = refusal(suite, *arguments)
    assert set(done.codes) == {code}
    assert named in done.err


def test_results_do_not_go_with_a_run_that_stops_early(suite, refusal):
    done = refusal(suite, "results.jsonl", "--sequential")
    assert done.codes == ["option.conflict"]
    assert "--sequential" in done.err.splitlines()[0]
    assert "highbar plan --sequential --scenarios 200" in done.err
