"""Judges scenarios by their earlier runs: whether they newly fail, or pass less and less often, and how many are flaky.

Flaky scenarios may be quarantined. A quarantine is for exceptions, so it may contain only a small share of the suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as count_from

from msgspec import Struct

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import certain_result
from highbar.language.digits import amount
from highbar.language.phrases import count, some
from highbar.model import DriftRule, Outcome, QuarantineRule, RuleResult
from highbar.model.quarantine import LARGEST_SHARE, most_of
from highbar.model.recall import Recalled
from highbar.statistics.drift import ALARM, decline
from highbar.statistics.new_failures import LEVEL, BeforeAndNow, chance_of_as_many, is_too_short, newly_failing

NOT_READ = Recalled(problem="it was not read")
_MOST = 9999.0


class Explained(Struct, frozen=True):
    """Scenarios that passed in the baseline and not now: those that newly fail, and those that chance explains.

    `in_words` describes those that chance explains; `too_many` if it explains each of them, but not so many at once.
    `unsure` if the history is unreadable or damaged. `no_excuse` says why the history cannot excuse the failing ones:
    it is too short, or nobody knows of which agent it is.
    """

    failing: tuple[str, ...]
    chance: tuple[str, ...] = ()
    in_words: str = ""
    too_many: bool = False
    no_excuse: str = ""
    unsure: bool = False


def explain_failures(
    matched: Sequence[str], broken: Sequence[str], recalled: Recalled, *, is_baseline: bool = False
) -> Explained:
    """Test each broken scenario against its history, and the number of them; with too short a history it newly fails.

    `matched` are all scenarios that could newly fail: the more there are, the stronger the evidence on each must be.
    `is_baseline`: the history is the baseline itself.
    """
    if not broken:
        return Explained(())
    if recalled.problem is not None:
        in_words = f"{_say_broken(broken)}, and the history cannot be read: {recalled.problem}"
        return Explained((), tuple(broken), in_words, unsure=True)
    pooled = [recalled.pooled(id_) for id_ in matched]
    now = [recalled.now.get(id_) if id_ in broken else None for id_ in matched]
    # Scenarios that the rule is not about help to estimate how flaky the suite is.
    others = [recalled.pooled(id_) for id_ in sorted(recalled.scenarios.difference(matched))]
    fails = {id_: fails for id_, (fails, _) in zip(matched, newly_failing(pooled, now, others), strict=True)}
    failing = tuple(id_ for id_ in broken if id_ not in recalled.now or fails[id_])
    chance = tuple(id_ for id_ in broken if id_ not in failing)
    seen = [_seen(id_, recalled, is_baseline=is_baseline) for id_ in matched if id_ in recalled.now]
    too_many = bool(chance) and chance_of_as_many(seen) <= LEVEL
    verdict = (
        "too many at once for chance, although earlier runs excuse each of them"
        if too_many
        else "which their earlier runs do not rule out"
    )
    in_words = f"{_say_broken([_with_history(id_, recalled) for id_ in chance])}, {verdict}"
    if not recalled.is_agent_known:
        in_words += " (if they are of the same agent, which is not known)"
    if recalled.damaged:
        in_words += f"; but records of the history are damaged: {some(recalled.damaged)}"
    no_excuse = recalled.no_excuse or _say_too_short(failing, recalled)
    return Explained(failing, chance, in_words, too_many, no_excuse, unsure=bool(recalled.damaged))


def _seen(id_: str, recalled: Recalled, *, is_baseline: bool) -> BeforeAndNow:
    """The trials of a scenario without those that the rule has chosen it by: all of the baseline passed.

    Left in, they would make its failures look rarer than they are. The baseline is one of the runs in which all passed,
    if it is in the history at all; several pooled runs are the baseline of all that passed once.
    """
    passed, trials = recalled.pooled(id_)
    if is_baseline:
        return BeforeAndNow((passed, trials), recalled.now[id_], 1)
    clean = max((total for right, total in recalled.each(id_) if right == total), default=0)
    return BeforeAndNow((passed - clean, trials - clean), recalled.now[id_])


def _say_broken(ids: Sequence[str]) -> str:
    return f"{count(len(ids), 'scenario')} passed in the baseline and not now: {some(ids)}"


def _say_too_short(failing: Sequence[str], recalled: Recalled) -> str:
    """The scenarios whose earlier trials all passed, but are too few to excuse a failure; in words."""
    found = []
    for id_ in failing:
        (passed, before), (_, trials) = recalled.pooled(id_), recalled.now.get(id_, (0, 0))
        if passed == before and trials and is_too_short(before, trials):
            needed = next(number for number in count_from(before) if not is_too_short(number, trials))
            found.append(f"{id_} ({before} of at least {needed})")
    return f"too few earlier trials to excuse a failure: {some(found)}" if found else ""


def _with_history(id_: str, recalled: Recalled) -> str:
    passed, trials = recalled.pooled(id_)
    return f"{id_} ({passed} of {trials} before)"


def judge_drift(rule: DriftRule, recalled: Recalled) -> RuleResult:
    """Whether scenarios pass less and less often. Unreadable records may hide that, so the rule does not pass then."""
    outcome, reason = _drift(rule, recalled)
    return certain_result(rule, outcome, reason)


def _drift(rule: DriftRule, recalled: Recalled) -> tuple[Outcome, str]:
    if recalled.problem is not None:
        return "inconclusive", f"the history in {rule.history} cannot be read: {recalled.problem}"
    runs = recalled.series
    known = sum(any(run.get(id_, (0, 0))[1] for run in recalled.runs) for id_ in recalled.decided)
    found = decline(runs)
    trend = f"{100 * found.slope:+.2f} points per run over {count(found.runs, 'run')}"
    shown = f"{trend}, drift score {min(found.evidence, _MOST):.3g} (alarm at {ALARM:g})"
    if found.is_alarm:
        return "fail", f"scenarios pass less and less often: {shown}"
    if recalled.damaged:
        return "inconclusive", f"no decline in what can be read, but records are damaged: {some(recalled.damaged)}"
    if recalled.maybe_missing:
        return (
            "inconclusive",
            f"no decline in what can be compared, but more may be hidden: {'; '.join(recalled.maybe_missing)}",
        )
    if found.back:
        runs_back = f"the last {count(found.back, 'run')}" if found.back > 1 else "this run"
        return "pass", f"there was a decline, but {runs_back} passed as often as before it: {shown}"
    if not known:
        return "pass", "no scenario has an earlier run with the same text, judge and scoring: nothing to compare"
    return "pass", f"no decline: {shown}"


# --- the size of the quarantine ----------------------------------------------------------------


def judge_quarantine(rule: QuarantineRule, evidence: Evidence) -> RuleResult:
    """Whether the quarantine is small enough."""
    ids, most = [one.id for one in evidence.quarantined], most_of(evidence.suite_size)
    bound = f"at most {most} may be, {amount(LARGEST_SHARE, 'ratio')} of {evidence.suite_size}"
    outcome: Outcome = "pass" if len(ids) <= most else "fail"
    found = f"{count(len(ids), 'scenario')} quarantined: {some(ids)}" if ids else "no scenario is quarantined"
    return certain_result(rule, outcome, f"{found}; {bound}")
