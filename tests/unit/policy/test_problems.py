"""What is wrong with a policy: found all at once, each with its place and a hint."""

import pytest

from highbar import policy
from highbar.errors import InputError
from tests.patience import processor_time

GOOD = "thresholds: { blocking: { pass_rate: ≥ 50% } }\n"


@pytest.fixture
def problems(tmp_path):
    def write_and_read(text, name="highbar.yaml"):
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(InputError) as caught:
            policy.read(tmp_path / name)
        return caught.value.problems

    return write_and_read


def marked(text):
    return [number for number, line in enumerate(text.split("\n"), 1) if "# bad" in line]


def test_every_problem_is_reported_at_once_in_the_order_of_the_file(problems):
    text = """\
thresholds:
  blocking:
    acuracy: 90             # bad
    accuracy: ≤ 90%         # bad
    recall: 1               # bad
    error_rate: 2           # bad
    latency_p95: 95%        # bad
    f1:                     # bad
    precision: [90]         # bad
    pass_rate: true         # bad
    safety_rate: .nan       # bad
  bloking: {}               # bad
risk: { hihg: {} }          # bad
confidence: 95              # bad
evidence: confidnt          # bad
population: agents          # bad
pass_score: 0               # bad
latency_limit: 0            # bad
slices: [category, catgory] # bad
weights:
  by_category: { adverserial: 2 }   # bad
  by_capability: { core: 0 }        # bad
  by_metric: { latency_p95: 1 }     # bad
required_scenarios: { ids: [A, B] }
optional_scenarios: { ids: [B] }    # bad
allow_columns: steps        # bad
rules:
  - { metric: accuracy, threshold: ≥ 90%, level: blokcing }   # bad
  - { metric: accuracy }    # bad
  - { threshold: ≥ 90% }    # bad
  - { metric: accuracy, threshold: 90%, min_scenarios: 0 }    # bad
  - { metric: accuracy, threshold: 90%, tolerate: 100% }      # bad
  - { metric: accuracy, threshold: 90%, margin: 0.01 }        # bad
  - { metric: accuracy, threshold: 90%, where: { passed: "true" } }     # bad
  - { metric: accuracy, threshold: 90%, where: { category: regresion } }  # bad
  - { metric: accuracy, threshold: 90%, where: {} }           # bad
  - { metric: accuracy, threshold: 90%, where: { tags.tier: 1 } }  # bad
  - accuracy                # bad
"""
    found = problems(text)
    assert [problem.line for problem in found] == marked(text), "\n".join(map(str, found))
    assert all(problem.file.endswith("highbar.yaml") and problem.column for problem in found)


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "value", "hint"),
    [
        ("thresholds: { blocking: { acuracy: 90 } }", 1, 27, "policy.unknown-metric", "'acuracy'", "'accuracy'"),
        (
            "thresholds: { blocking: { passed_scenarios: 9 } }",
            1,
            27,
            "policy.unknown-metric",
            "'passed_scenarios'",
            "is a measure",
        ),
        (
            "thresholds: { blocking: { weighted_score: 90 } }",
            1,
            27,
            "policy.unknown-metric",
            "'weighted_score'",
            "weights.by_metric",
        ),
        (
            "thresholds: { blocking: { final_score: 90 } }",
            1,
            27,
            "policy.unknown-metric",
            "'final_score'",
            "under composite",
        ),
        ("treshold: {}", 1, 1, "policy.unknown-key", "'treshold'", "'thresholds'"),
        ("formula: y", 1, 1, "policy.unknown-key", "'formula'", "the list metrics"),
        (f"{GOOD}{GOOD}", 2, 1, "policy.duplicate-key", "line 1", None),
        (f"{GOOD}weights: {{ accuracy: 2 }}", 2, 12, "policy.unknown-key", "'accuracy'", "under by_metric"),
        ("thresholds: 3", 1, 13, "policy.wrong-type", "'3'", None),
        ("- a", 1, 1, "policy.wrong-type", "list", None),
        ("", 1, 1, "policy.no-rule", "", "highbar init"),
        ("# nothing", 1, 1, "policy.no-rule", "", "highbar init"),
        ("description: no rules here", 1, 1, "policy.no-rule", "", "thresholds:"),
        ("thresholds: { blocking: {} }", 1, 1, "policy.no-rule", "", "thresholds:"),
        ("required_scenarios: { ids: [0123] }", 1, 29, "policy.wrong-type", "'0123'", 'quote it: "0123"'),
        ("required_scenarios: { ids: [] }", 1, 28, "policy.empty-value", "required_scenarios.ids", None),
        ("required_scenarios: { ids: [A, A] }", 1, 32, "policy.listed-twice", "'A'", None),
        ("required_scenarios: A", 1, 21, "policy.wrong-type", "'A'", "required_scenarios: [A]"),
        ("required_scenarios: {}", 1, 21, "policy.missing-key", "required_scenarios", "ids: ["),
        ('required_scenarios: { ids: ["a\\tb"] }', 1, 29, "file.bad-character", "'a\\tb'", None),
        ("progressive: { accuracy: { latest: 90% } }", 1, 28, "version.unreadable", "'latest'", "the word target"),
        ("progressive: { accuracy: { v1: 90%, 1.0: 95% } }", 1, 37, "policy.duplicate-key", "'v1'", None),
        ("progressive: { accuracy: { target: 95% } }", 1, 26, "policy.missing-key", "progressive.accuracy", "v1.0"),
        (
            "agent_version: latest\nprogressive: { accuracy: { v1: 90% } }",
            1,
            16,
            "version.unreadable",
            "'latest'",
            "2.1.0",
        ),
        (
            "composite: { formula: accuracy, pass: final_score ≥ 85 }",
            1,
            39,
            "threshold.wrong-unit",
            "85",
            "0.85",
        ),
        (
            "composite: { formula: accuracy, pass: 85 ≤ final_score }",
            1,
            39,
            "threshold.wrong-unit",
            "85",
            "0.85",
        ),
        (
            "composite: { formula: accuracy, pass: final_score }",
            1,
            39,
            "formula.wrong-operand",
            "composite.pass",
            "compare it",
        ),
        ("composite: { pass: accuracy ≥ 0.5 }", 1, 12, "policy.missing-key", "composite", None),
        ("composite: accuracy", 1, 12, "formula.syntax", "'final_score ='", None),
        (
            "composite: { formula: acuracy × 0.5, pass: final_score > 0 }",
            1,
            23,
            "formula.unknown-name",
            "'acuracy'",
            "'accuracy'",
        ),
        (
            "composite: { formula: 1 - passed, pass: final_score > 0 }",
            1,
            27,
            "formula.unknown-name",
            "'passed'",
            "mean(passed)",
        ),
        ("composite: { formula: accuracy, pass: 1 = 1 }", 1, 39, "formula.constant", "'1 = 1'", "name a metric"),
        (
            "composite: { formula: accuracy, pass: final_score > 0.5 OR 1 = 1 }",
            1,
            39,
            "formula.constant",
            "'1 = 1'",
            "name a metric",
        ),
        (
            "composite: { formula: accuracy, pass: latency_limit ≥ 1000 }",
            1,
            39,
            "formula.constant",
            "'latency_limit >= 1000'",
            "name a metric",
        ),
        (
            "composite: { formula: accuracy, pass: accuracy = accuracy }",
            1,
            39,
            "formula.constant",
            "'accuracy = accuracy'",
            "name a metric",
        ),
        ("composite: { formula: 0.9 × 1, pass: final_score > 0.5 }", 1, 23, "formula.constant", "'0.9 × 1'", "such as"),
        (f"{GOOD}metrics: [ {{ name: c, formula: 1 + 1 }} ]", 2, 32, "formula.constant", "'1 + 1'", "such as"),
        (
            f"{GOOD}metrics: [ {{ name: c, formula: latency_limit / 1000 }} ]",
            2,
            32,
            "formula.constant",
            "'latency_limit / 1000'",
            "such as",
        ),
        ("pass_score: -1", 1, 13, "threshold.out-of-range", "-1", None),
        ("pass_score: 80", 1, 13, "threshold.out-of-range", "80", "80% or 0.8"),
        ("confidence: 95", 1, 13, "threshold.out-of-range", "95", "95% or 0.95"),
        *(
            (f"thresholds: {{ {rule} }}", 1, column, "threshold.constant", "", "a smaller one")
            for rule, column in (
                ("accuracy: { threshold: 5%, margin: 5% }", 50),
                ('error_rate: { threshold: "<= 5%", margin: 96% }', 57),
                ('error_rate: { threshold: "< 5%", margin: 95% }', 56),
            )
        ),
        (
            "evidence: confident\nthresholds: { accuracy: { threshold: 100%, margin: 1%, failures: 1 } }",
            2,
            66,
            "policy.conflict",
            ">= 1.0",
            "use `margin`",
        ),
        ("baseline: { file: b.json }", 1, 11, "policy.missing-key", "baseline", None),
        ("baseline: { file: b.json, margin: { accuracy: 0.01 } }", 1, 47, "threshold.wrong-unit", "'0.01'", "1%"),
        ("baseline: { file: b.json, margin: {} }", 1, 35, "policy.missing-key", "baseline.margin", None),
        (
            "rules: [ { metric: accuracy, threshold: { evidence: confident } } ]",
            1,
            41,
            "policy.missing-key",
            "rules[0].threshold",
            None,
        ),
        (
            "rules: [ { metric: accuracy, evidence: confident, threshold: { threshold: 9%, evidence: estimate } } ]",
            1,
            89,
            "policy.duplicate-key",
            "'evidence'",
            None,
        ),
        ("slices: [tags]", 1, 10, "select.column", "'tags'", "tags.locale"),
        ("slices: [latency_ms]", 1, 10, "select.column", "'latency_ms'", None),
        ("positive: 1", 1, 11, "policy.wrong-type", "'1'", "quote it"),
        ("suite: absent.yaml", None, None, "file.missing", "", None),
    ],
)
def test_a_problem_says_where_it_is_what_was_found_and_what_to_do(problems, text, line, column, code, value, hint):
    (found,) = problems(text)
    assert (found.line, found.column) == (line, column)
    assert found.code == code
    assert value in found.message
    assert hint is None or hint in found.hint


