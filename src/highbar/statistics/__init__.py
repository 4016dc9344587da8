"""Pure functions: bounds, comparisons and planning. Numbers in, numbers out; nothing here knows of policies or files.

    bounds, ratio, bounded_ratio, composite, trials   the interval of one metric
    paired, slices, new_failures                      two versions, many slices, and scenarios that broke
    judges, agreement                                 people's labels, and how good a judge is
    spending, noisy_spending, betting, group_sequential, stopping   runs that stop as soon as they are decided
    planning, second_run                              what a run can show, and what the next one would
    drift, pooled                                     many runs over the same scenarios
    distributions, search, interval                   distributions, bisection, and the types of numbers

`alpha` is always the one-sided error, 1 minus the policy's confidence: `low` is above the truth at most that often,
and `high` is below it at most that often.
"""
