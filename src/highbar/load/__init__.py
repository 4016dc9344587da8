"""Arguments in, results files out: which files, in which format; and, where one is refused, the exact line and why."""
