"""The Python API: results, or an agent and scenarios, and a policy in; the verdict as frozen objects out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, date, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from highbar import pipeline
from highbar import policy as policies
from highbar.bar.on_demand import with_readers
from highbar.errors import InputError, Problem
from highbar.model import Policy, Verdict
from highbar.model.job import Job, Wants

if TYPE_CHECKING:  # most checks need none of these; the functions that do import them
    from highbar.model.comparison import Comparison
    from highbar.model.mapping import RowMap
    from highbar.running.deciding import UntilDecided
    from highbar.running.preparing import Prepared
    from highbar.store.run_document import Chosen
    from highbar.suite import Agent, Judge


class Frame(Protocol):
    """A pandas or polars data frame, an Arrow table, or anything else that gives its rows as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, by the Arrow C stream interface."""


AnyPath = str | PathLike[str]
Results = AnyPath | Iterable[AnyPath] | Iterable[Mapping[str, Any]] | Frame
"""A path or several, dicts (one per trial), a data frame, or an Arrow table."""
PolicyLike = AnyPath | Mapping[str, Any]
"""The path of a policy, its YAML text, a dict with its keys, or "typical" for the typical thresholds."""
SuiteLike = AnyPath | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""The path of a suite, or its values: a dict with its keys, or a list of scenarios."""
AgentLike = str | Callable[..., Any] | Mapping[str, Any]
"""`python:module:function`, an address, `command: words`, the keys of a suite's `agent` block, or a function."""
_ResultsSource = Callable[[Job], AbstractContextManager[Job]]
"""Gives a job its results, each time they are read."""


def check(  # noqa: PLR0913 - what the command line can say
    results: Results,
    policy: PolicyLike | None = None,
    *,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
    baseline: AnyPath | None = None,
    allow_missing_baseline: bool = False,
    map: PolicyLike | None = None,  # noqa: A002 - as the command line calls it
    where: Mapping[str, str | Sequence[str]] | None = None,
    subset: bool = False,
    against_ref: str | None = None,
    accept_change: str | None = None,
    details: bool = False,
    list_scenarios: bool = False,
    today: date | None = None,
) -> Verdict:
    """Judge results by a policy. Raises InputError if the results or the policy cannot be read.

    Args:
        results: a path, a pattern, a folder, or several; dicts, one per trial; a data frame or an Arrow table.
        policy: a path, YAML text, a dict of the same keys, or "typical" for the typical thresholds. By default the
            policy that the command line would find. Without a policy nothing is judged: `verdict` is None, `passed` is
            False, and `advice` has the outcomes that the typical thresholds would have.
        agent_version: the version that selects progressive thresholds.
        slices: columns to show the metrics by, besides those of the policy.
        baseline: the path of a baseline, instead of the one that the policy names.
        allow_missing_baseline: for a first run: if the baseline does not exist, the rules about it only warn.
        map: how the records of another tool become rows: a path, YAML text, or a dict.
        where: chooses rows if the policy has no `select`: {"tags.model": "x"}.
        subset: accept that `where` leaves scenarios without a row.
        against_ref: also judge by the policy as it was at this git ref; the worse verdict wins.
        accept_change: the digest of what differs from the bar at that ref, to accept exactly that.
        details: read what the HTML report shows in the same pass; otherwise a report reads the results again.
        list_scenarios: fill `verdict.scenarios` in the same pass.
        today: the date that decides if a quarantine has ended; by default today, in UTC.
    """
    wants = Wants(tuple(slices), subset=subset, scenarios=list_scenarios, details=details)
    job = Job(
        policy=_policy(policy),
        agent_version=agent_version,
        baseline=None if baseline is None else os.fspath(baseline),
        allow_missing_baseline=allow_missing_baseline,
        mapping=_mapping(map),
        where=_where(where),
        wants=wants,
        today=today or datetime.now(UTC).date(),
    )
    if accept_change is not None and against_ref is None:
        raise InputError(
            Problem(
                "option.needs-another", "accept_change accepts a difference from a ref", hint="name it with against_ref"
            )
        )
    return _judged(job, _results_source(results, mapped=map is not None), against_ref, accept_change)