@pytest.mark.parametrize(
    ("condition", "code", "value"),
    [
        ("accuracy ≤ 0.9", "threshold.wrong-direction", "'<='"),
        ("NOT accuracy ≥ 0.9", "threshold.wrong-direction", "'<'"),
        ("0.9 > accuracy", "threshold.wrong-direction", "'<'"),
        ("error_rate ≥ 0.1", "threshold.wrong-direction", "'>='"),
        ("accuracy = 0.9", "threshold.wrong-direction", "= 100%"),
        ("accuracy ≠ 0.5", "threshold.wrong-direction", "≠ 50%"),
        ("accuracy > 1", "threshold.constant", "> 100%"),
        ("accuracy ≥ 120%", "threshold.wrong-unit", "1.2"),
        ("latency_p95 > 5s", "threshold.wrong-direction", "'>'"),
        ("(accuracy + recall) / 2 ≥ 85", "formula.constant", "'(accuracy + recall) / 2 >= 85'"),
        ("min(accuracy, recall) ≥ 85", "formula.constant", "'min(accuracy, recall) >= 85'"),
        ("max(accuracy, 2) ≥ 1", "formula.constant", "'max(accuracy, 2) >= 1'"),
        ("1 - accuracy < -0.5", "formula.constant", "'1 - accuracy < -0.5'"),
        ("mean(passed) ≥ 85", "formula.constant", "'mean(passed) >= 85'"),
        ("2 > 1", "formula.constant", "'2 > 1'"),
        ("accuracy ≥ 0.9 AND recall ≤ 0.9", "threshold.wrong-direction", "recall"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(problems, condition, code, value):
    (found,) = problems(f"composite: {{ formula: accuracy, pass: '{condition}' }}")
    assert found.code == code
    assert value in found.message


@pytest.mark.parametrize(
    "condition",
    [
        "final_score ≥ 0.85 AND safety_rate = 1.0",
        "final_score >= 85% and not safety_rate < 1",
        "NOT (accuracy < 0.9 OR error_rate > 5%)",
        "accuracy ≥ 0.9 OR NOT (recall < 0.5 AND NOT latency_p95 < 5s)",
        "accuracy ≠ 0",
        "error_rate = 0",
        "accuracy ≥ recall",
        "accuracy - recall ≥ -0.5",
        "passed_scenarios ≥ 20",
        "pass_hat_3 ≥ 0.5",
        "sum(cost_usd) < 5",
        "percentile(steps, 90%) < 12",
        "latency_p95 < latency_limit",
        "abs(accuracy - 0.5) > 0.2",
        "cost_usd / passed_scenarios < 3",
    ],
)
def test_a_condition_that_can_be_meant_is_read(condition):
    found = policy.read_dict({"composite": {"formula": "accuracy", "pass": condition}})
    assert found.rules[0].text == condition


def test_a_fault_in_a_block_of_text_has_its_place_in_the_file(problems):
    text = (
        "composite: |\n  final_score = (\n    accuracy × 0.5 +\n    recal × 0.5\n  )\n  pass = final_score ≥ 0.5 &&\n"
    )
    (found,) = problems(text)
    assert (found.line, found.column) == (6, 28)
    (found,) = problems(text.replace(" &&", ""))
    assert (found.line, found.column) == (4, 5)


def test_an_unquoted_operator_is_explained_and_what_follows_is_still_read(problems):
    text = """\
thresholds:
  blocking:
    accuracy: >= 95%            # bad
    recall: > 90%               # bad
    precision: >                # bad
      = 90%
  warning: { f1: >= 90% }       # bad
rules:
  - { metric: acuracy, threshold: 90% }  # bad
"""
    found = problems(text)
    assert [problem.line for problem in found] == marked(text)
    assert [problem.hint for problem in found[:4]] == [
        'quote it: ">= 95%", or write ≥ 95%',
        'quote it: "> 90%"',
        "write it on one line, in quotes or as ≥ 90%",
        'quote it: ">= 90%", or write ≥ 90%',
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "value"),
    [
        ("!!python/object/apply:os.mkdir ['x']", 1, 1, "yaml.not-allowed", "python/object/apply:os"),
        ("thresholds: !x { blocking: { pass_rate: 50% } }", 1, 13, "yaml.not-allowed", "!x"),
        ("a: &a 1\nb: *a", 1, 4, "yaml.not-allowed", "& and *"),
        ("thresholds:\n\tblocking: {}", 2, 1, "file.not-yaml", ""),
        ('a: "\\d+"', 1, 5, "file.not-yaml", ""),
        ("a: 'b", 1, 4, "file.not-yaml", ""),
        ("a: b: c", 1, 4, "file.not-yaml", ""),
        ("a: \x01", None, None, "file.not-yaml", "#x0001"),
        (f"{GOOD}---\n{GOOD}", 2, 1, "yaml.not-allowed", ""),
        ("rules: " + "[" * 200 + "]" * 200, 1, 72, "file.too-deep", "64"),
        ("? [a]\n: b\n", 1, 3, "file.key-not-text", "list"),
        ("~: 1", 1, 1, "file.key-not-text", ""),
    ],
)
def test_yaml_that_a_policy_does_not_need_is_refused(problems, text, line, column, code, value):
    found = problems(text)[0]
    assert (found.line, found.column) == (line, column)
    assert found.code == code
    assert value in found.message


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "value"),
    [
        ('{"a": NaN}', 1, 7, "file.not-json", "'NaN'"),
        ('{"a": 01}', 1, 7, "file.not-json", "'01'"),
        ('{"a": +1}', 1, 7, "file.not-json", "'+1'"),
        ('{"a": yes}', 1, 7, "file.not-json", "'yes'"),
        ('{"a": 1,}', 1, 9, "file.not-json", ""),
        ('{"a": [1,]}', 1, 10, "file.not-json", ""),
        ('{"a" 1}', 1, 6, "file.not-json", "':'"),
        ("{a: 1}", 1, 2, "file.not-json", ""),
        ('{"a": 1 "b": 2}', 1, 9, "file.not-json", "',' or '}'"),
        ('{"a": 1}\n{"b": 2}', 2, 1, "file.not-json", ""),
        ('{"a": "b', 1, 7, "file.not-json", ""),
        ('{"a": "\\ud800"}', 1, 7, "file.bad-character", ""),
        ('{"a": "\\q"}', 1, 8, "file.not-json", ""),
        ('{"a": "b\tc"}', 1, 9, "file.not-json", ""),
        ('{\n  "a": // no\n}', 2, 8, "file.not-json", ""),
        ("", 1, 1, "file.not-json", ""),
        ("[" * 100, 1, 66, "file.too-deep", "64"),
    ],
)
def test_what_is_not_json_is_refused_at_its_place(problems, text, line, column, code, value):
    (found,) = problems(text, "highbar.json")
    assert (found.line, found.column) == (line, column)
    assert found.code == code
    assert value in found.message


