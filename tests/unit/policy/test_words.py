"""Rules, said in words."""

import pytest

from highbar import policy
from highbar.policy.words import rule_in_words, say_all


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"thresholds": {"blocking": {"accuracy": 90}}}, "accuracy must be at least 90%."),
        ({"thresholds": {"blocking": {"accuracy": "> 92.5%"}}}, "accuracy must be above 92.5%."),
        ({"thresholds": {"blocking": {"latency_p95": "< 5s"}}}, "latency_p95 must be below 5000 ms."),
        ({"thresholds": {"blocking": {"cost_per_pass": 0.05}}}, "cost_per_pass must be at most $0.05."),
        ({"thresholds": {"blocking": {"error_rate": "0%"}}}, "error_rate must be 0%."),
        ({"thresholds": {"blocking": {"safety_rate": "= 100%"}}}, "safety_rate must be exactly 100%."),
        (
            {"pass_criteria": {"by_category": {"adversarial": "100%"}}},
            "pass_rate must be 100% over the scenarios with category adversarial.",
        ),
        (
            {
                "rules": [
                    {
                        "metric": "f1",
                        "threshold": "90%",
                        "where": {"tags.locale": ["de", "fr"]},
                        "evidence": "confident",
                        "margin": "1%",
                        "min_scenarios": 30,
                    }
                ]
            },
            (
                "f1 must be at least 90% over the scenarios with tags.locale de or fr, with 95% confidence,"
                " 1 percentage points worse is accepted, from at least 30 scenarios."
            ),
        ),
        (
            {"thresholds": {"accuracy": {"threshold": "90%", "margin": "45%"}}},
            "accuracy must be at least 90%, 45 percentage points worse is accepted.",
        ),
        (
            {"progressive": {"f1": {"v1": {"threshold": "80%", "margin": "5%"}, "v2": "85%"}}},
            "f1 must be at least 80% from v1 (5 percentage points worse is accepted), at least 85% from v2.",
        ),
        ({"required_scenarios": {"ids": ["A"]}}, "The scenario A must have a result and pass all its trials."),
        (
            {"required_scenarios": {"ids": ["A-*"]}},
            "Every scenario that matches A-* must pass all its trials, and at least one must match.",
        ),
        (
            {"composite": "final_score = f1\npass = final_score ≥ 0.85\n  AND f1 = 1.0"},
            "This must hold: final_score ≥ 0.85 AND f1 = 1.0.",
        ),
        (
            {"progressive": {"f1": {"v1": "80%", "v2": "85%", "target": "95%"}}},
            "f1 must be at least 80% from v1, at least 85% from v2; the target is at least 95%.",
        ),
        (
            {"baseline": {"file": "base.json", "margin": {"f1": "1.5%"}}},
            "f1 must not be worse than in base.json by more than 1.5 percentage points.",
        ),
        (
            {"baseline": {"file": "base.json", "margin": {"latency_p95": "5% of baseline"}}},
            "latency_p95 must not be worse than in base.json by more than 5% of its value there.",
        ),
        (
            {"baseline": {"file": "base.json", "margin": {"latency_p95": "200ms"}}},
            "latency_p95 must not be worse than in base.json by more than 200 ms.",
        ),
    ],
)
def test_a_rule_is_a_sentence(content, words):
    found = policy.read_dict(content)
    assert rule_in_words(found.rules[0], found) == words


def test_a_suite_is_a_sentence_too(tmp_path):
    (tmp_path / "ids.txt").write_text("A\nB\n")
    found = policy.read_dict({"suite": "ids.txt"}, tmp_path)
    assert [words for _, words in say_all(found)] == [
        "The results must contain each of the 2 scenarios of the suite, and no others."
    ]
