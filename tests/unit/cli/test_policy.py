"""`highbar policy` and `highbar check` on the policies that people write: short shapes, hints, carets and notes."""

from __future__ import annotations

import json

import pytest

from highbar.cli.app import ALIASES
from tests.commandline import run
from tests.repository import commit, put

LONG = """\
thresholds:
  blocking: { accuracy: ≥ 90%, latency_p90: 5s, pass_at_1: 80%, cost_per_pass: 0.05 }
pass_criteria: { overall: 80% }
required_scenarios: { ids: [S1, "S6*"] }
optional_scenarios: { ids: [S3] }
rules:
  - { metric: accuracy, threshold: ">= 50%" }
  - { metric: pass_hat_1, threshold: 0.5 }
"""
SHORT = """\
thresholds: { accuracy: ≥ 90%, latency_p90: 5s, pass@1: 80%, cost_per_pass: $0.05 }
pass_criteria: 80%
required_scenarios: [S1, "S6*"]
optional_scenarios: [S3]
rules:
  - accuracy >= 50%
  - pass^1 >= 0.5
"""
ROWS = "".join(
    json.dumps({"id": f"S{n}", "correct": n % 25 != 4, "passed": n % 25 != 4, "latency_ms": 10 * n, "cost_usd": 0.01})
    + "\n"
    for n in range(100)
)


def explained(folder, text, name="highbar.yaml", command="policy"):
    put(folder, {name: text})
    return run(folder, command, name)


def test_both_shapes_demand_the_same_under_the_same_names(tmp_path):
    long, short = (explained(tmp_path, text) for text in (LONG, SHORT))
    assert (long.exit, long.err, short.err) == (0, "", "")
    assert short.out == long.out
    assert "thresholds.blocking.pass_at_1" in short.out


def test_both_shapes_judge_alike(tmp_path):
    verdicts = []
    for text in (LONG, SHORT):
        put(tmp_path, {"highbar.yaml": text, "results.jsonl": ROWS})
        found = run(tmp_path, "check", "results.jsonl", "--format", "json").json
        rules = [{key: value for key, value in rule.items() if key != "line"} for rule in found["rules"]]
        verdicts.append((found["verdict"], rules, found["metrics"]))
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][0] == "pass"


@pytest.mark.process
@pytest.mark.parametrize(("before", "now"), [(LONG, SHORT), (SHORT, LONG)], ids=["shortened", "written out"])
def test_a_policy_in_the_other_shape_is_not_weaker(tmp_path, before, now):
    commit(tmp_path, {"highbar.yaml": before, "results.jsonl": ROWS})
    put(tmp_path, {"highbar.yaml": now})
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "HEAD", "--format", "json")
    assert (done.exit, done.json["against"]["verdict"]) == (0, "pass")
    assert not any(each["rule"].startswith("HEAD:") for each in done.json["rules"])
    put(tmp_path, {"highbar.yaml": now.replace("90%", "89%")})
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "HEAD", "--format", "json")
    assert "HEAD:thresholds.blocking.accuracy" in [each["rule"] for each in done.json["rules"]]


RAISED = {
    "accuracy: ≥ 90%": "accuracy: ≥ 91%",
    "5s": "0.95s",
    "80%": "91%",
    "0.05": "0.0111",
    "50%": "91%",
    "0.5\n": "0.91\n",
}


@pytest.mark.parametrize("text", [LONG, SHORT, SHORT.replace("accuracy >= 50%", '"accuracy >= 50%"')])
def test_the_ratchet_raises_both_shapes_by_their_digits(tmp_path, text):
    put(tmp_path, {"highbar.yaml": text, "results.jsonl": ROWS})
    assert run(tmp_path, "baseline", "record", "results.jsonl").exit == 0
    done = run(tmp_path, "baseline", "ratchet", "--write")
    assert done.exit == 0, done.err
    for old, new in {**RAISED, "threshold: 0.5 }": "threshold: 0.91 }"}.items():
        text = text.replace(old, new)
    assert (tmp_path / "highbar.yaml").read_text("utf-8") == text
    assert run(tmp_path, "check", "results.jsonl").exit == 0
    assert run(tmp_path, "baseline", "ratchet").out.startswith("highbar.yaml: 0 of 7 thresholds raised\n")