def test_a_duplicate_key_in_json_is_refused(problems):
    (found,) = problems('{"thresholds": {"blocking": {"safety_rate": "100%",\n "safety_rate": "0%"}}}', "highbar.json")
    assert (found.code, found.line) == ("policy.duplicate-key", 2)
    assert "'safety_rate'" in found.message
    assert "line 1" in found.message


@pytest.mark.parametrize(
    ("definition", "code", "value"),
    [
        ("{ formula: accuracy }", "policy.missing-key", "metrics[0]"),
        ("{ name: mine }", "policy.missing-key", "metrics[0]"),
        ("{ name: my-own, formula: accuracy }", "metric.name-taken", "'my-own'"),
        ("{ name: total_scenarios, formula: accuracy }", "metric.name-taken", "'total_scenarios'"),
        ("{ name: min, formula: accuracy }", "metric.name-taken", "'min'"),
        ("{ name: And, formula: accuracy }", "metric.name-taken", "'And'"),
        ("{ name: pass_at_3, formula: accuracy }", "metric.name-taken", "'pass_at_3'"),
        ("{ name: latency_limit, formula: accuracy }", "metric.name-taken", "'latency_limit'"),
        ("{ name: mine, formula: acuracy }", "formula.unknown-name", "'acuracy'"),
        ("{ name: mine, formula: 'accuracy ** 2' }", "formula.syntax", "metrics[0].formula"),
        ("{ name: mine, formula: mine + 1 }", "formula.cycle", "mine → mine"),
        ("{ name: accuracy, formula: f1 / accuracy }", "formula.cycle", "accuracy → accuracy"),
        ("{ name: mine, formula: mean(category) }", "formula.wrong-operand", "'category'"),
        ("{ name: mine, formula: 'percentile(passed, 5%)' }", "formula.wrong-operand", "'passed'"),
        ("{ name: mine, formula: mean(token_used) }", "policy.misspelled", "'tokens_used'"),
        ("{ name: mine, formula: accuracy, range: 10-0 }", "metric.bad-range", "'10-0'"),
        ("{ name: mine, formula: accuracy, range: 0-100%, unit: ms }", "metric.bad-range", "0-100%"),
        ("{ name: mine, formula: accuracy, unit: seconds }", "policy.wrong-type", "'seconds'"),
        ("{ name: mine, formula: accuracy, better: bigger }", "policy.wrong-type", "'bigger'"),
        ("{ name: mine, formula: accuracy, typical_threshold: ≥ 85% }", "threshold.wrong-unit", "'85%'"),
        ("{ name: mine, formula: accuracy, where: { error: x } }", "select.column", "'error'"),
        ("{ name: mine, formula: 5 }", "policy.wrong-type", "'5'"),
        ("{ name: 5, formula: accuracy }", "policy.wrong-type", "'5'"),
        ("mine", "policy.wrong-type", "'mine'"),
        ("{ name: mine, formula: weighted_score }", "formula.unknown-name", "'weighted_score'"),
    ],
)
def test_a_metric_that_cannot_be_computed_is_refused(problems, definition, code, value):
    (found,) = problems(f"{GOOD}metrics:\n  - {definition}\n")
    assert found.line == 3
    assert found.code == code
    assert value in found.message


