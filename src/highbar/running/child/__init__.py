"""The process in which functions of the user run: an agent in Python, or the functions of checks.

    process     starts and ends the process (parent side)
    frames      the messages between the two processes, as bytes (both sides)
    slots       which calls run, and since when, in shared memory (both sides)
    guardian    ends everything that the process started, whatever happens to it or to the parent (child side)
    finding     `module:function` → the function, or why it cannot be used (child side)
    watching    what the functions read, import and start (child side)
    asking, places   who asks, and for what (child side)
    finders     find modules in the copy of a repository (child side)
    values      calls a function; what it returned → plain values (child side)
    threads, loop, checks   call sync functions, async functions, and functions of checks (child side)

A function that calls `os._exit(0)`, crashes or never returns can end or block that process, and nothing else. The
child side must start quickly, so it imports nothing of Highbar but this package.
"""
