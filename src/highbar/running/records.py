"""The records in the journal of a run: its plan, then one record for each trial that began, ended or was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from highbar.load.checkout import Checkout
from highbar.model import Source
from highbar.model.answer import Answer
from highbar.model.judgments import JudgeAnswer
from highbar.running.calls import Reply, TrialOutcome
from highbar.store.run_document import Chosen, RunEnd, SeedFrom


class RunPlan(Struct, frozen=True, tag="plan"):
    """The first record: everything that a run was started with, so that it can be resumed from its folder alone.

    `order` is the random permutation of the chosen scenarios, made before the first call. `suite_text` is the text of
    the suite file (base64 in JSON). `agent` contains no secrets: `${NAME}` stays as written.
    """

    suite_file: str
    suite_text: bytes
    suite_digest: str
    order: tuple[str, ...]
    trials: Mapping[str, int]
    digests: Mapping[str, str]  # by scenario
    seed: int
    started: str  # UTC, ISO 8601
    agent: Mapping[str, Any]  # the agent's settings, as `msgspec.to_builtins` returns them
    settings: Mapping[str, Any]  # the run settings that the options changed, in the same form
    chosen: Chosen = Chosen()
    agent_version: str | None = None
    scenarios: int = 0  # how many the whole suite has, chosen or not
    highbar: str = ""
    judges: tuple[Mapping[str, Any], ...] = ()  # settings of the judges that the options named, in the same form
    until_decided: Source | None = None  # None: every trial is to run
    policy: Source | None = None  # what was to judge the run; None if nothing was
    seed_from: SeedFrom = "option"
    checkout: Checkout = Checkout()
    suite_in_repository: str | None = None  # the same path from the root of its repository; None outside of one
    repository_in_outer: str | None = None  # where that repository lies in another one; None if it lies in none


class Began(Struct, frozen=True, tag="began"):
    """A trial is about to be called. If no `TrialEnded` follows, it was interrupted."""

    id: str
    trial: int


class TurnEnd(Struct, frozen=True, omit_defaults=True):
    """One turn of a trial: what came back, and how long the answering attempt took."""

    reply: Reply | None
    latency_ms: float | None = None


class TrialEnded(Struct, frozen=True, tag="ended", omit_defaults=True):
    """A trial ended. `turns` has all that was received, also if the trial ended in an error.

    `attempts` counts the calls of the turn that needed most. `digest` is that of the scenario when it was asked.
    `unrecorded` names what is missing from an answer that another program recorded: see Answer.
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

    `digest` covers judge, prompt, statements and conversation; `conversation` is a digest of the last two alone.
    `judge` is the value of the column `judge`.
    """

    id: str
    trial: int
    digest: str
    conversation: str
    judge: str
    answer: JudgeAnswer


class JudgeRead(Struct, frozen=True, tag="judge_read"):
    """What the process of a Python judge read and started before the judgments that follow: see `child.watching`.

    The first fact of a session is `["began", folder]`, with the folder of the suite in its repository.
    """

    facts: tuple[tuple[Any, ...], ...]


class CanaryJudged(Struct, frozen=True, tag="canary"):
    """A judge was asked about a canary: an answer of the suite that is known to be good or bad."""

    id: str
    digest: str
    answer: JudgeAnswer


class Resumed(Struct, frozen=True, tag="resumed"):
    """The run was resumed. `again`: scenarios that changed, so that their earlier answers no longer count."""

    at: str
    again: tuple[str, ...] = ()
    suite_text: bytes | None = None  # the text of the suite, if it changed
    digests: Mapping[str, str] = {}
    checkout: Checkout = Checkout()


class Finished(Struct, frozen=True, tag="finished"):
    """The run ended: complete, by budget, by time, decided, or interrupted. `trials` counts those that have ended."""

    how: RunEnd
    at: str
    trials: int


Record = RunPlan | Began | TrialEnded | TrialJudged | JudgeRead | CanaryJudged | Resumed | Finished
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
        values = [getattr(turn.reply, column, None) for turn in ended.turns]
        if values and None not in values:
            measured[column] = sum(values)
    last = replies[-1] if replies else Reply()
    return Answer(
        replies=tuple(reply.output for reply in replies),
        tool_calls=tuple(reply.calls for reply in replies),
        messages=tuple(message for reply in replies for message in reply.messages),
        state=last.state,
        context=last.context,
        measured=measured,
        behaviors=last.behaviors,
        unrecorded=ended.unrecorded,
    )