def test_a_metric_that_is_defined_twice_is_refused(problems):
    (found,) = problems(f"{GOOD}metrics:\n  - {{ name: a, formula: f1 }}\n  - {{ name: a, formula: f1 }}\n")
    assert (found.code, found.line) == ("metric.name-taken", 4)


def test_a_circle_of_metrics_is_refused_once(problems):
    definitions = "".join(f"  - {{ name: {a}, formula: {b} + 1 }}\n" for a, b in ("ab", "bc", "ca"))
    (found,) = problems(f"{GOOD}metrics:\n{definitions}rules: [ {{ metric: a, threshold: 3 }} ]\n")
    assert (found.code, found.message.count("→")) == ("formula.cycle", 3)


def test_a_long_chain_of_metrics_is_refused(problems):
    chain = "".join(f"  - {{ name: m{n}, formula: m{n - 1} + 1 }}\n" for n in range(1, 80))
    (found,) = problems(f"{GOOD}metrics:\n  - {{ name: m0, formula: accuracy }}\n{chain}")
    assert found.code == "formula.cycle"
    assert "64" in found.message
    assert "→" not in found.message


def test_a_long_chain_through_the_weighted_score_is_refused(problems):
    """The longest chain that is allowed, weighted_score on top of it, and on top of that one as long as one likes."""
    below = "".join(f"  - {{ name: m{n}, formula: m{n - 1} × 1, range: 0-100% }}\n" for n in range(1, 63))
    above = "".join(f"  - {{ name: n{n}, formula: n{n - 1} × 1 }}\n" for n in range(1, 60))
    first = "  - { name: m0, formula: accuracy, range: 0-100% }\n  - { name: n0, formula: weighted_score }\n"
    (found,) = problems(f"{GOOD}weights: {{ by_metric: {{ m62: 1 }} }}\nmetrics:\n{first}{below}{above}")
    assert found.code == "formula.cycle"
    assert "64" in found.message
    assert "→" not in found.message


