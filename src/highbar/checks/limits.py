"""How large checks and replies may be, so that every text takes bounded time and memory."""

from __future__ import annotations

MOST_TEXT = 2**24
"""Characters of a reply that are read; in a longer reply, a check can be found true but not false."""
MOST_FOUND = 500
"""Characters of evidence that a row stores."""
MOST_REMEMBERED = 2**16
"""Characters of a text whose folded form is cached; a longer text is folded again for each check, to save memory."""
MOST_WANTED = 10_000
"""Characters of a text or a pattern in a check."""
MOST_STATEMENT = 2000
"""Characters of a statement for a judge: a longer one says several things."""
DEEPEST_CHECK = 32
"""The depth of checks inside of checks."""
DEEPEST_VALUE = 200
"""The depth of JSON values inside of JSON values. The JSON Schema library crashes on much deeper values."""
MOST_JSON_VALUES = 10_000
"""JSON values that a must-not looks at in one reply."""
MOST_LISTED_VALUES = 100_000
"""JSON values in lists that a must-not looks at in one reply."""
MOST_LISTED_TEXT = 2**21
"""Characters of a reply times the depth of its lists in lists, each of which a must-not reads as a whole."""
DEEPEST_TEXT = 10
"""The depth of JSON texts inside of strings of JSON texts."""
MOST_SCHEMA_BYTES = 2**20
"""The size of a schema file."""
