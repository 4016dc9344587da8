"""A suite and options, or the folder of an earlier run → a run that can begin. Nothing here calls the agent.

A run may cost money, so every problem that can be found without a call is raised here, all those of a file at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import highbar
from highbar.checks import function_names
from highbar.documents.files import read_bytes
from highbar.documents.limits import MOST_SUITE_BYTES
from highbar.errors import InputError, Problem
from highbar.language.phrases import some
from highbar.load.checkout import Checkout
from highbar.load.revision import path_in_repository, place_in_outer_repository
from highbar.load.run_folders import OF_OTHER_FILES
from highbar.running import agents, folder, order
from highbar.running.calls import Caller
from highbar.running.choices import RunOptions
from highbar.running.folder import RunFolder
from highbar.running.progress import ProgressState
from highbar.running.received import version_of
from highbar.running.records import Resumed, RunPlan
from highbar.running.stopping import Spending
from highbar.suite import Agent, Judge, RunSettings, Suite, read, unmet_needs

if TYPE_CHECKING:  # most suites need no judge, and few have checks in Python
    from highbar.running.functions import CheckFunctions
    from highbar.running.judging import Asker

_Stored = TypeVar("_Stored")
OpenAgent = Callable[[], AbstractAsyncContextManager[Caller]]
OpenJudge = Callable[[], AbstractAsyncContextManager["Asker"]]


class Prepared(Struct, frozen=True, eq=False):
    """A run that can begin. `suite` already has the settings of the options.

    `path` is the folder of a new run, or of the run to resume: then `resumed` is that folder, locked by this process.
    `open_judge` is None if no scenario has a statement for a judge. `judge_rates` are the judge's calibrated
    sensitivity and specificity for single statements, if they are known. `regraded` are scenarios of a resumed run
    whose checks use a file that has changed: they are graded again, but not asked again. `earlier_commit` is the commit
    of a resumed run, if another one is checked out now.
    """

    suite: Suite
    plan: RunPlan
    path: Path
    progress: ProgressState
    open_agent: OpenAgent
    resumed: RunFolder | None = None
    open_judge: OpenJudge | None = None
    judge_rates: tuple[float, float] | None = None
    regraded: tuple[str, ...] = ()
    earlier_commit: str | None = None

    def digest_of_checks(self) -> str | None:
        """A digest of the suite with the files that its checks use, as they are now; None if they use none."""
        text = self.plan.suite_text if self.resumed is None else self.resumed.history.suite_text
        if not any(word in text for word in OF_OTHER_FILES):
            return None
        try:
            return read(Path(self.plan.suite_file), data=text).digest
        except InputError:
            return None


def prepare(
    file: Path,
    options: RunOptions,
    environment: Mapping[str, str],
    data: bytes | None = None,
    function: Any = None,
    checkout: Checkout | None = None,
) -> Prepared:
    """Prepare a new run of the suite in a file. Raises InputError with every problem that can be found without a call.

    `data` is the text of the suite, if it does not come from the file. `function` is the agent itself, if it is a
    function of this process. `checkout` is the commit to record with the run.
    """
    data = read_bytes(file, MOST_SUITE_BYTES) if data is None else data
    suite = options.on(read(file, data=data))
    _refuse_unmet(suite, environment, options, data)
    seed, seed_from = options.seed_of_order()
    ids = order.permutation(order.choose_scenarios(suite, options.chosen), seed)
    refuse_missing_functions(suite, ids, file.parent)
    agent = _agent(suite)
    now = datetime.now(UTC)
    plan = RunPlan(
        suite_file=str(file.absolute()),
        suite_text=_text_to_keep(suite, data),
        suite_digest=suite.digest,
        order=ids,
        trials={id_: suite.scenarios[id_].trials for id_ in ids},
        digests={id_: suite.scenarios[id_].digest for id_ in ids},
        seed=seed,
        seed_from=seed_from,
        started=utc(now),
        agent=msgspec.to_builtins(agent),
        settings=msgspec.to_builtins(options.settings, enc_hook=str),
        chosen=options.chosen,
        agent_version=agent.version,
        scenarios=len(suite.scenarios),
        highbar=highbar.__version__,
        judges=tuple(msgspec.to_builtins(judge, enc_hook=str) for judge in options.judges),
        until_decided=options.until_decided,
        policy=None if options.policy is None else options.policy.source,
        checkout=checkout or Checkout(),
        suite_in_repository=path_in_repository(file),
        repository_in_outer=place_in_outer_repository(),
    )
    path = options.output or folder.default_path(suite.name or file.stem, now)
    progress = ProgressState(sum(plan.trials.values()), agent_version=agent.version)
    return Prepared(
        suite,
        plan,
        path,
        progress,
        _opening(agent, file.parent, environment, function),
        open_judge=_opening_judge(suite, ids, file.parent, environment),
    )


def _text_to_keep(suite: Suite, data: bytes) -> bytes:
    """The suite text to store. Another tool's suite may refer to files, so its conversion is stored, which has them."""
    return data if suite.rewritten is None else suite.rewritten.text


