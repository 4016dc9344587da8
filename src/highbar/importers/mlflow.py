"""MLflow evaluation tables → rows: `eval_results` of `mlflow.genai.evaluate`, and what `mlflow.evaluate` logs.

In the former, true, false, yes and no are verdicts, as MLflow itself reads them, and any other feedback is a score or a
label; a trial passes if every verdict is good and no scorer broke. The latter has only scores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from highbar.columns import SCENARIO_TEXTS
from highbar.errors import InputError
from highbar.importers import Row, signs
from highbar.importers.json_records import by_column, by_index, file_head, in_schema, table_records
from highbar.importers.limits import HEAD
from highbar.importers.naming import Trials, question_id
from highbar.importers.reading.json import decode_value
from highbar.importers.record import SPAN_CODES, Record, Statuses, is_number, refuse, shown
from highbar.importers.report import Report
from highbar.importers.scorers import Scorers
from highbar.importers.verdicts import Verdicts
from highbar.language.tool_names import flat_tags, scenario_id, text_or_json

_SCORE = re.compile(r"(.+?)(/v\d+)?/score")
_VALUE = "/value"
_EXACT = "exact_match"
_ROOT_SPAN = "root_span"
_STATES = Statuses(
    frozenset({"OK"}),
    frozenset({"ERROR", "IN_PROGRESS", "STATE_UNSPECIFIED"}),
    "OK, ERROR, IN_PROGRESS or STATE_UNSPECIFIED",
)
_LLM_JUDGE = "LLM_JUDGE"
_BUILT_IN = frozenset(
    {"completeness", "conversation_completeness", "correctness", "equivalence", "expectations_guidelines", "fluency"}
    | {"guidelines", "relevance_to_query", "retrieval_groundedness", "retrieval_relevance", "retrieval_sufficiency"}
    | {"safety", "summarization", "tool_call_correctness", "tool_call_efficiency"}
)
"""The default names of MLflow's own judges that answer yes or no, from its documentation."""
_VERDICT_WORDS = {"yes": True, "no": False}
_SHOWN = ("inputs", "outputs", "predictions")
_COLUMNS = frozenset(
    {"trace_id", "trace", "spans", "assessments", "state", "request", "response", "tags", "trace_metadata"}
    | {"client_request_id", "request_time", "execution_duration"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one table in any JSON form of pandas. Reads it twice: judges must be known before the first row."""
    survey = _MLflowSurvey(path, report)
    trials = Trials()
    for record in _records(path):
        report.records += 1
        row = _trace_row(record, survey, report) if _is_trace(record) else _score_row(record, survey, report)
        yield {**row, "trial": trials.number(str(row["id"]))}


def _records(path: str) -> Iterator[Record]:
    head = file_head(path, HEAD)

    def looks(sign: bytes) -> bool:
        return re.search(sign, head, re.DOTALL) is not None

    if looks(signs.MLFLOW_TABLE) or looks(rb"^(\xef\xbb\xbf)?[^\x00\n{\[]*,[^\x00\n{\[]*\n"):
        refuse(
            "import.lossy-form",
            "this is not JSON, and in a CSV file the verdicts are Python objects, which are not read",
            hint="write the table with result.tables['eval_results'].to_json('eval_results.json', orient='split')",
        )
    if looks(signs.MLFLOW_COLUMNS):
        return by_column(path)
    if looks(signs.MLFLOW_SCHEMA):
        return in_schema(path)
    return by_index(path) if looks(signs.MLFLOW_INDEX) else table_records(path)


def _is_trace(record: Record) -> bool:
    """Whether `mlflow.genai.evaluate` wrote the row, and not the older `mlflow.evaluate`. Refuses other tables."""
    if any(column.endswith(_VALUE) for column in record):
        return True
    if not any(_SCORE.fullmatch(column) for column in record):
        refuse(
            "import.other-file",
            f"{record.place}: no column is a scorer's (its name would end in /value or /score)",
            hint="a table of any other kind is read with a mapping: --map FILE",
        )
    return False


class _MLflowSurvey:
    """Who judges. MLflow runs every scorer on every row, so every judge is expected on all rows.

    The table does not declare the types of custom scorers, so their values decide. MLflow's own judges, which are known
    by name, answer yes or no.
    """

    def __init__(self, path: str, report: Report) -> None:
        self.scorers = Scorers("mlflow", report)
        self.names: dict[str, None] = {}
        silent: dict[str, None] = {}
        for record in _records(path):
            for name, value, declared in _feedback(record) if _is_trace(record) else _scores(record):
                self.names[name] = None
                if declared:
                    self.scorers.declare(name)
                elif value is None:
                    silent[name] = None
                else:
                    kind = "it gives scores" if is_number(value) else "it gives labels"
                    self.scorers.declare_by_value(name, None if _verdict_of(value) is not None else kind)
        for name in silent:
            self.scorers.declare_without_value(name)
        self.scorers.settle()


def _verdict_of(value: object) -> bool | None:
    """The verdict of a value, as MLflow reads it: true, false, yes or no; None for any other value."""
    if isinstance(value, bool):
        return value
    return _VERDICT_WORDS.get(value.strip().lower()) if isinstance(value, str) else None


# --- mlflow.genai.evaluate ---------------------------------------------------------------------


def _feedback(record: Record) -> Iterator[tuple[str, object, bool]]:
    """Each scorer, its value (None if it broke or gave nothing), and whether it is one of MLflow's own judges.

    Includes feedback that was replaced.
    """
    expected: set[str] = set()
    found: set[str] = set()
    for assessment in record.records("assessments"):
        name, feedback = _assessment_name(assessment), assessment.record("feedback")
        if "expectation" in assessment:
            expected.add(name)
        else:
            found.add(name)
            source = assessment.record("source")
            own = name in _BUILT_IN and source is not None and source.text("source_type") == _LLM_JUDGE
            yield name, _value(feedback) if feedback else None, own
    for column in record:
        name = column.removesuffix(_VALUE)
        if name != column and name not in expected | found:
            yield name, None, False


def _value(feedback: Record) -> Any:
    """The value of a scorer. Refuses NaN and infinities: pandas writes null, so something else wrote this file."""
    value = feedback.value("value")
    if isinstance(value, float) and not is_number(value):
        refuse("import.wrong-value", f"{feedback.place}: value: found {value}, wanted a finite number")
    return value


def _assessment_name(assessment: Record) -> str:
    return assessment.text("assessment_name") or refuse(
        "import.missing-value", f"{assessment.place}: found no assessment_name"
    )


def _trace_row(record: Record, survey: _MLflowSurvey, report: Report) -> Row:
    if "assessments" not in record:
        refuse(
            "import.lossy-form",
            f"{record.place}: there is no column assessments, without which a verdict looks like an expectation",
            hint="keep it when the table is written: result.tables['eval_results'].to_json(…, orient='split')",
        )
    error = _error(record)
    verdicts = _verdicts(record, survey, report)
    verdicts.count(report)
    report.unread.update(column for column in record if "/" not in column and column not in _COLUMNS)
    labels = record.part("tags")
    own = {name: value for name, value in labels.values.items() if not name.startswith("mlflow.")}
    usage = record.part("trace_metadata")
    return {
        "id": _identity(labels.text("id") or record.text("client_request_id"), record.value("request"), record),
        **{name: labels.text(name) for name in SCENARIO_TEXTS},
        **verdicts.columns(),
        "error": error,
        "input": text_or_json(record.value("request")),
        "output": text_or_json(record.value("response")),
        "latency_ms": _latency(record),
        "tokens_used": _total(usage, "mlflow.trace.tokenUsage").whole("total_tokens"),
        "cost_usd": _total(usage, "mlflow.trace.cost").number("total_cost"),
        "tags": flat_tags(own, skip=("id", *SCENARIO_TEXTS)),
    }


def _verdicts(record: Record, survey: _MLflowSurvey, report: Report) -> Verdicts:
    """The verdicts of valid feedback. If nothing replaced invalid feedback, its judge counts as broken."""
    verdicts = Verdicts()
    values: dict[str, list[object]] = {}
    given: set[str] = set()
    for assessment in record.records("assessments"):
        name, feedback = _assessment_name(assessment), assessment.record("feedback")
        if "expectation" in assessment:
            report.unread["expectations"] += 1
            given.add(name)
            continue
        feedback = feedback or Record({}, assessment.place)
        values.setdefault(name, []).append(_value(feedback))
        if assessment.flag("valid") is False:
            report.unread["feedback that a later one replaced"] += 1
        else:
            given.add(name)
            _add(name, feedback, assessment, verdicts, survey.scorers, report)
    _compare(record, values, given)
    for name in survey.names:
        if name not in given and name in values:
            survey.scorers.add_broken(verdicts, name, "its feedback is no longer valid, and nothing replaced it")
        elif name not in given and survey.scorers.judges(name):
            verdicts.add_broken(name, "gave no value")
    return verdicts


def _compare(record: Record, values: Mapping[str, list[object]], given: Collection[str]) -> None:
    """Refuse a row whose columns and assessments disagree: the table has every value in both."""
    for column in record:
        name = column.removesuffix(_VALUE)
        if name == column or (name in given and name not in values):
            continue
        value = record.value(column)
        given_values = [found for found in values.get(name, []) if found is not None]
        if (value is None or value != value) and not given_values:  # noqa: PLR0124 - NaN is no value
            continue
        if not any(_is_same(value, found) for found in given_values):
            listed = ", ".join(shown(found) for found in given_values) or "nothing"
            refuse(
                "import.contradiction",
                f"{record.place}: {column}: found {shown(value)}, and in assessments {listed}: they disagree",
            )


def _is_same(value: object, found: object) -> bool:
    """Whether two values are the same; numbers only nearly, because pandas rounds them."""
    if isinstance(value, bool) or isinstance(found, bool) or not (is_number(value) and is_number(found)):
        return value == found
    return math.isclose(float(str(value)), float(str(found)), rel_tol=1e-9, abs_tol=1e-9)


def _add(name: str, feedback: Record, assessment: Record, verdicts: Verdicts, scorers: Scorers, report: Report) -> None:
    value = _value(feedback)
    failure = feedback.value("error") or assessment.value("error")
    if failure or value is None:
        reason = failure.get("error_message") or failure.get("error_code") if isinstance(failure, dict) else failure
        scorers.add_broken(verdicts, name, text_or_json(reason) or "gave no value")
    elif is_number(value) or isinstance(value, bool | str) or scorers.judges(name):
        verdicts_alone = scorers.judges(name) and not scorers.by_policy
        score = None if verdicts_alone or isinstance(value, bool) else value
        why = f"said {shown(value)}, which is not a verdict"
        scorers.add(verdicts, name, verdict=_verdict_of(value), score=score, judge=_judge(assessment), why=why)
    else:
        report.unread["feedback that is neither a verdict nor a score nor a label"] += 1


def _judge(assessment: Record) -> str | None:
    source = assessment.record("source")
    return source.text("source_id") if source and source.text("source_type") in (_LLM_JUDGE, "HUMAN") else None


def _error(record: Record) -> str | None:
    """Why the agent crashed, by the exception of a span or the state of the trace; None if no status is an error."""
    state = record.text("state")
    roots = [span for span in record.records("spans") if span.value("parent_span_id") in (None, "")]
    ends = [status for span in roots if (status := span.record("status")) is not None]
    broken = [SPAN_CODES.failed(status, "code") for status in ends]  # a list, so that every status is checked
    unfinished = _STATES.failed(record, "state")
    if not unfinished and not any(broken):
        return None
    for span in record.records("spans"):
        for event in span.records("events"):
            found = event.record("attributes")
            if event.text("name") == "exception" and found:
                texts = (found.value("exception.type"), found.value("exception.message"))
                return ": ".join(text for text in texts if isinstance(text, str)) or "exception"
    return f"the trace ended in the state {state if unfinished else 'ERROR'}"


def _latency(record: Record) -> float | None:
    """How long the agent took. For prepared answers MLflow makes a trace of one span, whose time means nothing."""
    milliseconds = record.number("execution_duration")
    spans = record.records("spans")
    if spans and all(span.text("name") == _ROOT_SPAN for span in spans):
        return None
    if milliseconds != 0:
        return milliseconds
    # MLflow cuts off to whole milliseconds; for a faster agent, the root span has nanoseconds.
    roots = [span for span in spans if span.value("parent_span_id") in (None, "")]
    times = [roots[0].whole(key) for key in ("start_time_unix_nano", "end_time_unix_nano")] if roots else []
    taken = [time for time in times if time is not None]
    return (taken[1] - taken[0]) / 1_000_000 if len(taken) == 2 and taken[1] > taken[0] else None


def _total(metadata: Record, key: str) -> Record:
    """An object that MLflow stores as text."""
    text = metadata.text(key)
    try:
        return Record(decode_value(text.encode()) if text else {}, f"{metadata.place}: {key}")
    except (InputError, UnicodeEncodeError):
        refuse("import.wrong-value", f"{metadata.place}: {key}: found {shown(text)}, wanted an object as JSON")


def _identity(given: str | None, request: object, record: Record) -> str:
    """The scenario: the tag `id` or the client's own id, else the question; the trace's id changes with every run."""
    if given:
        return scenario_id(given)
    if isinstance(request, dict) and len(request) == 1:
        (request,) = request.values()
    text = text_or_json(request)
    if not text:
        refuse(
            "import.missing-value",
            f"{record.place}: found nothing that names the scenario",
            hint="give each row of the data a tag `id`",
        )
    return question_id(text)


# --- mlflow.evaluate ---------------------------------------------------------------------------


def _scores(record: Record) -> Iterator[tuple[str, object, bool]]:
    for column in record:
        if name := _SCORE.fullmatch(column):
            yield name[1], record.value(column), name[1] == _EXACT


def _score_row(record: Record, survey: _MLflowSurvey, report: Report) -> Row:
    """The row of a table of `mlflow.evaluate`. Scores decide nothing, except for exact_match, which is 0 or 1."""
    verdicts = Verdicts()
    for column in record:
        name = _SCORE.fullmatch(column)
        if name is None:
            report.unread.update([] if column in _SHOWN else [column])
            continue
        value = record.value(column)
        score = value if isinstance(value, str) else record.number(column)
        verdict = score == 1 if name[1] == _EXACT and score in (0, 1) else None
        survey.scorers.add(verdicts, name[1], verdict=verdict, score=score, why="gave no verdict")
    for name_of in survey.names:
        if survey.scorers.judges(name_of) and not verdicts.knows(name_of):
            verdicts.add_broken(name_of, "gave no value")
    verdicts.count(report)
    return {
        "id": _identity(None, record.value("inputs"), record),
        **verdicts.columns(),
        "input": text_or_json(record.value("inputs")),
        "output": text_or_json(record.value("outputs") if "outputs" in record else record.value("predictions")),
    }
