"""Job in, Results out: which files, in which format, and how many results; if they are refused, exact lines and why."""
