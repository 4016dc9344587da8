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
MOST_SUGGESTIONS = 200
"""Problems of one file that get a "did you mean": finding one compares a word with all candidates."""
MOST_KEYS = 10
"""Known keys that a message about an unknown one lists: those that most policies need come first."""
MOST_PROBLEMS = 50
"""Problems of one policy that are reported: more are the wrong file, and nobody reads them."""
LONGEST_MESSAGE = 600
"""Characters of a message or a hint about a policy: its keys and texts may be as long as the file."""
LONGEST_PATH = 120
"""Characters of the path to a value, in front of a message."""
LONGEST_EXCERPT = 76
"""Characters of a line that a message shows: with its number it fits a terminal of 80 columns."""
MOST_FOLDER_ENTRIES = 1000
"""Entries of a folder that are searched for a misnamed policy: a message must not take long."""
MOST_ALIKE = 5
"""Misnamed policies that a message lists."""
LONGEST_LABEL = 200
"""Characters. A longer text in a column of the user's own is content, not a label that a suite fixes."""
MOST_CHAIN = 64
"""Metrics that are defined by each other, one after the other: evaluation recurses once for each."""
MOST_WEIGHTS = 100
"""Metrics in the weighted score: its formula is a chain of that many sums, and its interval compares all pairs."""
MOST_FAILURES = 1000
"""The largest acceptance number: how many scenarios it takes to show it is searched for one by one."""
