"""The fixture `behaviors`: what a test records becomes columns of its row, and misuse is an error of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar
from highbar.pytest_plugin.recording import Behaviors
from tests.unit.pytest_plugin.sessions import run

ALL = """
@pytest.mark.scenario(id="A", expected_behaviors=["greets", "cites"], must_not=["swears", "leaks"], expected="refund")
def test_one(behaviors):
    behaviors.input("Hello?")
    behaviors.output("Hello! See section 3.")
    behaviors.observed("greets")
    behaviors.observed("cites", False)
    behaviors.observed("thanks")
    behaviors.violated("swears", False)
    behaviors.violated("leaks")
    behaviors.correct(True)
    behaviors.predicted("refund")
    behaviors.latency_ms(12.5)
    behaviors.tokens_used(40)
    behaviors.cost_usd(0.002)
    behaviors.quality_score(0.75)
    behaviors.column("stars", 4)
    behaviors.column("agent_version", "2.1")
"""


def test_everything_that_a_test_records_is_in_its_row(tmp_path: Path) -> None:
    assert run(tmp_path, ALL).rows == [
        {
            "id": "A",
            "trial": 1,
            "expected_behaviors": ["greets", "cites"],
            "must_not": ["swears", "leaks"],
            "expected": "refund",
            "test": "test_it.py::test_one",
            "input": "Hello?",
            "output": "Hello! See section 3.",
            "behaviors": {"greets": True, "cites": False, "thanks": True},
            "violations": ["leaks"],
            "correct": True,
            "predicted": "refund",
            "latency_ms": 12.5,
            "tokens_used": 40,
            "cost_usd": 0.002,
            "quality_score": 0.75,
            "stars": 4,
            "agent_version": "2.1",
        }
    ]


def judged(folder: Path, tests: str) -> tuple[str, ...]:
    """By scenario, in their order: passed, failed or undecided, as a check sees it."""
    done = run(folder, tests)
    verdict = highbar.check(done.file, {"thresholds": {"pass_rate": "100%"}}, list_scenarios=True)
    failed = {one.id for one in verdict.scenarios_failed}
    undecided = {one.id for one in verdict.scenarios_undecided}
    ids = dict.fromkeys(row["id"] for row in done.rows)
    return tuple("failed" if one in failed else "undecided" if one in undecided else "passed" for one in ids)


def test_a_test_that_passes_is_judged_by_what_it_was_to_look_for(tmp_path: Path) -> None:
    tests = """
marked = pytest.mark.scenario
@marked(expected_behaviors=["greets"])
def test_saw_it(behaviors): behaviors.observed("greets")
@marked(expected_behaviors=["greets"])
def test_saw_nothing(behaviors): pass
@marked(expected_behaviors=["greets"])
def test_did_not_look(): pass
@marked(must_not=["swears"])
def test_did_not_look_for_a_violation(): pass
@marked(must_not=["swears"])
def test_saw_a_violation(behaviors): behaviors.violated("swears")
@marked(must_not=["swears"])
def test_observed_what_must_not_happen(behaviors): behaviors.observed("swears")
@marked(must_not=["swears"])
def test_saw_no_violation(behaviors): behaviors.violated("swears", False); behaviors.output("fine")
@marked(must_not=["swears"])
def test_saw_no_violation_and_recorded_no_output(behaviors): behaviors.violated("swears", False)
@marked(must_not=["swears"])
def test_saw_no_violation_since_nothing_was_said(behaviors): behaviors.violated("swears", False); behaviors.output(" ")
@marked(must_not=["swears"])
def test_never_looked(behaviors): behaviors.output("fine")
@marked(must_not=["swears", "leaks"])
def test_looked_for_one_of_two(behaviors): behaviors.violated("swears", False); behaviors.output("fine")
@marked(expected="refund")
def test_predicted(behaviors): behaviors.predicted("refund")
@marked(expected="refund")
def test_predicted_nothing(behaviors): pass
def test_wrong(behaviors): behaviors.correct(False)
def test_measured_only(behaviors): behaviors.latency_ms(3)
@marked(expected_behaviors=[], must_not=[])
def test_is_to_look_for_nothing(): pass
"""
    assert judged(tmp_path, tests) == (
        "passed", "failed", "undecided", "undecided", "failed", "failed", "passed", "passed", "undecided", "undecided",
        "undecided", "passed", "failed", "failed", "passed", "passed",
    )  # fmt: skip


def test_what_was_recorded_counts_although_the_test_fails_later(tmp_path: Path) -> None:
    tests = """
