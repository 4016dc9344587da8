"""A run and its policy → what earlier runs show: the evidence for rules that compare with a baseline, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.changes.differences import Differences
from highbar.changes.pairing import Pairs, pair_up
from highbar.changes.scored_run import ScoredRun, measured, run_in, run_of
from highbar.engine.opening import reduce
from highbar.errors import InputError, Problem
from highbar.language.phrases import count
from highbar.load.results import Results
from highbar.model import Policy, ScenarioRule, Value, Where
from highbar.model.baseline import Scoring
from highbar.model.comparison import Difference
from highbar.model.job import Job
from highbar.model.recall import Recalled
from highbar.model.reduction import Reduction
from highbar.statistics.interval import Interval
from highbar.store import baseline_reading

_MOST_NAMES = 5
"""Names in one message: enough to recognize them."""
_MOST_IDS = 10
"""Broken or fixed scenarios in one warning; a comparison lists all."""


class Changes(Struct, frozen=True, dict=True):  # with a dict, so that it computes once, on demand
    """What changed from the base to the head.

    `problem` says why the two cannot be compared. `missing_ids` are scenarios of the base that have no result in the
    head, and are not excused; `broken` are those that passed all trials in the base, but not in the head.
    """

    policy: Policy
    base: ScoredRun
    head: ScoredRun
    pairs: Pairs
    differences: Differences
    problem: str | None
    missing_ids: frozenset[str]
    broken: frozenset[str]
    best: Changes | None = None  # the same with undecided trials at their best; None if nothing is undecided

    @property
    def passed_in_base(self) -> tuple[str, ...]:
        """The scenarios that passed all trials in the base, sorted."""
        return tuple(record.id for record in self.base.records if record.all_passed)

    @property
    def runs_in_base(self) -> int:
        """How many runs the base pools; 1 if it is a single run."""
        return self.base.about.runs

    @property
    def pooled(self) -> Recalled:
        """The trials of both runs by scenario, in the form that the test of new failures needs."""
        before, now = ({one.id: (one.passed, one.trials) for one in side.records} for side in (self.base, self.head))
        return Recalled(excusing=(before,), now=now)

    def difference(self, metric: str, where: Where = ()) -> Difference:
        """A metric over the pairs, in both runs."""
        return self.differences.difference(metric, where)

    def bounds(self, metric: str, where: Where, share: Fraction) -> Interval:
        """The bounds of a metric's value in the head minus `share` times that in the base."""
        return self.differences.bounds(metric, where, share)

    def is_monotonic(self, metric: str, where: Where = ()) -> bool:
        """Whether in both runs the metric is worst with undecided trials at their worst, and best at their best."""
        return all(measured(self.policy, run).is_monotonic(metric, where) for run in (self.base, self.head) if run.best)

    def base_value(self, metric: str, where: Where = ()) -> Value:
        """A metric over all scenarios of the base."""
        return self._base_metrics.value(metric, where)

    @cached_property
    def _base_metrics(self) -> measure.Measured:
        return measured(self.policy, self.base)


def earlier_runs(
    job: Job, policy: Policy, found: Results, sums: Reduction
) -> tuple[Reduction, ScoredRun | None, Changes | None, tuple[str, ...], tuple[Recalled, ScoredRun] | None]:
    """The run itself, scenario by scenario; what changed since the baseline, with warnings; what the history says.

    Each is None if neither the policy nor the job asks for it. The sums come first: where the run lacks trials that the
    baseline has, they are computed again, with these trials undecided.
    """
    run = run_of(policy, sums, found) if sums.records else None
    changes, warnings = since_baseline(job, policy, run)
    if changes is not None:
        again, run = with_lost_trials(job, policy, found, sums, changes.base)
        if again is not sums:
            changes, warnings = since_baseline(job, policy, run)
        sums = again
    if policy.recalls is None or job.recall is None or run is None or sums.records is None:
        return sums, run, changes, warnings, None
    return sums, run, changes, warnings, (job.recall(policy, run, sums.records.texts), run)


def with_lost_trials(
    job: Job, policy: Policy, found: Results, sums: Reduction, base: ScoredRun | None
) -> tuple[Reduction, ScoredRun]:
    """The sums and the run; computed again if it lacks trials that the `base` has, so that these are undecided."""
    run = run_of(policy, sums, found)
    planned = {} if base is None or policy.trials == "as_recorded" else _lacking_trials(base, run)
    if not planned:
        return sums, run
    texts = job.wants.texts or bool(sums.records and sums.records.texts)
    wants = replace(job.wants, planned=planned, texts=texts, run=True)
    sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
    return sums, run_of(policy, sums, found)


