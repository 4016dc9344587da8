"""The command line: arguments in, streams and an exit code out.

app       the commands, each loaded when it is used      guard     exit codes, signals, what went wrong
streams   standard output and error                      outputs   reports into files
"""

from highbar.cli.guard import main, run_guarded

__all__ = ["main", "run_guarded"]
