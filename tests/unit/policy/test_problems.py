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
    ("text", "line", "column", "message", "hint"),
    [
        ("thresholds: { blocking: { acuracy: 90 } }", 1, 27, "unknown metric 'acuracy'", "did you mean 'accuracy'?"),
        ("thresholds: { blocking: { passed_scenarios: 9 } }", 1, 27, "unknown metric", "is a measure"),
        ("thresholds: { blocking: { weighted_score: 90 } }", 1, 27, "unknown metric", "weights.by_metric"),
        ("thresholds: { blocking: { final_score: 90 } }", 1, 27, "unknown metric", "under composite"),
        ("treshold: {}", 1, 1, "unknown key 'treshold'", "did you mean 'thresholds'?"),
        ("formula: y", 1, 1, "unknown key 'formula'", "the list metrics"),
        (f"{GOOD}{GOOD}", 2, 1, "duplicate key 'thresholds', first on line 1", None),
        (f"{GOOD}weights: {{ accuracy: 2 }}", 2, 12, "unknown key 'accuracy'", "under by_metric"),
        ("thresholds: 3", 1, 13, "found a number '3', wanted a mapping", None),
        ("- a", 1, 1, "found a list, wanted a mapping", None),
        ("", 1, 1, "the policy is empty", "highbar init"),
        ("# nothing", 1, 1, "the policy is empty", "highbar init"),
        ("description: no rules here", 1, 1, "the policy has no rule", "thresholds:"),
        ("thresholds: { blocking: {} }", 1, 1, "the policy has no rule", "thresholds:"),
        ("required_scenarios: { ids: [0123] }", 1, 29, "found a number '0123', wanted text", 'quote it: "0123"'),
        ("required_scenarios: { ids: [] }", 1, 28, "the list is empty", None),
        ("required_scenarios: { ids: [A, A] }", 1, 32, "listed twice", None),
        ("required_scenarios: A", 1, 21, "found text 'A', wanted a list of ids", "required_scenarios: [A]"),
        ("required_scenarios: {}", 1, 21, "no ids", "ids: ["),
        ('required_scenarios: { ids: ["a\\tb"] }', 1, 29, "control character", None),
        ("progressive: { accuracy: { latest: 90% } }", 1, 28, "'latest' is not a version", "the word target"),
        ("progressive: { accuracy: { v1: 90%, 1.0: 95% } }", 1, 37, "the same version as 'v1'", None),
        ("progressive: { accuracy: { target: 95% } }", 1, 26, "no step", "v1.0"),
        ("agent_version: latest\nprogressive: { accuracy: { v1: 90% } }", 1, 16, "cannot be read", "2.1.0"),
        ("composite: { formula: accuracy, pass: final_score ≥ 85 }", 1, 39, "is a ratio, found 85", "85% or 0.85"),
        ("composite: { formula: accuracy, pass: 85 ≤ final_score }", 1, 39, "is a ratio, found 85", "85% or 0.85"),
        ("composite: { formula: accuracy, pass: final_score }", 1, 39, "wanted", "compare it"),
        ("composite: { pass: accuracy ≥ 0.5 }", 1, 12, "without a formula", None),
        ("composite: accuracy", 1, 12, "does not begin with 'final_score ='", None),
        ("composite: { formula: acuracy × 0.5, pass: final_score > 0 }", 1, 23, "unknown name", "'accuracy'"),
        ("composite: { formula: 1 - passed, pass: final_score > 0 }", 1, 27, "unknown name", "mean(passed)"),
        ("composite: { formula: accuracy, pass: 1 = 1 }", 1, 39, "'1 = 1' has the same outcome", "name a metric"),
        (
            "composite: { formula: accuracy, pass: final_score > 0.5 OR 1 = 1 }",
            1,
            39,
            "'1 = 1' has the same outcome whatever the results are",
            "name a metric",
        ),
        (
            "composite: { formula: accuracy, pass: latency_limit ≥ 1000 }",
            1,
            39,
            "'latency_limit >= 1000' has the same outcome whatever the results are",
            "name a metric",
        ),
        (
            "composite: { formula: accuracy, pass: accuracy = accuracy }",
            1,
            39,
            "'accuracy = accuracy' has the same outcome whatever the results are",
            "name a metric",
        ),
        ("composite: { formula: 0.9 × 1, pass: final_score > 0.5 }", 1, 23, "names no measure", "such as"),
        (f"{GOOD}metrics: [ {{ name: c, formula: 1 + 1 }} ]", 2, 32, "names no measure", "such as"),
        (f"{GOOD}metrics: [ {{ name: c, formula: latency_limit / 1000 }} ]", 2, 32, "names no measure", "such as"),
        ("pass_score: -1", 1, 13, "found -1, wanted a share from 0 to 1", None),
        ("pass_score: 80", 1, 13, "found 80, wanted a share from 0 to 1", "80% or 0.8"),
        ("confidence: 95", 1, 13, "found 95, wanted a share from 0 to 1", "95% or 0.95"),
        *(
            (f"thresholds: {{ {rule} }}", 1, column, "this margin leaves nothing of its threshold", "a smaller one")
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
            "failures needs a threshold of 100%, or of 0% if lower is better, found >= 1.0 with a margin",
            "use `margin`",
        ),
        ("baseline: { file: b.json }", 1, 11, "without a margin", None),
        ("baseline: { file: b.json, margin: { accuracy: 0.01 } }", 1, 47, "as a margin of accuracy", "1%"),
        ("baseline: { file: b.json, margin: {} }", 1, 35, "no metric has a margin", None),
        ("rules: [ { metric: accuracy, threshold: { evidence: confident } } ]", 1, 41, "no threshold", None),
        (
            "rules: [ { metric: accuracy, evidence: confident, threshold: { threshold: 9%, evidence: estimate } } ]",
            1,
            89,
            "'evidence' is given twice",
            None,
        ),
        ("slices: [tags]", 1, 10, "cannot be chosen by 'tags'", "tags.locale"),
        ("slices: [latency_ms]", 1, 10, "cannot be chosen by 'latency_ms'", None),
        ("positive: 1", 1, 11, "found a number '1', wanted text", "quote it"),
        ("suite: absent.yaml", None, None, "no such file", None),
    ],
)
def test_a_problem_says_where_it_is_what_was_found_and_what_to_do(problems, text, line, column, message, hint):
    (found,) = problems(text)
    assert (found.line, found.column) == (line, column)
    assert message in found.message
    assert hint is None or hint in found.hint


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("accuracy ≤ 0.9", "better when higher"),
        ("NOT accuracy ≥ 0.9", "better when higher"),
        ("0.9 > accuracy", "better when higher"),
        ("error_rate ≥ 0.1", "better when lower"),
        ("accuracy = 0.9", "would refuse better values"),
        ("accuracy ≠ 0.5", "would accept worse values"),
        ("accuracy > 1", "can never hold"),
        ("accuracy ≥ 120%", "is a ratio, found 1.2"),
        ("latency_p95 > 5s", "better when lower"),
        ("(accuracy + recall) / 2 ≥ 85", "same outcome whatever"),
        ("min(accuracy, recall) ≥ 85", "same outcome whatever"),
        ("max(accuracy, 2) ≥ 1", "same outcome whatever"),
        ("1 - accuracy < -0.5", "same outcome whatever"),
        ("mean(passed) ≥ 85", "same outcome whatever"),
        ("2 > 1", "same outcome whatever"),
        ("accuracy ≥ 0.9 AND recall ≤ 0.9", "better when higher"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(problems, condition, message):
    (found,) = problems(f"composite: {{ formula: accuracy, pass: '{condition}' }}")
    assert message in found.message


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
    ("text", "message"),
    [
        ("!!python/object/apply:os.mkdir ['x']", "is not allowed"),
        ("thresholds: !x { blocking: { pass_rate: 50% } }", "the tag !x is not allowed"),
        ("a: &a 1\nb: *a", "anchors and aliases"),
        ("thresholds:\n\tblocking: {}", "indented with a tab"),
        ('a: "\\d+"', "a backslash must begin an escape"),
        ("a: 'b", "the quote that opens here is never closed"),
        ("a: b: c", "there is a second colon on this line"),
        ("a: \x01", "not YAML"),
        (f"{GOOD}---\n{GOOD}", "a second document"),
        ("rules: " + "[" * 200 + "]" * 200, "nested deeper than 64"),
        ("? [a]\n: b\n", "found a list as a key"),
        ("~: 1", "found nothing as a key"),
    ],
)
def test_yaml_that_a_policy_does_not_need_is_refused(problems, text, message):
    assert message in problems(text)[0].message


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{"a": NaN}', 1, 7, "'NaN' is not JSON"),
        ('{"a": 01}', 1, 7, "'01' is not JSON"),
        ('{"a": +1}', 1, 7, "'+1' is not JSON"),
        ('{"a": yes}', 1, 7, "'yes' is not JSON"),
        ('{"a": 1,}', 1, 9, "comma after the last"),
        ('{"a": [1,]}', 1, 10, "comma after the last"),
        ('{"a" 1}', 1, 6, "wanted ':'"),
        ("{a: 1}", 1, 2, "a key in quotes"),
        ('{"a": 1 "b": 2}', 1, 9, "wanted ',' or '}'"),
        ('{"a": 1}\n{"b": 2}', 2, 1, "after the end"),
        ('{"a": "b', 1, 7, "no end"),
        ('{"a": "\\ud800"}', 1, 7, "surrogate"),
        ('{"a": "\\q"}', 1, 8, "bad escape"),
        ('{"a": "b\tc"}', 1, 9, "control character"),
        ('{\n  "a": // no\n}', 2, 8, "wanted a value"),
        ("", 1, 1, "wanted a value"),
        ("[" * 100, 1, 66, "nested deeper than 64"),
    ],
)
def test_what_is_not_json_is_refused_at_its_place(problems, text, line, column, message):
    (found,) = problems(text, "highbar.json")
    assert (found.line, found.column) == (line, column)
    assert message in found.message


