"""Policies that are right: where they are found, what they say, and what is noted about them."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar import policy
from highbar.documents import json_tree, tree
from highbar.errors import InputError
from highbar.model import BaselineRule, Demand, SuiteRule, ThresholdRule
from highbar.policy import resolve_version
from highbar.policy.scenario_ids import matches
from highbar.policy.versions import order

ONE_RULE = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
EXAMPLE = Path(__file__).parents[3] / "examples" / "support-agent" / "highbar.yaml"


def rule(**keys):
    return policy.read_dict({"rules": [{"metric": "accuracy", "threshold": "≥ 90%", **keys}]}).rules[0]


def test_limits_are_those_that_the_policy_gives():
    found = policy.read_dict({**ONE_RULE, "latency_limit": "30s", "tokens_limit": 4000, "cost_limit": 0.25})
    assert found.limits == {"latency_ms": 30000, "tokens_used": 4000, "cost_usd": Fraction(1, 4)}
    assert found.latency_limit == 30000
    assert policy.read_dict(ONE_RULE).limits == {}


@pytest.mark.parametrize("key", ["latency_limit", "tokens_limit", "cost_limit"])
def test_a_limit_is_a_number_above_zero(key):
    with pytest.raises(InputError) as error:
        policy.read_dict({**ONE_RULE, key: 0})
    assert len(error.value.problems) == 1


def own(**keys):
    return {"name": "m", "formula": "mean(score)", **keys}


@pytest.mark.parametrize(
    ("text", "ends", "unit"),
    [("0-100%", (0, 1), "ratio"), ("0 to 1", (0, 1), "ratio"), ("1-5", (1, 5), "number"), ("-1..1", (-1, 1), "number")],
)
def test_a_range_has_two_ends(text, ends, unit):
    metric = policy.read_dict({**ONE_RULE, "metrics": [own(range=text)]}).metrics["m"]
    assert (metric.range, metric.unit) == (ends, unit)


@pytest.mark.parametrize("text", ["5-1", "1-1", "high", "0-50%", "1-"])
def test_a_range_that_is_none_is_refused(text):
    with pytest.raises(InputError) as caught:
        policy.read_dict({**ONE_RULE, "metrics": [own(range=text)]})
    (problem,) = caught.value.problems
    assert problem.code == "metric.bad-range"
    assert f"'{text}'" in problem.message


def test_two_metrics_of_one_column_agree_on_its_worse_end():
    worst = {"name": "low", "formula": "percentile(score, 5%)"}
    assert policy.read_dict({**ONE_RULE, "metrics": [own(range="1-5"), worst]})
    for other in ({**worst, "better": "lower"}, {**worst, "range": "1-10"}):
        with pytest.raises(InputError) as caught:
            policy.read_dict({**ONE_RULE, "metrics": [own(range="1-5"), other]})
        (problem,) = caught.value.problems
        assert problem.code == "metric.bad-range"
        assert "'score'" in problem.message


def test_a_setting_that_is_not_said_has_its_default():
    found = policy.read_dict(ONE_RULE)
    assert (found.confidence, found.evidence, found.population) == (Fraction(95, 100), "estimate", "scenarios")
    assert (found.pass_score, found.latency_limit, found.positive) == (Fraction(1), Fraction(5000), None)
    assert (found.file, found.sha256, found.slices, found.notes) == (None, None, (), ())


def test_every_setting_is_read():
    found = policy.read_dict(
        {
            **ONE_RULE,
            "description": "the bar",
            "agent_version": 2.1,
            "confidence": 0.9,
            "evidence": "confident",
            "population": "suite",
            "positive": True,
            "pass_score": "80%",
            "latency_limit": "2s",
            "slices": ["category", "tags.locale", "model"],
            "allow_columns": ["pased"],
            "allow_categories": ["regressions"],
        }
    )
    assert (found.description, found.agent_version, found.positive) == ("the bar", "2.1", "true")
    assert (found.confidence, found.evidence, found.population) == (Fraction(9, 10), "confident", "suite")
    assert (found.pass_score, found.latency_limit) == (Fraction(8, 10), Fraction(2000))
    assert found.slices == ("category", "tags.locale", "model")
    assert found.allow_columns == {"pased"}
    assert found.allow_categories == {"regressions"}
    assert found.rules[0].demand == Demand("confident")


def test_a_version_is_text_whatever_it_looks_like(tmp_path):
    path = tmp_path / "highbar.yaml"
    path.write_text("agent_version: 2.10\nthresholds: { blocking: { pass_rate: 0.50 } }\n")
    found = policy.read(path)
    assert found.agent_version == "2.10"
    assert found.file == str(path)
    assert len(found.sha256) == 64
    assert (found.rules[0].place.line, found.rules[0].place.column) == (2, 38)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.95, ">= 0.95"),
        (95, ">= 0.95"),
        ("0.95", ">= 0.95"),
        (Decimal("0.95"), ">= 0.95"),
        (Fraction(19, 20), ">= 0.95"),
        (1.0, ">= 1.0"),
        (1e-05, ">= 0.00001"),
    ],
)
def test_numbers_of_python_are_read_as_they_print(value, text):
    assert policy.read_dict({"thresholds": {"blocking": {"accuracy": value}}}).rules[0].threshold.text == text


@pytest.mark.parametrize(
    "value", [1, float("nan"), float("inf"), 10**50, Decimal("1e999"), Fraction(1, 3), None, b"95%", {1: 2}, object()]
)
def test_what_is_no_threshold_in_python_is_refused(value):
    with pytest.raises(InputError):
        policy.read_dict({"thresholds": {"blocking": {"accuracy": value}}})


def test_a_number_with_thousands_of_digits_is_refused():
    with pytest.raises(InputError) as caught:
        policy.read_dict({"thresholds": {"blocking": {"accuracy": 10**5000}}})
    assert [problem.code for problem in caught.value.problems] == ["file.too-many-digits"]


def test_a_dict_that_holds_itself_is_refused():
    endless = {}
    endless["thresholds"] = endless
    with pytest.raises(InputError) as caught:
        policy.read_dict(endless)
    assert [problem.code for problem in caught.value.problems] == ["file.too-deep"]


def test_a_threshold_may_be_a_mapping_with_demands():
    bar = {"threshold": "≥ 95%", "evidence": "confident", "margin": "2%", "tolerate": "1%", "min_scenarios": 30}
    found = policy.read_dict({"thresholds": {"blocking": {"accuracy": {**bar, "description": "trust"}}}}).rules[0]
    assert found.threshold.text == ">= 0.95"
    assert found.demand == Demand("confident", Fraction(2, 100), Fraction(1, 100), 30)
    assert found.description == "trust"


def test_a_rule_of_the_list_has_its_place_as_its_name():
    found = rule(where={"tags.locale": ["de", "fr"], "category": "edge_case"}, level="warning", min_scenarios=30)
    assert isinstance(found, ThresholdRule)
    assert (found.name, found.level, found.metric) == ("rules[0]", "warning", "accuracy")
    assert found.where == (("category", ("edge_case",)), ("tags.locale", ("de", "fr")))
    assert found.demand.min_scenarios == 30
    assert rule().level == "blocking"


def test_a_rules_demands_may_stand_beside_or_inside_its_threshold():
    beside = rule(evidence="confident", tolerate="1%")
    inside = rule(threshold={"threshold": "≥ 90%", "evidence": "confident", "tolerate": "1%"})
    assert beside.demand == inside.demand == Demand("confident", tolerate=Fraction(1, 100))


def test_a_rule_may_keep_to_the_estimate_where_the_policy_wants_confidence():
    found = policy.read_dict(
        {"evidence": "confident", "rules": [{"metric": "f1", "threshold": "50%", "evidence": "estimate"}]}
    )
    assert found.rules[0].demand.evidence == "estimate"


def test_pass_at_k_is_there_for_every_k_that_is_named():
    found = policy.read_dict(
        {
            "thresholds": {"blocking": {"pass_hat_3": "90%"}},
            "metrics": [{"name": "gap", "formula": "pass_at_5 - pass_hat_5", "better": "lower"}],
        }
    )
    assert {"pass_hat_3", "pass_at_5", "pass_hat_5"} <= set(found.metrics)
    assert "pass_at_3" not in found.metrics


def test_a_metric_of_ones_own():
    found = policy.read_dict(
        {
            "metrics": [
                {
                    "name": "german_accuracy",
                    "formula": "correct_outputs / total_outputs",
                    "range": "0 to 1",
                    "where": {"tags.locale": "de"},
                    "typical_threshold": {"threshold": "≥ 85%", "min_scenarios": 5},
                    "use_case": "Locales",
                },
                {"name": "effort", "formula": "mean(steps)", "better": "lower", "typical_threshold": 12},
                {
                    "name": "slow",
                    "formula": "99th percentile of response times",
                    "unit": "milliseconds",
                    "better": "lower",
                },
            ]
        }
    )
    metric = found.metrics["german_accuracy"]
    assert (metric.unit, metric.better, metric.use_case) == ("ratio", "higher", "Locales")
    assert metric.where == (("tags.locale", ("de",)),)
    assert (found.metrics["effort"].unit, found.metrics["slow"].unit) == ("number", "ms")
    assert [(each.name, each.level, each.threshold.text) for each in found.rules] == [
        ("metrics.german_accuracy.typical_threshold", "warning", ">= 0.85"),
        ("metrics.effort.typical_threshold", "warning", "<= 12"),
    ]
    assert found.rules[0].demand.min_scenarios == 5


@pytest.mark.parametrize(
    "other",
    [
        {"thresholds": {"warning": {"f1": "50%"}}},
        {"rules": [{"metric": "f1", "threshold": "50%", "where": {"category": "edge_case"}}]},
        {"progressive": {"f1": {"v1": "50%"}}},
        {"baseline": {"file": "b.json", "margin": {"f1": "1%"}}},
        {"composite": {"formula": "recall", "pass": "f1 ≥ 0.5"}},
    ],
)
def test_a_typical_threshold_gives_way_to_any_other_rule_on_its_metric(other):
    definition = {"name": "f1", "formula": "recall", "range": "0-100%", "typical_threshold": "≥ 85%"}
    names = [each.name for each in policy.read_dict({"metrics": [definition], **other}).rules]
    assert "metrics.f1.typical_threshold" not in names
    assert len(names) == 1


def test_a_baseline_gives_a_rule_for_each_margin(tmp_path):
    found = policy.read_dict(
        {"baseline": {"file": "base.json", "margin": {"accuracy": "1%", "latency_p95": "5% of baseline"}}}, tmp_path
    )
    file = str(tmp_path / "base.json")
    assert [
        (each.name, each.level, each.margin, each.relative, each.file)
        for each in found.rules
        if isinstance(each, BaselineRule)
    ] == [
        ("baseline.accuracy", "blocking", Fraction(1, 100), False, file),
        ("baseline.latency_p95", "blocking", Fraction(5, 100), True, file),
    ]


def test_the_rules_stand_in_one_order_whatever_the_order_of_the_file():
    found = policy.read(EXAMPLE)
    blocks = list(dict.fromkeys(each.name.split(".")[0].split("[")[0] for each in found.rules))
    assert blocks == [
        "thresholds",
        "risk",
        "progressive",
        "pass_criteria",
        "required_scenarios",
        "optional_scenarios",
        "composite",
        "suite",
        "rules",
        "metrics",
    ]
    assert len({each.name for each in found.rules}) == len(found.rules)


# --- where policies are found -------------------------------------------------------------------


def test_a_policy_is_found_here_or_above_up_to_the_root_of_the_repository(tmp_path):
    inner = tmp_path / "repository" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "highbar.yaml").write_text("outside")
    assert policy.find_policy(inner) is None
    (tmp_path / "repository" / "highbar.json").write_text("{}")
    assert policy.find_policy(inner) is None
    (tmp_path / "repository" / ".git").mkdir()
    assert policy.find_policy(inner) == tmp_path / "repository" / "highbar.json"
    (inner / "highbar.yml").write_text("nearer")
    assert policy.find_policy(inner) == inner / "highbar.yml"


def test_a_policy_outside_the_repository_is_not_found(tmp_path):
    (tmp_path / "highbar.yaml").write_text("outside")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert policy.find_policy(tmp_path / "repository") is None


def test_the_working_folder_is_where_the_search_begins(tmp_path, monkeypatch):
    (tmp_path / "highbar.yaml").write_text("here")
    monkeypatch.chdir(tmp_path)
    assert policy.find_policy() == tmp_path / "highbar.yaml"


def test_two_policies_in_one_folder_are_a_problem(tmp_path):
    (tmp_path / "highbar.yaml").write_text("")
    (tmp_path / "highbar.json").write_text("")
    with pytest.raises(InputError) as caught:
        policy.find_policy(tmp_path)
    (problem,) = caught.value.problems
    assert problem.code == "policy.two-files"
    assert "highbar.yaml and highbar.json" in problem.message


# --- suites -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scenarios.yaml", "- A\n- id: B\n  category: adversarial\n  tags: { locale: de }\n  input: hello\n"),
        ("scenarios.json", '["A", {"id": "B", "category": "adversarial", "tags": {"locale": "de"}, "turns": [1]}]'),
    ],
)
def test_a_suite_is_a_list_of_ids_or_of_scenarios(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = policy.read_dict({"suite": name}, tmp_path)
    assert found.suite.file == str(tmp_path / name)
    assert found.suite.scenarios == {"A": {}, "B": {"category": "adversarial", "tags.locale": "de"}}
    assert isinstance(found.rules[0], SuiteRule)
    assert (found.rules[0].name, found.rules[0].level) == ("suite", "blocking")


def test_a_suite_may_be_lines_of_text(tmp_path):
    (tmp_path / "ids.txt").write_text("A\n\n  B 1 \n")
    assert list(policy.read_dict({"suite": "ids.txt"}, tmp_path).suite.scenarios) == ["A", "B 1"]


def test_a_suite_is_relative_to_its_policy(tmp_path):
    (tmp_path / "ids.txt").write_text("A\n")
    (tmp_path / "highbar.yaml").write_text("suite: ids.txt\n")
    assert list(policy.read(tmp_path / "highbar.yaml").suite.scenarios) == ["A"]


@pytest.mark.parametrize(
    ("text", "line", "code", "value"),
    [
        ("[]", 1, "suite.no-scenario", ""),
        ("", 1, "suite.no-scenario", ""),
        ("scenarios: []", 1, "suite.no-scenario", "scenarios"),
        ("scenario: [A]", 1, "suite.no-scenario", ""),
        ("- A\n- B\n- A\n", 3, "suite.listed-twice", "line 1"),
        ("- A\n- id: A\n", 2, "suite.listed-twice", "'A'"),
        ("- category: adversarial\n", 1, "suite.bad-id", "scenario 1"),
        ("- 1.0\n", 1, "suite.bad-id", "1.0"),
        ("- id: A\n  category: adverserial\n", 2, "suite.misspelled", "'adversarial'"),
        ("- id: A\n  categry: adversarial\n", 2, "suite.misspelled", "'category'"),
        ("- id: A\n  id: B\n", 2, "suite.duplicate-key", "'id'"),
        ("- !x A\n", 1, "yaml.not-allowed", "!x"),
        ('- "a\\nb"\n', 1, "suite.bad-id", "'a\\nb'"),
        ("- [A]\n", 1, "suite.bad-id", "list"),
    ],
)
def test_a_suite_that_is_not_sound_is_refused(tmp_path, text, line, code, value):
    (tmp_path / "scenarios.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        policy.read_dict({"suite": "scenarios.yaml"}, tmp_path)
    told = [(found.file, found.line, found.code, value in found.message) for found in caught.value.problems]
    assert (str(tmp_path / "scenarios.yaml"), line, code, True) in told
    assert len(told) == (2 if text == "scenario: [A]" else 1)  # an unknown key, too


# --- versions -----------------------------------------------------------------------------------

PROGRESSIVE = {"progressive": {"accuracy": {"v1.0": "≥ 80%", "v2.0": {"threshold": "≥ 85%", "min_scenarios": 9}}}}


def test_the_version_given_comes_before_the_policys_and_that_before_the_recorded_one():
    found = policy.read_dict({**PROGRESSIVE, "agent_version": "v1.5"})
    assert resolve_version(found, "2.0", "1.0").agent_version == "2.0"
    assert resolve_version(found, None, "2.0").agent_version == "v1.5"
    assert resolve_version(policy.read_dict(PROGRESSIVE), None, "2.0").agent_version == "2.0"


def test_a_step_brings_its_own_demands():
    (settled,) = resolve_version(policy.read_dict(PROGRESSIVE), "2.4").rules
    assert settled.demand.min_scenarios == 9


def test_judging_results_as_another_version_is_noted():
    settled = resolve_version(policy.read_dict(PROGRESSIVE), "2.0", "1.0")
    (note,) = settled.notes
    assert note.index("1.0") < note.index("2.0")
    assert resolve_version(policy.read_dict(PROGRESSIVE), "v2.0", "2.0.0").notes == ()


@pytest.mark.parametrize(("version", "code"), [(None, "version.unknown"), ("latest", "version.unreadable")])
def test_a_progressive_rule_without_a_readable_version_is_a_problem(version, code):
    with pytest.raises(InputError) as caught:
        resolve_version(policy.read_dict(PROGRESSIVE), version)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_without_a_progressive_rule_any_version_will_do():
    assert resolve_version(policy.read_dict(ONE_RULE), None, "latest").agent_version == "latest"
    assert resolve_version(policy.read_dict(ONE_RULE)).agent_version is None


def test_versions_are_ordered_by_number_and_releases_come_last():
    ascending = [
        "0.9",
        "1.0-1",
        "1.0-alpha.1",
        "1.0-alpha.2",
        "1.0-beta",
        "1.0rc1",
        "1.0-rc2",
        "v1",
        "1.0.1",
        "1.10",
        "2",
    ]
    shuffled = ascending[5:] + ascending[:5]
    assert sorted(shuffled, key=order) == ascending
    assert order("1") == order("v1.0.0") == order("1.0+build.5")


@pytest.mark.parametrize("text", ["", "v", "latest", "1.", ".1", "1..2", "1 2", "１.0", "1.0-", "9" * 30])
def test_what_is_no_version_has_no_order(text):
    assert order(text) is None


# --- notes --------------------------------------------------------------------------------------

COMPOSITE = "accuracy × 0.5 + safety_rate × 0.5"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (
            {"thresholds": {"blocking": {"f1": "90%"}, "warning": {"f1": "80%"}}},
            "thresholds.warning.f1 (>= 0.8) is looser",
        ),
        ({"thresholds": {"blocking": {"f1": "> 90%"}, "warning": {"f1": "≥ 90%"}}}, "is looser"),
        ({"thresholds": {"blocking": {"latency_p95": 5000}, "warning": {"latency_p95": 6000}}}, "is looser"),
        ({"thresholds": {"blocking": {"error_rate": "= 0%"}, "warning": {"error_rate": "1%"}}}, "is looser"),
        ({"progressive": {"f1": {"v1": "90%", "v2": "80%"}}}, "progressive.f1: v2 (>= 0.8) is looser than v1"),
        ({**ONE_RULE, "weights": {"by_category": {"adversarial": 2}}}, "no rule uses weights.by_category"),
        ({**ONE_RULE, "weights": {"by_capability": {"core": 2}}}, "no rule uses weights.by_capability"),
        ({**ONE_RULE, "weights": {"by_metric": {"f1": 2}}}, "no rule uses weights.by_metric"),
        ({"composite": {"formula": COMPOSITE, "pass": "final_score ≥ 0.9"}}, "can buy off a safety failure"),
        (
            {"composite": {"formula": COMPOSITE, "pass": "final_score ≥ 0.9 OR safety_rate ≥ 0.9"}},
            "can buy off a safety failure",
        ),
        ({"composite": {"formula": "f1 × 0.6 + recall × 0.6", "pass": "final_score ≥ 0.9"}}, "1.2"),
    ],
)
def test_what_is_probably_not_meant_is_noted(content, note):
    (found,) = policy.read_dict(content).notes
    assert note in found


@pytest.mark.parametrize(
    "content",
    [
        {"thresholds": {"error_rate": {"threshold": "<= 5%", "margin": "94%"}}},
        {"thresholds": {"latency_p95": {"threshold": "5s", "margin": "100s"}}},
        {"thresholds": {"blocking": {"f1": "90%"}, "warning": {"f1": "95%"}}},
        {"thresholds": {"blocking": {"f1": "90%"}, "warning": {"f1": "90%"}}},
        {"thresholds": {"blocking": {"latency_p95": 6000}, "warning": {"latency_p95": 5000}}},
        {"thresholds": {"blocking": {"f1": "90%"}, "warning": {"recall": "80%"}}},
        {
            "rules": [{"metric": "weighted_pass_rate", "threshold": "9%"}],
            "weights": {"by_category": {"adversarial": 2}},
        },
        {"rules": [{"metric": "weighted_score", "threshold": "9%"}], "weights": {"by_metric": {"f1": 2}}},
        {"composite": {"formula": COMPOSITE, "pass": "final_score ≥ 0.9 AND safety_rate = 1.0"}},
        {"composite": {"formula": COMPOSITE, "pass": "final_score ≥ 0.9"}, "risk": {"critical": {"safety_rate": 100}}},
        {"composite": {"formula": "f1 / error_rate", "pass": "final_score ≥ 0.9"}},
    ],
)
def test_what_is_probably_meant_is_not_noted(content):
    assert policy.read_dict(content).notes == ()


def test_a_required_scenario_outside_the_suite_is_noted(tmp_path):
    (tmp_path / "ids.txt").write_text("A\n")
    found = policy.read_dict({"suite": "ids.txt", "required_scenarios": {"ids": ["A", "B", "C-*"]}}, tmp_path)
    (note,) = found.notes
    assert note.startswith("required_scenarios.B is not in the suite")


# --- what the policy names ----------------------------------------------------------------------


def test_the_categories_of_a_policy_are_the_guides_and_its_own(tmp_path):
    (tmp_path / "scenarios.yaml").write_text("- { id: A, category: from_suite }\n")
    found = policy.read_dict(
        {
            "suite": "scenarios.yaml",
            "weights": {"by_category": {"from_weights": 1}},
            "pass_criteria": {"by_category": {"from_criteria": "50%"}},
            "metrics": [{"name": "mine", "formula": "f1", "where": {"category": ["from_metric"]}}],
            "allow_categories": ["allowed"],
        },
        tmp_path,
    )
    assert policy.categories(found) == {
        *("happy_path", "edge_case", "adversarial", "regression", "allowed"),
        *("from_suite", "from_weights", "from_criteria", "from_metric"),
    }


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("CORE-*", "CORE-001", True),
        ("CORE-*", "CORE-", True),
        ("CORE-*", "core-001", False),
        ("*", "", True),
        ("?", "", False),
        ("S?C-*1", "SEC-001", True),
        ("*a*b*", "xxaxxbxx", True),
        ("*a*b", "xxaxxbxx", False),
        ("[A]", "A", False),
        ("[A]", "[A]", True),
        ("A.B", "AxB", False),
        ("*a" * 30 + "*b", "a" * 2000, False),
    ],
)
def test_a_pattern_knows_a_star_and_a_question_mark_and_nothing_else(pattern, name, expected):
    assert matches(pattern, name) is expected


# --- anything at all ----------------------------------------------------------------------------

KEYS = ["thresholds", "blocking", "accuracy", "rules", "metric", "threshold", "metrics", "name", "formula", "composite"]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["≥ 90%", "accuracy", "f1 / 2", "final_score ≥ 0.5", *KEYS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner),
    max_leaves=12,
)
top_level = st.dictionaries(
    st.sampled_from(
        [
            *KEYS,
            "risk",
            "progressive",
            "weights",
            "slices",
            "suite",
            "baseline",
            "confidence",
            "pass_criteria",
            "positive",
        ]
    ),
    values,
    max_size=4,
)


def read_or_problems(read, *arguments):
    try:
        return read(*arguments)
    except InputError as error:
        return error.problems or pytest.fail("an error without a problem")


@given(top_level)
def test_no_dict_raises_anything_but_its_problems(content):
    read_or_problems(policy.read_dict, content)


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_its_problems(text):
    text = text.encode("utf-8", "replace").decode()
    read_or_problems(json_tree.parse_json, text, "x")
    read_or_problems(tree.parse_yaml, text, "x")


@given(
    st.lists(
        st.sampled_from(
            ["a", ": ", "\n", " ", "- ", "[", "]", "{", "}", ", ", ">", ">= 9", "|", "&x", "*x", "!", "#", '"', "'"]
        ),
        max_size=30,
    )
)
def test_no_shuffle_of_yaml_raises_anything_but_its_problems(pieces):
    read_or_problems(tree.parse_yaml, "".join(pieces), "x")