def _agent(suite: Suite) -> Agent:
    if suite.agent is None:  # `unmet_needs` has said so already
        raise InputError(Problem("agent.missing", "the suite names no agent"))
    return suite.agent


def _refuse_unmet(suite: Suite, environment: Mapping[str, str], options: RunOptions, data: bytes) -> None:
    problems = [*unmet_needs(suite, environment, agent=options.agent is None, judge=not options.judges, data=data)]
    if suite.run.budget is not None and suite.agent is not None and not _says_its_cost(suite.agent):
        hint = "with `format: json`, `cost_usd` says where the cost is in a reply"
        problems.append(
            Problem("agent.no-cost", "a budget needs the cost of every reply, which this agent never says", hint=hint)
        )
    if problems:
        raise InputError(*problems)


def _says_its_cost(agent: Agent) -> bool:
    """Whether replies of the agent can include their cost: those of the model providers' APIs do not."""
    return agent.kind != "http" or "cost_usd" in agent.pointers


def refuse_missing_functions(suite: Suite, ids: tuple[str, ...], beside: Path) -> None:
    """Raise InputError with every function that a check of these scenarios calls and that cannot be used."""
    names = functions_of(suite, ids)
    if names:
        from highbar.running.functions import CheckFunctions  # few suites have checks in Python

        with CheckFunctions(beside) as functions:
            functions.refuse_missing(names)


def open_functions(suite: Suite, ids: tuple[str, ...], beside: Path, stack: ExitStack) -> CheckFunctions | None:
    """The process of the functions that checks of these scenarios call; None if they call none. The stack ends it."""
    if not functions_of(suite, ids):
        return None
    from highbar.running.functions import CheckFunctions  # few suites have checks in Python

    return stack.enter_context(CheckFunctions(beside))


def functions_of(suite: Suite, ids: tuple[str, ...]) -> tuple[str, ...]:
    """The functions that checks of these scenarios call, each once."""
    found: dict[str, None] = {}
    for id_ in ids:
        scenario = suite.scenarios[id_]
        behaviors = (*scenario.expected_behaviors.values(), *scenario.must_not.values())
        for check in (*(behavior.check for behavior in behaviors), scenario.answer):
            found |= dict.fromkeys(function_names(check) if check is not None else ())
    return tuple(found)


def _opening(agent: Agent, beside: Path, environment: Mapping[str, str], function: Any) -> OpenAgent:
    if function is not None:
        from highbar.running.agents.inside import InsideAgent  # only for Python programs

        return lambda: InsideAgent(function, agent)
    return lambda: agents.opened(agent, folder=beside, environment=environment)


def _opening_judge(
    suite: Suite, ids: tuple[str, ...], beside: Path, environment: Mapping[str, str]
) -> OpenJudge | None:
    """How to open the judge; None if no scenario that is run has a statement."""
    from highbar.running.judging.questions import statements_of  # with the checks, which are loaded by now

    if not suite.judges or not any(statements_of(suite.scenarios[id_]) for id_ in ids):
        return None
    from highbar.running import judging  # most suites need no judge

    return lambda: judging.opened(suite.judges, folder=beside, environment=environment)


def prepare_resume(
    path: Path,
    environment: Mapping[str, str],
    settings: Mapping[str, Any] | None = None,
    checkout: Checkout | None = None,
    *,
    rerun_changed: bool = False,
    refuse: Callable[[RunPlan], object] = lambda _: None,
) -> Prepared:
    """Prepare to resume the run in a folder. Raises InputError, or what `refuse` raises; then nothing is recorded.

    Everything comes from the folder except `settings` that affect no answer, such as another budget. If scenarios in
    the suite file have changed since, the run is refused, or with `rerun_changed` they are asked again and their
    earlier answers no longer count.
    """
    opened = folder.open_run(path)
    try:
        refuse(opened.history.plan)
        return _prepare_opened(opened, environment, settings or {}, checkout, rerun_changed=rerun_changed)
    except BaseException:
        opened.close()
        raise


def _prepare_opened(
    opened: RunFolder,
    environment: Mapping[str, str],
    settings: Mapping[str, Any],
    checkout: Checkout | None,
    *,
    rerun_changed: bool,
) -> Prepared:
    history, plan = opened.history, opened.history.plan
    file = Path(plan.suite_file)
    options = _stored_options(plan, settings)
    suite = options.on(read(file, data=history.suite_text))
    suite, record = _with_changes(suite, file, opened, options, rerun_changed=rerun_changed)
    _refuse_unmet(suite, environment, options, history.suite_text)
    refuse_missing_functions(suite, plan.order, file.parent)
    began_at, resumed_at = history.checkout.commit, checkout and checkout.commit
    # Only after everything that can be refused: a run that is not resumed must not have a record that says so.
    opened.append(replace(record, checkout=checkout or Checkout()))
    agent = _agent(suite)
    progress = _progress_so_far(opened, agent)
    return Prepared(
        suite,
        plan,
        opened.path,
        progress,
        _opening(agent, file.parent, environment, None),
        opened,
        _opening_judge(suite, plan.order, file.parent, environment),
        regraded=tuple(id_ for id_ in record.digests if id_ not in record.again),
        earlier_commit=began_at if resumed_at not in (None, began_at) else None,
    )


