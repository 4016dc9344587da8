"""Makes the Request to the engine, from a policy, the columns of the results and what the caller wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import get_args

from msgspec.structs import replace

from highbar import catalogue
from highbar import policy as policies
from highbar.columns import EXTRA
from highbar.language.formula import relations
from highbar.measure.parts import (
    columns_of,
    counts_scenarios,
    is_share,
    is_weighted,
    measures_of,
    of_metric,
    parts_of,
    parts_without_worse_end,
    per_scenario,
    unweighted,
)
from highbar.measure.parts import ratios as ratios_of
from highbar.model import (
    BaselineRule,
    Better,
    Binary,
    Call,
    ConditionRule,
    DriftRule,
    Expression,
    JudgeRule,
    Metric,
    Name,
    NewFailuresRule,
    Percentile,
    Policy,
    ProgressiveRule,
    QuarantineRule,
    Ratio,
    Rule,
    ScenarioRule,
    StepRule,
    SuiteRule,
    Term,
    ThresholdRule,
    Undecided,
    Where,
)
from highbar.model.job import NOTHING_MORE, Wants
from highbar.model.requests import ColumnRange, PlannedTrials, Request
from highbar.model.rules import demands_of
from highbar.policy.directions import ends_by_column
from highbar.policy.metrics import measures_in

MOST_SCENARIOS = 100_000
"""The most scenarios that a verdict lists if a report wants them all: about what a page or a CI system can show."""
MOST_DETAILS = 10_000
"""The most failed scenarios of which the details of a verdict list the trials."""


OF_EVERY_TRIAL = frozenset({"passed", "error", "violated"})
"""The columns that always have a value."""
PASSED: tuple[tuple[str, Where], ...] = (("passed", ()),)


def needs(policy: Policy, columns: Iterable[str] = (), wants: Wants = NOTHING_MORE) -> Request:
    """The request with all that is needed to judge the policy and to make the reports that the caller wants."""
    slices = tuple(dict.fromkeys((*policy.slices, *wants.slices)))
    patterns = {
        level: tuple(r.pattern for r in policy.rules if isinstance(r, ScenarioRule) and r.level == level)
        for level in ("blocking", "warning")
    }
    request = replace(
        sums_needed(policy),
        ranges=column_ranges(policy),
        ends=ends_by_column(policy),
        undecided=tuple(dict.fromkeys(undecided_of(rule, policy) for rule in policy.rules)),
        alpha=float(1 - policy.confidence),
        trial_noise=policy.population == "suite",
        count_failures=any(demand.failures for rule in policy.rules for demand in demands_of(rule)),
        slices=slices or (("category",) if "category" in {*columns, *_suite_columns(policy)} else ()),
        positive=policy.positive,
        pass_score=policy.pass_score,
        weights=policy.weights,
        required=patterns["blocking"],
        optional=patterns["warning"],
        suite=policy.suite,
        select=policy.select,
        subset=wants.subset,
        within_suite=wants.within_suite and policy.suite is not None,
        scenario_limit=MOST_SCENARIOS if wants.scenarios else 0,
        trials_of=wants.trials_of,
        record_by=policies.chosen_by(policy) if wants.run or _needs_records(policy) else None,
        record_texts=wants.texts,
        planned=planned_trials(policy, wants.planned),
        first_trials=any(map(may_be_tried_again, policy.rules)),
    )
    if request.record_by is None and any(map(is_weighted, request.ratios)) and _has_confident_rule(policy):
        request = replace(
            request, record_by=policies.chosen_by(policy)
        )  # for the weights that there are, and how many scenarios have each
    return replace(request, details=True, failed_limit=MOST_DETAILS) if wants.details else request


def _has_confident_rule(policy: Policy) -> bool:
    return any(demand.is_confident for rule in policy.rules for demand in demands_of(rule))


def planned_trials(policy: Policy, before: Mapping[str, int]) -> PlannedTrials | None:
    """How many trials there were to be, by the policy, its suite and the run `before`; None if nothing says it."""
    if policy.trials == "as_recorded":
        return None
    of = dict(before)
    if policy.trials is None and policy.suite is not None:
        of |= {id_: max(number, of.get(id_, 0)) for id_, number in policy.suite.trials.items()}
    return PlannedTrials(policy.trials or 0, of) if policy.trials or of else None


def may_be_tried_again(rule: Rule) -> bool:
    """Whether a rule must be sure of the agent, which trials that were repeated until they passed do not allow."""
    if not isinstance(rule, ThresholdRule | ConditionRule | ProgressiveRule):
        return False
    return any(demand.is_confident and not demand.is_sequential for demand in demands_of(rule))


def undecided_of(rule: Rule, policy: Policy) -> Undecided:
    """The undecided trials that the outcome of a rule depends on."""
    match rule:
        case ThresholdRule() | BaselineRule() | StepRule() | ProgressiveRule() | ConditionRule():
            return Undecided(tuple(dict.fromkeys(columns_of(leaves_of(rule, policy)))))
        case ScenarioRule():
            return Undecided(PASSED, rule.pattern)
        case NewFailuresRule():
            return Undecided(PASSED)
        case SuiteRule():
            return Undecided((("unjudged", ()),))
        case JudgeRule() | QuarantineRule() | DriftRule():
            return Undecided(())  # these are about the judge, the policy, and decided trials


def leaves_of(rule: Rule, policy: Policy) -> Iterator[tuple[Name | Call, Where]]:
    """The measures that a rule about metrics comes down to; none for any other rule."""
    match rule:
        case ThresholdRule() | BaselineRule() | StepRule() | ProgressiveRule():
            where = () if isinstance(rule, ProgressiveRule) else rule.where
            yield from measures_of(policy, policy.metrics[rule.metric], where)
        case ConditionRule():
            yield from measures_in(rule.condition, policy.metrics)


_SHARE = (Fraction(0), Fraction(1))


def declared_range(metric: Metric) -> tuple[Fraction, Fraction] | None:
    """The ends of a metric's range: the declared one, or 0 to 1 for a ratio; else None."""
    return metric.range or (_SHARE if metric.unit == "ratio" else None)


