"""The sentence of the verdict, which every report for human eyes starts with. Tallies only; it decides nothing."""

from __future__ import annotations

from highbar.model import Counts, RuleResult, Verdict

WORDS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}
NO_POLICY = "no policy: the guide's typical thresholds apply"
NO_VERDICT = "NO VERDICT: nothing could be judged"


def headline(verdict: Verdict) -> str:
    """`FAIL: 2 of 9 blocking rules did not pass, 1 warning`; holds no text from the results."""
    return f"{WORDS[verdict.verdict]}: {_summary(verdict)}"


def evidence(counts: Counts) -> str:
    """`50 scenarios, 150 trials, 4 scenarios failed, 1 trial ended in an error`; what there is none of is left out."""
    parts = [_count(counts.scenarios, "scenario"), _count(counts.trials, "trial")]
    if counts.failed:
        parts.append(f"{_count(counts.failed, 'scenario')} failed")
    if counts.errors:
        parts.append(_count(counts.errors, "error"))
    if counts.unjudged:
        parts.append(f"{_count(counts.unjudged, 'trial')} that nothing judges")
    return ", ".join(parts)


def not_passed(rules: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
    """The rules that did not pass, the blocking ones first; otherwise in the policy's order."""
    return tuple(sorted((rule for rule in rules if rule.outcome != "pass"), key=lambda rule: rule.level != "blocking"))


def warnings(verdict: Verdict) -> int:
    """How many warnings there are: the warning rules that did not pass, and what else the report warns of."""
    return sum(rule.outcome != "pass" for rule in verdict.rules if rule.level == "warning") + len(verdict.warnings)


def unsettled(rule: RuleResult) -> str:
    """How far the outcome of a fragile rule can be trusted, and about how many more scenarios would settle it."""
    differs = f"{chance(rule)} chance that a second run differs" if rule.second_run is not None else ""
    settled = f"+{rule.more_scenarios} scenarios settle it" if rule.more_scenarios is not None else ""
    told = "; ".join(part for part in (differs, settled) if part)
    return f"fragile: {told}" if told else ""


def chance(rule: RuleResult) -> str:
    """The chance that a second run of the same agent is judged differently, in whole percent."""
    percent = round((rule.second_run or 0.0) * 100)
    return f"{percent}%" if percent else "under 1%"


def more(total: int, shown: int) -> str:
    """`… and 12 more`, or nothing where all were shown."""
    return f"… and {total - shown} more" if total > shown else ""


def _summary(verdict: Verdict) -> str:
    blocking = [rule.outcome for rule in verdict.rules if rule.level == "blocking"]
    missed = sum(outcome != "pass" for outcome in blocking)
    warned = warnings(verdict)
    if missed:
        told = f"{missed} of {_count(len(blocking), 'blocking rule')} did not pass"
    else:
        told = f"{_count(len(blocking), 'blocking rule')} passed" if blocking else "no rule blocks"
    return f"{told}, {_count(warned, 'warning')}" if warned else told


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
