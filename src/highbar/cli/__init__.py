"""The command line: arguments in, streams and an exit code out.

app       the table of commands, each loaded on use      guard     exit codes, signals and errors
streams   standard output and standard error             outputs   reports written to files
"""

from highbar.cli.guard import main, run_guarded

__all__ = ["main", "run_guarded"]
