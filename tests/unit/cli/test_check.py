from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from highbar.cli.streams import _bar
from tests.commandline import run
from tests.patience import PATIENCE

POLICY = "thresholds: {blocking: {pass_rate: 80%}}\n"
ROWS = [{"id": f"A-{number}", "passed": True, "category": "happy_path"} for number in range(9)]
HOSTILE = "\x1b[2J\u202e\n::error::x ##[error]y | `z` <!-- -->"
ROWS.append({"id": "SEC-1", "category": "adversarial", "error": HOSTILE, "output": HOSTILE})


@pytest.fixture
def project(tmp_path):
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "highbar.yaml").write_text(POLICY)
    return tmp_path


def on_a_terminal(folder, *arguments, width=80, row_after=None, seconds=0.0, **environment):
    """What the command writes to a terminal of that width.

    If `row_after` is given, the terminal is its standard error too, and it gets one row, once it has written that text
    and so many seconds have passed.
    """
    main, other = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "highbar", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=other,
        stderr=other if row_after is not None else subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(width), **environment},
    )
    os.close(other)
    written = b""
    if row_after is not None:
        while row_after not in written:
            written += os.read(main, 4096)
        time.sleep(seconds)
        child.stdin.write(b'{"id": "A", "passed": true}\n')
    child.stdin.close()
    try:
        while chunk := os.read(main, 4096):
            written += chunk
    except OSError:  # the other end is closed: the command is done
        pass
    child.wait(timeout=PATIENCE)
    os.close(main)
    return written.decode("utf-8")


@pytest.mark.hazard("H118")
def test_all_reports_of_one_run_carry_the_same_verdict_and_counts(project):
    done = run(
        project, "check", "results.jsonl",
        "--output", "verdict.json", "--output", "summary.md", "--output", "report.txt", "--output", "markdown=x.out",
    )  # fmt: skip
    assert done.exit == 0, done.err
    report = (project / "report.txt").read_text("utf-8")
    assert done.out == report
    assert report.startswith("PASS: the only demand is met; a re-run ")
    verdict = json.loads((project / "verdict.json").read_text("utf-8"))
    assert verdict["verdict"] == "pass"
    assert verdict["counts"]["scenarios"] == 10
    markdown = (project / "summary.md").read_text("utf-8")
    assert markdown.startswith("## PASS: the only demand is met; a re-run ")
    assert "10 scenarios, 10 trials" in markdown
    assert (project / "x.out").read_text("utf-8") == markdown


def test_the_output_of_a_format_is_the_file_of_that_format(project):
    for name, file in (("json", "a.json"), ("markdown", "a.md")):
        done = run(project, "check", "results.jsonl", "--format", name, "--output", file)
        assert done.out == (project / file).read_text("utf-8")


@pytest.mark.hazard("H105")
@pytest.mark.hazard("H107")
@pytest.mark.parametrize("name", ["text", "json", "markdown"])
def test_no_hostile_text_reaches_a_stream_raw(project, name):
    done = run(project, "check", "results.jsonl", "--format", name)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.out)
    assert "##[" not in done.out
    assert not any(line.strip().startswith("::") for line in done.out.splitlines())
    assert name == "text" or "<!--" not in done.out


def test_an_older_report_is_not_left_behind_where_nothing_could_be_judged(project):
    for name in ("verdict.json", "summary.md", "report.txt"):
        (project / name).write_text("PASS")
    outputs = [part for name in ("verdict.json", "summary.md", "report.txt") for part in ("--output", name)]
    (project / "results.jsonl").write_text("{")
    done = run(project, "check", "results.jsonl", *outputs)
    assert done.exit == 2
    assert json.loads((project / "verdict.json").read_text())["verdict"] is None
    assert (project / "summary.md").read_text("utf-8").startswith("## NO VERDICT")
    assert (project / "report.txt").read_text("utf-8").startswith("NO VERDICT")


def test_a_report_replaces_the_file_behind_a_link_and_leaves_nothing_beside_it(project):
    (project / "kept").mkdir()
    (project / "kept" / "verdict.json").write_text("old")
    (project / "verdict.json").symlink_to("kept/verdict.json")
    assert run(project, "check", "results.jsonl", "--output", "verdict.json").exit == 0
    assert (project / "verdict.json").is_symlink()
    assert json.loads((project / "kept" / "verdict.json").read_text())["verdict"] == "pass"
    assert os.listdir(project / "kept") == ["verdict.json"]  # noqa: PTH208 - hidden files too
    assert not [name for name in os.listdir(project) if name.startswith(".verdict")]  # noqa: PTH208 - likewise


