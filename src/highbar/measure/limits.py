"""The limits of this package, each with its reason; `bench/coverage.py` has the measurements."""

from __future__ import annotations

FEW_WEIGHTED = 40
"""The effective number of scenarios that a weighted share needs: with fewer, its bounds do not hold."""
FEW_CLUSTERS = 20
"""Clusters, or scenarios of equal weight, below which bounds are rough."""
HEAVY = 0.10
"""The largest share of the weight that one scenario may have: with more, its luck decides the metric."""
FEWEST_OF_A_WEIGHT = 3
"""The fewest scenarios of a weight above the mean: fewer say little about the others of that weight."""
MOST_CATEGORIES = 10
"""Categories that the reason of an undefined metric lists."""
MOST_TERMS = 2000
"""The most terms of a polynomial that is expanded to find the sign of a derivative; longer ones are bounded instead."""
STEPS = 32
"""Steps in which a formula is evaluated over a part's interval: it may turn between the ends."""
ROUNDING = 1e-9
"""Relative error that sums of floats may have: smaller differences do not count."""
