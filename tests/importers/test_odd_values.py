"""One odd value neither arms nor disarms a scorer of MLflow or OpenTelemetry, whose files do not declare its type.

Law: if one value in a failing row of a scorer becomes something odd, the file does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.commandline import Run, judged, refused, run
from tests.importers.test_otel import attributes
from tests.importers.test_who_judges import trace

RULE = "thresholds: { blocking: { pass_rate: 100% } }\n"
Said = Sequence[object]


def mlflow(safe: Said, source: str = "CODE", name: str = "safe") -> str:
    """A table whose rows are all correct, and what a second scorer says of each."""
    records = [trace(number, said) for number, said in enumerate(safe)]
    text = json.dumps(records).replace('"safe', f'"{name}')
    code, judge = (json.dumps({"source_type": kind, "source_id": name}) for kind in ("CODE", source))
    return text.replace(code, judge)


def otel(safe: Said) -> str:
    """Runs that are all polite, and what a second evaluator says of each: a label, or a number for a score."""
    records = []
    for number, said in enumerate(safe):
        for name, value in (("polite", "pass"), ("safe", said)):
            given = {"test.case.name": f"case {number}", "gen_ai.evaluation.name": name}
            told = attributes(given)
            if isinstance(value, str):
                told += attributes({"gen_ai.evaluation.score.label": value})
            elif isinstance(value, bool):
                told.append({"key": "gen_ai.evaluation.score.label", "value": {"boolValue": value}})
            elif value is not None:
                told.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": value}})
            place = {"traceId": "7af783cee2efd5f5bde1824c002c6f61", "spanId": f"{number + 1:016x}"}
            records.append({"eventName": "gen_ai.evaluation.result", "attributes": told, **place})
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})


def check(folder: Path, text: str, *arguments: str, policy: str = RULE) -> Run:
    (folder / "highbar.yaml").write_text(policy, "utf-8")
    (folder / "results.json").write_text(text, "utf-8")
    return run(folder, "check", "results.json", "--format", "json", *arguments)


ODD = [0.3, 1, "No.", "", None]
OTHERS: list[tuple[Said, Said]] = [((), ()), (("yes",), ()), ((), ("yes", "no")), ((None,), (None,))]


def label(said: object) -> object:
    """What OpenTelemetry has for a verdict."""
    return {"yes": "pass", "no": "fail"}.get(str(said), said)


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_a_failing_row_fails_whatever_the_others_say(tmp_path, before, after):
    said = [*before, "no", *after]
    judged(check(tmp_path, mlflow(said)), "fail")
    judged(check(tmp_path, otel([label(one) for one in said])), "fail")


@pytest.mark.parametrize("odd", [*ODD, {"ok": False}])
@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_mlflow_does_not_pass_if_the_value_of_a_failing_row_becomes_odd(tmp_path, before, after, odd):
    assert check(tmp_path, mlflow([*before, odd, *after])).exit in (1, 2, 3)


@pytest.mark.parametrize("odd", [*ODD, False])
@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_opentelemetry_does_not_pass_if_the_value_of_a_failing_row_becomes_odd(tmp_path, before, after, odd):
    said = [*map(label, before), odd, *map(label, after)]
    assert check(tmp_path, otel(said)).exit in (1, 2, 3)


@pytest.mark.parametrize(("write", "said"), [(mlflow, (0.3, 0.7, True)), (otel, (0.3, 0.7, "pass"))])
def test_a_scorer_of_two_kinds_leaves_rows_undecided_and_every_form_of_check_says_so(tmp_path, write, said):
    tool = write.__name__
    done = check(tmp_path, write(said), "--quiet")
    judged(done, "inconclusive")
    told = "the scorer 'safe' gives a verdict on 1 of 3 records and something else on the others, which are undecided"
    hint = f"say in the policy who judges: judged_by: {{ {tool}: [ … ] }}"
    assert f"{told}; {hint}" in done.err
    assert any(told in warning for warning in done.json["warnings"])
    policy = f"{RULE}judged_by: {{ {tool}: {'correctness' if tool == 'mlflow' else 'polite'} }}\n"
    done = check(tmp_path, write(said), policy=policy)
    judged(done, "pass")
    assert "'safe'" not in done.out + done.err


@pytest.mark.parametrize("write", [mlflow, otel])
def test_scores_and_labels_on_every_row_are_columns_as_before(tmp_path, write):
    for said in ((0.3, 0.9), ("warm", "cold")):
        done = check(tmp_path, write(said))
        judged(done, "pass")
        assert "safe" not in done.json["judged_by"][0]["judges"]


@pytest.mark.parametrize("write", [mlflow, otel])
def test_a_scorer_with_a_single_value_that_is_no_verdict_counts_as_a_judge(tmp_path, write):
    done = check(tmp_path, write([0.3]))
    judged(done, "inconclusive")
    assert any("the scorer 'safe' has a single value, which is no verdict" in note for note in done.json["warnings"])


@pytest.mark.parametrize("write", [mlflow, otel])
def test_a_second_file_with_one_odd_row_does_not_pass(tmp_path, write):
    good, odd = ("yes", "unsafe") if write is mlflow else ("pass", "unsafe")
    (tmp_path / "more.json").write_text(write([good, good]).replace("case ", "other ").replace('"q', '"other'), "utf-8")
    judged(check(tmp_path, write([odd]), "more.json"), "inconclusive")
    refused(check(tmp_path, write([odd, odd]), "more.json"), "'safe' judges in more.json")


def test_a_built_in_judge_of_mlflow_judges_whatever_it_says(tmp_path):
    for name in ("safety", "guidelines", "relevance_to_query"):
        done = check(tmp_path, mlflow(("mostly", 0.5), "LLM_JUDGE", name))
        judged(done, "inconclusive")
        assert name in done.json["judged_by"][0]["judges"]
    judged(check(tmp_path, mlflow(("mostly", 0.5), "CODE", "safety")), "pass")
