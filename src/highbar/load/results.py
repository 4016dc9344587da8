"""Job → Results: files that are found, imported and being counted; or a table; or paths that the engine reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.load import accounts, files, folders, foreign, run_folders
from highbar.model import Policy, ResultsFile, Source
from highbar.model.job import EngineChoice, Job, JobWatch, Progress, Table

if TYPE_CHECKING:  # of files of other tools
    from highbar.model.judging import Judging
    from highbar.model.order import RunOrder


class Results(Struct, frozen=True, eq=False):
    """What an engine reads, and what is known about it without the engine; `policy` says which columns to expect."""

    policy: Policy
    slices: tuple[str, ...]
    engine: EngineChoice
    files: tuple[ResultsFile, ...] = ()
    table: Table | None = None
    paths: tuple[str, ...] = ()  # for an engine that finds and reads the files itself
    input_format: str | None = None
    accounts: accounts.Accounts = tuple  # call it for the counts of the files; it waits for them
    progress: Progress | None = None
    chosen: frozenset[str] | None = None  # the ids of a filtered run; None if the whole suite is demanded
    order: RunOrder | str | None = None  # of the scenarios, or why it is not known; None if no rule is sequential

    @property
    def has_order(self) -> bool:
        """Whether scenarios are looked at in a recorded order."""
        if self.order is None:
            return False
        from highbar.model.order import RunOrder  # few policies are sequential

        return isinstance(self.order, RunOrder)

    @property
    def is_remote(self) -> bool:
        """Whether this process cannot reach the rows, so that no row can be looked at here."""
        return self.engine.reads_paths or (self.table is not None and self.table.on_spark)

    @property
    def judged_by(self) -> tuple[Judging, ...]:
        """Who judged in the files of other tools, each judge once."""
        return tuple(dict.fromkeys(file.judging for file in self.files if file.judging))

    @property
    def only_file(self) -> str | None:
        """The name of the file, if there is just one."""
        return self.files[0].name if len(self.files) == 1 else None

    def sources(self) -> tuple[Source, ...]:
        """Every file with its digest, for the verdict; paths that another engine reads have no digest."""
        if self.paths:
            return tuple(Source(path, None) for path in self.paths)
        return tuple(account.source for account in self.accounts())


@contextmanager
def open_results(job: Job, policy: Policy, watch: JobWatch) -> Iterator[Results]:
    """Open what the job names. Raises InputError with every problem; temporary copies are removed at the end."""
    found = Results(policy, job.wants.slices, job.engine, input_format=job.input_format, progress=watch.progress)
    guidance = foreign.NO_GUIDANCE
    if job.mapping is not None or policy.mapping is not None or policy.judged_by:
        guidance = foreign.guidance(job.mapping, policy)
    if job.table is not None:
        yield replace(found, table=job.table)
    elif job.engine.reads_paths:
        if guidance.mapping is not None:
            hint = "highbar import map writes the rows that Spark can read"
            raise InputError(Problem("spark.cannot-read", "Spark does not read by a mapping", hint=hint))
        yield replace(found, paths=_engine_paths(job.results, subset=job.wants.subset))
    else:
        with ExitStack() as stack:
            read = files.find_files(
                job.results,
                stack=stack,
                input_format=job.input_format,
                stdin=job.stdin,
                guidance=guidance,
                names=job.names,
                subset=job.wants.subset,
                regraded=job.regraded,
            )
            _tell(read, watch)
            if (
                policy.rules and policy.suite is not None and not (job.regraded or job.suite_compared)
            ):  # a comparison has no rules
                for file in read:
                    if file.recorded is not None:
                        run_folders.refuse_another_suite(file.path, policy.suite.file)
            # Only if all files are of filtered runs: other results beside them do not excuse missing scenarios.
            is_part = bool(read) and all(file.is_part for file in read)
            chosen = run_folders.ids_in(file.path for file in read) if is_part else None
            order = _order(job, policy, read)
            # Last, when everything else has been accepted: the files are counted while the engine reads them.
            counted = stack.enter_context(accounts.start_counting(read))
            yield replace(found, files=read, accounts=counted, chosen=chosen, order=order)


def _order(job: Job, policy: Policy, read: tuple[ResultsFile, ...]) -> RunOrder | str | None:
    """The order of the run that is judged, or why it has none; None unless a part of the run may decide a rule."""
    if not policy.is_sequential:
        return None
    from highbar.model.order import NO_ORDER  # few policies are sequential

    if policy.select:
        return "only some of the rows are judged"
    return NO_ORDER if job.order is None else job.order(read, job.seed)


def _engine_paths(paths: Sequence[str], *, subset: bool) -> tuple[str, ...]:
    """The paths for an engine that reads the files itself; the folder of a run becomes the path of its results."""
    named = [folders.results_in(path) or path for path in paths]
    shards = run_folders.sharded_run(named, subset=subset)
    return tuple(
        _refuse_changed(path, subset=subset, with_others=path in shards) for path in named if shards.get(path, True)
    )


def _refuse_changed(path: str, *, subset: bool, with_others: bool) -> str:
    """The path of results. If they are of a run, raises InputError unless they are as the run wrote them."""
    found = folders.results_in(path)
    if found is None:
        return path
    changed = accounts.account(run_folders.read_results(found, subset=subset, with_others=with_others)).damaged
    if changed:
        raise InputError(changed)
    return found


def _tell(read: tuple[ResultsFile, ...], watch: JobWatch) -> None:
    for file in read:
        if watch.say is not None and file.imported:
            watch.say(file.imported)
        if watch.say_urgent is not None:
            for note in file.urgent:
                watch.say_urgent(note)