def test_a_duplicate_key_in_json_is_refused(problems):
    (found,) = problems('{"thresholds": {"blocking": {"safety_rate": "100%",\n "safety_rate": "0%"}}}', "highbar.json")
    assert (found.line, found.message.split(": ")[1]) == (2, "duplicate key 'safety_rate', first on line 1")


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("{ formula: accuracy }", "without a name"),
        ("{ name: mine }", "without a formula"),
        ("{ name: my-own, formula: accuracy }", "cannot be named in a formula"),
        ("{ name: total_scenarios, formula: accuracy }", "is taken"),
        ("{ name: min, formula: accuracy }", "is taken"),
        ("{ name: And, formula: accuracy }", "is taken"),
        ("{ name: pass_at_3, formula: accuracy }", "is taken"),
        ("{ name: latency_limit, formula: accuracy }", "is taken"),
        ("{ name: mine, formula: acuracy }", "unknown name 'acuracy'"),
        ("{ name: mine, formula: 'accuracy ** 2' }", "powers"),
        ("{ name: mine, formula: mine + 1 }", "needs itself: mine → mine"),
        ("{ name: accuracy, formula: f1 / accuracy }", "needs itself"),
        ("{ name: mine, formula: mean(category) }", "cannot be taken of 'category'"),
        ("{ name: mine, formula: 'percentile(passed, 5%)' }", "cannot be taken of 'passed'"),
        ("{ name: mine, formula: mean(token_used) }", "is nearly 'tokens_used'"),
        ("{ name: mine, formula: accuracy, range: 10-0 }", "wanted the least and the greatest value"),
        ("{ name: mine, formula: accuracy, range: 0-100%, unit: ms }", "is that of a ratio"),
        ("{ name: mine, formula: accuracy, unit: seconds }", "wanted ratio or ms"),
        ("{ name: mine, formula: accuracy, better: bigger }", "wanted higher or lower"),
        ("{ name: mine, formula: accuracy, typical_threshold: ≥ 85% }", "is a plain number, found '85%'"),
        ("{ name: mine, formula: accuracy, where: { error: x } }", "cannot be chosen by 'error'"),
        ("{ name: mine, formula: 5 }", "wanted text"),
        ("{ name: 5, formula: accuracy }", "wanted text"),
        ("mine", "wanted a mapping"),
        ("{ name: mine, formula: weighted_score }", "unknown name 'weighted_score'"),
    ],
)
def test_a_metric_that_cannot_be_computed_is_refused(problems, definition, message):
    (found,) = problems(f"{GOOD}metrics:\n  - {definition}\n")
    assert found.line == 3
    assert message in found.message


