"""The limits of this package, each with its reason."""

from __future__ import annotations

from fractions import Fraction

MOST_DIGITS = 40
"""Digits of a number in a threshold or a formula: more than any unit needs, and exact arithmetic stays fast."""
MOST_CHARACTERS = 10_000
"""Characters of a formula: far more than anyone writes, and few enough to read at once."""
MOST_NESTING = 64
"""Brackets and signs inside each other: deeper formulas are unreadable, and everything that reads the tree recurses."""
MOST_OPERATORS = 200
"""Operators of a formula: the tree of a chain of operators is as deep as the chain is long."""
MOST_NAMES = 10
"""Names in a message: enough to find the cause, few enough to read. Reports list all."""
MOST_PLACES = 12
"""Decimal places that keep a number on its side of a threshold; if more are needed, words say which side it is on."""
LARGEST_WRITTEN_OUT = Fraction(10) ** 15
"""Numbers from here on are shown with six digits and an exponent: a double cannot hold their last digits."""
LONGEST_WORD = 80
"""Letters up to which two words are compared edit by edit, which takes the product of their lengths."""
SHORTEST_SLIP = 5
"""Letters from which on one edit is a slip: many different short names are a single edit apart (`id` and `in`)."""
SHORTEST_OF_SEVERAL = 11
"""Letters from which on more than one edit can be a slip: `regression` and `progression` are two edits apart."""
LONGEST_NAME = 60
"""Characters of the name of another tool's test or assertion: longer ones are texts, and get a digest."""
LONGEST_TAG = 200
"""Characters of a value that becomes a tag or a label: longer ones are texts, which are useless as slices."""
