"""A run that stops as soon as its verdict is certain.

A verdict comes from rows by one code path. So the folder is judged as it would be if the run ended now, by the same
check as at its end: trials that were not run are undecided. If no rule is open any more on which the verdict depends,
nothing more begins. What is in flight is finished and recorded; it changes nothing.

All of that happens in a thread of its own, and takes no more than a tenth of the time: no trial waits for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from highbar import policy as policies
from highbar.checks.applying import FunctionFailed
from highbar.errors import InputError, Problem, ReportError
from highbar.gate import still_open
from highbar.model import Policy, Verdict
from highbar.running import finishing, folder
from highbar.running.concerning import concerned, describe_scenarios, required
from highbar.running.folder import RunFolder
from highbar.running.functions import CheckFunctions
from highbar.running.journal import JournalEnd
from highbar.running.order import StartOrder
from highbar.running.preparing import Prepared, functions_of, utc
from highbar.running.records import Chosen, Finished, encode
from highbar.running.standing import Standing
from highbar.running.stopping import StopRequest
from highbar.running.summary import Summary
from highbar.store import run_document
from highbar.store.run_document import JOURNAL, RESULTS

_SHARE = 0.1
"""Of the time of a run, how much of a processor may be spent on looking whether it is decided."""
_TICK = 0.1
"""Seconds between two looks, however fast they are."""
_BLOCK = 1 << 20


class UntilDecided(Struct, frozen=True, eq=False):
    """What decides a run: `judge` gives the verdict of a run folder, as a check of it would. Raises InputError.

    `strict`: rules that only warn have to be decided, too.
    """

    policy: Policy
    judge: Callable[[Path], Verdict]
    strict: bool = False


def refuse_undecidable(policy: Policy, chosen: Chosen, *, subset: bool, strict: bool = False) -> None:
    """Raise InputError if no run of these scenarios can be decided by the policy."""
    if policy.advisory:
        missing = policies.missing()
        raise InputError(replace(missing, message=f"a run cannot be decided without a policy: {missing.message}"))
    if policies.is_typical(policy):
        message = "the typical thresholds judge what the results happen to have, so a part of them decides nothing"
        raise InputError(Problem(message, hint="write a policy: highbar init"))
    if not any(strict or rule.level == "blocking" for rule in policy.rules):
        message = "the policy has no blocking rule, so that there is nothing to decide"
        raise InputError(Problem(message, policy.file, hint="run without --until-decided"))
    if chosen.shard is not None:
        message = "a shard cannot decide: its scenarios are a part of the suite, and the rules are about the whole"
        raise InputError(Problem(message, hint="run the whole suite with --until-decided, or every shard to its end"))
    if chosen != Chosen() and not subset:
        message = "this run is filtered, and gets no verdict by which it could be decided"
        raise InputError(Problem(message, hint="--subset judges the chosen scenarios alone; or run the whole suite"))


class LiveCheck:
    """Looks whether a run is decided. Use it with `async with`.

    `looks` and `seconds` say how often it looked, and how much time of a processor that took while trials ran.
    """

    def __init__(self, prepared: Prepared, until: UntilDecided, stop: StopRequest) -> None:
        self.looks = 0
        self.seconds = 0.0
        self._cost = 0.0  # of the last look: the next one takes about as long
        self._prepared, self._until, self._stop = prepared, until, stop
        self._rules = {rule.name: rule for rule in until.policy.rules}
        self._scenarios = describe_scenarios(prepared.suite, prepared.plan.order)
        self._is_over = False
        # One thread for all: the process of a check's functions ends with the thread that began it.
        self._thread = ThreadPoolExecutor(1, "highbar-decide")
        self._stack = ExitStack()  # used in that thread alone
        self._functions: _RememberedCalls | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.submit(self._stack.close)
        self._thread.shutdown()

    async def look(self, opened: RunFolder | None) -> Standing:
        """Judge the run as it is now, and ask it to stop if it is decided. `opened` is None before the first call."""
        end = None if opened is None else opened.journal.end
        loop = asyncio.get_running_loop()
        standing, took = await loop.run_in_executor(self._thread, self._timed, opened, end)
        if self.looks:  # the first one is before the first call, and takes nothing from any trial
            self.seconds += took
        self.looks += 1
        self._cost = took
        self._prepared.progress.standing = standing
        # A bar that nothing can miss would pass before anything was run: that says nothing about the agent.
        if standing.is_decided and (self._prepared.progress.done or standing.decision != "pass"):
            self._stop.decide()
        return standing

    def order(self, opened: RunFolder) -> StartOrder:
        """The trials that are left, in the order in which they begin."""
        left: dict[str, list[int]] = {id_: [] for id_ in opened.history.plan.order}
        for id_, trial in opened.history.left():
            left[id_].append(trial)
        first = required(self._until.policy, self._scenarios)
        order = StartOrder({id_: trials for id_, trials in left.items() if trials}, first)
        if self._prepared.progress.standing is not None:
            order.focus(self._needed(self._prepared.progress.standing))
        return order

    async def during(self, trials: Coroutine[Any, Any, Summary], opened: RunFolder, order: StartOrder) -> Summary:
        """Run the trials, and look from time to time. Raises what goes wrong in either."""
        running = asyncio.ensure_future(trials)
        looking = asyncio.ensure_future(self._follow(opened, order))
        try:
            await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
            if looking.done():
                looking.result()
            return await running
        finally:
            for task in (running, looking):
                task.cancel()
            await asyncio.gather(running, looking, return_exceptions=True)

    async def _follow(self, opened: RunFolder, order: StartOrder) -> None:
        progress = self._prepared.progress
        began, needed = time.monotonic(), frozenset[str]()
        seen = (progress.done, progress.to_judge)
        while not self._stop.is_decided:
            await asyncio.sleep(_TICK)
            now = (progress.done, progress.to_judge)
            if now == seen or self.seconds + self._cost > _SHARE * (time.monotonic() - began):
                continue
            seen = now
            standing = await self.look(opened)
            asked = self._needed(standing)
            if asked != needed:
                needed = asked
                order.focus(needed)

    def _needed(self, standing: Standing) -> frozenset[str]:
        """The scenarios that the open rules are about; all of them if a rule is not one of the policy as it is now."""
        if not standing.open or any(result.rule not in self._rules for result in standing.open):
            return frozenset(self._scenarios.scenarios)
        rules = [self._rules[result.rule] for result in standing.open]
        return concerned(rules, self._until.policy, self._scenarios)

    # --- in the thread -------------------------------------------------------------------------

    def _timed(self, opened: RunFolder | None, end: JournalEnd | None) -> tuple[Standing, float]:
        began = time.thread_time()  # on a busy machine a look takes long, and disturbs nobody while it waits
        return self._standing(opened, end), time.thread_time() - began

    def _standing(self, opened: RunFolder | None, end: JournalEnd | None) -> Standing:
        with tempfile.TemporaryDirectory(prefix="highbar-") as beside:
            copy = Path(beside, "run")
            try:
                self._as_if_ended(opened, end, copy)
                verdict = self._until.judge(copy)
            except InputError as error:  # nothing can be judged so far; if that stays so, the check at the end says it
                return Standing(problem=error.problems[0].message)
            except (ReportError, OSError) as error:  # the run itself is written elsewhere, and goes on
                return Standing(problem=str(error))
        return Standing(verdict, still_open(verdict.rules, strict=self._until.strict))

    def _as_if_ended(self, opened: RunFolder | None, end: JournalEnd | None, copy: Path) -> None:
        """Write the folder that the run would leave if it ended now. It is gone in a moment, so nothing is synced."""
        if opened is None or end is None:
            with folder.create(copy, self._prepared.plan) as begun:
                end = begun.journal.end
        else:
            copy.mkdir()
            _copy_beginning(opened.path / JOURNAL, copy / JOURNAL, end.size)
        history = folder.read_run(copy)
        history.note(end.size, Finished("decided", utc(datetime.now(UTC)), history.ended))
        with (copy / RESULTS).open("xb", buffering=_BLOCK) as stream:
            document = finishing.outcome(
                self._prepared,
                finishing.RunJournal(copy, history, end),
                lambda lines: folder.write_lines(self._as_long_as_wanted(lines), stream),
                self._remembered(),
            )
        run_document.save(document, copy)

    def _as_long_as_wanted(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            if self._is_over:
                raise InputError(Problem("the run has ended"))
            yield line

    def _remembered(self) -> _RememberedCalls | None:
        """The functions of checks, if there are any; the run's own process for them is another one."""
        plan = self._prepared.plan
        if self._functions is None and functions_of(self._prepared.suite, plan.order):
            functions = self._stack.enter_context(CheckFunctions(Path(plan.suite_file).parent))
            self._functions = _RememberedCalls(functions)
        return self._functions


class _RememberedCalls:
    """Functions of checks, each called once for an answer: it may take long, and every look grades every answer."""

    def __init__(self, functions: Callable[[str], Callable[[Mapping[str, Any]], Any]]) -> None:
        self._functions = functions
        self._known: dict[bytes, Any] = {}

    def __call__(self, name: str) -> Callable[[Mapping[str, Any]], Any]:
        """The function with this name."""

        def called(answer: Mapping[str, Any]) -> Any:
            key = hashlib.sha256(encode([name, answer])).digest()
            if key not in self._known:
                try:
                    self._known[key] = self._functions(name)(answer)
                except FunctionFailed as failure:
                    self._known[key] = failure
            if isinstance(self._known[key], FunctionFailed):
                raise self._known[key]
            return self._known[key]

        return called


def _copy_beginning(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as whole, target.open("xb") as copy:
        left = size
        while left and (block := whole.read(min(left, _BLOCK))):
            copy.write(block)
            left -= len(block)
