"""Function names that several modules share on purpose, each with its reason. `walk_meter.py` counts all others.

A contract is one meaning: every module has the function for the same purpose, with the same kind of result. A module
that means something else by the name is not listed here, and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contract:
    """A function name that several modules share on purpose: what it does in each, and where these modules are."""

    what: str
    places: tuple[str, ...]  # how the paths of its modules begin


CONTRACTS: Mapping[str, Contract] = {
    "main": Contract("the entry point of a process", ("cli/guard", "running/agents/keeper", "running/child/__main__")),
    "command": Contract("the click command of a module of the command line", ("cli/",)),
    "check": Contract("judges results: for callers, then for the stages", ("api", "pipeline")),
    "compare": Contract("compares two runs: for callers, then for the stages", ("api", "pipeline")),
    "render": Contract(
        "what there is to report → text in one format", ("report/", "labeling/page", "store/baseline_text")
    ),
    "render_problems": Contract("the same if there is nothing to report", ("report/",)),
    "render_comparison": Contract("`render` of a format that has verdicts and comparisons", ("report/",)),
    "headline": Contract("the one line that says what came out", ("report/",)),
    "metric_cells": Contract("the row of a metric in a table", ("report/",)),
    "read": Contract(
        "a file, or text that a person wrote → what it says, or all its problems",
        (
            "checks/reading",
            "importers/",
            "language/threshold",
            "policy/reading",
            "store/history",
            "suite/reading",
        ),
    ),
    "check_folder": Contract("what the files of a tool say about each other", ("importers/",)),
    "format_of": Contract("the format of a file, by how its name ends", ("report/__init__", "suite/decoding")),
    "read_id": Contract("the id of a scenario, in policies and suites", ("policy/scenario_ids", "suite/identity")),
    "check_category": Contract("refuses a near miss, in policies and suites", ("policy/settings", "suite/identity")),
    "rewrite": Contract("the suite of another tool → ours", ("suite/tools/",)),
    "find": Contract("what a check comes to on an answer", ("checks/",)),
    "line": Contract("a row → a line of JSONL", ("load/", "running/rows")),
    "shown": Contract(
        "a value as a message quotes it: short, on one line",
        ("documents/problems", "importers/record", "load/row_faults", "running/agents/replies"),
    ),
    "schema": Contract("the JSON Schema of a document", ("policy/", "report/schema_results", "store/", "suite/")),
    "write": Contract("a document → JSON values, or a file", ("store/",)),
    "write_problems": Contract("the same if there is no document", ("store/",)),
    "save": Contract("a document → a file, as a whole or not at all", ("store/",)),
    "scenarios_to_pass": Contract("with the assumptions of a plan, or alone", ("planning/", "statistics/planning")),
    "rate_to_pass": Contract("with the assumptions of a plan, or alone", ("planning/", "statistics/planning")),
    "headers": Contract("of a request, in one wire format", ("running/agents/",)),
    "body": Contract("of a request, in one wire format", ("running/agents/",)),
    "fields": Contract("of a reply, in one wire format", ("running/agents/",)),
    "tokens": Contract("of a reply, in one wire format", ("running/agents/",)),
    "opened": Contract("what `async with` opens", ("running/agents/__init__", "running/judging/__init__")),
    "serve": Contract("answers the messages of the process above", ("running/child/",)),
}