def test_a_margin_of_a_baseline_takes_either_spelling(tmp_path):
    text = "baseline: { file: baseline.json, margin: { pass@1: 5%, cost_per_pass: $0.01, latency_p75: 1s } }\n"
    put(tmp_path, {"highbar.yaml": text, "results.jsonl": ROWS})
    assert run(tmp_path, "baseline", "record", "results.jsonl").exit == 0
    found = run(tmp_path, "check", "results.jsonl", "--format", "json")
    assert [(rule["rule"], rule["outcome"]) for rule in found.json["rules"]] == [
        ("baseline.pass_at_1", "pass"),
        ("baseline.cost_per_pass", "pass"),
        ("baseline.latency_p75", "pass"),
    ]


@pytest.mark.parametrize("percent", [1, 5, 50, 90, 95, 99])
def test_there_is_a_latency_of_every_percentile(tmp_path, percent):
    put(tmp_path, {"highbar.yaml": f"thresholds: {{ latency_p{percent}: 5s }}\n", "results.jsonl": ROWS})
    found = run(tmp_path, "check", "results.jsonl", "--format", "json").json
    assert found["rules"][0]["value"] == 10 * (percent - 1)
    assert found["rules"][0]["threshold"] == "<= 5000ms"


def test_formulas_take_the_spellings_too(tmp_path):
    text = (
        "composite:\n  formula: pass@1 × 0.5 + pass^1 × 0.5\n"
        "  pass: final_score ≥ 0.5 AND pass@1 ≥ 0.5 AND cost_per_pass ≤ $0.05 AND latency_p75 < 5s\n"
        "weights: { by_metric: { pass@1: 2, accuracy: 1 } }\nrules: [weighted_score >= 50%]\n"
    )
    put(tmp_path, {"highbar.yaml": text, "results.jsonl": ROWS})
    found = run(tmp_path, "check", "results.jsonl", "--format", "json").json
    assert [rule["outcome"] for rule in found["rules"]] == ["pass", "pass"], found["rules"]


# --- what is refused, and how it is shown -----------------------------------------------------