def test_a_circle_through_the_composite_is_refused(problems):
    (found,) = problems(
        "composite: { formula: mine, pass: final_score ≥ 0.5 }\n"
        "metrics: [ { name: mine, formula: final_score / 2, range: 0-100% } ]\n"
    )
    assert found.code == "formula.cycle"


def test_rules_on_a_broken_metric_are_not_more_problems(problems):
    text = f"{GOOD}metrics:\n  - {{ name: mine, formula: 'a **' }}\nrules: [ {{ metric: mine, threshold: 90% }} ]\n"
    (found,) = problems(text)
    assert found.line == 3


@pytest.mark.parametrize(
    ("by_metric", "code", "value"),
    [
        ("{ acuracy: 1.0 }", "policy.unknown-metric", "'acuracy'"),
        ("{ latency_p95: 1.0 }", "formula.wrong-operand", "'latency_p95'"),
        ("{ error_rate: 1.0 }", "formula.wrong-operand", "'error_rate'"),
        ("{ weighted_score: 1.0 }", "formula.cycle", "'weighted_score'"),
        ("{ accuracy: -1 }", "threshold.unreadable", "-1"),
        ("{ accuracy: 0 }", "threshold.unreadable", "found 0"),
        ("{ accuracy: .inf }", "threshold.unreadable", "'.inf'"),
        ("{ accuracy: }", "policy.wrong-type", "weights.by_metric.accuracy"),
        ("{}", "policy.empty-value", "weights.by_metric"),
        ("{ " + ", ".join(f"pass_at_{k}: 1" for k in range(1, 102)) + " }", "policy.out-of-range", "100"),
    ],
)
def test_weights_of_metrics_that_cannot_be_averaged_are_refused(problems, by_metric, code, value):
    rule = "rules: [ { metric: weighted_score, threshold: 90% } ]"
    (found,) = problems(f"weights:\n  by_metric: {by_metric}\n{rule}\n")
    assert found.line == 2
    assert found.code == code
    assert value in found.message


