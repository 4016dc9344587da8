"""How large a check and a reply may be, so that no text takes more than bounded time and memory."""

from __future__ import annotations

MOST_TEXT = 2**24
"""Characters of a reply that are read; in a longer one, a check can be found true but not false."""
MOST_FOUND = 500
"""Characters of evidence that a row keeps."""
MOST_REMEMBERED = 2**16
"""Longer texts are normalized again for each check: to remember them would take too much memory."""
MOST_WANTED = 10_000
"""Characters of a text or a pattern in a check."""
MOST_STATEMENT = 2000
"""Characters of a statement for a judge: a longer one says several things."""
MOST_DIGITS = 400
"""Digits of a number in a reply, and the size of its exponent; a longer one equals no number of a check."""
DEEPEST_CHECK = 32
"""Checks inside of checks."""
DEEPEST_VALUE = 200
"""JSON values inside of JSON values. The JSON Schema library crashes on values that are much deeper."""
MOST_SCHEMA_BYTES = 2**20
"""The size of a schema file."""
