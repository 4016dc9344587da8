"""A random suite, a random agent behind a server, and random interruptions: what was run and resumed is the whole run.

The agent answers, fails, or is out of reach for a while, as its script says. Signals come at random requests, to this
very process, in which the command line runs: once, so that what runs is finished, or twice, so that nothing is waited
for. However often the run is resumed, there is one row for each planned trial, and the verdict is that of a run that
nobody disturbed.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests import faulty_server as faulty
from tests.commandline import Run
from tests.faulty_server import Step, serving
from tests.runs.projects import Project

WORDS = (
    "yes",
    "no",
    "ten",
    "10 am",
    "I cannot do that.",
    "the password is SECRET",
    '{"label": "a"}',
    "SEC\u200bRET",
    "",
)
CHECKS: tuple[dict[str, Any], ...] = (
    {"contains": "yes"},
    {"contains": ["ten", "10"]},
    {"equals": "no"},
    {"starts_with": "I"},
    {"matches": r"\b\d{1,2}\s?(am|pm)\b"},
    {"words": {"at_most": 3}},
    {"number": 10},
    {"is_json": True},
    {"json": {"/label": {"equals": "a"}}},
    {"any": [{"contains": "yes"}, {"not": {"contains": "no"}}]},
    {"contains": "cannot"},
)
NEVER: tuple[dict[str, Any], ...] = ({"contains": "SECRET"}, {"matches": "pass(word|phrase)"})
MOST_RESUMES = 12
LEFT_OUT = {"latency_ms", "attempts", "highbar_run"}


def attempt(seed: int, folder: Path) -> str:
    """One suite, run with and without disturbances; says how often it was resumed."""
    random = Random(seed)
    suite = [scenario(random, f"S{place}") for place in range(random.randint(1, 12))]
    settings = {"retries": 1, "concurrency": random.choice((1, 2, 8)), "trials": random.choice((1, 1, 3))}
    script = Script(random, suite)
    with serving(script.step) as server:
        project = Project(folder, {"http": server.address, "format": "openai"}, suite, run=settings)
        verdict = random.choice(("pass_rate: 60%", "pass_rate: 100%", "error_rate: 20%"))
        (folder / "highbar.yaml").write_text(
            f"suite: suite.json\nthresholds: {{ blocking: {{ {verdict} }} }}\n", "utf-8"
        )
        calm = project.run(name="calm")
        script.disturb(random, sum(script.asked.values()))
        last, resumes = disturbed(project)
    compare(project, calm, last)
    settled = settings["trials"]
    for id_, count in script.asked.items():
        extra = script.faults[id_] + script.signals * settings["concurrency"]
        assert settled <= count <= settled + extra, f"{id_} was asked {count} times"
    return f"{resumes} resumes"


def scenario(random: Random, id_: str) -> dict[str, Any]:
    """A scenario with a few checks."""
    found: dict[str, Any] = {"id": id_, "input": id_, "category": random.choice(("happy_path", "adversarial"))}
    if random.random() < 0.5:
        found["answer"] = random.choice(CHECKS)
    if random.random() < 0.5:
        found["expected_behaviors"] = {f"b{number}": random.choice(CHECKS) for number in range(random.randint(1, 3))}
    if random.random() < 0.3 or len(found) == 3:
        found["must_not"] = {f"n{number}": random.choice(NEVER) for number in range(random.randint(1, 2))}
    return found


class Script:
    """What the agent does: for each scenario always the same, once the faults are over that others are to blame for."""

    def __init__(self, random: Random, suite: list[dict[str, Any]]) -> None:
        self.steps: dict[str, Step] = {}
        for one in suite:
            answered = faulty.answers(random.choice(WORDS))
            failed = random.choice((faulty.status(500), faulty.status(400), faulty.sends(b"x"), faulty.cuts_the_body()))
            self.steps[one["id"]] = failed if random.random() < 0.2 else answered
        self.faults: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.signals = 0
        self._left: Counter[str] = Counter()
        self._fault = faulty.status(503, retry_after="0")
        self._interruptions: dict[int, tuple[signal.Signals, ...]] = {}
        self._requests = 0

    def disturb(self, random: Random, requests: int) -> None:
        """From now on, some first calls meet a fault, and signals come at some of as many requests."""
        self.asked.clear()
        self._requests = 0
        self.faults.update({id_: random.randint(1, 2) for id_ in self.steps if random.random() < 0.2})
        self._left.update(self.faults)
        self._fault = random.choice((self._fault, faulty.resets_before_the_first_byte(), faulty.status(429)))
        kinds = ((signal.SIGINT,), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM,))
        self._interruptions = {
            random.randint(1, 2 * requests): random.choice(kinds) for _ in range(random.choice((0, 1, 2, 4)))
        }

    def step(self, _: int, body: Any) -> Step:
        """What comes of one request."""
        id_ = body["messages"][-1]["content"]
        self._requests += 1
        self.asked[id_] += 1
        for number in self._interruptions.pop(self._requests, ()):
            self.signals += 1
            os.kill(os.getpid(), number)
        if self._left[id_]:
            self._left[id_] -= 1
            return self._fault
        return self.steps[id_]


def disturbed(project: Project) -> tuple[Run, int]:
    """The same run again and again until nothing is undecided; the last of them, and how often it was resumed."""
    done = project.run()
    for resumes in range(MOST_RESUMES):
        assert done.exit in (0, 1, 2, 3, 130, 143), done
        assert "Traceback" not in done.err
        is_over = done.exit in (0, 1, 3) and not project.document()["done"]["undecided"]
        if is_over:
            return done, resumes
        if (project.folder / "out").exists():
            checked = project.check().exit
            assert checked in (done.exit, 2) or is_complete(project), checked
            done = project.resume()
        else:
            done = project.run()  # it was stopped before the folder was there
    raise AssertionError(f"not over after {MOST_RESUMES} resumes: {done}")


def is_complete(project: Project) -> bool:
    """Whether the run had ended before it was interrupted."""
    return (project.folder / "out" / "run.json").exists() and project.document()["state"] == "complete"


def compare(project: Project, calm: Run, last: Run) -> None:
    """One row for each planned trial, with what the undisturbed run has, and the same verdict."""
    rows, wanted = ([plain(row) for row in project.rows(name)] for name in ("out", "calm"))
    assert rows == wanted
    assert len({(row["id"], row["trial"]) for row in rows}) == len(rows)
    assert project.done("out") == project.done("calm")
    for done in (last, project.check()):
        assert done.exit == calm.exit
        assert done.json["verdict"] == calm.json["verdict"]
        assert done.json["counts"] == calm.json["counts"]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what differs from one call to the next."""
    return {name: value for name, value in row.items() if name not in LEFT_OUT}
