"""What the reports say about the bar itself: where progressive rules stand, and what differs from that of a ref."""

from __future__ import annotations

import json
from fractions import Fraction

from msgspec.structs import replace

from highbar.model import Against, DifferingFile, Goal, Progressive, RuleResult, Source
from highbar.report import REPORTERS, Display
from highbar.report.headline import headline
from tests.unit.report.verdicts import FAILING, ratio

NEXT = Goal(">= 0.9", met=False, distance=Fraction(2, 100), version="v3.0")
TARGET = Goal(">= 0.95", met=False, distance=Fraction(7, 100))
RULE = RuleResult(
    "progressive.accuracy",
    "blocking",
    "pass",
    "88.0% is ≥ 85% (over 50 scenarios)",
    "accuracy",
    (),
    ">= 0.85",
    ratio(44, 50),
    progressive=Progressive("v2.0", NEXT, TARGET),
)
DIFFERS = DifferingFile("highbar.yaml", "changed", "sha256 a", "sha256 b")
REMOVED = DifferingFile("suite.yaml", "removed", "sha256 c")
DIFF = "--- main:highbar.yaml\n+++ highbar.yaml\n@@ -1 +1 @@\n-  safety_rate: 100%\n"
DIFF += "+  safety_rate: 60% # `x` ::error::\x1b[2J"
AGAINST = Against(
    "main",
    "0123456789ab" + "c" * 28,
    "fail",
    Source("main:highbar.yaml", "a" * 64),
    (DIFFERS, REMOVED),
    DIFF,
    "d" * 32,
)


def section(text, heading):
    return text.partition(f"\n{heading}\n")[2].partition("\n\n")[0].splitlines()


def standing(progressive, report="text"):
    rule = replace(RULE, progressive=progressive)
    text = REPORTERS[report](replace(FAILING, rules=(rule,)), Display(verbose=True))
    return section(text, "Progressive thresholds")


def test_the_text_shows_the_step_that_holds_the_next_one_and_the_target():
    assert standing(RULE.progressive) == [
        "                        step    wanted  to go",
        "  progressive.accuracy  v2.0    ≥ 85%   holds now",
        "                        v3.0    ≥ 90%   2.0 points",
        "                        target  ≥ 95%   7.0 points",
    ]


def test_what_is_reached_says_so_and_what_cannot_be_said_is_undefined():
    reached = replace(NEXT, met=True, distance=Fraction(0))
    assert standing(Progressive("v2.0", reached))[-1].endswith("≥ 90%   reached")
    assert standing(Progressive("v2.0", replace(NEXT, distance=None)))[-1].endswith("undefined")
    touching = replace(NEXT, threshold="> 0.9", distance=Fraction(0))
    assert standing(Progressive("v2.0", touching))[-1].endswith("the value is just there, more is wanted")


def test_a_distance_that_is_tiny_is_not_shown_as_none():
    almost = replace(NEXT, distance=Fraction(1, 10**6))
    assert standing(Progressive("v2.0", almost))[-1].endswith("0.0001 points")


def test_without_progressive_rules_nothing_is_said_of_them():
    for report in ("text", "markdown"):
        assert "Progressive" not in REPORTERS[report](FAILING)


def test_markdown_has_the_same_in_a_table():
    text = REPORTERS["markdown"](replace(FAILING, rules=(RULE,)))
    assert "| `progressive.accuracy` | `v2.0` | ≥ 85% | holds now |\n|  | `v3.0` | ≥ 90% | 2.0 points |" in text
    assert "|  | target | ≥ 95% | 7.0 points |" in text


def test_json_has_the_same_as_numbers():
    (rule,) = json.loads(REPORTERS["json"](replace(FAILING, rules=(RULE,))))["rules"]
    assert rule["progressive"] == {
        "step": "v2.0",
        "next": {"version": "v3.0", "threshold": ">= 0.9", "met": False, "distance": 0.02},
        "target": {"version": None, "threshold": ">= 0.95", "met": False, "distance": 0.07},
    }


def test_what_differs_stands_above_the_last_line_and_only_there():
    verdict = replace(FAILING, against=AGAINST, warnings=(*AGAINST.notes, "something else"))
    text = REPORTERS["text"](verdict)
    assert "the bar differs from that of the ref" in " ".join(text.splitlines()[:2])
    assert "policy highbar.yaml, and the policy at main (0123456789ab)\n" in text
    *shown, last = section(text, f"Differs from main (digest {'d' * 32})")
    assert shown == ["  --- main:highbar.yaml", "  +++ highbar.yaml", "  @@ -1 +1 @@", "  -  safety_rate: 100%"]
    assert last == r"  +  safety_rate: 60% # `x` \x3a:error::\x1b[2J"
    assert text.endswith(f"\n\n{headline(verdict)}\n")
    assert section(text, "Notes") == ["  -  something else"]
    markdown = REPORTERS["markdown"](verdict)
    assert f"### Differs from `main` (digest {'d' * 32})\n\n- `--- main:highbar.yaml`\n" in markdown
    html = REPORTERS["html"](verdict)
    assert "-  safety_rate: 100%\n+  safety_rate: 60% # `x`" in html


def test_a_long_difference_is_cut_and_says_by_how_much():
    long = replace(AGAINST, difference="\n".join(f"+{n}" for n in range(100)))
    text = REPORTERS["text"](replace(FAILING, against=long))
    assert "  +39\n  … 60 more lines; the digest covers all\n" in text


def test_what_was_accepted_is_said_first():
    accepted = replace(AGAINST, accepted=True)
    for report in ("text", "markdown"):
        head = " ".join(REPORTERS[report](replace(FAILING, against=accepted)).splitlines()[:3])
        assert "what differs from the bar of the ref was accepted, by which it is fail" in head


def test_a_bar_that_does_not_differ_needs_no_section():
    text = REPORTERS["text"](replace(FAILING, against=replace(AGAINST, weakened=(), difference="", digest=None)))
    assert "the policy at main" in text
    assert "iffers" not in text


def test_json_has_the_ref_and_what_differs():
    found = json.loads(REPORTERS["json"](replace(FAILING, against=AGAINST)))["against"]
    assert (found["ref"], found["commit"], found["verdict"]) == ("main", AGAINST.commit, "fail")
    assert found["policy"] == {"file": "main:highbar.yaml", "sha256": "a" * 64}
    assert found["weakened"][1] == {"what": "suite.yaml", "change": "removed", "before": "sha256 c", "now": None}
    assert (found["difference"], found["digest"], found["accepted"]) == (DIFF, "d" * 32, False)
    assert json.loads(REPORTERS["json"](FAILING))["against"] is None
