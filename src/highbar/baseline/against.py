"""Two runs and a policy → whatever a rule may ask about their difference: the evidence of the rules of a baseline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from highbar import measure
from highbar import policy as policies
from highbar.baseline.differences import Differences
from highbar.baseline.pairing import Pairs, pair_up
from highbar.baseline.run import Run
from highbar.model import Policy, ScenarioRule, Source, Trial, Value, Where
from highbar.model.baseline import Baseline, Scoring
from highbar.model.comparison import Difference, Side
from highbar.model.judging import Judging, Selection
from highbar.model.records import ScenarioRecord
from highbar.statistics.interval import Interval

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Kept:
    """One run, scenario by scenario: from a baseline, or from results that were just read."""

    records: tuple[ScenarioRecord, ...]
    about: Side
    scoring: Scoring
    judges: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    suite: Source | None = None
    best: tuple[ScenarioRecord, ...] = ()  # with undecided trials at their best; empty if nothing is undecided

    def at_best(self) -> Kept:
        """The run with undecided trials at their best."""
        return replace(self, records=self.best or self.records, best=())

    @property
    def undecided(self) -> tuple[Trial, ...]:
        """The scenarios of which something is undecided."""
        pairs = zip(self.records, self.best, strict=True) if self.best else ()
        return tuple((worst.id, None) for worst, best in pairs if worst != best)


def kept_in(baseline: Baseline) -> Kept:
    """The run that a baseline holds."""
    source = Source(baseline.file or "<baseline>", baseline.sha256)
    about = Side(
        (source,),
        is_baseline=True,
        agent_version=baseline.agent_version,
        scenarios=len(baseline.scenarios),
        trials=baseline.trials,
        date=baseline.date,
        forced=baseline.forced,
        judged_by=tuple(Judging(tool, judges) for tool, judges in baseline.scoring.judged_by),
        selection=Selection(baseline.scoring.select) if baseline.scoring.select else None,
    )
    return Kept(baseline.scenarios, about, baseline.scoring, baseline.judges, baseline.suites, baseline.suite)


def scoring_of(policy: Policy, judged_by: tuple[Judging, ...] = ()) -> Scoring:
    """The settings by which a policy has trials scored, and who judged in the files of other tools."""
    judges: dict[str, set[str]] = {}
    for one in judged_by:
        judges.setdefault(one.tool, set()).update(one.judges)
    found = tuple((tool, tuple(sorted(names))) for tool, names in sorted(judges.items()))
    return Scoring(policy.pass_score, policy.positive, policy.select, found)


@dataclass(frozen=True, slots=True)
class Against:
    """The head held against the base. What is asked for is computed once."""

    policy: Policy
    base: Kept
    head: Kept
    pairs: Pairs
    differences: Differences
    problem: str | None
    absent: frozenset[str]
    broken: frozenset[str]
    best: Against | None = None  # the same with undecided trials at their best; None if nothing is undecided
    _measured: list[measure.Measured] = field(default_factory=list)

    @property
    def passed_in_base(self) -> tuple[str, ...]:
        """The scenarios of which all trials passed in the base, sorted."""
        return tuple(record.id for record in self.base.records if record.all_passed)

    def difference(self, metric: str, where: Where = ()) -> Difference:
        """A metric over the pairs, in both runs."""
        return self.differences.difference(metric, where)

    def bounds(self, metric: str, where: Where, share: Fraction) -> Interval:
        """The bounds of its value in the head, less `share` times that in the base."""
        return self.differences.bounds(metric, where, share)

    def follows(self, metric: str, where: Where = ()) -> bool:
        """Whether, in both runs, a metric is at its worst and best with undecided trials at theirs."""
        return all(measured(self.policy, run).follows(metric, where) for run in (self.base, self.head) if run.best)

    def base_value(self, metric: str, where: Where = ()) -> Value:
        """A metric over all scenarios of the base."""
        if not self._measured:
            self._measured.append(measured(self.policy, self.base))
        return self._measured[0].value(metric, where)


def measured(policy: Policy, kept: Kept) -> measure.Measured:
    """The metrics of one run over all its scenarios."""
    best = _run(policy, kept.best).group if kept.best else None
    return measure.Measured(policy, _run(policy, kept.records).group, best)


def _run(policy: Policy, records: tuple[ScenarioRecord, ...]) -> Run:
    units = tuple(record.id if record.cluster is None else ("cluster", record.cluster) for record in records)
    below = frozenset(column for column, ends in measure.ends(policy).items() if ends.higher)
    return Run(records, units, policy.weights, float(1 - policy.confidence), below)


def hold(policy: Policy, base: Kept, head: Kept) -> Against:
    """Pair the runs and find what keeps them from being compared."""
    pairs = pair_up(base.records, head.records)
    return Against(
        policy=policy,
        base=base,
        head=head,
        pairs=pairs,
        differences=Differences(policy, pairs),
        problem=_problem(base, head, pairs),
        absent=frozenset(id_ for id_ in pairs.only_in_base if not excused(policy, id_)),
        broken=frozenset(pairs.broken),
    )


def excused(policy: Policy, id_: str) -> bool:
    """Whether a scenario need not have a result: it is optional, or the suite does not hold it any more."""
    if policy.suite is not None and id_ not in policy.suite.scenarios:
        return True
    optional = [rule.pattern for rule in policy.rules if isinstance(rule, ScenarioRule) and rule.level == "warning"]
    return any(policies.matches(pattern, id_) for pattern in optional)


def _problem(base: Kept, head: Kept, pairs: Pairs) -> str | None:
    """Why a difference of the two would not be one of the agents."""
    if not pairs.base:
        return "no scenario is in both the baseline and the results"
    for noun, before, after in (("judge", base.judges, head.judges), ("suite", base.suites, head.suites)):
        if before and after and before != after:
            return f"another {noun}: {_names(before)} in the baseline, {_names(after)} now"
    told = _other_judges(base.scoring, head.scoring)
    if told:
        return told
    if base.scoring.select != head.scoring.select:
        return f"other rows: {_rows(base.scoring)} in the baseline, {_rows(head.scoring)} now"
    if (base.scoring.pass_score, base.scoring.positive) != (head.scoring.pass_score, head.scoring.positive):
        return f"scored by other settings: {_scoring(base.scoring)} in the baseline, {_scoring(head.scoring)} now"
    return None


def _other_judges(base: Scoring, head: Scoring) -> str | None:
    """Which tool's records other scorers judged in the base; a tool that only one of the two has is not compared."""
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


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")


