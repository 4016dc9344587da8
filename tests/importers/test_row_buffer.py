"""Rows that wait come back as they went in, from memory and from disk."""

from __future__ import annotations

import pytest

from highbar.importers import row_buffer as module
from highbar.importers.row_buffer import RowBuffer

ROWS = [({"id": str(n), "output": "x" * 1000, "tags": {"a": "\ud800"}, "score": 0.5}, [n, None]) for n in range(20)]


@pytest.mark.parametrize("room", [0, 30_000, 10**9])
def test_rows_come_back_in_their_order_wherever_they_waited(monkeypatch, room):
    monkeypatch.setattr(module, "MEMORY", room)
    with RowBuffer() as buffer:
        for row, more in ROWS:
            buffer.put(dict(row), more)
        assert list(buffer) == ROWS


def test_memory_holds_no_more_than_it_is_given(monkeypatch):
    monkeypatch.setattr(module, "MEMORY", 30_000)
    with RowBuffer() as buffer:
        for row, more in ROWS:
            buffer.put(dict(row), more)
        assert len(buffer._rows) == 10
