"""Rows → by scenario, a digest of what it asks and demands, which recognizes the same scenario in another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from highbar.engine.details import typed_rows
from highbar.engine.protocol import Rows
from highbar.engine.sources import SourcePart

_DEMANDS = ("expected_behaviors", "must_not")


def find_texts(rows: Rows, parts: Sequence[SourcePart]) -> Mapping[str, str]:
    """The digests by id. A scenario without an input, or whose trials disagree, has none.

    A trial without one of the columns does not disagree: an error may have come before anything was recorded.
    """
    if not all("input" in part.columns for part in parts):
        return {}
    # Order and repetition in a list change nothing about what is demanded.
    lists = [f"to_json(list_sort(list_distinct({name})))::VARCHAR AS {name}" for name in _DEMANDS]
    source = " UNION ALL ".join(f"SELECT id, input, expected, {', '.join(lists)} FROM ({typed_rows(p)})" for p in parts)
    names = ("input", "expected", *_DEMANDS)
    alike = " AND ".join(f"count(DISTINCT {name}) <= 1" for name in names)
    found = rows(
        f"SELECT id, sha256(to_json([{', '.join(f'max({name})' for name in names)}])::VARCHAR) FROM ({source})"
        f" GROUP BY id HAVING max(input) IS NOT NULL AND {alike}"
    )
    return {id_: digest for id_, digest in found if digest is not None}
