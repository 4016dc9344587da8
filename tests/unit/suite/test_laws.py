"""Reading never raises anything but InputError, and the fast way and the slow way read the same."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highbar import suite
from highbar.documents.scalars import as_written
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


TEXTS = st.one_of(st.text(max_size=8), st.integers(-5, 5), st.sampled_from(["1.50", " a ", "true"]))
FIXED = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("category", "capability", "cluster"), TEXTS),
        "weight": st.sampled_from([2, 2.5, "2.50", "1.0", 100]),
        "tags": st.dictionaries(st.sampled_from(["locale", "tier"]), TEXTS),
        **dict.fromkeys(("team", "note"), st.one_of(TEXTS, st.booleans())),
    },
)


@quiet
@given(FIXED, FIXED)
def test_a_run_writes_the_columns_that_a_policy_compares(tmp_path, own, defaults):
    defaults = {key: value for key, value in defaults.items() if key not in ("team", "note")}
    scenario = {"id": "A", "input": "Hi", "expected": True, **own}
    (tmp_path / "suite.json").write_text(json.dumps({"defaults": defaults, "scenarios": [scenario]}), "utf-8")
    try:
        row = suite.read(tmp_path / "suite.json").scenarios["A"].row
    except InputError:
        return
    tags = {f"tags.{name}": text for name, text in row.pop("tags", {}).items()}
    written = {column: as_written(value) for column, value in {**row, **tags}.items() if column not in ("id", "input")}
    fixed = dict(suite.read_fixed(tmp_path / "suite.json").scenarios["A"])
    weights = [columns.pop("weight", "1") for columns in (written, fixed)]
    assert Decimal(weights[0]) == Decimal(weights[1])
    assert {column: text for column, text in written.items() if text is not None} == fixed


@pytest.mark.parametrize("at", range(0, len(LIBRARY), 97))
def test_a_suite_that_ends_too_early_is_read_or_refused(tmp_path, at):
    only_refused(tmp_path, "s.yaml", LIBRARY[:at].encode())
