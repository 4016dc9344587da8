"""Typed trials → scored trials: violated, behavior_score, passed, correct, tp/fp/fn, one row per trial.

Every expression gives a small integer or a boolean; nothing is divided here. The columns that it makes:

    e, v              error, violated                                          true or false
    p, f              passed, failed; a trial that is neither is undecided
    j                 the row says `unjudged`
    blank             nothing in the row judges anything
    open              undecided for every rate: the row says `unjudged`, or it is blank
    c_has, c          the answer can be judged, and it is right; c_known: whether that can be said
    o_has, tp, fp, fn the outcome can be judged, and what it was; o_known: whether that can be said
    v_known           whether it can be said that nothing was violated
    m, k              distinct behaviors expected, and those of them observed (0 on an error)
    k_open            those of them of which the row does not say whether they were observed
    s_m, s_k          behavior_score is s_k / s_m; s_open as k_open, 0 on a violation
    bare              an error of which nothing else is known: no expectation, or none that anybody looked at
    given, lacking    bits (ANSWER, BEHAVIORS and so on): what the row is judged by, and what it would lack if
                      another trial of its scenario, or the suite, has it
    why               for a trial that did not pass: in words

Amounts of what is not known are at their worst here; the relation `scenarios` adds what they could be at best.
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


_LOOKED = "coalesce(has_behaviors, false) AND coalesce(len(unmarked), 0) = 0"
LOOKED_AT = {
    "expected_behaviors": (1, _LOOKED),
    "must_not": (2, f"violation_count IS NOT NULL OR coalesce(must_not_says, false) OR ({_LOOKED})"),
    "expected": (4, "predicted IS NOT NULL OR correct IS NOT NULL OR expected IS NOT NULL"),
    "answer": (8, "correct IS NOT NULL"),
}
"""By what a suite demands: its bit in `looked_at`, and whether a trial says what became of it."""

FIRST = "list_position(expected_behaviors, x) = i"
"""Whether the behavior x at place i is not there before."""


ANSWER, BEHAVIORS, MUST_NOTS, OWN, VIOLATIONS = 1, 2, 4, 8, 16
"""Bits of what a trial can be judged by: what one trial of a scenario has, all of its trials must have to pass."""


def evidence_columns(positive: str | None, extras: int) -> list[tuple[str, str]]:
    """First step: what was seen. `extras` is how many columns of the user's own the policy measures."""
    repeats = f"list_position(list_transform(expected_behaviors, lambda x, i: {FIRST}), false) IS NOT NULL"
    some = "len(list_filter(seen, lambda x: x))"
    unmarked = "coalesce(len(list_filter(must_not, lambda x: list_contains(unmarked, x))) > 0, false)"
    given = "correct IS NOT NULL OR outcome IS NOT NULL OR expected IS NOT NULL"
    measured = "".join(f" AND extra_{i} IS NULL" for i in range(extras))
    return [
        ("e", "coalesce(error <> '', false)"),
        ("j", "coalesce(unjudged <> '', false)"),
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
        ("c_has", given),
        ("lists", "coalesce(len(must_not) > 0, false)"),
        # An empty mapping marks nothing: it is no more than an empty list.
        ("marked", "lists AND coalesce(must_not_says, false)"),
        # Whether the row says what became of its must-nots. Of an unjudged row only what it says is known.
        (
            "looked",
            (
                "violation_count IS NOT NULL OR marked OR (coalesce(has_behaviors, false) AND NOT j"
                f" AND NOT CASE WHEN unmarked IS NULL THEN false ELSE {unmarked} END)"
            ),
        ),
        (
            "silent",
            (
                "passed IS NULL AND NOT c_has AND NOT coalesce(has_behaviors, false) AND violation_count IS NULL"
                f" AND NOT marked AND quality_score IS NULL{measured}"
            ),
        ),
        ("expected_positive", _positive("expected", positive)),
        ("predicted_positive", f"coalesce({_positive('predicted', positive)}, false)"),
    ]


def answer_columns() -> list[tuple[str, str]]:
    """Second step: what follows for the answer and the behaviors."""
    right = "CASE WHEN correct IS NOT NULL THEN correct WHEN outcome IS NOT NULL THEN outcome IN ('tp', 'tn')"
    unnamed = (
        "len(list_filter(wanted, lambda x: NOT list_contains(behaviors, x)"
        " AND NOT coalesce(list_contains(denied, x), false)))"
    )
    return [
        ("k", "CASE WHEN e THEN 0 ELSE k_seen END"),
        ("k_open", f"CASE WHEN e THEN 0 WHEN behaviors IS NULL THEN m WHEN j THEN coalesce({unnamed}, 0) ELSE 0 END"),
        ("s_open", "CASE WHEN v THEN 0 ELSE k_open END"),
        ("c", f"c_has AND NOT e AND coalesce({right} ELSE predicted = expected END, false)"),
        # No prediction is a wrong one, unless the row says that nobody judged it.
        ("o_known", "NOT j OR e OR outcome IS NOT NULL OR predicted IS NOT NULL"),
        ("c_known", "o_known OR correct IS NOT NULL"),
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
                " ELSE NOT expected_positive AND (predicted_positive OR NOT o_known) END, false)"
            ),
        ),
        (
            "fn",
            (
                "coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'fn' OR (outcome = 'tp' AND e)"
                " ELSE expected_positive AND NOT (predicted_positive AND NOT e) END, false)"
            ),
        ),
        ("s_m", "CASE WHEN m > 0 AND NOT v THEN m ELSE 1 END"),
        ("s_k", "CASE WHEN v OR e THEN 0 ELSE k_seen END"),
        ("blank", "silent AND NOT v AND NOT e"),
        ("open", "blank OR (j AND NOT e)"),
        ("v_known", "v OR looked OR NOT (lists OR blank OR j)"),
        ("bare", "e AND (silent OR j OR (NOT c_has AND m = 0 AND NOT lists))"),
        (
            "given",
            (
                f"CAST(c_has AS INTEGER) * {ANSWER} + CAST(m > 0 AS INTEGER) * {BEHAVIORS}"
                f" + CAST(lists AS INTEGER) * {MUST_NOTS} + CAST(passed IS NOT NULL AS INTEGER) * {OWN}"
                f" + CAST(violation_count IS NOT NULL AS INTEGER) * {VIOLATIONS}"
            ),
        ),
    ]


