"""The stages in order: load → reduce → measure → gate. What comes out is a verdict; reporting it is the caller's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from highbar import catalogue, gate, measure
from highbar import policy as policies
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.protocol import Reduction, Request
from highbar.errors import InputError, Problem
from highbar.load import digests, explain, files
from highbar.model import (
    Counts,
    Policy,
    ResultsFile,
    ScenarioRule,
    Slice,
    Source,
    StepRule,
    ThresholdRule,
    Verdict,
    Where,
)
from highbar.spelling import near_miss

if TYPE_CHECKING:  # most checks have no mapping, and its classes take 4 ms to make
    from highbar.baseline.against import Kept
    from highbar.model.details import Details
    from highbar.model.mapping import RowMap

Progress = Callable[[float], None]
MOST_SCENARIOS = 100_000
"""How many scenarios a verdict lists, where a report wants them all: about what a page or a CI system can show."""
MOST_FAILED, MOST_DETAILED = 1000, 10_000
"""How many failed scenarios a verdict lists, the worst first, and how many its details open."""
OF_THE_RESULTS = {
    "BinderException", "ConversionException", "IOException", "InvalidInputException", "InvalidTypeException",
    "NotImplementedException", "OutOfRangeException", "SerializationException", "TypeMismatchException",
}  # fmt: skip
"""DuckDB's exceptions that a results file can cause; any other is a fault of ours, or of the machine."""


def check(  # noqa: PLR0913 - what the command line can say
    results: Sequence[str],
    *,
    policy: str | Mapping[str, Any] | Policy | None = None,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
    input_format: str | None = None,
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
    names: Mapping[str, str] | None = None,
    told: Callable[[str], None] | None = None,
    map_file: str | None = None,
    list_scenarios: bool = False,
    details: bool = False,
    baseline: str | None = None,
    allow_missing_baseline: bool = False,
    kept: Callable[[Kept], None] | None = None,
) -> Verdict:
    """Judge results files by a policy: a path, a mapping, or None to look for one. Raises InputError.

    `names` says what to call a path in messages and reports, where that is not the path itself. `told` is called with
    what was made of each file of another tool. `map_file` has the mapping, in place of the policy's own.
    `list_scenarios` fills the verdict's list of all scenarios, which costs a query more; `details` fills its details,
    which reads the failed scenarios again. `baseline` takes the place of the file that the policy names, and where
    `allow_missing_baseline`, rules about one that is not there only warn. `kept` is called with every scenario.
    """
    read = read_policy(policy)
    mapping = read_map(map_file, read)
    with ExitStack() as stack:
        found = files.find(results, stack=stack, input_format=input_format, stdin=stdin, mapping=mapping)
        found = tuple(replace(file, name=(names or {}).get(file.name, file.name)) for file in found)
        for file in found:
            if told is not None and file.imported:
                told(file.imported)
        with digests.started(found) as sums:
            limit = MOST_SCENARIOS if list_scenarios else 0
            against = _Against(baseline, allow_missing_baseline, kept)
            loaded = _Loaded(found, scenario_limit=limit, details=details, against=against)
            return _judge(loaded, read, agent_version, slices, progress, sums)


def inputs(results: Sequence[str], policy: str | None, map_file: str | None) -> tuple[str, ...]:
    """Every file that such a check reads, the policy that is found and the files that it names included."""
    named = [*files.names(results), *([map_file] if map_file else [])]
    with suppress(InputError):  # two policies in one folder: the check says so
        found = Path(policy) if policy is not None else _found()
        named += [str(found), *policies.files_named_in(found)] if found else []
    return tuple(named)


def check_table(
    table: object,
    *,
    policy: str | Mapping[str, Any] | None = None,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
) -> Verdict:
    """Judge an Arrow table or a frame that DuckDB can read."""
    return _judge(_Loaded((), table), read_policy(policy), agent_version, slices, None, lambda: ())


