"""Files and a policy in, the sums that it needs out. What cannot be read or judged is refused, and explained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from highbar import measure
from highbar import policy as policies
from highbar.columns import COLUMNS
from highbar.engine.checks import Twice
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.protocol import Engine, Request
from highbar.errors import InputError, Problem
from highbar.language.spelling import near_miss
from highbar.load import accounts, explain, hints
from highbar.model import (
    ConditionRule,
    Demand,
    Policy,
    ProgressiveRule,
    ResultsFile,
    Rule,
    ScenarioRule,
    StepRule,
    ThresholdRule,
    Where,
)
from highbar.model.ranges import ColumnRange
from highbar.model.reduction import Reduction

if TYPE_CHECKING:  # only where every scenario is wanted
    from highbar.baseline.against import Kept
    from highbar.engine.spark import SparkEngine
    from highbar.load.tables import Table
    from highbar.model.judging import Judging

Progress = Callable[[float], None]
MOST_DETAILED = 10_000
"""How many failed scenarios the details of a verdict open."""
MOST_NEAR_MISSES = 20
"""Near misses that are reported at once: the line of each is looked for in the files."""
OF_THE_RESULTS = {
    "BinderException", "ConversionException", "IOException", "InvalidInputException", "InvalidTypeException",
    "NotImplementedException", "OutOfRangeException", "SerializationException", "TypeMismatchException",
}  # fmt: skip
"""DuckDB's exceptions that a results file can cause; any other is a fault of ours, or of the machine."""


@dataclass(frozen=True, slots=True)
class Against:
    """Which baseline to compare with, where not the policy's, and who wants every scenario."""

    file: str | None = None
    allow_missing: bool = False
    kept: Callable[[Kept], None] | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What reduces the rows: DuckDB in this process, within a memory limit (`600MB`), or Spark at an address."""

    engine: Literal["duckdb", "spark"] = "duckdb"
    memory_limit: str | None = None
    spark_master: str | None = None
    spark_remote: str | None = None


ONE_PROCESS = Machine()


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is to be judged: files, or a table; and how many of its scenarios are to be listed, one by one."""

    files: tuple[ResultsFile, ...]
    table: Table | None = None
    scenario_limit: int = 0
    details: bool = False
    against: Against = Against()
    machine: Machine = ONE_PROCESS
    paths: tuple[str, ...] = ()  # what Spark is to read; it finds the files itself
    input_format: str | None = None
    select: Where = ()  # which rows are judged, if no policy says so
    subset: bool = False  # whether scenarios may lose all their rows by `select`
    accounts: accounts.Accounts = tuple  # waits for what the files hold, counted without the engine

    @property
    def on_spark(self) -> bool:
        """Whether Spark has the rows: the caller's DataFrame, or files that it reads."""
        return self.machine.engine == "spark" or (self.table is not None and self.table.on_spark)

    @property
    def judged_by(self) -> tuple[Judging, ...]:
        """Who judged in the files of other tools, each once."""
        return tuple(dict.fromkeys(file.judging for file in self.files if file.judging))

    def place(self, text: str) -> Problem:
        """Where in the files a text stands."""
        return explain.locate(self.files, text)


def reduce(loaded: Loaded, policy: Policy, slices: Sequence[str], progress: Progress | None) -> Reduction:
    """The rows, reduced; a refusal is explained line by line."""
    if loaded.on_spark:
        with _spark(loaded) as spark, spark.watched(progress):
            return _accounted_on_spark(spark, loaded, policy, slices)
    import duckdb  # for the exceptions that a file can raise; the engine has loaded it by then

    try:
        engine = _duckdb(loaded)
        with engine.watched(progress):
            return _accounted(engine, loaded, policy, slices)
    except (duckdb.Error, InputError) as error:
        if (
            isinstance(error, InputError)
            and type(error) is InputError
            and any(p.hint or p.line for p in error.problems)
        ):
            raise _placed(error, loaded) from None
        raise _explained(error, loaded, policy, slices) from error


def _duckdb(loaded: Loaded) -> DuckDBEngine:
    limit = loaded.machine.memory_limit
    if loaded.table is None:
        return DuckDBEngine(loaded.files, memory_limit=limit)
    return DuckDBEngine((), loaded.table.rows, as_json=loaded.table.as_json, memory_limit=limit)


