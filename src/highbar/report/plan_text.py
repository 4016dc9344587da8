"""A plan for a terminal: its assumptions, then a small table for each question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby

from msgspec.structs import replace

from highbar.language.digits import amount, show, show_threshold, threshold_bound
from highbar.language.phrases import count
from highbar.model import Where
from highbar.planning import EarlyChance, Joint, Plan, Reach, RuleNeed, RuleStanding
from highbar.report import PAGE, Display
from highbar.report.layout import paint, paragraph, text_table, title
from highbar.report.reruns import MOST_TO_SETTLE, chance_cell
from highbar.report.unseen import say_unseen
from highbar.report.visible import visible

_NONE = "-"
_TYPICAL = "no policy: planned for the typical thresholds"
_SUPPOSED_SIZE = (
    ". Without --scenarios, up to: the rule's horizon, or the policy's suite, or as many as it takes to pass an agent"
    " halfway to perfection"
)
_EXPLANATIONS = {
    "needs": (
        "at least: if every scenario is good; scenarios: if the true rate is halfway to perfection; together: so that"
        " all blocking rules pass at once, even if they vary independently"
    ),
    "settled": (
        "settled by: a new run of about so many scenarios, if the value stays; adding scenarios to this run and looking"
        " again would pass too often"
    ),
    "unknown": (
        "the value is on the threshold, or so few trials have no bound on its side: `highbar plan` without results says"
        " how many scenarios a rule needs at least"
    ),
    "clear": (
        "the interval lies on one side of the threshold; differs: the chance that a re-run of the same scenarios is"
        " still judged differently"
    ),
    "passes": (
        "passes: an agent with this true rate or a better one will likely pass; fails: one with this rate or a worse"
        " one will likely fail"
    ),
    "best": "; best near: the nearest size at which one more failure is allowed, which has the most power",
    "early": (
        "in parentheses: if all scenarios are run and judged once; scenarios: until it is decided, on average; as"
        " good as: the smallest suite that, judged once, has the same chance of the right verdict"
    ),
    "differing": "differing: the share of scenarios that one version passes and the other fails",
}


def render(plan: Plan, display: Display = PAGE) -> str:
    """The whole plan, wrapped to the display's width."""
    lines = [
        _assumption_line(plan),
        *paragraph(say_unseen(plan.unseen), 0, display),
        *_sizes(plan, display),
        *_reaches(plan, display),
        *_chances(plan, display),
        *_early(plan, display),
        *_differences(plan, display),
        *_needs(plan, display),
        *_standings(plan, display),
        *_repeats(plan, display),
    ]
    return "\n".join(lines) + "\n"


def _assumption_line(plan: Plan) -> str:
    assumed = plan.assumptions
    parts = [f"confidence {_percent(assumed.confidence)}"]
    if not plan.early:
        parts.append(f"chance of a clear verdict {_percent(assumed.power)}")
    if assumed.trials > 1:
        parts.append(f"{assumed.trials} trials per scenario, correlation {float(assumed.correlation):g}")
    if plan.early:
        parts.append(" and ".join(f"{kind} spending" for kind in dict.fromkeys(row.spending for row in plan.early)))
    if plan.rules or plan.trials is not None or any(row.rule for row in plan.early):
        parts.append(_TYPICAL if plan.policy is None else f"policy {visible(plan.policy)}")
    return ", ".join(parts)


# --- plain numbers ---------------------------------------------------------------------------


def _sizes(plan: Plan, display: Display) -> list[str]:
    if not plan.supposed:
        return []
    repeated = plan.assumptions.trials > 1
    rows = [
        (
            f"≥ {_percent(row.threshold)}",
            _percent(row.rate),
            row.outcome,
            _count(row.scenarios),
            *([_count(row.runs)] if repeated else []),
        )
        for row in plan.supposed
    ]
    header = ("wanted", "true rate", "verdict", "scenarios", *(["runs"] if repeated else []))
    return _section("Scenarios needed", header, rows, display)


def _reaches(plan: Plan, display: Display) -> list[str]:
    if not plan.reaches:
        return []
    counted = plan.assumptions.trials == 1
    rows = [
        (f"≥ {_percent(row.threshold)}", *_rates(row), *((*_limits(row), _count(row.best)) if counted else ()))
        for row in plan.reaches
    ]
    header = ("wanted", "passes", "fails", *(("to pass", "to fail", "best near") if counted else ()))
    heading = f"What {count(plan.reaches[0].scenarios, 'scenario')} can show"
    explanation = _EXPLANATIONS["passes"] + (_EXPLANATIONS["best"] if counted else "")
    return _section(heading, header, rows, display, explanation)


def _rates(row: Reach) -> tuple[str, str]:
    return (
        _NONE if row.rate_to_pass is None else f"≥ {_rate(row.rate_to_pass)}",
        _NONE if row.rate_to_fail is None else f"≤ {_rate(row.rate_to_fail)}",
    )


def _limits(row: Reach) -> tuple[str, str]:
    return (
        _NONE if row.passes_from is None else f"{row.passes_from} to {row.scenarios} pass",
        _NONE if row.fails_to is None else f"0 to {row.fails_to} pass",
    )


