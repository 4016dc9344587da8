"""What a ratchet proposes, as text, with the reason of a baseline by force."""

from __future__ import annotations

import json
from fractions import Fraction

from highbar.model import Place, Threshold
from highbar.model.proposals import Proposal, Ratchet
from highbar.report.baseline_text import render_ratchet, render_ratchet_json

BEFORE, AFTER = (Threshold(">=", Fraction(n, 100), "ratio", f">= {n / 100}") for n in (80, 90))
RAISED = Proposal("rules[0]", "accuracy", BEFORE, AFTER, "the lower bound", Place("highbar.yaml", 2, 3))
STAYS = Proposal("thresholds.blocking.f1\x1b[2J", "f1", BEFORE, None, "no\nvalue", Place())
FOUND = Ratchet("highbar.yaml", "baseline.json", "a first\x07 one", (RAISED, STAYS))


def test_the_text_names_the_change_the_reason_and_whatever_was_forced():
    assert render_ratchet(FOUND) == (
        "highbar.yaml: 1 of 2 thresholds raised, not written: --write does that\n"
        "baseline baseline.json\n"
        "note: the baseline was recorded by force: a first\\x07 one\n"
        "\n"
        "  rules[0] accuracy: ≥ 80% -> ≥ 90%\n"
        "    the lower bound\n"
        "\n"
        "  thresholds.blocking.f1\\x1b[2J: ≥ 80% stays\n"
        "    no\\nvalue\n"
    )


def test_json_has_the_same():
    found = json.loads(render_ratchet_json(FOUND))
    assert found["forced"] == "a first\x07 one"
    assert found["thresholds"][0] == {
        "rule": "rules[0]",
        "metric": "accuracy",
        "before": ">= 0.8",
        "after": ">= 0.9",
        "value": 0.9,
        "reason": "the lower bound",
        "line": 2,
    }
    assert found["thresholds"][1]["after"] is None
