"""The limits of this package, each with its reason; `bench/coverage.py` has what was measured."""

from __future__ import annotations

FEW_WEIGHTED = 40
"""Scenarios of equal weight that a weighted share must be worth: with fewer its bounds do not hold."""
FEW_CLUSTERS = 20
"""Clusters, or scenarios of equal weight, below which bounds are rough."""
HEAVY = 0.10
"""The share of the weight that one scenario may carry before its luck decides the metric."""
FALSE_DISCOVERIES = 0.10
"""The share of the slices marked as worse that may be marked by chance."""
MOST_CATEGORIES = 10
"""Categories that the reason of an undefined metric lists."""
MOST_TERMS = 2000
"""Of a polynomial that is written out to find the sign of a derivative; longer ones are bounded instead."""
STEPS = 32
"""Points of a part's interval at which a formula is evaluated: it may turn between the ends."""
ROUNDING = 1e-9
"""Relative error that sums of floats may have: smaller differences do not count."""