def _accounted(engine: DuckDBEngine, loaded: Loaded, policy: Policy, slices: Sequence[str]) -> Reduction:
    """The sums, once all results that the files hold are in them."""
    reduction = _reduced(engine, loaded, policy, slices)
    accounts.settle(loaded.accounts(), _read(reduction), engine.rows_of)
    return reduction


def _read(reduction: Reduction) -> int:
    """How many rows were read: those that were judged, and those that were left out."""
    return reduction.whole.trials + (reduction.selection.rows if reduction.selection else 0)


def _accounted_on_spark(spark: SparkEngine, loaded: Loaded, policy: Policy, slices: Sequence[str]) -> Reduction:
    """The same on Spark: files that are here too are counted here, others by a second query. A frame is as it is."""
    if loaded.table is not None:
        return _reduced(spark, loaded, policy, slices)
    from highbar.load import shared  # only for Spark

    files = shared.local_files(spark.addresses(), loaded.paths, spark.format)
    with accounts.started(files or ()) as accounts_of:
        reduction = _reduced(spark, loaded, policy, slices)
        accounts.settle(accounts_of(), _read(reduction))
    if files is None and (counted := spark.count()) != _read(reduction):
        message = f"a second count finds {counted} results, and {_read(reduction)} were read"
        raise InputError(Problem(message, hint="do the files change while they are read?"))
    return reduction


def _spark(loaded: Loaded) -> AbstractContextManager[SparkEngine]:
    from highbar.engine import spark_session  # an optional extra, and seconds to start

    if loaded.table is not None:
        return spark_session.over_frame(loaded.table.rows)
    machine = loaded.machine
    return spark_session.over_paths(
        loaded.paths, input_format=loaded.input_format, master=machine.spark_master, remote=machine.spark_remote
    )


def _reduced(engine: Engine, loaded: Loaded, policy: Policy, slices: Sequence[str]) -> Reduction:
    """The sums that the policy needs of the columns that there are; which those are may show only while reading."""
    while True:
        columns = engine.columns()
        _refuse_columns(loaded, policy, slices, columns)
        request = replace(
            request_of(policy, slices, columns), scenario_limit=loaded.scenario_limit, subset=loaded.subset
        )
        if loaded.details:
            request = replace(request, details=True, failed_limit=MOST_DETAILED)
        reduction = engine.reduce(request)
        if engine.columns() == columns:
            break
    if loaded.against.kept is None and not loaded.against.file and not policies.compares(policy):
        return reduction
    from highbar.engine.records import widened  # see runs

    return replace(reduction, records=engine.records(widened(request, policies.chosen_by(policy))))


def request_of(policy: Policy, slices: Sequence[str], columns: Sequence[str]) -> Request:
    """What the engine is asked for, so that the policy can be judged."""
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
        thirds=needs.thirds,
        ranges=measure.column_ranges(policy),
        ends=measure.ends(policy),
        undecided=tuple(dict.fromkeys(measure.undecided_of(rule, policy) for rule in policy.rules)),
        alpha=float(1 - policy.confidence),
        trial_noise=policy.population == "suite",
        count_failures=any(demand.failures for rule in policy.rules for demand in _demands(rule)),
        slices=named or (("category",) if "category" in {*columns, *_described(policy)} else ()),
        positive=policy.positive,
        pass_score=policy.pass_score,
        weights=policy.weights,
        required=patterns["blocking"],
        optional=patterns["warning"],
        suite=policy.suite,
        select=policy.select,
    )


def _demands(rule: Rule) -> tuple[Demand, ...]:
    """How a rule about a number weighs its evidence, in each of its steps."""
    if isinstance(rule, ProgressiveRule):
        return tuple(step.demand for step in rule.steps)
    return (rule.demand,) if isinstance(rule, ThresholdRule | ConditionRule) else ()


def _described(policy: Policy) -> set[str]:
    """The columns that the suite gives its scenarios."""
    return {column for fields in (policy.suite.scenarios.values() if policy.suite else ()) for column in fields}


def _refuse_columns(loaded: Loaded, policy: Policy, slices: Sequence[str], columns: Sequence[str]) -> None:
    known = [column.name for column in COLUMNS]
    problems = [
        Problem(f"the columns {first!r} and {second!r} differ only in case", file=loaded.place(first).file)
        for first, second in pairwise(sorted(columns, key=lambda name: (name.casefold(), name)))
        if first.casefold() == second.casefold()
    ]
    problems += [
        Problem(
            f"the columns {column!r} and {name!r}, which the policy names, differ only in case",
            file=loaded.place(column).file,
            hint=hints.ONE_SPELLING,
        )
        for name in dict.fromkeys((*policy.slices, *slices, *policies.chosen_by(policy)))
        for column in columns
        if column != name and column.casefold() == name.casefold() and name.startswith("tags.") and name not in columns
    ]
    problems += [
        Problem("a column without a name", file=loaded.place(name).file, hint="name it, or leave it out")
        for name in columns
        if not name.strip()
    ]
    problems += _near_misses(loaded, "column", columns, known, policy.allow_columns)
    if problems:
        raise InputError(*problems, *_row_problems(loaded, policy, slices))


