"""Runs for a history that nobody ran: records with the numbers that the caller says, written as a check writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from highbar.model import Counts, Decision, RuleResult, Source, Value, Verdict
from highbar.model.history import MetricInRun, NewRun, RuleInRun, RunRecord, ScenarioCounts
from highbar.store import history as store
from highbar.store import verdict as verdicts
from highbar.store.writing import encode

DIGEST = "d" * 64
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def counts(passed: Mapping[str, int], trials: int = 1, **more: Any) -> tuple[ScenarioCounts, ...]:
    """Scenarios by id, with how many of their trials passed; the others failed."""
    return tuple(
        ScenarioCounts(
            **{"id": id_, "digest": f"{id_:0>64}", "category": "happy_path", "capability": None, "trials": trials,
               "passed": number, "failed": trials - number, "undecided": 0, **more}
        )
        for id_, number in passed.items()
    )  # fmt: skip


def new_run(
    number: int, scenarios: Sequence[ScenarioCounts] | None = None, *, threshold: float = 0.8, **facts: Any
) -> NewRun:
    """The run with this number: its results, and so its record, are its own; one per hour from 2026-01-01 on."""
    rows = counts({"A": 1, "B": int(number % 2 == 0)}) if scenarios is None else tuple(scenarios)
    share = Fraction(sum(row.passed == row.trials for row in rows), max(len(rows), 1))
    outcome: Decision = "pass" if share >= Fraction(str(threshold)) else "fail"
    value = Value(share, len(rows), 0, "ratio", "higher", low=max(0.0, float(share - Fraction(1, 20))), high=1.0)
    rule = RuleResult(
        "thresholds.blocking.pass_rate", "blocking", outcome, "because", "pass_rate",
        threshold=f">= {threshold}", value=value, evidence="estimate",
    )  # fmt: skip
    counted = Counts(len(rows), sum(row.trials for row in rows), 0, 0, sum(row.failed > 0 for row in rows))
    results = (Source(f"results-{number}.jsonl", f"{number:064x}"),)
    verdict = Verdict(
        outcome, counted, {"pass_rate": value}, (), (rule,), (), (), Source("highbar.yaml", DIGEST), results
    )
    document = encode(verdicts.write(verdict))
    metric = MetricInRun(float(share), value.low, value.high, "ratio", "higher", len(rows), definition="1")
    run = RunRecord(
        record=store.identity(json.loads(document)),
        time=f"{_FIRST + timedelta(hours=number):%Y-%m-%dT%H:%M:%SZ}",
        time_of="given",
        verdict=outcome,
        counts=counted,
        metrics={"pass_rate": metric},
        rules=(_in_run(rule, value, threshold),),
        branch="main",
        commit=f"{number:040x}",
        parents=(f"{number - 1:040x}",) if number else (),
        policy=DIGEST,
        suite="suite",
        scoring="scoring",
        judge="judge",
        results=(results[0].sha256,),
        listed=len(rows),
    )
    return NewRun(replace(run, **facts), document, rows)


def _in_run(rule: RuleResult, value: Value, threshold: float) -> RuleInRun:
    return RuleInRun(
        rule.rule, rule.level, rule.outcome, "pass_rate", rule.threshold, ">=", threshold,
        value=float(value), low=value.low, high=value.high,
    )  # fmt: skip


def add(folder: Path, *runs: NewRun) -> list[Path]:
    """Write the runs into a folder, and return their files."""
    return [Path(store.write(folder, run).file) for run in runs]
