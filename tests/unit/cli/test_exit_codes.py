"""Only a verdict ever exits 0, 1 or 3: each other end of a run, through the real command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from highbar.errors import Problem
from highbar.report import REPORTERS
from tests.commandline import run, wait_until_read
from tests.patience import PATIENCE

PASSING = '{"id": "A", "passed": true, "category": "adversarial"}\n'
FAILING = '{"id": "A", "passed": false, "category": "adversarial"}\n'
BLOCKING = "thresholds: {blocking: {pass_rate: 80%}}\n"
WARNING = "thresholds: {warning: {pass_rate: 80%}}\n"
UNSURE = "rules: [{metric: pass_rate, threshold: ≥ 80%, min_scenarios: 30}]\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "results.jsonl").write_text(PASSING)
    (tmp_path / "highbar.yaml").write_text(BLOCKING)
    return tmp_path


def process(folder, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "highbar", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize(
    ("results", "policy", "arguments", "code", "word"),
    [
        (PASSING, BLOCKING, [], 0, "PASS"),
        (FAILING, BLOCKING, [], 1, "FAIL"),
        (PASSING, UNSURE, [], 3, "INCONCLUSIVE"),
        (FAILING, WARNING, [], 0, "PASS"),
        (FAILING, WARNING, ["--strict"], 1, "PASS"),
        (PASSING, WARNING, ["--strict"], 0, "PASS"),
        (PASSING, UNSURE, ["--strict"], 3, "INCONCLUSIVE"),
    ],
)
def test_a_verdict_has_its_exit_code(tmp_path, results, policy, arguments, code, word):
    (tmp_path / "results.jsonl").write_text(results)
    (tmp_path / "highbar.yaml").write_text(policy, "utf-8")
    done = run(tmp_path, "check", "results.jsonl", *arguments)
    assert done.exit == code, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith(f"{word}: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["chekc", "results.jsonl"],
        ["check", "results.jsonl", "--no-such-option"],
        ["check", "results.jsonl", "--format", "yaml"],
        ["check", "results.jsonl", "--output", "verdict.xyz"],
        ["check", "results.jsonl", "--output", "pdf=verdict.pdf"],
        ["check", "results.jsonl", "--output", "json="],
        ["check", "results.jsonl", "--output", "json=results.jsonl"],
        ["check", "results.jsonl", "--output", "a.json", "--output", "json=./a.json"],
        ["check", "missing.jsonl"],
        ["check", "results.jsonl", "--policy", "missing.yaml"],
        ["policy", "missing.yaml"],
        ["schema", "report"],
        ["completion", "tcsh"],
    ],
)
def test_what_cannot_be_judged_exits_2_and_prints_no_verdict(project, arguments):
    done = run(project, *arguments)
    assert done.exit == 2
    assert done.stdout == b""
    assert done.stderr
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "arguments", [["missing.jsonl"], [], ["results.jsonl", "--no-such-option"], ["results.jsonl", "--output", "x.y"]]
)
@pytest.mark.parametrize("spelled", [["--format", "json"], ["--format=json"]])
def test_problems_are_json_on_standard_output_where_json_was_asked_for(project, arguments, spelled):
    done = run(project, "check", *spelled, *arguments)
    assert done.exit == 2
    assert done.stderr == b""
    assert done.json["verdict"] is None
    assert done.json["problems"][0]["message"]


def test_problems_have_their_place_and_their_hint_on_a_line_of_its_own(project):
    (project / "results.jsonl").write_text(PASSING + '{"id": "B", "pased": true}\n')
    done = run(project, "check", "results.jsonl")
    assert done.exit == 2
    place, hint = done.err.splitlines()[:2]
    assert place.startswith("results.jsonl:")
    assert hint.startswith("hint: ")


@pytest.mark.hazard("H77")
def test_a_report_that_cannot_be_written_exits_4_and_the_verdict_is_still_printed(project):
    done = run(project, "check", "results.jsonl", "--output", "missing/verdict.json", "--output", "verdict.json")
    assert done.exit == 4
    assert done.out.startswith("PASS: ")
    assert "missing/verdict.json could not be written" in done.err
    assert json.loads((project / "verdict.json").read_text())["verdict"] == "pass"


@pytest.mark.process
@pytest.mark.hazard("H78")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")  # noqa: PTH110
def test_a_full_disk_exits_4(project):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "highbar", "check", "results.jsonl"],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 4
    assert b"could not be written" in done.stderr
    assert b"Traceback" not in done.stderr
    assert run(project, "check", "results.jsonl", "--output", "json=/dev/full").exit == 4


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently there")
def test_a_broken_pipe_exits_4(project):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "highbar", "check", "results.jsonl", "--output", "verdict.json"],
        cwd=project,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 4
    assert b"Exception ignored" not in done.stderr
    assert json.loads((project / "verdict.json").read_text())["verdict"] == "pass"


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the stream")
def test_a_closed_standard_output_exits_4(project):
    closing = f"'{sys.executable}' -m highbar check results.jsonl >&-"
    done = subprocess.run(["sh", "-c", closing], cwd=project, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4
    assert b"standard output is closed" in done.stderr


@pytest.mark.process
@pytest.mark.hazard("H71")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_exits_with_its_own_code(project, number, code):
    child = process(project, "check", "-", "--input-format", "jsonl", stdin=subprocess.PIPE)
    try:
        child.stdin.write(PASSING.encode())
        child.stdin.flush()
        wait_until_read(child)
        child.send_signal(number)
        out, err = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    assert child.returncode == code, err
    assert out == b""
    assert b"Traceback" not in err


@pytest.mark.process
def test_an_internal_error_exits_4_with_one_line(project):
    program = (
        "import sys, highbar.pipeline, highbar.cli\n"
        "def check(*arguments, **options): raise ValueError('no more \\x1b[31m')\n"
        "highbar.pipeline.check_result = check\n"
        "sys.exit(highbar.cli.run_guarded(['check', 'results.jsonl']))\n"
    )
    for debug, traced in (("", False), ("1", True)):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=project,
            capture_output=True,
            check=False,
            env={**os.environ, "HIGHBAR_DEBUG": debug},
        )
        assert done.returncode == 4
        assert done.stdout == b""
        assert (b"Traceback" in done.stderr) == traced
        assert rb"internal error: ValueError: no more \x1b[31m" in done.stderr.splitlines()[-1]


@pytest.mark.process
@pytest.mark.parametrize("wrong", ["SystemExit(0)", "KeyboardInterrupt()", "GeneratorExit()", "RecursionError('deep')"])
def test_no_exception_borrows_the_exit_code_of_a_verdict(project, wrong):
    program = (
        "import sys, highbar.pipeline, highbar.cli\n"
        f"def check(*arguments, **options): raise {wrong}\n"
        "highbar.pipeline.check_result = check\n"
        "sys.exit(highbar.cli.run_guarded(['check', 'results.jsonl']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, check=False)
    assert done.returncode == 4


@pytest.mark.process
def test_a_broken_installation_exits_4(project):
    program = (
        "import sys; sys.modules['click'] = None; import highbar.cli; sys.exit(highbar.cli.run_guarded(['check', 'x']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, check=False)
    assert done.returncode == 4
    assert b"Traceback" not in done.stderr


@pytest.mark.hazard("H80")
@pytest.mark.parametrize("instruction", ["bash_complete", "bash_source", "zsh_complete", "nonsense"])
def test_a_variable_cannot_turn_a_failing_check_into_a_completion(project, instruction):
    (project / "results.jsonl").write_text(FAILING)
    asked = {"_HIGHBAR_COMPLETE": instruction, "COMP_WORDS": "highbar", "COMP_CWORD": "1", "HIGHBAR_STRICT": "0"}
    done = run(project, "check", "results.jsonl", environment=asked)
    assert done.exit == 1
    assert done.out.startswith("FAIL: ")


@pytest.mark.parametrize("name", [name for name in REPORTERS if name != "text"])
def test_a_refusal_is_printed_in_the_format_that_was_asked_for(tmp_path, name):
    done = run(tmp_path, "check", "absent.jsonl", f"--format={name}")
    assert done.exit == 2
    assert done.stdout.decode() == REPORTERS[name].refusal([Problem("file.missing", "no such file", "absent.jsonl")])
    assert done.err == ("" if name == "json" else "absent.jsonl: no such file\n")


@pytest.mark.process
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("MemoryError()", "out of memory"),
        ("OSError(24, 'Too many open files')", "no more open files"),
        ("BlockingIOError(11, 'Resource temporarily unavailable')", "no more threads or processes"),
        ('RuntimeError("can\'t start new thread")', "no more threads or processes"),
        ("type('Py4JNetworkError', (Exception,), {})('Answer from Java side is empty')", "the Java process of Spark"),
        ("ExceptionGroup('several', [MemoryError()])", "out of memory"),
    ],
)
def test_what_the_machine_lacks_is_no_internal_error(project, error, words):
    program = (
        "import sys, highbar.pipeline, highbar.cli\n"
        f"def check(*arguments, **options): raise {error}\n"
        "highbar.pipeline.check_result = check\n"
        "sys.exit(highbar.cli.run_guarded(['check', 'results.jsonl']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert words in done.stderr
    assert "internal error" not in done.stderr
