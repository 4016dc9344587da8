"""Every Eval Ever samples (`UUID_samples.jsonl`) → rows: one per repetition of a sample.

A sample has a record for each *result* to which it contributes (`match:accuracy`: a scorer and its metric); these
become one row, with a column for each result. One result judges: the only one of the file, or those that the policy's
`judged_by` names. Its verdict is `is_correct`. The project's own converters write `is_correct: true` for any score
above 0; so without a policy, a record below full marks is undecided. The aggregate beside the samples (`UUID.json`)
declares the full marks, and how many records there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.every_eval_ever_aggregate import LOWER, NAMELESS, Aggregate, aggregate_of, is_aggregate
from highbar.importers.json_records import file_head
from highbar.importers.limits import HEAD
from highbar.importers.naming import Trials, score_columns
from highbar.importers.reading import json
from highbar.importers.record import Record, quoted, refuse, refuse_without_judge
from highbar.importers.report import Report
from highbar.importers.row_buffer import RowBuffer
from highbar.importers.tool_calls import calls_of_messages, chat_messages, parsed_arguments
from highbar.language.tool_names import flat_tags, scenario_id, text_or_json
from highbar.model.judging import ScorerDemand

_REQUIRED = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type")
_TEXTS = ("input", "output", "messages")
_OTHERS = ("evaluation_result_id", "evaluation", "token_usage", "performance", "error", "metadata")
_UNREAD = ("sample_hash", "answer_attribution")
_MEMBERS = frozenset((*_REQUIRED, *_TEXTS, *_OTHERS, *_UNREAD))
_VERSIONS = ("0.2", "0.3")
_OF_CONVERTERS = frozenset({"epoch", "filter", "doc_hash", "prompt_hash", "target_hash", "lm_eval_metrics"})
"""Metadata that the converters of Inspect AI and lm-eval add, and that does not describe the sample."""
_TWICE = "keep one of them; a repetition needs a number of its own in metadata.epoch"
_NO_SAMPLES = "this holds no samples: it is the aggregate of an evaluation"
_HINT = "the rows are in UUID_samples.jsonl beside it, which `every_eval_ever convert` writes"


class _SampleScore(NamedTuple):
    """The score and the verdict of one record."""

    score: float | None
    correct: bool


class _TrialScores(Struct):
    """What is known so far about one row: the score of each result, and the error."""

    scores: dict[str, _SampleScore] = field(default_factory=dict)
    error: str | None = None


class _JudgingResult(NamedTuple):
    """How a result judges: by the demand of the policy, or by `is_correct` and the full marks."""

    demand: ScorerDemand | None
    full: float = 1.0

    def verdict(self, found: _SampleScore | None) -> bool | None:
        """Whether a record is good; None if that is unknown: no record, no score, or less than the full marks."""
        if found is None:
            return None
        if self.demand is not None:
            return found.correct if self.demand.at_least is None else self.demand.holds(found.score)
        if not found.correct:
            return False
        return True if found.score is not None and found.score >= self.full else None


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They are buffered until its end, because only then are all results known."""
    if is_aggregate(path):
        refuse("results.empty", _NO_SAMPLES, hint=_HINT)
    json.refuse_pointer(file_head(path, HEAD))
    aggregate = aggregate_of(path)
    with RowBuffer() as buffer, Path(path).open("rb") as stream:
        samples = _EvalSamples(report, buffer)
        for number, line in json.numbered_lines(stream):
            samples.add(Record(json.decode_value(line, number), f"line {number}"))
        if not report.records:
            refuse("file.empty", "the file is empty")
        if aggregate is not None:
            aggregate.refuse_others(path, report.records, samples.evaluations)
        yield from samples.rows(aggregate)


