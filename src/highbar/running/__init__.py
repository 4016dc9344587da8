"""A suite and an agent in, a run folder with results out. Nothing here judges a version: `check` reads the results.

    suite + agent  →  calls  →  journal  →  graded rows  →  results.jsonl

    preparing       a suite and options (choices), or a run to resume → a run that can begin
    execution       calls, records and grades it: the steps below in order
    scheduling      what is called when (order, concurrency), tried again (retries) or not begun any more (stopping)
    conversation    one trial: the next question, and how the trial ends; `agents` makes one attempt (calls)
    folder          the folder of a run: its journal (records, journal_state), its results and its document
    judging         asks a judge about statements in plain words
    grading         an answer (received) → a row (rows), with the functions of checks (functions, child)
    finishing       all rows and the document of a run
    deciding        stops a run as soon as its verdict is certain
    progress        how far a run is (histogram, for its latencies); `summary` is how it ended
    regrading       recorded answers (recorded_answers) → rows by another suite (grading_suite)
    replaying       the order of a recorded run, verified against its seed
    loops           an event loop for one coroutine, also in a notebook

In parentheses: the modules that each of them uses.
"""
