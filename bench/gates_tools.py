"""The gates that `bench.gates` compares: how each is asked what it says of runs, through its own interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.gates_programs import AGENTASSAY, AGENTRIAL, INSPECT, INSPECT_CRASHES, PROMPTFOO_AGENT, SIGNALTEST
from bench.gates_runs import THRESHOLD, Pair, Run
from bench.runners_tools import SILENT, VERSIONS, installed

import highbar
from highbar.cli import guard

GATE_VERSIONS = {"agentassay": "0.2.3", "agentrial": "0.2.0", "signaltest": "0.7.0"}
"""Of the gates in the package registry; promptfoo and Inspect as in bench.runners."""
Asked = Callable[[Path, Sequence[Run]], list[str]]
Compared = Callable[[Path, Sequence[Pair]], list[str]]


@dataclass(frozen=True, slots=True)
class Gate:
    """One way to decide. `ask` judges runs by a threshold, `compare` two versions; `package` is what it needs."""

    name: str
    package: str
    ask: Asked | None = None
    compare: Compared | None = None


def rows(run: Run) -> list[dict[str, object]]:
    """A run as Highbar's rows."""
    words: dict[str, dict[str, object]] = {"p": {"passed": True}, "f": {"passed": False}, "c": {"error": "crashed"}}
    return [
        {"id": f"S{number}", "trial": trial, **words[letter]}
        for number, trials in enumerate(run)
        for trial, letter in enumerate(trials, 1)
    ]


def _plain(_: Path, runs: Sequence[Run]) -> list[str]:
    """A percentage of what answered, as a script over a file of results computes it."""
    letters = ["".join(run).replace("c", "") for run in runs]
    return ["pass" if text.count("p") / len(text) >= THRESHOLD else "fail" for text in letters]


def _plain_change(_: Path, pairs: Sequence[Pair]) -> list[str]:
    rates = [[text.count("p") / len(text) for text in map("".join, pair)] for pair in pairs]
    return ["pass" if after >= before else "fail" for before, after in rates]


def _highbar(evidence: str) -> Asked:
    policy = {"thresholds": {"blocking": {"pass_rate": f"{THRESHOLD:.0%}"}}, "evidence": evidence}
    return lambda _, runs: [str(highbar.check(rows(run), policy).verdict) for run in runs]


def _highbar_change(evidence: str) -> Compared:
    """The first version is recorded as the baseline; the second may be 5 points worse."""

    def compare(_: Path, pairs: Sequence[Pair]) -> list[str]:
        return [_judged_change(evidence, *pair) for pair in pairs]

    return compare


