"""The tools that are measured: how each is installed, started and resumed, with telemetry and update checks off."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.runners_programs import AGENT, AGENT_IN_JAVASCRIPT, DEEPEVAL, INSPECT, PYDANTIC_EVALS

AT_ONCE = 20
VERSIONS = {"inspect-ai": "0.3.285", "promptfoo": "0.121.20", "deepeval": "4.3.1", "pydantic-evals": "2.62.0"}
"""Of the other tools, by the name of the package; the same as in tests/importers/recipes."""
SILENT = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "ERROR_REPORTING": "NO",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
}
"""No telemetry and no update checks."""

Commands = Callable[[Path, Path], list[list[str]]]
"""From the tool's program and the folder of the run to commands, in order."""


@dataclass(frozen=True, slots=True)
class Way:
    """One tool with one set of options."""

    name: str
    package: str
    prepare: Callable[[Path, int], None]
    """Write what a run of so many trials needs into a folder."""
    commands: Commands
    resume: Commands | None = None
    read: Callable[[Path], set[str]] | None = None
    """For a tool that cannot resume: the questions whose answers are in its files after a kill."""
    environment: Mapping[str, str] = field(default_factory=dict)
    most: int | None = None
    """The most trials that it can run within minutes, if its time grows with their square."""


def environment(way: Way, folder: Path, trials: int, seconds: float, log: Path | None) -> dict[str, str]:
    """Of a run: the tool finds no settings of the user, and leaves its files in the folder of the run."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    own = {"BENCH_TRIALS": str(trials), "BENCH_SECONDS": str(seconds), **({"BENCH_LOG": str(log)} if log else {})}
    homes = {"HOME": "", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "PROMPTFOO_CONFIG_DIR": "promptfoo"}
    return {**kept, **SILENT, **{name: str(folder / part) for name, part in homes.items()}, **way.environment, **own}


def installed(package: str, folder: Path, version: str | None = None) -> Path:
    """The program that runs a tool, installed in an environment of its own below the folder unless it is there."""
    if package == "highbar":
        return Path(sys.executable)
    wanted = version or VERSIONS[package]
    home = folder / f"{package}-{wanted}"
    if package == "promptfoo":
        return _installed_by_npm(package, home)
    program = home / "bin" / ("inspect" if package == "inspect-ai" else "python")
    done = home / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{package}=={wanted}"], check=True)
        done.touch()
    return program


def _installed_by_npm(package: str, home: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise FileNotFoundError("this machine has no Node.js")
    program = home / "node_modules" / ".bin" / package
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        wanted = f"{package}@{VERSIONS[package]}"
        subprocess.run([npm, "install", "--prefix", str(home), "--no-audit", "--no-fund", wanted], check=True)
    return program


def _write_agent(folder: Path) -> None:
    (folder / "bench_agent.py").write_text(AGENT, "utf-8")


def _prepare_highbar(folder: Path, trials: int) -> None:
    _write_agent(folder)
    scenarios = [{"id": f"S{i}", "input": f"q{i}", "answer": {"contains": "hello"}} for i in range(trials)]
    (folder / "suite.json").write_text(json.dumps({"suite": "trials", "scenarios": scenarios}), "utf-8")
    (folder / "highbar.yaml").write_text("thresholds: { blocking: { accuracy: 95% } }\n", "utf-8")


def _prepare_promptfoo(folder: Path, trials: int) -> None:
    (folder / "agent.cjs").write_text(AGENT_IN_JAVASCRIPT, "utf-8")
    check = [{"type": "contains", "value": "hello"}]
    tests = [{"description": f"S{i}", "vars": {"question": f"q{i}"}, "assert": check} for i in range(trials)]
    document = {"prompts": ["{{question}}"], "providers": ["file://agent.cjs"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(document), "utf-8")


def _prepare_program(name: str, text: str) -> Callable[[Path, int], None]:
    def prepare(folder: Path, _: int) -> None:
        _write_agent(folder)
        (folder / name).write_text(text, "utf-8")

    return prepare


def _highbar(*options: str) -> Commands:
    given = ["--agent", "python:bench_agent:answer", "--concurrency", str(AT_ONCE), "--output", "out", *options]
    return lambda python, _: [[str(python), "-m", "highbar", "run", "suite.json", *given]]


def _highbar_resumes(*options: str) -> Commands:
    return lambda python, _: [[str(python), "-m", "highbar", "run", "--resume", "out", *options]]


PROMPTFOO = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share", "--max-concurrency", str(AT_ONCE)]


def _promptfoo(*options: str) -> Commands:
    return lambda program, _: [[str(program), "eval", "--config", "promptfooconfig.json", *PROMPTFOO, *options]]


def _promptfoo_resumes(program: Path, _: Path) -> list[list[str]]:
    return [[str(program), "eval", "--resume", *PROMPTFOO]]


INSPECT_OPTIONS = ["--max-samples", str(AT_ONCE), "--display", "none", "--log-dir", "logs"]


def _inspect(*options: str) -> Commands:
    given = ["--model", "none/none", *INSPECT_OPTIONS, *options]
    return lambda program, _: [[str(program), "eval", "trials.py", *given]]


def _inspect_resumes(program: Path, folder: Path) -> list[list[str]]:
    """It puts together what is in the log and what is still in its buffer, and goes on from there."""
    (log,) = (folder / "logs").glob("*.eval")
    recover = [str(program), "log", "recover", str(log), "--output", "recovered.eval"]
    return [recover, [str(program), "eval-retry", "recovered.eval", *INSPECT_OPTIONS]]


def _inspect_resumes_without_buffer(program: Path, folder: Path) -> list[list[str]]:
    (log,) = (folder / "logs").glob("*.eval")
    return [[str(program), "eval-retry", str(log), *INSPECT_OPTIONS, "--no-log-realtime"]]


def _python(name: str) -> Commands:
    return lambda python, _: [[str(python), name]]


def questions_of_report(folder: Path) -> set[str]:
    """The questions in the report of pydantic-evals, which our program writes at the end."""
    file = folder / "report.json"
    return {one["inputs"] for one in json.loads(file.read_text("utf-8"))["cases"]} if file.exists() else set()


def questions_of_lines(folder: Path) -> set[str]:
    """The questions in promptfoo's JSONL output, which it writes line by line."""
    file = folder / "results.jsonl"
    lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
    return {json.loads(line)["vars"]["question"] for line in lines if line.endswith("\n")}


