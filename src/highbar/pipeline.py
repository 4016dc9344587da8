"""The stages in order: load → reduce → measure → gate. What comes out is a verdict; reporting it is the caller's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from highbar import gate, measure, notes
from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.judgeable import nothing_to_compare, nothing_to_judge
from highbar.load import accounts, files, foreign
from highbar.model import (
    Counts,
    Policy,
    ResultsFile,
    Slice,
    Source,
    Verdict,
    Where,
)
from highbar.model.reduction import Reduction
from highbar.policy.selecting import read_where, say_select
from highbar.reduction import ONE_PROCESS, Against, Loaded, Machine, Progress, reduce, refuse_categories

if TYPE_CHECKING:  # most checks have no mapping, and its classes take 4 ms to make
    from highbar.baseline.against import Kept
    from highbar.load.tables import Table
    from highbar.model.details import Details
    from highbar.model.mapping import RowMap

MOST_SCENARIOS = 100_000
"""How many scenarios a verdict lists, where a report wants them all: about what a page or a CI system can show."""
MOST_FAILED = 1000
"""How many failed scenarios a verdict lists, the worst first."""


def check(  # noqa: PLR0913 - what the command line can say
    results: Sequence[str],
    *,
    policy: str | Mapping[str, Any] | Policy | None = None,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
    input_format: str | None = None,
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
    names: Mapping[str, str] | None = None,
    told: Callable[[str], None] | None = None,
    urged: Callable[[str], None] | None = None,
    map_file: str | None = None,
    list_scenarios: bool = False,
    details: bool = False,
    baseline: str | None = None,
    allow_missing_baseline: bool = False,
    kept: Callable[[Kept], None] | None = None,
    machine: Machine = ONE_PROCESS,
    where: Sequence[str] = (),
    subset: bool = False,
) -> Verdict:
    """Judge results files by a policy: a path, a mapping, or None to look for one. Raises InputError.

    `names` says what to call a path in messages and reports, where that is not the path itself. `told` is called with
    what was made of each file of another tool, `urged` with what must be heard even if that is not. `map_file` has the
    mapping, in place of the policy's own. `list_scenarios` fills the verdict's list of all scenarios, which costs a
    query more; `details` fills its details, which reads the failed scenarios again. `baseline` takes the place of the
    file that the policy names, and where `allow_missing_baseline`, rules about one that is not there only warn. `kept`
    is called with every scenario. `machine` says what reduces the rows. `where` chooses rows (`tags.model=x`) if the
    policy's `select` does not, and with `subset` a scenario may lose all of its rows by that.
    """
    read = _selecting(read_policy(policy), where)
    chosen = () if read is not None else select_of(None, where)
    limit = MOST_SCENARIOS if list_scenarios else 0
    against = Against(baseline, allow_missing_baseline, kept)
    loaded = Loaded((), scenario_limit=limit, details=details, against=against, machine=machine)
    loaded = replace(loaded, subset=subset, select=chosen)
    if machine.engine == "spark":
        _refuse_mapping(read_map(map_file, read))
        named = tuple(Source(path, None) for path in results)
        loaded = replace(loaded, paths=tuple(results), input_format=input_format)
        return _judge(loaded, read, agent_version, slices, progress, lambda: named)
    with _opened(results, guidance_of(map_file, read), input_format, stdin, (told, urged), names) as (
        found,
        accounts_of,
    ):
        loaded = replace(loaded, files=found, accounts=accounts_of)
        return _judge(loaded, read, agent_version, slices, progress, lambda: _sources(accounts_of))


def _refuse_mapping(mapping: RowMap | None) -> None:
    if mapping is not None:
        hint = "highbar import map writes the rows that Spark can read"
        raise InputError(Problem("Spark does not read by a mapping", hint=hint))


def keep(  # noqa: PLR0913 - as check
    results: Sequence[str],
    policy: Policy,
    *,
    slices: Sequence[str] = (),
    input_format: str | None = None,
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
    names: Mapping[str, str] | None = None,
    told: Callable[[str], None] | None = None,
    urged: Callable[[str], None] | None = None,
    map_file: str | None = None,
    where: Sequence[str] = (),
    subset: bool = False,
) -> Kept:
    """Every scenario of results files, scored by the policy and judged by none of its rules. Raises InputError."""
    policy = replace(policy, select=select_of(policy, where))
    with _opened(results, guidance_of(map_file, policy), input_format, stdin, (told, urged), names) as (
        found,
        accounts_of,
    ):
        loaded = Loaded(found, accounts=accounts_of, subset=subset)
        return _keep(loaded, policy, slices, progress, lambda: _sources(accounts_of))


def keep_table(table: Table, policy: Policy, *, slices: Sequence[str] = ()) -> Kept:
    """The same of an Arrow table or a frame that DuckDB can read."""
    return _keep(Loaded((), table), policy, slices, None, lambda: ())


def _keep(
    loaded: Loaded,
    policy: Policy,
    slices: Sequence[str],
    progress: Progress | None,
    sums: Callable[[], tuple[Source, ...]],
) -> Kept:
    from highbar import runs  # only for a comparison

    reduction = reduce(replace(loaded, against=Against(kept=lambda _: None)), policy, slices, progress)
    refuse_categories(loaded, policy, reduction)
    unusable = nothing_to_compare(policy, measure.Measured(policy, reduction.whole, reduction.best), reduction)
    if unusable:
        name = loaded.files[0].name if len(loaded.files) == 1 else None
        raise InputError(replace(unusable, file=unusable.file or name))
    return runs.keep(policy, reduction, sums(), loaded.judged_by)


@contextmanager
def _opened(
    results: Sequence[str],
    guidance: foreign.Guidance,
    input_format: str | None,
    stdin: BinaryIO | None,
    tellers: tuple[Callable[[str], None] | None, Callable[[str], None] | None],
    names: Mapping[str, str] | None,
) -> Iterator[tuple[tuple[ResultsFile, ...], accounts.Accounts]]:
    """The files that were named, and a function that waits until they are counted."""
    with ExitStack() as stack:
        found = files.find(results, stack=stack, input_format=input_format, stdin=stdin, guidance=guidance)
        found = tuple(replace(file, name=(names or {}).get(file.name, file.name)) for file in found)
        told, urged = tellers
        for file in found:
            if told is not None and file.imported:
                told(file.imported)
            if urged is not None:
                for note in file.urgent:
                    urged(note)
        with accounts.started(found) as accounts_of:
            yield found, accounts_of


def _sources(accounts_of: accounts.Accounts) -> tuple[Source, ...]:
    return tuple(account.source for account in accounts_of())


def inputs(results: Sequence[str], policy: str | None, *others: str | None) -> tuple[str, ...]:
    """Every file that such a check reads, the policy that is found and the files that it names included."""
    named = [*files.names(results), *(other for other in others if other)]
    with suppress(InputError):  # two policies in one folder: the check says so
        found = Path(policy) if policy is not None else _found()
        named += [str(found), *policies.files_named_in(found)] if found else []
    return tuple(named)


def check_table(  # noqa: PLR0913 - as check
    table: Table,
    *,
    policy: str | Mapping[str, Any] | None = None,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
    baseline: str | None = None,
    allow_missing_baseline: bool = False,
    details: bool = False,
    list_scenarios: bool = False,
    where: Sequence[str] = (),
    subset: bool = False,
) -> Verdict:
    """Judge an Arrow table or a frame that DuckDB can read."""
    read = _selecting(read_policy(policy), where)
    chosen = () if read is not None else select_of(None, where)
    limit, against = MOST_SCENARIOS if list_scenarios else 0, Against(baseline, allow_missing_baseline)
    loaded = Loaded((), table, scenario_limit=limit, details=details, against=against, select=chosen, subset=subset)
    return _judge(loaded, read, agent_version, slices, None, lambda: ())


def read_policy(policy: str | Mapping[str, Any] | Policy | None) -> Policy | None:
    """The policy that was named, a file or `typical`, or the one that is found; None if there is none."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return policies.read_dict(policy)
    if policy is not None:
        return policies.read_named(policy)
    found = _found()
    return None if found is None else policies.read(found)


