"""Two runs in, what changed out. The package is not called compare, because that is a function of the API.

run       a run, scenario by scenario: from a baseline, or just reduced
pairing   two runs → the scenarios that are in both      differences   pairs → the difference of any metric
since     the evidence for rules that compare            comparison    everything that changed, as a Comparison
"""
