"""What the journal of a run records: its plan, then one record for each trial that began, ended or was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from highbar.load.checkout import Checkout
from highbar.model.answer import Answer
from highbar.model.judgments import JudgeAnswer
from highbar.running.calls import Reply, TrialOutcome
from highbar.store.run_document import DecidedBy, RunEnd


class Chosen(Struct, frozen=True):
    """Which scenarios of the suite were run, as the options say it. Empty: all of them.

    `shard`: the number of a part of the suite, from 1, and of how many parts.
    """

    only: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    limit: int | None = None
    shard: tuple[int, int] | None = None


class RunPlan(Struct, frozen=True, tag="plan"):
    """The first record: everything that a run was started with, so that it can be resumed from its folder alone.

    `order` is the random permutation of the chosen scenarios, made before the first call. `suite_text` is the suite
    file as it was (base64 in JSON); `agent_settings` has no secret: `${NAME}` stays as it is written.
    """

    suite_file: str
    suite_text: bytes
    suite_digest: str
    order: tuple[str, ...]
    trials: Mapping[str, int]
    digests: Mapping[str, str]  # of each scenario of the order
    seed: int
    started: str  # UTC, ISO 8601
    agent: Mapping[str, Any]  # the agent's settings, as `msgspec.to_builtins` gives them
    settings: Mapping[str, Any]  # those of the run, likewise, with what the options changed
    chosen: Chosen = Chosen()
    agent_version: str | None = None
    scenarios: int = 0  # of the whole suite, chosen or not
    highbar: str = ""
    judges: tuple[Mapping[str, Any], ...] = ()  # their settings, as those of the agent, if the suite does not name them
    until_decided: DecidedBy | None = None  # None: every trial was to be run
    checkout: Checkout = Checkout()


class Began(Struct, frozen=True, tag="began"):
    """A trial is about to be called. One without a later `Ended` was interrupted."""

    id: str
    trial: int


class TurnEnd(Struct, frozen=True, omit_defaults=True):
    """One turn of a trial: what came back, and how long the answering attempt took."""

    reply: Reply | None
    latency_ms: float | None = None


class TrialEnded(Struct, frozen=True, tag="ended", omit_defaults=True):
    """A trial ended. Its `turns` are all that was received, of an error too.

    `attempts` counts the calls of the turn that needed most. `digest` is the scenario's, as it was asked. `unrecorded`
    is what a record that another program kept does not have: see Answer.
    """

    id: str
    trial: int
    digest: str
    outcome: TrialOutcome
    turns: tuple[TurnEnd, ...] = ()
    reason: str | None = None
    attempts: int = 1
    unrecorded: tuple[str, ...] = ()


class TrialJudged(Struct, frozen=True, tag="judged", omit_defaults=True):
    """A judge was asked about the answer of a trial. A judgment that failed is recorded, too.

    `digest` is of judge, prompt, statements and conversation; `conversation` of the last two alone. `judge` is what the
    column of that name says.
    """

    id: str
    trial: int
    digest: str
    conversation: str
    judge: str
    answer: JudgeAnswer


class CanaryJudged(Struct, frozen=True, tag="canary"):
    """A judge was asked about a canary: an answer of the suite that is known to be good or bad."""

    id: str
    digest: str
    answer: JudgeAnswer


class Resumed(Struct, frozen=True, tag="resumed"):
    """The run went on at this time. `again`: scenarios whose earlier answers no longer count, since they changed."""

    at: str
    again: tuple[str, ...] = ()
    suite_text: bytes | None = None  # of the suite with the changed scenarios
    digests: Mapping[str, str] = {}
    checkout: Checkout = Checkout()


class Finished(Struct, frozen=True, tag="finished"):
    """The run ended by itself (`complete`), by budget or by time, was decided, or interrupted. `trials`: ended ones."""

    how: RunEnd
    at: str
    trials: int


Record = RunPlan | Began | TrialEnded | TrialJudged | CanaryJudged | Resumed | Finished
encode = msgspec.json.Encoder(decimal_format="number").encode
decode = msgspec.json.Decoder(Record).decode


def answer_of(ended: TrialEnded) -> Answer:
    """What the agent said and did in a trial, as checks read it."""
    replies = [turn.reply for turn in ended.turns if turn.reply is not None]
    measured: dict[str, Any] = {}
    latencies = [turn.latency_ms for turn in ended.turns]
    if latencies and None not in latencies:
        measured["latency_ms"] = sum(value for value in latencies if value is not None)
    for column in ("tokens_used", "cost_usd"):
        values = [getattr(reply, column) for reply in replies]
        if values and None not in values:
            measured[column] = sum(values)
    last = replies[-1] if replies else Reply()
    return Answer(
        replies=tuple(reply.output for reply in replies),
        tool_calls=tuple(reply.tool_calls for reply in replies),
        messages=tuple(message for reply in replies for message in reply.messages),
        state=last.state,
        context=last.context,
        measured=measured,
        behaviors=last.behaviors,
        unrecorded=ended.unrecorded,
    )