def _found() -> Path | None:
    """The policy that holds here, named as seen from here: reports are kept and compared on other machines."""
    found = policies.find()
    return None if found is None else Path(os.path.relpath(found))


def select_of(policy: Policy | None, where: Sequence[str]) -> Where:
    """Which rows are judged: by the policy's `select`, else by what the caller says. Raises InputError if by both."""
    if not where:
        return policy.select if policy else ()
    if policy is not None and policy.select:
        message = f"--where: the policy says which rows are judged: {say_select(policy.select)}"
        raise InputError(Problem(message, policy.file, hint="leave --where out, or select out of the policy"))
    return read_where(where, policy.allow_columns if policy else ())


def _selecting(policy: Policy | None, where: Sequence[str]) -> Policy | None:
    return None if policy is None else replace(policy, select=select_of(policy, where))


def read_map(map_file: str | None, policy: Policy | None) -> RowMap | None:
    """The mapping in a file, or else that of the policy."""
    if map_file is None:
        return policy.mapping if policy else None
    from highbar.policy.mapping import read_map_file  # see RowMap

    return read_map_file(map_file)


def guidance_of(map_file: str | None, policy: Policy | None) -> foreign.Guidance:
    """What the policy, and the mapping in a file, say about files of other tools."""
    return foreign.Guidance(read_map(map_file, policy), policy.judged_by if policy else {})


