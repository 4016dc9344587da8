"""What a judge is asked about one trial, what it said, and what people said about the same trial."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

JudgmentWord = Literal["observed", "not_observed", "cannot_tell"]


class JudgeQuestion(Struct, frozen=True):
    """All statements about one trial, by name, and the conversation that they are about, in chat form.

    A message has a `role`, and `content` (text or None) or `tool_calls` (`[{name, arguments}]`); none of it is trusted.
    """

    statements: Mapping[str, str]
    conversation: tuple[Mapping[str, Any], ...]


class StatementJudgment(Struct, frozen=True, omit_defaults=True):
    """What a judge found of one statement. `evidence` is a quote; `votes` are those of several judges that differ."""

    judgment: JudgmentWord
    evidence: str | None = None
    votes: tuple[JudgmentWord, ...] = ()


class JudgeAnswer(Struct, frozen=True, omit_defaults=True):
    """What one question to a judge came to. `failure` says why there is no judgment; `statements` is empty then.

    `model` is what the endpoint calls itself. `refusal` names an answer that a wrong key or address gives. `unusable`:
    the judge answered, but not in a way that can be used, as against one that could not be reached. `form` is how
    structured output was asked for. Tokens and cost are None if they are not known.
    """

    statements: Mapping[str, StatementJudgment] = {}
    model: str | None = None
    failure: str | None = None
    refusal: str | None = None
    unusable: bool = False
    attempts: int = 1
    tokens_used: int | None = None
    cost_usd: Decimal | None = None
    form: str | None = None


class JudgedStatement(Struct, frozen=True, omit_defaults=True):
    """One statement in the column `judged` of a row."""

    statement: str
    judgment: JudgmentWord
    evidence: str | None = None
    votes: tuple[JudgmentWord, ...] = ()


class BehaviorTable(Struct, frozen=True):
    """How a behavior follows from several statements, or from statements and other checks.

    `table` has one character for each combination, `1` observed, `0` not, `?` not known. Bit i of its place says
    whether statement i of `of` is true. It is empty if there are too many statements. A behavior that is one statement
    and nothing else needs no table.
    """

    of: tuple[str, ...]
    table: str


class JudgedTrial(Struct, frozen=True, omit_defaults=True):
    """The column `judged` of a row: what a judge said about one trial.

    `digest` is of judge, prompt, statements and conversation: the same question to the same judge. `conversation` is of
    statements and conversation alone: what people label. `replayed`: an earlier judgment was used again.
    """

    digest: str
    conversation: str
    statements: Mapping[str, JudgedStatement]
    behaviors: Mapping[str, BehaviorTable] = {}
    replayed: bool = False


class Sampling(Struct, frozen=True, omit_defaults=True):
    """How a labeled trial was chosen, and what the judge made of it: the key `sample` of a label.

    `run` is the digest of all judgments of the run that it was drawn from. `stratum` is `passed` or `failed`, as the
    judge had it; `drawn` of `of` trials of that stratum were drawn at random with `seed`. `row` has the columns of the
    trial by which it is scored, without texts.
    """

    run: str
    seed: int
    stratum: str
    drawn: int
    of: int
    judge: str | None
    row: Mapping[str, Any]
    judged: JudgedTrial


class Label(Struct, frozen=True, omit_defaults=True):
    """What a person said about one statement of one trial: a line of `labels.jsonl`.

    `observed` is None if the person cannot tell. `sample` is None if the label was not made by `highbar judge label`:
    then nothing says which conversation it is about.
    """

    id: str
    trial: int
    behavior: str
    observed: bool | None
    by: str
    sample: Sampling | None = None


class LabeledTrial(Struct, frozen=True):
    """A trial that people labeled: as the judge had it, and as people have it.

    `statements` has the pairs (judge, people) by name; the people's side is the majority, None if there is none.
    `as_judged` and `as_labeled` are rows that differ only in what the statements decide. If the labels leave it
    undecided, `as_labeled` has `unjudged`.
    """

    id: str
    trial: int
    sample: Sampling
    statements: Mapping[str, tuple[JudgmentWord, bool | None]]
    as_judged: Mapping[str, Any]
    as_labeled: Mapping[str, Any]

    @property
    def is_complete(self) -> bool:
        """Whether people said something about every statement. What they could not tell counts as a failure."""
        return "unjudged" not in self.as_labeled

    @property
    def is_answered(self) -> bool:
        """Whether people agree on an answer to every statement, and the answers decide the trial."""
        return self.is_complete and all(observed is not None for _, observed in self.statements.values())
