"""MLflow evaluation tables → rows: `eval_results` of `mlflow.genai.evaluate`, and what `mlflow.evaluate` logs.

In the first, feedback that is true or false, yes or no, is a verdict, as MLflow itself reads it, and any other value a
score or a label; a trial passes when every verdict is good and no scorer broke. The second holds scores only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

from highbar.importers import Row
from highbar.importers.naming import Trials, as_text, tags
from highbar.importers.record import Record, is_number, refuse, shown
from highbar.importers.report import Report
from highbar.importers.tables import records
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import identifier

_SCORE = re.compile(r"(.+?)(/v\d+)?/score")
_RATINGS = {"yes": True, "no": False}
_TAGS = ("id", "category", "capability", "cluster")
_SHOWN = ("inputs", "outputs", "predictions")
_LONGEST_ID = 80
_COLUMNS = frozenset(
    {"trace_id", "trace", "spans", "assessments", "state", "request", "response", "tags", "trace_metadata"}
    | {"client_request_id", "request_time", "execution_duration"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one table, in any form in which pandas writes JSON."""
    trials = Trials()
    for record in records(path):
        report.records += 1
        if any(column.endswith("/value") for column in record):
            row = _traced(record, report)
        elif any(_SCORE.fullmatch(column) for column in record):
            row = _scored(record, report)
        else:
            refuse(
                f"{record.place}: no column is a scorer's (its name would end in /value or /score)",
                hint="a table of any other kind is read with a mapping: --map FILE",
            )
        yield {**row, "trial": trials.number(str(row["id"]))}


# --- mlflow.genai.evaluate ---------------------------------------------------------------------


def _traced(record: Record, report: Report) -> Row:
    if "assessments" not in record:
        refuse(
            f"{record.place}: there is no column assessments, without which a verdict looks like an expectation",
            hint="keep it when the table is written: result.tables['eval_results'].to_json(…, orient='split')",
        )
    verdicts = _verdicts(record, report)
    verdicts.count(report)
    report.unread.update(column for column in record if "/" not in column and column not in _COLUMNS)
    labels = record.record("tags") or Record({}, record.place)
    own = {name: value for name, value in labels.values.items() if not name.startswith("mlflow.")}
    spent = record.record("trace_metadata") or Record({}, record.place)
    return {
        "id": _identity(labels.text("id") or record.text("client_request_id"), record.value("request"), record),
        **{name: labels.text(name) for name in _TAGS[1:]},
        **verdicts.columns(),
        "error": _error(record),
        "input": as_text(record.value("request")),
        "output": as_text(record.value("response")),
        "latency_ms": record.number("execution_duration"),
        "tokens_used": _total(spent, "mlflow.trace.tokenUsage").whole("total_tokens"),
        "cost_usd": _total(spent, "mlflow.trace.cost").number("total_cost"),
        "tags": tags(own, skip=_TAGS),
    }


def _verdicts(record: Record, report: Report) -> Verdicts:
    """What the valid feedback says. Feedback that is no longer valid was replaced; where by nothing, it is missing."""
    verdicts = Verdicts()
    valid: set[str] = set()
    replaced: list[str] = []
    for assessment in record.records("assessments"):
        name = assessment.text("assessment_name") or refuse(f"{assessment.place}: found no assessment_name")
        feedback = assessment.record("feedback")
        if feedback is None:
            report.unread["expectations" if "expectation" in assessment else "assessments that are no feedback"] += 1
        elif assessment.flag("valid") is False:
            report.unread["feedback that a later one replaced"] += 1
            replaced.append(name)
        else:
            valid.add(name)
            _add(name, feedback, assessment, verdicts, report)
    for name in replaced:
        if name not in valid:
            verdicts.add_broken(name)
    return verdicts


def _add(name: str, feedback: Record, assessment: Record, verdicts: Verdicts, report: Report) -> None:
    value = feedback.value("value")
    rating = (
        value if isinstance(value, bool) else _RATINGS.get(value.strip().lower()) if isinstance(value, str) else None
    )
    if "error" in feedback or "error" in assessment:
        verdicts.add_broken(name)
    elif rating is not None:
        verdicts.add(name, verdict=rating, judge=_judge(assessment))
    elif is_number(value) or isinstance(value, str):
        verdicts.add_score(name, value)
    elif value is not None:
        report.unread["feedback that is neither a verdict nor a score nor a label"] += 1


def _judge(assessment: Record) -> str | None:
    source = assessment.record("source")
    return source.text("source_id") if source and source.text("source_type") in ("LLM_JUDGE", "HUMAN") else None


def _error(record: Record) -> str | None:
    """Why the agent crashed: the exception that a span recorded, or the state of the trace."""
    state = record.text("state")
    if state in ("OK", None):
        return None
    for span in record.records("spans"):
        for event in span.records("events"):
            found = event.record("attributes")
            if event.text("name") == "exception" and found:
                told = (found.value("exception.type"), found.value("exception.message"))
                return ": ".join(text for text in told if isinstance(text, str)) or "exception"
    return f"the trace ended in the state {state}"


def _total(metadata: Record, key: str) -> Record:
    """An object that MLflow keeps as text."""
    text = metadata.text(key)
    try:
        return Record(json.loads(text) if text else {}, f"{metadata.place}: {key}")
    except (ValueError, RecursionError):
        refuse(f"{metadata.place}: {key}: found {shown(text)}, wanted JSON")


def _identity(given: str | None, request: object, record: Record) -> str:
    """The scenario: a tag `id` or the client's own, else what was asked; a trace's id is another one in every run."""
    if given:
        return identifier(given)
    if isinstance(request, dict) and len(request) == 1:
        (request,) = request.values()
    text = as_text(request)
    if not text:
        refuse(f"{record.place}: found nothing that names the scenario", hint="give each row of the data a tag `id`")
    if len(text) <= _LONGEST_ID:
        return identifier(text)
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return identifier(f"{text[: _LONGEST_ID - 10]}…#{mark}")


# --- mlflow.evaluate ---------------------------------------------------------------------------


def _scored(record: Record, report: Report) -> Row:
    """Scores decide nothing, but for exact_match, which is 0 or 1."""
    verdicts = Verdicts()
    for column in record:
        name = _SCORE.fullmatch(column)
        if name is None:
            report.unread.update([] if column in _SHOWN else [column])
            continue
        score = record.value(column)
        if name[1] == "exact_match" and score in (0, 1):
            verdicts.add(name[1], verdict=score == 1)
        verdicts.add_score(name[1], score if isinstance(score, str) else record.number(column))
    verdicts.count(report)
    return {
        "id": _identity(None, record.value("inputs"), record),
        **verdicts.columns(),
        "input": as_text(record.value("inputs")),
        "output": as_text(record.value("outputs") if "outputs" in record else record.value("predictions")),
    }
