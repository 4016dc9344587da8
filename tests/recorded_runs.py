"""Run folders with answers that no agent gave, written as a run writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from highbar.load.checkout import Checkout
from highbar.model import Source
from highbar.running import folder
from highbar.running.calls import Reply
from highbar.running.choices import RunOptions
from highbar.running.finishing import describe
from highbar.running.functions import CheckFunctions
from highbar.running.grading import Grader
from highbar.running.order import permutation
from highbar.running.origin import origin_of
from highbar.running.records import RunPlan, TrialEnded, TurnEnd
from highbar.running.rows import line
from highbar.store.run_document import Chosen, RunEnd, SeedFrom
from highbar.suite import Suite, read

AT = "2026-11-16T14:25:30Z"
NOWHERE = Checkout()
Answers = Callable[[str, int], str | Reply | TrialEnded | None]
"""By id and trial what came of it: a reply, the end of the trial, or None if it was never called."""


def record(
    path: Path,
    suite_file: Path,
    answers: Answers,
    *,
    how: RunEnd = "complete",
    only: Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    functions: bool = False,
    agent: str = "agent:answer",
    seed: int = 1,
    order: Sequence[str] | None = None,
    chosen_ids: Sequence[str] = (),
    checkout: Checkout = NOWHERE,
    until_decided: Source | None = None,
    seed_from: SeedFrom = "fresh",
    policy: Source | None = None,
    in_repository: str | None = None,
    trials: int | None = None,
) -> Path:
    """The folder of a run of the suite in a file, which got these answers. The order is that of the seed, or forged."""
    settings = {} if trials is None else {"trials": trials}
    suite = RunOptions(settings=settings).on(read(suite_file))
    wanted = only or chosen_ids
    ids = tuple(id_ for id_ in suite.scenarios if not wanted or id_ in wanted)
    chosen = Chosen(tuple(only)) if shard is None else Chosen(shard=shard)
    plan = replace(_plan(suite, suite_file, ids, chosen, agent, seed), checkout=checkout, until_decided=until_decided)
    plan = replace(plan, seed_from=seed_from, policy=policy, suite_in_repository=in_repository, settings=settings)
    with folder.create(path, replace(plan, order=tuple(order or plan.order))) as run, ExitStack() as stack:
        ends: dict[tuple[str, int], TrialEnded | None] = {}
        for id_ in ids:
            for trial in range(1, suite.scenarios[id_].trials + 1):
                ends[id_, trial] = ended = _ended(suite, id_, trial, answers(id_, trial))
                if ended is not None:
                    run.append(ended)
        run.finish(how, AT)
        called = stack.enter_context(CheckFunctions(suite_file.parent)) if functions else None
        grader = Grader(suite, called, agent_version="1.0", origin=origin_of(run.history, suite))
        rows = (line(grader.row(ended, suite.scenarios[key[0]], key[1])) for key, ended in ends.items())
        stored = run.write_results(rows)
        run.write_document(describe(run.history, run.journal.end, stored, suite, "1.0"))
    return path


def _ended(suite: Suite, id_: str, trial: int, answer: str | Reply | TrialEnded | None) -> TrialEnded | None:
    digest = suite.scenarios[id_].digest
    if answer is None:
        return None
    if isinstance(answer, TrialEnded):
        return replace(answer, id=id_, trial=trial, digest=digest)
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    return TrialEnded(id_, trial, digest, "answered", (TurnEnd(reply, 12.5),))


def _plan(suite: Suite, suite_file: Path, ids: tuple[str, ...], chosen: Chosen, agent: str, seed: int) -> RunPlan:
    return RunPlan(
        suite_file=str(suite_file.absolute()),
        suite_text=suite_file.read_bytes(),
        suite_digest=suite.digest,
        order=permutation(ids, seed),
        trials={id_: suite.scenarios[id_].trials for id_ in ids},
        digests={id_: suite.scenarios[id_].digest for id_ in ids},
        seed=seed,
        started=AT,
        agent={"kind": "python", "target": agent, "version": None},
        settings={},
        chosen=chosen,
        agent_version="1.0",
        scenarios=len(suite.scenarios),
        highbar="0.0",
    )