def read_policy(policy: str | Mapping[str, Any] | Policy | None) -> Policy | None:
    """The policy that was named, or the one that is found; None where there is none."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return policies.read_dict(policy)
    if policy is not None:
        return policies.read(Path(policy))
    found = _found()
    return None if found is None else policies.read(found)


def _found() -> Path | None:
    """The policy that holds here, named as seen from here: reports are kept and compared on other machines."""
    found = policies.find()
    return None if found is None else Path(os.path.relpath(found))


def read_map(map_file: str | None, policy: Policy | None) -> RowMap | None:
    """The mapping in a file, or else that of the policy."""
    if map_file is None:
        return policy.mapping if policy else None
    from highbar.policy.mapping import read_map_file  # see RowMap

    return read_map_file(map_file)


@dataclass(frozen=True, slots=True)
class _Against:
    """Which baseline to compare with, where not the policy's, and who wants every scenario."""

    file: str | None = None
    allow_missing: bool = False
    kept: Callable[[Kept], None] | None = None


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is to be judged: files, or a table; and how many of its scenarios are to be listed, one by one."""

    files: tuple[ResultsFile, ...]
    table: object | None = None
    scenario_limit: int = 0
    details: bool = False
    against: _Against = _Against()

    def place(self, text: str) -> Problem:
        return explain.locate(self.files, text)


def _judge(
    loaded: _Loaded,
    read: Policy | None,
    agent_version: str | None,
    slices: Sequence[str],
    progress: Progress | None,
    sums: Callable[[], tuple[Source, ...]],
) -> Verdict:
    policy = policies.default() if read is None else read
    reduction = _reduce(loaded, policy, slices, progress)
    _refuse_categories(loaded, policy, reduction)
    policy = policies.resolve_version(policy, given=agent_version, recorded=reduction.agent_version)
    whole = measure.Measured(policy, reduction.whole)
    if read is None:
        policy = policies.default([name for name in policy.metrics if whole.value(name).scenarios])
    alpha = float(1 - policy.confidence)
    evidence = gate.Evidence(whole, policy.metrics, reduction.patterns, reduction.suite, alpha)
    evidence, told = _against_baseline(evidence, policy, loaded, reduction, sums)
    rules = tuple(gate.judge(rule, evidence) for rule in policy.rules)
    weighted = bool(policy.weights.by_category or policy.weights.by_capability or "weight" in reduction.columns)
    return Verdict(
        verdict=gate.decide(rules),
        counts=Counts(
            reduction.whole.scenarios, reduction.whole.trials, reduction.errors, reduction.unjudged, reduction.failed
        ),
        metrics=whole.values(),
        slices=_slices(whole, reduction),
        rules=rules,
        scenarios_failed=reduction.scenarios_failed[:MOST_FAILED],
        warnings=(
            *policy.notes,
            *(note for file in loaded.files for note in file.notes),
            *reduction.warnings,
            *measure.weight_warnings(whole, weighted=weighted, clustered=reduction.clustered),
            *(gate.slack_notes(rules) if read else ()),
            *told,
        ),
        policy=None if read is None else Source(policy.file or "<policy>", policy.sha256),
        results=sums(),
        agent_version=policy.agent_version or reduction.agent_version,
        confidence=policy.confidence,
        flaky=() if reduction.repetition is None else reduction.repetition.scenarios_flaky,
        repetition=measure.repetition(reduction.repetition, reduction.whole.scenarios, alpha),
        scenarios=reduction.scenarios,
        details=_details(policy, evidence, whole, reduction) if loaded.details else None,
    )


def _against_baseline(
    evidence: gate.Evidence,
    policy: Policy,
    loaded: _Loaded,
    reduction: Reduction,
    sums: Callable[[], tuple[Source, ...]],
) -> tuple[gate.Evidence, tuple[str, ...]]:
    """The evidence with what changed since the baseline, and what must be said of it."""
    if reduction.records is None:
        return evidence, ()
    from highbar import runs  # only where a policy compares with a baseline, or one is recorded

    head = runs.keep(policy, reduction, sums())
    if loaded.against.kept is not None:
        loaded.against.kept(head)
    found, told = runs.against_baseline(policy, head, loaded.against.file, allow=loaded.against.allow_missing)
    return replace(evidence, baseline=found, allow_missing_baseline=loaded.against.allow_missing), told


def _details(policy: Policy, evidence: gate.Evidence, whole: measure.Measured, reduction: Reduction) -> Details:
    from highbar import __version__  # see Details: few reports need any of these
    from highbar.gate.comparisons import comparisons
    from highbar.measure.scores import percentiles_of, scores
    from highbar.model.details import Details, RowDetails

    rows = reduction.details or RowDetails()
    if rows.latency is not None:
        measured = percentiles_of("latency_ms", tuple(policy.metrics.values()))
        rows = replace(rows, latency=replace(rows.latency, metrics=measured))
    return Details(rows, scores(whole), comparisons(policy.rules, evidence), policy.text, __version__)


def _slices(whole: measure.Measured, reduction: Reduction) -> tuple[Slice, ...]:
    groups = [group for group in reduction.slices if group.by is not None]
    measured = [whole.over(group) for group in groups]
    return tuple(
        Slice(group.by or ("", ""), group.scenarios, part.values(), standing.worse, standing.p_value, standing.likely)
        for group, part, standing in zip(groups, measured, measure.standings(whole, measured), strict=True)
    )


def _reduce(loaded: _Loaded, policy: Policy, slices: Sequence[str], progress: Progress | None) -> Reduction:
    """The rows, reduced; a refusal is explained line by line."""
    import duckdb  # for the exceptions that a file can raise; the engine has loaded it by then

    try:
        engine = DuckDBEngine(loaded.files, loaded.table)
        with engine.watched(progress):
            return _reduced(engine, loaded, policy, slices)
    except (duckdb.Error, InputError) as error:
        if (
            isinstance(error, InputError)
            and type(error) is InputError
            and any(p.hint or p.line for p in error.problems)
        ):
            raise _placed(error, loaded) from None
        raise _explained(error, loaded, policy, slices) from error


def _reduced(engine: DuckDBEngine, loaded: _Loaded, policy: Policy, slices: Sequence[str]) -> Reduction:
    """The sums that the policy needs of the columns that there are; which those are may show only while reading."""
    while True:
        columns = engine.columns()
        _refuse_columns(loaded, policy, slices, columns)
        request = replace(_request(policy, slices, columns), scenario_limit=loaded.scenario_limit)
        if loaded.details:
            request = replace(request, details=True, failed_limit=MOST_DETAILED)
        reduction = engine.reduce(request)
        if engine.columns() == columns:
            break
    if loaded.against.kept is None and not loaded.against.file and not policies.compares(policy):
        return reduction
    from highbar.engine.records import widened  # see runs

    return replace(reduction, records=engine.records(widened(request, policies.chosen_by(policy))))


def _request(policy: Policy, slices: Sequence[str], columns: Sequence[str]) -> Request:
    wheres: list[tuple[str, Where]] = [
        (r.metric, r.where) for r in policy.rules if isinstance(r, ThresholdRule | StepRule) and r.where
    ]
    needs = measure.needs(policy, wheres)
    named = tuple(dict.fromkeys((*policy.slices, *slices)))
    patterns = {
        level: tuple(r.pattern for r in policy.rules if isinstance(r, ScenarioRule) and r.level == level)
        for level in ("blocking", "warning")
    }
    return Request(
        terms=needs.terms,
        percentiles=needs.percentiles,
        ratios=needs.ratios,
        crosses=needs.crosses,
        alpha=float(1 - policy.confidence),
        trial_noise=policy.population == "suite",
        slices=named or (("category",) if "category" in columns else ()),
        positive=policy.positive,
        pass_score=policy.pass_score,
        weights=policy.weights,
        required=patterns["blocking"],
        optional=patterns["warning"],
        suite=policy.suite,
    )


def _refuse_columns(loaded: _Loaded, policy: Policy, slices: Sequence[str], columns: Sequence[str]) -> None:
    known = [column.name for column in catalogue.COLUMNS]
    problems = [
        Problem(f"the columns {first!r} and {second!r} differ only in case", file=loaded.place(first).file)
        for first, second in pairwise(sorted(columns, key=lambda name: (name.casefold(), name)))
        if first.casefold() == second.casefold()
    ]
    for column in columns:
        meant = None if column in policy.allow_columns else near_miss(column, known)
        if meant:
            place = loaded.place(column)
            problems.append(
                Problem(
                    f"unknown column {column!r}",
                    file=place.file,
                    line=place.line,
                    hint=f"did you mean {meant!r}? If not, name it in the policy's allow_columns",
                )
            )
    if problems:
        raise InputError(*problems, *_row_problems(loaded, policy, slices))


def _refuse_categories(loaded: _Loaded, policy: Policy, reduction: Reduction) -> None:
    known = policies.categories(policy)
    problems = []
    for category in reduction.categories:
        meant = None if category in policy.allow_categories else near_miss(category, known)
        if meant:
            place = loaded.place(category)
            problems.append(
                Problem(
                    f"unknown category {category!r}",
                    file=place.file,
                    line=place.line,
                    hint=f"did you mean {meant!r}? If not, name it in the policy's allow_categories",
                )
            )
    if problems:
        raise InputError(*problems)


def _row_problems(loaded: _Loaded, policy: Policy, slices: Sequence[str]) -> tuple[Problem, ...]:
    needs = measure.needs(policy)
    numbers = tuple(
        dict.fromkeys(t.column.removeprefix("extra:") for t in needs.terms if t.column.startswith("extra:"))
    )
    scalars = tuple(dict.fromkeys((*policy.slices, *slices)))
    if loaded.table is not None:
        return explain.explain_table(loaded.table, scalars, numbers)
    return explain.explain(loaded.files, scalars, numbers)


def _explained(error: Exception, loaded: _Loaded, policy: Policy, slices: Sequence[str]) -> InputError:
    problems = _row_problems(loaded, policy, slices)
    if problems:
        return InputError(*problems)
    if isinstance(error, InputError):
        return _placed(error, loaded)
    if type(error).__name__ not in OF_THE_RESULTS:
        raise error
    name = loaded.files[0].name if len(loaded.files) == 1 else None
    return InputError(Problem(f"cannot be read: {str(error).splitlines()[0]}", file=name))


def _placed(error: InputError, loaded: _Loaded) -> InputError:
    """The same problems, with the file named where there is only one."""
    if len(loaded.files) != 1:
        return error
    name = loaded.files[0].name
    return InputError(*(Problem(p.message, p.file or name, p.line, p.column, p.hint) for p in error.problems))
