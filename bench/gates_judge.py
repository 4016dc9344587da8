"""Runs that a judge judged, with labels of people for some of them, for `bench.gates`.

Every gate sees what the judge says. Highbar can be given labels too, and corrects the share for the judge's errors.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.gates_runs import THRESHOLD, Run

import highbar

JUDGE = "judge-1 #0123456789ab"
SCENARIOS = 300
LABELS = 100


@dataclass(frozen=True, slots=True)
class JudgedSetting:
    """An agent with a known pass rate, and how often the judge is right about passes and about fails."""

    name: str
    truth: float
    wrong: str
    sensitivity: float
    specificity: float
    runs: int


JUDGED = (
    JudgedSetting("a judge that is wrong one time in ten, 10 points above", 0.95, "fail", 0.90, 0.90, 200),
    JudgedSetting("a judge that misses half of the failures, 5 points below", 0.80, "pass", 1.00, 0.50, 200),
)
"""Both judges are right about 90 % of the trials."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What is true of each scenario, and what the judge says of it: `p` or `f`."""

    true: Run
    judged: Run


def draw_run(setting: JudgedSetting, draw: random.Random) -> JudgedRun:
    """One run of the agent, as it is and as the judge has it."""
    true = tuple("p" if draw.random() < setting.truth else "f" for _ in range(SCENARIOS))
    right = {"p": setting.sensitivity, "f": setting.specificity}
    judged = tuple(one if draw.random() < right[one] else "fp"[one == "f"] for one in true)
    return JudgedRun(true, judged)


def corrected(runs: Sequence[JudgedRun], seed: int) -> list[str]:
    """What Highbar says with labels of 100 trials in each run, half of them judged as fails if there are so many."""
    draw = random.Random(seed)
    policy = {
        "thresholds": {"blocking": {"pass_rate": f"{THRESHOLD:.0%}"}},
        "evidence": "confident",
        "judge": {"labels": "labels.jsonl", "correct": True},
    }
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "highbar.json").write_text(json.dumps(policy), "utf-8")
        return [_outcome(run, folder, draw) for run in runs]


def _outcome(run: JudgedRun, folder: Path, draw: random.Random) -> str:
    found = [_row(number, letter) for number, letter in enumerate(run.judged)]
    _write(folder / "results.jsonl", found)
    _write(folder / "labels.jsonl", _labels(run, found, draw))
    verdict = highbar.check(folder / "results.jsonl", folder / "highbar.json")
    return str(verdict.verdict)


def _row(number: int, letter: str) -> dict[str, Any]:
    conversation = _digest("conversation", number)
    word = "observed" if letter == "p" else "not_observed"
    statements = {"right": {"statement": "The reply is right.", "judgment": word}}
    return {
        "id": f"S{number}",
        "expected_behaviors": ["right"],
        "behaviors": {"right": letter == "p"},
        "output": "text",
        "judge": JUDGE,
        "judged": {"digest": _digest(JUDGE, number), "conversation": conversation, "statements": statements},
    }


def _labels(run: JudgedRun, found: list[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """As `highbar judge label` writes them: a random sample of each stratum, that is of what the judge said."""
    groups = {word: [n for n, one in enumerate(run.judged) if one == word[0]] for word in ("passed", "failed")}
    failed = draw.sample(groups["failed"], min(LABELS // 2, len(groups["failed"])))
    passed = draw.sample(groups["passed"], min(LABELS - len(failed), len(groups["passed"])))
    labels = []
    for stratum, drawn in (("passed", passed), ("failed", failed)):
        for number in drawn:
            row = found[number]
            sample = {"stratum": stratum, "drawn": len(drawn), "of": len(groups[stratum]), "seed": 1}
            sample |= {"run": _digest("run"), "judge": JUDGE, "judged": row["judged"]}
            sample["row"] = {name: value for name, value in row.items() if name != "judged"}
            label = {"id": row["id"], "trial": 1, "behavior": "right", "by": "people"}
            labels.append({**label, "observed": run.true[number] == "p", "sample": sample})
    return labels


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _write(file: Path, lines: Sequence[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
