"""The limits of this package, each with its reason."""

from __future__ import annotations

LONGEST_LABEL = 200
"""Characters. A longer text in a column of the user's own is content, not a label that is compared with results."""
MOST_TRIALS = 10_000
"""Trials of one scenario: more is a typing error."""
LONGEST_TIME = 7 * 24 * 3600
"""Seconds of a timeout: no call takes longer than a week."""
LARGEST_REPLY = 2**30
"""Bytes of a reply, which is held in memory."""
MOST_CONCURRENT = 10_000
"""Calls at once: no machine has that many connections to spare."""
MOST_RETRIES = 100
"""Attempts of one call: after so many, an endpoint does not come back."""
FEWEST_JUDGES, MOST_JUDGES = 2, 9
"""Judges under `judges`, whose majority counts."""
MOST_STATEMENTS = 50
"""Statements that a judge is asked in one call: with more, it overlooks some of them."""
MOST_CANARIES = 1000
"""Canaries of a suite: each is a call of every judge in every run."""
MOST_SUGGESTIONS = 50
"""Problems that get a "did you mean": no more are shown, and finding one compares a word with all candidates."""
