"""What pages say was measured is what the tables in bench/ hold."""

from __future__ import annotations

import json
from pathlib import Path

from bench.off_grid_page import page

ROOT = Path(__file__).resolve().parents[2]
TABLE = json.loads((ROOT / "bench/tables/off_grid.json").read_text("utf-8"))


def test_the_page_of_bounds_that_broke_is_its_table():
    assert (ROOT / "docs/concepts/off-the-grid.md").read_text("utf-8") == page(TABLE)


def test_no_rule_that_can_pass_or_fail_with_confidence_errs_more_often_than_promised():
    judged = [one for one in TABLE["points"] if not one["family"].endswith("as shown")]
    assert {one["family"] for one in judged} >= {
        "unequal trials",
        "weights tied to difficulty",
        "one-sided breakage, one trial",
        "one-sided breakage, weighted",
        "skewed costs with a limit",
        "informative trial counts",
    }
    above = [one for one in judged if max(one["false_pass"], one["false_fail"]) > TABLE["limit"]]
    assert not above
