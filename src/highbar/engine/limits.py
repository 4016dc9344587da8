"""The limits of the engine, each with its reason. What reports show is limited too, so that every verdict opens."""

from __future__ import annotations

# --- how much is read at once ----------------------------------------------------------------

MOST_JSON_WORK = 50_000_000
"""Bytes times brackets of a JSON text above which DuckDB is not used: it copies the text at every level."""
FEW_FILES = 3
"""Up to this many Parquet files, a query for each finds its columns; for more, one query for all is faster."""
LARGE_BYTES = 4_000_000
"""From here on a first look at a sample pays, and JSON rows are first assumed to be alike, which saves a pass."""
SMALL_BYTES = 500_000
"""Up to here a second thread and a better plan take longer to set up than they save."""
SOME_ROWS = 20_000
"""Rows of a first look: enough to estimate how frequent grave failures are."""

# --- how much is in memory at once -----------------------------------------------------------

MOST_IDS_AT_ONCE = 5_000_000
"""Ids that are compared at once; more are compared in two turns, which needs half the memory."""
MOST_STORED_SCENARIOS = 1_000_000
"""Up to this many scenarios with undecided trials, those trials are stored instead of scored again for every query."""
MOST_VALUES_AT_ONCE = 20_000_000
"""Values of a grouping whose quantiles are found with all in memory; for more, only values near a rank are counted."""
MOST_VALUES_WITHIN_LIMIT = 1_000_000
"""The same if the caller limits the memory."""
MOST_VALUES_TOGETHER = 20_000_000
"""Values of all groupings that one query handles together; for more, each grouping has its own, to save memory."""
MOST_IN_ORDER = 50_000
"""Trials of a group that are put in one order; for more, their effective number at the percentile itself is used."""
ALL_IN_ORDER = 1_000
"""Trials of a group whose order is fetched as a whole, which saves a query."""
SAMPLED = 100_000
"""About how many numbers of a group are sampled to bracket its ranks, if approximating all of them costs too much."""
ALL_INSIDE = 10_000
"""Numbers of a group that are all counted one by one: for so few a bracket would save nothing."""
MOST_FETCHED = 200
"""Rows of a profile that are fetched from Spark, about 400 bytes each; a larger one, of a large slice, stays there."""

MOST_RUNS = 10_000
"""Runs whose rows are counted: more than one run can have shards (9,999)."""

# --- how much a report shows -----------------------------------------------------------------

MOST_SLICES = 1000
"""Values of a slice, the largest first; the others are counted and warned about, but not measured."""
MOST_REFUSED = 20
"""Scenarios that one refusal names: enough to see what they have in common."""
MOST_EXAMPLES = 5
"""Ids or values in one message."""
MOST_UNDECIDED_NAMED = 10
"""Undecided trials that a rule names."""
MOST_UNDECIDED_LISTED = 1000
"""Undecided scenarios that a verdict lists, as many as failed ones."""
MOST_FLAKY = 100
"""Flaky scenarios that a verdict lists."""
MOST_SUITE_IDS = 10
"""Missing, extra or different scenarios of a suite that a verdict names."""
MOST_COMPARED_ROWS = 100
"""Rows of one (id, trial) that are compared to find what distinguishes them."""
MOST_TRIALS = 20
"""Trials of one scenario in the details; those that did not pass come first."""
MOST_BEHAVIORS = 100
"""Behaviors of one trial in the details."""
LONGEST_NAME = 300
"""Characters of a behavior or a label in the details."""
LONGEST_EVIDENCE = 100_000
"""Characters of all evidence of one trial; more than Highbar itself writes."""
SHORTEST_TEXT, LONGEST_TEXT = 400, 4000
"""Characters of an input or an output in the details: fewer if many scenarios failed."""
MOST_BINS = 40
"""Bars of the chart of latencies."""