def _judge(
    loaded: Loaded,
    read: Policy | None,
    agent_version: str | None,
    slices: Sequence[str],
    progress: Progress | None,
    sums: Callable[[], tuple[Source, ...]],
) -> Verdict:
    policy = replace(policies.default(), select=loaded.select) if read is None else read
    reduction = reduce(loaded, policy, slices, progress)
    refuse_categories(loaded, policy, reduction)
    policy = policies.resolve_version(policy, given=agent_version, recorded=reduction.agent_version)
    whole = measure.Measured(policy, reduction.whole, reduction.best)
    if policies.is_typical(policy):
        known = policies.default([name for name in policy.metrics if whole.value(name).scenarios])
        policy = replace(policy, rules=known.rules)  # nothing was demanded of metrics that have no data
    alpha = float(1 - policy.confidence)
    pooled = policy.population == "suite"
    undecided = reduction.undecided > 0
    noise = measure.trial_noise(reduction.repetition, reduction.whole.scenarios, pooled=pooled, undecided=undecided)
    evidence = gate.Evidence(whole, policy.metrics, reduction.patterns, reduction.suite, alpha, noise=noise)
    evidence, told = _against_baseline(evidence, policy, loaded, reduction, sums)
    evidence = _with_undecided(evidence, policy, whole, reduction)
    rules = tuple(gate.judge(rule, evidence) for rule in policy.rules)
    unjudgeable = nothing_to_judge(policy, whole, reduction)
    if unjudgeable and read is not None:
        raise InputError(unjudgeable)
    again = None if read is None else gate.second_run(rules)
    return Verdict(
        verdict=None if read is None else gate.decide(rules),
        counts=Counts(
            reduction.whole.scenarios,
            reduction.whole.trials,
            reduction.errors,
            reduction.unjudged,
            reduction.failed,
            reduction.undecided,
            reduction.selection.rows if reduction.selection else 0,
        ),
        metrics=whole.values(),
        slices=_slices(whole, reduction),
        rules=() if read is None else rules,
        scenarios_failed=reduction.scenarios_failed[:MOST_FAILED],
        warnings=(*notes.beside(policy, loaded, whole, reduction, rules), *told),
        policy=None if read is None else Source(policy.file or "<policy>", policy.sha256),
        results=sums(),
        scenarios_undecided=reduction.scenarios_undecided,
        agent_version=policy.agent_version or reduction.agent_version,
        confidence=policy.confidence,
        flaky=() if reduction.repetition is None else reduction.repetition.scenarios_flaky,
        repetition=measure.repetition(reduction.repetition, reduction.whole.scenarios, alpha),
        scenarios=reduction.scenarios,
        details=_details(policy, evidence, whole, reduction, slices) if loaded.details else None,
        advice=rules if read is None and not unjudgeable else (),
        problems=() if read else (policies.missing(), *([unjudgeable] if unjudgeable else [])),
        judged_by=loaded.judged_by,
        selection=reduction.selection,
        second_run=again and again.high,
        second_run_low=again and again.low,
    )