def since_baseline(job: Job, policy: Policy, head: ScoredRun | None) -> tuple[Changes | None, tuple[str, ...]]:
    """What changed since the baseline, None if no rule compares or the file does not exist; and the warnings.

    Raises InputError for a named baseline that no rule uses, or that does not exist unless that is allowed.
    """
    file, allow = job.baseline, job.allow_missing_baseline
    if head is None or not policy.comparing:
        if file is not None:
            hint = "baseline: { file: baseline.json, margin: { accuracy: 1% } } in the policy; or highbar compare"
            raise InputError(
                Problem("baseline.no-rule", "--baseline: no rule of the policy compares with a baseline", hint=hint)
            )
        return None, ()
    path = policies.baseline_file(policy, file)
    if not path.exists():
        if file is not None and not allow:
            raise InputError(
                Problem("baseline.missing", "no such baseline", file=file, hint="highbar baseline record writes one")
            )
        return None, (f"there is no baseline at {path}: nothing was compared",) if allow else ()
    base = run_in(baseline_reading.read_baseline(path))
    found = since(policy, base, head)
    best = since(policy, base, head.at_best()) if head.best else None
    return replace(found, best=best), (*change_warnings(found), *_what_changed(found, best or found))


def _what_changed(worst: Changes, best: Changes) -> tuple[str, ...]:
    """Which scenarios changed since the baseline, in one line; nothing if none did."""
    broken, fixed = best.pairs.broken, worst.pairs.fixed
    parts = [f"{len(broken)} broke: {_names(broken, _MOST_IDS)}"] if broken else []
    if worst.runs_in_base > 1:  # a flaky scenario fails in some of several runs, and one pass does not fix it
        flaky = {record.id for record in worst.base.records if record.passed}
        sometimes = tuple(id_ for id_ in fixed if id_ in flaky)
        fixed = tuple(id_ for id_ in fixed if id_ not in flaky)
        listed = _names(sometimes, _MOST_IDS)
        parts += [f"{len(sometimes)} passed now, and only sometimes in the baseline: {listed}"] if sometimes else []
    parts += [f"{len(fixed)} {'was' if len(fixed) == 1 else 'were'} fixed: {_names(fixed, _MOST_IDS)}"] if fixed else []
    return (f"since the baseline, of {len(worst.pairs.base)} scenarios {'; '.join(parts)}",) if parts else ()


def since(policy: Policy, base: ScoredRun, head: ScoredRun) -> Changes:
    """What changed from base to head, even if the two cannot be compared: see `problem`."""
    pairs = pair_up(base.records, head.records)
    return Changes(
        policy=policy,
        base=base,
        head=head,
        pairs=pairs,
        differences=Differences(policy, pairs),
        problem=_problem(base, head, pairs),
        missing_ids=frozenset(id_ for id_ in pairs.only_in_base if not is_excused(policy, id_)),
        broken=frozenset(pairs.broken),
    )


def _lacking_trials(base: ScoredRun, head: ScoredRun) -> Mapping[str, int]:
    """By id, how many trials the scenarios have in the base that lack some of them in the head.

    Empty if all lack the same number: that is another plan, and no trials that were lost.
    """
    pairs = pair_up(base.records, head.records)
    return {} if _fewer_in_each(base, pairs) else dict(_lacking(base, pairs))


def _lacking(base: ScoredRun, pairs: Pairs) -> Iterator[tuple[str, int]]:
    for before, after in zip(pairs.base, pairs.head, strict=True):
        number = before.trials // base.about.runs  # a baseline of several runs has the trials of all
        if after.trials < number:
            yield before.id, number