@pytest.mark.hazard("H78")
@pytest.mark.parametrize("name", ["highbar.json", "suite.json", "baseline.json", "results.jsonl", "runs/more.jsonl"])
def test_a_report_overwrites_nothing_that_is_read(tmp_path, name):
    policy = {
        "suite": "suite.json",
        "baseline": {"file": "baseline.json", "margin": {"accuracy": "1%"}},
        "thresholds": {"blocking": {"pass_rate": "50%"}},
    }
    (tmp_path / "runs").mkdir()
    for file, content in (
        ("highbar.json", json.dumps(policy)),
        ("suite.json", '["A", "B"]'),
        ("baseline.json", "{}"),
        ("results.jsonl", '{"id": "A", "passed": true}\n'),
        ("runs/more.jsonl", '{"id": "B", "passed": true}\n'),
    ):
        (tmp_path / file).write_text(content)
    before = (tmp_path / name).read_text()
    done = run(tmp_path, "check", "results.jsonl", "runs", "--output", f"json={name}")
    assert (done.exit, done.out, done.codes) == (2, "", ["file.read-and-written"])
    assert name in done.err
    assert (tmp_path / name).read_text() == before


@pytest.mark.parametrize("broken", ["thresholds: {blocking: {acuracy: 90}}\nsuite: suite.json", "a: [", "suite: [A]"])
def test_a_policy_that_is_refused_is_not_overwritten_either(tmp_path, broken):
    (tmp_path / "highbar.yaml").write_text(broken)
    (tmp_path / "suite.json").write_text('["A"]')
    (tmp_path / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    done = run(tmp_path, "check", "results.jsonl", "--output", "json=highbar.yaml")
    assert done.exit == 2
    assert (tmp_path / "highbar.yaml").read_text() == broken
    if "suite.json" in broken:
        assert run(tmp_path, "check", "results.jsonl", "--output", "suite.json").exit == 2
        assert (tmp_path / "suite.json").read_text() == '["A"]'


def test_standard_input_is_read_and_a_missing_policy_is_said(tmp_path):
    done = run(tmp_path, "check", "-", "--input-format", "jsonl", stdin=b'{"id": "A", "passed": true}\n')
    assert done.exit == 2, done.err
    assert done.out.splitlines()[2].startswith("no policy: ")
    assert "highbar.yaml" in done.out.splitlines()[2]


def test_quiet_prints_the_line_of_the_verdict_alone(project):
    done = run(project, "check", "results.jsonl", "--quiet")
    assert done.out == "PASS: the only demand is met; a re-run likely passes too\n"
    assert done.stderr == b""


def test_strict_says_why_the_exit_code_is_1(project):
    (project / "highbar.yaml").write_text("thresholds: {warning: {pass_rate: 99%}}")
    done = run(project, "check", "results.jsonl", "--strict", "--format", "json")
    assert done.exit == 1
    assert done.json["verdict"] == "pass"
    assert "strict" in done.err


def test_the_results_and_the_policy_are_named_with_their_digests(project):
    done = run(project, "check", "results.jsonl", "--policy", "highbar.yaml", "--format", "json")
    assert done.json["results"][0]["file"] == "results.jsonl"
    assert re.fullmatch("[0-9a-f]{64}", done.json["results"][0]["sha256"])
    assert done.json["policy"]["file"] == "highbar.yaml"


@pytest.mark.process
def test_a_terminal_gets_color_and_its_width(project):
    wide, narrow = (on_a_terminal(project, "check", "results.jsonl", width=width) for width in (120, 60))
    assert wide.startswith("\x1b[1;32mPASS\x1b[0m: the only demand is met")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", narrow)
    assert max(len(line) for line in plain.splitlines() if " " in line.strip()) <= 60


@pytest.mark.process
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_color_is_left_out_where_it_is_not_wanted(project, environment):
    assert "\x1b" not in on_a_terminal(project, "check", "results.jsonl", **environment)


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False), ({"FORCE_COLOR": ""}, False),
     ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({"FORCE_COLOR": "1", "TERM": "dumb"}, True)],
)  # fmt: skip
def test_color_is_forced_by_the_environment_unless_it_is_refused(project, environment, colored):
    done = run(project, "check", "results.jsonl", environment=environment)
    assert ("\x1b[1;32mPASS\x1b[0m" in done.out) is colored


def longest_line(text):
    return max(len(line) for line in text.splitlines())