def test_a_score_that_is_defined_twice_is_refused(problems):
    (found,) = problems(
        "composite: { formula: accuracy, pass: final_score ≥ 0.5 }\n"
        "metrics: [ { name: final_score, formula: f1, range: 0-100% } ]\n"
    )
    assert found.code == "metric.name-taken"
    (found,) = problems(
        f"{GOOD}weights: {{ by_metric: {{ f1: 1 }} }}\n"
        "metrics: [ { name: weighted_score, formula: f1, range: 0-100% } ]\n"
    )
    assert found.code == "metric.name-taken"


def test_an_id_that_a_required_pattern_matches_is_both(problems):
    (found,) = problems('required_scenarios: { ids: ["CORE-*"] }\noptional_scenarios: { ids: [CORE-009] }\n')
    assert found.code == "policy.conflict"
    assert "'CORE-*'" in found.message


def test_thousands_of_problems_are_found_in_no_time_and_the_first_are_listed(problems):
    text = "thresholds: { blocking: {" + ", ".join(f"metric_{n}: 9%" for n in range(20_000)) + "} }"
    with processor_time(below=20):
        *listed, rest = problems(text)
    assert len(listed) == 50
    assert rest.code == "problems.more"
    assert "19950" in rest.message


def test_a_policy_that_is_not_text_is_refused(tmp_path):
    for content, code in [
        (b"\xff\xfea\x00", "file.not-utf8"),
        (b"a: \xff", "file.not-utf8"),
        (b"x" * (1024 * 1024 + 1), "file.too-large"),
    ]:
        path = tmp_path / "highbar.yaml"
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            policy.read(path)
        assert [problem.code for problem in caught.value.problems] == [code]


def test_a_policy_that_is_not_there_is_refused(tmp_path):
    for path, code in (
        (tmp_path / "absent.yaml", "file.missing"),
        (tmp_path, "file.unreadable"),
        ("nul\0byte.yaml", "file.unreadable"),
    ):
        with pytest.raises(InputError) as caught:
            policy.read(path)
        assert [problem.code for problem in caught.value.problems] == [code]


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "highbar.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"description: x\r\n")
    assert policy.read(path).description == "x"
