"""Rows in every form that a column can have, sound and unsound: one row each, told apart by `n`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]
NUMBERS = (
    0, 1, -1, 0.5, 1.5, "12", True, None, 1e-9, 1e18, 9007199254740993, 12345678901234567890, 3.0, [1], {"a": 1}, 0.1,
    123456.789,
)  # fmt: skip
BEYOND = 1e6
"""A number of a column with a scale that is larger would not be refused as a row: it stops the whole sum."""


def every_row() -> list[Row]:
    """All of them, sound but for the one column that each is about."""
    return [
        {"id": f"row {number:03d}", "passed": True, **given, "n": number} for number, given in enumerate(_every_form())
    ]


def _every_form() -> Iterator[Row]:
    for given in (
        "a",
        "",
        "é x\u200b",
        "tab\tin",
        "\x7f",
        12,
        -3,
        1.5,
        3.0,
        True,
        ["a"],
        {"a": 1},
        "x" * 300,
        'q"uo\\te',
        "${x}",
    ):
        yield {"id": given}
    for column in ("passed", "correct"):
        yield from ({column: value} for value in (True, False, "true", "yes", 1, 0, None, "", [], {}))
    for column in ("latency_ms", "quality_score", "cost_usd", "weight", "tokens_used", "trial"):
        scaled = column in ("quality_score", "cost_usd", "weight")
        for value in NUMBERS:
            if not (scaled and isinstance(value, int | float) and abs(value) > BEYOND):
                yield {column: value}
    yield from _lists()
    yield from _answers()


def _lists() -> Iterator[Row]:
    lists = (
        [], ["a"], ["a", "a"], ["a", "b"], [None], [1], "a", None, {"a": True}, ['q"x', "b\\c", "é"], [""],
        ["a", ["b"]],
    )  # fmt: skip
    yield from ({"expected_behaviors": value, "behaviors": ["a"]} for value in lists)
    said = (
        [], ["a"], ["a", "a"], [None], [1], "a", {"a": True, "b": False}, {"a": None}, {"a": 1}, {"a": "true"}, {}, 5,
        [{"name": "a", "observed": True}], [{"name": "a", "observed": "true"}], [{"name": "a"}],
        [{"name": "a", "observed": True}, {"name": "a", "observed": False}],
    )  # fmt: skip
    yield from ({"behaviors": value, "expected_behaviors": ["a", "b"]} for value in said)
    forbidden = (
        [], ["x"], ["x", "a"], {"x": True}, {"x": False, "y": None}, {"x": "no"}, [{"name": "x", "violated": True}],
        [{"name": "x", "violated": False}, {"name": "y", "violated": True}], "x", 7,
    )  # fmt: skip
    yield from ({"must_not": value, "behaviors": ["a"], "output": "said"} for value in forbidden)
    counts = ([], ["x"], 0, 2, -1, 1.5, 2.0, "2", True, None, [1])
    yield from ({"violations": value, "must_not": ["x"]} for value in counts)


def _answers() -> Iterator[Row]:
    blank = (
        "",
        "  ",
        "\u200b",
        " x",
        None,
        5,
        "\u2800",
        "\u3164",
        "\u034f",
        "\u0301",
        "e\u0301",
        "\ufff5",
        "\U000e0101",
    )
    yield from ({"output": value, "must_not": ["x"], "violations": []} for value in blank)
    labels = (
        (True, True), (False, True), (True, None), ("spam", "spam"), ("spam", "ham"), ("true", True), (1, 1),
        (None, True), (["a"], "a"), ("", ""),
    )  # fmt: skip
    yield from ({"expected": expected, "predicted": predicted} for expected, predicted in labels)
    yield from ({"outcome": value} for value in ("tp", "fp", "fn", "tn", "TP", 1, None))
    errors = ("boom", "", None, 5, "x" * 500)
    yield from ({"error": value, "expected_behaviors": ["a"], "behaviors": ["a"]} for value in errors)
    tags = ({"l": "de"}, {"l": 1}, {"l": None}, "x", None, {}, {"a b/c~": "v"})
    yield from ({"tags": value} for value in tags)
    for value in ("happy_path", "", 5, None):
        yield dict.fromkeys(("category", "capability", "cluster", "agent_version", "suite", "judge", "input"), value)