def _judged(
    job: Job, source: _ResultsSource, against_ref: str | None = None, accept_change: str | None = None
) -> Verdict:
    """The verdict of a job on the results of a source; reports may read them again."""

    def judge(details: bool, scenarios: bool) -> Verdict:  # noqa: FBT001 - see ReadAgain
        with source(replace(job, wants=replace(job.wants, details=details, scenarios=scenarios))) as whole:
            if against_ref is None:
                return pipeline.check(with_readers(whole))
            from highbar.bar import at_ref  # few checks need it, or git

            return at_ref.check_against_ref(whole, against_ref, accept_change)

    return replace(judge(job.wants.details, job.wants.scenarios), read_again=judge)


def _judged_run(folder: Path, policy: Policy, *, subset: bool) -> Verdict:
    job = Job(policy=policy, wants=Wants(subset=subset), today=datetime.now(UTC).date())
    return _judged(job, _results_source(folder, mapped=False))


def compare(
    base: Results,
    head: Results,
    policy: PolicyLike | None = None,
    *,
    slices: Sequence[str] = (),
    map: PolicyLike | None = None,  # noqa: A002 - as the command line calls it
    where: Mapping[str, str | Sequence[str]] | None = None,
) -> Comparison:
    """What changed between two runs of the same scenarios; each may also be the path of a baseline.

    The rules of the policy's `baseline` block give the verdict; without that block it is None. Raises InputError.
    """
    job = Job(
        policy=policies.choose(_policy(policy)), mapping=_mapping(map), where=_where(where), wants=Wants(tuple(slices))
    )
    job = with_readers(job)
    before, after = (_results_source(results, mapped=map is not None) for results in (base, head))

    def outputs(found: Comparison) -> Comparison:
        from highbar.changes.outputs import with_outputs  # only for a page that shows them

        with before(job) as base_job, after(job) as head_job:
            return with_outputs(found, base_job, head_job)

    with before(job) as base_job, after(job) as head_job:
        return replace(pipeline.compare(base_job, head_job), read_again=outputs)


class Run:
    """What `highbar.run` returns: the folder of the run, its rows, and the verdict by the policy."""

    def __init__(self, folder: Path, policy: Policy, *, subset: bool) -> None:
        self.folder = folder
        self._policy, self._subset = policy, subset
        self._verdict: Verdict | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The graded rows, one for each trial, in the order of the suite."""
        with (self.folder / "results.jsonl").open(encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the folder, by the policy as it was when the run began. Raises InputError if there is none."""
        if self._verdict is None:
            self._verdict = _judged_run(self.folder, self._policy, subset=self._subset)
        return self._verdict

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"


