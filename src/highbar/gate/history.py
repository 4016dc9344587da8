"""Rules that need memory: whether scenarios newly fail or pass less and less often, by their earlier runs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from highbar.gate.outlook import certain
from highbar.language.phrases import count, some
from highbar.model import DriftRule, Outcome, RuleResult
from highbar.model.recall import Recalled
from highbar.statistics.drift import ALARM, decline
from highbar.statistics.new_failures import newly_failing

NOT_READ = Recalled(problem="it was not read")
_MOST = 9999.0


class Explained(Struct, frozen=True):
    """Scenarios that passed in the baseline and not now: those that newly fail, and those that chance explains.

    `unsure` says why nothing is known about those that chance may explain; `said` is all of that in words.
    """

    failing: tuple[str, ...]
    chance: tuple[str, ...] = ()
    said: str = ""
    unsure: bool = False


def explain(matched: Sequence[str], broken: Sequence[str], recalled: Recalled) -> Explained:
    """Test each broken scenario against its history; one without any newly fails, as without a history.

    `matched` are all scenarios that could have been found: the more there are, the surer each must be.
    """
    if not broken:
        return Explained(())
    if recalled.problem is not None:
        said = f"{_broken(broken)}, and the history cannot be read: {recalled.problem}"
        return Explained((), tuple(broken), said, unsure=True)
    pooled = [recalled.pooled(id_) for id_ in matched]
    now = [recalled.now.get(id_) if id_ in broken else None for id_ in matched]
    fails = {id_: fails for id_, (fails, _) in zip(matched, newly_failing(pooled, now), strict=True)}
    known = {id_ for id_, (_, trials) in zip(matched, pooled, strict=True) if trials and id_ in recalled.now}
    failing = tuple(id_ for id_ in broken if id_ not in known or fails[id_])
    chance = tuple(id_ for id_ in broken if id_ not in failing)
    said = f"{_broken([_with_history(id_, recalled) for id_ in chance])}, which their earlier runs do not rule out"
    if not recalled.is_agent_known:
        said += " (if they are of the same agent, which is not known)"
    if recalled.damaged:
        said += f"; but records of the history are damaged: {some(recalled.damaged)}"
    return Explained(failing, chance, said, unsure=bool(recalled.damaged))


def _broken(ids: Sequence[str]) -> str:
    return f"{count(len(ids), 'scenario')} passed in the baseline and not now: {some(ids)}"


def _with_history(id_: str, recalled: Recalled) -> str:
    passed, trials = recalled.pooled(id_)
    return f"{id_} ({passed} of {trials} before)"


def judge_drift(rule: DriftRule, recalled: Recalled) -> RuleResult:
    """Whether scenarios pass less and less often. What cannot be read may hide that, so it is no pass."""
    outcome, reason = _drift(rule, recalled)
    return RuleResult(
        rule.name,
        rule.level,
        outcome,
        reason,
        description=rule.description,
        place=rule.place,
        outlooks=certain(outcome),
    )


def _drift(rule: DriftRule, recalled: Recalled) -> tuple[Outcome, str]:
    if recalled.problem is not None:
        return "inconclusive", f"the history in {rule.history} cannot be read: {recalled.problem}"
    runs = recalled.series
    known = sum(any(run.get(id_, (0, 0))[1] for run in recalled.runs) for id_ in recalled.decided)
    found = decline(runs)
    trend = f"{100 * found.slope:+.2f} points per run over {count(found.runs, 'run')}"
    shown = f"{trend}, evidence {min(found.evidence, _MOST):.3g} (alarm at {ALARM:g})"
    if found.is_alarm:
        return "fail", f"scenarios pass less and less often: {shown}"
    if recalled.damaged:
        return "inconclusive", f"no decline in what can be read, but records are damaged: {some(recalled.damaged)}"
    if recalled.lacking:
        return (
            "inconclusive",
            f"no decline in what can be compared, but more may be hidden: {'; '.join(recalled.lacking)}",
        )
    if not known:
        return "pass", "no scenario has an earlier run with the same text, judge and scoring: nothing to compare"
    return "pass", f"no decline: {shown}"
