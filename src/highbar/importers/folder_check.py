"""Files of a tool that have no rows themselves, but say which result files must be in the folder.

Inspect AI writes `eval-set.json` and `logs.json` into a folder of logs, and a new log for each retry of a task;
lm-evaluation-harness writes `results_DATE.json` beside its samples, and Every Eval Ever an aggregate. If such a file
names results that are not there, that is a problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from highbar.errors import Problem

FOLDER_HINT = "put back what is missing, or name the files to check one by one"


class FolderCheck(Struct):
    """The files that are not read as rows, each with a note that says why, and a problem for missing results."""

    not_read: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def folder_check(tools: Mapping[str, str | None]) -> FolderCheck:
    """Check the files of one command against each other; `tools` has the tool of each path, if it is known."""
    found = FolderCheck()
    if len(tools) < 2:
        return found
    if "inspect" in tools.values():
        from highbar.importers import inspect_runs  # only a check that reads logs needs it

        inspect_runs.check_folder(tools, found)
    if "lm-eval" in tools.values():
        from highbar.importers import lm_eval  # only a check that reads samples needs it

        lm_eval.check_folder(tools, found)
    if "every-eval-ever" in tools.values():
        from highbar.importers import every_eval_ever_aggregate  # only a check that reads samples needs it

        every_eval_ever_aggregate.check_folder(tools, found)
    return found
