"""What limits of servers cost: `python -m bench.rate_limits` prints the lost trials and the share of the allowed rate.

Real servers on 127.0.0.1 refuse calls by a bucket of tokens, by a window or for the time of a storm, with and without
`Retry-After`, and `highbar run` asks them as a process of its own. All cases run at the same time, since each of them
mostly waits; that takes a good minute. The last column is what the run says about the limit at its end.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.limiters import Bucket, Limiter, Storm, Window  # noqa: E402 - needs the line above

LATENCY = 0.05
"""Seconds of an answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """A limit, and a run that meets it. `allowed` is calls per second; None: no limit but a storm."""

    name: str
    limiter: Callable[[], Limiter]
    allowed: float | None
    trials: int
    concurrency: int | str
    status: int = 429
    says_when: bool = False
    of_judge: bool = False

    @property
    def title(self) -> str:
        """The case in words."""
        asked = "Retry-After" if self.says_when else "no Retry-After"
        return f"{'judge: ' if self.of_judge else ''}{self.name}, {self.concurrency} at once, {self.status}, {asked}"


def cases() -> Iterator[Case]:
    """Every case, with and without `Retry-After`."""
    for says_when in (False, True):
        yield Case("5 per second", lambda: Bucket(5, 5), 5, 200, 8, says_when=says_when)
        yield Case("5 per second, evenly", lambda: Bucket(5, 1), 5, 200, 8, says_when=says_when)
        yield Case("50 per second", lambda: Bucket(50, 5), 50, 2000, 64, says_when=says_when)
        yield Case("2 per second", lambda: Bucket(2, 2), 2, 100, "auto", says_when=says_when)
        yield Case("60 per 30 s", lambda: Window(60, 30), 2, 180, "auto", says_when=says_when)
        yield Case("storm of 12 s", lambda: Storm(0.2, 12.2), None, 60, "auto", 503, says_when=says_when)
        yield Case("5 per second", lambda: Bucket(5, 5), 5, 150, 8, says_when=says_when, of_judge=True)


@dataclass(slots=True)
class Server:
    """A server that answers as an agent and as a judge, of which one is limited."""

    case: Case
    limiter: Limiter
    port: int = 0
    first: float | None = None
    last: float = 0.0
    refused: int = 0

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer, unless the limit refuses the call."""
        await request.read()
        is_judge = request.path.startswith("/judge")
        if is_judge == self.case.of_judge:
            now = time.monotonic()
            self.first = now if self.first is None else self.first
            wait = self.limiter.refuse(now - self.first)
            if wait is not None:
                self.refused += 1
                asked = {"Retry-After": str(math.ceil(wait))} if self.case.says_when else {}
                return web.Response(status=self.case.status, headers=asked)
            self.last = now
        await asyncio.sleep(LATENCY)
        text = json.dumps(JUDGMENT) if is_judge else "yes"
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": text}}]})


JUDGMENT = {"statements": [{"name": "agrees", "evidence": "yes", "judgment": "observed"}]}


@contextmanager
def serving(server: Server) -> Iterator[None]:
    """Run the server in a thread, on a free port."""
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def run() -> None:
        runner = web.ServerRunner(web.Server(server.respond, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    started.wait()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def suite(case: Case, port: int) -> Mapping[str, Any]:
    """The suite of a case."""
    own = {"concurrency": case.concurrency}
    judge = {"model": "m", "base_url": f"http://127.0.0.1:{port}/judge", **own}
    return {
        "agent": {"http": f"http://127.0.0.1:{port}/agent", "format": "openai"},
        "run": {} if case.of_judge else own,
        "scenarios": [
            {"id": f"S{place}", "input": "Is it open?", "answer": {"contains": "yes"}}
            | ({"expected_behaviors": {"agrees": "The reply agrees."}} if case.of_judge else {})
            for place in range(case.trials)
        ],
        **({"judge": judge} if case.of_judge else {}),
    }


def measure(case: Case) -> str:
    """Run a case; the line of the table."""
    server = Server(case, case.limiter())
    with serving(server), TemporaryDirectory() as folder:
        (Path(folder) / "suite.json").write_text(json.dumps(suite(case, server.port)), "utf-8")
        command = [sys.executable, "-m", "highbar", "run", "suite.json", "--no-check", "--output", "out"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        lines = (Path(folder) / "out" / "results.jsonl").read_text("utf-8").splitlines()
    lost = sum("unjudged" in json.loads(line) for line in lines)
    seconds = server.last - (server.first or 0.0)
    share = "" if case.allowed is None else f"{(case.trials - lost) / seconds / case.allowed:.0%}"
    said = re.search(r"server allowed (.*)", done.stderr)
    words = said[1] if said else ""
    return f"{case.title:62} {lost:3} of {case.trials:3} {seconds:8.1f} s {share:>6} {server.refused:8}  {words}"


def main() -> None:
    """Print the table."""
    print(f"{'limit':62} {'lost':>10} {'took':>10} {'share':>6} {'refused':>8}  what the run says")
    every = [*cases()]
    with ThreadPoolExecutor(len(every)) as pool:
        for line in pool.map(measure, every):
            print(line, flush=True)


if __name__ == "__main__":
    main()
