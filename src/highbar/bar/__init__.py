"""The bar over time: as it was at a git ref, what differs since, recorded as a baseline, raised by a ratchet.

at_ref, policy_there, merging       judges by the policy as it is, and as it was at a git ref; the worse verdict wins
regrading, copied_rows              the answers of a run → rows as the suite at the ref grades them
differences                         what differs from the bar at the ref: a diff, and the digest to accept it by
recording, pooled_recording         a run, or the last runs of a history → a baseline
raising, ratchet                    a policy file → with thresholds raised to a baseline or pooled runs; proposals
run_records, recalling, on_demand   a run → its record in the history; what records say, read only if needed
"""