def test_the_width_is_that_of_the_terminal_or_as_given(project):
    (project / "highbar.yaml").write_text("thresholds: {blocking: {accuracy: 99%, pass_rate: 99%, error_rate: 0%}}")
    found = {
        width: longest_line(run(project, "check", "results.jsonl", *options, environment=given).out)
        for width, options, given in (
            (80, (), {}), (60, (), {"COLUMNS": "60"}), (120, ("--width", "120"), {"COLUMNS": "60"}),
            (50, ("--width", "50"), {}),
        )
    }  # fmt: skip
    assert all(length <= width for width, length in found.items()), found
    assert found[120] > 80
    assert run(project, "check", "results.jsonl", "--width", "10").exit == 2


def test_v_shows_everything_and_the_short_report_what_did_not_pass(project):
    short, whole = (run(project, "check", "results.jsonl", *options).out for options in ((), ("-v",)))
    assert "\nMetrics\n" not in short
    assert "More: -v, or --output report.html" in short
    assert "\nMetrics\n" in whole
    assert "thresholds.blocking.pass_rate" in whole
    assert run(project, "check", "results.jsonl", "--verbose").out == whole
    assert run(project, "check", "results.jsonl", "-v", "--quiet").out.count("\n") == 1


def test_the_headline_comes_again_if_it_scrolled_off_the_screen(project):
    short = run(project, "check", "results.jsonl", environment={"LINES": "24", "COLUMNS": "80"}).out.splitlines()
    scrolled = run(project, "check", "results.jsonl", environment={"LINES": "3", "COLUMNS": "80"}).out.splitlines()
    assert scrolled == [*short, "", short[0]]


def test_the_verdict_counts_demands_and_not_rules(project):
    twice = "thresholds: {blocking: {pass_rate: 99%}}\nrisk: {high: {pass_rate: 99%}}\npass_criteria: {overall: 99%}"
    (project / "highbar.yaml").write_text(twice)
    done = run(project, "check", "results.jsonl", "-v")
    assert done.out.startswith("FAIL: the only demand is not met")
    assert "thresholds.blocking.pass_rate, risk.high.pass_rate, pass_criteria.overall" in " ".join(done.out.split())
    rules = run(project, "check", "results.jsonl", "--format", "json").json["rules"]
    assert [rule["threshold"] for rule in rules] == [">= 0.99"] * 3


@pytest.mark.process
def test_an_encoding_without_our_signs_gets_plainer_ones(project):
    (project / "highbar.yaml").write_text("thresholds: {blocking: {pass_rate: 99%}}")
    done = run(project, "check", "results.jsonl", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.exit == 1
    assert done.out.isascii()
    assert "\nx Pass rate is at least 99%" in done.out


@pytest.mark.process
def test_a_read_that_takes_over_a_second_shows_progress_and_erases_it(project):
    arguments = ("check", "-", "--input-format", "jsonl")
    slow = on_a_terminal(project, *arguments, row_after=b"reading [")
    assert "\r\x1b[Kreading [" in slow
    assert slow.rpartition("\r\x1b[K")[2].startswith("\x1b[1;32mPASS")
    assert "reading" not in on_a_terminal(project, *arguments, "--quiet", row_after=b"", seconds=2.5)


def test_the_bar_shows_the_share_that_is_done_and_wanders_where_that_is_unknown():
    assert _bar(0.5, 3.0) == "=" * 15 + " " * 15
    assert _bar(7.0, 3.0) == "=" * 30
    assert _bar(0.0, 0.0) == "=" * 6 + " " * 24
    assert _bar(-1.0, 1.0) == " " * 5 + "=" * 6 + " " * 19


@pytest.mark.parametrize("slice_first", [False, True])
def test_a_percentile_over_all_of_a_large_file_and_over_a_small_slice_is_found(tmp_path, slice_first):
    # Repeated trials, a file beyond the size whose queries are stored, and a slice of fewer than 1,000 trials.
    rows = (
        {"id": f"s{scenario}", "trial": trial, "category": "rare" if scenario % 20 else "frequent"}
        | {"latency_ms": (scenario * 7 + trial) % 1000, "passed": True, "output": "x" * 40}
        for scenario in range(4000)
        for trial in (1, 2)
    )
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = '{metric: latency_p95, threshold: "< 5s"}'
    small = '{metric: latency_p95, where: {category: frequent}, threshold: "< 5s"}'
    listed = (small, whole) if slice_first else (whole, small)
    (tmp_path / "highbar.yaml").write_text(f"rules: [{', '.join(listed)}]\n")
    done = run(tmp_path, "check", "results.jsonl", "--format", "json")
    assert done.exit == 0
    found = {bool(rule["slice"]): rule for rule in done.json["rules"]}
    assert (found[False]["value"], found[True]["value"]) == (949, 941)
    assert all(rule["low"] < rule["value"] < rule["high"] for rule in found.values())