def passing_columns(pass_score: Fraction) -> list[tuple[str, str]]:
    """Third step: did the trial fail, did it pass, and what would it lack if its scenario had that elsewhere."""
    # A pass_score of many digits (Python's 2/3 has 16) would overflow 64 bits.
    digits = [f"CAST({n} AS HUGEINT)" if n > 10**12 else f"{n}" for n in (pass_score.denominator, pass_score.numerator)]
    at_best = f"m = 0 OR (k + k_open) * {digits[0]} >= {digits[1]} * m"
    checked = "lists AND looked AND NOT coalesce(output_blank, false)"
    unlisted = "NOT lists AND violation_count IS NULL"
    return [
        (
            "f",
            (
                "v OR e OR CASE WHEN passed IS NOT NULL THEN NOT passed"
                f" ELSE NOT ({at_best}) OR (c_has AND c_known AND NOT c) END"
            ),
        ),
        (
            "p",
            (
                "NOT f AND NOT j AND CASE WHEN passed IS NOT NULL THEN passed"
                f" ELSE (m > 0 OR c_has OR ({checked})) AND k_open = 0 AND (looked OR NOT lists) END"
            ),
        ),
        (
            "lacking",
            (
                f"CASE WHEN p AND passed IS NULL THEN CAST(NOT c_has AS INTEGER) * {ANSWER}"
                f" + CAST(m = 0 AS INTEGER) * {BEHAVIORS} + CAST({unlisted} AS INTEGER) * {MUST_NOTS} + {OWN}"
                f" + CAST(violation_count IS NULL AS INTEGER) * {VIOLATIONS} ELSE 0 END"
            ),
        ),
    ]


HAPPENED = (
    "list_sort(list_distinct(list_concat(violation_names, happened,"
    " list_filter(must_not, lambda x: list_contains(behaviors, x)))))"
)
"""What happened that must not, by whichever column says it. A list that is NULL adds nothing; coalesce() of lists is
not used, since DuckDB copies the lists of all rows for it."""


TELLING = (
    "violation_names", "violation_count", "happened", "must_not", "behaviors", "denied", "wanted", "error", "unjudged",
    "passed", "e", "v", "p", "f", "j", "c_has", "c_known", "c", "m", "k", "k_open", "lists", "looked", "output_blank",
)  # fmt: skip
"""What `why_column` is made from."""


_TRIMMED = r"regexp_replace(error, '\s+$', '')"
_ONE_LINE = (
    rf"CASE WHEN regexp_matches({_TRIMMED}, '[\n\r]\s*at [^\n\r]*$')"
    rf" THEN regexp_replace({_TRIMMED}, '(?s)[\n\r].*$', '')"
    rf" ELSE regexp_replace({_TRIMMED}, '(?s)^.*[\n\r]\s*', '') END"
)
"""What a stack trace comes to: its last line, as Python has it, or the first if the last says where, as in Java."""


def why_column() -> str:
    """Why a trial did not pass, in words; NULL for one that did."""

    def listed(names: str) -> str:
        return f"array_to_string(list_slice({names}, 1, 10), ', ')"

    unseen = "NOT coalesce(list_contains(behaviors, x), false) AND (NOT j OR coalesce(list_contains(denied, x), false))"
    missing = f"list_filter(wanted, lambda x: {unseen})"
    violated = f"CASE WHEN len({HAPPENED}) > 0 THEN {listed(HAPPENED)} ELSE violation_count || ' times' END"
    parts = [
        f"CASE WHEN v THEN 'violated: ' || {violated} END",
        f"CASE WHEN e THEN 'error: ' || left({_ONE_LINE}, 300) END",
        f"CASE WHEN NOT e AND k + k_open < m THEN 'missing: ' || {listed(missing)} END",
        "CASE WHEN NOT e AND c_has AND c_known AND NOT c THEN 'wrong answer' END",
        "CASE WHEN NOT e AND NOT v AND NOT passed AND k = m AND (c OR NOT c_has) THEN 'marked as not passed' END",
        f"CASE WHEN NOT f THEN 'undecided: ' || {_undecided()} END",
    ]
    return f"CASE WHEN NOT p THEN concat_ws('; ', {', '.join(parts)}) END"


def _undecided() -> str:
    """Why nothing says whether a trial passed, the first reason that applies."""
    unlooked = "nothing says whether it did what it must not; if it did not, record violations: []"
    unseen = "no behaviors say which of the expected ones were observed; if none was, record behaviors: []"
    alone = (
        "behaviors without expected_behaviors to hold them against; a suite demands those, but does not fill them in"
    )
    silent = "nothing in the result says whether it passed; record passed, correct, or behaviors"
    return (
        "CASE WHEN j THEN left(unjudged, 300)"
        f" WHEN k_open > 0 THEN {literal(unseen)}"
        f" WHEN lists AND NOT looked THEN {literal(unlooked)}"
        " WHEN lists AND output_blank THEN 'the output is blank, and only its must-nots were checked'"
        f" WHEN m = 0 AND behaviors IS NOT NULL THEN {literal(alone)}"
        f" ELSE {literal(silent)} END"
    )
