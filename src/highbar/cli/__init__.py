"""The command line: arguments in, streams and an exit code out.

app       the table of commands, each loaded on use      guard     exit codes, signals and errors
streams   standard output and standard error             outputs   reports written to files
options   what several commands share                    check     `highbar check`, and what `run` shares with it

Each command has a module of its name, and a long subcommand one such as `history_add`. `run_in_terminal` and
`deciding` are for `run`; the files in `starters` are what `init` writes.
"""

from highbar.cli.guard import main, run_guarded

__all__ = ["main", "run_guarded"]
