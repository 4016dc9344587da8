"""JSON as Highbar writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def encode(document: Mapping[str, Any] | Sequence[Any]) -> str:
    r"""A document as text that neither an HTML page nor a CI log interprets: ASCII only, without `<` and `##`.

    The escapes `\u003c` and `#\u0023` replace these. Raises ValueError for NaN and infinities, which only a bug can
    put there.
    """
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    # Both occur only inside of strings, where the escapes mean the same. `##[` begins a command to a CI runner.
    return text.replace("<", r"\u003c").replace("##", r"#\u0023") + "\n"
