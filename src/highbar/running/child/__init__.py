"""The process in which functions of the user run: an agent in Python, or the functions of checks.

    process     starts and ends it (this side)
    frames      the messages between the two processes, as bytes (both sides)
    slots       which calls run since when, in shared memory (both sides)
    guardian    ends everything that the process started, whatever happens to it or to us (that side)
    finding     `module:function` → the function, or why it cannot be used (that side)
    values      what a function returned → plain values (that side)
    threads, loop, checks   call sync functions, async functions, and functions of checks (that side)

A function that calls `os._exit(0)`, crashes or never returns can end or block that process, and nothing else. That
side must start quickly: it imports nothing of Highbar but this package.
"""
