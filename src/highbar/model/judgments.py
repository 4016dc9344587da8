"""What a judge is asked about one trial, what it said, and what people said about the same trial."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
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
    """A judge's answer to one statement. `evidence` is a quote; `votes` has the answers of judges that disagree."""

    judgment: JudgmentWord
    evidence: str | None = None
    votes: tuple[JudgmentWord, ...] = ()


class JudgeAnswer(Struct, frozen=True, omit_defaults=True):
    """The result of one question to a judge. `failure` says why there is no judgment; then `statements` is empty.

    `model` is the name that the endpoint reports. `refusal` is set if the answer looks like that of a wrong key or
    address. `unusable`: the judge was reached, but its answer cannot be used. `form` is how structured output was
    requested. Tokens and cost are None if they are not known.
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

    `table` has one character for each combination of statements: `1` observed, `0` not observed, `?` not known. Bit i
    of a character's index says whether statement `of[i]` is true. The table is empty if there are too many statements.
    A behavior that is one statement and nothing else needs no table.
    """

    of: tuple[str, ...]
    table: str


class JudgedTrial(Struct, frozen=True, omit_defaults=True):
    """The column `judged` of a row: what a judge said about one trial.

    `digest` is computed from judge, prompt, statements and conversation: it identifies a question to a judge.
    `conversation` is computed from statements and conversation alone: it identifies what people label. `replayed`: an
    earlier judgment was reused.
    """

    digest: str
    conversation: str
    statements: Mapping[str, JudgedStatement]
    behaviors: Mapping[str, BehaviorTable] = {}
    replayed: bool = False


class Sampling(Struct, frozen=True, omit_defaults=True):
    """How a labeled trial was chosen, and how it was judged: the key `sample` of a label.

    `run` is the digest of all judgments of the run that it was drawn from. `stratum` is `passed` or `failed` by the
    judge's answers, or `given` if the label was written by hand; `drawn` of `of` trials of the stratum were drawn at
    random with `seed`. `row` has the columns by which the trial is scored, without texts.
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
    then nothing says which conversation it is about. `on` is the day of the answer; None if nobody wrote it down.
    """

    id: str
    trial: int
    behavior: str
    observed: bool | None
    by: str
    sample: Sampling | None = None
    on: date | None = None


class LabeledTrial(Struct, frozen=True):
    """A trial that people labeled: as a row by the judge's answers, and as a row by people's.

    `statements` has a pair (judge, people) for each name; the people's answer is that of the majority, None if there is
    no majority. `as_judged` and `as_labeled` differ only in what the statements decide. If the labels leave the trial
    undecided, `as_labeled` has `unjudged`. `on` is the day of the oldest label; None if a label does not say its day.
    """

    id: str
    trial: int
    sample: Sampling
    statements: Mapping[str, tuple[JudgmentWord, bool | None]]
    as_judged: Mapping[str, Any]
    as_labeled: Mapping[str, Any]
    on: date | None = None

    @property
    def is_complete(self) -> bool:
        """Whether people answered every statement; "cannot tell" is an answer, and counts as a failure."""
        return "unjudged" not in self.as_labeled

    @property
    def is_answered(self) -> bool:
        """Whether people agree on an answer to every statement, and the answers decide the trial."""
        return self.is_complete and all(observed is not None for _, observed in self.statements.values())
