"""Many runs: a folder of records in; runs in order of time, series of metrics, and pooled scenarios out.

`read_history` lists the records by their footers. DuckDB reads scenarios only on demand.

    order, choosing          runs → in the order of their commits; those that may be pooled, and why others may not
    excusing                 runs → those that may excuse a failure of the run that is being judged
    pooling                  records → counts for each scenario, pooled or run by run
    pooled_metrics           runs → their pooled metrics; `pooled_records` pools the scenarios of a baseline
    drift, flaky             runs → whether scenarios pass less and less often, and which pass only sometimes
    series                   runs → a metric over time, in segments that a line may join
    stability, overview      runs → scenarios by instability, and everything else that the HTML page shows
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.history import pooling
from highbar.language.spelling import did_you_mean
from highbar.model.history import DamagedRecord, PooledScenarios, RunRecord, ScenarioCounts
from highbar.store.history_footer import SUFFIX, list_records

FOLDER = "history"
"""The default folder of the history."""
FIRST = "highbar check --history DIR, or highbar history add, writes the first record"


class History(Struct, frozen=True, eq=False):
    """The runs in a folder, in order of time, and the damaged files that were left out."""

    folder: str
    runs: tuple[RunRecord, ...]
    damaged: tuple[DamagedRecord, ...] = ()

    def scenarios(self, runs: Sequence[RunRecord] | None = None) -> PooledScenarios:
        """Every text of a scenario, pooled over these runs, or over all.

        Results that are in several records count once. Records that have only a verdict add nothing.
        """
        return pooling.pool_scenarios(self.folder, self.runs if runs is None else runs)

    def counts(self, runs: Sequence[RunRecord] | None = None) -> Iterator[tuple[RunRecord, ScenarioCounts]]:
        """Every scenario of every run, in the order of the runs, without damaged records; `scenarios` names those."""
        return pooling.scenarios_of_runs(self.folder, self.runs if runs is None else runs)


def read_history(folder: str | os.PathLike[str] = FOLDER) -> History:
    """The runs that were added to a history: `runs` in order of time, `scenarios()` with pooled counts.

    Raises InputError if there is no such folder. A damaged record is left out and named in `damaged`; no content of a
    file makes this fail.
    """
    name = os.fspath(folder)
    try:
        runs, damaged = list_records(name)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("history.missing", f"no history to read: {reason}", name, hint=FIRST)) from None
    return History(name, tuple(sorted(runs, key=lambda run: run.moment)), tuple(damaged))


def runs_of(history: History, branch: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
    """The runs of a branch and of an agent; None means any.

    Raises InputError if a named branch or agent has no run: a wrong name must not look like a history without alarms.
    """
    found = history.runs
    for noun, wanted, field in (("branch", branch, "branch"), ("agent", agent, "agent_name")):
        if wanted is None:
            continue
        known = sorted({name for run in found if (name := getattr(run, field)) is not None})
        found = tuple(run for run in found if getattr(run, field) == wanted)
        if not found:
            others = f"there is {', '.join(known[:10])}" if known else f"no run says its {noun}"
            hint = did_you_mean(wanted, known) or others
            raise InputError(Problem("history.empty", f"no runs of {noun} {wanted!r}", history.folder, hint=hint))
    return found


def find_run(history: History, name: str) -> RunRecord:
    """The run whose record begins with these digits; if there is none, the last run of the commit that does.

    The name can also be the file of the record, with or without its folder. Raises InputError if there is no such run,
    or if several records, or several commits, begin with these digits.
    """
    name = Path(name).stem if name.endswith(SUFFIX) else name
    found = [run for run in history.runs if run.record.startswith(name)]
    noun = "records"
    if not found and len(name) >= 7:
        # By commit, so that of several runs of one commit the last is left.
        by_commit = {run.commit: run for run in history.runs if run.commit is not None and run.commit.startswith(name)}
        found, noun = [by_commit[name]] if name in by_commit else [*by_commit.values()], "commits"
    if len(found) == 1:
        return found[0]
    known = next((one for one in history.damaged if one.file.startswith(name)), None)
    if known is not None and not found:
        raise InputError(
            Problem("history.damaged", f"a damaged record: {known.reason}", str(Path(history.folder) / known.file))
        )
    message = f"no record or commit begins with {name!r}" if not found else f"{len(found)} {noun} begin with {name!r}"
    raise InputError(
        Problem(
            "history.not-found", message, history.folder, hint="highbar history list prints the names of all records"
        )
    )