def _chances(plan: Plan, display: Display) -> list[str]:
    if not plan.chances:
        return []
    rows = [
        (
            f"≥ {_percent(row.threshold)}",
            _percent(row.rate),
            *(_likely(share) for share in (row.passes, row.inconclusive, row.fails)),
        )
        for row in plan.chances
    ]
    heading = f"How {count(plan.chances[0].scenarios, 'scenario')} would be judged"
    return _section(heading, ("wanted", "true rate", "pass", "inconclusive", "fail"), rows, display)


def _early(plan: Plan, display: Display) -> list[str]:
    """The chances of runs that stop as soon as they are decided, compared with the same suites judged once."""
    lines: list[str] = []
    for _, listed in groupby(plan.early, key=lambda row: (row.rule, row.threshold)):
        rows = list(listed)
        name = "Stopped as soon as it is decided" if rows[0].rule is None else visible(rows[0].rule)
        lines += _section(
            f"{name}: {_percent(rows[0].threshold)} of up to {count(rows[0].scenarios, 'scenario')}",
            ("true rate", "pass", "inconclusive", "fail", "scenarios", "as good as"),
            [_early_cells(row) for row in rows],
            display,
            ""
            if lines
            else _EXPLANATIONS["early"] + ("" if plan.scenarios or rows[0].rule is None else _SUPPOSED_SIZE),
        )
    return lines + _early_joint(plan, display)


def _early_cells(row: EarlyChance) -> tuple[str, ...]:
    fixed = row.fixed
    pairs = ((row.passes, fixed.passes), (row.inconclusive, fixed.inconclusive), (row.fails, fixed.fails))
    return (
        _percent(row.rate),
        *(f"{_short_percent(early)} ({_short_percent(once)})" for early, once in pairs),
        f"{row.expected:.0f} of {row.scenarios}",
        _count(row.equal),
    )


def _short_percent(share: float) -> str:
    return _likely(share).replace("under ", "<").replace("over ", ">")


def _early_joint(plan: Plan, display: Display) -> list[str]:
    if plan.early_joint is None or plan.joint is None:
        return []
    early, once = _chance_words(plan.early_joint), _chance_words(plan.joint)
    sentence = (
        f"All {plan.joint.rules} blocking rules at once, for an agent halfway to perfection: {early} if the run stops"
        f" early, {once} if all scenarios are judged once."
    )
    return ["", *paragraph(sentence, 2, display)]


def _differences(plan: Plan, display: Display) -> list[str]:
    if not plan.differences:
        return []
    rows = [
        (_percent(row.differing), _NONE if row.difference is None else _points(row.difference), str(row.scenarios))
        for row in plan.differences
    ]
    heading = "Difference between two versions on the same scenarios"
    return _section(heading, ("differing", "shown from", "scenarios"), rows, display, _EXPLANATIONS["differing"])


# --- rules -----------------------------------------------------------------------------------


def _needs(plan: Plan, display: Display) -> list[str]:
    known = [row for row in plan.rules if row.fewest is not None]
    if plan.scenarios is None:
        header = ("", "wanted", "at least", "scenarios", "together", "halfway")
        rows = [
            (*_rule_cells(row), str(row.fewest), _count(row.scenarios), _count(row.together), _supposition(row))
            for row in known
        ]
        lines = _section("Scenarios that each rule needs", header, rows, display, _EXPLANATIONS["needs"])
    else:
        heading = f"What {count(plan.scenarios, 'scenario')} can show of each rule"
        sized = [(*_rule_cells(row), *_rates_of_rule(row)) for row in known]
        lines = _section(heading, ("", "wanted", "passes", "fails"), sized, display, _EXPLANATIONS["passes"])
    lines += _joint(plan, display)
    return lines + _unknown([row for row in plan.rules if row.fewest is None], display)


def _joint(plan: Plan, display: Display) -> list[str]:
    """A sentence on how likely all blocking rules pass at once; empty if the plan is about early stopping."""
    if plan.joint is None or plan.early:
        return []
    each = (
        f"on {count(plan.scenarios, 'scenario')} for each" if plan.scenarios else "with the scenarios that each needs"
    )
    chance_of_all = _chance_words(plan.joint)
    sentence = (
        f"All {plan.joint.rules} blocking rules at once, {each}: {chance_of_all} for an agent halfway to perfection."
    )
    return ["", *paragraph(sentence, 2, display)]


def _chance_words(joint: Joint) -> str:
    low, high = _likely(joint.low), _likely(joint.high)
    if low == high:
        return f"a chance of {low}"
    return f"a chance between {low} (independent) and {high} (moving together)"


def _supposition(row: RuleNeed) -> str:
    return _NONE if row.supposed is None else _percent(row.supposed)


def _rates_of_rule(row: RuleNeed) -> tuple[str, ...]:
    """The true rates from which an agent likely passes and fails, with signs for the metric's direction."""
    signs = ("≥", "≤") if row.better == "higher" else ("≤", "≥")
    rates = (row.rate_to_pass, row.rate_to_fail)
    return tuple(_NONE if rate is None else f"{sign} {_rate(rate)}" for sign, rate in zip(signs, rates, strict=True))


