"""Reading never raises anything but InputError, and the fast way and the slow way read the same."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highbar import suite
from highbar.errors import InputError
from highbar.suite.decoding import NotPlain, decode
from highbar.suite.located import locate
from tests.unit.suite.test_reading import LIBRARY

KEYS = st.sampled_from(
    ["id", "input", "turns", "messages", "answer", "expected", "expected_behaviors", "must_not", "predict", "trials",
     "timeout", "weight", "cluster", "tags", "defaults", "scenarios", "suite", "agent", "judge", "run", "behaviors",
     "python", "http", "command", "body", "headers", "key", "contains", "matches", "calls", "any", "not", "role",
     "content", "budget", "json", "words", "is_json", "x"]
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=8),
    st.sampled_from(["refuses", "60s", "$5", "a:b", "https://x.test", "${K}", "{input}", "/a", "user", "(", ".*"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)
FORMATS = ["yaml", "json", "jsonl", "csv", "txt"]
quiet = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def only_refused(folder: Any, name: str, data: bytes) -> None:
    for reader in (suite.read, suite.read_fixed):
        (folder / name).write_bytes(data)
        with contextlib.suppress(InputError):
            reader(folder / name)


@quiet
@given(VALUES, st.sampled_from(["yaml", "json"]))
def test_any_values_are_read_or_refused(tmp_path, value, kind):
    text = json.dumps(value) if kind == "json" else yaml.safe_dump(value)
    only_refused(tmp_path, f"s.{kind}", text.encode())


@quiet
@given(VALUES)
def test_any_values_of_python_are_read_or_refused(value):
    with contextlib.suppress(InputError):
        suite.read_values(value)


@quiet
@given(st.one_of(st.text(), st.text(alphabet="-:[]{}'\"&*!?|>#,\n \\ab0.")), st.sampled_from(FORMATS))
def test_any_text_is_read_or_refused(tmp_path, text, kind):
    only_refused(tmp_path, f"s.{kind}", text.encode("utf-8", "surrogatepass"))


@quiet
@given(st.data())
def test_a_damaged_suite_is_read_or_refused(tmp_path, data):
    text = LIBRARY
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text = text[:start] + data.draw(st.text(alphabet="-:[]{}'\"\n ab0", max_size=3)) + text[end:]
    only_refused(tmp_path, "s.yaml", text.encode())


@quiet
@given(VALUES, st.sampled_from(["yaml", "json"]))
def test_the_fast_way_and_the_slow_way_read_the_same(value, kind):
    text = json.dumps(value) if kind == "json" else yaml.safe_dump(value, allow_unicode=True)
    try:
        fast = decode(text, kind)
    except NotPlain:
        return
    found = locate(text, kind, "s")
    assert found.problems == ()
    assert fast == found.values
    assert str(fast) == str(found.values)


@pytest.mark.parametrize("at", range(0, len(LIBRARY), 97))
def test_a_suite_that_ends_too_early_is_read_or_refused(tmp_path, at):
    only_refused(tmp_path, "s.yaml", LIBRARY[:at].encode())
