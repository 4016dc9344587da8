"""The row core comes to the same as the SQL engine: values, lists, warnings and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar import pipeline
from highbar.engine import opening
from highbar.errors import InputError
from tests.shadow.core import ON_CORE
from tests.shadow.differential import differences, refusal, write_case

SEEDS = 60


def sums_of(results: Path, monkeypatch: pytest.MonkeyPatch, *, on_core: bool) -> Any:
    """The sums of a check, or the refusal."""
    seen: list[Any] = []

    def judge(job: Any, policy: Any, found: Any, sums: Any) -> Any:
        seen.append(sums)
        return real(job, policy, found, sums)

    real = pipeline.judge_sums
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "judge_sums", judge)
        if on_core:
            patch.setattr(opening, "ENGINES", ON_CORE)
        try:
            highbar.check(str(results), policy=str(results.parent / "highbar.json"))
        except InputError as error:
            return refusal(error)
    return seen[0]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_core_comes_to_the_same_as_the_engine(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = write_case(seed, tmp_path)
    engine, core = (sums_of(results, monkeypatch, on_core=on_core) for on_core in (False, True))
    assert list(differences(engine, core)) == []
