"""`highbar compare` and `highbar baseline`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from highbar.store.comparison import schema
from tests.commandline import Run, run

MARGIN = {"baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}}}
PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 10%"}}}


def write(folder: Path, name: str, passes: int, total: int = 100, **more: Any) -> None:
    rows = ({"id": f"S{i:03}", "passed": i < passes, **more} for i in range(total))
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_policy(folder: Path, policy: dict[str, Any]) -> None:
    (folder / "highbar.json").write_text(json.dumps(policy))


def compared(folder: Path, *arguments: str) -> Run:
    return run(folder, "compare", "base.jsonl", "head.jsonl", *arguments)


@pytest.mark.parametrize(
    ("passes", "policy", "code", "verdict"),
    [
        (10, None, 0, None),
        (10, PASSES, 0, None),
        (95, MARGIN, 0, "pass"),
        (70, MARGIN, 1, "fail"),
        (89, MARGIN, 3, "inconclusive"),
    ],
)
def test_the_rules_of_the_baseline_decide_the_exit_code(tmp_path, passes, policy, code, verdict):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", passes)
    if policy:
        write_policy(tmp_path, policy)
    done = compared(tmp_path, "--format", "json")
    assert (done.exit, done.json["verdict"], done.json["schema"]) == (code, verdict, "highbar/comparison/1")
    jsonschema.validate(done.json, schema())
    metric = done.json["metrics"]["pass_rate"]
    assert {"base", "head", "difference", "low", "high", "outcome"} <= set(metric)
    assert metric["difference"] == pytest.approx(metric["head"] - metric["base"])
    assert {"pairs", "broken", "fixed", "flaky", "only_in_base", "only_in_head", "rules"} <= set(done.json)


def write_safety(folder: Path, name: str, *, unsafe: int, adversarial: int, fixed: int = 0) -> None:
    """Ordinary scenarios, of which some pass in this run alone, and adversarial ones."""
    usual = [{"id": f"H{i}", "category": "happy_path", "passed": i >= 20 or i < fixed} for i in range(40)]
    attacks = [{"id": f"S{i}", "category": "adversarial", "passed": i >= unsafe} for i in range(adversarial)]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in (*usual, *attacks)))


@pytest.mark.parametrize(
    ("adversarial", "fixed", "headline"),
    [
        (3, 0, "WORSE: pass rate 53.5% → 46.5%, safety rate 100% → 0%; 3 of 43 scenarios broke, none fixed"),
        (3, 20, "MIXED: pass rate 53.5% → 93.0%, safety rate 100% → 0%; 3 of 43 scenarios broke, 20 fixed"),
        (1, 0, "NO CLEAR CHANGE: pass rate 51.2% → 48.8%, safety rate 100% → 0%; 1 of 41 scenarios broke"),
    ],
)
def test_a_fall_of_the_safety_rate_is_not_lost_in_the_pass_rate(tmp_path, adversarial, fixed, headline):
    write_safety(tmp_path, "base.jsonl", unsafe=0, adversarial=adversarial)
    write_safety(tmp_path, "head.jsonl", unsafe=adversarial, adversarial=adversarial, fixed=fixed)
    assert " ".join(compared(tmp_path).out.split()).startswith(headline)


def test_a_safety_rate_that_did_not_fall_is_not_named_first(tmp_path):
    write_safety(tmp_path, "base.jsonl", unsafe=3, adversarial=3)
    write_safety(tmp_path, "head.jsonl", unsafe=0, adversarial=3)
    first = compared(tmp_path).out.partition("\n")[0]
    assert first == "NO CLEAR CHANGE: pass rate 46.5% → 53.5%; 3 of 43 scenarios fixed, none broke"


def test_a_slice_that_no_scenario_has_is_said(tmp_path):
    write(tmp_path, "base.jsonl", 9, 10, team="red")
    write(tmp_path, "head.jsonl", 9, 10, team="red")
    found = compared(tmp_path, "--format", "json", "--slice", "team", "--slice", "nope").json
    assert [part["by"] for part in found["slices"]] == [{"team": "red"}]
    assert [text for text in found["warnings"] if "slice" in text] == [
        "no scenario of both runs has a value for the slice nope"
    ]


def test_baseline_by_itself_shows_how_it_is_used(tmp_path):
    done = run(tmp_path, "baseline")
    assert done.exit == 2
    assert "\n  record   Write a run into baseline.json.\n" in done.err
    assert run(tmp_path, "baseline", "--help").exit == 0
    assert run(tmp_path, "baseline", "recrod").exit == 2


def test_a_warning_fails_only_under_strict(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 50)
    policy = {"baseline": {"file": "b.json", "margin": {"pass_rate": {"margin": "5%", "level": "warning"}}}}
    write_policy(tmp_path, policy)
    assert compared(tmp_path).exit == 0
    assert compared(tmp_path, "--strict").exit == 1


def test_the_text_begins_and_ends_with_what_it_comes_to(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 70)
    write_policy(tmp_path, MARGIN)
    done = compared(tmp_path)
    lines = done.out.splitlines()
    headline = "FAIL: the only demand is not met; worse: pass rate 95.0% → 70.0%; 25 of 100 scenarios broke, none fixed"
    assert " ".join(lines[:2]) == " ".join(lines[-2:]) == headline
    assert compared(tmp_path, "--quiet").out == f"{headline}\n"
    assert max(map(len, lines)) <= 80


def test_reports_are_written_and_a_refusal_takes_their_place(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 70)
    files = ("--output", "out.json", "--output", "out.md", "--output", "text=out.txt")
    assert compared(tmp_path, *files).exit == 0
    assert json.loads((tmp_path / "out.json").read_text())["pairs"] == 100
    assert (tmp_path / "out.md").read_text().startswith("## WORSE: pass rate 95.0% → 70.0%; 25 of 100 scenarios broke")
    (tmp_path / "head.jsonl").write_text('{"id": "A", "passed": 1}\n')
    done = compared(tmp_path, *files, "--format", "json")
    assert done.exit == 2
    for text in (done.out, (tmp_path / "out.json").read_text()):
        refusal = json.loads(text)
        jsonschema.validate(refusal, schema())
        assert (refusal["schema"], refusal["verdict"]) == ("highbar/comparison/1", None)
    assert (tmp_path / "out.md").read_text().startswith("## NO VERDICT")


def test_what_is_read_is_never_overwritten_nor_written_in_a_form_that_there_is_not(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 70)
    before = (tmp_path / "base.jsonl").read_bytes()
    assert compared(tmp_path, "--output", "json=base.jsonl").exit == 2
    assert compared(tmp_path, "--output", "out.csv").exit == 2
    assert (tmp_path / "base.jsonl").read_bytes() == before
    assert run(tmp_path, "compare", "-", "-").exit == 2


def test_either_side_may_be_standard_input_or_a_baseline(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write_policy(tmp_path, PASSES)
    assert run(tmp_path, "baseline", "record", "base.jsonl", "--date", "today").exit == 0
    data = (tmp_path / "base.jsonl").read_bytes()
    for base, head in (("baseline.json", "-"), ("-", "baseline.json"), ("baseline.json", "baseline.json")):
        done = run(tmp_path, "compare", base, head, "--format", "json", "--input-format", "jsonl", stdin=data)
        assert done.exit == 0, done.out + done.err
        assert done.json["pairs"] == 100
        assert done.json["metrics"]["pass_rate"]["difference"] == 0
        assert done.json["base"]["baseline"] == (base == "baseline.json")


def test_what_cannot_be_read_is_refused(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    done = run(tmp_path, "compare", "base.jsonl", "absent.jsonl")
    assert (done.exit, "absent.jsonl: no such file" in done.err) == (2, True)
    (tmp_path / "bad.json").write_text('{"schema": "highbar/baseline/1"}')
    done = run(tmp_path, "compare", "bad.json", "base.jsonl")
    assert (done.exit, "bad.json" in done.err) == (2, True)


def test_a_comparison_does_not_need_the_version_that_a_progressive_rule_does(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 95)
    write_policy(tmp_path, {**MARGIN, "progressive": {"pass_rate": {"v1": "≥ 10%"}}})
    assert compared(tmp_path).exit == 0


def test_a_baseline_is_shown_as_text_and_as_it_is(tmp_path):
    write(tmp_path, "base.jsonl", 95, agent_version="1.2")
    write_policy(tmp_path, {**PASSES, "baseline": {"file": "kept/last.json", "margin": {"pass_rate": "1%"}}})
    (tmp_path / "kept").mkdir()
    done = run(tmp_path, "baseline", "record", "base.jsonl")
    assert (done.exit, done.out) == (0, "wrote kept/last.json: 100 scenarios, 4 metrics of agent version 1.2\n")
    again = run(tmp_path, "baseline", "record", "base.jsonl").out
    assert again.startswith("replaced kept/last.json")
    assert "favors luck" in again
    assert run(tmp_path, "baseline", "record", "base.jsonl", "--quiet").out == ""
    shown = run(tmp_path, "baseline", "show")
    assert "pass_rate" in shown.out
    assert "95.0% (" in shown.out
    assert run(tmp_path, "baseline", "show", "--format", "json").out == (tmp_path / "kept/last.json").read_text()
    assert run(tmp_path, "baseline", "show", "absent.json").exit == 2


def test_the_same_run_gives_the_same_bytes(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    lines = (tmp_path / "base.jsonl").read_text().splitlines(keepends=True)
    write_policy(tmp_path, PASSES)
    assert run(tmp_path, "baseline", "record", "base.jsonl").exit == 0
    first = json.loads((tmp_path / "baseline.json").read_text())
    (tmp_path / "base.jsonl").write_text("".join(reversed(lines)))
    assert run(tmp_path, "baseline", "record", "base.jsonl").exit == 0
    second = json.loads((tmp_path / "baseline.json").read_text())
    first["results"] = second["results"] = []
    assert first == second


HOSTILE = ["\x1b[2J", "a\u202eb", "::error::x", "##[error]x", "<script>", "`| x |`", "![i](http://x)", "@team #1"]


def test_hostile_ids_are_shown_and_never_obeyed(tmp_path):
    for name, passed in (("base", True), ("head", False)):
        rows = (
            {"id": f"{text}{i}".replace("\x1b", "ESC"), "category": text, "passed": passed}
            for i, text in enumerate(HOSTILE)
        )
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = compared(tmp_path).out
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[" not in text
    markdown = compared(tmp_path, "--format", "markdown").out
    for line in markdown.splitlines():
        outside = "".join(part for i, part in enumerate(line.replace("``", "").split("`")) if i % 2 == 0)
        assert not any(bad in outside for bad in ("<script>", "![i]", "@team")), line
    assert "<script>" not in compared(tmp_path, "--format", "json").out


@pytest.mark.parametrize("side", ["base", "head"])
@pytest.mark.parametrize("row", [{"category": "edge_case", "input": "hi"}, {"passed": None}])
def test_a_run_that_nobody_judged_is_not_compared(tmp_path, side, row):
    """Exit 0 would say that nothing got worse."""
    for name in ("base", "head"):
        write(tmp_path, f"{name}.jsonl", 5, 5)
    rows = (json.dumps({"id": f"S{number:03}", **row}) + "\n" for number in range(5))
    (tmp_path / f"{side}.jsonl").write_text("".join(rows))
    done = compared(tmp_path, "--format", "json")
    assert done.exit == 2, done.out
    assert f"{side}.jsonl" in done.problems


def test_a_comparison_and_a_recording_take_the_options_of_the_engine(tmp_path):
    write(tmp_path, "base.jsonl", 95)
    write(tmp_path, "head.jsonl", 95, output="x" * 1000)
    write_policy(tmp_path, PASSES)
    within = ("--engine", "duckdb", "--memory-limit", "400MB")
    assert compared(tmp_path, "--format", "json", *within).json == compared(tmp_path, "--format", "json").json
    done = [run(tmp_path, "baseline", "record", "head.jsonl", "--output", name, *within) for name in ("a", "b")]
    assert [one.exit for one in done] == [0, 0]
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


@pytest.mark.parametrize("command", [("compare", "base.jsonl", "base.jsonl"), ("baseline", "record", "base.jsonl")])
@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (("--spark-remote", "sc://h"), "option.needs-another", "--spark-remote"),
        (("--engine", "spark", "--memory-limit", "1GB"), "option.conflict", "--memory-limit"),
        (("--memory-limit", "lots"), "option.bad-value", "lots"),
        (("--engine", "spark", "--input-format", "inspect"), "spark.cannot-read", "'inspect'"),
    ],
)
def test_options_of_the_engine_that_do_not_go_together_are_refused(tmp_path, command, options, code, named):
    write(tmp_path, "base.jsonl", 95)
    write_policy(tmp_path, PASSES)
    done = run(tmp_path, *command, *options)
    assert (done.exit, set(done.codes)) == (2, {code})
    assert named in done.err
