"""`gen_ai.evaluation.result` events as the OpenTelemetry SDK writes them: on spans, in logs, alone, and dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar.model.judging import ScorerDemand
from tests.commandline import check, judged
from tests.importers.imported import FIXTURES, imported, totals, written
from tests.importers.test_otel import RULES, evaluation, logs, of_span, span, traces

RUN = FIXTURES / "otel_events" / "run.jsonl"
EMITTED = totals("otel_events")
JUDGE = (ScorerDemand("Judge"),)


def rows() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in imported("otel", RUN, judged_by=JUDGE)[0]}


def event(label: str, **more: object) -> dict[str, Any]:
    """An evaluation as an event of a span."""
    return {"name": "gen_ai.evaluation.result", "attributes": evaluation("Judge", label)["attributes"], **more}


def test_every_scenario_that_was_run_or_judged_is_a_row() -> None:
    assert {*rows()} == {*EMITTED, "crash"}


def test_a_label_is_the_verdict_on_its_own_run_however_it_was_emitted() -> None:
    found = rows()
    for case in ("plain", "rude", "later", "elsewhere"):
        (judge,) = (one for one in EMITTED[case] if one["name"] == "Judge")
        assert found[case]["passed"] is (judge["label"] == "pass"), case
        assert found[case].get("score_judge") == judge["score"]
    assert found["rude"]["helpful"] == EMITTED["rude"][1]["score"]
    assert found["crash"]["error"] == "the agent crashed"


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("broken", "judge: Judge: TimeoutError"),  # although it has the label pass
        ("odd", "judge: Judge: said 'mostly', which is not a verdict"),
        ("dropped", "judge: OpenTelemetry: 1 event or attribute was dropped, which may say otherwise"),
    ],
)
def test_what_is_not_known_is_undecided(case: str, why: str) -> None:
    row = rows()[case]
    assert "passed" not in row
    assert row["unjudged"] == why


def test_a_run_whose_span_is_not_in_the_file_is_a_row_and_that_is_said() -> None:
    report = imported("otel", RUN, judged_by=JUDGE)[1]
    (told,) = (warning for warning in report.warnings if "no span" in warning)
    assert told.startswith("1 run ")


# --- what an exporter dropped ------------------------------------------------------------------


@pytest.mark.parametrize("spaces", [None, 1])
@pytest.mark.parametrize("count", [1, "1", "odd"])
def test_a_span_that_lost_events_is_undecided_if_evaluations_are_events_of_spans(
    tmp_path: Path, count: object, spaces: int | None
) -> None:
    spans = [{**span("s1"), "events": [event("pass")]}, {**span("s2"), "droppedEventsCount": count}]
    records = [of_span(evaluation("Judge", "pass"), "s2")]
    document = json.dumps(traces(spans) | logs(records), indent=spaces)
    judged(check(tmp_path, document.encode(), RULES, name="run.json"), "inconclusive")


def test_a_span_that_lost_events_is_judged_by_the_log_if_no_evaluation_is_an_event_of_a_span(tmp_path: Path) -> None:
    document = traces([{**span("s1"), "droppedEventsCount": 3}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    judged(check(tmp_path, json.dumps(document).encode(), RULES, name="run.json"), "pass")


@pytest.mark.parametrize("form", ["event", "log", "span"])
def test_an_evaluation_that_lost_attributes_is_undecided_for_the_error_may_be_among_them(
    tmp_path: Path, form: str
) -> None:
    lost = {"droppedAttributesCount": 2}
    spans, records = [span("s1")], []
    if form == "event":
        spans[0]["events"] = [event("pass", **lost)]
    elif form == "log":
        records = [{**of_span(evaluation("Judge", "pass"), "s1"), **lost}]
    else:
        found = evaluation("Judge", "pass")["attributes"]
        spans.append({**span("s2", parent="s1", name="gen_ai.evaluation.result"), "attributes": found, **lost})
    document = json.dumps(traces(spans) | logs(records))
    judged(check(tmp_path, document.encode(), RULES, name="run.json"), "inconclusive")


def test_a_failed_evaluation_fails_whatever_was_dropped(tmp_path: Path) -> None:
    spans = [{**span("s1"), "events": [event("fail", droppedAttributesCount=1)]}]
    (row,) = imported("otel", written(tmp_path, "run.json", traces(spans)))[0]
    assert row["passed"] is False


def test_nothing_dropped_changes_nothing(tmp_path: Path) -> None:
    none = {"droppedEventsCount": 0, "droppedAttributesCount": "0"}
    spans = [{**span("s1"), "events": [event("pass", droppedAttributesCount=0)], **none}]
    judged(check(tmp_path, json.dumps(traces(spans)).encode(), RULES, name="run.json"), "pass")
