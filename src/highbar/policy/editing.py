"""Finds the numbers of thresholds in the text of a policy, and replaces their digits: `≥ 85%` becomes `≥ 93.1%`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct

from highbar.language.exact import NUMBER, write_decimal
from highbar.model import Place, Threshold

# A threshold from its first character or the quote before it: operator (JSON may write ≥ as \u2265), number, unit.
_WRITTEN = re.compile(rf"[\"']?\s*(?:≥|>=|>|≤|<=|<|==|=|\\u[0-9a-fA-F]{{4}}=?)?\s*\$?({NUMBER})\s*(%|ms|s)?", re.ASCII)
_SCALE_OF = {"%": Fraction(1, 100), "s": Fraction(1000), "ms": Fraction(1)}


class WrittenNumber(Struct, frozen=True):
    """The number of a threshold in a policy's text. The threshold's value is the number times `scale`."""

    start: int
    end: int
    digits: str
    scale: Fraction

    @property
    def decimals(self) -> int:
        """The number of digits after the point."""
        return len(self.digits.partition(".")[2])

    def write(self, threshold: Threshold) -> str:
        """The digits of `threshold` at this scale. A fraction always has a point, since a bare 1 could also mean 1%."""
        text = write_decimal(threshold.value / self.scale)
        return f"{text}.0" if threshold.unit == "ratio" and self.scale == 1 and "." not in text else text


class PolicyText:
    """A policy's text, and the places of its thresholds in it."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8")
        self._lines = [int(self.text.startswith("\ufeff")), *(found.end() for found in re.finditer("\n", self.text))]

    def written(self, place: Place, threshold: Threshold) -> WrittenNumber | None:
        """The number of the threshold at `place`; None if the text there does not read as exactly that threshold."""
        if place.line is None or place.column is None or place.line > len(self._lines):
            return None
        found = _WRITTEN.match(self.text, self._lines[place.line - 1] + place.column - 1)
        if found is None:
            return None
        # The scale comes from the value that the reader found: a bare 85 may be a percentage.
        number = Fraction(found[1])
        scale = threshold.value / number if number else _SCALE_OF.get(found[2] or "", Fraction(1))
        known = scale in _SCALE_OF.values() and number * scale == threshold.value
        return WrittenNumber(found.start(1), found.end(1), found[1], scale) if known else None

    def edited(self, edits: Iterable[tuple[WrittenNumber, Threshold]]) -> bytes:
        """The text with other thresholds in place of these numbers."""
        text = self.text
        # From the last to the first, so that the offsets of the others stay valid.
        for written, after in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
            text = text[: written.start] + written.write(after) + text[written.end :]
        return text.encode("utf-8")
