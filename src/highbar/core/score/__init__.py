"""Rows → what a verdict is made of: row → Trial → Scenario → Scores → sums.

trial        one row: what it says, and what that is worth
measures     what a trial adds to each measure
scenario     the trials of one scenario together
scores       all trials of a run, as they come
settled      its scenarios, when all are there
groups       sums of the whole and of each slice; ranks: percentiles
reduce       all of these in order
records      single scenarios, for comparisons
"""
