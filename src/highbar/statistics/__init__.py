"""Pure kernels: bounds, comparisons and planning. Numbers in, numbers out; nothing here knows of policies or files.

`alpha` is everywhere the one-sided error, 1 minus the policy's confidence: `low` is wrong (above the truth) at most
that often, and so is `high` (below it).
"""
