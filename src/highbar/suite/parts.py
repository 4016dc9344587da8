"""A suite, read and checked: scenarios with their checks, and the settings of agent, judge and run."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:  # the checks take 40 ms to load, and a policy's suite does not need them
    from highbar.checks import Check
    from highbar.checks.tree import Pointer
    from highbar.suite.tools.rewritten import Rewritten

Kind = Literal["python", "http", "command"]
PATIENCE = Fraction(300)
"""Seconds: outages and limits of most servers are shorter."""


class Behavior(Struct, frozen=True):
    """How a behavior is recognized.

    `source`: the `behaviors` of the file, the scenario itself, the built-in glossary, or the agent's own report.
    `weak`: it is recognized by a list of phrases, which misses other wordings.
    """

    name: str
    check: Check
    source: Literal["suite", "scenario", "built-in", "agent"]
    weak: bool = False


class Scenario(Struct, frozen=True):
    """One scenario: what the agent is asked, and how its answer is judged.

    `columns` are copied into every row. The agent is asked one `input`, several `turns` of the user in order, or a
    conversation in chat form (`messages`). `timeout` is in seconds, for each call. `digest` changes with everything
    that an answer or its grade depends on.
    """

    id: str
    columns: Mapping[str, Any] = {}
    input: str | None = None
    turns: tuple[str, ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()
    expected_behaviors: Mapping[str, Behavior] = {}
    must_not: Mapping[str, Behavior] = {}
    answer: Check | None = None
    expected: str | bool | None = None
    predict: Pointer | None = None  # where the label is in a JSON reply
    trials: int = 1
    timeout: Fraction = Fraction(60)
    description: str | None = None
    digest: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns that a row of this scenario has before its trial runs, with everything that it demands."""
        found: dict[str, Any] = {"id": self.id, **self.columns}
        if self.expected_behaviors:
            found["expected_behaviors"] = list(self.expected_behaviors)
        if self.must_not:
            found["must_not"] = list(self.must_not)
        if self.expected is not None:
            found["expected"] = self.expected
        if (asked := self.asked) is not None:
            found["input"] = asked
        return found

    @property
    def asked(self) -> str | None:
        """The last text of the user; None if nothing is asked."""
        if self.messages:
            texts = [message["content"] for message in self.messages if message["role"] == "user"]
            return next((text for text in reversed(texts) if isinstance(text, str)), None)
        return self.turns[-1] if self.turns else self.input


class Agent(Struct, frozen=True):
    """The agent under test. `target` is the function, the address or the words of the command."""

    kind: Kind
    target: str | tuple[str, ...]
    version: str | None = None
    format: Literal["openai", "anthropic", "json"] | None = None
    model: str | None = None
    key: str | None = None
    headers: Mapping[str, str] = {}
    body: Any = None
    pointers: Mapping[str, str] = {}  # JSON pointers to the text, the tool calls, tokens and cost in a reply
    max_reply: int = 16 * 2**20
    reports_behaviors: bool = False
    reports_quality: bool = False


class Judge(Struct, frozen=True):
    """The judge that reads the statements in plain words: a model at an address, or a Python function.

    `concurrency`, `timeout` (of one call, in seconds), `retries` and `patience` are the judge's own, not those of the
    run.
    """

    model: str | None = None
    base_url: str | None = None
    key: str | None = None
    format: Literal["openai", "anthropic"] = "openai"
    python: str | None = None
    temperature: Fraction | None = None
    max_tokens: int | None = None
    concurrency: int | Literal["auto"] = "auto"
    timeout: Fraction = Fraction(60)
    retries: int = 4
    patience: Fraction = PATIENCE


class Canary(Struct, frozen=True):
    """An answer that people know to be good or bad, which tests the judge in every run.

    `messages` is the conversation in chat form, with the answer. `statements` has the statements that the judge is
    asked about, by the name of the behavior; `observed` says which of them are true.
    """

    id: str
    messages: tuple[Mapping[str, Any], ...]
    statements: Mapping[str, str]
    observed: Mapping[str, bool]


class RunSettings(Struct, frozen=True):
    """How trials are run. Times are in seconds, the budget in USD; `trial_timeout` is by default `timeout` × turns.

    A server that has no room for a call (429, 503, 529) is asked again for `patience` after its last answer, and only
    then do its refusals use up `retries`.
    """

    trials: int = 1
    concurrency: int | Literal["auto"] = "auto"
    timeout: Fraction = Fraction(60)
    trial_timeout: Fraction | None = None
    retries: int = 4
    patience: Fraction = PATIENCE
    budget: Fraction | None = None
    max_time: Fraction | None = None


class Variable(Struct, frozen=True):
    """A `${NAME}` in the settings, and the path of the value that contains it."""

    name: str
    path: tuple[str | int, ...]


class Suite(Struct, frozen=True):
    """A suite file. `lists_only`: it only lists the scenarios that must have a result, and cannot be run.

    `own_columns` are the user's own; `own_texts` are those of them with text that the file does not name itself.
    `ignored` has keys of a list that are columns of results only.
    """

    scenarios: Mapping[str, Scenario]
    file: str | None = None
    sha256: str | None = None
    name: str | None = None
    description: str | None = None
    behaviors: Mapping[str, Behavior] = {}
    agent: Agent | None = None
    judges: tuple[Judge, ...] = ()
    canaries: tuple[Canary, ...] = ()
    run: RunSettings = RunSettings()
    variables: tuple[Variable, ...] = ()
    lists_only: bool = False
    is_list: bool = False  # a bare list of scenarios, without `scenarios:`
    own_columns: tuple[str, ...] = ()
    own_texts: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    digest: str = ""
    rewritten: Rewritten | None = None  # if it was written for another tool

    @property
    def judge(self) -> Judge | None:
        """The judge, or the first of several."""
        return self.judges[0] if self.judges else None

    @property
    def labels(self) -> tuple[str | bool, ...]:
        """All labels that scenarios expect, each once."""
        return tuple(dict.fromkeys(one.expected for one in self.scenarios.values() if one.expected is not None))

    @property
    def trials(self) -> int:
        """The number of trials of all scenarios together."""
        return sum(scenario.trials for scenario in self.scenarios.values())