def refuse_categories(loaded: Loaded, policy: Policy, reduction: Reduction) -> None:
    """Refuse a category that is a near miss of a known one: it would leave the safety set unseen."""
    known = policies.categories(policy)
    problems = _near_misses(loaded, "category", reduction.categories, known, policy.allow_categories)
    if problems:
        raise InputError(*problems)


def _near_misses(
    loaded: Loaded, what: str, found: Sequence[str], known: Iterable[str], allowed: Collection[str]
) -> list[Problem]:
    """A problem for each name that is nearly a known one, unless the policy allows it."""
    problems: list[Problem] = []
    candidates = frozenset(known)
    for name in found:
        if len(problems) == MOST_NEAR_MISSES:
            break
        meant = None if name in allowed else near_miss(name, candidates) or _nearly_a_tag(what, name)
        if meant:
            place = loaded.place(name)
            key = {"column": "allow_columns", "category": "allow_categories"}[what]
            hint = f"did you mean {meant!r}? If not, name it in the policy's {key}"
            problems.append(Problem(f"unknown {what} {name!r}", file=place.file, line=place.line, hint=hint))
    return problems


def _nearly_a_tag(what: str, name: str) -> str | None:
    """The column `tags.NAME` that a column was probably meant to be: `Tags.locale`, `tag.locale`."""
    prefix, dot, tag = name.partition(".")
    return f"tags.{tag}" if what == "column" and dot and near_miss(prefix, ("tags",)) else None


def _row_problems(loaded: Loaded, policy: Policy, slices: Sequence[str]) -> tuple[Problem, ...]:
    if loaded.on_spark:
        return ()  # its rows are not looked at one by one
    needs = measure.needs(policy)
    extras = (t.column.removeprefix("extra:") for t in needs.terms if t.column.startswith("extra:"))
    ranges = measure.column_ranges(policy)
    any_number = set(extras) - {range_.column for range_ in ranges}
    numbers = (*(ColumnRange(column) for column in sorted(any_number)), *ranges)
    chosen_by = (*policies.chosen_by(policy), *(column for column, _ in policy.select))
    tags = (column for column in chosen_by if column.startswith("tags."))
    scalars = tuple(dict.fromkeys((*policy.slices, *slices, *tags)))
    if loaded.table is not None:
        from highbar.load import tables  # only for a refused table

        return tables.explain(loaded.table, scalars, numbers)
    return explain.explain(loaded.files, scalars, numbers)


def _explained(error: Exception, loaded: Loaded, policy: Policy, slices: Sequence[str]) -> InputError:
    limit = loaded.machine.memory_limit
    if limit and type(error).__name__ == "OutOfMemoryException":  # without a limit it is a fault of the machine
        return InputError(Problem(f"{limit} are not enough for these results", hint="give more with --memory-limit"))
    problems = accounts.damages(loaded.accounts()) or _row_problems(loaded, policy, slices)
    if problems:
        return InputError(*problems)
    if isinstance(error, InputError):
        return _placed(error, loaded)
    if type(error).__name__ not in OF_THE_RESULTS:
        raise error
    name = loaded.files[0].name if len(loaded.files) == 1 else None
    told, hint = hints.of_engine(error)
    return InputError(Problem(told, file=name, hint=hint))


def _placed(error: InputError, loaded: Loaded) -> InputError:
    """The same problems, with the file named where there is only one, and the lines of what stands twice."""
    damaged = accounts.damages(loaded.accounts())
    if damaged:  # whatever else is wrong, the file is not what it was
        return InputError(*damaged)
    if isinstance(error, Twice) and loaded.files:
        from highbar.load.places import name_twice  # only for results that are refused

        return InputError(*name_twice(error.problems, error.keys, loaded.files))
    if len(loaded.files) != 1:
        return error
    name = loaded.files[0].name
    return InputError(*(Problem(p.message, p.file or name, p.line, p.column, p.hint) for p in error.problems))