def _with_undecided(
    evidence: gate.Evidence, policy: Policy, whole: measure.Measured, reduction: Reduction
) -> gate.Evidence:
    """The evidence with what it would be if undecided trials turned out well, and which trials each rule hangs on."""
    best = whole.at_best()
    if best is None:
        return evidence
    trials = {
        rule.name: reduction.undecided_trials.get(measure.undecided_of(rule, policy), ()) for rule in policy.rules
    }
    baseline = evidence.baseline.best or evidence.baseline if evidence.baseline else None
    at_best = replace(evidence, measured=best, at_best=True, baseline=baseline)
    return replace(evidence, best=at_best, undecided=trials)


def _against_baseline(
    evidence: gate.Evidence,
    policy: Policy,
    loaded: Loaded,
    reduction: Reduction,
    sums: Callable[[], tuple[Source, ...]],
) -> tuple[gate.Evidence, tuple[str, ...]]:
    """The evidence with what changed since the baseline, and what must be said of it."""
    if reduction.records is None:
        return evidence, ()
    from highbar import runs  # only where a policy compares with a baseline, or one is recorded

    head = runs.keep(policy, reduction, sums(), loaded.judged_by)
    if loaded.against.kept is not None:
        loaded.against.kept(head)
    file, allow = loaded.against.file, loaded.against.allow_missing
    found, told = runs.against_baseline(policy, head, file, allow=allow)
    return replace(evidence, baseline=found, allow_missing_baseline=allow, baseline_file=file), told


def _details(
    policy: Policy, evidence: gate.Evidence, whole: measure.Measured, reduction: Reduction, slices: Sequence[str]
) -> Details:
    from highbar import __version__  # see Details: few reports need any of these
    from highbar.gate.comparisons import comparisons
    from highbar.measure.scores import percentiles_of, scores
    from highbar.model.details import Details, RowDetails

    rows = reduction.details or RowDetails()
    if rows.latency is not None:
        measured = percentiles_of("latency_ms", tuple(policy.metrics.values()))
        rows = replace(rows, latency=replace(rows.latency, metrics=measured))
    comparison = None
    if evidence.baseline is not None:
        from highbar.runs import compared

        comparison = compared(policy, evidence.baseline, slices)
    parts = comparisons(policy.rules, evidence)
    return Details(rows, scores(whole), parts, policy.text, __version__, comparison)


def _slices(whole: measure.Measured, reduction: Reduction) -> tuple[Slice, ...]:
    groups = [group for group in reduction.slices if group.by is not None]
    best = {group.by: group for group in reduction.best_slices}
    measured = [whole.over(group, best.get(group.by)) for group in groups]
    return tuple(
        Slice(group.by or ("", ""), group.scenarios, part.values(), standing.worse, standing.p_value, standing.likely)
        for group, part, standing in zip(groups, measured, measure.standings(whole, measured), strict=True)
    )