def _judged_change(evidence: str, before: Run, after: Run) -> str:
    words = {0: "pass", 1: "fail", 3: "inconclusive"}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for name, run in (("before", before), ("after", after)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(run)), "utf-8")
        rule = {"baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}}, "evidence": evidence}
        (folder / "highbar.json").write_text(json.dumps(rule), "utf-8")
        given = ["--policy", str(folder / "highbar.json")]
        record = ["baseline", "record", str(folder / "before.jsonl"), *given, "--force", "the first version"]
        _command(*record, "--output", str(folder / "baseline.json"))
        return words[_command("check", str(folder / "after.jsonl"), *given)]


def _command(*words: str) -> int:
    """The exit code of the command line, in this process."""
    out = sys.stdout, sys.stderr
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            return guard.run_guarded(words)
        finally:
            sys.stdout, sys.stderr = out


def _program(text: str, *words: str) -> Callable[[Path, str], str]:
    """Run a program in a tool's environment, and return what it prints."""

    def run(python: Path, given: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.py"
            file.write_text(text, "utf-8")
            environment = {**os.environ, **SILENT, "HOME": folder}
            command = [str(python), str(file), *words]
            done = subprocess.run(
                command, check=False, input=given, capture_output=True, text=True, cwd=folder, env=environment
            )
        if done.returncode:
            raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    return run


def _asks(text: str, *words: str) -> Asked:
    program = _program(text, *words)
    return lambda python, runs: _outcomes(
        program(python, json.dumps({"threshold": THRESHOLD, "runs": runs})), len(runs)
    )


def _compares(text: str) -> Compared:
    program = _program(text)
    return lambda python, pairs: _outcomes(program(python, json.dumps({"pairs": pairs})), len(pairs))


def _outcomes(printed: str, wanted: int) -> list[str]:
    found = json.loads(printed)
    if len(found) != wanted or not set(found) <= {"pass", "fail", "inconclusive"}:
        raise RuntimeError(f"wanted {wanted} outcomes, found {len(found)}: {set(found)}")
    return [str(one) for one in found]


def _inspect(interval: str) -> Asked:
    """Crashed samples have no score: one real evaluation shows that Inspect leaves them out of its metrics."""
    asks, crashes = _asks(INSPECT, interval), _program(INSPECT_CRASHES, "logs")

    def ask(python: Path, runs: Sequence[Run]) -> list[str]:
        if any("c" in trials for run in runs for trials in run) and json.loads(crashes(python, "")) != 10 / 15:
            raise RuntimeError("Inspect no longer leaves crashed samples out of its accuracy")
        return asks(python, runs)

    return ask


BORDER = ((85, 15, 0), (84, 16, 0), (90, 10, 0), (85, 5, 10), (84, 6, 10), (80, 10, 10), (77, 13, 10))
"""Passes, fails and crashes of 100, at which promptfoo is asked for its exit code."""


def _promptfoo(program: Path, runs: Sequence[Run]) -> list[str]:
    """Its command needs seconds per run. So it is asked at the border, and its rule is applied to all runs."""
    _ask_at_the_border(program)
    letters = ["".join(run) for run in runs]
    return ["pass" if text.count("p") / len(text) >= THRESHOLD else "fail" for text in letters]


@cache
def _ask_at_the_border(program: Path) -> None:
    for passes, fails, crashes in BORDER:
        expected = passes / (passes + fails + crashes) >= THRESHOLD
        if _promptfoo_passes(program, "p" * passes + "f" * fails + "c" * crashes) != expected:
            raise RuntimeError(f"promptfoo's rule is not passes / trials: {passes} {fails} {crashes}")


def _promptfoo_passes(program: Path, letters: str) -> bool:
    check = [{"type": "equals", "value": "p"}]
    tests = [{"vars": {"letter": letter}, "assert": check} for letter in letters]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "agent.cjs").write_text(PROMPTFOO_AGENT, "utf-8")
        document = {"prompts": ["{{letter}}"], "providers": ["file://agent.cjs"], "tests": tests}
        (folder / "promptfooconfig.json").write_text(json.dumps(document), "utf-8")
        environment = {
            **os.environ,
            **SILENT,
            "HOME": home,
            "PROMPTFOO_CONFIG_DIR": home,
            "PROMPTFOO_PASS_RATE_THRESHOLD": f"{100 * THRESHOLD:g}",
        }
        command = [str(program), "eval", "--no-cache", "--no-table", "--no-progress-bar", "--no-share", "--no-write"]
        done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 100):
        raise RuntimeError(f"promptfoo: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.returncode == 0


GATES = (
    Gate("Plain percentage", "highbar", _plain, _plain_change),
    Gate("promptfoo, pass rate threshold", "promptfoo", _promptfoo),
    Gate("Inspect, `ci()`", "inspect-ai", _inspect("ci")),
    Gate("Inspect, `ci_wilson()`", "inspect-ai", _inspect("ci_wilson")),
    Gate("agentrial", "agentrial", _asks(AGENTRIAL), _compares(AGENTRIAL)),
    Gate("AgentAssay", "agentassay", _asks(AGENTASSAY), _compares(AGENTASSAY)),
    Gate("signaltest", "signaltest", compare=_compares(SIGNALTEST)),
    Gate("Highbar, `estimate`", "highbar", _highbar("estimate"), _highbar_change("estimate")),
    Gate("Highbar, `confident`", "highbar", _highbar("confident"), _highbar_change("confident")),
)


def version_of(package: str) -> str:
    """The version of a package that is measured."""
    return highbar.__version__ if package == "highbar" else {**VERSIONS, **GATE_VERSIONS}[package]


def environment_of(gate: Gate, folder: Path) -> Path:
    """What runs a gate, installed below the folder unless it is there: its program, or the Python that has it."""
    program = installed(gate.package, folder, GATE_VERSIONS.get(gate.package))
    return program.with_name("python") if gate.package == "inspect-ai" else program