@pytest.mark.scenario(expected_behaviors=["greets"], must_not=["swears"])
def test_one(behaviors):
    behaviors.observed("greets")
    behaviors.violated("swears")
    behaviors.latency_ms(7)
    raise {error}
"""
    for error in ("AssertionError", "RuntimeError('boom')"):
        row = run(tmp_path, tests.replace("{error}", error)).rows[0]
        assert (row["violations"], row["latency_ms"], row["passed"]) == (["swears"], 7, False)


EARLY = """
def test_slow(behaviors):
    {line}
    behaviors.latency_ms(90_000)
def test_quick(behaviors): behaviors.latency_ms(10)
"""


def test_a_test_that_fails_early_leaves_open_what_it_did_not_record(tmp_path: Path) -> None:
    """Otherwise a slow scenario would leave the percentiles if its test failed before it recorded the latency."""
    policy = {"thresholds": {"latency_p95": "< 5000ms"}}
    found = {}
    for line in ("pass", "assert False", "pytest.skip('later')", "raise RuntimeError"):
        done = run(tmp_path, EARLY.replace("{line}", line))
        found[line] = highbar.check(done.file, policy).verdict
    assert found == dict(zip(found, ("fail", "inconclusive", "inconclusive", "fail"), strict=True))


def test_texts_that_a_test_did_not_record_leave_nothing_open(tmp_path: Path) -> None:
    tests = """
def test_one(behaviors):
    assert False
    behaviors.output("never")
def test_two(behaviors): behaviors.output("hello")
"""
    assert "unjudged" not in run(tmp_path, tests).row("test_it.py::test_one")


def test_a_violation_that_was_not_reached_does_not_raise_the_coverage(tmp_path: Path) -> None:
    """A violation makes the score 0, whatever was observed."""
    tests = """
@pytest.mark.scenario(expected_behaviors=["greets"], must_not=["swears"])
def test_one(behaviors):
    behaviors.observed("greets")
    {line}
    behaviors.violated("swears")
"""
    policy = {"thresholds": {"behavior_coverage": "50%"}}
    found = [
        highbar.check(run(tmp_path, tests.replace("{line}", line)).file, policy).verdict
        for line in ("pass", "assert False", "pytest.skip('later')", "raise OSError")
    ]
    assert found == ["fail", "inconclusive", "inconclusive", "fail"]


def test_a_violation_that_was_not_reached_does_not_leave_the_coverage(tmp_path: Path) -> None:
    """Nor if nothing is expected of the scenario."""
    tests = """
@pytest.mark.scenario(expected_behaviors=["greets", "cites"])
def test_one(behaviors): behaviors.observed("greets")
@pytest.mark.scenario(must_not=["swears"])
def test_two(behaviors):
    {line}
    behaviors.violated("swears")
"""
    policy = {"thresholds": {"behavior_coverage": "50%"}}
    for line in ("pass", "assert False", "raise OSError"):
        assert highbar.check(run(tmp_path, tests.replace("{line}", line)).file, policy).verdict != "pass", line


VIOLATION_RATE = {"thresholds": {"violation_rate": "<= 0%"}}
FORBIDDEN = """
import functools, pytest
def helper(behaviors): behaviors.violated("swears")
@pytest.fixture
def agent(behaviors): return lambda: behaviors.violated("swears")
def decorated(function):
    @functools.wraps(function)
    def inner(*arguments, **named):
        # Below the last line of the test, counted
        # from the first line of each: what a
        # traceback says about this function
        # does not hold for the one inside,
        # which records and asserts in lines
        # of its own.
        #
        #
        return function(*arguments, **named)
    return inner
{decorator}
@pytest.mark.scenario(must_not=["swears"], expected_behaviors=["greets"])
def test_one(behaviors{more}):
    reply = "hello"
    {line}