class _EvalSamples:
    """Collects the records of one file, then makes the rows."""

    def __init__(self, report: Report, buffer: RowBuffer) -> None:
        self._report = report
        self._buffer = buffer
        self._trials: dict[tuple[str, ...], _TrialScores] = {}  # in the order of the buffer
        self._repeats: Counter[tuple[str, ...]] = Counter()
        self._results: Counter[str] = Counter()  # how many records each has
        self._runs: dict[tuple[str, str], str] = {}  # the id of the evaluation, by its name and model
        self._below = 0  # rows with is_correct below full marks

    @property
    def evaluations(self) -> set[str]:
        """The ids of the evaluations of which the file has records."""
        return set(self._runs.values())

    def add(self, record: Record) -> None:
        """Add one record: the first of a repetition makes its row, later ones add scores to it."""
        self._report.records += 1
        _refuse_unknown(record, self._report)
        metadata = record.part("metadata")
        name, model = _task(record, metadata), _required(record, "model_id")
        self._refuse_second_run(record, (name, model))
        result = record.text("evaluation_result_id") or NAMELESS
        self._results[result] += 1
        key = (model, name, _required(record, "sample_id"))
        repeat = metadata.text("epoch") or self._next_repeat((*key, result))
        trial = self._trials.get((*key, repeat))
        if trial is None:
            trial = self._trials[(*key, repeat)] = _TrialScores()
            self._buffer.put(_row(record, name, by_inspect=_is_of_inspect(metadata), calls=self._report.calls))
        else:
            self._report.merged += 1
        if result in trial.scores:
            refuse(
                "import.duplicate",
                f"{record.place}: sample {key[-1]!r} has two records for the result {result!r}",
                hint=_TWICE,
            )
        trial.scores[result] = _score(record)
        trial.error = trial.error or record.text("error") or None

    def _next_repeat(self, key: tuple[str, ...]) -> str:
        """A name for the repetition of a record without an epoch: its number in the order of the file."""
        self._repeats[key] += 1
        return f"#{self._repeats[key]}"

    def _refuse_second_run(self, record: Record, key: tuple[str, str]) -> None:
        """Refuse records of a second run: as repetitions, its passes would fill the gaps of the first."""
        found = _required(record, "evaluation_id")
        known = self._runs.setdefault(key, found)
        if known != found:
            message = (
                f"found the evaluation {found!r}, wanted {known!r}: these are two runs of {key[0]!r} on {key[1]!r}"
            )
            refuse("run.several", f"{record.place}: {message}", hint="put each run into a file of its own")

    def rows(self, aggregate: Aggregate | None) -> Iterator[Row]:
        """The rows, once all results are known."""
        judges = self._settle_judges(aggregate)
        if aggregate is not None:
            self._warn_by_aggregate(aggregate)
        columns, shared = score_columns({name: name for name in self._named})
        self._report.unread.update(shared)
        models = {name: aggregate.graders(name) for name in judges} if aggregate else {}
        judged_by = ", ".join(f"{name} by {models[name]}" if models.get(name) else name for name in judges) or None
        numbers = Trials()
        for (row, _), trial in zip(self._buffer, self._trials.values(), strict=True):
            found = {columns[name]: one.score for name, one in trial.scores.items() if name in columns}
            made = {**row, "trial": numbers.number(row["id"]), "error": trial.error, "judge": judged_by}
            yield {**made, **found, **self._judgment(trial, judges)}
        if self._below and not self._report.judged_by:
            self._warn_of_low_scores(judges)

    def _judgment(self, trial: _TrialScores, judges: Mapping[str, _JudgingResult]) -> Row:
        """The judgment of a row: wrong if one verdict is bad, correct if all are good, otherwise undecided."""
        if not judges:  # only the answers are wanted, which are graded again
            return {}
        verdicts = {name: judge.verdict(trial.scores.get(name)) for name, judge in judges.items()}
        if False in verdicts.values():
            return {"correct": False}
        if None not in verdicts.values():
            return {"correct": True}
        if trial.error:
            return {}
        self._report.unscored += 1
        silent = {name: trial.scores.get(name) for name, good in verdicts.items() if good is None}
        self._below += any(found is not None and found.score is not None for found in silent.values())
        return {"unjudged": "judge: " + "; ".join(_undecided_reason(name, found) for name, found in silent.items())}

    def _warn_by_aggregate(self, aggregate: Aggregate) -> None:
        for message in aggregate.missing(self._results, self._tasks()):
            self._report.warn(message, urgent=True)
        for demand in self._report.judged_by:
            if demand.at_least is not None and aggregate.full_marks(demand.scorer, self._tasks()) == LOWER:
                demanded = f"the policy demands at least {float(demand.at_least):g} of {demand.scorer!r}"
                self._report.warn(f"{demanded}, and {aggregate.name} says that {LOWER}", urgent=True)

    def _warn_of_low_scores(self, judges: Mapping[str, _JudgingResult]) -> None:
        name = quoted(next(iter(judges)))
        rows = "row has" if self._below == 1 else "rows have"
        message = f"{self._below} {rows} is_correct: true at a score below full marks, which is undecided"
        asked = f"judged_by: {{ every_eval_ever: {{ scorer: {name}, at_least: … }} }}"
        self._report.warn(f"{message}; say in the policy what is enough: {asked}", urgent=True)

    def _settle_judges(self, aggregate: Aggregate | None) -> dict[str, _JudgingResult]:
        """Decide who judges, and note every result in the report. Refuses a file in which that is ambiguous."""
        demands = {demand.scorer: demand for demand in self._report.judged_by}
        unknown = [name for name in demands if name not in self._named]
        if unknown:
            known = ", ".join(map(repr, self._named))
            refuse(
                "judge.unknown-scorer",
                f"the policy has this file judged by {', '.join(unknown)}; the results in it are: {known}",
            )
        judges = {name: _JudgingResult(demand) for name, demand in demands.items()} or self._declared_judges(aggregate)
        for name in self._named:
            why = "the policy's judged_by names others" if demands else "nothing declares that it judges"
            self._report.add_scorer(name, judges=name in judges, why_not=why)
        self._report.judges = tuple(judges)
        return judges

    def _declared_judges(self, aggregate: Aggregate | None) -> dict[str, _JudgingResult]:
        """The only result of the file, which judges if its full marks are known; empty if only answers are wanted."""
        named = self._named
        full = aggregate.full_marks(named[0], self._tasks()) if aggregate else 1.0
        most = max((found.score for found in self._scores_of(named[0]) if found.score is not None), default=0.0)
        if isinstance(full, float) and most > full:  # one star of five must not pass for 1 of 1
            full = f"a score of {most:g} is above the full marks of {full:g}"
        if len(named) == 1 and isinstance(full, float):
            if aggregate is None:
                self._report.warn("there is no aggregate beside the samples: full marks are taken to be 1")
            return {named[0]: _JudgingResult(None, full)}
        if not self._report.answers_only:
            refuse_without_judge("every-eval-ever", named, why=str(full) if len(named) == 1 else "")
        return {}

    @property
    def _named(self) -> list[str]:
        """The names of the results; NAMELESS only if no record names a result, since otherwise no scorer graded it."""
        return [name for name in self._results if name != NAMELESS] or [NAMELESS]

    def _scores_of(self, result: str) -> Iterator[_SampleScore]:
        return (trial.scores[result] for trial in self._trials.values() if result in trial.scores)

    def _tasks(self) -> set[str]:
        return {name for name, _ in self._runs}


