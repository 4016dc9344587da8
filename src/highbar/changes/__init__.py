"""Two runs in, what changed out. The package is not called compare, because that is a function of the API.

scored_run    a run, scenario by scenario: from a baseline, or just reduced
record_sums   its scenarios → the sums that metrics are computed from, as an engine computes them from rows
pairing       two runs → the scenarios that are in both
paired_runs   the sums of both → the bounds of head minus base, for a share, a ratio, a percentile or a formula
differences   pairs and a policy → the difference of any metric
since         a run and its policy → the evidence for rules that compare with earlier runs
comparison    two runs and a policy → everything that changed, as a Comparison
outputs       a comparison → the same with the trials of scenarios that broke or were fixed
"""
