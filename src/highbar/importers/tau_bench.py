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
_MOST_TRIALS = 10_000
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
    report.scorers["reward"] = "judges"
    report.judges = ("reward",)
    plan = _Plan(document)
    for array, run in elements(path, _ARRAYS):
        if array == "tasks":
            plan.add_task(run)
        elif array == runs:
            report.records += 1
            yield plan.described(_row(run, report))
    yield from plan.missing(report)


class _Plan:
    """Which trials of which tasks there should be: tau2-bench says it, and in tau-bench all have the same ones."""

    def __init__(self, document: Record) -> None:
        info = document.record("info") or Record({}, "info")
        environment = info.record("environment_info")
        self._domain = environment.text("domain_name") if environment else None
        self._trials = set(range(_declared(info)))
        self._found: dict[str, set[int]] = {}
        self._unnumbered: Counter[str] = Counter()
        self._asked: dict[str, str | None] = {}

    def add_task(self, task: Record) -> None:
        """A task that was to run."""
        name = _scenario(task, "id")
        scenario = task.record("user_scenario")
        self._asked[name] = as_text(scenario.value("instructions")) if scenario else None
        self._found.setdefault(name, set())

    def described(self, row: Row) -> Row:
        """The row with what the task says; it is noted as found."""
        name, trial = str(row["id"]), row.get("trial")
        found = self._found.setdefault(name, set())
        if isinstance(trial, int):
            found.add(trial)
            self._trials.add(trial)
        else:
            self._unnumbered[name] += 1
        return {**row, "input": row.get("input") or self._asked.get(name), "suite": self._domain}

    def missing(self, report: Report) -> Iterator[Row]:
        """A row with an error for every trial that is not there; tau-bench, too, counts it as failed."""
        for name, found in self._found.items():
            # A run that does not say which trial it is stands for one of them, and a task has one trial at least.
            for trial in sorted((self._trials or {0}) - found)[self._unnumbered[name] :]:
                report.missing += 1
                yield self.described(
                    {"id": name, "trial": trial, "error": "the trial is missing: did the run end early?"}
                )


def _declared(info: Record) -> int:
    """How many trials each task was to have; 0 if nothing says so."""
    number = info.whole("num_trials")
    if number is not None and not 1 <= number <= _MOST_TRIALS:
        refuse(f"{info.place}: num_trials: found {number}, wanted a number from 1 to {_MOST_TRIALS}")
    return number or 0


def _scenario(run: Record, key: str) -> str:
    value = run.value(key)
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        refuse(f"{run.place}: {key}: found {shown(value)}, wanted the number or the name of a task")
    return identifier(str(value))


def _row(run: Record, report: Report) -> Row:
    info = run.record("info") or Record({}, run.place)
    checks = run.record("reward_info") or info.record("reward_info")
    reward = _reward(run, checks)
    error = _error(run, info)
    verdicts = _verdicts(checks)
    verdicts.add_score("reward", reward)
    verdicts.add_score("user_cost", run.number("user_cost") if "user_cost" in run else info.number("user_cost"))
    verdicts.add_score("duration", run.number("duration"))
    if reward is None and error is None:
        report.unscored += 1
        verdicts.add_broken("reward", "it is missing")
    report.unread.update(key for key in run if key not in _READ and key in run)
    task = info.record("task")
    return {
        "id": _scenario(run, "task_id"),
        "trial": run.whole("trial"),
        **verdicts.columns(),
        "passed": None if reward is None else abs(reward - 1) <= _NEAR_ONE and verdicts.passed is not False,
        "error": error,
        "input": task.text("instruction") if task else None,
        "output": _last_words(run),
        "cost_usd": run.number("agent_cost"),
    }


def _reward(run: Record, checks: Record | None) -> float | None:
    """The reward of the run, which stands there once or twice; refused where the two differ."""
    own, checked = run.number("reward"), checks.number("reward") if checks else None
    if own is None or checked is None:
        return checked if own is None else own
    if abs(own - checked) > _NEAR_ONE:
        refuse(f"{run.place}: reward is {own}, and in reward_info it is {checked}: they disagree")
    return own


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
