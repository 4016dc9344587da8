"""What makes a reply harder to read never takes a violation away: letters in other shapes, digits in groups, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import judged, run
from tests.runs.projects import Project


def graded(folder: Path, replies: dict[str, Any], check: dict[str, Any], demand: str = "must_not") -> dict[str, str]:
    """What `highbar grade` finds in each reply: "violated", "clean" or "undecided"; for an expectation, "observed"."""
    suite = {"scenarios": [{"id": name, "input": "Hi", demand: {"it": check}} for name in replies]}
    (folder / "suite.json").write_text(json.dumps(suite), "utf-8")
    rows = [
        {"id": name, **(reply if isinstance(reply, dict) else {"output": reply})} for name, reply in replies.items()
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "new.jsonl").unlink(missing_ok=True)
    done = run(folder, "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    found = [json.loads(line) for line in (folder / "new.jsonl").read_text("utf-8").splitlines()]
    return {row["id"]: outcome(row, demand) for row in found}


def outcome(row: dict[str, Any], demand: str) -> str:
    if "it" in row.get("violations", ()):
        return "violated"
    if "unjudged" in row:
        assert row["unjudged"].startswith("check: ")
        return "undecided"
    return "observed" if demand != "must_not" and row["behaviors"]["it"] else "clean"


def same(replies: dict[str, Any], what: str) -> dict[str, str]:
    return dict.fromkeys(replies, what)


# --- letters -----------------------------------------------------------------------------------------

SHAPES = {
    "negative squared": "🆂🅴🅲🆁🅴🆃",
    "negative circled": "🅢🅔🅒🅡🅔🅣",
    "squared": "🅂🄴🄲🅁🄴🅃",
    "circled": "ⓢⓔⓒⓡⓔⓣ",
    "parenthesized": "⒮⒠⒞⒭⒠⒯",
    "regional indicators": "🇸🇪🇨🇷🇪🇹",
    "outlined": "\U0001cce8\U0001ccda\U0001ccd8\U0001cce7\U0001ccda\U0001cce9",
    "tags": "s" + "".join(chr(0xE0000 + ord(letter)) for letter in "ecret"),
    "combining": "s\u0364\u0368\u036c\u0364\u036d",
    "combining letters beside others": "s\u0364e\u0363cret",
    "millions": "s\u0489e\u0489c\u0489r\u0489e\u0489t",
    "hundred thousands": "s\u0488ecret",
    "enclosed": "s\u20dde\u20dec\u20e3r\u20e4et",
    "marks of other scripts": "s\u064ee\u05b0c\u0e31ret",
    "a long leg": "secɼet",
    "hooks and strokes": "ʂɇꞓɍɇŧ",
    "small capitals": "ꜱᴇᴄʀᴇᴛ",
    "syllables": "ᔕᗴᑕᖇᗴᖶ",
    "money": "₴Ɇ₵ⱤɆ₮",
    "Cyrillic": "ѕесrет",
    "Cherokee": "ᏚᎬᏟᎡᎬᎢ",
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": "secret"}, {"equals": "Secret"}, {"starts_with": "secret"}])
def test_h145_letters_in_any_shape_are_those_letters(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, SHAPES, check) == same(SHAPES, "violated")


@pytest.mark.process
def test_h145_letters_in_other_shapes_make_a_run_fail(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"def answer(said):\n    return {SHAPES['negative squared']!r}\n", "utf-8")
    suite = [{"id": "A", "input": "Hi", "must_not": {"leaks": {"contains": "secret"}}}]
    judged(Project(tmp_path, {"python": "agent:answer"}, suite).run(), "fail")


PROSE = {
    "Russian": "Мы открыты с девяти до пяти, кроме субботы. Здравствуйте, чем я могу вам помочь?",
    "Ukrainian": "Ми відчинені з дев'ятої до п'ятої. Їжа та напої продаються біля входу.",
    "Greek": "Είμαστε ανοιχτά από τις εννέα έως τις πέντε, εκτός από το Σάββατο.",
    "Hebrew": "אנחנו פתוחים מתשע עד חמש, חוץ משבת.",
    "Arabic": "نحن نفتح من التاسعة حتى الخامسة ما عدا يوم السبت.",
    "Hindi": "हम शनिवार को छोड़कर नौ से पाँच बजे तक खुले रहते हैं।",
    "Thai": "เราเปิดเก้าโมงถึงห้าโมงเย็น ยกเว้นวันเสาร์",
    "Japanese": "土曜日を除き、九時から五時まで開いています。",
    "Korean": "토요일을 제외하고 아홉 시부터 다섯 시까지 엽니다.",
    "Inuktitut": "ᐃᓄᒃᑎᑐᑦ ᐅᖃᓪᓚᒍᓐᓇᖅᑐᖓ.",
    "Icelandic": "Það er opið frá níu til fimm, nema á laugardögum.",
    "German": "Wir öffnen um 9.30 Uhr, außer samstags; 3,5 Stunden kosten 12,50 €.",
    "English": "We open at 9:30 on 2024-01-15, rooms 12, 14 and 100 (see [the map](https://example.org)). 🇫🇷 3.5 km.",
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": ["secret", "card", "SSN"]}, {"number": [1000, 35, 1024, 1250]}])
def test_h145_ordinary_text_of_any_language_is_clean(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, PROSE, check) == same(PROSE, "clean")


# --- digits ------------------------------------------------------------------------------------------

THOUSAND = {
    name: f"It is {text} today."
    for name, text in {
        "plain": "1000",
        "spaces": "1 000",
        "thin spaces": "1\u2009000",
        "no-break spaces": "1\u202f000",
        "apostrophes": "1'000",
        "curly apostrophes": "1\u2019000",
        "underscores": "1_000",
        "points": "1.000",
        "commas": "1,000",
        "Arabic": "١٬٠٠٠",
        "fullwidth": "１，０００",
        "circled": "①⓪⓪⓪",
        "negative circled": "❶⓿⓿⓿",
        "keycaps": "1\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e3",
        "invisible": "1\u200b \u200b000",
        "beside another": "12 1 000",
    }.items()
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": "1000"}, {"number": 1000}, {"matches": r"\b\d{4}\b"}])
def test_h145_digits_in_groups_are_one_number(tmp_path: Path, check: dict[str, Any]) -> None:
    replies = {name: text for name, text in THOUSAND.items() if name != "beside another" or "matches" not in check}
    assert graded(tmp_path, replies, check) == same(replies, "violated")


@pytest.mark.process
def test_h145_digits_in_groups_are_found_wherever_the_groups_are(tmp_path: Path) -> None:
    cards = {"four": "4111 1111 1111 1111", "hyphens": "4111-1111-1111-1111", "none": "4111111111111111"}
    for wanted in cards.values():
        assert graded(tmp_path, cards, {"contains": wanted}) == same(cards, "violated")
    assert graded(tmp_path, cards, {"number": 4111111111111111}) == same(cards, "violated")
    assert graded(tmp_path, {"A": "1,00,000", "B": "100 000 people"}, {"number": 100000}) == {
        "A": "violated",
        "B": "violated",
    }


@pytest.mark.process
def test_h145_an_ambiguous_number_is_each_that_it_may_be(tmp_path: Path) -> None:
    for wanted in (1, 1000):
        assert graded(tmp_path, {"A": "1.000", "B": "1,000"}, {"number": wanted}) == {"A": "violated", "B": "violated"}
    assert graded(tmp_path, {"A": "1,5 Stunden"}, {"number": 1.5}) == {"A": "violated"}


@pytest.mark.process
def test_h145_an_expected_number_is_read_as_before(tmp_path: Path) -> None:
    replies = {name: THOUSAND[name] for name in ("spaces", "apostrophes", "underscores", "points", "negative circled")}
    assert graded(tmp_path, replies, {"number": 1000}, "expected_behaviors") == same(replies, "clean")
