"""Runs the steps of a composite action as GitHub's runner does: each by itself, with files of its own."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.architecture.repository import ROOT
from tests.docs import forking
from tests.unit.report.workflow import read_outputs

EXPRESSION = re.compile(r"\$\{\{ *([^}]*?) *\}\}")
GH = """#!{python}
import json, pathlib, sys
store = pathlib.Path({store!r})
state = json.loads(store.read_text())
given = sys.argv[1:]
if state["comments"] == "forbidden":
    sys.exit("HTTP 403: Resource not accessible by integration")
state["calls"].append(given)
if "--paginate" in given:
    comments = state["comments"]
    for page in (comments[:2], comments[2:]):
        print(json.dumps(page), end="")
else:
    body = json.load(sys.stdin)["body"]
    place = given[given.index("--method") + 2]
    if given[given.index("--method") + 1] == "POST":
        author = dict(login="github-actions[bot]")
        state["comments"].append(dict(id=len(state["comments"]) + 100, user=author, body=body))
    else:
        (old,) = [old for old in state["comments"] if str(old["id"]) == place.rpartition("/")[2]]
        old["body"] = body
store.write_text(json.dumps(state))
"""


@dataclass(slots=True)
class Done:
    """What became of a run: whether it succeeded, the outputs, the log, the summary, and the comments."""

    succeeded: bool = True
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""


@dataclass(slots=True)
class Runner:
    """A machine with a checkout, a pull request and its comments."""

    folder: Path
    number: int | None = 7
    install: bool = False  # for real; else what is installed here stands where the step would put it
    forked: bool = False  # `highbar` is a process of the server that starts it at once, not of Python's own

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True)
        (self.folder / "temp").mkdir()
        (self.workspace / ".git").mkdir()
        self._program("bin/gh", GH.format(python=sys.executable, store=str(self.folder / "gh.json")))
        self.comments = []
        if not self.install:
            own = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
            self._program("temp/highbar/bin/python", forking.python() if self.forked else own)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def comments(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "gh.json").read_text())["comments"]
        return found

    @comments.setter
    def comments(self, comments: list[dict[str, Any]] | str) -> None:
        (self.folder / "gh.json").write_text(json.dumps({"comments": comments, "calls": []}))

    def _program(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IEXEC)

    def run(self, action: dict[str, Any], given: dict[str, str]) -> Done:
        """The action with these inputs."""
        defaults = {name: str(one.get("default", "")) for name, one in action["inputs"].items()}
        event = {"pull_request": {"number": self.number}} if self.number else {}
        context: dict[str, Any] = {
            "inputs": {**defaults, **given},
            "github": {"token": "secret", "repository": "org/agent", "event": event},
            "steps": {},
        }
        context["inputs"] = {name: self._filled(value, context) for name, value in context["inputs"].items()}
        done = Done()
        for step in action["runs"]["steps"]:
            if step.get("name") == "Install Highbar" and not self.install:
                continue
            if self._wanted(step.get("if", "success()"), context, done):
                self._step(step, context, done)
        done.outputs = {name: self._filled(one["value"], context) for name, one in action["outputs"].items()}
        return done

    def _step(self, step: dict[str, Any], context: dict[str, Any], done: Done) -> None:
        assert step["shell"] == "bash"
        files = {name: self.folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "HIGHBAR_"))},
            **{name: str(file) for name, file in files.items()},
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(self.folder / "temp"),
            **{name: self._filled(str(value), context) for name, value in step.get("env", {}).items()},
        }
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        done.log += ran.stdout + ran.stderr
        done.summary += files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        done.succeeded = done.succeeded and ran.returncode == 0
        if "id" in step:
            context["steps"][step["id"]] = {"outputs": read_outputs(files["GITHUB_OUTPUT"].read_text("utf-8"))}

    def _wanted(self, condition: str, context: dict[str, Any], done: Done) -> bool:
        parts = [part.strip() for part in condition.split("&&")]
        if not {"always()", "success()"} & set(parts):
            parts.append("success()")
        return all(self._holds(part, context, done) for part in parts)

    def _holds(self, part: str, context: dict[str, Any], done: Done) -> bool:
        if part in {"always()", "success()"}:
            return part == "always()" or done.succeeded
        left, equals, right = part.partition(" == ")
        value = self._value(left, context)
        return value == right.strip("'") if equals else bool(value)

    def _filled(self, text: str, context: dict[str, Any]) -> str:
        return EXPRESSION.sub(lambda match: str(self._value(match[1], context) or ""), text)

    def _value(self, path: str, context: dict[str, Any]) -> Any:
        value: Any = context
        for name in path.split("."):
            value = value.get(name, "") if isinstance(value, dict) else ""
        return value
