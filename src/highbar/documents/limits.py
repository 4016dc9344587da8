"""The limits of this package, each with its reason."""

from __future__ import annotations

MOST_POLICY_BYTES = 1024 * 1024
"""The size of a policy. People write it, and the largest real one has a few kilobytes: a larger file is a mistake."""
MOST_SUITE_BYTES = 64 * 2**20
"""The size of a suite, which lists every scenario and so may be far larger than a policy."""
MOST_NESTING = 64
"""The depth of mappings and lists inside each other: all readers of the tree recurse, and the stack is limited."""
MOST_BITS = 4096
"""The bits of a whole number in a policy: Python takes quadratic time to turn a longer one into decimal digits."""
MOST_DIGITS = 400
"""Digits of a number in a suite, a check or a reply, and the size of its exponent: enough for every real number."""
MOST_EXPONENT = 64
"""The exponent of a number up to which its digits are written out; beyond it they would be a line of zeros."""
MOST_REPAIRS = 100
"""Unquoted operators in one YAML file that are reported at once: the file is parsed again after each."""
MOST_PROBLEMS = 50
"""Problems of one file that are reported: one with more is the wrong file, and nobody reads them all."""
LONGEST_EXCERPT = 76
"""Characters of a line that a message shows: with the line number, it fits a terminal of 80 columns."""
