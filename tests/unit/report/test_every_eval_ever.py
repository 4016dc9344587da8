"""The aggregate of Every Eval Ever: by its published schema, over generated verdicts, and what `--meta` must say."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

import highbar
from highbar.errors import InputError, Problem
from highbar.model import Value, Verdict
from highbar.model.judge_quality import CorrectedShare
from highbar.report import REPORTERS, Display
from tests.commandline import run
from tests.examples import shared
from tests.reports.readers import EVERY_EVAL_EVER, META, META_OPTIONS
from tests.unit.report.strategies import VERDICTS
from tests.unit.report.verdicts import FAILING

SCHEMA = jsonschema.Draft7Validator(json.loads((EVERY_EVAL_EVER / "eval.schema.json").read_text("utf-8")))
ROWS = [{"id": f"S{number}", "passed": number > 0} for number in range(5)]
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


def written(verdict: Verdict = FAILING, **meta: str) -> dict[str, Any]:
    document = json.loads(REPORTERS["every-eval-ever"](verdict, Display(meta=tuple({**META, **meta}.items()))))
    SCHEMA.validate(document)
    found: dict[str, Any] = document
    return found


def results(verdict: Verdict = FAILING) -> dict[str, dict[str, Any]]:
    return {one["evaluation_result_id"]: one for one in written(verdict)["evaluation_results"]}


def of_one(value: Value) -> dict[str, Any]:
    return results(replace(FAILING, metrics={"own": value}))["own"]


def checked(folder: Path, *arguments: str, **environment: str):
    (folder / "policy.json").write_text(json.dumps(HALF), "utf-8")
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    command = ("check", "results.jsonl", "--policy", "policy.json", *arguments)
    return run(folder, *command, environment=environment)


@pytest.mark.slow
@shared(VERDICTS)
def test_every_verdict_fits_the_published_schema(verdict):
    document = written(verdict)
    for one in document["evaluation_results"]:
        scale, score = one["metric_config"], one["score_details"]["score"]
        if scale.get("metric_unit") == "proportion" and 0 <= score <= 1:
            assert scale["min_score"] <= score <= scale["max_score"]


@shared(VERDICTS)
def test_a_metric_is_an_evaluation_result_exactly_if_it_has_a_value(verdict):
    document = written(verdict)
    assert [one["evaluation_result_id"] for one in document["evaluation_results"]] == [
        name for name, value in verdict.metrics.items() if value.value is not None
    ]
    details = document["eval_library"]["additional_details"]
    undefined = {name.removeprefix("undefined.") for name in details if name.startswith("undefined.")}
    assert undefined == {name for name, value in verdict.metrics.items() if value.value is None}


def test_a_result_has_its_score_its_interval_and_the_number_of_scenarios():
    accuracy = results()["accuracy"]
    assert accuracy["score_details"]["score"] == 0.92
    assert accuracy["score_details"]["uncertainty"] == {
        "confidence_interval": {
            "lower": 0.826,
            "upper": 0.972,
            "confidence_level": 0.9,  # each end holds with 95 %
            "method": "two one-sided bounds, each with confidence 0.95, over scenarios;"
            " see Highbar's page on confidence",
        },
        "num_samples": 50,
    }
    assert accuracy["metric_config"]["metric_id"] == "highbar.accuracy"
    assert accuracy["metric_config"]["lower_is_better"] is False


def test_the_level_of_the_interval_follows_the_policy():
    (level,) = {
        one["score_details"]["uncertainty"]["confidence_interval"]["confidence_level"]
        for one in results(replace(FAILING, confidence=Fraction(99, 100))).values()
        if "confidence_interval" in one["score_details"]["uncertainty"]
    }
    assert level == 0.98


def test_the_scale_is_claimed_only_if_it_is_known():
    latency = results()["latency_p95"]["metric_config"]
    assert (latency["min_score"], latency["max_score"], latency["lower_is_better"]) == (0, "Infinity", True)
    below = of_one(Value(Fraction(-3), 5, 0, "ms", "lower"))["metric_config"]
    assert (below["min_score"], below["max_score"]) == ("-Infinity", "Infinity")
    plain = of_one(Value(Fraction(7), 5, 0, "number", "higher"))["metric_config"]
    assert not {"score_type", "min_score", "max_score"} & {*plain}


def test_an_interval_with_one_end_and_what_is_not_known_are_details():
    found = of_one(
        Value(
            Fraction(1, 2), 5, 2, "ratio", "higher", low=0.25, undecided=3, best=Fraction(1),
        )
    )["score_details"]  # fmt: skip
    assert found["uncertainty"] == {"num_samples": 5}
    assert found["details"] == {
        "undecided_trials": "3", "score_at_best": "1.0", "missing_scenarios": "2",
        "lower": "0.25",
    }  # fmt: skip


def test_the_record_says_the_verdict_and_every_rule_and_quotes_no_agent():
    details = written()["eval_library"]["additional_details"]
    assert details["verdict"] == "fail"
    assert {name for name in details if name.startswith("rule.")} == {f"rule.{rule.rule}" for rule in FAILING.rules}
    text = json.dumps(details)
    assert not [one.reason for one in FAILING.scenarios_failed if one.reason in text]
    assert FAILING.policy is not None
    assert FAILING.policy.file not in text


def test_meta_describes_model_source_and_dataset():
    more = {"model_name": "Agent 2", "developer": "Example", "deployment_type": "self_deployed", "commit": "4f2a9c1"}
    document = written(**more, hf_repo="example/support", evaluation_name="support v2", source_name="nightly")
    assert document["evaluation_id"] == "support v2/example/agent-2/1794873600"
    assert document["retrieved_timestamp"] == "1794873600"
    model = document["model_info"]
    assert (model["name"], model["id"], model["developer"]) == ("Agent 2", "example/agent-2", "Example")
    assert model["additional_details"]["deployment_type"] == "self_deployed"
    assert model["additional_details"]["model_availability"] == "unknown"
    assert document["source_metadata"]["source_name"] == "nightly"
    assert document["source_metadata"]["additional_details"] == {"commit": "4f2a9c1"}
    data = {json.dumps(one["source_data"]) for one in document["evaluation_results"]}
    assert data == {json.dumps({"dataset_name": "support", "source_type": "hf_dataset", "hf_repo": "example/support"})}
    url = written(dataset_url="https://example.org/suite")["evaluation_results"][0]["source_data"]
    assert (url["source_type"], url["url"]) == ("url", ["https://example.org/suite"])


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("2026-11-17T01:00:00+01:00", "1794873600"),
        ("2026-11-17T00:00:00Z", "1794873600"),
        ("1794873600.5", "1794873600.5"),
        ("20261117", "1794873600"),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("1e9", None),
    ],
)
def test_a_date_is_seconds_since_1970_or_refused(date, seconds):
    if seconds is None:
        with pytest.raises(InputError, match="cannot read this as a date"):
            written(date=date)
    else:
        assert written(date=date)["retrieved_timestamp"] == seconds


@pytest.mark.parametrize("key", META)
def test_what_is_missing_is_said_in_one_message_before_anything_is_read(tmp_path, key):
    given = [f"--meta={name}={value}" for name, value in META.items() if name != key]
    done = run(tmp_path, "check", "absent.jsonl", "--output", "every_eval_ever=record.json", *given)
    assert done.exit == 2
    assert done.err.splitlines()[0] == f"the format every-eval-ever needs {key}, which results do not say"
    assert done.err.splitlines()[1].startswith(f"hint: --meta {key}=")
    assert not (tmp_path / "record.json").exists()


def test_all_that_is_missing_is_one_message_and_the_hint_can_be_pasted(tmp_path):
    done = checked(tmp_path, "--format", "every-eval-ever")
    assert done.exit == 2
    assert f"needs {', '.join(META)}," in done.err
    hint = done.err.splitlines()[1].removeprefix("hint: ").split()
    again = checked(tmp_path, "--format", "every-eval-ever", *hint)
    assert again.exit == 0, again.err
    SCHEMA.validate(json.loads(again.out))


@pytest.mark.parametrize("key", ["evaluator_relationship", "deployment_type", "model_availability"])
def test_a_word_that_the_schema_does_not_have_is_refused(tmp_path, key):
    others = [f"--meta={name}={value}" for name, value in META.items() if name != key]
    done = checked(tmp_path, "--format", "every-eval-ever", *others, "--meta", f"{key}=ours")
    assert done.exit == 2
    assert f"--meta {key}=ours: wanted one of " in done.err


def test_a_record_of_an_earlier_run_does_not_outlive_a_call_without_meta(tmp_path):
    output = ("--output", "every-eval-ever=record.json")
    assert checked(tmp_path, *output, *META_OPTIONS).exit == 0
    assert checked(tmp_path, *output).exit == 2
    document = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert document["eval_library"]["additional_details"]["verdict"] == "none"
    assert document["evaluation_results"] == []


def test_a_record_without_a_verdict_cannot_be_published():
    document = json.loads(REPORTERS["every-eval-ever"].refusal([Problem("no rows")]))
    assert document["eval_library"]["additional_details"] == {"verdict": "none", "problem.1": "no rows"}
    assert not SCHEMA.is_valid(document)


def test_in_ci_the_date_may_be_known(tmp_path):
    gitlab = {"GITLAB_CI": "true", "CI_JOB_STARTED_AT": "2026-11-17T00:00:00Z", "CI_COMMIT_SHA": "4f2a9c1"}
    given = [f"--meta={name}={value}" for name, value in META.items() if name != "date"]
    done = checked(tmp_path, "--format", "every_eval_ever", *given, **gitlab)
    assert done.exit == 0, done.err
    assert json.loads(done.out)["retrieved_timestamp"] == "1794873600"


def test_python_says_it_too():
    verdict = highbar.check([{"id": "a", "passed": True}], HALF)
    SCHEMA.validate(json.loads(highbar.render(verdict, "every-eval-ever", META)))
    with pytest.raises(InputError, match="needs model_id"):
        highbar.render(verdict, "every-eval-ever")


def test_what_was_written_is_recognized_and_refused_as_results(tmp_path):
    (tmp_path / "record.json").write_text(json.dumps(written()), "utf-8")
    done = run(tmp_path, "check", "record.json", "--policy", "typical")
    assert done.exit == 2
    assert "this holds no samples" in done.err


def test_a_correction_that_the_labels_cannot_show_is_undefined():
    shown = of_one(Value(Fraction(1, 2), 2, 0, "ratio", "higher", corrected=CorrectedShare(None, reason="no labels")))
    assert shown["score_details"]["details"]["score_corrected_for_judge"] == "undefined"
