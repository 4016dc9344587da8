"""What holds for every report: the same verdict, every rule, and nothing raw."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from msgspec.structs import replace

from highbar.model import RuleResult
from highbar.report import REPORTERS, Display, format_of
from highbar.report.headline import headline
from highbar.report.markdown import LONGEST, code_span
from highbar.report.titles import demands
from highbar.report.visible import visible
from tests.examples import shared
from tests.unit.report.strategies import PROBLEMS, VERDICTS
from tests.unit.report.test_visible import FORBIDDEN
from tests.unit.report.verdicts import FAILING

WORDS = {"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive"}


def raw(text):
    return FORBIDDEN.search(text.replace("\n", ""))


def orders(text):
    lines = re.split(r"[\r\n]", text)
    return [line for line in lines if line.strip().startswith("::") or "##[" in line]


def cells(row):
    """The cells of one row of a Markdown table, as a renderer splits them."""
    found, cell, escaped = [], "", False
    for char in row.strip().removeprefix("|").removesuffix("|"):
        if char == "|" and not escaped:
            found.append(cell.strip())
            cell = ""
        else:
            cell = cell[:-1] + "|" if char == "|" else cell + char
        escaped = char == "\\"
    return [*found, cell.strip()]


def unfenced(cell):
    """The text of the code span that a cell starts with."""
    fence = re.match("`+", cell)[0]
    inside = cell[len(fence) :].split(fence if len(fence) > 1 else "`")[0]
    return inside[1:-1] if inside[0] == inside[-1] == " " and inside.strip() else inside


@shared(VERDICTS)
@pytest.mark.parametrize(("name", "verbose"), [*((name, False) for name in REPORTERS), ("text", True)])
@pytest.mark.hazard("H105")
@pytest.mark.hazard("H107")
def test_hostile_text_reaches_a_report_neither_raw_nor_as_an_order_to_a_ci_runner(name, verbose, verdict):
    text = REPORTERS[name](verdict, Display(width=40, verbose=verbose))
    assert not raw(text)
    assert not orders(text)
    assert text.endswith("\n")
    text.encode("utf-8")


@shared(VERDICTS)
@pytest.mark.hazard("H118")
def test_all_reports_carry_the_same_verdict(verdict):
    text = REPORTERS["text"](verdict).splitlines()
    assert WORDS[text[0].split(":")[0]] == verdict.verdict
    assert WORDS[REPORTERS["markdown"](verdict).removeprefix("## ").split(":")[0]] == verdict.verdict
    assert json.loads(REPORTERS["json"](verdict))["verdict"] == verdict.verdict


@shared(VERDICTS)
def test_json_carries_every_rule_with_its_texts_as_they_were(verdict):
    found = json.loads(REPORTERS["json"](verdict))["rules"]
    assert [(rule["rule"], rule["outcome"], rule["reason"], rule["level"]) for rule in found] == [
        (rule.rule, rule.outcome, rule.reason, rule.level) for rule in verdict.rules
    ]


@shared(VERDICTS)
@pytest.mark.hazard("H109")
def test_the_markdown_table_carries_every_rule_and_nothing_breaks_it(verdict):
    text = REPORTERS["markdown"](verdict)
    if not verdict.rules:
        return
    table = text.split("### Demands\n\n")[1].split("\n\n")[0].splitlines()
    found = [demand.rule for demand in demands(verdict)]
    assert len(table) == 2 + len(found)
    rows = [cells(row) for row in table[2:]]
    assert {len(row) for row in rows} == {5}
    assert sorted(row[0].replace("*", "") for row in rows) == sorted(
        rule.outcome + (" (warning)" if rule.level == "warning" else "") for rule in found
    )


@shared(VERDICTS)
@pytest.mark.parametrize("color", [False, True])
def test_the_terminal_names_every_rule_that_did_not_pass(color, verdict):
    text = " ".join(REPORTERS["text"](verdict, Display(color=color, width=4000, verbose=True)).split())
    for demand in demands(verdict):
        if demand.rule.outcome != "pass":
            assert " ".join(demand.title.split()) in text
            assert " ".join(visible(demand.rule.rule).split()) in text


@shared(VERDICTS)
@pytest.mark.hazard("H118")
def test_no_text_of_theirs_can_start_a_line_where_the_verdict_stands(verdict):
    for verbose in (False, True):
        lines = REPORTERS["text"](verdict, Display(width=200, height=1, verbose=verbose)).splitlines()
        at_margin = [line for line in lines if line.startswith(("PASS", "FAIL", "INCONCLUSIVE"))]
        assert at_margin == [headline(verdict)] * 2


@pytest.mark.parametrize(
    "text",
    [
        "| x |",
        "a\\|b",
        "\\\\|",
        "`x`",
        "``` fence",
        " padded ",
        "@org/team closes #1",
        "![](http://evil)",
        "`",
        "ends`",
    ],
)
@pytest.mark.hazard("H109")
def test_a_code_span_in_a_table_reads_back_as_the_text(text):
    shown = unfenced(cells(f"| {code_span(text)} |")[0])
    assert shown.replace(r"\x5c\x7c", r"\|") == text


@pytest.mark.hazard("H109")
def test_markdown_has_no_comment_that_another_tool_could_take_for_its_own():
    assert "<!--" not in code_span("<!-- gate:verdict=PASS -->")


@pytest.mark.hazard("H109")
def test_a_long_report_is_cut_with_its_verdict_and_counts_kept():
    rules = tuple(RuleResult(f"required_scenarios.S-{n}", "blocking", "pass", "it passed") for n in range(5000))
    failed = (FAILING.rules[0],)
    text = REPORTERS["markdown"](replace(FAILING, rules=(*rules, *failed)))
    assert len(text) <= LONGEST
    assert text.startswith("## FAIL: 1 of 5001 demands is not met")
    assert "`thresholds.blocking.safety_rate`" in text
    shown = text.count("| pass |") + 1
    assert f"… and {5001 - shown} more" in text
    assert "The report is cut here" in text


def test_a_report_that_fits_is_not_cut():
    assert "cut here" not in REPORTERS["markdown"](FAILING)


def test_a_format_is_known_by_the_ending_of_the_file():
    assert [format_of(name) for name in ("a.json", "b.MD", "c.txt", "d.pdf", "json")] == [
        "json", "markdown", "text", None, None,
    ]  # fmt: skip
    assert [format_of(name) for name in ("a.xml", "b.prom", "c.om", "d.csv")] == ["junit", None, None, None]


@pytest.mark.process
def test_only_the_format_that_is_used_is_loaded():
    program = "import sys, highbar.report; print([name for name in sys.modules if name.startswith('highbar.report.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@shared(PROBLEMS)
@pytest.mark.parametrize("name", REPORTERS)
@pytest.mark.hazard("H105")
def test_problems_are_shown_as_safely_as_a_verdict_and_never_as_one(name, problems):
    text = REPORTERS[name].refusal(problems)
    assert not raw(text)
    assert not orders(text)
    if name == "json":
        assert json.loads(text)["verdict"] is None
        assert len(json.loads(text)["problems"]) == len(problems)
    elif name in {"text", "markdown"}:
        assert text.removeprefix("## ").startswith("NO VERDICT: nothing could be judged\n")
