"""`python -m highbar.running.child REQUESTS REPLIES SLOTS`: inherited file descriptors. `process` starts it.

The first message says what to load: {role: agent, name, folder, largest} or {role: checks, folder, largest}. The reply
to `agent` is READY with {is_async, takes_scenario}, or REFUSED. Functions of checks are looked up when they are called.
With `watch`, what they read is noted: see `watching`.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from highbar.running.child.guardian import fork_under_guardian


def main() -> None:
    """Fork under a guardian, and serve there."""
    requests, replies, shared = (int(argument) for argument in sys.argv[1:4])
    try:
        fork_under_guardian((requests, replies, shared))
    except OSError as error:
        from highbar.running.child import frames  # see _serve

        frames.write_message(replies, frames.encoded(frames.NOT_STARTED, 0, 0.0, os.strerror(error.errno or 0)))
        return
    _guard_pipes((requests, replies, shared))
    _serve(requests, replies, shared)


def _guard_pipes(files: tuple[int, ...]) -> None:
    """Keep the functions, and the processes that they start or fork, away from the pipes of the messages."""
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:  # Highbar was started without standard error
        os.dup2(nothing, 2)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # so that prints appear even if the process is killed
    for file in files:
        os.set_inheritable(file, False)  # noqa: FBT003  # the standard library's own
    os.register_at_fork(after_in_child=lambda: [os.dup2(nothing, file) for file in files])
    signal.signal(signal.SIGINT, lambda *_: None)  # the parent decides when to stop


def _serve(requests: int, replies: int, shared: int) -> None:
    from highbar.running.child import frames  # after the fork: the guardian needs nothing of this

    received: list[frames.Message] = []
    reader = frames.MessageReader()
    while not received:
        if not reader.read(requests, received.append):
            return
    setup: dict[str, Any] = received[0][3]
    # Load our own modules before the suite's folder is on the path: a module there may have any name, such as queue.
    from highbar.running.child import checks, finding, threads, watching  # noqa: F401  # see above

    # Python uses stored bytecode for a changed file if its size and the second of its change are the same. Answers
    # would then come from code that no longer exists.
    sys.dont_write_bytecode = True
    watching.begin(setup.get("watch"), replies)
    sys.path.insert(0, setup["folder"])
    sys.argv[:] = [setup.get("name", "")]
    if setup["role"] == "agent":
        _serve_agent(setup, requests, replies, shared)
    else:
        # Messages right after the first one have been read with it.
        checks.serve(setup["folder"], requests, replies, setup["largest"], reader, received[1:])


def _serve_agent(setup: dict[str, Any], requests: int, replies: int, shared: int) -> None:
    from highbar.running.child import finding, frames, watching  # see _serve
    from highbar.running.child.slots import Slots  # see _serve

    frames.write_message(replies, frames.encoded(frames.LOADING, 0))
    try:
        function = finding.find_function(setup["name"], setup["folder"])
        takes_scenario = finding.takes_scenario(setup["name"], function)
    except finding.NoFunction as refused:
        frames.write_message(replies, frames.encoded(frames.REFUSED, 0, 0.0, refused.fields))
        return
    is_async = finding.is_async(function)
    if is_async:
        # The suite's folder is hidden meanwhile, for the same reason: asyncio imports modules that it may shadow.
        beside, sys.path[:] = sys.path[:], [path for path in sys.path if path != setup["folder"]]
        from highbar.running.child.loop import serve  # asyncio is slow to load, and sync functions need none of it

        sys.path[:] = beside
    else:
        from highbar.running.child.threads import serve  # see above
    facts = {"is_async": is_async, "takes_scenario": takes_scenario}
    watching.note_modules()
    frames.write_message(replies, frames.encoded(frames.READY, 0, 0.0, facts))
    serve(_with_scenario(function) if takes_scenario else function, requests, replies, Slots(shared), setup["largest"])


def _with_scenario(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda said, scenario: function(said, scenario=scenario)


if __name__ == "__main__":
    main()
