"""All reports say the same: each is read back by a parser of its format and held against the verdict."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from highbar import pipeline
from highbar.language.digits import as_float, bounds_by_metric
from highbar.model import Verdict
from highbar.model.job import Job, Wants
from highbar.report import REPORTERS, Display
from tests.commandline import EXIT, run
from tests.golden import test_golden as golden
from tests.golden.test_golden import arguments
from tests.reports.readers import READERS, Found, Number, Shown

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support-agent"
WIDE = Display(width=140, verbose=True)
UNCLEAR = {
    "rules": [{"metric": "pass_rate", "threshold": "≥ 50%", "min_scenarios": 30, "level": level} for level in
              ("blocking", "warning")],
    "thresholds": {"blocking": {"error_rate": "≤ 50%"}, "warning": {"recall": "≥ 50%"}},
}  # fmt: skip
TRIALS = [
    {"id": f"S{n}", "trial": trial, "category": "happy_path", "passed": (n + trial) % 3 > 0, "latency_ms": 10 * n}
    for n in range(8)
    for trial in (1, 2)
]
LEFT_OUT = 5
EVERYTHING = Wants(scenarios=True, details=True)
CASES = ["v1", "v2", "unclear", "bare"]
GOLDEN = [case for case in golden.CASES if json.loads((case / "expected.json").read_text("utf-8"))["exit"] in {0, 1, 3}]


def prepare(folder: Path, case: str) -> tuple[str, str | None]:
    """The results and the policy of a case."""
    if case in {"v1", "v2"}:
        return str(EXAMPLE / f"{case}.jsonl"), str(EXAMPLE / "highbar.yaml")
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TRIALS))
    (folder / "policy.json").write_text(json.dumps(UNCLEAR))
    return "results.jsonl", "policy.json" if case == "unclear" else "typical"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("agreement")
    (folder / ".git").mkdir()
    before = Path.cwd()
    os.chdir(folder)  # a policy is looked for from here upward
    try:
        found = {}
        for case in CASES:
            results, policy = prepare(folder, case)
            found[case] = pipeline.check(Job((results,), policy=policy, wants=EVERYTHING))
        return found
    finally:
        os.chdir(before)


def differences(found: Found, verdict: Verdict) -> list[str]:
    """Where a report says something else than the verdict."""
    wrong = [] if found.verdict == verdict.verdict else [f"verdict {found.verdict}"]
    bounds = bounds_by_metric(verdict.rules)
    wrong += [f"rule {name} is not in the verdict" for name in found.rules.keys() - {r.rule for r in verdict.rules}]
    for rule in verdict.rules:
        read = found.rules.get(rule.rule)
        if read is None:
            wrong.append(f"rule {rule.rule} is missing")
            continue
        if rule.outcome not in read.outcomes or read.level not in {None, rule.level}:
            wrong.append(f"rule {rule.rule} is {read}")
        exact = rule.value.value if rule.value else None
        if read.has_value and not same(read.value, exact, bounds.get(rule.metric or "", ())):
            wrong.append(f"rule {rule.rule} has the value {read.value}, not {exact}")
    if found.metrics.keys() != verdict.metrics.keys():
        wrong.append(f"metrics {found.metrics.keys() ^ verdict.metrics.keys()}")
    wrong += [
        f"metric {name} is {found.metrics[name]}, not {value.value}"
        for name, value in verdict.metrics.items()
        if name in found.metrics and not same(found.metrics[name], value.value, bounds.get(name, ()))
    ]
    failed = {scenario.id for scenario in verdict.scenarios if not scenario.passed and not scenario.undecided}
    if found.failed is not None and found.failed != failed:
        wrong.append(f"failed scenarios {found.failed ^ failed}")
    return wrong


def same(read: Number, exact: Fraction | None, bounds: tuple[Fraction, ...]) -> bool:
    """Machines read the same float; people a rounded one."""
    value = None if exact is None else as_float(exact, bounds)
    if isinstance(read, Shown):
        return read.is_about(value)
    return read == value


def test_every_format_has_a_reader_here() -> None:
    assert set(READERS) == set(REPORTERS)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.hazard("H118")
def test_every_report_of_one_run_says_what_the_verdict_says(case: str, tmp_path: Path, verdicts) -> None:
    results, policy = prepare(tmp_path, case)
    outputs = [argument for name in READERS for argument in ("--output", f"{name}=report.{name}")]
    done = run(
        tmp_path,
        "check",
        results,
        *(["--policy", policy] if policy else []),
        *outputs,
        "-v",
        environment={"COLUMNS": "140"},
    )
    verdict = verdicts[case]
    assert done.exit == EXIT[verdict.verdict], done.err
    assert differences(READERS["text"](done.out), verdict) == []
    for name in set(READERS) - {"text"}:
        text = (tmp_path / f"report.{name}").read_text("utf-8")
        assert differences(READERS[name](text), verdict) == [], name


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
@pytest.mark.hazard("H118")
def test_every_golden_case_reads_the_same_in_every_report(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, results, *options = arguments(case)
    given = dict(pairwise(options))
    monkeypatch.chdir(case)
    policy, version = given.get("--policy"), given.get("--agent-version")
    verdict = pipeline.check(Job((results,), policy=policy, agent_version=version, wants=EVERYTHING))
    for name in READERS:
        assert differences(rendered(name, verdict), verdict) == [], name


def test_the_cases_have_every_verdict_and_every_outcome(verdicts) -> None:
    assert {verdict.verdict for verdict in verdicts.values()} == {"pass", "fail", "inconclusive"}
    rules = [rule for verdict in verdicts.values() for rule in verdict.rules]
    assert {(rule.outcome, rule.level) for rule in rules} >= {
        ("pass", "blocking"), ("fail", "blocking"), ("inconclusive", "blocking"), ("pass", "warning"),
        ("fail", "warning"), ("undefined", "warning"), ("inconclusive", "warning"),
    }  # fmt: skip


def rendered(name: str, verdict: Verdict) -> Found:
    return READERS[name](REPORTERS[name](verdict, WIDE))


@pytest.mark.parametrize("name", READERS)
def test_a_renderer_that_leaves_out_a_rule_is_noticed(name: str, verdicts) -> None:
    verdict = verdicts["v1"]
    assert differences(rendered(name, verdict), verdict) == []
    for first in range(LEFT_OUT):  # each time every so many rules, so that each is left out once, beside most others
        gone = verdict.rules[first::LEFT_OUT]
        without = replace(verdict, rules=tuple(rule for rule in verdict.rules if rule not in gone))
        assert gone
        missing = {f"rule {rule.rule} is missing" for rule in gone}
        assert missing <= set(differences(rendered(name, without), verdict))


@pytest.mark.parametrize("name", READERS)
def test_a_renderer_that_turns_an_outcome_a_verdict_or_a_value_is_noticed(name: str, verdicts) -> None:
    verdict = verdicts["v1"]
    first, *rest = verdict.rules
    turned = replace(verdict, rules=(replace(first, outcome="pass"), *rest))
    assert differences(rendered(name, turned), verdict)
    assert differences(rendered(name, replace(verdict, verdict="pass")), verdict)
    accuracy = verdict.metrics["accuracy"]
    other = {**verdict.metrics, "accuracy": replace(accuracy, value=accuracy.value + Fraction(1, 60))}
    assert differences(rendered(name, replace(verdict, metrics=other)), verdict)
    gone = {metric: value for metric, value in verdict.metrics.items() if metric != "accuracy"}
    assert differences(rendered(name, replace(verdict, metrics=gone)), verdict)


@pytest.mark.parametrize("name", READERS)
def test_a_renderer_that_leaves_out_a_failed_scenario_is_noticed(name: str, verdicts) -> None:
    verdict = verdicts["v1"]
    without = replace(
        verdict,
        details=None,
        scenarios=verdict.scenarios[1:],
        scenarios_failed=tuple(one for one in verdict.scenarios_failed if one.id != verdict.scenarios[0].id),
    )
    assert differences(rendered(name, without), verdict)
