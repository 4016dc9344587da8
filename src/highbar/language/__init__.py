"""The small languages of a policy and of its reports: formulas, thresholds, exact numbers, spelling."""
