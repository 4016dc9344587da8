"""Plans and records of runs that no agent was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from highbar.running import folder
from highbar.running.calls import Reply, TrialOutcome
from highbar.running.finishing import describe
from highbar.running.folder import RunFolder
from highbar.running.records import RunPlan, TrialEnded, TurnEnd
from highbar.store.run_document import Chosen, RunDocument
from highbar.suite import Suite

AT = "2026-11-16T14:25:30Z"
DIGEST = "d" * 64
SUITE = Suite({}, "suite.yaml", name="library-agent", digest="e" * 64)


def plan_of(ids: Iterable[str] = ("A", "B", "C"), count: int = 2, **changes: object) -> RunPlan:
    """A plan of these scenarios, each run so often; `changes` are fields of the plan."""
    order = tuple(ids)
    given: dict[str, object] = {
        "suite_file": "suite.yaml",
        "suite_text": b"scenarios: \xf0\x9f\x90\x8b\n",
        "suite_digest": "e" * 64,
        "order": order,
        "trials": dict.fromkeys(order, count),
        "digests": dict.fromkeys(order, DIGEST),
        "seed": 2**63,
        "started": AT,
        "agent": {"kind": "python", "target": "library_agent:answer", "version": None},
        "settings": {},
        "chosen": Chosen(),
        "scenarios": len(order),
        "highbar": "0.0",
    }
    return RunPlan(**{**given, **changes})  # type: ignore[arg-type]


def ended(id_: str, trial: int = 1, outcome: TrialOutcome = "answered", **changes: object) -> TrialEnded:
    """A trial that ended."""
    turns = (TurnEnd(Reply(f"an answer to {id_}"), 12.5),) if outcome == "answered" else ()
    return TrialEnded(id_, trial, DIGEST, outcome, turns, **changes)  # type: ignore[arg-type]


def finish(run: RunFolder, how: str = "complete") -> RunDocument:
    """End a run, with a row for each trial."""
    run.finish(how, AT)  # type: ignore[arg-type]
    rows = [b'{"id":"%b"}\n' % id_.encode() for id_, count in run.history.plan.trials.items() for _ in range(count)]
    stored = run.write_results(rows)
    document = describe(run.history, run.journal.end, stored, SUITE, None)
    run.write_document(document)
    return document


def completed(path: Path, plan: RunPlan | None = None) -> RunDocument:
    """The document of a run in which every trial was answered."""
    with folder.create(path, plan or plan_of()) as run:
        for id_, count in run.history.plan.trials.items():
            for trial in range(1, count + 1):
                run.append(ended(id_, trial))
        return finish(run)
