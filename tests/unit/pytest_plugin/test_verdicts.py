"""`--highbar-check`: the verdict is the exit code, and nothing else ends with 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.pytest_plugin.sessions import FILE, HALF, run

MIXED = """
@pytest.mark.scenario(category="happy_path")
def test_one(): pass
@pytest.mark.scenario(category="happy_path")
def test_two(): assert {two}
"""
STRICT = "thresholds: { blocking: { pass_rate: 100% } }\n"
CONFIDENT = "evidence: confident\n" + HALF


def judged(folder: Path, policy: str, tests: str, *options: str, **files: str):
    named = {f"{name}.py": text for name, text in files.items()}
    return run(folder, {"highbar.yaml": policy, "test_it.py": tests, **named}, "--highbar-check", *options)


@pytest.mark.parametrize(
    ("policy", "two", "code", "word"),
    [(STRICT, True, 0, "PASS"), (STRICT, False, 1, "FAIL"), (HALF, False, 0, "PASS"), (CONFIDENT, True, 3, "INCONC")],
)
def test_the_verdict_is_the_exit_code(tmp_path: Path, policy: str, two: bool, code: int, word: str) -> None:
    done = judged(tmp_path, policy, MIXED.replace("{two}", str(two)))
    assert done.exit == code
    assert f"\n{word}" in done.out
    assert len(done.rows) == 2


def test_the_summary_says_that_failures_are_tolerated(tmp_path: Path) -> None:
    done = judged(tmp_path, HALF, MIXED.replace("{two}", "False"))
    assert "1 failure within what the policy tolerates: the exit code is the verdict's" in done.out
    assert "1 failed, 1 passed" in done.out


def test_without_the_option_the_exit_code_is_that_of_pytest(tmp_path: Path) -> None:
    done = run(tmp_path, {"highbar.yaml": HALF, "test_it.py": MIXED.replace("{two}", "False")})
    assert done.exit == pytest.ExitCode.TESTS_FAILED
    assert "PASS" not in done.out


def test_rows_can_be_judged_without_being_kept(tmp_path: Path) -> None:
    files = {"highbar.yaml": STRICT, "test_it.py": MIXED.replace("{two}", "False")}
    done = run(tmp_path, files, "--highbar-check", rows=False)
    assert done.exit == 1
    assert not done.file.exists()


def test_a_policy_can_be_named(tmp_path: Path) -> None:
    files = {"other.yaml": STRICT, "highbar.yaml": HALF, "test_it.py": MIXED.replace("{two}", "False")}
    assert run(tmp_path, files, "--highbar-check").exit == 0
    assert run(tmp_path, files, "--highbar-check", "--highbar-policy", "other.yaml").exit == 1
    assert run(tmp_path, files, "--highbar-check", "--highbar-policy", "typical").exit == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--highbar-check",), ("--highbar-check: ", "[policy.missing]")),
        (("--highbar-check", "--highbar-policy", "nowhere.yaml"), ("nowhere.yaml: ", "[file.missing]")),
        (("--highbar-check", "--highbar-policy", "bad.yaml"), ("bad.yaml:1", "[policy.unknown-metric]")),
        (("--highbar-policy", "bad.yaml"), ("--highbar-policy goes with --highbar-check",)),
    ],
)
def test_a_policy_that_cannot_judge_is_refused_before_any_test(tmp_path: Path, options, said: tuple[str, ...]) -> None:
    files = {"bad.yaml": "thresholds: { pass_rte: 3 }\n", "test_it.py": "def test_one(): print('it ran')"}
    done = run(tmp_path, files, "-s", *options)
    assert done.exit == pytest.ExitCode.USAGE_ERROR
    assert [part for part in said if part not in done.out] == []
    assert "it ran" not in done.out


def test_the_policy_is_the_one_that_there_was_before_the_tests(tmp_path: Path) -> None:
    """Neither a test that changes the folder nor one that rewrites the policy moves the bar."""
    tests = f"""
import os, pathlib
def test_one(): assert False
def test_two():
    pathlib.Path("highbar.yaml").write_text({HALF!r})
    os.mkdir("inner")
    os.chdir("inner")
    pathlib.Path("highbar.yaml").write_text({HALF!r})
"""
    assert judged(tmp_path, STRICT, tests).exit == 1


PLAIN_FAILURE = """
@pytest.mark.scenario
def test_scenario(): pass
def test_unit(): assert {unit}
"""


def test_a_failure_of_a_test_that_is_no_scenario_is_never_tolerated(tmp_path: Path) -> None:
    done = judged(tmp_path, HALF, PLAIN_FAILURE.replace("{unit}", "False"))
    assert done.exit == 1
    assert "\nPASS" in done.out
    assert "1 failure of tests that are no scenarios, which the policy does not judge" in done.out
    assert "1 test without @pytest.mark.scenario: -m scenario leaves them out" in done.out
    assert judged(tmp_path, HALF, PLAIN_FAILURE.replace("{unit}", "True")).exit == 0


def test_a_session_without_any_scenario_is_judged_as_a_whole(tmp_path: Path) -> None:
    assert judged(tmp_path, HALF, "def test_one(): pass\ndef test_two(): assert False").exit == 0


COUNTS_A_FAILURE = """
@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    result = yield
    session.testsfailed += 1
    return result
