"""The schema for editors knows what the reader knows."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from highbar.policy import baseline, composite, metrics, reading, rules, settings
from highbar.policy.schema import schema

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
        (("properties", "thresholds"), rules.THRESHOLDS_KEYS),
        (("properties", "risk"), rules.RISK_KEYS),
        (("properties", "pass_criteria"), rules.PASS_CRITERIA_KEYS),
        (("properties", "required_scenarios"), rules.SCENARIOS_KEYS),
        (("properties", "optional_scenarios"), rules.SCENARIOS_KEYS),
        (("properties", "composite", "anyOf", 1), composite.COMPOSITE_KEYS),
        (("properties", "metrics", "items"), metrics.DEFINITION_KEYS),
        (("properties", "rules", "items"), rules.RULE_KEYS),
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
