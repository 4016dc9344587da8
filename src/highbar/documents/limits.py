"""The limits of this package, each with its reason."""

from __future__ import annotations

MOST_POLICY_BYTES = 1024 * 1024
"""A policy is written by people; the largest real one has a few kilobytes. Anything larger is the wrong file."""
MOST_SUITE_BYTES = 64 * 2**20
"""A suite lists every scenario, so it may be far larger than a policy."""
MOST_NESTING = 64
"""Mappings and lists inside each other: all readers of the tree recurse, and must not run out of stack."""
MOST_BITS = 4096
"""Of a number in a policy: Python takes quadratic time to turn a longer one into decimal digits."""
MOST_EXPONENT = 64
"""Of a float in a policy: written out in full up to here, beyond it would be a line of zeros."""
MOST_REPAIRS = 100
"""Unquoted operators of one YAML file that are reported at once: the file is parsed again after each."""
MOST_PROBLEMS = 50
"""Problems of one policy that are reported: more are the wrong file, and nobody reads them."""
LONGEST_EXCERPT = 76
"""Characters of a line that a message shows: with its number it fits a terminal of 80 columns."""
