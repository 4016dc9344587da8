"""JSON as Highbar writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def encode(document: Mapping[str, Any] | Sequence[Any]) -> str:
    r"""A document as text: ASCII only, with `<` as `\u003c` and no `##[`, so that no page or CI log obeys it.

    Raises ValueError for NaN and infinities, which only a bug can put there.
    """
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("<", r"\u003c").replace("##", r"#\u0023") + "\n"
