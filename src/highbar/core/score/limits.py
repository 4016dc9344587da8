"""How much reports show of the rows, each limit with its reason: every verdict must open, however many rows failed."""

from __future__ import annotations

MOST_EXAMPLES = 5
"""Ids or values in one message: it is read in a terminal."""
MOST_REFUSED = 20
"""Scenarios that one refusal names: enough to see what they have in common."""
MOST_OF_SUITE = 10
"""Missing, extra or different scenarios of a suite that a verdict names: one cause usually explains all."""
MOST_NAMED = 10
"""Behaviors in one reason: it is one line of a report."""
MOST_REASONS = 3
"""Reasons of one scenario with several trials: its line has room for so many."""
LONGEST_REASON = 300
"""Characters of an error in a reason: about four lines."""
LONGEST_ANSWER = 200
"""Characters of an expected answer in a reason: it is one line of a report."""
MOST_UNDECIDED_NAMED = 10
"""Undecided trials that a rule names, as the JSON document says."""
MOST_UNDECIDED_LISTED = 1000
"""Undecided scenarios that a verdict lists: as many as failed ones."""
MOST_FLAKY = 100
"""Flaky scenarios that a verdict lists: the most uncertain ones come first."""
MOST_SLICES = 1000
"""Values of a slice, the largest first: a column of the user's own may have as many as there are rows."""
MOST_TRIALS = 20
"""Trials of one scenario in the details; those that did not pass come first."""
MOST_BEHAVIORS = 100
"""Behaviors of one trial in the details: a suite that demands more is not read one by one."""
LONGEST_NAME = 300
"""Characters of a behavior or a label in the details: names are short, and text in their place is cut."""
LONGEST_EVIDENCE = 100_000
"""Characters of all evidence of one trial: more than Highbar itself writes."""
SHORTEST_TEXT, LONGEST_TEXT = 400, 4000
"""Characters of an input or an output in the details: fewer if many scenarios failed, so that a report opens."""
MOST_BINS = 40
"""Bars of the chart of latencies: as many as its width shows apart."""
