"""How often does a run that stops early pass an agent that is exactly at the threshold? `python -m bench.early_runs`.

The product's own scheduler runs the trials, in the product's own order, in simulated time: 50 calls are in flight, and
answers that fail take longer than others, or required scenarios that are easy begin first. Every time that a trial
ends, two rules look at the run. One looks at whatever has completed. The other one, the product's, looks at the longest
beginning of the recorded order that has completed. Both have the same boundaries, which an agent at the threshold
crosses with a probability of 5 % if the order is random.

Some minutes for 2,000 runs of each case; `--runs 100` tries fewer.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

from msgspec import Struct

from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.journal_state import JournalState
from highbar.running.order import StartOrder, permutation
from highbar.running.progress import ProgressState
from highbar.running.records import RunPlan, TrialEnded
from highbar.running.scheduling import Timing, run_trials
from highbar.running.stopping import StopRequest
from highbar.statistics.spending import Boundaries, binomial_boundaries
from highbar.suite import RunSettings, Suite, read_values

SEED = 20261119
SIZE, THRESHOLD, ALPHA, IN_FLIGHT, EASY = 200, Fraction(85, 100), 0.05, 50, 60
RUNS = 2_000


class Case(Struct, frozen=True):
    """How many times as long a failure takes; and how many scenarios always pass and begin first."""

    name: str
    slower: float = 1.0
    easy: int = 0


CASES = (
    Case("failures take as long as passes"),
    Case("failures take 3 times as long", slower=3.0),
    Case("failures take 10 times as long", slower=10.0),
    Case(f"{EASY} easy required scenarios begin first", easy=EASY),
    Case(f"both: {EASY} easy ones first, failures 10 times as long", slower=10.0, easy=EASY),
)


class SimulatedRun(Struct, frozen=True):
    """What the two rules decided, after how many trials had ended, and how many had been run when it stopped."""

    completed: bool | None
    prefix: bool | None
    at: int | None
    ran: int


class _Jump(selectors.SelectSelector):
    """Waits for no time: the clock of its loop jumps to the next thing that is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class _SimulatedTime(asyncio.SelectorEventLoop):
    """An event loop in which an hour takes no time."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


class _SlowFailures:
    """An agent of which it is known in advance how it answers, and how long that takes."""

    def __init__(self, passes: dict[str, bool], takes: dict[str, float]) -> None:
        self.start = self.most = IN_FLIGHT
        self.ahead = False
        self._passes, self._takes = passes, takes

    def allow(self, at_once: int) -> None:
        """As many as there are slots."""

    async def call(self, call: AgentCall) -> Attempt:
        await asyncio.sleep(self._takes[call.id])
        return Attempt("answered", Reply("yes" if self._passes[call.id] else "no"), latency_ms=1.0)


class _TwoRules:
    """Looks at a run whenever a trial ends, by what has completed and by the prefix of the order."""

    def __init__(self, history: JournalState, boundaries: Boundaries, stop: StopRequest) -> None:
        self.completed: bool | None = None
        self.prefix: bool | None = None
        self.at: int | None = None
        self._history, self._boundaries, self._stop = history, boundaries, stop
        self._passed: dict[str, bool] = {}
        self._seen = self._good = 0

    def note(self, ended: TrialEnded) -> None:
        """A trial ended."""
        self._history.note(len(self._passed), ended)
        reply = ended.turns[0].reply
        self._passed[ended.id] = reply is not None and reply.output == "yes"
        if self.completed is None:
            self.completed = self._boundaries.at(len(self._passed)).decides(sum(self._passed.values()))
        order = self._history.plan.order
        while self.prefix is None and self._seen < len(order) and self._history.has_ended(order[self._seen]):
            self._good += self._passed[order[self._seen]]
            self._seen += 1
            self.prefix = self._boundaries.at(self._seen).decides(self._good)
        if self.prefix is not None and self.at is None:
            self.at = len(self._passed)
            self._stop.decide()


def simulate(case: Case, seed: int) -> SimulatedRun:
    """One run of an agent that is exactly at the threshold."""
    source = Random(seed)
    ids = tuple(SUITE.scenarios)
    easy = frozenset(ids[: case.easy])
    rate = 1 - (1 - float(THRESHOLD)) * SIZE / (SIZE - case.easy)
    passes = {id_: id_ in easy or source.random() < rate for id_ in ids}
    takes = {id_: source.expovariate(1.0) * (1.0 if passes[id_] else case.slower) for id_ in ids}
    history = JournalState("simulated")
    history.note(0, _plan(permutation(ids, seed), seed))
    stop = StopRequest()
    rules = _TwoRules(history, binomial_boundaries(THRESHOLD, SIZE, ALPHA), stop)
    order = StartOrder(dict.fromkeys(history.plan.order, (1,)), easy)
    loop = _SimulatedTime()
    try:
        summary = loop.run_until_complete(
            run_trials(
                ((SUITE.scenarios[id_], trial) for id_, trial in order),
                _SlowFailures(passes, takes),
                RunSettings(concurrency=IN_FLIGHT),
                on_begin=lambda began: history.note(0, began),
                on_end=rules.note,
                progress=ProgressState(SIZE, done=1),  # an agent that is known to answer
                stop=stop,
                timing=Timing(loop.time),
            )
        )
    finally:
        loop.close()
    return SimulatedRun(rules.completed, rules.prefix, rules.at, summary.ended)


def _suite() -> Suite:
    scenarios = [{"id": f"S{place}", "input": "?", "answer": {"contains": "yes"}} for place in range(SIZE)]
    return read_values({"scenarios": scenarios})


SUITE = _suite()


def _plan(order: tuple[str, ...], seed: int) -> RunPlan:
    return RunPlan(
        suite_file=str(Path("suite.json").absolute()),
        suite_text=b"",
        suite_digest=SUITE.digest,
        order=order,
        trials=dict.fromkeys(order, 1),
        digests={id_: SUITE.scenarios[id_].digest for id_ in order},
        seed=seed,
        started="",
        agent={},
        settings={},
    )


def shares(runs: Sequence[SimulatedRun]) -> tuple[float, float, float, float]:
    """False passes by what has completed and by the prefix, false fails by the prefix, and how many were run."""
    size = len(runs)
    return (
        sum(run.completed is True for run in runs) / size,
        sum(run.prefix is True for run in runs) / size,
        sum(run.prefix is False for run in runs) / size,
        sum(run.ran for run in runs) / size,
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    runs = int(arguments[arguments.index("--runs") + 1]) if "--runs" in arguments else RUNS
    print(f"{runs} runs of {SIZE} scenarios at a threshold of {THRESHOLD}, {IN_FLIGHT} in flight\n")
    print("| | false pass, as completed | false pass, prefix | false fail, prefix | trials run |")
    print("|---|---|---|---|---|")
    for case in CASES:
        completed, prefix, failed, ran = shares([simulate(case, SEED + number) for number in range(runs)])
        print(f"| {case.name} | {completed:.3f} | {prefix:.3f} | {failed:.3f} | {ran:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
