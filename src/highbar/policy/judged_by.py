"""Reads the block `judged_by`: which scorers judge the records of each tool. Notes every problem."""

from __future__ import annotations

from fractions import Fraction

from highbar.language.exact import write_decimal
from highbar.model.judging import ScorerDemand
from highbar.policy.cursor import Cursor

TOOLS = ("inspect", "promptfoo", "lm-eval", "every-eval-ever", "deepeval", "pydantic-evals", "mlflow", "otel")
"""The tools whose files may have several scorers."""
TOOLS_WITHOUT_SCORERS = {
    "junit": "a test case passed or it did not",
    "tau-bench": "its reward judges",
    "agentskills": "every expectation judges",
    "map": "the mapping says what passed and correct are",
}
"""The formats without a choice of scorers, and why."""
KEYS = ("scorer", "metric", "at_least", "filter")
_EXAMPLE = "{ scorer: NAME, at_least: 0.8 }"


def read_judged_by(cursor: Cursor | None) -> dict[str, tuple[ScorerDemand, ...]]:
    """For each tool, the scorers that must pass a record; empty if the policy has no such block."""
    if cursor is None:
        return {}
    entries = cursor.entries()
    if not entries and cursor.is_kind("mapping"):
        cursor.refuse("policy.empty-value", "found no tool", f"judged_by: {{ inspect: {_EXAMPLE} }}")
    found: dict[str, tuple[ScorerDemand, ...]] = {}
    for name, entry in entries.items():
        tool = name.replace("_", "-")
        if not _is_tool(cursor, entry, name, tool):
            continue
        if tool in found:
            entry.refuse("policy.listed-twice", f"'{name}' is the same tool as a key before it")
            continue
        found[tool] = _demands(entry, tool)
    return found


def _is_tool(cursor: Cursor, entry: Cursor, name: str, tool: str) -> bool:
    if tool in TOOLS_WITHOUT_SCORERS:
        entry.refuse(
            "policy.no-effect",
            f"{tool} has nothing to choose: {TOOLS_WITHOUT_SCORERS[tool]}",
            "leave it out",
            at=cursor.key_place(name),
        )
        return False
    if tool in TOOLS or tool in _plugin_tools():
        return True
    hint = cursor.suggest(tool, TOOLS) or f"known: {', '.join(TOOLS)}"
    entry.refuse("policy.unknown-key", f"unknown tool '{name}'", hint, at=cursor.key_place(name))
    return False


def _plugin_tools() -> set[str]:
    from importlib.metadata import entry_points  # only for a name that is not built in

    return {point.name for point in entry_points(group="highbar.importers")}


def _demands(cursor: Cursor, tool: str) -> tuple[ScorerDemand, ...]:
    items = cursor.items() if cursor.is_kind("list") else [cursor]
    if not items:
        cursor.refuse("policy.empty-value", "found an empty list, wanted a scorer", _EXAMPLE)
    found: list[ScorerDemand] = []
    for item in items:
        demand = _demand(item, tool)
        if demand is None:
            continue
        if any((demand.scorer, demand.filter) == (other.scorer, other.filter) for other in found):
            item.refuse("policy.listed-twice", f"'{demand.scorer}' is listed twice")
        found.append(demand)
    return tuple(found)


def _demand(cursor: Cursor, tool: str) -> ScorerDemand | None:
    if cursor.is_kind("text"):
        name = cursor.text()
        return None if name is None else ScorerDemand(name)
    if not cursor.is_kind("mapping"):
        cursor.refuse_kind("the name of a scorer, or a mapping", _EXAMPLE)
        return None
    fields = cursor.fields(KEYS if tool == "lm-eval" else KEYS[:-1])
    if ("scorer" in fields) == ("metric" in fields):
        cursor.refuse("policy.missing-key", "wanted scorer or metric, one of them, with a name", _EXAMPLE)
        return None
    name = fields["scorer" if "scorer" in fields else "metric"].text()
    at_least = _at_least(fields["at_least"]) if "at_least" in fields else None
    chosen = fields["filter"].text() if "filter" in fields else None
    unread = ("at_least" in fields and at_least is None) or ("filter" in fields and chosen is None)
    if name is None or unread:
        return None
    return ScorerDemand(name, at_least, chosen)


def _at_least(cursor: Cursor) -> Fraction | None:
    """A number of any size: some scorers grade from 0 to 1, others from 1 to 5."""
    if not cursor.is_kind("number"):
        cursor.refuse_kind("a number", "at_least: 0.8")
        return None
    return cursor.signed_number("at_least: 0.8")


def say_demand(demand: ScorerDemand) -> str:
    """One demand in words: `accuracy at least 0.8`, `exact_match (filter strict-match)`.

    >>> say_demand(ScorerDemand("accuracy", Fraction(4, 5)))
    'accuracy at least 0.8'
    """
    chosen = f" (filter {demand.filter})" if demand.filter else ""
    bound = f" at least {write_decimal(demand.at_least)}" if demand.at_least is not None else ""
    return f"{demand.scorer}{chosen}{bound}"


def say_judged_by(demands: tuple[ScorerDemand, ...]) -> str:
    """All demands on the records of one tool: `accuracy at least 0.8 and format`."""
    return " and ".join(say_demand(demand) for demand in demands)
