"""Why a file is refused: the line, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


@pytest.mark.parametrize("value", [r'"\ud800"', r'["a", "\ud800"]', r'[[1, ["\udc00"]]]', r'{"b": [{"\ud800": 1}]}'])
def test_half_of_a_surrogate_pair_is_found_at_any_depth(tmp_path: Path, value: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f'{{"id": "a", "passed": true}}\n{{"id": "b", "passed": true, "meta": {value}}}\n', "utf-8")
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(path, ALL)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("file.bad-character", 2)
