"""Files in which all text is surely seen are read without the patterns that look for blank text."""

from __future__ import annotations

import json

import duckdb
import pytest

import highbar
from highbar.engine.sources import PERHAPS_BLANK
from highbar.engine.sql import SEEN

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 0%"}}, "slices": ["category", "tags.team"]}


def test_text_that_is_not_perhaps_blank_begins_with_a_character_that_is_seen():
    query = """
        SELECT count(*), count_if(NOT regexp_matches(one, $seen))
        FROM (SELECT code, chr(CAST(code AS INTEGER)) AS one FROM range(1, 1114112) AS codes(code))
        WHERE code NOT BETWEEN 55296 AND 57343 -- halves of surrogate pairs are no characters
        AND NOT regexp_matches('{"output": "' || one || '"}', $perhaps_blank)
    """
    sure, blank = duckdb.execute(query, {"seen": SEEN[1:-1], "perhaps_blank": PERHAPS_BLANK[1:-1]}).fetchall()[0]
    assert sure > 20_000
    assert blank == 0


@pytest.mark.parametrize("blank", ["", " ", "\n", "\u00a0", "\u200b", "\u0301", "\u3164", "\\u00ad"])
@pytest.mark.parametrize("spaces", ["", " ", " \t "])
def test_blank_text_describes_nothing_wherever_the_file_has_it(tmp_path, blank, spaces):
    first = {"id": "a", "passed": True, "category": "x", "tags": {"team": "y"}, "output": "z"}
    written = json.dumps(blank, ensure_ascii=False) if not blank.startswith("\\") else f'"{blank}"'
    second = f'{{"id": "b", "passed": true, "category":{spaces}{written}, "tags": {{"team"{spaces}:{written}}}}}'
    (tmp_path / "results.jsonl").write_text(f"{json.dumps(first)}\n{second}\n", "utf-8")
    verdict = highbar.check(str(tmp_path / "results.jsonl"), POLICY)
    assert [(part.by, part.scenarios) for part in verdict.slices] == [(("category", "x"), 1), (("tags.team", "y"), 1)]