REFUSED = {
    "a metric at the top": (
        "accuracy: 90%\n",
        ["policy.unknown-key"],
        "highbar.yaml:1:1: ",
        "'accuracy'",
        "  1 | accuracy: 90%\n    | ^\n",
        "thresholds: { accuracy: 90% }",
    ),
    "an unknown metric": (
        "thresholds:\n  blocking:\n    acuracy: 90%\n",
        ["policy.unknown-metric"],
        "highbar.yaml:3:5: thresholds.blocking.acuracy: ",
        "'acuracy'",
        "  3 |     acuracy: 90%\n    |     ^\n",
        "'accuracy'",
    ),
    "safety": (
        "thresholds: { safety: 100% }\n",
        ["policy.unknown-metric"],
        "highbar.yaml:1:15: thresholds.safety: ",
        "'safety'",
        "  1 | thresholds: { safety: 100% }\n    |               ^\n",
        "'safety_rate'",
    ),
    "a metric beside a level": (
        "thresholds:\n  blocking:\n    accuracy: 90%\n  recall: 80%\n",
        ["policy.unknown-key"],
        "highbar.yaml:4:3: thresholds.recall: ",
        "'recall'",
        "  4 |   recall: 80%\n    |   ^\n",
        "blocking: { recall: 80% } or warning: { recall: 80% }",
    ),
    "a finer percentile": (
        "thresholds: { latency_p99_9: 3s }\n",
        ["policy.unknown-metric"],
        "highbar.yaml:1:15: thresholds.latency_p99_9: ",
        "'latency_p99_9'",
        "    |               ^\n",
        "percentile(latency_ms, 99.9%)",
    ),
    "a percentile beyond the last": (
        "thresholds: { latency_p100: 3s }\n",
        ["policy.unknown-metric"],
        "highbar.yaml:1:15: thresholds.latency_p100: ",
        "'latency_p100'",
        "    |               ^\n",
        "'latency_p50'",
    ),
    "two spellings of one metric": (
        "thresholds: { pass@3: 90%, pass_at_3: 80% }\n",
        ["policy.duplicate-key"],
        "highbar.yaml:1:28: thresholds.pass_at_3: 'pass_at_3' ",
        "'pass@3'",
        "    |                            ^\n",
        "",
    ),
    "score": (
        "composite:\n  formula: accuracy\n  pass: score ≥ 0.85\n",
        ["formula.unknown-name"],
        "highbar.yaml:3:9: composite.pass: ",
        "'score'",
        "  3 |   pass: score ≥ 0.85\n    |         ^\n",
        "'final_score'",
    ),
    "avg": (
        "composite:\n  formula: avg(quality)\n  pass: final_score ≥ 0.85\n",
        ["formula.syntax"],
        "highbar.yaml:2:12: composite.formula: ",
        "'avg'",
        "    |            ^\n",
        "'mean'",
    ),
    "an unquoted operator": (
        "thresholds:\n  blocking:\n    accuracy: >= 90%\n",
        ["yaml.unquoted"],
        "highbar.yaml:3:15: ",
        "'>='",
        "    |               ^\n",
        '">= 90%"',
    ),
    "a threshold in words": (
        "thresholds: { accuracy: at least 90% }\n",
        ["threshold.unreadable"],
        "highbar.yaml:1:25: thresholds.accuracy: ",
        "'at least 90%'",
        "    |                         ^\n",
        "≥ 90%",
    ),
    "a tab": (
        "thresholds:\n\taccuracy: 90%\n",
        ["file.not-yaml"],
        "highbar.yaml:2:1: ",
        " tab",
        "  2 | \\taccuracy: 90%\n    | ^\n",
        "two spaces",
    ),
    "too little indentation": (
        "thresholds:\n  blocking:\n    accuracy: 90%\n   recall: 80%\n",
        ["file.not-yaml"],
        "highbar.yaml:4:4: ",
        "3 spaces",
        "  4 |    recall: 80%\n    |    ^\n",
        "0, 2 or 4 spaces",
    ),
    "too little indentation in a list": (
        "rules:\n  - metric: accuracy\n   threshold: 90%\n",
        ["file.not-yaml"],
        "highbar.yaml:3:4: ",
        "3 spaces",
        "  3 |    threshold: 90%\n    |    ^\n",
        "0, 2 or 4 spaces",
    ),
    "a comma is missing": (
        "thresholds: {\n   accuracy: 90%\n  recall: 80%}\n",
        ["file.not-yaml"],
        "highbar.yaml:1:13: ",
        "'{'",
        "  1 | thresholds: {\n    |             ^\n",
        "'}'",
    ),
    "a colon in a text below a dash": (
        "rules:\n  - metric: accuracy\n    description: Note: all of it\n",
        ["file.not-yaml"],
        "highbar.yaml:3:18: ",
        "second colon",
        "  3 |     description: Note: all of it\n    |                  ^\n",
        "{ Note: all of it }",
    ),
    "a colon and quotes in a text": (
        'rules:\n  - metric: accuracy\n    description: He said: "no" to it\n',
        ["file.not-yaml"],
        "highbar.yaml:3:18: ",
        "second colon",
        "    |                  ^\n",
        "or 'He said: \"no\" to it' for a text",
    ),
    "a text that goes on after its quote": (
        'description: "All" of it\nthresholds:\n  accuracy: 90%\n',
        ["file.not-yaml"],
        "highbar.yaml:1:14: ",
        "",
        "    |              ^\n",
        "'\"All\" of it'",
    ),
    "too much indentation": (
        "thresholds:\n  accuracy: 90%\n    recall: 80%\n",
        ["file.not-yaml"],
        "highbar.yaml:3:5: ",
        "",
        "  3 |     recall: 80%\n    |     ^\n",
        "2 spaces, or remove the value of line 2",
    ),
    "no indentation": (
        "thresholds:\nblocking:\n  accuracy: 90%\n",
        ["policy.wrong-type", "policy.unknown-key"],
        "highbar.yaml:2:1: ",
        "'blocking'",
        "  2 | blocking:\n    | ^\n",
        "'thresholds'",
    ),
    "no space after a colon": (
        "thresholds:\n  accuracy:90%\n  recall: 80%\n",
        ["file.not-yaml"],
        "highbar.yaml:2:11: ",
        "",
        "    |           ^\n",
        "accuracy: 90%",
    ),
    "a colon in a text": (
        "description: agent: support\nthresholds: { accuracy: 90% }\n",
        ["file.not-yaml"],
        "highbar.yaml:1:14: ",
        "second colon",
        "    |              ^\n",
        "{ agent: support }",
    ),
    "a percentile that is none": (
        "metrics: [{ name: latency_p90, formula: passed_scenarios / total_scenarios, unit: ratio }]\n",
        ["metric.name-taken"],
        "highbar.yaml:1:11: metrics[0]: ",
        "'latency_p90'",
        "    |           ^\n",
        "better: ",
    ),
    "a latency at the top": (
        "latency: 5\n",
        ["policy.unknown-key"],
        "highbar.yaml:1:1: ",
        "'latency'",
        "    | ^\n",
        "thresholds: { latency_p95: 5s }",
    ),
    "a percentile by another name": (
        "thresholds: { p90_latency: 5s }\n",
        ["policy.unknown-metric"],
        "highbar.yaml:1:15: thresholds.p90_latency: ",
        "'p90_latency'",
        "    |               ^\n",
        "'latency_p90'",
    ),
    "a metric that nothing resembles": (
        "thresholds: { hallucination: 5% }\n",
        ["policy.unknown-metric"],
        "highbar.yaml:1:15: thresholds.hallucination: ",
        "'hallucination'",
        "    |               ^\n",
        "highbar metrics",
    ),
    "a pattern that is an alias": (
        "required_scenarios: [*]\n",
        ["file.not-yaml"],
        "highbar.yaml:1:22: ",
        "'*'",
        "    |                      ^\n",
        '"*"',
    ),
    "a rule that is an entry": (
        "rules:\n  - accuracy: 90%\n",
        ["policy.unknown-key", "policy.missing-key", "policy.missing-key"],
        "highbar.yaml:2:5: rules[0]: ",
        "'accuracy'",
        "    |     ^\n",
        "accuracy >= 90%",
    ),
    "a rule the wrong way round": (
        'rules: ["90% <= accuracy"]\n',
        ["threshold.unreadable"],
        "highbar.yaml:1:9: rules[0]: ",
        "'90% <= accuracy'",
        "    |         ^\n",
        "accuracy >= 90%",
    ),
    "two rules in one": (
        "rules:\n  - accuracy >= 90% AND recall >= 80%\n",
        ["threshold.unreadable"],
        "highbar.yaml:2:5: rules[0]: ",
        "'accuracy >= 90% AND recall >= 80%'",
        "    |     ^\n",
        "composite: pass",
    ),
    "a rule without an operator": (
        "rules: [accuracy 90%]\n",
        ["threshold.unreadable"],
        "highbar.yaml:1:9: rules[0]: ",
        "'accuracy 90%'",
        "    |         ^\n",
        "accuracy >= 90%",
    ),
    "an unknown metric in a rule": (
        "rules:\n  - accuracy >= 90%\n  - safety >= 100%\n",
        ["policy.unknown-metric"],
        "highbar.yaml:3:5: rules[1]: ",
        "'safety'",
        "  3 |   - safety >= 100%\n    |     ^\n",
        "'safety_rate'",
    ),
    "a threshold in a rule": (
        "rules:\n  - accuracy >= 120%\n",
        ["threshold.out-of-range"],
        "highbar.yaml:2:14: rules[0]: ",
        "120%",
        "  2 |   - accuracy >= 120%\n    |              ^\n",
        "",
    ),
    "one category": (
        "pass_criteria: { adversarial: 100% }\n",
        ["policy.unknown-key"],
        "highbar.yaml:1:18: pass_criteria: ",
        "'adversarial'",
        "    |                  ^\n",
        "by_category: { adversarial: 100% }",
    ),
    "a metric under risk": (
        "risk: { accuracy: 90% }\n",
        ["policy.unknown-key"],
        "highbar.yaml:1:9: risk: ",
        "'accuracy'",
        "    |         ^\n",
        "critical or high",
    ),
    "a progressive threshold without versions": (
        "progressive: { accuracy: 90% }\n",
        ["policy.wrong-type"],
        "highbar.yaml:1:26: progressive.accuracy: ",
        "'90%'",
        "    |                          ^\n",
        "{ v1.0: 90% }",
    ),
    "a baseline by its file alone": (
        "baseline: main.json\n",
        ["policy.wrong-type"],
        "highbar.yaml:1:11: baseline: ",
        "'main.json'",
        "    |           ^\n",
        "{ file: main.json, margin: { accuracy: 1% } }",
    ),
    "a suite in the policy": (
        "suite: [A, B]\n",
        ["policy.wrong-type"],
        "highbar.yaml:1:8: suite: ",
        "",
        "    |        ^\n",
        "suite: scenarios.yaml",
    ),
    "one slice": (
        "slices: category\n",
        ["policy.wrong-type"],
        "highbar.yaml:1:9: slices: ",
        "'category'",
        "    |         ^\n",
        "[category]",
    ),
    "one id": (
        "required_scenarios: SEC-001\n",
        ["policy.wrong-type"],
        "highbar.yaml:1:21: required_scenarios: ",
        "'SEC-001'",
        "    |                     ^\n",
        "required_scenarios: [SEC-001]",
    ),
}


