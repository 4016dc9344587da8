"""`highbar` as a command that starts at once: a server that has loaded everything forks a process for each call.

The pages have some hundred and fifty commands, in pipes and with exit codes; to load the product takes most of the
time of each. A call is still a process of its own, with the caller's folder, environment and streams.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import pkgutil
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.patience import wait_for

ROOT = Path(__file__).resolve().parents[2]
CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(call).to_bytes(4)], [0, 1, 2])
    server.sendall(call)
    answer = server.recv(1)
sys.exit(answer[0] if answer else 255)
"""
MOST_BYTES = 1 << 20


@functools.cache
def command() -> str:
    """The text of a program that is `highbar`, for the `bin` folder of a page; the first call starts the server."""
    folder = Path(tempfile.mkdtemp())
    address, client = folder / "socket", folder / "client.py"
    client.write_text(CLIENT.format(address=str(address)), "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "LC_ALL": "C.UTF-8"}
    server = subprocess.Popen([sys.executable, "-m", "tests.docs.forking", str(address)], env=environment)
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.terminate)

    def listens() -> bool:
        assert server.poll() is None, "the server ended"
        return address.exists()

    wait_for(listens, "the server does not start")
    return f'#!/bin/sh\nexec {sys.executable} -S -E {client} "$@"\n'


def python() -> str:
    """The text of a program that is this Python, in which `-I -m highbar` starts at once."""
    serving = command().partition("\n")[2]
    asked = '[ "$1 $2 $3" = "-I -m highbar" ]'
    return f'#!/bin/sh\nif {asked}; then\nshift 3\n{serving}fi\nexec "{sys.executable}" "$@"\n'


def serve(address: str) -> None:
    """Fork for each call until this process is ended, or the one that started it is gone."""
    _load_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen(64)
        server.settimeout(10)
        parent = os.getppid()
        Path(f"{address}.new").rename(address)  # it is there when it listens
        while os.getppid() == parent:
            try:
                call, _ = server.accept()
            except TimeoutError:
                continue
            with call:
                if os.fork() == 0:
                    server.close()
                    os._exit(_answered(call))


def _load_all() -> None:
    """Load once what the calls need, but for what needs a library of its own extra."""
    import duckdb  # noqa: F401 - so that no call loads it

    import highbar

    extra = ("highbar.__main__", "highbar.engine.spark", "highbar.mcp_server", "highbar.pytest_plugin")
    for module in pkgutil.walk_packages(highbar.__path__, "highbar."):
        if not module.name.startswith(extra) and not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


def _answered(call: socket.socket) -> int:
    """Run one call in this process, and tell its exit code."""
    from highbar.cli import run_guarded

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # git is a child of the call
    length, streams, _, _ = socket.recv_fds(call, 4, 3)
    data = b""
    while len(data) < int.from_bytes(length):
        data += call.recv(MOST_BYTES)
    arguments, folder, environment = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    secrets.randbits = lambda _bits: 1  # the order of every run on a page, without an option that would spoil it
    code = run_guarded(arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the reader of a pipe is gone; `run_guarded` has set the exit code
        pass
    call.sendall(bytes([code]))
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
