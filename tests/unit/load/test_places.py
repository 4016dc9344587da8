"""Results that occur twice are refused as such, whatever else is in their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize(
    ("column", "value"),
    [("model", DEEP), ("tags.x", DEEP), ("tags2", DEEP), ("trace", DEEP), ("trace", "1" * 5000), ("trace", "{}")],
    ids=["model", "tag", "like a tag", "deep", "long", "plain"],
)
def test_two_results_of_one_scenario_are_named_beside_any_value(tmp_path: Path, column: str, value: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f'{{"id": "a", "passed": true, "{column}": {value}}}\n' * 2, "utf-8")
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(path, ALL)
    assert [problem.message.partition(":")[0] for problem in caught.value.problems] == [
        "scenario 'a' has 2 results and no trial tells them apart"
    ]


def test_a_long_field_does_not_hide_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("id,passed,output\n" + f"a,true,{'x' * 200_000}\n" * 2, "utf-8")
    with pytest.raises(highbar.InputError, match="2 results and no trial tells them apart: lines 2 and 3"):
        highbar.check(path, ALL)