def _refuse_unknown(record: Record, report: Report) -> None:
    """Refuse members that the schema does not have: a misspelled `error` must not look like no error."""
    for key in record.others(_MEMBERS):
        refuse("import.unknown-key", f"{record.place}: found {key!r}, which is no member of an Every Eval Ever sample")
    report.unread.update(key for key in _UNREAD if record.value(key))
    for key in ("input", "evaluation"):
        if key not in record:
            refuse("import.missing-value", f"{record.place}: {key}: found nothing, wanted an object")
    _required(record, "interaction_type")
    version = _required(record, "schema_version")
    if ".".join(version.removeprefix("instance_level_eval_").split(".")[:2]) not in _VERSIONS:
        report.warn(f"version {version} of the schema is none of those that are known: {', '.join(_VERSIONS)}")


def _required(record: Record, key: str) -> str:
    return record.text(key) or refuse("import.missing-value", f"{record.place}: {key}: found nothing, wanted text")


def _task(record: Record, metadata: Record) -> str:
    """The name of the evaluation, without the filter that the converter of lm-eval adds; the result names it too."""
    name, chosen = _required(record, "evaluation_name"), metadata.text("filter")
    return name.removesuffix(f"/{chosen}") if chosen else name


def _score(record: Record) -> _SampleScore:
    evaluation = record.part("evaluation")
    correct = evaluation.flag("is_correct")
    if correct is None:
        refuse("import.missing-value", f"{evaluation.place}: is_correct: found nothing, wanted true or false")
    return _SampleScore(evaluation.number("score"), correct)


