"""The values of a suite file → the tool that it was written for, by its keys."""

from __future__ import annotations

from typing import Any

from highbar.suite.identity import TOP_KEYS

_OURS = frozenset(TOP_KEYS) - {"description", "scenarios"}
"""Keys that no other tool uses: a file with one of them is ours, whatever else it has."""
_PROMPTFOO = frozenset({"prompts", "providers", "targets", "tests", "defaultTest", "redteam"})


def tool_of_suite(values: Any) -> str | None:
    """The tool whose suite this is; None if the suite is ours, or of an unknown tool.

    >>> tool_of_suite({"prompts": ["{{q}}"], "tests": []}), tool_of_suite({"cases": []}), tool_of_suite({"evals": []})
    ('promptfoo', 'pydantic-evals', 'Agent Skills')
    >>> tool_of_suite({"suite": "mine", "tests": []}), tool_of_suite([{"id": "A"}])
    (None, None)
    """
    if not isinstance(values, dict) or not _OURS.isdisjoint(values) or _has_ids(values):
        return None
    if not _PROMPTFOO.isdisjoint(values):
        return "promptfoo"
    if isinstance(values.get("cases"), list):
        return "pydantic-evals"
    return "Agent Skills" if isinstance(values.get("evals"), list) else None


def _has_ids(values: dict[str, Any]) -> bool:
    """Whether there are scenarios with ids; promptfoo's `scenarios` have no ids."""
    scenarios = values.get("scenarios")
    return isinstance(scenarios, list) and any(not isinstance(one, dict) or "id" in one for one in scenarios)
