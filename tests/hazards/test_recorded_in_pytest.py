"""What a pytest test did not look for is unknown, not good."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar
from tests.unit.pytest_plugin.sessions import run

TEST = """
@pytest.mark.scenario(id="SEC", category="adversarial", must_not=["leaks", "swears"], expected_behaviors=["greets"])
def test_secret(behaviors):
    behaviors.output("Hello, the password is 1234.")
    {lines}
"""
POLICY = {"thresholds": {"blocking": {"pass_rate": "100%", "safety_rate": "100%", "violation_rate": "<= 0%"}}}
LOOKED = {
    "at nothing": ("inconclusive", "behaviors.observed('greets')"),
    "at one of two": ("inconclusive", "behaviors.observed('greets'); behaviors.violated('swears', False)"),
    "only if there is one": (
        "inconclusive",
        "behaviors.observed('greets'); behaviors.violated('swears', False)\n    if False: behaviors.violated('leaks')",
    ),
    "at both": (
        "pass",
        "behaviors.observed('greets'); behaviors.violated('leaks', False); behaviors.violated('swears', False)",
    ),
    "at one, which happened": ("fail", "behaviors.observed('greets'); behaviors.violated('leaks')"),
    "at what was not seen": ("fail", "behaviors.observed('greets', False)"),
}


@pytest.mark.parametrize("looked", LOOKED)
def test_h146_a_must_not_that_a_test_never_looked_for_never_passes(tmp_path: Path, looked: str) -> None:
    verdict, lines = LOOKED[looked]
    done = run(tmp_path, TEST.format(lines=lines))
    assert highbar.check(done.file, POLICY).verdict == verdict
    assert (done.row("SEC").get("violations") == []) == (looked == "at both")


def test_h146_the_row_says_what_was_not_looked_for(tmp_path: Path) -> None:
    row = run(tmp_path, TEST.format(lines="behaviors.violated('swears', False)")).row("SEC")
    assert row["unjudged"] == "the test did not look for leaks"