def test_a_metric_that_is_defined_twice_is_refused(problems):
    (found,) = problems(f"{GOOD}metrics:\n  - {{ name: a, formula: f1 }}\n  - {{ name: a, formula: f1 }}\n")
    assert (found.line, "defined twice" in found.message) == (4, True)


def test_a_circle_of_metrics_is_refused_once(problems):
    definitions = "".join(f"  - {{ name: {a}, formula: {b} + 1 }}\n" for a, b in ("ab", "bc", "ca"))
    (found,) = problems(f"{GOOD}metrics:\n{definitions}rules: [ {{ metric: a, threshold: 3 }} ]\n")
    assert found.message.count("→") == 3


def test_a_long_chain_of_metrics_is_refused(problems):
    chain = "".join(f"  - {{ name: m{n}, formula: m{n - 1} + 1 }}\n" for n in range(1, 80))
    (found,) = problems(f"{GOOD}metrics:\n  - {{ name: m0, formula: accuracy }}\n{chain}")
    assert "a chain of more than 64" in found.message


def test_a_long_chain_through_the_weighted_score_is_refused(problems):
    """The longest chain that is allowed, weighted_score on top of it, and on top of that one as long as one likes."""
    below = "".join(f"  - {{ name: m{n}, formula: m{n - 1} × 1, range: 0-100% }}\n" for n in range(1, 63))
    above = "".join(f"  - {{ name: n{n}, formula: n{n - 1} × 1 }}\n" for n in range(1, 60))
    first = "  - { name: m0, formula: accuracy, range: 0-100% }\n  - { name: n0, formula: weighted_score }\n"
    (found,) = problems(f"{GOOD}weights: {{ by_metric: {{ m62: 1 }} }}\nmetrics:\n{first}{below}{above}")
    assert "a chain of more than 64" in found.message


