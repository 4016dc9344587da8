"""One odd value neither arms nor disarms a scorer of MLflow or OpenTelemetry, whose files do not declare its type.

Law: if one value in a failing row of a scorer becomes something odd, the file does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import highbar
from highbar.errors import InputError
from tests.commandline import Run, judged, refused, run
from tests.importers.imported import imported, together, written
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


@pytest.mark.parametrize(("tool", "odds"), [("mlflow", [*ODD, {"ok": False}]), ("otel", [*ODD, False])])
def test_no_file_passes_if_the_value_of_a_failing_row_becomes_odd(tmp_path, tool, odds):
    """Each file is imported by itself; what is not refused is judged by one check, each file by a rule of its own."""
    files = {}
    for odd in odds:
        for before, after in OTHERS:
            as_written = (
                mlflow([*before, odd, *after])
                if tool == "mlflow"
                else otel([*map(label, before), odd, *map(label, after)])
            )
            with suppress(InputError):
                files[f"{before} {odd!r} {after}"] = imported(tool, written(tmp_path, "results.json", as_written))[0]
    assert len(files) > len(odds)
    rules = [{"metric": "pass_rate", "threshold": "100%", "where": {"tags.file": name}} for name in files]
    outcomes = {one.rule: one.outcome for one in highbar.check(together(files), {"rules": rules}).rules}
    assert len(outcomes) == len(files)
    assert [name for name, outcome in zip(files, outcomes.values(), strict=True) if outcome == "pass"] == []


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_nor_does_it_on_the_command_line(tmp_path, before, after):
    assert check(tmp_path, mlflow([*before, "No.", *after])).exit in (1, 2, 3)
    assert check(tmp_path, otel([*map(label, before), 0.3, *map(label, after)])).exit in (1, 2, 3)


@pytest.mark.parametrize(("write", "said"), [(mlflow, (0.3, 0.7, True)), (otel, (0.3, 0.7, "pass"))])
def test_a_scorer_of_two_kinds_leaves_rows_undecided_and_every_form_of_check_says_so(tmp_path, write, said):
    tool = write.__name__
    done = check(tmp_path, write(said), "--quiet")
    judged(done, "inconclusive")
    told = "the scorer 'safe' gives a verdict on 1 of 3 records"
    hint = f"judged_by: {{ {tool}: [ … ] }}"
    assert any(told in line and hint in line for line in done.err.splitlines())
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
    assert any("the scorer 'safe' has a single value, which is not a verdict" in note for note in done.json["warnings"])


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
