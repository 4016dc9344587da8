"""Law L3 on rows of ours: a value made worse lets no outcome rise, and a statement removed never makes a PASS.

(a) `WORSE` makes one value of one row worse. No rule's outcome may rise: pass > inconclusive > fail = undefined =
refused. (b) `removals` takes one statement from a row while another trial of the scenario, or the suite, still makes
it. What did not pass must not pass then. Every rule stands just beyond the value that its metric has at first, so that
the least improvement shows.

`EXCEPTIONS_WORSE` and `EXCEPTIONS_REMOVED` say what is let through, and why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import highbar
from tests.laws import breaks
from tests.oracle.judging import Judgment, judge, metric_names, settings_of, unit_and_direction
from tests.oracle.policies import settings_block, suite_of
from tests.oracle.scenarios import Scenario, scenarios_of
from tests.oracle.suites import rows_of
from tests.oracle.trials import Settings, Trial, forbidden_names, observed_names

Row = dict[str, Any]
RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0}

MOST_RULES = 12
# Formulas that do not fall when one of their parts gets worse: no law can hold for them.
UNORDERED = {"gap", "final_score"}


# --- (a) values made worse -----------------------------------------------------------------------


def lowered(column: str, least: float) -> Callable[[Row], Row | None]:
    """Halfway down to the least value."""
    return lambda row: {**row, column: (row[column] + least) / 2} if row.get(column) not in (None, least) else None


def raised(column: str, by: float) -> Callable[[Row], Row | None]:
    """More of what there should be less of."""
    return lambda row: {**row, column: row[column] + by} if row.get(column) is not None else None


def from_true(column: str) -> Callable[[Row], Row | None]:
    """A judgment turned around. Where there is none, it would be a new one, not a worse one."""
    return lambda row: {**row, column: False} if row.get(column) is True else None


def without_a_prediction(row: Row) -> Row | None:
    """No answer is a wrong one, but on an unjudged row it is an open one."""
    return None if row.get("unjudged") else breaks.without_a_prediction(row)


def with_a_wrong_outcome(row: Row) -> Row | None:
    """What was expected, not found; or found where it was not."""
    wrong = {"tp": "fn", "tn": "fp"}.get(row.get("outcome") or "")
    return {**row, "outcome": wrong} if wrong else None


def with_a_wrong_label(row: Row) -> Row | None:
    """Another label than the right one, which it was."""
    right = row.get("expected")
    if right is None or row.get("predicted") != right:
        return None
    return {**row, "predicted": not right if isinstance(right, bool) else "spam" if right != "spam" else "ham"}


WORSE: dict[str, Callable[[Row], Row | None]] = {
    "an error": breaks.with_an_error,
    "a violation": breaks.with_a_violation,
    "a must-not that happened": breaks.with_a_must_not_that_happened,
    "passed: false": from_true("passed"),
    "correct: false": from_true("correct"),
    "a behavior less": breaks.without_an_observed_behavior,
    "no prediction": without_a_prediction,
    "a wrong outcome": with_a_wrong_outcome,
    "a wrong label": with_a_wrong_label,
    "a higher latency": raised("latency_ms", 70_000),
    "more tokens": raised("tokens_used", 3000),
    "a higher cost": raised("cost_usd", 7),
    "a lower quality": lowered("quality_score", 0),
    "a lower rubric": lowered("rubric", 0),
    "fewer stars": lowered("stars", 1),
    "more doubt": lambda row: {**row, "doubt": 100} if row.get("doubt") not in (None, 100) else None,
}


@dataclass(frozen=True)
class Change:
    """One row changed: what was done, the row before and after, and its scenario as it was."""

    what: str
    before: Row
    after: Row
    scenario: Scenario
    settings: Settings

    @property
    def trial(self) -> Trial:
        """The row as it was, read by itself."""
        return Trial(self.before, self.settings)

    @property
    def trial_after(self) -> Trial:
        """The row as it is now."""
        return Trial(self.after, self.settings)


KNOWN_AT_ONCE = {"pass_rate", "safety_rate", "weighted_pass_rate", "pass_at_1", "pass_at_2", "pass_hat_2", "pass_hat_3"}
KNOWN_AT_ONCE |= {"error_rate", "failed_scenarios", "refusal_share", "core_passed", "twice"}
OF_ASKS = {"accuracy", "accuracy_de", "precision", "recall", "f1", "behavior_coverage", "behavior_coverage_pooled"}
OF_ASKS |= {"weighted_behavior_coverage", "weighted_score", "blend"}
"""The metrics over answers and behaviors."""
VIOLATIONS = ("a violation", "a must-not that happened")

EXCEPTIONS_WORSE: dict[str, Callable[[Change, str], bool]] = {
    # The specification: a blank trial is undecided for every rate that has data. Violations are a judgment: the row is
    # judged by them now, and what else it does not speak of is missing.
    "a violation is the first judgment of its row": lambda change, metric: (
        change.what in VIOLATIONS and change.trial.blank and metric not in KNOWN_AT_ONCE
    ),
    # The specification: "a row that lists none and is not blank is not violated", and one that crashed is not blank.
    "a crash that lists no must-nots violated nothing": lambda change, metric: (
        change.what == "an error" and change.trial.blank and metric in ("violation_rate", "harm_and_crash")
    ),
    # The specification: "a false positive that was recorded stays one, error or not"; no prediction is none.
    "no prediction takes back a false positive": lambda change, metric: (
        metric in ("precision", "f1") and breaks.takes_back_a_false_positive(change.before, change.after)
    ),
    # Two statements about one thing that do not agree: what is left is the other one.
    "no prediction takes back what contradicts the rest": lambda change, _: (
        change.what == "no prediction" and change.trial.contradicts and not change.trial_after.contradicts
    ),
    # A trial without an outcome may have been a false positive; one that crashed predicted nothing.
    "a crash is no false positive": lambda change, metric: (
        change.what == "an error"
        and metric in ("precision", "f1")
        and (change.trial.cells is None or change.trial.cells["false_positives"].undecided)
    ),
    # A sum of costs says nothing while some scenario has none; a crash counts at the limit, so that this one has.
    "a crash is the first cost of its scenario": lambda change, metric: (
        change.what == "an error"
        and metric in ("cost_per_pass", "cost_per_scenario")
        and not change.scenario.has_number("cost_usd")
    ),
    # A scenario without quality takes part only by what nobody judged; the tokens of its crash are one number more
    # in the mean of its trials.
    "a crash beside blank trials, where nobody measured quality": lambda change, metric: (
        change.what == "an error"
        and metric == "token_efficiency"
        and not all(change.scenario.has_number(column) for column in ("quality_score", "tokens_used"))
    ),
    # The specification: must-nots are looked at by `violations`, behaviors and answers by what says it.
    "what the suite demands was looked at": lambda change, metric: metric == "suite" and change.what != "an error",
    # The specification: a blank trial is undecided for every rate that has data; a crash leaves alone what its scenario
    # does not ask for.
    "a blank row of a scenario whose other rows show what it asks for": lambda change, metric: (
        change.what == "an error" and change.trial.blank and change.scenario.asks_are_known and metric in OF_ASKS
    ),
}


# --- (b) statements removed ----------------------------------------------------------------------

STATEMENTS = (
    *("passed", "correct", "outcome", "expected", "behaviors", "expected_behaviors", "must_not", "violations"),
    *("latency_ms", "tokens_used", "cost_usd", "quality_score", "rubric", "stars", "doubt"),
    *("category", "capability", "weight", "tags", "team"),
)
LOOKED_AT_BY = {
    "expected_behaviors": ("expected_behaviors", "behaviors"),
    "must_not": ("must_not", "violations", "behaviors"),
    "expected": ("expected", "correct"),
    "answer": ("correct",),
}
"""By what the suite demands, the columns of a row that it still asks for when they are gone."""


def still_declared(change: Change) -> bool:
    """Whether another trial of the scenario, or the suite, has what was taken away."""
    others = (trial.row for trial in change.scenario.trials if trial.row is not change.before)
    demanded = {column for demand in change.scenario.demands for column in LOOKED_AT_BY.get(demand, ())}
    return change.what in demanded or any(row.get(change.what) not in (None, [], {}) for row in others)


def answers(change: Change) -> bool:
    """Whether the row says twice whether it is right."""
    return change.what in ("correct", "outcome", "expected") and change.trial_after.correct is not None


def contradicts(change: Change) -> bool:
    """Whether the row saw what the suite forbids, or lists less than it."""
    demands, row = change.scenario.demands, change.before
    lists_less = any(
        not forbidden_names(demands.get(name)) <= forbidden_names(row[name])
        for name in ("expected_behaviors", "must_not")
        if row.get(name) is not None
    )
    return lists_less or bool(observed_names(row.get("behaviors")) & forbidden_names(demands.get("must_not")))


POOLED = ("behavior_coverage_pooled", "behavior_coverage", "blend")
"""Metrics that count behaviors one by one; the latter two do if the policy says so."""

EXCEPTIONS_REMOVED: dict[str, Callable[[Change, str], bool]] = {
    # The specification: an own `passed: true` stands beside demands that nobody looked at.
    "the caller says that it passed": lambda change, _: (
        change.what in ("must_not", "behaviors", "violations") and change.before.get("passed") is True
    ),
    # Two statements about one thing that do not agree: what is left is the other one.
    "the row answers twice": lambda change, _: answers(change),
    "the row says twice what happened": lambda change, _: (
        change.what in ("violations", "must_not", "behaviors")
        and change.trial.violated
        and (change.trial_after.violated or change.trial_after.must_not_known)
    ),
    # A limit says how bad the worst is. One that a removed value was beyond said something wrong.
    "the value was beyond the limit": lambda change, _: (
        change.what in change.settings.limits
        and (change.trial.number(change.what) or 0) > change.settings.limits[change.what]
    ),
    # The specification: an unchecked must-not is undecided for passing and violation_rate, not for behavior_coverage.
    "an unchecked must-not": lambda change, metric: (
        change.what in ("must_not", "violations") and metric in ("behavior_coverage", "weighted_behavior_coverage")
    ),
    # How many behaviors the row expected is gone with its list; the most that another trial expects stand for it.
    "another trial expects fewer behaviors": lambda change, metric: (
        change.what == "expected_behaviors"
        and metric in POOLED
        and len(change.trial.expected_behaviors) == change.scenario.most_expected
    ),
    # The row says something else than the suite, and so `suite` fails; what is left of the row agrees with it.
    "the row contradicted the suite": lambda change, metric: metric == "suite" and contradicts(change),
}


def removals(rows: Sequence[Row], random: Random) -> Iterator[tuple[int, str, Row]]:
    """(place, column, row without it): set to null, or left out."""
    for at, row in enumerate(rows):
        for column in STATEMENTS:
            if row.get(column) is not None:
                without = {name: value for name, value in row.items() if name != column}
                yield at, column, without | random.choice(({column: None}, {}))


# --- one attempt ---------------------------------------------------------------------------------


def rules_beyond(judged: Judgment, policy: Row) -> list[Row]:
    """For each metric, a rule that its value just misses, and one that its best value just misses."""
    rules: list[Row] = []
    settings = judged.whole.settings
    for name in metric_names(policy, settings):
        unit, lower = unit_and_direction(name, settings)
        answer = judged.whole.answer(name)
        bounds = [beyond(number, unit, lower=lower) for number in dict.fromkeys((answer.value, answer.best))]
        rules += [{"metric": name, "threshold": bound} for bound in bounds if bound and name not in UNORDERED]
    return rules


def beyond(value: Fraction | None, unit: str, *, lower: bool) -> str | None:
    """A bound that the value just misses; for no value the loosest one; None if no bound is beyond it."""
    if value is None:
        return {"ratio": "≤ 100%", "ms": "≤ 1000000s"}.get(unit, "≤ 1000000") if lower else None
    millionths = -(-value * 10**6 // 1) - 1 if lower else value * 10**6 // 1 + 1
    if millionths < 0 or (unit == "ratio" and millionths > 10**6):
        return None
    number = Fraction(millionths, 10**6) * (100 if unit == "ratio" else 1)
    return f"{'≤' if lower else '≥'} {float(number):.6f}{ {'ratio': '%', 'ms': 'ms'}.get(unit, '') }"


Outcomes = dict[str, tuple[str, int]]
"""By rule, what it is about (its metric, else its own name) and the rank of its outcome."""


def by_product(rows: Sequence[Row], policy: Row, suite: Path | None) -> Outcomes | None:
    """What Highbar makes of them; None if nothing could be judged."""
    try:
        verdict = highbar.check(list(rows), policy | ({"suite": str(suite)} if suite else {}))
    except highbar.InputError:
        return None
    return {rule.rule: (rule.metric or rule.rule, RANK[rule.outcome]) for rule in verdict.rules}


def by_oracle(rows: Sequence[Row], policy: Row, suite: Path | None) -> Outcomes | None:
    """What the specification makes of them: a hundred times faster, to search it for what breaks the law."""
    judged = judge(rows, policy, json.loads(suite.read_text("utf-8")) if suite else None)
    return {name: (rule.metric or name, RANK[rule.outcome]) for name, rule in judged.rules.items()}


Judge = Callable[[Sequence[Row], Row, Path | None], Outcomes | None]


@dataclass(frozen=True)
class Case:
    """Rows, what the suite says, and a policy that they miss by little in every metric."""

    rows: Sequence[Row]
    suite: Sequence[Any] | None
    suite_file: Path | None
    policy: Row
    settings: Settings
    judge: Judge
    outcomes: Outcomes

    def change(self, what: str, at: int, after: Row) -> Change:
        """One row changed."""
        scenarios = {one.id: one for one in scenarios_of(self.rows, self.settings, self.suite)}
        return Change(what, self.rows[at], after, scenarios[self.rows[at]["id"]], self.settings)

    def compared(self, change: Change) -> Iterator[tuple[str, int, int]]:
        """What each rule is about, and its rank before and after; what is refused passes nothing."""
        rows = [change.after if row is change.before else row for row in self.rows]
        found = self.judge(rows, self.policy, self.suite_file)
        for rule, (about, old) in self.outcomes.items():
            yield about, old, 0 if found is None else found[rule][1]


def case_of(random: Random, folder: Path, judged_by: Judge = by_product) -> Case | None:
    """A generated case; None if nothing in it can be judged."""
    rows = rows_of(random, scenarios=3)
    suite = suite_of(random, rows)
    policy = {name: value for name, value in settings_block(random, rows).items() if name != "composite"}
    file = folder / "suite.json" if suite is not None else None
    if file is not None:
        file.write_text(json.dumps(suite), "utf-8")
    rules = rules_beyond(judge(rows, policy, suite), policy)
    policy["rules"] = random.sample(rules, min(MOST_RULES, len(rules)))
    before = judged_by(rows, policy, file)
    settings = settings_of(rows, policy)
    return None if before is None else Case(rows, suite, file, policy, settings, judged_by, before)


def described(case: Case, change: Change, metric: str) -> str:
    """What broke the law, so that it can be shown again."""
    lines = [f"{metric}: {change.what}: {change.before} became {change.after}", *map(repr, case.rows)]
    return "\n".join([*lines, json.dumps(case.policy, ensure_ascii=False), repr(case.suite)])


def made_worse(case: Case, random: Random, most: int) -> int:
    """Law (a) on some rows of a case; gives how many changes were tried."""
    changes = [
        case.change(what, at, after)
        for at, row in enumerate(case.rows)
        for what, worse in WORSE.items()
        if (after := worse(row)) is not None
    ]
    chosen = random.sample(changes, min(most, len(changes)))
    for change in chosen:
        for metric, old, new in case.compared(change):
            excused = any(exception(change, metric) for exception in EXCEPTIONS_WORSE.values())
            assert new <= old or excused, described(case, change, metric)
    return len(chosen)


def statements_removed(case: Case, random: Random, most: int) -> int:
    """Law (b) on some rows of a case; gives how many changes were tried."""
    changes = [case.change(column, at, after) for at, column, after in removals(case.rows, random)]
    declared = [change for change in changes if still_declared(change)]
    chosen = random.sample(declared, min(most, len(declared)))
    for change in chosen:
        for metric, old, new in case.compared(change):
            excused = any(exception(change, metric) for exception in EXCEPTIONS_REMOVED.values())
            assert old == RANK["pass"] or new < RANK["pass"] or excused, described(case, change, metric)
    return len(chosen)


def attempt(seed: int, folder: Path, most: int = 5, judged_by: Judge = by_product) -> str:
    """One case from a seed: some values made worse, some statements removed."""
    random = Random(seed)
    case = case_of(random, folder, judged_by)
    if case is None:
        return "nothing to judge"
    tried = made_worse(case, random, most), statements_removed(case, random, most)
    return "tried" if any(tried) else "nothing to change"
