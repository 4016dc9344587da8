"""A suite, read and checked: scenarios with their checks, and the settings of agent, judge and run."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:  # the checks take 40 ms to load, and a policy's suite needs none of them
    from highbar.checks import Check, Predict

Kind = Literal["python", "http", "command"]


class Behavior(Struct, frozen=True):
    """How a behavior is recognized.

    `source`: the glossary of the file, the scenario itself, the glossary that ships, or the agent's own report.
    `weak`: a list of phrases recognizes it, which misses other wordings.
    """

    name: str
    check: Check
    source: Literal["suite", "scenario", "built-in", "agent"]
    weak: bool = False


class Scenario(Struct, frozen=True):
    """One scenario: what the agent is asked, and by what its answer is judged.

    `columns` are copied into every row. `turns` are what the user says, one after the other; `input` is the only
    one. `messages` is a conversation in chat form instead. `timeout` is in seconds, for each call. `digest` changes
    with everything that an answer or its grade depends on.
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
    predict: Predict | None = None
    trials: int = 1
    timeout: Fraction = Fraction(60)
    description: str | None = None
    digest: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns that a row of this scenario has before anything has happened, with all that it demands."""
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
        """The last text of the user."""
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
    pointers: Mapping[str, str] = {}  # where the text, the tool calls, tokens and cost are in a reply
    max_reply: int = 16 * 2**20
    reports_behaviors: bool = False
    reports_quality: bool = False


class Judge(Struct, frozen=True):
    """Who reads the statements in plain words: a model at an address, or a Python function.

    `concurrency`, `timeout` (in seconds, of one call) and `retries` are the judge's own, not those of the run.
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


class Canary(Struct, frozen=True):
    """An answer that people know to be good or bad, by which the judge is tested in every run.

    `messages` is the conversation in chat form, the answer included. `statements` are asked about it, by the name of
    the behavior; `observed` says which of them are true.
    """

    id: str
    messages: tuple[Mapping[str, Any], ...]
    statements: Mapping[str, str]
    observed: Mapping[str, bool]


class RunSettings(Struct, frozen=True):
    """How trials are run. Times are in seconds, the budget in USD; `trial_timeout` None: `timeout` times the turns."""

    trials: int = 1
    concurrency: int | Literal["auto"] = "auto"
    timeout: Fraction = Fraction(60)
    trial_timeout: Fraction | None = None
    retries: int = 4
    budget: Fraction | None = None
    max_time: Fraction | None = None


class Variable(Struct, frozen=True):
    """A `${NAME}` in the settings, and the path of the value that has it."""

    name: str
    path: tuple[str | int, ...]


class OtherTool(Struct, frozen=True):
    """The tool that a suite was written for, and what there is to say about it.

    `text` is the same suite as a file of ours, with the files inside that it names. `paths` leads from where a value is
    in that to where it is in the tool's own file.
    """

    name: str
    text: bytes
    paths: Mapping[tuple[str | int, ...], tuple[str | int, ...]] = {}
    notes: tuple[str, ...] = ()


class Suite(Struct, frozen=True):
    """A suite file. `is_plan`: a list of ids and descriptions, which says what must have run and cannot be run."""

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
    is_plan: bool = False
    is_list: bool = False  # a bare list of scenarios, without `scenarios:`
    digest: str = ""
    tool: OtherTool | None = None

    @property
    def judge(self) -> Judge | None:
        """The judge, or the first of several."""
        return self.judges[0] if self.judges else None

    @property
    def labels(self) -> tuple[str | bool, ...]:
        """Every label that a scenario expects, each once."""
        return tuple(dict.fromkeys(one.expected for one in self.scenarios.values() if one.expected is not None))

    @property
    def trials(self) -> int:
        """How many trials all scenarios have together."""
        return sum(scenario.trials for scenario in self.scenarios.values())
