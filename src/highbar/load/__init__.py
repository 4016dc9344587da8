"""Job in, Results out: which files, in which format, counted; and if they are refused, the exact lines and why."""
