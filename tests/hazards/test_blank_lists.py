"""A field of a list that names nothing, such as a space, says nothing: only [] and 0 say that nothing happened."""

from __future__ import annotations

import highbar
from highbar.load.explain import cell_value
from tests.hazards.test_found import ALL

ROWS = """\
id,expected_behaviors,behaviors,must_not,violations,output
space,,,leak, ,hi
separator,,,leak,;,hi
separators,,,leak, ; ;,hi
quoted,,,leak," ",hi
no-break,,,leak,\u00a0,hi
wide,,,leak,;\u3000;\u2003,hi
nothing,,,leak,,hi
unseen,cite, ,,,hi
unsaid,cite,;,,,hi
list,,,leak,[],hi
count,,,leak,0,hi
seen,cite,cite; ,;, ,hi
"""
BLANK = {"space", "separator", "separators", "quoted", "no-break", "wide", "nothing", "unseen", "unsaid"}
MAPPING = {"columns": {name: name for name in ROWS.splitlines()[0].split(",")}}


def test_a_blank_field_of_a_list_is_absent(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(ROWS, encoding="utf-8")
    for policy in (ALL, ALL | {"map": MAPPING}):
        verdict = highbar.check(path, policy)
        assert verdict.verdict != "pass"
        assert {one.id for one in verdict.scenarios_undecided} == BLANK
        assert verdict.scenarios_failed == ()


def test_a_field_is_explained_as_it_is_read():
    for name in ("violations", "behaviors"):
        assert [cell_value(name, cell, ()) for cell in (" ", ";", "; ", "[]", "a; ")] == [None, None, None, [], ["a"]]
        assert [cell_value(name, cell, ()) for cell in ("\u00a0", "\u3000;", "\u2003a")] == [None, None, ["a"]]
