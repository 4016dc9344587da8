"""The limits of this package, each with its reason."""

from __future__ import annotations

MOST_SUGGESTIONS = 200
"""Problems of one file that get a "did you mean": finding one compares a word with all candidates."""
MOST_KEYS = 10
"""Known keys that a message about an unknown one lists: those that most policies need come first."""
LONGEST_MESSAGE = 600
"""Characters of a message or a hint about a policy: its keys and texts may be as long as the file."""
LONGEST_PATH = 120
"""Characters of the path to a value, in front of a message."""
MOST_FOLDER_ENTRIES = 1000
"""Entries of a folder that are searched for a misnamed policy: a message must not take long."""
MOST_ALIKE = 5
"""Misnamed policies that a message lists."""
LONGEST_LABEL = 200
"""Characters. A longer text in a column of the user's own is content, not a label that a suite fixes."""
MOST_CHAIN = 64
"""The longest chain of metrics that each use the next in their formula: evaluation recurses once for each."""
MOST_WEIGHTS = 100
"""Metrics in the weighted score: its formula is a chain of that many sums, and its interval compares all pairs."""
MOST_HORIZON = 1_000_000
"""Scenarios that a rule may be planned for."""
MOST_TRIALS = 10_000
"""Trials of one scenario, as many as a suite may have: more is a typing error."""
MOST_FAILURES = 1000
"""The largest acceptance number: the number of scenarios that it needs is found by trying one after the other."""