def _undecided_reason(name: str, found: _SampleScore | None) -> str:
    if found is None:
        return f"{name}: no record of it"
    return f"{name}: no score" if found.score is None else f"{name}: is_correct, at a score of {found.score:g}"


def _row(record: Record, name: str, *, by_inspect: bool, calls: bool) -> Row:
    metadata, tokens = record.part("metadata"), record.part("token_usage")
    messages = [message.values for message in record.records("messages")]
    about = {key: value for key, value in metadata.values.items() if value != ""}
    about["interaction_type"] = record.text("interaction_type")
    return {
        "id": scenario_id(f"{name}/{record.text('sample_id')}"),
        **{column: metadata.text(column) for column in SCENARIO_TEXTS},
        "input": text_or_json(record.part("input").value("raw")),
        "output": _answer(record, messages),
        **(_conversation(messages, by_inspect=by_inspect) if calls and messages else {}),
        "latency_ms": _latency(record.part("performance"), by_inspect=by_inspect),
        "tokens_used": tokens.whole("total_tokens"),
        "suite": name,
        "agent_version": record.text("model_id"),
        "tags": flat_tags(about, (*SCENARIO_TEXTS, *_OF_CONVERTERS)),
    }


def _answer(record: Record, messages: list[Mapping[str, Any]]) -> str | None:
    """The answer, or the last reply of a conversation. In older versions the raw output is text, now it is a list."""
    if messages:
        texts = (text_or_json(one.get("content")) for one in reversed(messages) if one.get("role") == "assistant")
        return next(filter(None, texts), None)
    answers = record.part("output").value("raw")
    return text_or_json(answers[0] if isinstance(answers, list) and len(answers) == 1 else answers)


def _is_of_inspect(metadata: Record) -> bool:
    """Whether the converter of Inspect AI wrote this record: it always adds both members."""
    return "epoch" in metadata and "stop_reason" in metadata


def _latency(performance: Record, *, by_inspect: bool) -> float | None:
    """The time of the whole answer. The converter of Inspect AI writes only the waiting time to `latency_ms`."""
    whole, generated = performance.number("latency_ms"), performance.number("generation_time_ms")
    if whole is None:
        return None  # the generation time is only a part of it
    return whole + (generated or 0) if by_inspect else max(whole, generated or 0)


def _conversation(messages: list[Mapping[str, Any]], *, by_inspect: bool) -> Row:
    """The messages in chat form, and their calls. The converter of Inspect AI writes each argument as JSON."""
    conversation = chat_messages(messages, text_or_json)
    for call in calls_of_messages(conversation) if by_inspect else ():
        given = call.get("arguments")
        if isinstance(given, dict):
            call["arguments"] = {name: parsed_arguments(value) for name, value in given.items()}
    return {"messages": conversation, "tool_calls": calls_of_messages(conversation)}
