"""A crash never lifts a rule's outcome, whatever formula the rule is about.

`attempt(seed, folder)` makes formulas over columns of the user's own and over latency and tokens, each with a direction
and a rule that the results just miss, and takes one row's values away by a crash. What the policy may not say is
refused, and passes nothing. Metrics of ours are left out: a formula such as `1 - accuracy` may reward wrong answers,
which is noted, and no end of a range is at play.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import highbar
from highbar.policy import read_dict
from tests.laws.worse import RANK

Row = dict[str, Any]
FORMULAS, MOST = 12, 10**6
RANGES = {"own_a": (0, 1), "own_b": (1, 5), "own_c": (-2, 2)}
LEAVES = (
    *("A", "B", "C", "mean(own_a)", "mean(own_b)", "mean(own_c)", "sum(own_a)", "sum(own_b)", "sum(own_c)"),
    *("percentile(own_a, 50%)", "percentile(own_c, 25%)", "percentile(undeclared, 50%)", "mean(undeclared)"),
    *("mean(latency_ms)", "sum(tokens_used)", "percentile(latency_ms, 50%)", "latency_p50", "total_scenarios"),
    *("1", "2", "0.5", "10"),
)


def formula(chance: Random, depth: int = 2) -> str:
    """A formula in the language of policies."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice(LEAVES)
    one, other = formula(chance, depth - 1), formula(chance, depth - 1)
    return chance.choice(
        (f"({one} + {other})", f"({one} - {other})", f"({one} - {other})", f"({one} * {other})", f"({one} / {other})",
         f"min({one}, {other})", f"max({one}, {other})", f"abs({one})", f"(0 - {one})")
    )  # fmt: skip


def rows_of(chance: Random) -> list[Row]:
    """Results of which every one has a value in every column."""
    return [
        {
            "id": f"s{place}",
            "passed": True,
            **{name: chance.randint(low * 4, high * 4) / 4 for name, (low, high) in RANGES.items()},
            "undeclared": chance.randint(-8, 8) / 4,
            "latency_ms": chance.randint(1, 40),
            "tokens_used": chance.randint(1, 40),
        }
        for place in range(chance.randint(2, 5))
    ]


def attempt(seed: int, _: Path) -> str:
    """One set of formulas from a seed, over some rows, of which one crashes."""
    chance = Random(seed)
    rows = rows_of(chance)
    declared = [
        {"name": name[-1].upper(), "formula": f"mean({name})", "range": f"{low} to {high}", "better": _better(chance)}
        for name, (low, high) in RANGES.items()
    ]
    policy: Row = {"metrics": declared, "rules": [], "latency_limit": 40, "tokens_limit": 40}
    if chance.random() < 0.5:  # the metrics of a policy may be made of each other
        inner = formula(chance, 1)
        declared.append({"name": "inner", "formula": inner, "better": _better(chance)})
    made = [(formula(chance), _better(chance)) for _ in range(FORMULAS)]
    own = [{"name": f"own_{at}", "formula": text, "better": better} for at, (text, better) in enumerate(made)]
    policy["metrics"] += [metric for metric in own if _may_be_said(policy, metric)]
    policy["rules"] = _just_missed(policy, rows)
    if not policy["rules"]:
        return "every formula refused or undefined"
    before, lost = _ranks(rows, policy), chance.randrange(len(rows))
    after = _ranks([{"id": r["id"], "error": "boom"} if at == lost else r for at, r in enumerate(rows)], policy)
    for rule, old, new in zip(policy["rules"], before, after, strict=True):
        assert new <= old, f"{rule}: a crash of {rows[lost]} lifts it\n{rows}\n{policy['metrics']}"
    return "tried"


def _loose(metric: Row) -> Row:
    return {"metric": metric["name"], "threshold": "≥ 0" if metric["better"] == "higher" else "≤ 0"}


def _may_be_said(policy: Row, metric: Row) -> bool:
    try:
        read_dict({**policy, "metrics": [*policy["metrics"], metric], "rules": [_loose(metric)]})
    except highbar.InputError:
        return False
    return True


def _just_missed(policy: Row, rows: list[Row]) -> list[Row]:
    """For each metric that has a value, a rule that it just misses."""
    metrics = [metric for metric in policy["metrics"] if metric["name"].startswith("own")]
    if not metrics:
        return []
    rules = [_loose(metric) for metric in metrics] + [{"metric": "pass_rate", "threshold": "≥ 50%"}]
    values = highbar.check(rows, {**policy, "rules": rules}).metrics
    return [
        {"metric": metric["name"], "threshold": _beyond(value, metric["better"])}
        for metric in metrics
        if (value := values[metric["name"]].value) is not None and abs(value) < MOST
    ]


def _beyond(value: Fraction, better: str) -> str:
    step = Fraction(1, 10**6)
    bound = (value // step + 1) * step if better == "higher" else (-(-value // step) - 1) * step
    return f"{'≥' if better == 'higher' else '≤'} {float(bound):.6f}"


def _better(chance: Random) -> str:
    return chance.choice(("higher", "lower"))


def _ranks(rows: list[Row], policy: Row) -> list[int]:
    try:
        return [RANK[rule.outcome] for rule in highbar.check(rows, policy).rules]
    except highbar.InputError:
        return [0] * len(policy["rules"])
