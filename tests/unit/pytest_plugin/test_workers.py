"""With pytest-xdist the workers send their rows, and the file is the same; a worker that dies hides nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import highbar
from tests.patience import PATIENCE, wait_for
from tests.unit.pytest_plugin.sessions import FILE, HALF, PLUGIN, run, start, write
from tests.unit.pytest_plugin.test_rows import ENDINGS, FLAKY, RERUN

pytestmark = pytest.mark.process

RECORDED = """
@pytest.mark.scenario(id="A", expected_behaviors=["greets"], must_not=["swears"])
@pytest.mark.parametrize("n", range(4))
def test_recorded(behaviors, n):
    behaviors.output("\\u2028 \\ud800" * n)
    behaviors.observed("greets", n > 1)
    behaviors.latency_ms(n)
@pytest.mark.xdist_group("together")
def test_grouped(): pass
"""
FILES = {"test_it.py": ENDINGS, "test_more.py": RECORDED, "test_flaky.py": FLAKY, "conftest.py": RERUN}
WORKERS = ("-p", "xdist", "-n", "2", "-o", "markers=xdist_group")


@pytest.mark.slow
def test_workers_write_the_same_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    alone = run(one, FILES, "-o", "markers=xdist_group")
    together = start(two, FILES, *WORKERS, "--dist", "loadgroup")
    assert (together.exit, alone.exit) == (1, 1)
    assert together.file.read_bytes() == alone.file.read_bytes()


def test_deselected_tests_and_wrong_marks_are_known_to_workers_too(tmp_path: Path) -> None:
    tests = "def test_one(): pass\ndef test_two(): pass"
    done = start(tmp_path, {"test_it.py": tests, "highbar.yaml": HALF}, *WORKERS, "-k", "nothing", "--highbar-check")
    assert [row["unjudged"] for row in done.rows] == ["not run: deselected"] * 2
    assert done.exit == 3
    wrong = "@pytest.mark.scenario(catgory='x')\ndef test_bad(): print('it ran')\ndef test_good(): print('it ran')"
    done = start(tmp_path, wrong, *WORKERS, "--highbar-check", "-rP")
    assert "catgory is no column; did you mean 'category'?" in done.out
    assert "it ran" not in done.out
    assert done.exit == 2


def test_a_worker_that_dies_is_an_error_of_its_test(tmp_path: Path) -> None:
    tests = "import os\ndef test_one(): pass\ndef test_two(): os._exit(0)\ndef test_three(): pass"
    done = start(tmp_path, {"test_it.py": tests, "highbar.yaml": HALF}, *WORKERS, "--highbar-check")
    assert [row.get("passed") for row in done.rows] == [True, False, True]
    assert "crashed while running 'test_it.py::test_two'" in done.rows[1]["error"]
    assert done.exit == 0


def test_stopping_workers_at_a_failure_leaves_the_rest_undecided(tmp_path: Path) -> None:
    tests = "def test_0(): assert False\n" + "".join(f"def test_{number}(): pass\n" for number in range(1, 10))
    done = start(tmp_path, {"test_it.py": tests, "highbar.yaml": HALF}, *WORKERS, "--highbar-check", "-x")
    assert done.exit == pytest.ExitCode.INTERRUPTED
    assert len(done.rows) == 10
    assert done.rows[1]["unjudged"].startswith("not run: ")  # the worker of the first test had it in its queue


FORKED = """
import json, os
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):  # as pytest-forked does it: only the reports come back
    hook, (reading, writing) = item.config.hook, os.pipe()
    child = os.fork()
    if not child:
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        sent = [hook.pytest_report_to_serializable(config=item.config, report=report) for report in reports]
        os.write(writing, json.dumps(sent).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    for data in json.loads(os.read(reading, 60_000)):
        hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=item.config, data=data))
    return True
"""


def test_a_test_in_a_process_of_its_own_sends_its_row_with_its_reports(tmp_path: Path) -> None:
    tests = "def test_one(behaviors): behaviors.latency_ms(3)\ndef test_two(): assert False"
    done = start(tmp_path, {"test_it.py": tests, "conftest.py": FORKED})
    assert [(row["passed"], row.get("latency_ms")) for row in done.rows] == [(True, 3), (False, None)]
    assert done.exit == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGTERM])
def test_a_session_that_is_killed_leaves_no_results(tmp_path: Path, killed_by: signal.Signals) -> None:
    write(tmp_path, {"test_it.py": "import time\ndef test_one(): open('begun', 'w')\ndef test_two(): time.sleep(600)"})
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN, "--highbar", FILE]
    run(tmp_path, {"test_other.py": "def test_other(): pass"}, "test_other.py")
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for((tmp_path / "begun").exists, "the first test ran")
        process.send_signal(killed_by)
        process.wait(timeout=PATIENCE)
    with pytest.raises(highbar.InputError, match="found 'incomplete: the pytest session has not ended'"):
        highbar.check(tmp_path / FILE, {"thresholds": {"pass_rate": "1%"}})


def test_a_project_that_does_not_ask_for_highbar_loads_the_standard_library_alone(tmp_path: Path) -> None:
    program = (
        "import sys, pytest\n"
        "code = pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'highbar.pytest_plugin'])\n"
        "loaded = sorted(name for name in sys.modules if name.startswith(('highbar', 'msgspec')))\n"
        "print(int(code), *loaded)\n"
    )
    write(tmp_path, {"test_it.py": "def test_one(): pass"})
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 highbar highbar.pytest_plugin"
