"""Whether anything of a text is seen: the pattern of the engines and the function in Python are one rule."""

from __future__ import annotations

import sys
import unicodedata

import duckdb
import pyarrow as pa

from highbar.engine.sql import SEEN
from highbar.language.blank import is_blank


def test_all_of_unicode_is_seen_or_not_by_one_rule() -> None:
    # A class that one side's newer Unicode has and the other's has not is no difference of the rule.
    every = map(chr, range(1, sys.maxunicode + 1))
    assigned = [character for character in every if unicodedata.category(character) not in ("Cs", "Cn")]
    characters = [*assigned, "\ufdd0", "\uffff", "\u2065", "\U000e0fff", "\U0010fffe"]
    table = pa.table({"text": characters})
    with duckdb.connect() as connection:
        connection.register("texts", table)
        blank = connection.sql("FROM texts").filter(f"NOT regexp_matches(text, {SEEN})").fetchall()
    assert {text for (text,) in blank} == {text for text in characters if is_blank(text)}
