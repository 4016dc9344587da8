"""The gates that `bench.gates` compares: how each is asked what it says of runs, through its own interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from bench import gates_page
from bench.gates_programs import (
    AGENTASSAY,
    AGENTRIAL,
    INSPECT,
    INSPECT_CRASHES,
    MAIDA,
    MAIDA_AGENT,
    MAIDA_POLICY,
    PROMPTFOO_AGENT,
    SIGNALTEST,
)
from bench.gates_runs import THRESHOLD, Pair, Run
from bench.runners_tools import SILENT, VERSIONS, installed

import highbar
from highbar.cli import guard

GATE_VERSIONS = {"agentassay": "0.2.3", "agentrial": "0.2.0", "maida-ai": "0.5.3.post1", "signaltest": "0.7.0"}
"""Of the gates in the package registry; promptfoo and Inspect as in bench.runners. Maida is `maida-ai` there."""
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
    return ["pass" if _rate(run) >= THRESHOLD else "fail" for run in runs]


def _plain_change(_: Path, pairs: Sequence[Pair]) -> list[str]:
    return ["pass" if _rate(after) >= _rate(before) else "fail" for before, after in pairs]


def _rate(run: Run) -> float:
    """The share of what answered, as a script over a file of results computes it: a crash left no answer."""
    answered = "".join(run).replace("c", "")
    return answered.count("p") / len(answered)


def _highbar(evidence: str) -> Asked:
    policy = {"thresholds": {"blocking": {"pass_rate": f"{THRESHOLD:.0%}"}}, "evidence": evidence}
    return lambda _, runs: [str(highbar.check(rows(run), policy).verdict) for run in runs]


def _highbar_change(evidence: str) -> Compared:
    """The first version is recorded as the baseline; the second may be 5 points worse."""

    def compare(_: Path, pairs: Sequence[Pair]) -> list[str]:
        return [_judged_change(evidence, *pair) for pair in pairs]

    return compare


def _judged_change(evidence: str, before: Run, after: Run) -> str:
    with tempfile.TemporaryDirectory() as home:
        policy = _change_policy(Path(home), evidence)
        (Path(home) / "baseline.json").write_text(_baseline(evidence, before), "utf-8")
        return str(highbar.check(rows(after), policy).verdict)


def _change_policy(folder: Path, evidence: str) -> Path:
    file = folder / "highbar.json"
    rule = {"baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}}, "evidence": evidence}
    file.write_text(json.dumps(rule), "utf-8")
    return file


@lru_cache(maxsize=1)  # two runs of the later version are compared with one run of the earlier
def _baseline(evidence: str, before: Run) -> str:
    with tempfile.TemporaryDirectory() as home:
        results, recorded = Path(home) / "before.jsonl", Path(home) / "baseline.json"
        results.write_text("".join(json.dumps(row) + "\n" for row in rows(before)), "utf-8")
        given = ["--policy", str(_change_policy(Path(home), evidence)), "--output", str(recorded)]
        if _command("baseline", "record", str(results), *given, "--force", "the first version"):
            raise RuntimeError("highbar baseline record failed")
        return recorded.read_text("utf-8")


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


def _compares(text: str, *words: str) -> Compared:
    program = _program(text, *words)
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


def _maida(python: Path, runs: Sequence[Run]) -> list[str]:
    """One check of its policy. Two real runs show that it says pass while the whole verdict is fail."""
    for trial in "fc":
        if _maida_says(python, trial) != {"task_pass_rate": "pass", "verdict": "fail"}:
            raise RuntimeError("maida: one failed trial of 40 no longer fails the whole verdict alone")
    return _asks(MAIDA)(python, runs)


@cache
def _maida_says(python: Path, trial: str) -> dict[str, str]:
    """What `maida run` says of an agent of which one trial of 40 fails or crashes."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "agent.py").write_text(MAIDA_AGENT, "utf-8")
        (folder / "policy.yaml").write_text(MAIDA_POLICY, "utf-8")
        environment = {**os.environ, **SILENT, "HOME": home, "BENCH_TRIAL": trial}
        command = ["run", "agent.py", "--policy", "policy.yaml", "--json-out", "report.json"]
        for words in (["git", "init", "--quiet"], [str(python.with_name("maida")), *command]):
            subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True)
        report = json.loads((folder / "report.json").read_text("utf-8"))
    checks = {one["check_name"]: one["verdict"] for one in report["aggregate_results"]}
    return {"task_pass_rate": checks["task_pass_rate"], "verdict": report["verdict"]}


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
    Gate(gates_page.PLAIN, "highbar", _plain, _plain_change),
    Gate(gates_page.PROMPTFOO, "promptfoo", _promptfoo),
    Gate(gates_page.CI, "inspect-ai", _inspect("ci")),
    Gate(gates_page.WILSON, "inspect-ai", _inspect("ci_wilson")),
    Gate(gates_page.AGENTRIAL, "agentrial", _asks(AGENTRIAL, "threshold")),
    Gate(gates_page.COMPARE, "agentrial", compare=_compares(AGENTRIAL, "compare")),
    Gate(gates_page.SNAPSHOT, "agentrial", compare=_compares(AGENTRIAL, "snapshot")),
    Gate(gates_page.AGENTASSAY, "agentassay", _asks(AGENTASSAY), _compares(AGENTASSAY)),
    Gate(gates_page.MAIDA, "maida-ai", _maida),
    Gate(gates_page.BY_CASE, "signaltest", compare=_compares(SIGNALTEST, "run_suite")),
    Gate(gates_page.PAIRED, "signaltest", compare=_compares(SIGNALTEST, "paired")),
    Gate(gates_page.ESTIMATE, "highbar", _highbar("estimate"), _highbar_change("estimate")),
    Gate(gates_page.CONFIDENT, "highbar", _highbar("confident"), _highbar_change("confident")),
)


def version_of(package: str) -> str:
    """The version of a package that is measured."""
    return highbar.__version__ if package == "highbar" else {**VERSIONS, **GATE_VERSIONS}[package]


def environment_of(gate: Gate, folder: Path) -> Path:
    """What runs a gate, installed below the folder unless it is there: its program, or the Python that has it."""
    program = installed(gate.package, folder, GATE_VERSIONS.get(gate.package))
    return program.with_name("python") if gate.package == "inspect-ai" else program
