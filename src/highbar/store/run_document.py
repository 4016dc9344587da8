"""What a run planned and did, as a document, `highbar/run/1`: the file `run.json` in the folder of the run.

It is written when a run ends, after the results. It has the digest of the results, and the size and last checksum of
the journal: if one of these files has changed since, the folder is not judged.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.model import Source
from highbar.model.judge_quality import CanaryReport
from highbar.store import reading, writing
from highbar.store.forms import (
    COUNT,
    DIGEST,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Context,
    DamagedError,
    Form,
    constant,
    field,
    object_of,
    one_of,
    optional,
)
from highbar.store.shared import CANARIES, schema_of

SCHEMA = "highbar/run/1"
JOURNAL, RESULTS, DOCUMENT = "journal", "results.jsonl", "run.json"
"""The files of a run folder."""

RunEnd = Literal["complete", "budget", "time", "decided", "interrupted"]
RunState = Literal[RunEnd, "running"]
FINISHED: tuple[RunEnd, ...] = ("complete", "budget", "time", "decided")
"""The ends of a run after which it may be judged."""
AgentKind = Literal["python", "http", "command"]
SeedFrom = Literal["fresh", "option", "policy"]
"""Where the seed of the order is from: fresh randomness, which nobody chose; an option; or the policy."""


class SuiteOfRun(Struct, frozen=True):
    """The suite that was run. `digest` is that of its scenarios, `sha256` that of the file."""

    name: str | None
    file: str
    digest: str
    sha256: str


class AgentOfRun(Struct, frozen=True):
    """The agent that was run, without secrets. `settings` is the digest of all its settings."""

    kind: AgentKind
    target: str
    version: str | None
    settings: str


class JudgeOfRun(Struct, frozen=True):
    """The judge of a run. `by` has the texts of the rows' column `judge`: several if the model changed during the run.

    `trials` and `statements` count what was judged; for `failed` more trials the judge gave no usable answer. Tokens
    and cost are those of the judge, None if they are not known. `same_model`: the judge is also the model under test.
    """

    by: tuple[str, ...]
    prompt: str
    trials: int
    statements: int
    failed: int
    tokens_used: int | None
    cost_usd: float | None
    forms: tuple[str, ...]
    same_model: bool
    canaries: CanaryReport | None = None


class RunExtent(Struct, frozen=True):
    """How much was planned."""

    scenarios: int
    trials: int


class Chosen(Struct, frozen=True):
    """The scenarios of the suite to run, as the options select them; the default selects all.

    `shard`: the number of a part of the suite, counted from 1, and the number of parts.
    """

    only: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    limit: int | None = None
    shard: tuple[int, int] | None = None


class TrialCounts(Struct, frozen=True):
    """How trials ended. Undecided ones have no answer, for no fault of the agent."""

    answered: int
    errors: int
    undecided: int

    @property
    def trials(self) -> int:
        """The number of all trials."""
        return self.answered + self.errors + self.undecided


class OrderOfRun(Struct, frozen=True):
    """The random order of the scenarios: a digest of their ids in that order, and the seed that gave it."""

    digest: str
    seed: int
    seed_from: SeedFrom


class StoredRows(Struct, frozen=True):
    """The results that a run wrote."""

    rows: int
    sha256: str


class StoredJournal(Struct, frozen=True):
    """The journal as it was when the document was written: its length, and the checksum of its last line."""

    size: int
    lines: int
    checksum: str


class RunDocument(Struct, frozen=True):
    """What a run planned and did.

    `whole`: all scenarios of the suite were selected. `done` counts all planned trials, `retried` those that needed
    several attempts. `started` and `ended` are in UTC, ISO 8601. A run is finished if it completed, used up its budget
    or time, or was decided. `policy` was to judge it, and `until_decided` to decide it, if it was to stop as soon as it
    was decided.

    `commit` was checked out when the run began; None if it is not known, or if the run was resumed at another commit.
    `branch` and `parents` are None if they are not known. `changed`: files of the working tree differed from the
    commit.
    """

    state: RunState
    whole: bool
    suite: SuiteOfRun
    agent: AgentOfRun
    planned: RunExtent
    chosen: Chosen
    done: TrialCounts
    retried: TrialCounts
    order: OrderOfRun
    started: str
    ended: str | None
    resumes: int
    results: StoredRows
    journal: StoredJournal
    highbar: str
    judge: JudgeOfRun | None = None
    until_decided: Source | None = None
    commit: str | None = None
    branch: str | None = None
    parents: tuple[str, ...] | None = None
    changed: bool | None = None
    policy: Source | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run ended in a way that may be judged."""
        return self.state in FINISHED


