"""Text that hides what it does: characters that end a YAML comment (R33), digits beyond what engines count (R34)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import check, judged, refused, run

ROWS = [{"id": "A", "passed": False}]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_r33_a_character_that_ends_a_yaml_comment_is_refused(tmp_path: Path, character: str) -> None:
    policy = (
        f"# the bar of this project{character}evidence: estimate\nthresholds: {{ blocking: {{ pass_rate: 1% }} }}\n"
    )
    refused(check(tmp_path, ROWS, policy), f"U+{ord(character):04X}", "remove it", "policy.yaml", line=1)


def test_r33_such_a_character_is_refused_in_a_suite_too(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("- A\n# not:\u2028- B\n", "utf-8")
    policy = "suite: suite.yaml\nthresholds: { blocking: { pass_rate: 1% } }\n"
    refused(check(tmp_path, ROWS, policy), "U+2028", "suite.yaml", line=2)


def test_r33_such_a_character_is_text_in_a_json_policy(tmp_path: Path) -> None:
    policy = {"description": "a\u2028b", "thresholds": {"blocking": {"pass_rate": "1%"}}}
    judged(check(tmp_path, ROWS, policy), "fail")


def test_r33_it_can_be_written_as_an_escape(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text('description: "a\\u2028b"\nthresholds: { blocking: { pass_rate: 1% } }\n')
    assert run(tmp_path, "policy", "policy.yaml").exit == 0


@pytest.mark.parametrize("digits", [21, 30, 37])
def test_r34_a_pass_score_with_too_many_digits_is_refused_with_its_line(tmp_path: Path, digits: int) -> None:
    policy = f"pass_score: 0.{'3' * digits}\nthresholds: {{ blocking: {{ pass_rate: 1% }} }}\n"
    refused(check(tmp_path, ROWS, policy), "pass_score", " 20 ", line=1, code="policy.out-of-range")


@pytest.mark.parametrize(
    ("score", "verdict"), [("0." + "6" * 20, "pass"), ("0.6666666666666667", "fail"), ("0.5", "pass")]
)
def test_r34_a_pass_score_of_many_digits_is_exact(tmp_path: Path, score: str, verdict: str) -> None:
    row = {"id": "A", "expected_behaviors": ["x", "y", "z"], "behaviors": ["x", "y"]}
    policy = f"pass_score: {score}\nthresholds: {{ blocking: {{ pass_rate: 100% }} }}\n"
    judged(check(tmp_path, [row], policy), verdict)
