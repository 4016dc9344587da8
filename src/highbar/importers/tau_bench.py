"""tau-bench trajectories (a list of runs) and tau2-bench results (`simulations`) → rows: one per trial of a task.

A trial passes when its reward is 1, as both tools count it. A run that broke off is an error and counts as failed:
tau-bench gives it the reward 0, tau2-bench leaves those that its own machinery broke out of every average.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from highbar.importers import Row
from highbar.importers.documents import around, elements
from highbar.importers.naming import as_text
from highbar.importers.record import Record, refuse, shown
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import identifier

_RUNS = ("", "simulations", "simulation_index")
_ARRAYS = frozenset({*_RUNS, "tasks"})
_NEAR_ONE = 1e-6
_ENDED = frozenset({"user_stop", "agent_stop", "max_steps"})
"""How a simulation ends that ran to its end; any other reason is a breakdown of the agent or of what was around it."""

_READ = frozenset(
    {"task_id", "trial", "reward", "info", "traj"}
    | {"id", "termination_reason", "reward_info", "agent_cost", "user_cost", "duration", "messages"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file of runs."""
    document = around(path, _ARRAYS)
    runs = next((name for name in _RUNS if name in document), None)
    if runs is None:
        refuse(
            "there are no runs in this file",
            hint="wanted a list of {task_id, reward, …}, or an object with simulations",
        )
    domain = _domain(document)
    instructions: dict[str, str | None] = {}
    trials: Counter[str] = Counter()
    for array, run in elements(path, _ARRAYS):
        if array == "tasks":
            instructions[_scenario(run, "id")] = _instruction(run)
        elif array == runs:
            report.records += 1
            row = _row(run, report)
            trials[str(row["id"])] += 1
            yield {"input": instructions.get(str(row["id"])), **row, "suite": domain}
    _tell_of_gaps(trials, document, report)


def _domain(document: Record) -> str | None:
    info = document.record("info") or Record({}, "info")
    environment = info.record("environment_info")
    return environment.text("domain_name") if environment else None


def _scenario(run: Record, key: str) -> str:
    value = run.value(key)
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        refuse(f"{run.place}: {key}: found {shown(value)}, wanted the number or the name of a task")
    return identifier(str(value))


def _instruction(task: Record) -> str | None:
    scenario = task.record("user_scenario")
    return as_text(scenario.value("instructions")) if scenario else None


def _row(run: Record, report: Report) -> Row:
    info = run.record("info") or Record({}, run.place)
    checks = run.record("reward_info") or info.record("reward_info")
    reward = run.number("reward")
    reward = checks.number("reward") if reward is None and checks else reward
    error = _error(run, info)
    verdicts = _verdicts(checks)
    verdicts.add_score("reward", reward)
    verdicts.add_score("user_cost", run.number("user_cost") if "user_cost" in run else info.number("user_cost"))
    verdicts.add_score("duration", run.number("duration"))
    if reward is None and error is None:
        report.unscored += 1
    report.unread.update(key for key in run if key not in _READ and key in run)
    task = info.record("task")
    found: Row = {
        "id": _scenario(run, "task_id"),
        "trial": run.whole("trial"),
        **verdicts.columns(),
        "passed": None if reward is None else abs(reward - 1) <= _NEAR_ONE and verdicts.passed is not False,
        "error": error,
        "output": _last_words(run),
        "cost_usd": run.number("agent_cost"),
    }
    return found if task is None else {**found, "input": task.text("instruction")}


def _error(run: Record, info: Record) -> str | None:
    """Why the run broke off, if it did. An exception without a message is one all the same."""
    if "error" in info:
        return as_text(info.value("error")) or "the run ended with an exception"
    reason = run.text("termination_reason")
    return None if reason is None or reason in _ENDED else reason


def _verdicts(checks: Record | None) -> Verdicts:
    """What the reward was made of: the state of the database, and each thing that had to be said."""
    verdicts = Verdicts()
    if checks is None:
        return verdicts
    info = checks.record("info") or Record({}, checks.place)
    if "r_actions" in info:
        verdicts.add("actions", verdict=_holds(info.value("r_actions"), info))
    outputs = info.record("outputs") or Record({}, info.place)
    for output in outputs:
        verdicts.add(f"says {output}", verdict=outputs.flag(output))
    parts = checks.record("reward_breakdown") or Record({}, checks.place)
    for part in parts:
        verdicts.add(part.lower(), verdict=_holds(parts.value(part), parts))
    return verdicts


def _holds(value: object, place: Record) -> bool:
    """A part of the reward: 1.0, 0.0, or as older versions wrote it, true or false."""
    if not isinstance(value, bool | int | float):
        refuse(f"{place.place}: found {shown(value)}, wanted a part of the reward")
    return abs(value - 1) <= _NEAR_ONE


def _last_words(run: Record) -> str | None:
    messages = run.records("traj" if "traj" in run else "messages")
    said = (as_text(message.value("content")) for message in reversed(messages) if message.text("role") == "assistant")
    return next(filter(None, said), None)


def _tell_of_gaps(trials: Counter[str], document: Record, report: Report) -> None:
    """A file that was written while the run went on has fewer trials of some tasks."""
    info = document.record("info")
    wanted = max((info.whole("num_trials") or 0) if info else 0, *trials.values(), 0)
    short = sum(1 for number in trials.values() if number < wanted)
    if short:
        report.warn(f"{short} of {len(trials)} tasks have fewer than {wanted} trials: did the run end early?")
