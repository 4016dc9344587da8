"""tau-bench trajectories (a list of runs) and tau2-bench results (`simulations`) → rows: one per trial of a task.

A trial passes if its reward is 1, as in both tools. A run that was aborted is an error and counts as failed: tau-bench
gives it the reward 0, but tau2-bench leaves runs with an infrastructure error out of its averages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from highbar.importers import Row
from highbar.importers.json_records import array_records, without_arrays
from highbar.importers.limits import MOST_TRIALS
from highbar.importers.naming import number_or_name
from highbar.importers.record import Record, refuse, shown
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.language.tool_names import text_or_json

_RUNS = ("", "simulations", "simulation_index")
_ARRAYS = frozenset({*_RUNS, "tasks"})
_NEAR_ONE = 1e-6
_ENDED = frozenset({"user_stop", "agent_stop", "max_steps"})
"""The termination reasons of a regular end; any other means that the agent or its environment broke down."""

_READ = frozenset(
    {"task_id", "trial", "reward", "info", "traj"}
    | {"id", "termination_reason", "reward_info", "agent_cost", "user_cost", "duration", "messages"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file of runs."""
    document = without_arrays(path, _ARRAYS)
    runs = next((name for name in _RUNS if name in document), None)
    if runs is None:
        refuse(
            "results.empty",
            "there are no runs in this file",
            hint="wanted a list of {task_id, reward, …}, or an object with simulations",
        )
    report.scorers["reward"] = "judges"
    report.judges = ("reward",)
    plan = _TrialPlan(document)
    for array, run in array_records(path, _ARRAYS):
        if array == "tasks":
            plan.add_task(run)
        elif array == runs:
            report.records += 1
            yield plan.with_task(_row(run, report))
    yield from plan.missing(report)


class _TrialPlan:
    """The trials that each task should have: tau2-bench declares their number; in tau-bench all tasks have the same."""

    def __init__(self, document: Record) -> None:
        info = document.record("info") or Record({}, "info")
        environment = info.record("environment_info")
        self._domain = environment.text("domain_name") if environment else None
        self._trials = set(range(_planned_trials(info)))
        self._found: dict[str, set[int]] = {}
        self._unnumbered: Counter[str] = Counter()
        self._asked: dict[str, str | None] = {}

    def add_task(self, task: Record) -> None:
        """Add a planned task."""
        name = number_or_name(task, "id", "a task")
        scenario = task.record("user_scenario")
        self._asked[name] = text_or_json(scenario.value("instructions")) if scenario else None
        self._found.setdefault(name, set())

    def with_task(self, row: Row) -> Row:
        """The row with the columns of its task; remembers that its trial is present."""
        name, trial = str(row["id"]), row.get("trial")
        found = self._found.setdefault(name, set())
        if isinstance(trial, int):
            found.add(trial)
            self._trials.add(trial)
        else:
            self._unnumbered[name] += 1
        return {**row, "input": row.get("input") or self._asked.get(name), "suite": self._domain}

    def missing(self, report: Report) -> Iterator[Row]:
        """A row with an error for every missing trial; tau-bench counts it as failed too."""
        for name, found in self._found.items():
            # Each run without a trial number counts as one of the missing trials; every task has at least one trial.
            for trial in sorted((self._trials or {0}) - found)[self._unnumbered[name] :]:
                report.missing += 1
                yield self.with_task(
                    {"id": name, "trial": trial, "error": "the trial is missing: did the run end early?"}
                )


def _planned_trials(info: Record) -> int:
    """The planned number of trials of each task; 0 if it is not declared."""
    number = info.whole("num_trials")
    if number is not None and not 1 <= number <= MOST_TRIALS:
        refuse(
            "import.wrong-value", f"{info.place}: num_trials: found {number}, wanted a number from 1 to {MOST_TRIALS}"
        )
    return number or 0


def _row(run: Record, report: Report) -> Row:
    info = run.part("info")
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
    report.unread.update(run.others(_READ))
    task = info.record("task")
    return {
        "id": number_or_name(run, "task_id", "a task"),
        "trial": run.whole("trial"),
        **verdicts.columns(),
        "passed": None if reward is None else abs(reward - 1) <= _NEAR_ONE and verdicts.passed is not False,
        "error": error,
        "input": task.text("instruction") if task else None,
        "output": _last_words(run),
        "cost_usd": run.number("agent_cost"),
    }


def _reward(run: Record, checks: Record | None) -> float | None:
    """The reward, which may be in two places; refuses a run in which they differ."""
    own, checked = run.number("reward"), checks.number("reward") if checks else None
    if own is None or checked is None:
        return checked if own is None else own
    if abs(own - checked) > _NEAR_ONE:
        refuse(
            "import.contradiction", f"{run.place}: reward is {own}, and in reward_info it is {checked}: they disagree"
        )
    return own


def _error(run: Record, info: Record) -> str | None:
    """Why the run was aborted; None if it was not. An exception without a message is an error too."""
    if "error" in info:
        return text_or_json(info.value("error")) or "the run ended with an exception"
    reason = run.text("termination_reason")
    return None if reason is None or reason in _ENDED else reason


def _verdicts(checks: Record | None) -> Verdicts:
    """The parts of the reward: the state of the database, and each required output."""
    verdicts = Verdicts()
    if checks is None:
        return verdicts
    info = checks.part("info")
    if "r_actions" in info:
        verdicts.add("actions", verdict=_holds(info.value("r_actions"), info))
    outputs = info.part("outputs")
    for output in outputs:
        verdicts.add(f"says {output}", verdict=outputs.flag(output))
    parts = checks.part("reward_breakdown")
    for part in parts:
        verdicts.add(part.lower(), verdict=_holds(parts.value(part), parts))
    return verdicts


def _holds(value: object, place: Record) -> bool:
    """Whether a part of the reward was reached; it is 1.0 or 0.0, in older versions true or false."""
    if not isinstance(value, bool | int | float):
        refuse("import.wrong-value", f"{place.place}: found {shown(value)}, wanted a part of the reward")
    return abs(value - 1) <= _NEAR_ONE


def _last_words(run: Record) -> str | None:
    messages = run.records("traj" if "traj" in run else "messages")
    texts = (
        text_or_json(message.value("content")) for message in reversed(messages) if message.text("role") == "assistant"
    )
    return next(filter(None, texts), None)