def run(  # noqa: PLR0913 - what the command line can say
    suite: SuiteLike,
    agent: AgentLike | None = None,
    *,
    judge: str | Mapping[str, Any] | None = None,
    policy: PolicyLike | None = None,
    trials: int | None = None,
    concurrency: int | str | None = None,
    timeout: str | None = None,
    retries: int | None = None,
    budget: str | None = None,
    max_time: str | None = None,
    only: Sequence[str] = (),
    category: Sequence[str] = (),
    limit: int | None = None,
    shard: str | None = None,
    seed: int | None = None,
    subset: bool = False,
    output: AnyPath | None = None,
    agent_version: str | None = None,
    until_decided: bool = False,
) -> Run:
    """Run an agent on the scenarios of a suite, and grade its answers. Raises InputError before the first call.

    Args:
        suite: a path, a dict with the keys of a suite file, or a list of scenarios.
        agent: a function, `python:module:function`, an address, `command: words`, or a dict with the keys of the
            suite's `agent` block. By default the agent that the suite names. A function runs in this process, so that
            functions of a notebook work; every other agent runs outside of it.
        judge: `MODEL@ADDRESS`, `python:module:function`, or a dict with the keys of the suite's `judge` block. By
            default the one that the suite names.
        policy: as in `check`; it is read before the first call, for `verdict`.
        trials, concurrency, timeout, retries, budget, max_time: override the suite's `run` block, in the same form.
        only, category, limit: choose scenarios; such a run is judged only with `subset=True`.
        shard: "2/5" runs the second of five parts; `check` judges the folders of all parts together.
        seed: the seed of the random order of the scenarios; by default a random one, else sequential rules look only
            at the end.
        subset: accept a verdict on only some of the suite's scenarios.
        output: the run folder, which must not exist; by default runs/NAME-DATE-TIME.
        agent_version: the version of the agent.
        until_decided: stop as soon as the verdict by the policy is certain.
    """
    from highbar.load.checkout import checkout  # only for a run
    from highbar.running.choices import RunOptions, read_run_choices, read_shard  # only for a run
    from highbar.running.preparing import prepare  # only for a run
    from highbar.store.run_document import Chosen  # only for a run

    given = {"trials": trials, "concurrency": concurrency, "timeout": timeout}
    given |= {"retries": retries, "budget": budget, "max_time": max_time}
    options = RunOptions(
        read_run_choices(given),
        None if agent is None else _agent(agent),
        agent_version,
        None if output is None else Path(output),
        Chosen(tuple(only), tuple(category), limit, None if shard is None else read_shard(shard)),
        seed,
        judges=() if judge is None else (_judge(judge),),
    )
    read = policies.choose(_policy(policy))
    until = _until_decided(read, options.chosen, subset=subset) if until_decided else None
    options = replace(options, policy=None if read.advisory else read)
    if until is not None:
        options = replace(options, until_decided=read.source)
    file, data = _suite(suite)
    try:
        function = agent if callable(agent) else None
        prepared = prepare(file, options, os.environ, data, function, checkout(os.environ))
    except InputError as error:
        raise error if data is None else _without_places(error, str(file)) from None
    return Run(_run_in_thread(prepared, until), read, subset=subset)


def _until_decided(policy: Policy, chosen: Chosen, *, subset: bool) -> UntilDecided:
    """What ends a run early: the same check that `Run.verdict` makes. Raises InputError if it can never decide."""
    from highbar.running.deciding import UntilDecided, refuse_undecidable  # only for a run

    refuse_undecidable(policy, chosen, subset=subset)
    return UntilDecided(policy, lambda folder: _judged_run(folder, policy, subset=subset))


def _judge(judge: str | Mapping[str, Any]) -> Judge:
    from highbar.suite.judge_text import read_judge_text, read_judge_values  # only for a run

    return read_judge_text(judge, os.environ) if isinstance(judge, str) else read_judge_values(judge)


def _agent(agent: object) -> Agent:
    from highbar.suite.agent_text import read_agent_text, read_agent_values  # only for a run
    from highbar.suite.parts import Agent  # only for a run

    if isinstance(agent, str):
        return read_agent_text(agent)
    if isinstance(agent, Mapping):
        return read_agent_values(agent)
    if not callable(agent):
        hint = "wanted a function, python:module:function, an address, or 'command: words'"
        raise InputError(Problem("call.wrong-type", f"the agent is of type {type(agent).__name__}", hint=hint))
    name = getattr(agent, "__qualname__", type(agent).__qualname__)
    return Agent("python", f"{getattr(agent, '__module__', None) or '__main__'}:{name}")


def _suite(suite: SuiteLike) -> tuple[Path, bytes | None]:
    """The path of a suite, and its text if it is not in a file; its relative paths then start at the working folder."""
    if isinstance(suite, str | PathLike):
        return Path(suite), None
    from highbar.documents.python_values import plain_suite  # only for a suite of Python values

    return Path("suite.json"), msgspec.json.Encoder(decimal_format="number").encode(plain_suite(suite))