def test_two(): pass
"""
BODIES = {
    "behaviors.violated('swears', not reply)\n    assert not reply": "pass",
    "behaviors.output(reply)\n    assert not reply": "inconclusive",  # it never looked
    "if not reply:\n        behaviors.violated(\n            'swears')\n    assert not reply": "inconclusive",
    "behaviors.violated('swears', False)\n    assert not reply\n    behaviors.output(reply)": "pass",  # it looked
    "behaviors.violated('swears')\n    assert not reply": "fail",
    "behaviors.observed('swears')\n    assert not reply\n    behaviors.output(reply)": "fail",
    "behaviors.violated('swears', False)\n    raise OSError": "pass",
    "behaviors.violated('swears', False)\n    pytest.skip('later')": "pass",
    "behaviors.output(reply)\n    raise OSError": "inconclusive",
    "behaviors.output(reply)\n    pytest.skip('later')": "inconclusive",
    "assert not reply\n    behaviors.violated('swears')": "inconclusive",
    "raise OSError\n    behaviors.violated('swears')": "inconclusive",
    "behaviors.violated('swears', reply.index('damn') > 0)": "inconclusive",
    "pytest.skip('later')\n    behaviors.violated('swears')": "inconclusive",
    "for _ in range(2):\n        behaviors.output(reply)\n        assert not reply": "inconclusive",
    "recorder = behaviors\n    assert not reply\n    recorder.violated('swears')": "inconclusive",
    "saw = behaviors.violated\n    assert not reply\n    saw('swears')": "inconclusive",
    "helper(behaviors) if not reply else None\n    assert not reply": "inconclusive",
    "late = lambda: behaviors.violated('swears')\n    assert not reply\n    late()": "inconclusive",
}


def violated(folder: Path, line: str, decorator: str = "", more: str = "") -> str | None:
    """The verdict about violations if the body of a test is this."""
    tests = FORBIDDEN.replace("{line}", line).replace("{decorator}", decorator).replace("{more}", more)
    return highbar.check(run(folder, tests).file, VIOLATION_RATE).verdict


@pytest.mark.parametrize("line", BODIES)
def test_a_test_that_was_cut_short_has_not_shown_that_nothing_forbidden_happened(tmp_path: Path, line: str) -> None:
    assert violated(tmp_path, line) == BODIES[line]


def test_if_in_doubt_a_test_was_cut_short(tmp_path: Path) -> None:
    line = "behaviors.violated('swears', False)\n    assert not reply"

    def is_undecided(decorator: str = "", more: str = "") -> bool:
        tests = FORBIDDEN.replace("{line}", line).replace("{decorator}", decorator).replace("{more}", more)
        tests += "def test_three(behaviors): behaviors.latency_ms(3)\n"
        return "unjudged" in run(tmp_path, tests).row("test_it.py::test_one")

    assert not is_undecided()
    assert is_undecided(decorator="@decorated")
    assert is_undecided(more=", agent")


def test_a_test_without_the_fixture_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_one(): assert False\ndef test_two(behaviors): behaviors.latency_ms(3)")
    assert done.row("test_it.py::test_one") == {
        "id": "test_it.py::test_one",
        "trial": 1,
        "passed": False,
        "output": "AssertionError: assert False",
    }


def test_timing_measures_what_is_inside(tmp_path: Path) -> None:
    behaviors = Behaviors()
    with behaviors.timing():
        pass
    first = behaviors.columns["latency_ms"]
    assert first >= 0
    with behaviors.timing():
        sum(range(100_000))
    assert behaviors.columns["latency_ms"] > first


def test_a_time_that_did_not_come_to_its_end_is_none() -> None:
    behaviors = Behaviors()
    with pytest.raises(OSError, match="no agent"), behaviors.timing():
        raise OSError("no agent")
    assert "latency_ms" not in behaviors.columns


MISUSED = {
    "b.observed()": (TypeError, "missing 1 required positional argument"),
    "b.observed(3)": (TypeError, "behaviors.observed: found 3, wanted a name"),
    "b.observed(' ')": (TypeError, "behaviors.observed: found ' ', wanted a name"),
    "b.observed('greets', 'yes')": (TypeError, "behaviors.observed('greets', …): found 'yes', "),
    "b.observed('greets', 1)": (TypeError, "behaviors.observed('greets', …): found 1, "),
    "b.observed('greet')": (ValueError, "'greet' is not in the mark of this test; did you mean 'greets'?"),
    "b.violated('SWEARS')": (ValueError, "did you mean 'swears'?"),
    "b.observed('x'); b.observed('X')": (ValueError, "did you mean 'x'?"),
    "b.output(None)": (TypeError, "behaviors.output: found null, wanted text"),
    "b.output(b'x')": (TypeError, "wanted text"),
    "b.output('a'); b.output('b')": (ValueError, "behaviors.output: found 'b', and 'a' is recorded already"),
    "b.correct(1)": (TypeError, "behaviors.correct: found 1, "),
    "b.predicted(3)": (TypeError, "behaviors.predicted: found 3, wanted text, or true or false"),
    "b.latency_ms(-1)": (TypeError, "behaviors.latency_ms: found -1, "),
    "b.latency_ms(float('nan'))": (TypeError, "behaviors.latency_ms: found nan, "),
    "b.latency_ms('12')": (TypeError, "behaviors.latency_ms: found '12', "),
    "b.latency_ms = 3": (AttributeError, "read-only"),
    "b.latencyms(3)": (AttributeError, "no attribute 'latencyms'"),
    "b.tokens_used(1.5)": (TypeError, "behaviors.tokens_used: found 1.5, "),
    "b.cost_usd(-1)": (TypeError, "behaviors.cost_usd: found -1, "),
    "b.quality_score(80)": (TypeError, "behaviors.quality_score: found 80, "),
    "b.column('passed', True)": (ValueError, "passed is not recorded: the outcome of the test says it"),
    "b.column('violations', 1)": (ValueError, "violations is not recorded: call behaviors.violated(name)"),
    "b.column('category', 'x')": (ValueError, "category describes the scenario: write @pytest.mark.scenario(category="),
    "b.column('pased', True)": (ValueError, "'pased' is no column; did you mean 'passed'?"),
    "b.column('stars', None)": (TypeError, "wanted text, a number, or True or False"),
    "b.column('stars', float('inf'))": (TypeError, "wanted text, a number, or True or False"),
    "b.column('stars', 2**63)": (TypeError, "wanted text, a number, or True or False"),
    "b.column('stars', float('nan'))": (TypeError, "wanted text, a number, or True or False"),
    "b.column('', 1)": (TypeError, "behaviors.column: found '', wanted a name"),
    "b.latency_ms(1)\nwith b.timing(): pass": (ValueError, "latency_ms is recorded already"),
    "b.close(); b.observed('greets')": (RuntimeError, "the test that this belongs to has ended"),
}


@pytest.mark.parametrize("code", MISUSED)
def test_misuse_raises_a_clear_error(code: str) -> None:
    kind, message = MISUSED[code]
    with pytest.raises(kind) as caught:
        exec(code, {"b": Behaviors(["greets", "swears"])})  # noqa: S102 - the table above
    assert message in str(caught.value)


def test_saying_the_same_twice_is_no_misuse() -> None:
    behaviors = Behaviors(["greets"])
    behaviors.observed("greets")
    behaviors.observed("greets", False)  # in the next turn of a conversation
    behaviors.output("a")
    behaviors.output("a")
    assert behaviors.seen == ("greets",)


def test_misuse_is_an_error_of_the_test_with_and_without_rows(tmp_path: Path) -> None:
    tests = "def test_one(behaviors): behaviors.latency_ms('12')"
    assert "TypeError: behaviors.latency_ms" in run(tmp_path, tests).rows[0]["error"]
    assert run(tmp_path, tests, rows=False).exit == pytest.ExitCode.TESTS_FAILED


def test_what_comes_after_the_test_belongs_to_no_row(tmp_path: Path) -> None:
    tests = """
kept = []
def test_one(behaviors): kept.append(behaviors)
def test_two(): kept[0].observed("greets")
"""
    row = run(tmp_path, tests).row("test_it.py::test_two")
    assert row["error"] == "RuntimeError: behaviors: the test that this belongs to has ended"


def test_what_a_fixture_records_while_it_ends_is_in_the_row(tmp_path: Path) -> None:
    tests = """
@pytest.fixture
def agent(behaviors):
    yield
    behaviors.cost_usd(2)
def test_one(agent): pass
"""
    assert run(tmp_path, tests).rows[0]["cost_usd"] == 2


def test_a_fixture_of_the_project_with_the_same_name_is_the_one_that_counts(tmp_path: Path) -> None:
    tests = """
@pytest.fixture
def behaviors(): return "mine"
@pytest.mark.scenario(must_not=["swears"])
def test_one(behaviors): assert behaviors == "mine"
"""
    done = run(tmp_path, tests)
    assert done.exit == 0
    assert "violations" not in done.rows[0]
