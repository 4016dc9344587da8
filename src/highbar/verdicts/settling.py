"""Plans what would settle each rule of a verdict."""

from __future__ import annotations

from highbar.errors import InputError
from highbar.load.run_folders import not_whole, stopped_early
from highbar.model import Verdict
from highbar.planning import Plan, plan_verdict


def plan_from(verdict: Verdict) -> Plan:
    """The plan to settle each rule. Raises InputError if scenarios that were not run would count as failed."""
    folder = stopped_early(source.file for source in verdict.results)
    if folder is not None and (verdict.sequential is None or verdict.sequential.problem):
        raise InputError(not_whole(folder, "this policy judges all scenarios: nothing can be planned from a part"))
    return plan_verdict(verdict)
