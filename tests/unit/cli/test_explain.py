"""`highbar explain`: what a code means."""

from __future__ import annotations

from pathlib import Path

from tests.commandline import run


def test_explain_says_the_cause_the_cure_and_an_example(tmp_path: Path) -> None:
    done = run(tmp_path, "explain", "row.wrong-type")
    assert done.exit == 0
    assert [line for line in done.out.splitlines() if line[:1].strip()] == ["row.wrong-type", "What to do", "Example"]
    assert '+ {"id": "A", "passed": true}' in done.out


def test_explain_takes_the_code_as_a_problem_shows_it(tmp_path: Path) -> None:
    refused = run(tmp_path, "check", "no-such-file.jsonl")
    assert refused.codes == ["file.missing"]
    assert run(tmp_path, "explain", "[file.missing]").out.startswith("file.missing\n")


def test_an_unknown_code_is_refused_with_codes_that_are_near(tmp_path: Path) -> None:
    for asked, near in (
        ("row.wrong-tipe", "row.wrong-type"),
        ("wrong-type", "row.wrong-type"),
        ("row.x", "row.missing-id"),
    ):
        done = run(tmp_path, "explain", asked)
        assert done.exit == 2, asked
        assert near in done.err, asked


def test_explain_without_a_code_lists_all(tmp_path: Path) -> None:
    done = run(tmp_path, "explain")
    assert done.exit == 0
    assert {"removed", "row.wrong-type", "problems.more"} <= {
        line.split()[0] for line in done.out.splitlines() if line.strip()
    }
