"""What stands in a policy is read as people see it (H135), all of it, whatever else is wrong with it (H139)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commandline import check, judged, refused, run

ROWS = [{"id": "A", "passed": True, "correct": True}, {"id": "B", "passed": False, "correct": True}]


@pytest.mark.parametrize(
    "text",
    [
        "# was 50% once:\rthresholds: { blocking: { pass_rate: 50% } }\n",
        "thresholds: { blocking: { pass_rate: 50% } } # strict\rpass_score: 0.1\n",
        "thresholds:\n  blocking: # all of them\r    { pass_rate: 50% }\n",
        'thresholds: { blocking: { pass_rate: "≥\r 50%" } }\n',
        "thresholds: { blocking: { pass_rate: 50% } }\r",
    ],
)
def test_h135_a_lone_carriage_return_ends_no_comment(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    (tmp_path / "policy.yaml").write_bytes(text.encode())
    refused(run(tmp_path, "check", "results.jsonl", "--policy", "policy.yaml", "--format", "json"), "U+000D")
    assert "U+000D" in run(tmp_path, "policy", "policy.yaml").err


@pytest.mark.parametrize("name", ["suite.yaml", "ids.yaml"])
def test_h135_nor_in_a_suite(tmp_path: Path, name: str) -> None:
    text = "- A\n- B # the rest\r- C\n"
    if name == "suite.yaml":
        text = (
            "scenarios:\n  - { id: A, input: Hi, answer: { contains: yes } } # a\r  - { id: B, input: Hi, answer: x }\n"
        )
    (tmp_path / name).write_bytes(text.encode())
    done = run(tmp_path, "suite", name)
    assert done.exit == 2
    assert "U+000D" in done.err


def test_h135_lines_that_end_as_on_windows_are_lines(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    (tmp_path / "policy.yaml").write_bytes(b"# a comment\r\nthresholds:\r\n  blocking: { pass_rate: 50% }\r\n")
    judged(run(tmp_path, "check", "results.jsonl", "--policy", "policy.yaml", "--format", "json"), "pass")


# --- H139 ---------------------------------------------------------------------------------------

BAR: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "50%"}}}


@pytest.mark.parametrize(
    ("added", "place"),
    [
        ({"weights": {"description": 5}}, "weights.description"),
        ({"composite": {"formula": "accuracy", "description": 5}}, "composite.description"),
        ({"composite": {"description": 5}}, "composite.description"),
        ({"composite": {"formula": "accuracy", "min_scenarios": -1}}, "composite.min_scenarios"),
        ({"composite": {"formula": "accuracy", "pass": [], "min_scenarios": -1}}, "composite.min_scenarios"),
        ({"baseline": {"file": "b.json", "new_failures": {"ids": 5, "level": "x"}}}, "baseline.new_failures.level"),
        ({"baseline": {"file": "b.json", "new_failures": {"level": "x"}}}, "baseline.new_failures.level"),
        ({"baseline": {"file": "b.json", "margin": {"acuracy": "lots"}}}, "'lots'"),
        ({"rules": [{"metric": "accuracy", "threshold": "≥ 90%", "evidence": 5, "horizon": "x"}]}, "horizon"),
        ({"rules": [{"metric": "acuracy", "threshold": [], "margin": {}}]}, "rules[0].margin"),
        ({"rules": [{"metric": "acuracy", "threshold": [], "margin": {}}]}, "rules[0].threshold"),
        ({"rules": [{"metric": "accuracy", "min_scenarios": "x"}]}, "min_scenarios"),
        ({"rules": ["acuracy >= 9x%"]}, "'>= 9x%'"),
        ({"progressive": {"acuracy": {"v1.0": [], "target": "≥ 95%"}}}, "progressive.acuracy.v1.0"),
        ({"metrics": [{"name": "own", "formula": 5, "typical_threshold": []}]}, "typical_threshold"),
        ({"metrics": [{"name": "own", "formula": "mean(x)", "unit": 5, "range": "wide"}]}, "range"),
        ({"judge": {"min_labels": {"level": "x"}}}, "judge.min_labels.level"),
        ({"quarantine": {"ids": 5}}, "quarantine.ids"),
        ({"quarantine": {"ids": [{"until": "soon"}]}}, "quarantine.ids[0].until"),
        ({"weights": {"by_category": {"adverserial": "heavy"}}}, "'adverserial'"),
    ],
)
def test_h139_a_faulty_key_hides_no_other(tmp_path: Path, added: dict[str, Any], place: str) -> None:
    refused(check(tmp_path, ROWS, {**BAR, **added}), place)


@pytest.mark.parametrize(
    ("key", "most"),
    [("horizon", 1_000_000), ("failures", 1000)],
)
def test_h139_the_published_schema_has_the_bounds_of_the_reader(tmp_path: Path, key: str, most: int) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(run(tmp_path, "schema", "policy").out))
    for number, sound in ((most, True), (most + 1, False)):
        evidence = "sequential" if key == "horizon" else "confident"
        entry = {"threshold": "100%", "evidence": evidence, key: number}
        policy = {"thresholds": {"blocking": {"pass_rate": entry}}}
        assert validator.is_valid(policy) is sound
        assert (check(tmp_path, ROWS, policy).exit != 2) is sound
        if key == "horizon":
            policy = {**BAR, "evidence": evidence, key: number}
            assert validator.is_valid(policy) is sound
            assert (check(tmp_path, ROWS, policy).exit != 2) is sound
