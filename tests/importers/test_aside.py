"""Rows that wait come back as they went in, from memory and from disk."""

from __future__ import annotations

import pytest

from highbar.importers import aside as module
from highbar.importers.aside import Aside

ROWS = [({"id": str(n), "output": "x" * 1000, "tags": {"a": "\ud800"}, "score": 0.5}, [n, None]) for n in range(20)]


@pytest.mark.parametrize("room", [0, 30_000, 10**9])
def test_rows_come_back_in_their_order_wherever_they_waited(monkeypatch, room):
    monkeypatch.setattr(module, "_IN_MEMORY", room)
    with Aside() as aside:
        for row, more in ROWS:
            aside.put(dict(row), more)
        assert list(aside) == ROWS


def test_memory_holds_no_more_than_it_is_given(monkeypatch):
    monkeypatch.setattr(module, "_IN_MEMORY", 30_000)
    with Aside() as aside:
        for row, more in ROWS:
            aside.put(dict(row), more)
        assert len(aside._held) == 10