_CHECKSUM = Form(
    {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    lambda value, _context: value,
    lambda found, _context: _checksum(found),
)


def _checksum(found: Any) -> str:
    if not isinstance(found, str) or not re.fullmatch("[0-9a-f]{8}", found):
        raise DamagedError(((), "wanted 8 hexadecimal digits"))
    return found


def _counts(description: str) -> Form:
    return object_of(
        TrialCounts,
        field("answered", COUNT),
        field("errors", COUNT, "The agent failed."),
        field("undecided", COUNT, "No answer, for no fault of the agent: not run, interrupted, infrastructure."),
        description=description,
    )


_SHARD = object_of(
    lambda number, of: (number, of),
    field("number", COUNT, of=lambda shard: shard[0]),
    field("of", COUNT, of=lambda shard: shard[1]),
)
_POLICY = object_of(Source, field("policy", TEXT, of="file"), field("sha256", optional(DIGEST)))
_RUN = object_of(
    RunDocument,
    constant("schema", SCHEMA),
    field("state", one_of(RunState), "How the run ended; only complete, budget, time and decided are finished runs."),
    field("whole", FLAG, "Whether all scenarios of the suite were chosen."),
    field(
        "suite",
        object_of(
            SuiteOfRun,
            field("name", optional(TEXT)),
            field("file", TEXT),
            field("digest", DIGEST, "Of its scenarios."),
            field("sha256", DIGEST, "Of the text of the file."),
        ),
    ),
    field(
        "agent",
        object_of(
            AgentOfRun,
            field("kind", one_of(AgentKind)),
            field("target", TEXT, "The function, the address or the command, with `${NAME}` as it is written."),
            field("version", optional(TEXT)),
            field("settings", DIGEST, "Of all settings of the agent."),
        ),
    ),
    field(
        "judge",
        optional(
            object_of(
                JudgeOfRun,
                field("by", TEXTS, "The texts of the rows' column `judge`."),
                field("prompt", DIGEST, "Of the prompt, the judge's settings and all statements of the suite."),
                field("trials", COUNT, "Trials that were judged."),
                field("statements", COUNT, "Statements that were judged."),
                field("failed", COUNT, "Trials about which the judge gave no usable answer."),
                field("tokens_used", optional(COUNT)),
                field("cost_usd", optional(NUMBER), "Of the judge alone; null if it is not known."),
                field("forms", TEXTS, "How structured output was asked for."),
                field("same_model", FLAG, "Whether the judge is the model that was run."),
                field("canaries", optional(CANARIES), "What the judge made of the suite's canaries."),
            )
        ),
        "Null if nothing was judged by a judge.",
    ),
    field("planned", object_of(RunExtent, field("scenarios", COUNT), field("trials", COUNT))),
    field(
        "chosen",
        object_of(
            Chosen,
            field("only", TEXTS),
            field("category", TEXTS),
            field("limit", optional(COUNT)),
            field("shard", optional(_SHARD)),
            description="The options that chose scenarios of the suite.",
        ),
    ),
    field("done", _counts("What became of the planned trials.")),
    field("retried", _counts("The same, for trials that needed several attempts.")),
    field(
        "order",
        object_of(
            OrderOfRun,
            field("digest", DIGEST, "Of the ids in that order."),
            field("seed", WHOLE),
            field("seed_from", one_of(SeedFrom), "fresh: nobody chose it."),
        ),
        "The random order of the scenarios, recorded before the first call.",
    ),
    field("policy", optional(_POLICY), "The policy that was read before the first call; null if none was to judge."),
    field(
        "until_decided",
        optional(_POLICY),
        "The policy by which the run was to be decided; null if it was to run every trial.",
    ),
    field("started", TEXT),
    field("ended", optional(TEXT)),
    field("resumes", COUNT, "How many times the run was resumed."),
    field("results", object_of(StoredRows, field("rows", COUNT), field("sha256", DIGEST, "Of results.jsonl."))),
    field(
        "journal",
        object_of(
            StoredJournal,
            field("bytes", COUNT, of="size"),
            field("lines", COUNT),
            field("checksum", _CHECKSUM, "Of the last line."),
        ),
    ),
    field("highbar", TEXT, "The version of Highbar that began the run."),
    field("commit", optional(TEXT), "When the run began; null if not known, or if the run was resumed at another."),
    field("branch", optional(TEXT)),
    field("parents", optional(TEXTS), "Of the commit; null if they are not known."),
    field("changed", optional(FLAG), "Whether files of the working tree differed from the commit."),
)
_ADDED = dict.fromkeys(("commit", "branch", "parents", "changed", "policy"))
"""Members that documents of earlier versions do not have."""


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return schema_of("Highbar run", ("run",), {"run": _RUN.schema})


def write(document: RunDocument) -> dict[str, Any]:
    """The document as JSON values."""
    written: dict[str, Any] = _RUN.write(document, Context())
    return written


def save(document: RunDocument, folder: Path) -> None:
    """Write the `run.json` of a folder, whole or not at all. Raises ReportError if that fails."""
    writing.write(folder / DOCUMENT, writing.encode(write(document)))


def is_run_folder(path: Path) -> bool:
    """Whether a path is the folder of a run: a folder with a journal in it."""
    try:
        return (path / JOURNAL).is_file()
    except (OSError, ValueError):  # too long for a path, or with a null byte
        return False


def read_run_document(folder: Path) -> RunDocument:
    """The `run.json` of a folder, in any state of the run, if it fits the journal.

    Raises InputError if the run has not ended, if the document is damaged, or if the journal has another size than it
    says: then the run was resumed and has not ended, or somebody changed a file.
    """
    if is_run_folder(folder) and not (folder / DOCUMENT).exists():
        raise _unfinished(folder, "the run has not ended: it is still going on, or was killed")
    document = read_document(folder)
    size = _size(folder / JOURNAL)
    if size != document.journal.size:
        found = f"the journal has {size} bytes, and {DOCUMENT} is about {document.journal.size}"
        raise _unfinished(folder, f"the run went on after it had ended, or its files were changed: {found}")
    return document


def read_document(folder: Path) -> RunDocument:
    """The `run.json` of a folder, even if the run was resumed since. Raises InputError if it is damaged."""
    hint = f"highbar run --resume {shlex.quote(str(folder))} writes it anew, if you remove it"
    stored = reading.read_stored(folder / DOCUMENT, SCHEMA, hint)
    document: RunDocument = stored.read(lambda content: _RUN.read({**_ADDED, **content}, Context()))
    return document


def _unfinished(folder: Path, message: str) -> InputError:
    return InputError(
        Problem(
            "run.unfinished", message, str(folder), hint=f"highbar run --resume {shlex.quote(str(folder))} continues it"
        )
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror}", str(path))) from None
