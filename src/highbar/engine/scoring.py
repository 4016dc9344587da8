"""Typed trials → scored trials: violated, behavior_score, passed, correct, tp/fp/fn, one row per trial.

Every expression gives a small integer or a boolean; nothing is divided here. The columns that it makes:

    e, v, p, u        error, violated, passed, unjudged                        0 or 1
    c_has, c          the answer can be judged, and it is right
    o_has, tp, fp, fn the outcome is known, and what it was
    m, k              distinct behaviors expected, and those of them observed (0 on an error)
    s_has, s_m, s_k   behavior_score is s_k / s_m
    bare              an error that carries no expectation of any kind
    why               for a trial that did not pass: in words
"""

from __future__ import annotations

from fractions import Fraction

from highbar.engine.sql import literal

QUALITY = COST = WEIGHT = 10**12
LATENCY = 10**6
EXTRA = 10**9
"""Numbers are summed as whole multiples of 1/scale: exact, and the same in whatever order the rows come."""


def _positive(label: str, positive: str | None) -> str:
    """Whether a label is the positive one; NULL where that cannot be said. Text has a quote before it."""
    if positive is None:
        return f"{label}_true"
    quoted = literal('"' + positive)
    if positive in ("true", "false"):
        return f"{label} IN ({quoted}, {literal(positive)})"
    return f"{label} = {quoted}"


FIRST = "list_position(expected_behaviors, x) = i"
"""Whether the behavior x at place i is not there before."""


def evidence_columns(positive: str | None) -> list[tuple[str, str]]:
    """First step: what was seen."""
    repeats = f"list_position(list_transform(expected_behaviors, lambda x, i: {FIRST}), false) IS NOT NULL"
    some = "len(list_filter(seen, lambda x: x))"
    return [
        ("e", "coalesce(error <> '', false)"),
        # list_distinct costs four times this, list_has_any and list_intersect three times theirs
        (
            "wanted",
            (
                f"CASE WHEN {repeats} THEN list_filter(expected_behaviors, lambda x, i: {FIRST})"
                " ELSE expected_behaviors END"
            ),
        ),
        ("m", "coalesce(len(wanted), 0)"),
        ("seen", "list_transform(wanted, lambda x: list_contains(behaviors, x))"),
        (
            "k_seen",
            f"CASE WHEN behaviors IS NULL THEN 0 WHEN list_position(seen, false) IS NULL THEN m ELSE {some} END",
        ),
        (
            "v",
            (
                "coalesce(violation_count > 0, false) OR coalesce(len(happened) > 0, false)"
                " OR coalesce(len(list_filter(must_not, lambda x: list_contains(behaviors, x))) > 0, false)"
            ),
        ),
        ("expected_positive", _positive("expected", positive)),
        ("predicted_positive", f"coalesce({_positive('predicted', positive)}, false)"),
    ]


def answer_columns() -> list[tuple[str, str]]:
    """Second step: what follows for the answer and the behaviors."""
    given = "correct IS NOT NULL OR outcome IS NOT NULL OR expected IS NOT NULL"
    right = "CASE WHEN correct IS NOT NULL THEN correct WHEN outcome IS NOT NULL THEN outcome IN ('tp', 'tn')"
    return [
        ("k", "CASE WHEN e THEN 0 ELSE k_seen END"),
        ("c_has", given),
        ("c", f"({given}) AND NOT e AND coalesce({right} ELSE predicted = expected END, false)"),
        ("o_has", "outcome IS NOT NULL OR expected_positive IS NOT NULL"),
        (
            "tp",
            (
                "coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'tp'"
                " ELSE expected_positive AND predicted_positive END AND NOT e, false)"
            ),
        ),
        (
            "fp",
            (
                "coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'fp'"
                " ELSE NOT expected_positive AND predicted_positive END, false)"
            ),
        ),
        (
            "fn",
            (
                "coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'fn' OR (outcome = 'tp' AND e)"
                " ELSE expected_positive AND NOT (predicted_positive AND NOT e) END, false)"
            ),
        ),
        ("s_has", "m > 0 OR v"),
        ("s_m", "CASE WHEN m > 0 AND NOT v THEN m ELSE 1 END"),
        ("s_k", "CASE WHEN v OR e THEN 0 ELSE k_seen END"),
        (
            "checked",
            (
                "coalesce(len(must_not) > 0, false) AND (coalesce(must_not_says, false) OR violation_count IS NOT NULL"
                " OR coalesce(has_behaviors, false)) AND NOT coalesce(output_blank, false)"
            ),
        ),
        ("bare", f"e AND NOT ({given}) AND m = 0 AND coalesce(len(must_not), 0) = 0"),
    ]


def passing_columns(pass_score: Fraction) -> list[tuple[str, str]]:
    """Third step: did the trial pass, and did anything judge it."""
    reached = f"m = 0 OR k * {pass_score.denominator} >= {pass_score.numerator} * m"
    return [
        ("judged", "passed IS NOT NULL OR m > 0 OR c_has OR checked"),
        (
            "p",
            (
                "NOT v AND NOT e AND CASE WHEN passed IS NOT NULL THEN passed"
                f" ELSE judged AND ({reached}) AND (c OR NOT c_has) END"
            ),
        ),
        ("u", "NOT v AND NOT e AND NOT judged"),
    ]


HAPPENED = (
    "list_sort(list_distinct(list_concat(violation_names, happened,"
    " list_filter(must_not, lambda x: list_contains(behaviors, x)))))"
)
"""What happened that must not, by whichever column says it. A list that is NULL adds nothing; coalesce() of lists is
not used, since DuckDB copies the lists of all rows for it."""


TELLING = (
    "violation_names", "violation_count", "happened", "must_not", "behaviors", "wanted", "error", "passed",
    "e", "v", "p", "u", "c_has", "c", "m", "k",
)  # fmt: skip
"""What `why_column` is made from."""


def why_column() -> str:
    """Why a trial did not pass, in words; NULL for one that did."""

    def listed(names: str) -> str:
        return f"array_to_string(list_slice({names}, 1, 10), ', ')"

    missing = "list_filter(wanted, lambda x: NOT coalesce(list_contains(behaviors, x), false))"
    violated = f"CASE WHEN len({HAPPENED}) > 0 THEN {listed(HAPPENED)} ELSE violation_count || ' times' END"
    parts = [
        f"CASE WHEN v THEN 'violated: ' || {violated} END",
        "CASE WHEN e THEN 'error: ' || left(error, 300) END",
        f"CASE WHEN NOT e AND k < m THEN 'missing: ' || {listed(missing)} END",
        "CASE WHEN NOT e AND c_has AND NOT c THEN 'wrong answer' END",
        "CASE WHEN NOT e AND NOT v AND NOT passed AND k = m AND (c OR NOT c_has) THEN 'marked as not passed' END",
        "CASE WHEN u THEN 'unjudged: nothing in the result says whether it passed' END",
    ]
    return f"CASE WHEN NOT p THEN concat_ws('; ', {', '.join(parts)}) END"