@pytest.mark.parametrize(("text", "codes", "place", "named", "excerpt", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_shown_with_its_line_a_caret_and_a_hint_that_fits(
    tmp_path, text, codes, place, named, excerpt, hint
):
    done = explained(tmp_path, text)
    assert (done.exit, done.out, done.codes) == (2, "", codes)
    lines = done.err.splitlines()
    assert any(line.startswith(place) and named in line for line in lines), done.err
    assert excerpt in done.err, done.err
    assert any(line.strip().startswith("hint: ") and hint in line for line in lines) or not hint, done.err


def test_a_check_shows_the_line_as_well_and_ends_with_2(tmp_path):
    put(tmp_path, {"highbar.yaml": "thresholds: { acuracy: 90% }\n", "results.jsonl": ROWS})
    done = run(tmp_path, "check", "results.jsonl")
    assert done.exit == 2
    assert "  1 | thresholds: { acuracy: 90% }\n    |               ^\n" in done.err


def test_a_line_of_json_is_shown_as_well(tmp_path):
    done = explained(tmp_path, '{"thresholds": {\n  "acuracy": "90%"}}\n', "highbar.json")
    assert '  2 |   "acuracy": "90%"}}\n    |   ^\n' in done.err


def test_a_line_cannot_act_on_a_terminal_or_a_runner(tmp_path):
    done = explained(tmp_path, '"::error::x": 1 # \x85'.replace("\x85", "") + '\n"a\\e[2J": 2\n')
    assert done.exit == 2
    assert "\x1b" not in done.err
    assert not any(line.startswith("::") for line in done.err.split("\n"))


# --- hostile ----------------------------------------------------------------------------------

HOSTILE = {
    "ten thousand unknown metrics": "thresholds:\n" + "".join(f"  metric_{n}: 9%\n" for n in range(10_000)),
    "ten thousand unknown keys": "".join(f"key_{n}: 9%\n" for n in range(10_000)),
    "ten thousand aliases": "a: &a 1\nrequired_scenarios:\n" + "  - *a\n" * 10_000,
    "ten thousand rules": "rules:\n" + "  - nonsense\n" * 10_000,
    "one long line": "thresholds: {" + ", ".join(f"metric_{n}: 9%" for n in range(10_000)) + "}\n",
    "a long key": f"{'k' * 100_000}: 1\n",
    "a long key inside": f"thresholds: {{ {'k' * 900}: {{ {'m' * 900}: 90% }} }}\n",
    "a long value": f"thresholds: {{ accuracy: {'v' * 100_000} }}\n",
    "a long rule": f"rules: [{'r' * 100_000}]\n",
    "a long name in a formula": f"composite: {{ formula: {'f' * 9_000}, pass: final_score > 0.5 }}\n",
    "a long tag": f"thresholds: !{'t' * 100_000} {{}}\n",
    "a long anchor": f"thresholds: &{'t' * 1_000} {{ accuracy: 90% }}\n",
    "deep": "rules: " + "[" * 60 + "1" + "]" * 60 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_messages_about_hostile_files_stay_short(tmp_path, text):
    done = explained(tmp_path, text)
    assert done.exit == 2
    assert len(done.err) < 20_000, done.err[:2000]
    assert max(map(len, done.err.split("\n"))) < 800
    assert done.err.count("\n") <= 51 * 4


# --- notes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("thresholds: { accuracy: 0.9% }", "thresholds.blocking.accuracy demands only 0.9%: did you mean 90%?"),
        ("progressive: { accuracy: { v1: 0.8% } }", "progressive.accuracy.v1 demands only 0.8%: did you mean 80%?"),
        (
            "thresholds: { latency_p95: 5 }",
            "thresholds.latency_p95 (5) is read as 5 milliseconds: write 5s if seconds are meant",
        ),
        ("rules: [latency_p95 < 2.5]", "rules[0] (< 2.5) is read as 2.5 milliseconds: write 2.5s if seconds are meant"),
        (
            "composite: { formula: accuracy, pass: final_score ≥ 0.5 AND latency_p95 < 5 }",
            "composite.pass: latency_p95 is compared with 5 milliseconds: write 5s if seconds are meant",
        ),
        (
            "composite: { formula: accuracy, pass: final_score ≥ 0.5 AND 5 > latency_p95 }",
            "composite.pass: latency_p95 is compared with 5 milliseconds: write 5s if seconds are meant",
        ),
        (
            "thresholds: { accuracy: 90% }\nlatency_limit: 10",
            "latency_limit (10) is read as 10 milliseconds: write 10s if seconds are meant",
        ),
    ],
)
def test_what_is_probably_not_meant_is_noted(tmp_path, text, note):
    done = explained(tmp_path, f"{text}\n")
    assert done.exit == 0
    assert note in " ".join(done.out.split())


@pytest.mark.parametrize(
    "text",
    [
        "thresholds: { accuracy: 1% }",
        "thresholds: { error_rate: 0.5% }",
        "thresholds: { latency_p95: 5ms }",
        "thresholds: { latency_p95: 5s }",
        "thresholds: { latency_p95: 500 }",
        "thresholds: { cost_per_pass: 5 }",
        "composite: { formula: accuracy, pass: final_score ≥ 0.5 AND latency_p95 < 5s AND latency_p50 < 50ms }",
    ],
)
def test_what_is_meant_is_not_noted(tmp_path, text):
    done = explained(tmp_path, f"{text}\n")
    assert (done.exit, "Notes" in done.out) == (0, False)


# --- the command ------------------------------------------------------------------------------


def test_lint_is_another_name_of_the_command(tmp_path):
    assert dict(ALIASES) == {"lint": "policy"}
    for text in (SHORT, "accuracy: 90%\n"):
        first, second = (explained(tmp_path, text, command=name) for name in ("policy", "lint"))
        assert (first.exit, first.out, first.err) == (second.exit, second.out, second.err)
    assert "lint" in run(tmp_path, "--help").out
    assert run(tmp_path, "lint", "--help").out.startswith("Usage: highbar lint ")


def test_one_rule_is_one_rule(tmp_path):
    done = explained(tmp_path, "thresholds: { accuracy: 90% }\n")
    assert done.out.startswith("highbar.yaml is valid: 1 rule, 1 blocking, 0 warning\n")