"""
ENDS = {
    "an error during collection": ("test_other", "import nowhere", (), 2),
    "an error during collection that is passed over": (
        "test_other", "import nowhere", ("--continue-on-collection-errors",), 2,
    ),
    "a wrong mark": ("test_other", "@pytest.mark.scenario(3)\ndef test_a(): pass", (), 2),
    "an internal error": ("conftest", "def pytest_runtest_logstart(nodeid): raise OSError", (), 4),
    "an internal error during collection": ("conftest", "def pytest_collection_modifyitems(items): 1 / 0", (), 4),
    "a broken conftest.py": ("conftest", "1 / 0", (), 4),
    "a usage error": ("test_other", "", ("nowhere.py",), 4),
    "an unknown option": ("test_other", "", ("--unknown",), 4),
    "Ctrl-C": ("test_other", "def test_a(): raise KeyboardInterrupt", (), 2),
    "an exit": ("test_other", "def test_a(): pytest.exit('enough', returncode=0)", (), 2),
    "an exit of its own": ("test_other", "def test_a(): pytest.exit('enough', returncode=7)", (), 7),
    "nothing chosen": ("test_other", "", ("-k", "nothing"), 3),
    "only collected": ("test_other", "", ("--collect-only",), 2),
    "only set up": ("test_other", "", ("--setup-only",), 3),
    "stopped at a failure": ("test_a", "def test_a(): assert False", ("-x",), 1),
    "a plugin that fails the session": (
        "conftest", "def pytest_sessionfinish(session): session.exitstatus = 9", (), 9,
    ),
    "a plugin that counts a failure": ("conftest", COUNTS_A_FAILURE, (), 1),
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_only_a_pass_of_a_sound_session_ends_with_0(tmp_path: Path, how: str) -> None:
    name, text, options, code = ENDS[how]
    done = judged(tmp_path, STRICT, MIXED.replace("{two}", "True"), *options, **{name: text})
    assert done.exit == code, done.out


def test_a_session_without_tests_has_nothing_to_judge(tmp_path: Path) -> None:
    done = judged(tmp_path, HALF, "")
    assert done.exit == 2
    assert "NO VERDICT" in done.out


def test_a_policy_that_tolerates_everything_does_not_pass_a_session_that_ran_nothing(tmp_path: Path) -> None:
    lenient = "thresholds: { blocking: { pass_rate: ≥ 0% } }\n"
    assert judged(tmp_path, lenient, "def test_one(): pass", "-k", "nothing").exit == 2


def test_a_plugin_cannot_take_back_a_failure(tmp_path: Path) -> None:
    tests = PLAIN_FAILURE.replace("{unit}", "False")
    forgives = "def pytest_sessionfinish(session): session.exitstatus = 0"
    assert judged(tmp_path, HALF, tests, conftest=forgives).exit == 1


def test_results_that_cannot_be_written_are_no_success(tmp_path: Path) -> None:
    tests = f"""
import pathlib, shutil
def test_one():
    pathlib.Path({FILE!r}).unlink()
    pathlib.Path({FILE!r}).mkdir()
"""
    done = judged(tmp_path, HALF, tests)
    assert done.exit == 4
    assert f"{FILE} could not be written" in done.out


WARNS = """
import builtins, warnings
real = builtins.__import__
def warning(name, *arguments, **named):
    if name == "highbar": warnings.warn("old", DeprecationWarning)
    return real(name, *arguments, **named)
def pytest_runtestloop(): builtins.__import__ = warning
def pytest_unconfigure(): builtins.__import__ = real
"""


def test_warnings_that_are_errors_are_about_the_tests_alone(tmp_path: Path) -> None:
    assert judged(tmp_path, HALF, "def test_one(): pass", "-W", "error", conftest=WARNS).exit == 0


@pytest.mark.parametrize("hook", ["pytest_sessionfinish(session)", "pytest_terminal_summary()"])
@pytest.mark.parametrize(("tests", "code"), [("def test_one(): assert False", 1), ("def test_one(): pass", 7)])
def test_a_plugin_that_ends_the_session_does_not_hide_a_fail(tmp_path: Path, hook: str, tests: str, code: int) -> None:
    leaves = f"import pytest\ndef {hook}: pytest.exit('enough', returncode={0 if code == 1 else 7})"
    assert judged(tmp_path, STRICT, tests, conftest=leaves).exit == code


def test_terminal_codes_in_reports_are_made_visible(tmp_path: Path) -> None:
    tests = r"def test_one(): raise RuntimeError('\x1b[2J')"
    done = judged(tmp_path, STRICT, tests, "--tb=no", "--no-summary", "--color=no")
    assert done.exit == 1
    assert "\x1b" not in judged(tmp_path, STRICT, tests, "--tb=no", "-rN", "--color=no").out


def test_the_report_is_printed_with_more_words_if_pytest_is_verbose(tmp_path: Path) -> None:
    short = judged(tmp_path, STRICT, "def test_one(): pass").out
    assert len(judged(tmp_path, STRICT, "def test_one(): pass", "-v").out) > len(short) + 300
