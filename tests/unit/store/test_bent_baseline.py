"""A baseline that someone bent is read or refused; nothing else ever happens."""

from __future__ import annotations

import copy
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar.changes.scored_run import run_in
from highbar.changes.since import since
from highbar.errors import InputError
from highbar.policy import read_dict
from highbar.store.baseline_reading import parse_baseline
from highbar.store.baseline_text import render
from tests.unit.store.test_baseline import baselines

POLICY = read_dict({"baseline": {"file": "b", "margin": {"pass_rate": "1%"}}})
ODD = [None, True, False, 0, -1, 1.5, "", "1/3", "1/0", "-5/3", [], {}, [None], {"x": 1}, "\ud800", 10**50, -0.0]


def places(node, path=()):
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def bend(document, random: Random):
    """One value replaced, left out or doubled, somewhere."""
    bent = copy.deepcopy(document)
    path = random.choice([path for path in places(bent) if path])
    at = bent
    for key in path[:-1]:
        at = at[key]
    how = random.randrange(3)
    if how == 0:
        at[path[-1]] = random.choice(ODD)
    elif how == 1:
        del at[path[-1]]
    elif isinstance(at, dict):
        at[f"{path[-1]} too"] = at[path[-1]]
    return bent


@pytest.mark.slow
@settings(max_examples=60)
@given(baselines, st.integers(0, 2**32).map(Random))
def test_a_bent_baseline_is_read_or_refused(baseline, random):
    document = json.loads(render(baseline))
    for _ in range(random.randrange(1, 4)):
        document = bend(document, random)
        if not isinstance(document, dict) or not document:
            return
    try:
        found = parse_baseline(json.dumps(document).encode(), "baseline.json")
    except InputError:
        return
    render(found)
    since(POLICY, run_in(found), run_in(found)).difference("pass_rate")


@pytest.mark.slow
@settings(max_examples=30)
@given(baselines, st.data())
def test_a_baseline_that_is_cut_anywhere_is_refused(baseline, data):
    text = render(baseline).encode()
    cut = data.draw(st.integers(0, len(text) - 3))
    try:
        parse_baseline(text[:cut], "baseline.json")
    except InputError:
        return
    raise AssertionError(f"read {cut} of {len(text)} bytes")
