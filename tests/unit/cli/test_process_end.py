"""The process ends at once after a command, and loses nothing by it: output, exit functions, threads and children."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.process


def ended(folder, program, *arguments, **options):
    """A process that runs the program."""
    return subprocess.run(
        [sys.executable, "-c", program, *(arguments or ("--version",))],
        cwd=folder,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
        **{"stdout": subprocess.PIPE, **options},
    )


def test_nothing_runs_after_the_entry_point(tmp_path):
    done = ended(tmp_path, "from highbar.cli import main; main(); print('and on')")
    assert done.returncode == 0
    assert b"and on" not in done.stdout


def test_the_exit_code_is_that_of_the_command(tmp_path):
    done = ended(tmp_path, "from highbar.cli import main; main(); print('and on')", "check", "absent.jsonl")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"absent.jsonl" in done.stderr


def test_a_long_report_is_written_to_its_end(tmp_path):
    (tmp_path / "results.jsonl").write_text("".join(f'{{"id": "S{at}", "passed": false}}\n' for at in range(5000)))
    (tmp_path / "highbar.yaml").write_text("thresholds: {blocking: {pass_rate: 80%}}\n")
    program = "from highbar.cli import main; main()"
    done = ended(tmp_path, program, "check", "results.jsonl", "--format", "junit")
    assert done.returncode == 1
    assert len(done.stdout) > 2**16  # more than a pipe takes at once
    assert done.stdout.rstrip().endswith(b"</testsuites>")


def test_exit_functions_run_once(tmp_path):
    program = "import atexit; atexit.register(print, 'ran'); from highbar.cli import main; main()"
    assert ended(tmp_path, program).stdout.splitlines()[1:] == [b"ran"]


def test_a_thread_that_python_waits_for_is_waited_for(tmp_path):
    program = (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('thread done'))).start()\n"
        "from highbar.cli import main\nmain()\n"
    )
    assert b"thread done" in ended(tmp_path, program).stdout


def test_a_daemon_thread_is_not_waited_for(tmp_path):
    program = (
        "import threading\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "from highbar.cli import main\nmain()\nprint('and on')\n"
    )
    done = ended(tmp_path, program)
    assert done.returncode == 0
    assert b"and on" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a child that is forked")
def test_a_child_process_that_python_waits_for_is_waited_for(tmp_path):
    program = (
        "import multiprocessing, time\n"
        "def work(): time.sleep(0.3); print('child done', flush=True)\n"
        "multiprocessing.get_context('fork').Process(target=work).start()\n"
        "from highbar.cli import main\nmain()\n"
    )
    assert b"child done" in ended(tmp_path, program).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a device of POSIX")
def test_what_cannot_be_flushed_ends_with_pythons_own_exit_code(tmp_path):
    program = "import sys; from highbar.cli import main; sys.stdout.write('lost'); sys.exit(main())"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        assert ended(tmp_path, program, "check", "absent.jsonl", stdout=full, env=buffered).returncode == 120


def test_closed_streams_do_not_change_the_exit_code(tmp_path):
    program = "import sys; from highbar.cli import main; sys.stdout = sys.stderr = None; sys.exit(main())"
    assert ended(tmp_path, program, "check", "absent.jsonl").returncode == 2


@pytest.mark.parametrize("tool", [["-m", "cProfile"], ["-m", "trace", "--count", "--missing", "-C", "counts"]])
def test_a_profiler_has_the_last_word(tmp_path, tool):
    command = [sys.executable, *tool, "--module" if "trace" in tool else "-m", "highbar", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert b"function calls" in done.stdout or any((tmp_path / "counts").iterdir())


def test_coverage_saves_its_data(tmp_path):
    command = [sys.executable, "-m", "coverage", "run", "--source=highbar.cli", "-m", "highbar", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / ".coverage").stat().st_size > 0, done.stderr


def test_an_interactive_session_goes_on(tmp_path):
    command = [sys.executable, "-i", "-c", "from highbar.cli import main; main()", "--version"]
    done = subprocess.run(command, cwd=tmp_path, input=b"print('and on')\n", capture_output=True, check=True)
    assert b"and on" in done.stdout