def _unknown(rows: Sequence[RuleNeed | RuleStanding], display: Display) -> list[str]:
    if not rows:
        return []
    lines = title("Rules without a number", display)
    for row in rows:
        lines += paragraph(f"{_name(row)}: {visible(row.reason or '')}", 2, display)
    return lines


def _standings(plan: Plan, display: Display) -> list[str]:
    rows = [row for row in plan.standings if row.value is not None and row.value.value is not None]
    if plan.trials is None:
        return []
    needing = [row for row in rows if not row.settled and row.more_scenarios is not None]
    unsettled = [row for row in rows if not row.settled and row.more_scenarios is None]
    lines = ["", _summary(plan)]
    lines += _section(
        "Rules that a larger run would settle",
        ("", "value", "wanted", "scenarios", "settled by"),
        [(*_standing_cells(row), _settled_by(row)) for row in needing],
        display,
        _EXPLANATIONS["settled"],
    )
    plain = ("", "value", "wanted", "scenarios")
    lines += _section(
        "Rules of which it is not known what would settle them",
        plain,
        map(_standing_cells, unsettled),
        display,
        _EXPLANATIONS["unknown"],
    )
    settled = [(*_standing_cells(row), chance_cell(row)) for row in rows if row.settled]
    lines += _section("Rules that are settled", (*plain, "differs"), settled, display, _EXPLANATIONS["clear"])
    return lines + _unknown([row for row in plan.standings if row not in rows], display)


def _settled_by(row: RuleStanding) -> str:
    """How many scenarios a new run needs to settle a rule: those of this run and `more_scenarios`."""
    size = (row.value.scenarios if row.value else 0) + (row.more_scenarios or 0)
    return "too close" if size > MOST_TO_SETTLE else f"{size} of the slice" if row.slice else str(size)


def _summary(plan: Plan) -> str:
    settled = sum(row.settled for row in plan.standings)
    counts = f"{count(plan.scenarios or 0, 'scenario')}, {plan.trials} trials"
    return f"{counts}: {settled} of {len(plan.standings)} rules about a number are settled"


def _standing_cells(row: RuleStanding) -> tuple[str, str, str, str]:
    name, bar = _rule_cells(row)
    value = row.value
    shown = _NONE if value is None else show(replace(value, low=None, high=None), _bounds(row))
    return name, shown, bar, _NONE if value is None else str(value.scenarios)


def _bounds(row: RuleStanding) -> tuple[Fraction, ...]:
    bound = threshold_bound(row.threshold or "")
    return () if bound is None else (bound,)


def _rule_cells(row: RuleNeed | RuleStanding) -> tuple[str, str]:
    unit = row.unit if isinstance(row, RuleNeed) else row.value.unit if row.value else None
    bar = show_threshold(row.threshold or "", unit)
    return _name(row), "" if bar is None else bar


def _name(row: RuleNeed | RuleStanding) -> str:
    """The rule's name; with its metric and slice if it is in the list `rules`, where the name is only a number."""
    if not row.rule.startswith("rules["):
        return visible(row.rule)
    return visible(f"{row.rule} {row.metric}") + _slice_words(row.slice)


def _slice_words(where: Where) -> str:
    parts = (f"{visible(column)} {' or '.join(visible(value) for value in values)}" for column, values in where)
    return f" ({', '.join(parts)})" if where else ""


# --- repeated trials -------------------------------------------------------------------------


def _repeats(plan: Plan, display: Display) -> list[str]:
    found = plan.repeats
    if found is None:
        return []
    explanation = (
        f"The variance of pass_rate is {found.between:.3g} between scenarios and {found.within:.3g} within one: trials "
        f"correlate by {found.correlation:.2f}, and {found.flaky} scenarios passed only sometimes. Endless trials of "
        f"the same scenarios would bring its lower bound {found.narrowest:.0%} nearer. As close are:"
    )
    rows = [("", str(one.trials), str(one.scenarios), str(one.runs)) for one in found.equal]
    return _section("What trials buy", ("", "trials each", "scenarios", "runs"), rows, display, explanation)


# --- words -----------------------------------------------------------------------------------


def _section(
    heading: str, header: Sequence[str], rows: Iterable[Sequence[str]], display: Display, explanation: str = ""
) -> list[str]:
    listed = list(rows)
    if not listed:
        return []
    explained = [paint(line, "dim", display) for line in paragraph(explanation, 2, display)]
    return [*title(heading, display), *explained, *text_table(header, listed, display)]


def _percent(share: Fraction) -> str:
    return amount(share, "ratio", (share,))


def _rate(share: float) -> str:
    return amount(Fraction(share), "ratio")


def _likely(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else "over 99%" if 0.995 < share < 1 else f"{share:.0%}"


def _points(share: float) -> str:
    return f"{share * 100:.1f} points"


def _count(number: int | None) -> str:
    return _NONE if number is None else str(number)