def questions_of_cache(folder: Path) -> set[str]:
    """The questions in DeepEval's caches, which it writes after each case."""
    found = set()
    for file in (folder / ".deepeval").glob(".*cache.json"):
        try:
            cases = json.loads(file.read_text("utf-8"))["test_cases_lookup_map"]
        except ValueError:  # the kill came while it was written
            continue
        found |= {json.loads(key)["input"] for key in cases}
    return found


_POLICY = ("--policy", "highbar.yaml")
_INSPECT = _prepare_program("trials.py", INSPECT)
_DEEPEVAL = _prepare_program("trials.py", DEEPEVAL)
_PYDANTIC_EVALS = _prepare_program("trials.py", PYDANTIC_EVALS)
_NO_WRITE = ("--no-write", "--output", "results.jsonl")

WAYS = (
    Way("Highbar", "highbar", _prepare_highbar, _highbar(*_POLICY), resume=_highbar_resumes(*_POLICY)),
    Way(
        "Highbar, `--no-check`",
        "highbar",
        _prepare_highbar,
        _highbar("--no-check"),
        resume=_highbar_resumes("--no-check"),
    ),
    Way("pydantic-evals", "pydantic-evals", _PYDANTIC_EVALS, _python("trials.py"), read=questions_of_report),
    Way("promptfoo", "promptfoo", _prepare_promptfoo, _promptfoo(), resume=_promptfoo_resumes),
    Way("promptfoo, `--no-write`", "promptfoo", _prepare_promptfoo, _promptfoo(*_NO_WRITE), read=questions_of_lines),
    Way("DeepEval", "deepeval", _DEEPEVAL, _python("trials.py"), read=questions_of_cache, most=400),
    Way(
        "DeepEval, `write_cache=False`",
        "deepeval",
        _DEEPEVAL,
        _python("trials.py"),
        read=questions_of_cache,
        environment={"BENCH_NO_CACHE": "1"},
    ),
    Way("Inspect", "inspect-ai", _INSPECT, _inspect(), resume=_inspect_resumes),
    Way(
        "Inspect, `--no-log-realtime`",
        "inspect-ai",
        _INSPECT,
        _inspect("--no-log-realtime"),
        resume=_inspect_resumes_without_buffer,
    ),
)
"""Each tool as it comes, and with the fastest options that were found."""
