"""No package is larger than its figure in `sizes.csv`, so that every growth is somebody's decision."""

from __future__ import annotations

import pytest
from bench.size import HELD, held, sizes, texts_now

NOW = sizes(texts_now())


@pytest.mark.parametrize("package", NOW)
def test_a_package_is_no_larger_than_its_figure(package: str) -> None:
    most = held().get(package)
    assert most is not None, f"{package} is new: scripts/size --lower gives it a figure"
    for column in HELD:
        assert NOW[package][column] <= most[column], (
            f"{package} has more {column}: make it smaller, or raise the figure by hand and say why in the commit"
        )


def test_a_package_that_is_gone_has_no_figure() -> None:
    assert held().keys() <= NOW.keys(), "scripts/size --lower forgets packages that are gone"