def test_a_circle_through_the_composite_is_refused(problems):
    (found,) = problems(
        "composite: { formula: mine, pass: final_score ≥ 0.5 }\n"
        "metrics: [ { name: mine, formula: final_score / 2, range: 0-100% } ]\n"
    )
    assert "needs itself" in found.message


def test_rules_on_a_broken_metric_are_not_more_problems(problems):
    text = f"{GOOD}metrics:\n  - {{ name: mine, formula: 'a **' }}\nrules: [ {{ metric: mine, threshold: 90% }} ]\n"
    (found,) = problems(text)
    assert found.line == 3


@pytest.mark.parametrize(
    ("by_metric", "message"),
    [
        ("{ acuracy: 1.0 }", "unknown metric 'acuracy'"),
        ("{ latency_p95: 1.0 }", "cannot be averaged"),
        ("{ error_rate: 1.0 }", "cannot be averaged"),
        ("{ weighted_score: 1.0 }", "a part of itself"),
        ("{ accuracy: -1 }", "wanted a number above 0"),
        ("{ accuracy: 0 }", "wanted a number above 0"),
        ("{ accuracy: .inf }", "cannot read '.inf'"),
        ("{ accuracy: }", "wanted a number above 0"),
        ("{}", "found no weight"),
        ("{ " + ", ".join(f"pass_at_{k}: 1" for k in range(1, 102)) + " }", "at most 100"),
    ],
)
def test_weights_of_metrics_that_cannot_be_averaged_are_refused(problems, by_metric, message):
    rule = "rules: [ { metric: weighted_score, threshold: 90% } ]"
    (found,) = problems(f"weights:\n  by_metric: {by_metric}\n{rule}\n")
    assert found.line == 2
    assert message in found.message


def test_a_score_that_is_defined_twice_is_refused(problems):
    (found,) = problems(
        "composite: { formula: accuracy, pass: final_score ≥ 0.5 }\n"
        "metrics: [ { name: final_score, formula: f1, range: 0-100% } ]\n"
    )
    assert "defined under metrics as well" in found.message
    (found,) = problems(
        f"{GOOD}weights: {{ by_metric: {{ f1: 1 }} }}\n"
        "metrics: [ { name: weighted_score, formula: f1, range: 0-100% } ]\n"
    )
    assert "defined under metrics as well" in found.message


def test_an_id_that_a_required_pattern_matches_is_both(problems):
    (found,) = problems('required_scenarios: { ids: ["CORE-*"] }\noptional_scenarios: { ids: [CORE-009] }\n')
    assert "required as well (as 'CORE-*')" in found.message


def test_thousands_of_problems_are_found_in_no_time_and_the_first_are_listed(problems):
    text = "thresholds: { blocking: {" + ", ".join(f"metric_{n}: 9%" for n in range(20_000)) + "} }"
    with processor_time(below=20):
        *listed, rest = problems(text)
    assert len(listed) == 50
    assert rest.message == "and 19950 more problems, which are not listed"


def test_a_policy_that_is_not_text_is_refused(tmp_path):
    for content, message in [
        (b"\xff\xfea\x00", "UTF-8"),
        (b"a: \xff", "UTF-8"),
        (b"x" * (1024 * 1024 + 1), "larger than"),
    ]:
        path = tmp_path / "highbar.yaml"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            policy.read(path)


def test_a_policy_that_is_not_there_is_refused(tmp_path):
    for path in (tmp_path / "absent.yaml", tmp_path, "nul\0byte.yaml"):
        with pytest.raises(InputError, match=r"cannot be read|no such file"):
            policy.read(path)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "highbar.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"description: x\r\n")
    assert policy.read(path).description == "x"