def column_ranges(policy: Policy) -> tuple[ColumnRange, ...]:
    """The range for each single value of a column. The mean is not enough: that of one 95 and many zeros is below 1."""
    found: dict[ColumnRange, None] = {}
    for metric in policy.metrics.values():
        ends = declared_range(metric)
        match metric.expression:
            case Call("mean" | "percentile", (Name(column), *_)) if ends and _is_number(column):
                found[ColumnRange(column, *ends, metric.where)] = None
    return tuple(found)


def _is_number(column: str) -> bool:
    """Whether the rows themselves have a number in the column."""
    counted = column in catalogue.SUMMED_COLUMNS - catalogue.RANKED_COLUMNS
    return not counted and not catalogue.is_repeated(column)


def _needs_records(policy: Policy) -> bool:
    """Whether a rule needs the record of every scenario."""
    return bool(policy.comparing) or policy.quarantine is not None or policy.recalls is not None


def _suite_columns(policy: Policy) -> set[str]:
    """The columns that the suite has for its scenarios."""
    return {column for fields in (policy.suite.scenarios.values() if policy.suite else ()) for column in fields}


def own_columns(policy: Policy) -> Iterator[str]:
    """The columns of the user's own that the metrics of a policy sum."""
    return (term.column.removeprefix(EXTRA) for term in sums_needed(policy).terms if term.column.startswith(EXTRA))


def sums_needed(policy: Policy) -> Request:
    """The request for the sums of every metric of the policy, over all scenarios and over those that rules select."""
    found: dict[Term | Percentile, None] = {}
    ratios: dict[Ratio, None] = {}
    crosses: dict[tuple[Ratio, Ratio], None] = {}
    named: list[tuple[str, Where]] = [
        *((name, ()) for name in policy.metrics),
        *((r.metric, r.where) for r in policy.rules if isinstance(r, ThresholdRule | StepRule) and r.where),
    ]
    for name, where in named:
        for leaf, narrowed in measures_of(policy, policy.metrics[name], where):
            wanted = catalogue.terms(leaf, narrowed)
            found.update(dict.fromkeys(wanted if isinstance(wanted, tuple) else (wanted,)))
            # The number of all these scenarios, to tell how many have no value.
            found[Term("scenario", where=where_of(wanted))] = None
        # Whether a trial crashed decides whether such a formula is defined.
        found.update(
            (Term("error", where=part.where), None)
            for part in parts_without_worse_end(policy, policy.metrics[name], where)
        )
    found.update(dict.fromkeys(_terms_of_absence(policy)))
    formulas = [of_metric(policy, policy.metrics[name], where) for name, where in named]
    for sides in _compared_sides(policy):
        formulas.append(of_metric(policy, difference(*sides)))
        for better in get_args(Better):
            found.update(
                (Term("error", where=p.where), None)
                for p in parts_without_worse_end(policy, difference(*sides, better))
            )
    for tree in formulas:
        ratios.update(dict.fromkeys(ratios_of(tree)))
        parts = [part for part in parts_of(tree) if isinstance(part, Ratio)]
        crosses.update(dict.fromkeys((a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]))
    thirds = tuple(ratio for ratio in ratios if not is_share(ratio) and ratio.z != ratio.d)
    for ratio in tuple(ratios):
        if is_weighted(ratio):  # beside it, a doubt needs the plain ratio to see whether the weights matter
            ratios[unweighted(ratio)] = None
    for ratio in thirds:
        # If both sums have limits, the bounds need the means of both per scenario, and their cross products.
        if not all(counts_scenarios(term) for term, _ in ratio.d):
            means = per_scenario(ratio)
            ratios.update(dict.fromkeys(means))
            crosses[means] = None
    found.update(dict.fromkeys(term for ratio in ratios for term, _ in (*ratio.z, *ratio.d)))
    # Dict keys remove duplicates in order: many metrics share sums, and each sum is one column of SQL.
    terms = tuple(term for term in found if isinstance(term, Term))
    percentiles = tuple(wanted for wanted in found if isinstance(wanted, Percentile))
    return Request(terms=terms, percentiles=percentiles, ratios=tuple(ratios), crosses=tuple(crosses), thirds=thirds)


def _terms_of_absence(policy: Policy) -> Iterator[Term]:
    """Whether what has no value has none because nobody answered, or because a trial crashed."""
    for rule in policy.rules:
        for column, where in columns_of(leaves_of(rule, policy)):
            if column not in OF_EVERY_TRIAL:
                yield Term("unjudged", where=where)
                yield Term("error", where=where)


def difference(left: Expression, right: Expression, better: Better = "higher") -> Metric:
    """One expression minus another, as a metric that the policy does not have."""
    return Metric("difference", "", Binary("-", left, right), "number", better)


def _compared_sides(policy: Policy) -> Iterator[tuple[Expression, Expression]]:
    """The two sides of each comparison in the policy's conditions."""
    for rule in policy.rules:
        if isinstance(rule, ConditionRule):
            yield from ((relation.left, relation.right) for relation in relations(rule.condition))


def where_of(wanted: tuple[Term, ...] | Percentile) -> Where:
    """The filter on scenarios of some terms, or of a percentile."""
    return wanted.where if isinstance(wanted, Percentile) else wanted[0].where
