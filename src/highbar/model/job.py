"""A job: which results to judge by which policy, on which engine, and what the reports need from them.

Most of these structs have `eq=False`: nothing compares them, and every start is faster without the methods for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from msgspec import Struct, field

from highbar.model.rules import Policy

if TYPE_CHECKING:  # few checks have a mapping
    from datetime import date

    from highbar.model import ResultsFile
    from highbar.model.mapping import RowMap
    from highbar.model.order import RunOrder
    from highbar.model.recall import Recalled


class Recall(Protocol):
    """A function that reads the history. A job carries it, because the code that judges is in a layer below it."""

    def __call__(self, policy: Policy, run: Any, texts: Mapping[str, str], /) -> Recalled:
        """What the history says about a scored run; `texts` has, by id, digests of what scenarios ask, if known."""


class ReadOrder(Protocol):
    """A function that reads the order of a run from its journal. A job carries it for the same reason."""

    def __call__(self, files: Sequence[ResultsFile], seed: int | None, /) -> RunOrder | str:
        """The order of the scenarios, or why none is recorded. Raises InputError if the results do not fit the run."""


class EngineChoice(Struct, frozen=True):
    """Which engine reduces the rows, by its name in the table of engines, and its options.

    An engine that `reads_paths` finds and reads the files itself; others are given the files that were found.
    """

    name: str = "duckdb"
    reads_paths: bool = False
    memory_limit: str | None = None  # of this process: `600MB`
    spark_master: str | None = None
    spark_remote: str | None = None


class Table(Struct, frozen=True, eq=False):
    """A frame or an Arrow table with columns of one type each; some hold the JSON text of their values."""

    rows: Any
    as_json: frozenset[str] = frozenset()
    on_spark: bool = False  # the rows are a DataFrame that Spark has


class Wants(Struct, frozen=True, eq=False):
    """What the caller needs from the results besides the verdict."""

    slices: tuple[str, ...] = ()  # columns to show the metrics by, besides those that the policy names
    subset: bool = False  # accept a run of a part of its suite, and a selection that leaves a scenario without rows
    scenarios: bool = False  # every scenario, for reports that list them
    details: bool = False  # the trials of failed scenarios in full
    trials_of: tuple[str, ...] = ()  # ids of scenarios whose trials a comparison shows, passed ones too
    run: bool = False  # the record of every scenario, for a baseline or a comparison
    texts: bool = False  # and the digest of what each asks and demands, for the history
    within_suite: bool = False  # only rows of scenarios that the suite of the policy has
    planned: Mapping[str, int] = {}  # by id, how many trials there were in the run that this one is compared with


DUCKDB = EngineChoice()
NOTHING_MORE = Wants()


class Job(Struct, frozen=True, eq=False):
    """Results, as paths or as a table, and every setting for reading and judging them."""

    results: tuple[str, ...] = ()  # files, folders, patterns, or - for standard input
    table: Table | None = None
    policy: str | Mapping[str, Any] | Policy | None = None  # None: look for one
    agent: str | None = None  # its name, instead of the policy's
    agent_version: str | None = None
    where: tuple[str, ...] = ()  # COLUMN=VALUE: which rows are judged, if the policy does not say
    baseline: str | None = None  # instead of the file that the policy names
    allow_missing_baseline: bool = False
    input_format: str | None = None
    mapping: str | RowMap | None = None  # a mapping instead of the policy's, or the path of its file
    engine: EngineChoice = DUCKDB
    wants: Wants = NOTHING_MORE
    stdin: BinaryIO | None = None
    names: Mapping[str, str] = field(default_factory=dict)  # what to call a path in messages, if not by the path
    seed: int | None = None  # the one that the policy has here and at the ref: an order from it was not chosen
    order: ReadOrder | None = None  # reads the order of a run, if a rule is sequential; None: the rows have no order
    recall: Recall | None = None  # reads the history, if a rule needs it; None: nothing is known about earlier runs
    today: date | None = None  # the day that decides whether a quarantine has ended; None: today's date
    suite_compared: bool = False  # the suite of the policy was found to be the one of the run, before the run began
    regraded: Mapping[str, str] = field(default_factory=dict)  # path of results → that of rows to read instead, or ""


Progress = Callable[[float], None]
Say = Callable[[str], None]


class JobWatch(Struct, frozen=True, eq=False):
    """Callbacks of a running job: `progress` (0 to 1), and `say` for what was read from each file of another tool.

    `say_urgent` gets only the notes that no option hides, for callers that do not show the rest.
    """

    progress: Progress | None = None
    say: Say | None = None
    say_urgent: Say | None = None


SILENT = JobWatch()
