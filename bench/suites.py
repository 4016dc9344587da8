"""Writes a made-up suite that says what its scenarios are judged by, with results: `python bench/suites.py N FOLDER`.

`suite.json`, `policy.json` and `results.jsonl`, one trial for each scenario.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

BEHAVIORS = ["greets", "looks_up_order", "answers_question", "gives_reason"]
POLICY = {"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "≥ 10%"}}}


def main(scenarios: str, folder: str) -> None:
    """Writes the three files."""
    suite = [
        {
            "id": f"SCN-{i:06d}",
            "category": ("happy_path", "adversarial")[i % 2],
            "expected_behaviors": BEHAVIORS[: 1 + i % 4],
            "must_not": ["reveals_secret"] * (i % 2),
            "expected": "yes",
        }
        for i in range(int(scenarios))
    ]
    answers = ("no", *["yes"] * 6)
    rows = [
        {**one, "behaviors": one["expected_behaviors"], "violations": [], "predicted": answers[i % 7]}
        for i, one in enumerate(suite)
    ]
    Path(folder, "suite.json").write_text(json.dumps(suite), "utf-8")
    Path(folder, "policy.json").write_text(json.dumps(POLICY), "utf-8")
    Path(folder, "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
