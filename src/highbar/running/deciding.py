"""Stop a run as soon as its verdict is certain.

There is only one way from rows to a verdict. So a look writes the folder that the run would leave if it ended now, in
which trials that were not run are undecided, and judges it by the same check as at the end. If no open rule can change
the verdict any more, no trial begins. Trials in flight are finished and recorded; they cannot change the verdict.

Looks run in a separate thread and take at most a tenth of the run's time, so that no trial waits for them.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from highbar import policy as policies
from highbar.checks.applying import FunctionFailed
from highbar.documents.scalars import as_written
from highbar.errors import InputError, Problem, ReportError
from highbar.gate import still_open
from highbar.model import NewFailuresRule, Policy, Rule, ScenarioRule, SuiteDemands, Verdict
from highbar.policy import matches
from highbar.policy.sequential import populations, set_of
from highbar.running import finishing, folder
from highbar.running.folder import RunFolder
from highbar.running.journal import JournalEnd
from highbar.running.order import StartOrder
from highbar.running.preparing import Prepared, open_functions, utc
from highbar.running.progress import Standing
from highbar.running.records import Finished, encode
from highbar.running.stopping import StopRequest
from highbar.running.summary import Summary
from highbar.store import run_document
from highbar.store.run_document import JOURNAL, RESULTS, Chosen
from highbar.suite import Scenario, Suite

_SHARE = 0.1
"""Processor time of all looks, as a share of the time that the run has taken so far."""
_TICK = 0.1
"""The least number of seconds between two looks."""
_BLOCK = 1 << 20


class UntilDecided(Struct, frozen=True, eq=False):
    """What decides a run: `judge` returns the verdict of a run folder, as a check of it would, or raises InputError.

    `strict`: rules that only warn have to be decided, too.
    """

    policy: Policy
    judge: Callable[[Path], Verdict]
    strict: bool = False


def refuse_undecidable(policy: Policy, chosen: Chosen, *, subset: bool, strict: bool = False) -> None:
    """Raise InputError if the policy can never decide a run of these scenarios."""
    if policy.advisory:
        missing = policies.missing()
        raise InputError(replace(missing, message=f"a run cannot be decided without a policy: {missing.message}"))
    if policies.is_typical(policy):
        message = "the typical thresholds judge what the results happen to have, so a part of them decides nothing"
        raise InputError(Problem("run.undecidable", message, hint="write a policy: highbar init"))
    if not any(strict or rule.level == "blocking" for rule in policy.rules):
        message = "the policy has no blocking rule, so that there is nothing to decide"
        raise InputError(Problem("run.undecidable", message, policy.file, hint="run without --until-decided"))
    if chosen.shard is not None:
        message = "a shard cannot decide: its scenarios are a part of the suite, and the rules are about the whole"
        raise InputError(
            Problem(
                "run.undecidable", message, hint="run the whole suite with --until-decided, or every shard to its end"
            )
        )
    if chosen != Chosen() and not subset:
        message = "this run is filtered, and gets no verdict by which it could be decided"
        raise InputError(
            Problem(
                "run.undecidable", message, hint="--subset judges the chosen scenarios alone; or run the whole suite"
            )
        )


class LiveCheck:
    """Looks whether a run is decided. Use it with `async with`.

    `looks` is how often it looked, and `seconds` the processor time of the looks while trials ran.
    """

    def __init__(self, prepared: Prepared, until: UntilDecided, stop: StopRequest) -> None:
        self.looks = 0
        self.seconds = 0.0
        self._cost = 0.0  # seconds of the last look: the next one will take about as long
        self._prepared, self._until, self._stop = prepared, until, stop
        self._rules = {rule.name: rule for rule in until.policy.rules}
        self._scenarios = describe_scenarios(prepared.suite, prepared.plan.order)
        self._is_over = False
        # One thread for all looks: the process of the check functions ends with the thread that started it.
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
        """Judge the run as it is now, and ask it to stop if it is decided. `opened` is None if it has no folder yet."""
        # Taken here, in the loop: the journal grows while the thread copies it.
        end = None if opened is None else opened.journal.end
        loop = asyncio.get_running_loop()
        standing, took = await loop.run_in_executor(self._thread, self._timed_standing, opened, end)
        if self.looks:  # the first look comes before the first call, so it slows no trial down
            self.seconds += took
        self.looks += 1
        self._cost = took
        self._prepared.progress.standing = standing
        # Fail closed: a bar that cannot be missed would pass before any trial, which says nothing about the agent.
        if standing.is_decided and (self._prepared.progress.done or standing.decision != "pass"):
            self._stop.decide()
        return standing

    def order(self, opened: RunFolder) -> StartOrder:
        """The remaining trials, in the order in which they begin."""
        left: dict[str, list[int]] = {id_: [] for id_ in opened.history.plan.order}
        for id_, trial in opened.history.left():
            left[id_].append(trial)
        first = required_scenarios(self._until.policy, self._scenarios)
        order = StartOrder({id_: trials for id_, trials in left.items() if trials}, first)
        if self._prepared.progress.standing is not None:
            order.focus(self._needed_scenarios(self._prepared.progress.standing))
        return order

    async def run_with_looks(
        self, trials: Coroutine[Any, Any, Summary], opened: RunFolder, order: StartOrder
    ) -> Summary:
        """Run the trials, and look from time to time. Raises the errors of both."""
        running = asyncio.ensure_future(trials)
        looking = asyncio.ensure_future(self._keep_looking(opened, order))
        try:
            await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
            if looking.done():
                looking.result()
            return await running
        finally:
            for task in (running, looking):
                task.cancel()
            await asyncio.gather(running, looking, return_exceptions=True)

    async def _keep_looking(self, opened: RunFolder, order: StartOrder) -> None:
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
            asked = self._needed_scenarios(standing)
            if asked != needed:
                needed = asked
                order.focus(needed)

    def _needed_scenarios(self, standing: Standing) -> frozenset[str]:
        """The scenarios that the open rules are about; all scenarios if an open rule is not in the policy."""
        if not standing.open or any(result.rule not in self._rules for result in standing.open):
            return frozenset(self._scenarios.scenarios)
        rules = [self._rules[result.rule] for result in standing.open]
        return scenarios_of_rules(rules, self._until.policy, self._scenarios)

    # --- in the thread -------------------------------------------------------------------------

    def _timed_standing(self, opened: RunFolder | None, end: JournalEnd | None) -> tuple[Standing, float]:
        began = time.thread_time()  # processor time: while a look waits on a busy machine, it disturbs nobody
        return self._standing(opened, end), time.thread_time() - began

    def _standing(self, opened: RunFolder | None, end: JournalEnd | None) -> Standing:
        with tempfile.TemporaryDirectory(prefix="highbar-") as beside:
            copy = Path(beside, "run")
            try:
                self._write_copy(opened, end, copy)
                verdict = self._until.judge(copy)
            except InputError as error:  # no verdict yet; if that remains, the check at the end reports it
                return Standing(problem=error.problems[0].message)
            except (ReportError, OSError) as error:  # only the copy failed: the run itself is in another folder
                return Standing(problem=str(error))
        return Standing(verdict, still_open(verdict.rules, strict=self._until.strict))

    def _write_copy(self, opened: RunFolder | None, end: JournalEnd | None, copy: Path) -> None:
        """Write the folder that the run would leave if it ended now. It is temporary, so nothing is synced."""
        if opened is None or end is None:
            with folder.create(copy, self._prepared.plan) as begun:
                end = begun.journal.end
        else:
            copy.mkdir()
            _copy_beginning(opened.path / JOURNAL, copy / JOURNAL, end.size)
        history = folder.read_run(copy)
        # Noted, but not written: the copied journal must keep the length that the document will record.
        history.note(end.size, Finished("decided", utc(datetime.now(UTC)), history.ended))
        with (copy / RESULTS).open("xb", buffering=_BLOCK) as stream:
            document = finishing.grade_run(
                self._prepared,
                finishing.RunJournal(copy, history, end),
                lambda lines: folder.write_lines(self._until_over(lines), stream),
                self._check_functions(),
            )
        run_document.save(document, copy)

    def _until_over(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            if self._is_over:
                raise InputError(Problem("run.nothing-judged", "the run has ended"))
            yield line

    def _check_functions(self) -> _RememberedCalls | None:
        """The functions of checks, if the suite has any, in a process of their own beside the one of the run."""
        plan = self._prepared.plan
        if self._functions is None:
            functions = open_functions(self._prepared.suite, plan.order, Path(plan.suite_file).parent, self._stack)
            self._functions = None if functions is None else _RememberedCalls(functions)
        return self._functions


class _RememberedCalls:
    """Calls a check function once per answer and remembers the result: it may be slow, and every look grades all."""

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


# --- which scenarios a rule is about: a run begins these first as long as the rule is open ----


def describe_scenarios(suite: Suite, ids: Iterable[str]) -> SuiteDemands:
    """The columns of these scenarios, in the form in which a policy stores its suite."""
    return SuiteDemands(suite.file or "", {id_: _scenario_columns(suite.scenarios[id_]) for id_ in ids})


def _scenario_columns(scenario: Scenario) -> Mapping[str, str]:
    tags = scenario.columns.get("tags") or {}
    values = {**scenario.columns, **{f"tags.{name}": value for name, value in tags.items()}}
    return {name: text for name, value in values.items() if (text := as_written(value)) is not None}


def required_scenarios(policy: Policy, suite: SuiteDemands) -> frozenset[str]:
    """The scenarios that must pass individually, by a blocking rule."""
    rules = [rule for rule in policy.rules if isinstance(rule, ScenarioRule) and rule.level == "blocking"]
    return scenarios_of_rules(rules, policy, suite)


def scenarios_of_rules(rules: Iterable[Rule], policy: Policy, suite: SuiteDemands) -> frozenset[str]:
    """The scenarios that any of these rules is about."""
    return frozenset(id_ for rule in rules for id_ in _scenarios_of(rule, policy, suite))


def _scenarios_of(rule: Rule, policy: Policy, suite: SuiteDemands) -> Iterable[str]:
    match rule:
        case ScenarioRule(pattern=pattern):
            return (id_ for id_ in suite.scenarios if matches(pattern, id_))
        case NewFailuresRule(patterns=(_, *_) as patterns):
            return (id_ for id_ in suite.scenarios if any(matches(pattern, id_) for pattern in patterns))
    # A rule that is not about numbers may depend on any scenario.
    about_numbers = next(populations(rule, policy.metrics), None) is not None
    return set_of(rule, suite, policy.metrics) if about_numbers else suite.scenarios
