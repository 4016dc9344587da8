"""All that was received in a trial → what a row can have of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from highbar.load.rows import CHECKS
from highbar.run.calls import Reply
from highbar.run.records import Ended
from highbar.run.rows import are_distinct, sound
from highbar.suite import Scenario

_MEASURED = ("tokens_used", "cost_usd")


class Received(Struct, frozen=True):
    """The replies of a trial, and what they say together.

    `measured` has latency, tokens and cost of all turns; what one turn does not say is not known of the trial.
    `wrong` says which number of them no row can have; that one is left out.
    """

    ended: Ended
    replies: tuple[Reply, ...]
    measured: Mapping[str, Any]
    quality_score: Decimal | None
    tags: Mapping[str, str]
    wrong: str | None = None

    @property
    def last(self) -> Reply | None:
        """The last reply."""
        return self.replies[-1] if self.replies else None

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls of all turns, in order."""
        return [
            {"name": call.name, "arguments": sound(call.arguments)}
            for reply in self.replies
            for call in reply.tool_calls
        ]


def receive(ended: Ended) -> Received:
    """What was received in a trial."""
    replies = tuple(turn.reply for turn in ended.turns if turn.reply is not None)
    quality = replies[-1].quality_score if replies else None
    given: dict[str, Any] = {"latency_ms": _sum([turn.latency_ms for turn in ended.turns]), "quality_score": quality}
    if len(replies) == len(ended.turns):
        given |= {name: _sum([getattr(reply, name) for reply in replies]) for name in _MEASURED}
    measured: dict[str, Any] = {}
    wrong = None
    for name, value in given.items():
        fault = None if value is None else CHECKS[name](float(value) if isinstance(value, Decimal) else value)
        if fault is not None:
            wrong = f"{name}: {fault}"
        elif value is not None:
            measured[name] = value
    quality = measured.pop("quality_score", None)
    tags = {name: tag for reply in replies for name, tag in reply.tags.items()}
    return Received(ended, replies, measured, quality, tags, wrong)


def _sum(values: list[Any]) -> Any:
    """The sum; None if one is not known, or if there are none."""
    return None if not values or None in values else sum(values)


def version_of(ended: Ended) -> str | None:
    """The version that the agent says it is; None if it says none."""
    versions = (turn.reply.agent_version for turn in reversed(ended.turns) if turn.reply is not None)
    return next((version for version in versions if version), None)


def tag_fault(tags: Mapping[str, str], scenario: Scenario) -> str | None:
    """Why a row of the scenario cannot have these tags besides its own; None if it can."""
    wanted = CHECKS["tags"](tags)
    if wanted is not None:
        return f"tags: {wanted}"
    flat = (name.removeprefix("tags.") for name in scenario.columns if name.startswith("tags."))
    own = {**scenario.columns.get("tags", {}), **dict.fromkeys(flat)}
    for name in tags:
        if name in own or not are_distinct({**own, name: ""}):
            return f"the scenario has the tag {name[:60]!r} already"
    return None if are_distinct(tags) else "two tags differ only in case"