def _scoring(scoring: Scoring) -> str:
    positive = f", positive {scoring.positive}" if scoring.positive else ""
    return f"pass_score {float(scoring.pass_score):g}{positive}"


def warnings(against: Against) -> tuple[str, ...]:
    """What a reader must know of the two runs before any number: in what they are not alike."""
    problem = [f"base and head are not alike: {against.problem}"] if against.problem else []
    return (*problem, *_run_warnings(against.base, against.head), *_pair_warnings(against.pairs))


def _run_warnings(base: Kept, head: Kept) -> list[str]:
    told: list[str] = []
    for noun, before, after in (("judge", base.judges, head.judges), ("suite", base.suites, head.suites)):
        if bool(before) != bool(after):
            side = "base" if before else "head"
            told.append(f"which {noun} it was is known of the {side} only: {_names(before or after)}")
    if bool(base.scoring.judged_by) != bool(head.scoring.judged_by):
        side = "base" if base.scoring.judged_by else "head"
        judges = tuple(f"{tool}: {_names(names)}" for tool, names in base.scoring.judged_by or head.scoring.judged_by)
        told.append(f"who judged is known of the {side} only: {_names(judges)}")
    if base.suite and head.suite and base.suite.sha256 != head.suite.sha256:
        told.append(f"the suite {head.suite.file} is not what it was when the baseline was recorded")
    for name, about in (("base", base.about), ("head", head.about)):
        if about.forced:
            told.append(f"the {name} is a baseline that was recorded by force: {about.forced}")
    if base.about.agent_version and base.about.agent_version == head.about.agent_version:
        told.append(f"base and head are of the same agent version, {base.about.agent_version}")
    return told


def _pair_warnings(pairs: Pairs) -> list[str]:
    moved = tuple(
        before.id
        for before, after in zip(pairs.base, pairs.head, strict=True)
        if before.columns.get("category") != after.columns.get("category")
    )
    told = [f"{_count(len(moved))} of another category in the base: {_names(moved)}"] if moved else []
    for where, ids in (("base", pairs.only_in_base), ("head", pairs.only_in_head)):
        if ids:
            told.append(f"{_count(len(ids))} only in the {where}, and so not compared: {_names(ids)}")
    return told


def _count(number: int) -> str:
    return f"{number} scenario is" if number == 1 else f"{number} scenarios are"
