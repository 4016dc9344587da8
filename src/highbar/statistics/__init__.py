"""Pure functions: bounds, comparisons and planning. Numbers in, numbers out; nothing here knows of policies or files.

`alpha` is always the one-sided error, 1 minus the policy's confidence: `low` is above the truth at most that often,
and `high` is below it at most that often.
"""
