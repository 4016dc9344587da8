"""What a run says about its judge: the member `judge` of `run.json`."""

from __future__ import annotations

from msgspec import Struct

from highbar.store.forms import COUNT, DIGEST, FLAG, NUMBER, SHARE, TEXTS, field, object_of, optional


class CanariesOfRun(Struct, frozen=True):
    """How a judge did on the suite's canaries: statements that people know to be true or false.

    `p_value` is the probability of so many wrong answers from a judge with its calibrated error rates, or with 10 %
    errors if it was never calibrated. `failed`: that is so unlikely that the judge is not trusted.
    """

    statements: int
    wrong: int
    p_value: float
    failed: bool


class JudgeOfRun(Struct, frozen=True):
    """The judge of a run. `by` has the texts of the rows' column `judge`: several if the model changed during the run.

    `trials` and `statements` count what was judged; for `failed` more trials the judge gave no usable answer. Tokens
    and cost are those of the judge, None if they are not known. `same_model`: the judge is also the model under test.
    """

    by: tuple[str, ...]
    prompt: str
    trials: int
    statements: int
    failed: int
    tokens_used: int | None
    cost_usd: float | None
    forms: tuple[str, ...]
    same_model: bool
    canaries: CanariesOfRun | None = None


JUDGE = optional(
    object_of(
        JudgeOfRun,
        field("by", TEXTS, "The texts of the rows' column `judge`."),
        field("prompt", DIGEST, "Of the prompt, the judge's settings and all statements of the suite."),
        field("trials", COUNT, "Trials that were judged."),
        field("statements", COUNT, "Statements that were judged."),
        field("failed", COUNT, "Trials about which the judge gave no usable answer."),
        field("tokens_used", optional(COUNT)),
        field("cost_usd", optional(NUMBER), "Of the judge alone; null if it is not known."),
        field("forms", TEXTS, "How structured output was asked for."),
        field("same_model", FLAG, "Whether the judge is the model that was run."),
        field(
            "canaries",
            optional(
                object_of(
                    CanariesOfRun,
                    field("statements", COUNT),
                    field("wrong", COUNT),
                    field("p_value", SHARE),
                    field("failed", FLAG, "Whether the judge is not believed."),
                )
            ),
            "What the judge made of the suite's canaries.",
        ),
    )
)
"""The form of the member `judge`; null if there was no judge."""
