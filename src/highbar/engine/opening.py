"""The table of engines, and the reduction: Results and a function that says what is needed in, sums out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from highbar.engine.protocol import Engine, FileEngine, PathEngine
from highbar.errors import InputError, Problem
from highbar.load import accounts, refusals
from highbar.load.results import Results
from highbar.model.job import EngineChoice
from highbar.model.reduction import Reduction
from highbar.model.requests import PlannedTrials, Request

if TYPE_CHECKING:  # see _entry_points
    from importlib.metadata import EntryPoint

GROUP = "highbar.engines"
"""The entry points with which other packages add an engine; each names an EngineKind."""
RequestFor = Callable[[Sequence[str]], Request]
"""From the columns of the results to the request."""


class EngineKind(Struct, frozen=True, eq=False):
    """How to open an engine over results, and whether it finds and reads the files by their paths itself."""

    open: Callable[[Results], AbstractContextManager[Engine]]
    reads_paths: bool = False


def _duckdb(results: Results) -> AbstractContextManager[Engine]:
    from highbar.engine.duckdb import over_results  # another engine does without DuckDB's modules

    return over_results(results.files, results.table, results.engine)


def _spark(results: Results) -> AbstractContextManager[Engine]:
    from highbar.engine import spark_session  # an optional extra, and seconds to start

    if results.table is not None:
        return spark_session.over_frame(results.table.rows)
    choice = results.engine
    return spark_session.over_paths(
        results.paths, input_format=results.input_format, master=choice.spark_master, remote=choice.spark_remote
    )


ENGINES: Mapping[str, EngineKind] = MappingProxyType(
    {"duckdb": EngineKind(_duckdb), "spark": EngineKind(_spark, reads_paths=True)}
)


def engine_names() -> tuple[str, ...]:
    """The engines of this package, then those that installed packages add."""
    return tuple(dict.fromkeys((*ENGINES, *_entry_points())))


def engine_kind(name: str) -> EngineKind:
    """The engine of that name. Raises LookupError if no package has it."""
    if name in ENGINES:
        return ENGINES[name]
    point = _entry_points()[name]
    try:
        found = point.load()
    except Exception as error:  # the code of another package may fail in any way
        raise InputError(
            Problem("plugin.broken", f"the engine {name!r} of an installed package cannot be loaded: {error}")
        ) from error
    if not isinstance(found, EngineKind):
        wanted = f"wanted an EngineKind, found {type(found).__name__}"
        raise InputError(
            Problem("plugin.broken", f"the engine {name!r} of an installed package is not an engine", hint=wanted)
        )
    return found


def _entry_points() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # 20 ms: only for an engine that is not ours

    return {point.name: point for point in entry_points(group=GROUP)}


def choose_engine(
    name: str = "duckdb",
    *,
    memory_limit: str | None = None,
    spark_master: str | None = None,
    spark_remote: str | None = None,
) -> EngineChoice:
    """The choice of an engine by its name. Raises LookupError if no package has it."""
    return EngineChoice(name, engine_kind(name).reads_paths, memory_limit, spark_master, spark_remote)


def open_engine(results: Results) -> AbstractContextManager[Engine]:
    """The chosen engine over the results; a Spark DataFrame is always reduced by Spark."""
    on_frame = results.table is not None and results.table.on_spark
    return engine_kind("spark" if on_frame else results.engine.name).open(results)


def reduce(results: Results, request_for: RequestFor) -> Reduction:
    """The requested sums. Raises InputError, with lines, unless as many rows were summed as the files have."""
    with refusals.explain_refusals(results), open_engine(results) as engine, engine.watched(results.progress):
        with _compare_counts(results, engine) as compare_counts:
            reduction = _reduce_with(engine, results, request_for)
            missing = reduction.missing.trials if reduction.missing else 0
            left = reduction.selection.rows if reduction.selection else 0
            compare_counts(reduction.whole.trials - missing + left + reduction.left_out)
        return reduction


def _reduce_with(engine: Engine, results: Results, request_for: RequestFor) -> Reduction:
    """Reduce until the columns are final: some of them may appear only while the rows are read."""
    # JSON rows of a large file are first assumed to have the keys of the first row; if not, more columns appear, and
    # the policy may need other sums.
    while True:
        columns = engine.columns()
        refusals.refuse_columns(results, columns)
        request = _with_plan_of_run(_with_chosen_scenarios(request_for(columns), results), results, columns)
        reduction = engine.reduce(request)
        if engine.columns() == columns:
            break
    if reduction.origins:
        from highbar.load.origins import judge_origins  # only for rows of runs

        notes = judge_origins(results, reduction.origins, subset=request.subset)
        reduction = replace(reduction, warnings=(*reduction.warnings, *notes))
    if results.chosen is not None and reduction.suite is not None:
        reduction = replace(reduction, suite=replace(reduction.suite, of_part=True))
    if request.record_by is None:
        return reduction
    from highbar.engine.records import widen_request  # only for a baseline or a comparison

    return replace(reduction, records=engine.records(widen_request(request, request.record_by)))


def _with_chosen_scenarios(request: Request, results: Results) -> Request:
    """The request, with only the scenarios of the suite that a filtered run chose: the verdict is about that part."""
    if results.chosen is None or request.suite is None:
        return request
    some = {id_: fields for id_, fields in request.suite.scenarios.items() if id_ in results.chosen}
    return replace(request, suite=replace(request.suite, scenarios=some))


def _with_plan_of_run(request: Request, results: Results, columns: Sequence[str]) -> Request:
    """The request, with only the number that the policy gives for rows of a run: of these, all are there."""
    of_run = any(name.partition(".")[0] == "highbar_run" for name in columns)
    in_folders = bool(results.files) and all(file.recorded is not None for file in results.files)
    if request.planned is None or not (of_run or in_folders):
        return request
    every = request.planned.every
    return replace(request, planned=PlannedTrials(every) if every else None)


@contextmanager
def _compare_counts(results: Results, engine: Engine) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of rows used; it raises InputError if the files have another number."""
    if results.table is not None:
        yield lambda _: None  # a table is what the caller gave: there is nothing to compare its rows with
        return
    if not results.paths:
        # Another reader than the engine's counts: a row that the engine loses silently would change the verdict.
        yield lambda used: accounts.compare_counts(results.accounts(), used, cast("FileEngine", engine).rows_of)
        return
    from highbar.load import spark_files  # only for an engine that reads paths

    remote = cast("PathEngine", engine)
    files = spark_files.local_files(remote.addresses(), results.paths, remote.format)

    def compare_counts(used: int) -> None:
        accounts.compare_counts(accounts_of(), used)
        if files is None and (counted := remote.count()) != used:  # files that only the engine can read: ask it again
            message = f"a second count finds {counted} results, and {used} were read"
            raise InputError(Problem("results.other-count", message, hint="do the files change while they are read?"))

    with accounts.start_counting(files or ()) as accounts_of:
        yield compare_counts
