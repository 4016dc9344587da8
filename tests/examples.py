"""Generated examples that many tests share: drawing one takes longer than what most tests do with it."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy

SHARED = 60
"""How many examples are drawn once for all tests of a strategy."""


def shared(strategy: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `@given(strategy)`, on examples that all tests of a process share. Random search draws its own and shrinks."""
    if os.environ.get("HIGHBAR_FUZZ"):
        return given(strategy)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            for example in _drawn(strategy):
                try:
                    test(**fixtures, **{name: example})
                except BaseException as error:
                    error.add_note(f"with {example!r}")
                    raise

        *others, (name, _) = inspect.signature(test).parameters.items()
        tried.__signature__ = inspect.Signature([parameter for _, parameter in others])  # type: ignore[attr-defined]
        return tried

    return decorate


@functools.cache
def _drawn(strategy: SearchStrategy[Any]) -> list[Any]:
    found: list[Any] = []

    @settings(max_examples=SHARED, phases=(Phase.generate,))
    @given(strategy)
    def draw(example: Any) -> None:
        found.append(example)

    draw()
    return found
