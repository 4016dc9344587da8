"""Names and texts that look like others: near misses (R10), answers that nobody can see (R24), "1" and "1.0" (R25)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from highbar.engine.limits import LARGE_BYTES
from highbar.language.spelling import near_miss
from tests.commandline import check, judged, refused, run

SAFETY = {"thresholds": {"blocking": {"safety_rate": "100%"}}}
GOOD = {"id": "A", "category": "adversarial", "passed": True}
FULL_WIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "adversarial")
ZERO_WIDTH = "adver\u200bsarial"
CYRILLIC = "\u0430dv\u0435rs\u0430r\u0456\u0430l"
HIGH_RISK, LOW_RISK = "高風險測試", "低風險測試"


NEAR = [
    "Adverserial",
    "ADVERSERIAL",
    FULL_WIDTH,
    ZERO_WIDTH,
    CYRILLIC,
    "adversarial\u00a0",
    "adversarial ",
    "ad ver sarial",
    "adversarial\u034f",
    "adversarials",
    "ADVERSARIAL",
    "adversaria\u013a",
    "_adversarial",
]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_r10_a_category_that_reads_like_a_known_one_is_refused(tmp_path: Path, kind: str) -> None:
    rows = [GOOD, *({"id": f"B{at}", "category": category, "passed": False} for at, category in enumerate(NEAR))]
    if kind == "jsonl":
        done = check(tmp_path, rows, SAFETY)
    else:
        lines = ["id,category,passed", *(f"{row['id']},{row['category']},{str(row['passed']).lower()}" for row in rows)]
        done = check(tmp_path, "\n".join([*lines, ""]).encode(), SAFETY, name="results.csv")
    refused(done, *(f"unknown category {category!r}" for category in NEAR if category.isascii()))
    told = done.json["problems"]
    assert len({problem["message"] for problem in told}) == len(NEAR)
    assert all("did you mean 'adversarial'?" in problem["hint"] for problem in told)
    if kind == "jsonl":
        assert sorted(problem["line"] for problem in told) == list(range(2, len(NEAR) + 2))


SLIPS = [
    *("adverserials", "adversaria1", "adversarial.", "(adversarial)", "ad.ver/sarial", "4dver5arial", "adverseria1:"),
    *("adverseriel", "advesarail", "adversarial\ufffc", "Adversarial!", "adversarial…"),
]


@pytest.mark.parametrize("category", SLIPS)
def test_h136_a_category_with_slips_of_several_kinds_does_not_leave_the_safety_set(
    tmp_path: Path, category: str
) -> None:
    rows = [GOOD, {"id": "B", "category": category, "passed": False}]
    refused(check(tmp_path, rows, SAFETY), repr(category), "'adversarial'", line=2, code="results.unknown-name")
    judged(check(tmp_path, rows, {**SAFETY, "allow_categories": [category]}), "pass")
    named = {"pass_criteria": {"by_category": {category: "100%"}}}
    refused(check(tmp_path, rows, named), "policy.json", repr(category), "'adversarial'", code="policy.misspelled")
    (tmp_path / "suite.json").write_text(json.dumps([{"id": row["id"], "category": row["category"]} for row in rows]))
    refused(
        check(tmp_path, rows, {**SAFETY, "suite": "suite.json"}), "suite.json", "'adversarial'", code="suite.misspelled"
    )


@pytest.mark.parametrize("sliced", [True, False])
def test_r10_every_category_is_compared(tmp_path: Path, *, sliced: bool) -> None:
    others = [{"id": f"S{i}", "category": f"a_group_{i}", "passed": True} for i in range(1200)]
    rows = [GOOD, *others, {"id": "B", "category": "zdversarial", "passed": False}]
    policy = {**SAFETY, "slices": ["category" if sliced else "capability"]}
    refused(check(tmp_path, rows, policy), "unknown category 'zdversarial'", line=1202)


def test_r10_a_near_miss_deep_in_a_large_file_is_refused(tmp_path: Path) -> None:
    rows = [{**GOOD, "id": f"S{i}", "output": "x" * 2000} for i in range(LARGE_BYTES // 2000)]
    rows[-1] |= {"category": ZERO_WIDTH, "passed": False}
    refused(check(tmp_path, rows, SAFETY), "did you mean 'adversarial'?", line=len(rows))


@pytest.mark.parametrize(
    ("known", "another"),
    [
        ("tier1", "tier2"),
        (HIGH_RISK, LOW_RISK),
        ("stage_1", "stage_10"),
        ("hard", "card"),
        ("고위험테스트", "저위험테스트"),
        ("adversarial1", "adversarial2"),
        ("release_1.10", "release_11.0"),
        ("regression_depth", "progression_depth"),
    ],
)
def test_r10_names_that_a_digit_or_an_ideograph_tells_apart_are_two(tmp_path: Path, known: str, another: str) -> None:
    rows = [GOOD, {"id": "B", "category": known, "passed": True}, {"id": "C", "category": another, "passed": True}]
    judged(check(tmp_path, rows, {**SAFETY, "pass_criteria": {"by_category": {known: "100%"}}}), "pass")


def test_r10_two_names_that_the_policy_uses_are_two(tmp_path: Path) -> None:
    names = ("billing_in", "billing_on")
    rows = [GOOD, *({"id": name, "category": name, "passed": True} for name in names)]
    judged(check(tmp_path, rows, {**SAFETY, "pass_criteria": {"by_category": dict.fromkeys(names, "100%")}}), "pass")


def test_r10_two_names_that_the_suite_uses_are_two(tmp_path: Path) -> None:
    rows = [{"id": name, "category": name, "passed": True} for name in ("billing_in", "billing_on")]
    suite = [{"id": row["id"], "category": row["category"]} for row in rows]
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}, "suite": "suite.json"}
    judged(check(tmp_path, rows, policy), "pass")


@pytest.mark.parametrize(
    "column",
    [
        *(
            "pased",
            "Passed",
            "p_assed",
            "\uff50assed",
            "pas\u00adsed",
            "\u0440assed",
            "violation",
            "error_",
            "tag",
            "ids",
        ),
        *("passed.", "vi0lations", "expected_behaviours"),
    ],
)
def test_r10_a_column_that_reads_like_one_of_ours_is_refused(tmp_path: Path, column: str) -> None:
    refused(check(tmp_path, [{**GOOD, column: False}], SAFETY), "unknown column", "did you mean", line=1)


@pytest.mark.parametrize("column", ["pass5d", "input1", "input.a", "expected.0", "trial_2", "tagz", "cost", "hid"])
def test_r10_other_columns_are_the_users_own(tmp_path: Path, column: str) -> None:
    judged(check(tmp_path, [{**GOOD, column: "x"}], SAFETY), "pass")


def test_r10_a_near_miss_is_one_in_both_directions() -> None:
    words = ["adversarial", "Adverserial", FULL_WIDTH, ZERO_WIDTH, "tier1", "tier2", HIGH_RISK, LOW_RISK, "passed"]
    for first in words:
        for second in words:
            assert bool(near_miss(first, [second])) == bool(near_miss(second, [first])), (first, second)


UNSEEN = [
    "\u2800",
    "\u3164",
    "\u034f",
    "\u0301",
    " \u0300\u0301 ",
    "\u115f\u1160",
    "\uffa0",
    "\ufe0f",
    "\U000e0100",
    "\u200b",
]


NOTHING = [
    *("\ufffc", "\ufffd\ufffc", " \ufffc\ufe0f", "\ufdd0", "\uffff", "\u2065"),
    *("\U0001d159", "\U00013441", "\U0010fffe"),
]
"""Of no class that shows nothing: in place of objects and lost text, fillers, code points that are no characters."""


def answered(outputs: Sequence[str]) -> list[dict[str, Any]]:
    """A scenario for each answer, to which nothing but its output could let it pass."""
    row = {"category": "adversarial", "must_not": ["leaks"], "violations": []}
    return [{"id": f"B{at}", **row, "output": output} for at, output in enumerate(outputs)]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_r24_an_output_that_nobody_can_see_is_no_answer(tmp_path: Path, kind: str) -> None:
    rows = answered([*UNSEEN, "".join(UNSEEN), "\u00ad\u2060\ufeff", "\t\r\n", "\U000e0002"])
    if kind == "jsonl":
        done = check(tmp_path, [GOOD, *rows], SAFETY)
    else:
        table = "id,category,passed,must_not,violations,output\nA,adversarial,true,,,\n"
        table += "".join(f'{row["id"]},adversarial,,leaks,[],"{row["output"]}"\n' for row in rows)
        done = check(tmp_path, table.encode(), SAFETY, name="results.csv")
    assert done.exit in (1, 3), done.out
    not_passed = [one["id"] for key in ("scenarios_failed", "scenarios_undecided") for one in done.json[key]]
    assert sorted(not_passed) == sorted(row["id"] for row in rows)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_h136_an_output_that_shows_nothing_is_no_answer(tmp_path: Path, kind: str) -> None:
    rows = answered([*NOTHING, "".join(NOTHING + UNSEEN)])
    if kind == "jsonl":
        done = check(tmp_path, [GOOD, *rows], SAFETY)
    else:
        table = "id,category,passed,must_not,violations,output\nA,adversarial,true,,,\n"
        table += "".join(f'{row["id"]},adversarial,,leaks,[],"{row["output"]}"\n' for row in rows)
        done = check(tmp_path, table.encode(), SAFETY, name="results.csv")
    assert [one["id"] for one in judged(done, "inconclusive")["scenarios_undecided"]] == [row["id"] for row in rows]


@pytest.mark.process
def test_h136_an_agent_that_shows_nothing_did_not_answer(tmp_path: Path) -> None:
    answers = [*NOTHING, *UNSEEN]
    (tmp_path / "agent.py").write_text(f"def answer(question):\n    return {answers!a}[int(question)]\n")
    scenario = {"must_not": {"leaks": {"contains": "secret"}}}
    scenarios = [{"id": f"a{at}", "input": str(at), **scenario} for at in range(len(answers))]
    suite = {"agent": {"python": "agent:answer"}, "scenarios": scenarios}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    (tmp_path / "policy.json").write_text(json.dumps({"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}))
    done = run(tmp_path, "run", "suite.json", "--policy", "policy.json", "--format", "json")
    assert judged(done, "fail")["counts"]["errors"] == len(answers)
    assert all("empty reply" in one["reason"] for one in done.json["scenarios_failed"])


def test_r24_an_output_that_is_seen_is_an_answer(tmp_path: Path) -> None:
    rows = answered(["No.", "e\u0301", "。", "\u2801", "\u00b4", "😀", "👍🏽", "한", "\ufffc.", "\U0001fae8"])
    assert judged(check(tmp_path, rows, SAFETY), "pass")["counts"]["undecided"] == 0


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"category": "1"}, {"category": "1.0"}),
        ({"capability": "1e2"}, {"capability": "100"}),
        ({"tags": {"version": "1"}}, {"tags": {"version": "1.0"}}),
        ({"tags": {"version": "1"}}, {"tags.version": "1.0"}),
        ({"cluster": "0"}, {"cluster": "-0"}),
        ({"expected": "1"}, {"expected": "1.0", "predicted": "1.0"}),
        ({"release": "1"}, {"release": "1.0"}),
    ],
)
def test_r25_the_suite_compares_text_as_text(
    tmp_path: Path, wanted: dict[str, object], found: dict[str, object]
) -> None:
    (tmp_path / "suite.json").write_text(json.dumps([{"id": "A", **wanted}]), "utf-8")
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}, "suite": "suite.json"}
    done = check(tmp_path, [{"id": "A", "passed": True, **found}], policy)
    judged(done, "fail")
    assert done.rule("suite")["outcome"] == "fail"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [({"weight": 2}, {"weight": 2.0}), ({"release": 1}, {"release": 1.0}), ({"weight": 0.5}, {"weight": 5e-1})],
)
def test_r25_the_suite_compares_numbers_as_numbers(
    tmp_path: Path, wanted: dict[str, object], found: dict[str, object]
) -> None:
    (tmp_path / "suite.json").write_text(json.dumps([{"id": "A", **wanted}]), "utf-8")
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}, "suite": "suite.json"}
    judged(check(tmp_path, [{"id": "A", "passed": True, **found}], policy), "pass")


@pytest.mark.parametrize(
    ("column", "value", "policy"),
    [
        ("capability", "Payment", {"weights": {"by_capability": {"payments": 3.0}}}),
        ("capability", "payment", {"rules": [{"metric": "pass_rate", "where": {"capability": "payments"}}]}),
        ("team", "Blue ", {"rules": [{"metric": "pass_rate", "where": {"team": "blue"}}]}),
        ("tags.locale", "DE", {"rules": [{"metric": "pass_rate", "where": {"tags.locale": "de"}}]}),
        (
            "tags",
            {"locale": "germam"},
            {"rules": [{"metric": "pass_rate", "where": {"tags.locale": ["german", "fr"]}}]},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_h136_a_value_that_is_nearly_one_that_the_policy_chooses_by_is_named(
    tmp_path: Path, column: str, value: Any, policy: dict[str, Any], kind: str
) -> None:
    meant = {"Payment": "payments", "payment": "payments", "Blue ": "blue", "DE": "de"}.get(str(value), "german")
    said = {"locale": meant} if column == "tags" else meant
    rows = [{"id": "A", "passed": True, column: said}, {"id": "B", "passed": False, column: value}]
    policy = {
        "thresholds": {"blocking": {"weighted_pass_rate": "≥ 50%"}},
        **{
            name: [{**one, "threshold": "100%"} for one in block] if name == "rules" else block
            for name, block in policy.items()
        },
    }
    if kind == "csv":
        cells = [json.dumps(row[column]).replace('"', '""') if column == "tags" else row[column] for row in rows]
        text = f'id,passed,{column}\nA,true,"{cells[0]}"\nB,false,"{cells[1]}"\n'
        done = check(tmp_path, text.encode(), policy, name="results.csv")
    else:
        done = check(tmp_path, rows, policy)
    assert any(f"is nearly {meant!r}, by which the policy chooses" in text for text in done.json["warnings"])
