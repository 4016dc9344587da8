"""The schema for editors knows what the reader knows."""

from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from highbar import policy
from highbar.errors import InputError
from highbar.policy import baseline, composite, metrics, reading, rules, settings
from highbar.policy.schema import schema

VALIDATOR = jsonschema.Draft202012Validator(schema())
EXAMPLE = Path(__file__).parents[3] / "examples" / "support-agent" / "highbar.yaml"


def keys(*path):
    node = schema()
    for step in path:
        node = node[step]
    return set(node["properties"])


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ((), reading.KEYS),
        (("properties", "thresholds", "anyOf", 0), rules.THRESHOLDS_KEYS),
        (("properties", "risk"), rules.RISK_KEYS),
        (("properties", "pass_criteria", "anyOf", 1), rules.PASS_CRITERIA_KEYS),
        (("properties", "required_scenarios", "anyOf", 1), rules.SCENARIOS_KEYS),
        (("properties", "optional_scenarios", "anyOf", 1), rules.SCENARIOS_KEYS),
        (("properties", "composite", "anyOf", 1), composite.COMPOSITE_KEYS),
        (("properties", "metrics", "items"), metrics.DEFINITION_KEYS),
        (("properties", "rules", "items", "anyOf", 1), rules.RULE_KEYS),
        (("properties", "baseline"), baseline.BASELINE_KEYS),
        (("properties", "weights"), settings.WEIGHT_KEYS),
        (("$defs", "threshold", "anyOf", 1), rules.THRESHOLD_KEYS),
    ],
)
def test_the_schema_has_the_keys_of_the_reader(path, read):
    assert keys(*path) == set(read)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_example_fits():
    jsonschema.validate(yaml.safe_load(EXAMPLE.read_text("utf-8")), schema())


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        {"treshold": {}},
        {"thresholds": {"bloking": {}}},
        {"thresholds": {"blocking": {"accuracy": None}}},
        {"thresholds": {"blocking": {"accuracy": {"treshold": "90%"}}}},
        {"rules": [{"metric": "accuracy", "threshold": "90%", "level": "blokcing"}]},
        {"rules": [{"metric": "accuracy"}]},
        {"metrics": [{"name": "my-own", "formula": "f1"}]},
        {"required_scenarios": {"ids": []}},
        {"evidence": "confidnt"},
    ],
)
def test_what_the_reader_refuses_by_form_the_schema_refuses_too(content):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema())


# --- every shape: the reader and the schema take the same ones --------------------------------

WRONG = st.sampled_from([None, True, [], {}, [None], ["≥ 5%"], {"description": 5}, [{}], [[1]]])
SHARE = st.sampled_from(
    ["90%", "≥ 90%", ">= 0.9", 90, 0.9, {"threshold": "90%"}, {"threshold": 90, "evidence": "confident"}]
)
TIME = st.sampled_from(["5s", "< 5000ms", 5000])
METRICS = {"accuracy": SHARE, "pass@3": SHARE, "pass_hat_2": SHARE, "latency_p90": TIME}
IDS = st.lists(st.sampled_from(["SEC-001", "CORE-*", 7]), min_size=0, max_size=3)


def sometimes_wrong(values):
    return st.one_of(values, values, values, WRONG)


def some_of(entries, *others):
    """A mapping with some of the keys, and perhaps one that does not belong there."""
    odd = {key: st.one_of(SHARE, st.just({"accuracy": "90%"}), WRONG) for key in others}
    if "bloking" in odd:  # a metric could have that name, and its threshold is then for the reader to refuse
        odd["bloking"] = st.just({"accuracy": "90%"})
    slots = {key: sometimes_wrong(values) for key, values in entries.items()} | odd
    return st.lists(st.sampled_from(list(slots)), max_size=3, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: slots[key] for key in keys})
    )


BY_METRIC = some_of(METRICS | {"description": st.just("x")})
SCENARIOS = st.one_of(IDS, some_of({"ids": IDS, "description": st.just("x")}, "id"), st.just("SEC-001"))
WRITTEN = st.sampled_from(
    [
        "accuracy >= 90%", "latency_p90<5s", "pass@3 ≥ 0.5", "  error_rate <= 2 %  ", "cost_per_pass <= $0.05",
        "cost_per_pass < 0.05 USD", "accuracy", "accuracy 90%", "90% <= accuracy", ">= 90%", "accuracy >= ninety",
        "accuracy >= 90% AND recall >= 90%", "accuracy => 90%", "accuracy >== 90%", "accuracy: 90%", "",
        "accuracy >= 90%; recall >= 90%", "accuracy >= $0.05 USD", "accuracy >= .9",
    ]
)  # fmt: skip
RULE = st.one_of(
    WRITTEN, some_of({"metric": st.just("accuracy"), "threshold": SHARE, "level": st.just("warning")}, "accuracy")
)
BLOCKS = {
    "thresholds": st.one_of(
        BY_METRIC,
        some_of({"blocking": BY_METRIC, "warning": BY_METRIC, "description": st.just("x")}, "accuracy", "bloking"),
    ),
    "risk": some_of({"high": BY_METRIC, "low": BY_METRIC}, "accuracy"),
    "pass_criteria": st.one_of(
        SHARE, some_of({"overall": SHARE, "by_category": some_of({"adversarial": SHARE})}, "adversarial")
    ),
    "required_scenarios": SCENARIOS,
    "rules": st.one_of(st.lists(RULE, max_size=3), RULE),
}


def takes(read, *arguments):
    try:
        read(*arguments)
    except (InputError, jsonschema.ValidationError):
        return False
    return True


@trials(max_examples=400, deadline=None)
@given(some_of(BLOCKS))
def test_the_reader_and_the_schema_take_the_same_shapes(content):
    content = {**content, "optional_scenarios": ["EDGE-001"]}  # so that there is a rule
    read = takes(policy.read_dict, content)
    assert read == takes(VALIDATOR.validate, content), f"the reader {'takes' if read else 'refuses'} {content}"