def _fewer_in_each(base: ScoredRun, pairs: Pairs) -> int:
    """How many trials fewer every scenario has in the head than in one run of the base; 0 if not all the same."""
    both = zip(pairs.base, pairs.head, strict=True)
    fewer = {before.trials // base.about.runs - after.trials for before, after in both}
    return max(fewer, default=0) if len(fewer) == 1 else 0


def is_excused(policy: Policy, id_: str) -> bool:
    """Whether a scenario need not have a result: it is optional, or no longer in the suite."""
    if policy.suite is not None and id_ not in policy.suite.scenarios:
        return True
    optional = [rule.pattern for rule in policy.rules if isinstance(rule, ScenarioRule) and rule.level == "warning"]
    return any(policies.matches(pattern, id_) for pattern in optional)


def _problem(base: ScoredRun, head: ScoredRun, pairs: Pairs) -> str | None:
    """Why a difference between the runs may not be one between the agents; None if it is."""
    if not pairs.base:
        return "no scenario is in both the baseline and the results"
    for noun, before, after in (("judge", base.judges, head.judges), ("suite", base.suites, head.suites)):
        if before and after and before != after:
            return f"another {noun}: {_names(before)} in the baseline, {_names(after)} now"
    other = _other_judges(base.scoring, head.scoring)
    if other:
        return other
    if base.scoring.select != head.scoring.select:
        return f"other rows: {_rows(base.scoring)} in the baseline, {_rows(head.scoring)} now"
    if (base.scoring.pass_score, base.scoring.positive) != (head.scoring.pass_score, head.scoring.positive):
        return f"scored by other settings: {_scoring(base.scoring)} in the baseline, {_scoring(head.scoring)} now"
    return None


def _other_judges(base: Scoring, head: Scoring) -> str | None:
    """How the scorers of other tools' records differ between the runs; None if they do not.

    A tool that only one run has does not count, unless the runs share no tool at all.
    """
    after = dict(head.judged_by)
    if base.judged_by and after and not after.keys() & dict(base.judged_by).keys():
        tools = (_names(tuple(tool for tool, _ in judged)) for judged in (base.judged_by, head.judged_by))
        return "judged by other tools: {} in the baseline, {} now".format(*tools)
    for tool, judges in base.judged_by:
        if tool in after and after[tool] != judges:
            return f"judged by other scorers: {tool}: {_names(judges)} in the baseline, {_names(after[tool])} now"
    return None


def _rows(scoring: Scoring) -> str:
    return " and ".join(f"{column} {' or '.join(values)}" for column, values in scoring.select) or "all"


def _names(names: tuple[str, ...], most: int = _MOST_NAMES) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _scoring(scoring: Scoring) -> str:
    positive = f", positive {scoring.positive}" if scoring.positive else ""
    return f"pass_score {float(scoring.pass_score):g}{positive}"


def change_warnings(changes: Changes) -> tuple[str, ...]:
    """The differences between the two runs that a reader must know before reading any number."""
    problem = [f"base and head are not alike: {changes.problem}"] if changes.problem else []
    fewer = max(_fewer_in_each(changes.base, changes.pairs), 0)
    plan = [f"every scenario has {count(fewer, 'trial')} fewer than in the base: another plan"] if fewer else []
    return (*problem, *_run_warnings(changes.base, changes.head), *plan, *_pair_warnings(changes.pairs))


def _run_warnings(base: ScoredRun, head: ScoredRun) -> list[str]:
    found: list[str] = []
    for noun, before, after in (("judge", base.judges, head.judges), ("suite", base.suites, head.suites)):
        if bool(before) != bool(after):
            side = "base" if before else "head"
            found.append(f"which {noun} it was is known of the {side} only: {_names(before or after)}")
    if bool(base.scoring.judged_by) != bool(head.scoring.judged_by):
        side = "base" if base.scoring.judged_by else "head"
        judges = tuple(f"{tool}: {_names(names)}" for tool, names in base.scoring.judged_by or head.scoring.judged_by)
        found.append(f"who judged is known of the {side} only: {_names(judges)}")
    if base.suite and head.suite and base.suite.sha256 != head.suite.sha256:
        found.append(f"the suite {head.suite.file} is not what it was when the baseline was recorded")
    for name, about in (("base", base.about), ("head", head.about)):
        if about.runs > 1:
            found.append(f"the {name} is a baseline of {about.runs} runs, pooled scenario by scenario")
        if about.forced:
            found.append(f"the {name} is a baseline that was recorded by force: {about.forced}")
    if base.about.agent_version and base.about.agent_version == head.about.agent_version:
        found.append(f"base and head are of the same agent version, {base.about.agent_version}")
    return found


def _pair_warnings(pairs: Pairs) -> list[str]:
    moved = tuple(
        before.id
        for before, after in zip(pairs.base, pairs.head, strict=True)
        if before.columns.get("category") != after.columns.get("category")
    )
    found = [f"{_count(len(moved))} of another category in the base: {_names(moved)}"] if moved else []
    for where, ids in (("base", pairs.only_in_base), ("head", pairs.only_in_head)):
        if ids:
            found.append(f"{_count(len(ids))} only in the {where}, and so not compared: {_names(ids)}")
    return found


def _count(number: int) -> str:
    return f"{number} scenario is" if number == 1 else f"{number} scenarios are"
