"""How a run of a test ended, and what it recorded → its row.

The law behind this: a test that breaks never makes a verdict better. So a test that failed before it could look for a
violation has not shown that there was none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from highbar.columns import column_names

if TYPE_CHECKING:  # a cycle: modules that import this one need them
    from highbar.pytest_plugin.collecting import CollectedTest
    from highbar.pytest_plugin.recording import Behaviors

Status = Literal["passed", "failed", "error", "skipped", "not run"]
NOT_RUN = "not run: "
_JUDGING = frozenset({*column_names("demands"), "correct", "outcome"})
"""Columns that judge a row: if it has one of them, a passing test does not set `passed`."""


def trial_row(
    test: CollectedTest, status: Status, reason: str, recorded: Behaviors | None, *, is_cut: bool = False
) -> dict[str, Any]:
    """The row of a run that ended with this status, without its trial number.

    `is_cut`: the run ended before it could record everything.
    """
    row = {**test.columns, **test_column(test), **({} if recorded is None else recorded.columns)}
    if status == "not run":
        return {**row, "unjudged": f"{NOT_RUN}the test was set up and not called"}
    row |= _observed_columns(test.columns, status, recorded, is_cut=is_cut)
    if status == "passed":
        return row if _judged_by_columns(row) else {**row, "passed": True}
    row["passed"] = False
    if status == "error":
        return {**row, "error": reason or "an error without a message"}
    if status == "skipped":
        row["tags"] = {"status": "skipped", **row.get("tags", {})}
    row.setdefault("output", reason)
    return row


def test_column(test: CollectedTest) -> dict[str, str]:
    """The column `test`, if the id is not the node id of the test."""
    return {} if test.columns["id"] == test.node_id else {"test": test.node_id}


def _judged_by_columns(row: Mapping[str, Any]) -> bool:
    judging = _JUDGING & row.keys()
    # Must-nots alone judge a row only if there was an answer. If the row has no output, the test itself decides that.
    knows_best = judging == {"must_not"} and row.get("violations") == [] and "output" not in row
    return bool(judging) and not knows_best


def _observed_columns(
    columns: Mapping[str, Any], status: Status, recorded: Behaviors | None, *, is_cut: bool
) -> dict[str, Any]:
    """The columns `behaviors` and `violations`, as far as the test has looked for the demands of its mark."""
    expected, must_not = columns.get("expected_behaviors", ()), columns.get("must_not", ())
    seen = () if recorded is None else recorded.seen
    happened = [] if recorded is None else [*recorded.happened, *(name for name in seen if name in must_not)]
    found: dict[str, Any] = {}
    if happened:
        found["violations"] = list(dict.fromkeys(happened))
    elif must_not and recorded is not None and not (is_cut and set(must_not) - recorded.looked_for):
        found["violations"] = []
    observed = {**dict.fromkeys(expected, False), **dict.fromkeys(seen, True)}
    # `behaviors` would claim that the test looked for violations, but one that it did not reach makes the score 0.
    is_known = not must_not or "violations" in found
    if observed and is_known and (recorded is not None or status != "passed"):
        found["behaviors"] = observed
    return found
