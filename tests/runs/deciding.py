"""A run that stops when it is decided, with a random agent, policy and latencies, interrupted at random.

Whatever happens: `check` on the folder says what the run said; the rest of the run, once it is run after all, changes
nothing; and a rule about the pass rate was decided where its boundary is first crossed along the recorded order, which
is computed here a second time from the answers that the agent gives.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from highbar.running import deciding
from highbar.running.order import permutation
from highbar.statistics.spending import binomial_boundaries, first_crossing
from tests import faulty_server as faulty
from tests.commandline import EXIT, Run
from tests.faulty_server import Step, serving
from tests.runs.projects import Project

CATEGORIES = ("happy_path", "edge_case", "adversarial")
MOST_RESUMES = 12
RULE = "thresholds.blocking.pass_rate"


def attempt(seed: int, folder: Path) -> str:
    """One run; says how it ended, and how often it was resumed."""
    random = Random(seed)
    agent = RandomAgent(random)
    settings = {"retries": 2, "concurrency": random.choice((1, 4, 50)), "trials": random.choice((1, 1, 1, 2))}
    bar = policy(random, agent)
    with serving(agent.step) as server, looking_often():
        project = Project(folder, {"http": server.address, "format": "openai"}, agent.suite, run=settings)
        (folder / "highbar.yaml").write_text(json.dumps(bar), "utf-8")
        done, resumes = finished(project)
        check(project, done)
        state, verdict = project.document()["state"], done.json
        if settings["trials"] == 1 and bar["evidence"] == "sequential":
            compare_with_boundaries(project, agent, bar, verdict)
        agent.interruptions.clear()
        agent.quick = 10**9
        rest = project.resume("--run-all")
        assert project.document()["state"] == "complete"
        check(project, rest)
        assert rest.json["verdict"] == verdict["verdict"] or verdict["verdict"] == "inconclusive", rest.out
        # What was decided stays so, and if nothing was undecided then, it was decided at the same place.
        for before, after in zip(verdict["rules"], rest.json["rules"], strict=True):
            if before["stopping"] and before["stopping"]["decided_at"] is not None:
                assert (before["outcome"], before["stopping"]["decided_at"]) == (
                    after["outcome"],
                    after["stopping"]["decided_at"],
                )
    return f"{state}, {verdict['verdict']}, {'some' if resumes else 'no'} resumes"


@contextmanager
def looking_often() -> Iterator[None]:
    """Look again as soon as there is something new: a run of a test is over before there would be a second look."""
    before = deciding._TICK, deciding._SHARE
    deciding._TICK, deciding._SHARE = 0.02, math.inf
    try:
        yield
    finally:
        deciding._TICK, deciding._SHARE = before


class RandomAgent:
    """Answers every scenario in its own way, always the same; failures take longer. Some calls meet a fault first."""

    def __init__(self, random: Random) -> None:
        rate, slower = random.choice((0.5, 0.8, 0.95, 1.0)), random.choice((1, 3, 10))
        self.suite = [
            {
                "id": f"S{place}",
                "input": f"S{place}",
                "category": random.choice(CATEGORIES),
                "answer": {"contains": "yes"},
            }
            for place in range(random.randint(20, 70))
        ]
        self.passes = {one["id"]: random.random() < rate for one in self.suite}
        self.errors = {id_ for id_ in self.passes if random.random() < 0.05}
        self.faults = {id_: 1 for id_ in self.passes if random.random() < 0.05}
        each = random.choice((0.0, 0.01))
        self.takes = {id_: each * (1 if passes else slower) for id_, passes in self.passes.items()}
        kinds = ((signal.SIGINT,), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM,))
        requests = len(self.suite)
        self.interruptions = {
            random.randint(1, requests): random.choice(kinds) for _ in range(random.choice((0, 0, 1, 3)))
        }
        self.quick = random.choice((requests // 2, requests))  # then it becomes slow, so that something is left to save
        self._requests = 0

    def step(self, _: int, body: Any) -> Step:
        """What comes of one request."""
        id_ = body["messages"][-1]["content"]
        self._requests += 1
        for number in self.interruptions.pop(self._requests, ()):
            os.kill(os.getpid(), number)
        if self.faults.get(id_):
            self.faults[id_] -= 1
            return faulty.status(503, retry_after="0")
        if id_ in self.errors:
            return faulty.status(500)
        tired = 0.3 if self._requests > self.quick else 0.0
        return faulty.waits(tired + self.takes[id_], faulty.answers("yes" if self.passes[id_] else "no"))

    def passed(self, id_: str) -> bool:
        """Whether a scenario passes."""
        return self.passes[id_] and id_ not in self.errors


def policy(random: Random, agent: RandomAgent) -> dict[str, Any]:
    """Rules about all scenarios, about some of them, and about single ones."""
    bar: dict[str, Any] = {
        "evidence": random.choice(("estimate", "confident", "sequential", "sequential")),
        "thresholds": {
            "blocking": {"pass_rate": random.choice(("≥ 40%", "≥ 60%", "≥ 85%"))},
            "warning": {"latency_p95": "< 5000ms"},
        },
    }
    if random.random() < 0.5:
        category = random.choice([one["category"] for one in agent.suite])
        bar["pass_criteria"] = {"by_category": {category: random.choice(("≥ 50%", "≥ 70%", "100%"))}}
    if random.random() < 0.5:
        easy = [one["id"] for one in agent.suite if agent.passed(one["id"])]  # they begin first, and pass
        bar["required_scenarios"] = {"ids": random.choice((easy[:15] or ["S0"], [random.choice(agent.suite)["id"]]))}
    if random.random() < 0.5:
        bar["suite"] = "suite.json"
    if random.random() < 0.3:
        bar["thresholds"]["blocking"]["error_rate"] = "≤ 20%"
    return bar


def finished(project: Project) -> tuple[Run, int]:
    """The same run again and again until it was not interrupted; and how often it was resumed."""
    done = project.run("--until-decided")
    for resumes in range(MOST_RESUMES):
        assert done.exit in (0, 1, 3, 130, 143), done
        assert "Traceback" not in done.err
        if done.exit in (0, 1, 3):
            return done, resumes
        is_there = (project.folder / "out").exists()
        done = project.resume() if is_there else project.run("--until-decided")
    raise AssertionError(f"not over after {MOST_RESUMES} resumes: {done}")


def check(project: Project, done: Run) -> None:
    """What `check` says of the folder is what the run said."""
    assert done.exit == EXIT[done.json["verdict"]]
    assert project.check().json == done.json


def compare_with_boundaries(project: Project, agent: RandomAgent, bar: dict[str, Any], verdict: dict[str, Any]) -> None:
    """The rule about the pass rate was decided where its boundary is first crossed, if the run got so far."""
    rows = {row["id"]: row for row in project.rows()}
    order = permutation([one["id"] for one in agent.suite], project.document()["order"]["seed"])
    threshold = Fraction(bar["thresholds"]["blocking"]["pass_rate"].strip("≥ %")) / 100
    prefix = []
    for id_ in order:
        if "attempts" not in rows[id_]:
            break
        known = "unjudged" not in rows[id_]
        prefix.append((agent.passed(id_) and known, agent.passed(id_) or not known))
    crossing = first_crossing(binomial_boundaries(threshold, len(order), 0.05), prefix)
    rule = next(one for one in verdict["rules"] if one["rule"] == RULE)
    assert rule["stopping"]["seen"] == len(prefix)
    if crossing is None:
        assert (rule["outcome"], rule["stopping"]["decided_at"]) == ("inconclusive", None)
    else:
        expected = ("pass" if crossing.passed else "fail", crossing.units)
        assert (rule["outcome"], rule["stopping"]["decided_at"]) == expected
