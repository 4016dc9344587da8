"""Looks at a run that goes on: what they cost, what they find, and what becomes of a run if one of them fails."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar import policy as policies
from highbar.cli import run_in_terminal
from highbar.errors import InputError, Problem, ReportError
from highbar.model import RuleResult, Verdict
from highbar.running.choices import RunOptions, read_run_choices
from highbar.running.deciding import UntilDecided
from highbar.running.execution import FinishedRun, run_prepared
from highbar.running.folder import read_run
from highbar.running.preparing import Prepared, prepare
from highbar.running.progress import ProgressState, Standing
from highbar.suite import Agent
from tests.unit.gate.table import value

pytestmark = pytest.mark.process  # of git, which says which commit is checked out
POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def prepared(planned: int, answer: Callable[[str], str] = lambda _: "yes") -> Prepared:
    scenarios = [{"id": f"S{place}", "input": "?", "answer": {"contains": "yes"}} for place in range(planned)]
    data = json.dumps({"scenarios": scenarios}).encode()
    options = RunOptions(read_run_choices({"concurrency": 1}), Agent("python", "a:b"), output=Path("out"))
    return prepare(Path("suite.json"), options, {}, data, answer)


def run(prepared: Prepared, judge: Callable[[Path], Verdict], policy: dict[str, Any] | None = None) -> FinishedRun:
    return run_prepared(prepared, until=UntilDecided(policies.read_dict(policy or POLICY), judge))


def checked(policy: dict[str, Any]) -> Callable[[Path], Verdict]:
    return lambda folder: highbar.check(folder, policy)


def test_looks_take_no_more_than_a_tenth_of_the_time() -> None:
    spent: list[float] = []

    def judge(folder: Path) -> Verdict:
        verdict = highbar.check(folder, {**POLICY, "required_scenarios": {"ids": ["S0"]}})
        spent.append(time.thread_time())
        raise InputError(Problem("results.empty", f"not yet: {verdict.verdict}"))

    began = time.monotonic()
    done = run(prepared(150, lambda _: time.sleep(0.02) or "yes"), judge)
    assert done.document.state == "complete"
    # The first look is before the first call; the last one may have begun just before the end.
    in_thread = spent[-1] - spent[0]
    assert in_thread <= 0.1 * (time.monotonic() - began) + 0.05


@pytest.mark.parametrize(
    "error",
    [
        InputError(Problem("results.empty", "nothing to judge")),
        ReportError("nothing to judge"),
        OSError("nothing to judge"),
    ],
)
def test_a_look_that_finds_nothing_to_judge_lets_the_run_go_on(error: Exception) -> None:
    def judge(_: Path) -> Verdict:
        raise error

    begun = prepared(5)
    assert run(begun, judge).document.state == "complete"
    assert begun.progress.standing is not None
    assert begun.progress.standing.problem == "nothing to judge"
    assert run_in_terminal._open_rules(begun.progress) == ["  not judged yet: nothing to judge"]


def test_a_look_that_fails_ends_the_run_and_leaves_what_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highbar.running.deciding._SHARE", 1e9)
    looks: list[Path] = []

    def judge(folder: Path) -> Verdict:
        looks.append(folder)
        if len(looks) > 1:
            raise ZeroDivisionError("a fault of our own")
        raise InputError(Problem("results.empty", "nothing yet"))

    with pytest.raises(ZeroDivisionError):
        run(prepared(10_000, lambda _: time.sleep(0.005) or "yes"), judge)
    assert not any(folder.exists() for folder in looks)
    assert read_run(Path("out")).counts().answered > 0


def test_a_bar_that_nothing_can_miss_passes_no_agent_that_was_not_run() -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 0%"}}}
    asked: list[str] = []
    done = run(prepared(3, lambda said: asked.append(said) or "no"), checked(policy), policy)
    assert asked
    assert done.document.done.answered == len(asked)


def test_the_block_of_open_rules_is_drawn_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_in_terminal, "DRAWN_EVERY", 0.001)
    state, stream, done = ProgressState(planned=9), io.StringIO(), threading.Event()
    rules = tuple(
        RuleResult("r", "blocking", "inconclusive", "why", f"m{number}", threshold=">= 0.5", value=value("1/4"))
        for number in range(10)
    )
    state.standing = Standing(open=rules)
    drawing = threading.Thread(target=run_in_terminal._draw, args=(done, state, stream))
    drawing.start()
    while stream.getvalue().count("0/9 done") < 3:
        time.sleep(0.001)
    done.set()
    drawing.join()
    first, second, *_, last = stream.getvalue().split("\r\x1b[J")[1:]
    assert first == second
    lines = first.rpartition("\x1b[")[0].splitlines()
    assert lines[0].startswith("0/9 done")
    assert lines[1:] == [*(f"  m{number} ≥ 50%: 25.0%; open" for number in range(8)), "  … and 2 more"]
    assert first.endswith(f"\x1b[{len(lines) - 1}A")
    assert last == ""
