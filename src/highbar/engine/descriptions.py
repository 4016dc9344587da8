"""Fills in what describes a scenario, if a trial does not say it: from its other trials, and from the suite.

Only descriptions are filled in (category, capability, cluster, weight, and the columns of slices). Demands of the suite
are joined as bits, so that a trial which does not answer them cannot pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from highbar.columns import DESCRIPTION_COLUMNS
from highbar.engine import scoring
from highbar.engine.database import Database
from highbar.engine.typed import EMPTY
from highbar.model import Suite

TYPED = "typed"
"""The alias of the typed trials, wherever a query scores them."""
_BITS = {
    "expected": scoring.ANSWER,
    "answer": scoring.ANSWER,
    "expected_behaviors": scoring.BEHAVIORS,
    "must_not": scoring.MUST_NOTS,
}


def joined(typed: str, columns: tuple[str, ...], extras: int, *, described: bool, fill: bool) -> str:
    """The typed trials with the descriptions of their scenarios; `columns` are those of `col_0` and so on.

    `described`: from the relation of that name; `fill`: from the other trials of the scenario.
    """
    if not fill and not described:
        return typed
    named = _named(columns)
    all_columns = [*EMPTY, *(f"col_{i}" for i in range(len(columns))), *(f"extra_{i}" for i in range(extras)), "bad"]
    selected = []
    for name in all_columns:
        sources = [f"t.{name}"]
        if name in named:
            sources += [f"{other}.{name}" for other, used in (("others", fill), ("described", described)) if used]
        selected.append(f"t.{name} AS {name}" if len(sources) == 1 else f"coalesce({', '.join(sources)}) AS {name}")
    source = f"({typed}) AS t"
    if fill:
        shared = ", ".join(f"max({name}) AS {name}" for name in named)
        source += (
            f" LEFT JOIN (SELECT id, {shared} FROM ({typed}) AS {TYPED} GROUP BY id) AS others ON t.id = others.id"
        )
    if described:
        selected.append("coalesce(described.bits, 0) AS suite_bits")
        source += " LEFT JOIN described ON t.id = described.id"
    return f"SELECT {', '.join(selected)} FROM {source}"


def in_suite(suite: Suite | None, columns: tuple[str, ...]) -> bool:
    """Whether the suite describes any of its scenarios, or demands anything of them."""
    used = {*_named(columns).values(), *_BITS}
    return suite is not None and any(used & fields.keys() for fields in suite.scenarios.values())


def define(database: Database, suite: Suite, columns: tuple[str, ...]) -> None:
    """Name `described`: what describes each scenario of the suite, and the bits of what it demands."""
    named = _named(columns)
    listed = [
        (id_, *(fields.get(column) for column in named.values()), str(_bits(fields)))
        for id_, fields in suite.scenarios.items()
    ]
    database.list_texts("listed", ("id", *named, "bits"), listed)
    types = {"bits": "INTEGER"} | {name: EMPTY[name] for name in DESCRIPTION_COLUMNS}
    typed = (f"CAST({name} AS {types.get(name, 'VARCHAR')}) AS {name}" for name in ("id", *named, "bits"))
    database.define("described", f"SELECT {', '.join(typed)} FROM listed", materialized=True)


def _bits(fields: Mapping[str, str]) -> int:
    return sum({_BITS[column] for column, text in fields.items() if column in _BITS and text != "[]"})


def _named(columns: tuple[str, ...]) -> Mapping[str, str]:
    """The typed columns that describe a scenario, and what they are called in a suite."""
    return {name: name for name in DESCRIPTION_COLUMNS} | {f"col_{i}": column for i, column in enumerate(columns)}
