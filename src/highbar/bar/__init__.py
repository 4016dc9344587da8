"""The bar over time: as it was at a git ref, how it was weakened since, recorded as a baseline, raised by a ratchet.

at_ref                              judges by the policy as it is, and as it was at a git ref
regrading, quarantining             what else counts as it was there: the checks of a suite, and the quarantine
weakened_policy, weakened_files     what a change demands less: in the policy, in its baseline and labels
recording, pooled_recording         a run, or the last runs of a history → a baseline
raising, ratchet                    a policy file → with thresholds raised to a baseline or pooled runs; proposals
run_records, recalling, on_demand   a run → its record in the history; what records say, read only if needed
"""
