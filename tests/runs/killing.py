"""A run is killed at random moments, its own process, the agent's or both, and goes on until it is whole.

Whatever the moment: what was recorded is not asked for again and is in the results, there is one row for each planned
trial, and they are those of a run that nobody disturbed. The agent writes down every call with a number of its own,
and answers with that number. So the bytes of the journal say what was recorded, and nothing of our own has to read it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.runs.projects import descendants, finished, python_project, scenarios, wait_until_gone

TRIALS = 40
AGENT = """
import asyncio

def reply(said, number):
    place = int(said[1:])
    if place % 7 == 3:
        raise ValueError("no answer " + number)
    return ("no " if place % 5 == 2 else "yes ") + number

def answer(said):
    number = note(said)
    time.sleep(0.005)
    return reply(said, number)

async def later(said):
    number = note(said)
    await asyncio.sleep(0.005)
    return reply(said, number)
"""
NUMBER = re.compile(rb"(?:yes|no|no answer) ([0-9a-f]{12})")


def attempt(seed: int, folder: Path) -> str:
    """One run that is killed up to five times and then finished; says how often each process was killed."""
    return Killing(Random(seed), folder).run()


def attempt_until_decided(seed: int, folder: Path) -> str:
    """The same of a run that is to stop when it is decided; says how it ended."""
    return KillingUntilDecided(Random(seed), folder).run()


class Killing:
    """The state of one attempt."""

    options: tuple[str, ...] = ()
    exits: tuple[int, ...] = (1,)  # of what has ended by itself

    def __init__(self, random: Random, folder: Path) -> None:
        self.random = random
        self.trials = random.choice((1, 2))
        settings = {"trials": self.trials, "concurrency": random.choice((1, 2, 5))}
        suite = scenarios(TRIALS // self.trials)
        self.project = python_project(folder, AGENT, suite)
        self.project.write_suite({"python": f"agent:{random.choice(('answer', 'later'))}"}, suite, run=settings)
        self.recorded: set[str] = set()
        self.killed: Counter[str] = Counter()

    def run(self) -> str:
        """Kill and resume, then finish and compare."""
        for _ in range(self.random.randint(1, 5)):
            self.session(self.random.choice(("run", "agent", "both")))
        done = self.project.resume() if self.journal.exists() else self.project.run()
        assert done.exit == 1, done.err
        self.compare()
        return ", ".join(f"{who} {count}" for who, count in sorted(self.killed.items()))

    @property
    def journal(self) -> Path:
        """The journal of the run."""
        return self.project.folder / "out" / "journal"

    def session(self, who: str) -> None:
        """Start or resume the run, and kill it at some moment."""
        before, wanted = len(self.project.asked()), self.still_asked()
        command = ("--resume", "out") if self.journal.exists() else ("suite.json", "--output", "out", *self.options)
        with self.project.started("run", *command) as process:
            self.wait(process, before + self.random.randint(0, sum(wanted.values())))
            below = descendants(process.pid)
            is_killed = process.poll() is None
            if is_killed:
                self.kill(process, below, who)
            done = finished(process)
        wait_until_gone(below)
        self.killed[who if is_killed else "nobody"] += 1
        assert done.exit in ((-signal.SIGKILL,) if is_killed and who != "agent" else (*self.exits, 2)), done
        assert b"Traceback" not in done.stderr, done.err
        self.look(before, wanted, who)

    def wait(self, process: subprocess.Popen[bytes], calls: int) -> None:
        """Until the agent was called so often, and a little longer; sometimes until any moment from the start on."""
        if self.random.random() < 0.2:
            time.sleep(self.random.uniform(0, 1))
            return
        while process.poll() is None and len(self.project.asked()) < calls:
            time.sleep(0.0005)
        time.sleep(self.random.uniform(0, 0.01))

    def kill(self, process: subprocess.Popen[bytes], below: set[int], who: str) -> None:
        """Kill the process of the run, all that it has started, or both in any order."""
        victims = {"run": [process.pid], "agent": sorted(below), "both": [process.pid, *below]}[who]
        self.random.shuffle(victims)
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    def still_asked(self) -> Counter[str]:
        """How often each question may still be asked."""
        left = Counter({f"S{place}": self.trials for place in range(TRIALS // self.trials)})
        left.subtract(said for said, number in self.project.asked() if number in self.recorded)
        assert min(left.values()) >= 0, left
        return left

    def look(self, before: int, wanted: Counter[str], who: str) -> None:
        """What was recorded is there still, and was not asked for again."""
        lines = self.journal.read_bytes().split(b"\n")[:-1] if self.journal.exists() else []
        recorded = {number.decode() for line in lines for number in NUMBER.findall(line)}
        assert self.recorded <= recorded, self.recorded - recorded
        again = Counter(said for said, _ in self.project.asked()[before:]) - wanted
        # If the agent dies and the run goes on, what was in flight is asked again.
        assert all(count <= self.trials and who == "agent" for count in again.values()), again
        self.recorded = recorded
        # A run that had ended, and was killed after it was resumed, may have recorded that it went on.
        may_be_judged = (self.journal.parent / "run.json").exists()
        assert self.project.check().exit in ((*self.exits, 2) if may_be_judged else (2,))

    def compare(self) -> None:
        """The rows are those of a run that nobody disturbed, with every answer that was recorded."""
        rows = self.project.rows()
        planned = [
            (f"S{place}", trial) for place in range(TRIALS // self.trials) for trial in range(1, self.trials + 1)
        ]
        assert [(row["id"], row["trial"]) for row in rows] == planned
        said = " ".join(row.get("output", row.get("error", "")) for row in rows)
        used = {number.decode() for number in NUMBER.findall(said.encode())}
        assert self.recorded <= used, self.recorded - used
        for row in rows:
            place = int(row["id"][1:])
            assert row["correct"] is (place % 7 != 3 and place % 5 != 2), row
            assert ("error" in row) is (place % 7 == 3), row
        calls = len(self.project.asked())
        assert self.project.resume().exit in self.exits
        assert len(self.project.asked()) == calls


class KillingUntilDecided(Killing):
    """A run that stops when it is decided. Where it stops depends on the kills; what it decides does not."""

    options = ("--until-decided",)
    exits = (0, 1, 3)

    def __init__(self, random: Random, folder: Path) -> None:
        super().__init__(random, folder)
        bar = random.choice(("≥ 20%", "≥ 40%", "≥ 65%", "≥ 95%"))
        policy = f"evidence: sequential\nsuite: suite.json\nthresholds: {{ blocking: {{ pass_rate: {bar} }} }}\n"
        (folder / "highbar.yaml").write_text(policy, "utf-8")

    def run(self) -> str:
        """Kill and resume, let it decide, then run the rest: that changes nothing that was decided."""
        for _ in range(self.random.randint(1, 3)):
            self.session(self.random.choice(("run", "agent", "both")))
        done = self.project.resume() if self.journal.exists() else self.project.run(*self.options)
        state, decided = self.project.document()["state"], done.json
        assert self.project.check().json == decided
        whole = self.project.resume("--run-all")
        self.compare()
        assert (whole.exit, whole.json["verdict"]) == (done.exit, decided["verdict"])
        places = [
            [one["stopping"] and one["stopping"]["decided_at"] for one in run["rules"]] for run in (decided, whole.json)
        ]
        assert places[0] == places[1]
        return f"{state}, {decided['verdict']}"
