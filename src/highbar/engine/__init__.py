"""Trials in, sums out: the engine scores each trial, sums per scenario, then per group. What comes back is small."""
