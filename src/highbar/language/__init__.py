"""The small languages of policies and reports: formulas, thresholds, exact numbers, spelling."""
