"""How much time `highbar run` adds to an agent: `python -m bench.agents` prints one table; `--quick` measures a fifth.

Each line is a ratio within one run, or a time per trial: of agents that sleep against the ideal (trials × time ÷ calls
at once), of agents behind HTTP against a bare aiohttp loop that sends the same requests to the same server. Runs are
whole: every answer is in the journal, graded, and in results.jsonl. What reading the suite takes is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from bench.run import Line, run

from highbar import pipeline
from highbar import policy as policies
from highbar.model.job import Job
from highbar.running.choices import RunOptions, read_run_choices
from highbar.running.deciding import UntilDecided
from highbar.running.execution import FinishedRun, run_prepared
from highbar.running.preparing import Prepared, prepare
from highbar.suite.agent_text import read_agent_text

ROOT = Path(__file__).resolve().parents[1]
AGENT = """\
import asyncio, time

def at_once(said):
    return "hello"

async def at_once_later(said):
    return "hello"

def slow(said):
    time.sleep(0.05)
    return "hello"

async def slow_later(said):
    await asyncio.sleep(0.05)
    return "hello"
"""
SERVER = """\
import asyncio, json, sys
from aiohttp import web

async def reply(request):
    await request.json()
    await asyncio.sleep(float(request.match_info["seconds"]))
    return web.json_response({"choices": [{"message": {"content": "hello"}}]})