def _without_places(error: InputError, file: str) -> InputError:
    """The error without places, for a suite that is not in a file: its problems name the scenario instead."""
    no_place = {"file": None, "line": None, "column": None, "excerpt": None}
    return InputError(*(replace(one, **no_place) if one.file == file else one for one in error.problems))


def _run_in_thread(prepared: Prepared, until: UntilDecided | None) -> Path:
    """Carry out a run in a thread of its own, because a notebook already runs an event loop in this one."""
    from highbar.running.execution import run_prepared  # only for a run
    from highbar.running.stopping import StopRequest  # only for a run

    stop = StopRequest()
    with ThreadPoolExecutor(1, "highbar-run") as thread:
        done = thread.submit(run_prepared, prepared, stop, until=until)
        try:
            return done.result().folder
        except KeyboardInterrupt:
            # Two requests: the first would wait for the calls that are running, the second stops them.
            stop.request()
            stop.request()
            raise


def _where(where: Mapping[str, str | Sequence[str]] | None) -> tuple[str, ...]:
    """The choice of rows in the form of the command line: `column=value`."""
    pairs = ((column, (value,) if isinstance(value, str) else value) for column, value in (where or {}).items())
    return tuple(f"{column}={value}" for column, values in pairs for value in values)


def _policy(policy: PolicyLike | None) -> str | Mapping[str, Any] | Policy | None:
    if isinstance(policy, str) and _is_yaml(policy):
        return policies.read("<policy>", policy.encode("utf-8", "surrogatepass"))
    return policy if policy is None or isinstance(policy, Mapping) else _text_of(policy, "policy")


def _mapping(given: PolicyLike | None) -> str | RowMap | None:
    if given is None:
        return None
    from highbar.policy.mapping import read_map, read_map_file  # few checks have one

    if isinstance(given, Mapping):
        return read_map(given)
    if isinstance(given, str) and _is_yaml(given):
        return read_map_file("<map>", given.encode("utf-8", "surrogatepass"))
    return _text_of(given, "map")


def _is_yaml(text: str) -> bool:
    """Whether this is YAML text and not a path: a path has neither several lines nor a colon before a space."""
    return "\n" in text or ": " in text


def _text_of(path: AnyPath, what: Literal["policy", "map"]) -> str:
    try:
        return os.fspath(path)
    except TypeError as error:
        hint = "wanted a path, YAML text, or a dict of the same keys"
        raise InputError(
            Problem("call.wrong-type", f"the {what} is of type {type(path).__name__}", hint=hint)
        ) from error


def _results_source(results: Results, *, mapped: bool) -> _ResultsSource:
    """The source of these results. Raises InputError for a type without rows."""
    if isinstance(results, str | PathLike):
        paths = (_path(results),)
        return lambda job: nullcontext(replace(job, results=paths))
    from highbar.load import tables  # only for what is not a path

    found = list(results) if tables.is_iterable(results) else tables.records(results) if mapped else None
    if found is None:
        table = tables.accept(results)
        return lambda job: nullcontext(replace(job, table=table))
    if found and all(isinstance(item, str | PathLike) for item in found):
        several = tuple(_path(item) for item in found if isinstance(item, str | PathLike))
        return lambda job: nullcontext(replace(job, results=several))
    lines = [tables.line(number, row) for number, row in enumerate(found, 1)]
    return lambda job: _as_file(lines, job)


@contextmanager
def _as_file(lines: Sequence[str], job: Job) -> Iterator[Job]:
    """The job with the rows in a temporary JSONL file, so that the same rules apply as to any file."""
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        file = Path(folder, "results.jsonl")
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
        yield replace(job, results=(str(file),), names={str(file): "<rows>"})


def _path(path: AnyPath) -> str:
    """A path as text. Refuses an empty one, which would mean the working folder and everything in it."""
    text = os.fspath(path)
    try:
        if os.fsencode(text):
            return text
    except UnicodeEncodeError:  # half of a surrogate pair: no file has such a name
        pass
    raise InputError(
        Problem("call.wrong-type", f"the path of the results is {text!a}", hint="wanted the name of a file or folder")
    )
