"""Unquoted text in a YAML suite that a comment sign cuts: nobody would see it in a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from highbar.errors import InputError
from highbar.suite import read


def written(folder: Path, keys: str) -> Path:
    path = folder / "suite.yaml"
    path.write_text(f"scenarios:\n  - id: A\n    answer: yes it is\n{keys}", "utf-8")
    return path


@pytest.mark.parametrize(
    ("keys", "line", "column", "whole"),
    [
        ("    input: What about issue #5?\n", 4, 28, '"What about issue #5?"'),
        ("    input: Press hash # to go on\n", 4, 22, '"Press hash # to go on"'),
        ('    input: Say "it" #5\n', 4, 20, "'Say \"it\" #5'"),
        ("    turns: [Hello, about #5\n      ]\n", 4, 25, '"about #5"'),
        ("    input: over two\n      lines #5\n", 5, 12, '"over two lines #5"'),
    ],
)
def test_a_text_that_is_cut_by_a_comment_sign_is_a_problem(
    tmp_path: Path, keys: str, line: int, column: int, whole: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, keys))
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (line, column)
    assert "begins a comment" in problem.message
    assert whole in (problem.hint or "")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("    input: When do you open?  # a comment\n", "When do you open?"),
        ("    input: When # a comment\n    trials: 3 #three\n", "When"),
        ("    input: tell C# from C\n", "tell C# from C"),
        ("    input: 'issue #5'\n", "issue #5"),
        ('    input: "issue #5" #quoted\n', "issue #5"),
        ("    input: |-\n      issue #5\n", "issue #5"),
        ("    # input: about #5\n    input: yes\n", "yes"),
        ("    input: a b ##### line\n", "a b"),
    ],
)
def test_comments_and_quoted_signs_are_no_problem(tmp_path: Path, keys: str, said: str) -> None:
    assert read(written(tmp_path, keys)).scenarios["A"].input == said


def test_a_suite_of_another_tool_is_read_as_the_tool_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - description: one\n    vars: { q: about }\n"
        "    assert:\n      - type: contains\n        value: issue number #5\n"
    )
    assert list(read(path).scenarios)