def _with_changes(
    suite: Suite, file: Path, opened: RunFolder, options: RunOptions, *, rerun_changed: bool
) -> tuple[Suite, Resumed]:
    """The suite to resume with, and the journal record of that. Raises InputError if the file changed too much."""
    history, now = opened.history, utc(datetime.now(UTC))
    shown = os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    try:
        data = read_bytes(file, MOST_SUITE_BYTES)
    except InputError:  # the folder has the suite as it was, and needs no other
        data = history.suite_text
    # Even if the text is the same, its checks may differ: their schemas and functions are in separate files.
    there = suite if data == history.suite_text else options.on(read(file, data=data))
    gone = [id_ for id_ in history.plan.order if id_ not in there.scenarios]
    added = [id_ for id_ in there.scenarios if id_ not in suite.scenarios]
    if gone or added:
        changes = ", ".join(f"{word} {some(ids, 5)}" for word, ids in (("without", gone), ("with", added)) if ids)
        message = f"the suite has other scenarios than when the run began: {changes}"
        raise InputError(Problem("run.suite-changed", message, shown, hint="start a new run"))
    digests = {
        id_: there.scenarios[id_].digest
        for id_ in history.plan.order
        if there.scenarios[id_].digest != history.digests[id_]
    }
    # If a scenario's text is the same, only files of its checks changed: its answer is graded again, not asked again.
    changed = [id_ for id_, digest in digests.items() if suite.scenarios[id_].digest != digest]
    if changed and not rerun_changed:
        message = f"these scenarios have changed since the run began: {some(changed, 5)}"
        hint = "--rerun-changed runs them again; or start a new run"
        raise InputError(Problem("run.suite-changed", message, shown, hint=hint))
    text = None if there is suite else _text_to_keep(there, data)
    return there, Resumed(now, tuple(changed), text, digests)


def planned_suite(plan: RunPlan, text: bytes) -> Suite:
    """The suite in `text`, with the options that the plan records. Raises InputError if it cannot be read."""
    return _stored_options(plan, {}).on(read(Path(plan.suite_file), data=text))


def _stored_options(plan: RunPlan, settings: Mapping[str, Any]) -> RunOptions:
    """The options that the run began with, updated with `settings`. Raises InputError if the plan has unknown ones."""
    unknown = [key for key in plan.settings if key not in RunSettings.__struct_fields__]
    if unknown:
        raise _invalid_plan(f"unknown settings: {some(unknown)}")
    run = _read_stored(plan.settings, RunSettings)
    stored = {key: getattr(run, key) for key in plan.settings}
    return RunOptions({**stored, **settings}, _read_stored(plan.agent, Agent), judges=named_judges(plan))


def named_judges(plan: RunPlan) -> tuple[Judge, ...]:
    """The judges that the options named when the run began. Raises InputError if the plan stores invalid ones."""
    return tuple(_read_stored(one, Judge) for one in plan.judges)


def _read_stored(value: Any, kind: type[_Stored]) -> _Stored:
    """Convert a part of a stored plan back to the struct that it was written from. Raises InputError if that fails."""
    try:
        return msgspec.convert(value, kind, dec_hook=lambda inner, found: inner(found))
    except (msgspec.ValidationError, ArithmeticError) as error:
        raise _invalid_plan(str(error)) from None


def _invalid_plan(reason: str) -> InputError:
    return InputError(
        Problem("run.damaged", f"the journal has a plan that no run writes: {reason}", hint="start a new run")
    )


def _progress_so_far(opened: RunFolder, agent: Agent) -> ProgressState:
    """How far a run to resume has come, and what its answers cost so far."""
    history = opened.history
    counts = history.counts()
    progress = ProgressState(
        counts.trials, done=counts.answered + counts.errors, errors=counts.errors, agent_version=agent.version
    )
    spending = Spending(None, progress.cost_usd, 0)
    with folder.open_answers(opened.path) as recorded:
        for _, _, offset in history.final_ends():
            ended = recorded(offset)
            spending.note(ended)
            progress.agent_version = progress.agent_version or version_of(ended)
    progress.cost_usd, progress.cost_unknown = spending.cost, spending.unknown
    return progress


def utc(moment: datetime) -> str:
    """A moment as records store it: ISO 8601, to the second."""
    return moment.isoformat(timespec="seconds")