async def main():
    app = web.Application()
    app.router.add_post("/{seconds}", reply)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(site._server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the trials")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(prefix="highbar-bench-") as name:
        folder = Path(name)
        (folder / "agents.py").write_text(AGENT, "utf-8")
        print("| what | measured | against | ratio | bound |\n|---|---|---|---|---|")
        lines = (_python(folder, quick=quick), _looks(folder, quick=quick), _http(folder, quick=quick))
        for line in (*chain(*lines), _start(folder)):
            print(f"| {line.what} | {line.measured} | {line.against} | {line.ratio} | {line.bound} |", flush=True)


def _python(folder: Path, *, quick: bool) -> Iterator[Line]:
    for kind in ("slow", "slow_later"):
        yield _sleeping(folder, f"python:agents:{kind}", 100 if quick else 500, "1.05")
    for kind in ("at_once", "at_once_later"):
        trials = 4_000 if quick else 20_000
        each = _per_trial(folder, f"python:agents:{kind}", trials, "auto")
        yield Line(f"{trials:,} × 0 ms, {kind}", f"{each * 1e6:.0f} µs each", bound="100 µs")


def _looks(folder: Path, *, quick: bool) -> Iterator[Line]:
    """What looking whether a run is decided adds to its time, if that is never so; against the same run without."""
    for kind, trials, at_once in (("slow", 2_000, 20), ("at_once", 40_000, "auto")):
        size = trials // 5 if quick else trials
        pairs = [[_timed(folder, kind, size, at_once, until=until) for until in (False, True)] for _ in range(3)]
        without, looking = (statistics.median(times) for times in zip(*pairs, strict=True))
        what = f"{size:,} × {50 if kind == 'slow' else 0} ms until decided"
        ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
        yield Line(what, f"{looking:.2f} s", f"all trials: {without:.2f} s", f"{ratio:.2f}", "1.15")


def _timed(folder: Path, kind: str, trials: int, at_once: int | str, *, until: bool) -> float:
    """Seconds from the first call to the last. The suite is judged as a whole, so nothing is decided before its end."""
    prepared = _prepared(folder, f"python:agents:{kind}", trials, at_once)
    policy = policies.read_dict({"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}, folder)
    decided = UntilDecided(policy, lambda path: pipeline.check(Job((str(path),), policy=policy)))
    done = _complete(run_prepared(prepared, until=decided if until else None), trials)
    return done.summary.seconds


def _http(folder: Path, *, quick: bool) -> Iterator[Line]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline()) if server.stdout else 0
            yield _sleeping(folder, f"http://127.0.0.1:{port}/0.05", 100 if quick else 500, "1.25")
            trials, address = 1_000 if quick else 5_000, f"http://127.0.0.1:{port}/0"
            ours = _per_trial(folder, address, trials, 20)
            bare = _median(lambda: asyncio.run(_bare(address, trials, 20))) / trials
            what, against = f"{trials:,} × 0 ms at 20, HTTP", f"bare aiohttp: {bare * 1e6:.0f} µs"
            yield Line(what, f"{ours * 1e6:.0f} µs each", against, f"{ours / bare:.2f}", "1.8")
        finally:
            server.terminate()


def _sleeping(folder: Path, agent: str, trials: int, bound: str) -> Line:
    """Calls of 50 ms, 20 at once, from the first one to the last."""
    took = _median(lambda: _done(folder, agent, trials, 20).summary.seconds)
    ideal = trials * 0.05 / 20
    name = agent.rpartition(":")[2] if agent.startswith("python") else "HTTP"
    what = f"{trials} × 50 ms at 20, {name}"
    return Line(what, f"{took:.3f} s", f"ideal: {ideal:.3f} s", f"{took / ideal:.3f}", bound)


def _per_trial(folder: Path, agent: str, trials: int, at_once: int | str) -> float:
    """Seconds that each further trial takes, whole: called, recorded, graded and written."""

    def took(count: int) -> float:
        prepared = _prepared(folder, agent, count, at_once)
        start = time.perf_counter()
        _complete(run_prepared(prepared), count)
        return time.perf_counter() - start

    few = trials // 10
    return (_median(lambda: took(trials)) - _median(lambda: took(few))) / (trials - few)


def _start(folder: Path) -> Line:
    """Start-up of a run of the example, against that of a check of what it wrote, by processor time."""
    example = ROOT / "examples" / "library-agent"
    policy = ("--policy", str(example / "highbar.yaml"), "--quiet")
    command = [sys.executable, "-m", "highbar"]
    runs, checks = [], []
    for number in range(9):
        out = str(folder / f"start{number}")
        runs.append(run([*command, "run", str(example / "suite.yaml"), *policy, "--output", out]).processor)
        checks.append(run([*command, "check", out, *policy]).processor)
    took, of = statistics.median(runs), statistics.median(checks)
    return Line("start-up: run of the example", f"{took:.2f} s", f"check: {of:.2f} s", f"{took / of:.2f}", "1.5")


def _median(measure: Callable[[], float], times: int = 3) -> float:
    return statistics.median(measure() for _ in range(times))


def _done(folder: Path, agent: str, trials: int, at_once: int | str) -> FinishedRun:
    return _complete(run_prepared(_prepared(folder, agent, trials, at_once)), trials)


def _complete(done: FinishedRun, trials: int) -> FinishedRun:
    if done.document.done.answered != trials:
        raise RuntimeError(f"not every trial was answered: {done.document.done}")
    return done


def _prepared(folder: Path, agent: str, trials: int, at_once: int | str) -> Prepared:
    scenarios = [{"id": f"S{i}", "input": f"q{i}", "answer": {"contains": "hello"}} for i in range(trials)]
    suite = folder / "suite.json"
    suite.write_text(json.dumps({"scenarios": scenarios}), "utf-8")
    output = folder / f"run-{time.monotonic_ns()}"
    options = RunOptions(read_run_choices({"concurrency": at_once}), read_agent_text(agent), output=output)
    return prepare(suite, options, {})


async def _bare(address: str, trials: int, at_once: int) -> float:
    """Seconds that a loop takes which sends the same requests and reads the replies."""
    import aiohttp  # as it is loaded in the product: only for HTTP

    left = iter(range(trials))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

        async def work() -> None:
            for number in left:
                body = {"messages": [{"role": "user", "content": f"q{number}"}]}
                async with session.post(address, json=body) as response:
                    found = await response.json()
                    found["choices"][0]["message"]["content"]

        start = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(at_once)))
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
