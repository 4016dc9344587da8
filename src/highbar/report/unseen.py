"""What a suite cannot see: the loss that a comparison with a run would often miss, in words."""

from __future__ import annotations

from highbar.language.phrases import count
from highbar.planning import UnseenLoss

_TEN = 10


def say_unseen(found: UnseenLoss | None) -> str:
    """`60 scenarios: a loss of 5 points is missed …`; empty if nothing can be said."""
    if found is None:
        return ""
    missed = round(_TEN * found.missed)
    often = f"over {_TEN - 1}" if missed == _TEN else f"up to {missed}" if found.at_most else f"{missed}"
    loss = count(1, "point") if found.loss == 0.01 else f"{100 * found.loss:g} points"
    sentence = f"{found.scenarios} scenarios: a loss of {loss} of {found.metric} is missed in {often} of {_TEN} runs"
    return sentence if found.enough is None else f"{sentence}; {found.enough} would find it in 8 of {_TEN}"
