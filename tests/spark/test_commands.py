"""`highbar check --engine spark`, and the memory limit of the embedded engine, through the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run
from tests.patience import PATIENCE, wait_for

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support-agent"
ROW = '{"id": "a", "passed": true}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "results.jsonl").write_text(ROW, "utf-8")
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": 50}}}', "utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.spark
def test_the_example_has_the_same_verdict_on_spark(spark: Any, tmp_path: Path) -> None:
    assert spark  # the command finds this session

    def judged(*options: str) -> dict[str, Any]:
        done = run(tmp_path, "check", results, "--policy", policy, "--format", "json", *options)
        assert done.exit == 1
        found: dict[str, Any] = done.json
        del found["results"]  # Spark reads no digests
        return found

    results, policy = str(EXAMPLE / "v1.jsonl"), str(EXAMPLE / "highbar.yaml")
    here, there = judged(), judged("--engine", "spark")
    assert (there["verdict"], there["rules"], there["scenarios_failed"]) == (
        here["verdict"],
        here["rules"],
        here["scenarios_failed"],
    )
    assert {name: one["value"] for name, one in there["metrics"].items()} == {
        name: one["value"] for name, one in here["metrics"].items()
    }


@pytest.mark.slow
@pytest.mark.spark
def test_a_command_starts_a_session_of_its_own(folder: Path) -> None:
    done = run(folder, "check", "results.jsonl", "--engine", "spark", "--spark-master", "local[1]", process=True)
    assert done.exit == 0, done.err
    assert done.out.startswith("PASS")


@pytest.mark.slow
@pytest.mark.spark
def test_two_runs_are_compared_and_recorded_alike_on_spark(spark: Any, tmp_path: Path) -> None:
    assert spark  # the commands below find this session, whose Java has a working folder of its own
    base, head = str(tmp_path / "base.jsonl"), str(tmp_path / "head.jsonl")

    def both(*arguments: str) -> list[dict[str, Any]]:
        found = [run(tmp_path, *arguments, "--engine", engine).json for engine in ("duckdb", "spark")]
        for one in found:
            assert one["verdict"], one
            del one["base"], one["head"]  # Spark reads no digests
        return found

    for name, every in (("base", 7), ("head", 5)):
        rows = ({"id": f"s{i}", "passed": i % every > 0, "latency_ms": i * 2.5, "category": "a"} for i in range(60))
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    policy = {
        "thresholds": {"blocking": {"pass_rate": 50}},
        "baseline": {"file": "b.json", "margin": {"pass_rate": "1%"}},
    }
    (tmp_path / "highbar.json").write_text(json.dumps(policy), "utf-8")
    here, there = both("compare", base, head, "--format", "json")
    assert here == there
    assert here["broken"]
    recorded = []
    for engine in ("duckdb", "spark"):
        name = f"{engine}.json"
        why = ("--force", "a test", "--output", name, "--engine", engine)
        assert run(tmp_path, "baseline", "record", base, *why).exit == 0
        recorded.append(json.loads((tmp_path / name).read_text("utf-8")))
        assert [one.pop("sha256") is None for one in recorded[-1]["results"]] == [engine == "spark"]
    assert recorded[0]["scenarios"] == recorded[1]["scenarios"]
    assert recorded[0]["verdict"] == recorded[1]["verdict"]
    here, there = both("compare", "duckdb.json", head, "--format", "json")
    assert here == there


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (("--spark-master", "local[1]"), "option.needs-another", "--spark-master"),
        (
            ("--engine", "spark", "--spark-master", "local", "--spark-remote", "sc://h"),
            "option.conflict",
            "--spark-remote",
        ),
        (("--engine", "spark", "--memory-limit", "1GB"), "option.conflict", "--memory-limit"),
        (("--memory-limit", "lots"), "option.bad-value", "lots"),
        (("--engine", "spark", "--input-format", "inspect"), "spark.cannot-read", "'inspect'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, options: tuple[str, ...], code: str, named: str
) -> None:
    done = run(folder, "check", "results.jsonl", *options)
    assert (done.exit, done.codes) == (2, [code])
    assert named in done.err


def test_standard_input_is_not_for_spark(folder: Path) -> None:
    done = run(folder, "check", "-", "--engine", "spark")
    assert (done.exit, done.codes) == (2, ["spark.cannot-read"])


@pytest.mark.process
def test_without_the_extra_the_message_says_how_to_get_it(folder: Path) -> None:
    program = "import sys; sys.modules['pyspark'] = None; from highbar.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "check", "results.jsonl", "--engine", "spark"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "[machine.missing-package]" in done.stderr
    assert "'highbar[spark]'" in done.stderr


def test_a_check_stays_within_its_memory_limit(folder: Path) -> None:
    rows = ({"id": f"s{number}", "passed": True, "output": "x" * 1000} for number in range(20_000))
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run(folder, "check", "results.jsonl", "--memory-limit", "400MB").exit == 0
    done = run(folder, "check", "results.jsonl", "--memory-limit", "1MB")
    assert (done.exit, done.codes) == (2, ["machine.memory"])
    assert "1MB" in done.err


@pytest.mark.slow
@pytest.mark.spark
def test_ctrl_c_stops_a_check_on_spark_at_once(folder: Path) -> None:
    rows = (json.dumps({"id": f"s{number}", "passed": True, "latency_ms": number}) for number in range(300_000))
    (folder / "results.jsonl").write_text("\n".join(rows), "utf-8")
    command = [
        sys.executable,
        "-m",
        "highbar",
        "check",
        "results.jsonl",
        "--engine",
        "spark",
        "--spark-master",
        "local",
    ]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:

        def is_read() -> bool:
            assert process.poll() is None, process.communicate()
            return is_read_by_java(folder / "results.jsonl")  # a job of the check runs

        wait_for(is_read, "the results are not read")
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=PATIENCE)
    # It was stopped, not waited for: a check that had run to its end would have printed a report.
    assert (process.returncode, out) == (130, b"")
    assert b"stopped by SIGINT" in said


def is_read_by_java(file: Path) -> bool:
    """Whether a Java process has the file open."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # processes end, and others are not ours to look at
            if (process / "comm").read_text() == "java\n" and any(
                descriptor.readlink() == file for descriptor in (process / "fd").iterdir()
            ):
                return True
    return False
