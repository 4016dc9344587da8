"""A little of what `scripts/fuzz` does for longer: bent files of every tool."""

from __future__ import annotations

import pytest

from highbar import importers
from tests.importers.fuzzing import Watch

TOOLS = sorted(importer.name for importer in importers.IMPORTERS)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_bent_file_is_read_or_refused_and_a_worse_one_never_passes_more(tmp_path, monkeypatch, tool):
    monkeypatch.chdir(tmp_path)  # a fault is kept in the working folder
    watch = Watch({tool}, tmp_path)
    assert watch.intact
    watch.run(60, 1)
    assert sum(watch.counts.values()) > 20
