"""Values of a suite file → a Suite, with every problem noted in `place`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from highbar.documents.problems import ValueCursor
from highbar.suite.behaviors import Glossary
from highbar.suite.canaries import read_canaries
from highbar.suite.fixed_columns import read_fixed_columns, trials_of_every
from highbar.suite.identity import OWN_COLUMNS, TOP_KEYS, lists_only, read_entries
from highbar.suite.judge_settings import read_judges
from highbar.suite.own_columns import OwnColumns, named_columns, refuse_elsewhere
from highbar.suite.parts import Canary, RunSettings, Scenario, Suite
from highbar.suite.scenarios import ScenarioReader, read_defaults
from highbar.suite.settings import read_agent, read_run_settings, variables_in_settings
from highbar.suite.values import refuse_unknown, text_value


def build(values: Any, place: ValueCursor, folder: Path | None, file: tuple[str | None, str | None]) -> Suite | None:
    """The suite; None if something is wrong with it. `file` is the file's name and the digest of its bytes."""
    if lists_only(values):
        fixed = read_fixed_columns(values, place)
        for key, path in fixed.elsewhere.items():  # there are no results here that could have such a column
            refuse_elsewhere(key, place.at(*path))
        scenarios = {id_: Scenario(id_, columns) for id_, columns in fixed.scenarios.items()}
        if not scenarios:
            return None
        listed = Suite(scenarios, *file, lists_only=True, is_list=True)
        return replace(listed, own_columns=tuple(fixed.own), ignored=tuple(fixed.ignored))
    top = values if isinstance(values, dict) else {"scenarios": values}
    if top is values:
        refuse_unknown(top, TOP_KEYS, place)
    agent = read_agent(top["agent"], place.at("agent")) if "agent" in top else None
    judges = read_judges(top, place)
    run = read_run_settings(top["run"], place.at("run")) if "run" in top else RunSettings()
    if "trials" in top:
        run = replace(run, trials=trials_of_every(top, place) or 1)
    defaults = read_defaults(top["defaults"], place.at("defaults")) if "defaults" in top else {}
    glossary = Glossary(top.get("behaviors", {}), place, folder, reported=_agent_flag(top, "reports_behaviors"))
    own = OwnColumns(named_columns(top.get(OWN_COLUMNS, []), place.at(OWN_COLUMNS)))
    reader = ScenarioReader(place, glossary, run, defaults, folder, own, quality=_agent_flag(top, "reports_quality"))
    scenarios = {
        entry.id: found for entry in read_entries(values, place) if (found := reader.scenario(entry)) is not None
    }
    canaries = read_canaries(top["canaries"], place.at("canaries"), glossary) if "canaries" in top else ()
    texts = {key: text_value(top[key], place.at(key)) for key in ("suite", "description") if key in top}
    replaced = tuple(variables_in_settings(top, place))
    # Everything is read before anything is refused, so that all problems are reported at once.
    if place.problems:
        return None
    return Suite(
        scenarios,
        *file,
        name=texts.get("suite"),
        description=texts.get("description"),
        behaviors=glossary.behaviors,
        agent=agent,
        judges=judges,
        canaries=canaries,
        run=run,
        variables=replaced,
        is_list=top is not values,
        own_columns=tuple(own.all),
        own_texts=own.unread,
        digest=_digest(scenarios.values(), canaries),
    )


def _digest(scenarios: Iterable[Scenario], canaries: tuple[Canary, ...]) -> str:
    """The digest of all scenarios, and of the canaries if there are any; judge and agent are not part of it."""
    found = hashlib.sha256("".join(one.digest for one in scenarios).encode())
    # Only if there are any: a suite without canaries keeps the digest that it had before canaries existed.
    if canaries:
        found.update(msgspec.json.encode(canaries, order="deterministic"))
    return found.hexdigest()


def _agent_flag(top: dict[str, Any], key: str) -> bool:
    """Whether `agent` has true under `key`, even if the rest of the block cannot be read."""
    agent = top.get("agent")
    return isinstance(agent, dict) and agent.get(key) is True
