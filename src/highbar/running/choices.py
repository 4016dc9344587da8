"""Options of a run, as text or numbers → settings that replace those of the suite."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.problems import ValueCursor
from highbar.errors import InputError, Problem
from highbar.model import Policy, Source
from highbar.store.run_document import Chosen, SeedFrom
from highbar.suite import Agent, Judge, RunSettings, Suite
from highbar.suite.settings import read_run_settings


class RunOptions(Struct, frozen=True):
    """What a caller sets differently from the suite.

    `settings` are parsed values by their keys in the suite's `run` block. `output` is the run folder, which must not
    exist yet. If `judges` is empty, those of the suite judge. `policy` will judge the run, and is `until_decided` if it
    may end the run early. Its seed gives the order unless there is a `seed` here.
    """

    settings: Mapping[str, Any] = {}
    agent: Agent | None = None
    agent_version: str | None = None
    output: Path | None = None
    chosen: Chosen = Chosen()
    seed: int | None = None
    judges: tuple[Judge, ...] = ()
    until_decided: Source | None = None
    policy: Policy | None = None

    def seed_of_order(self) -> tuple[int, SeedFrom]:
        """The seed of the random order, and where it is from."""
        if self.seed is not None:
            return self.seed, "option"
        if self.policy is not None and self.policy.seed is not None:
            return self.policy.seed, "policy"
        return secrets.randbits(32), "fresh"

    def on(self, suite: Suite) -> Suite:
        """The suite with these settings, agent and version."""
        run = replace(suite.run, **self.settings)
        own = {key: self.settings[key] for key in ("trials", "timeout") if key in self.settings}
        scenarios = suite.scenarios
        if own:  # an option also overrides what a scenario sets for itself
            scenarios = {id_: replace(scenario, **own) for id_, scenario in scenarios.items()}
        agent = self.agent or suite.agent
        if agent is not None and self.agent_version is not None:
            agent = replace(agent, version=self.agent_version)
        return replace(suite, run=run, scenarios=scenarios, agent=agent, judges=self.judges or suite.judges)


def read_run_choices(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse run settings, by their keys in a suite; None means absent. Raises InputError with every problem."""
    fields = {key: _plain(key, value) for key, value in given.items() if value is not None}
    place = ValueCursor(problems=[])
    read: RunSettings = read_run_settings(fields, place)
    if place.problems:
        problems = ((str(problem.path[0]).replace("_", "-"), problem) for problem in place.problems)
        raise InputError(
            *(Problem("option.bad-value", f"--{name}: {problem.text}", hint=problem.hint) for name, problem in problems)
        )
    return {key: getattr(read, key) for key in fields}


def read_shard(text: object) -> tuple[int, int]:
    """The number of a shard, from 1, and the number of shards. Raises InputError if the text is not K/N.

    >>> read_shard("2/5")
    (2, 5)
    """
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text) if isinstance(text, str) else None
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(Problem("option.bad-value", f"--shard: {text!r}: wanted K/N with K from 1 to N, such as 2/5"))
    return int(found[1]), int(found[2])


def _plain(key: str, value: Any) -> Any:
    """The value, as a number if it is the text of one in the option `concurrency`, which also takes `auto`."""
    return int(value) if key == "concurrency" and isinstance(value, str) and value.isdecimal() else value
