"""Two runs in, what changed out. The package is not called compare, which is a function of the API.

run       a run, scenario by scenario: of a baseline, or just reduced
pairing   two runs → the scenarios that are in both      differences   pairs → the difference of any metric
since     what rules that compare may look at            comparison    everything that changed, as a Comparison
"""
