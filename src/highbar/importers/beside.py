"""Files that stand beside another tool's results: they hold no rows, and say which results there must be.

Inspect AI writes `eval-set.json` and `logs.json` into a folder of logs, and a new log for each retry of a task;
lm-evaluation-harness writes `results_DATE.json` beside its samples. Each is held against what is there: one that names
results that are not there is a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from highbar.errors import Problem

RESTORE = "put back what is missing, or name the files to check one by one"


@dataclass(slots=True)
class Beside:
    """Which of the files that were found are not read for rows, each with what to say of it; and what is missing."""

    left: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def beside(tools: Mapping[str, str | None]) -> Beside:
    """Look at files together; `tools` says of each by its path whose it is, if that is known."""
    found = Beside()
    if len(tools) < 2:
        return found
    if "inspect" in tools.values():
        from highbar.importers import inspect_runs  # most checks read no log

        inspect_runs.look(tools, found)
    if "lm-eval" in tools.values():
        from highbar.importers import lm_eval_totals  # likewise

        lm_eval_totals.look(tools, found)
    return found
