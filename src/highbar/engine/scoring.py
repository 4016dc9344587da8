"""Typed trials → scored trials: violated, behavior_score, passed, correct, tp/fp/fn, one row per trial.

Every expression gives a small integer or a boolean; nothing is divided here. The columns that this module adds:

    is_error, is_violated       the trial crashed; something happened that must not
    is_passed, is_failed        a trial that is neither is undecided
    is_unjudged                 the row says `unjudged`
    is_blank                    nothing in the row judges anything
    is_open                     undecided for every rate: the row says `unjudged`, or it is blank
    has_answer, is_correct      the answer can be judged, and it is right
    answer_known                whether the row says if the answer is right
    asks_known                  the row shows what its scenario asks for: a run wrote it, or it is judged
    has_outcome, tp, fp, fn     the outcome can be judged, and what it was
    outcome_known               whether the row says what it was
    labels_agree                whether the two labels are equal; NULL if the row does not have two
    contradicts                 the row says two things about its answer
    violation_known             whether the row says if anything was violated
    expected_count              distinct behaviors that are expected
    observed_count              those of them that were observed (0 on an error)
    unknown_count               those of them about which the row says nothing
    score_observed              behavior_score is score_observed / score_expected
    score_expected
    score_unknown               as unknown_count, but 0 on a violation
    given_bits                  ANSWER, BEHAVIORS and so on: what the row is judged by
    lacking_bits                what a row that passed by its evidence lacks if another trial, or the suite, has it
    why                         for a trial that did not pass: the reason in words

Steps on the way: `distinct_expected` has the expected behaviors without repetitions, `observed_flags` whether each was
observed, and `recorded_count` how many were, also on an error. `lists_must_nots` says that the row has must-nots,
`marks_must_nots` that it says of each of them if it happened, and `must_nots_checked` that somebody looked, in whatever
way. A row `is_silent` if nothing in it judges anything; `is_blank` adds that it neither crashed nor violated anything.

Four columns come from objects such as `behaviors: {greets: true, refunds: false}` and `must_not: {leaks: false}`:
`not_observed` has the behaviors that are false, `unmarked` those that are null, `marked_violations` the must-nots that
are true, and `all_must_nots_marked` tells if every must-not has a value.

Unknown amounts are at their worst here; the relation `scenarios` adds what they could be at best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from highbar.columns import COLUMN_NAMES, MEASURED
from highbar.engine.sql import literal


def _is_positive(label: str, positive: str | None) -> str:
    """SQL: whether a label is the positive one; NULL if the row does not say. Labels of text start with a quote."""
    if positive is None:
        return f"{label}_true"
    quoted = literal('"' + positive)
    if positive in ("true", "false"):
        return f"{label} IN ({quoted}, {literal(positive)})"
    return f"{label} = {quoted}"


_CHECKED = "coalesce(has_behaviors, false) AND coalesce(len(unmarked), 0) = 0"
LOOKED_AT = {
    "expected_behaviors": (1, _CHECKED),
    "must_not": (2, f"violation_count IS NOT NULL OR coalesce(all_must_nots_marked, false) OR ({_CHECKED})"),
    "expected": (4, "predicted IS NOT NULL OR correct IS NOT NULL OR expected IS NOT NULL"),
    "answer": (8, "correct IS NOT NULL"),
}
"""By demand of a suite: its bit in `looked_at`, and SQL for whether a trial says if the demand was met."""

FIRST = "list_position(expected_behaviors, x) = i"
"""SQL: whether position i has the first occurrence of the behavior x."""


ANSWER, BEHAVIORS, MUST_NOTS, OWN, VIOLATIONS = 1, 2, 4, 8, 16
"""Bits for what a trial can be judged by: to pass, every trial of a scenario needs what any of them has."""
OF_DIFFERENCES = ("given_bits", "lacking_bits")
"""The columns with such bits; needed only if the trials of a scenario can differ in them."""


_ANSWERS = frozenset({"correct", "outcome", "expected", "answer_checked"})
WITHOUT: tuple[tuple[frozenset[str], Mapping[str, str]], ...] = (
    (frozenset({"error"}), {"is_error": "false"}),
    (frozenset({"unjudged"}), {"is_unjudged": "false"}),
    (
        frozenset({"expected_behaviors"}),
        {"distinct_expected": "expected_behaviors", "observed_flags": "CAST(NULL AS BOOLEAN[])", "score_expected": "1"}
        | dict.fromkeys(("expected_count", "recorded_count", "observed_count", "unknown_count"), "0")
        | dict.fromkeys(("score_observed", "score_unknown"), "0"),
    ),
    (frozenset({"must_not"}), {"lists_must_nots": "false", "marks_must_nots": "false"}),
    (frozenset({"must_not"}), {"is_violated": "coalesce(violation_count > 0, false)"}),
    (frozenset({"must_not", "violations"}), {"is_violated": "false"}),
    (frozenset({"behaviors"}), {"must_nots_checked": "violation_count IS NOT NULL OR marks_must_nots"}),
    (frozenset({"behaviors", "must_not", "violations"}), {"must_nots_checked": "false"}),
    (_ANSWERS, {"says_answer": "false", "has_answer": "false", "is_correct": "false"}),
    (
        frozenset({"answer_checked"}),
        {"has_answer": "says_answer", "answer_known": "outcome_known OR correct IS NOT NULL"},
    ),
    (frozenset({"outcome", "expected"}), dict.fromkeys(("has_outcome", "tp", "fp", "fn"), "false")),
)
"""Simpler expressions for results that have none of some columns; of two that apply, the later one counts.

Planning the long forms takes longer than reading a small file."""


_NO_CONTRADICTION = {"labels_agree": "CAST(NULL AS BOOLEAN)", "contradicts": "false"}


def simplify(expressions: Mapping[str, str], columns: Collection[str]) -> dict[str, str]:
    """The expressions, simplified for results with these columns."""
    found = dict(expressions)
    if not may_contradict(columns):
        found |= {name: sql for name, sql in _NO_CONTRADICTION.items() if name in found}
    for absent, instead in WITHOUT:
        if not any(name in columns for name in absent):
            found.update({name: sql for name, sql in instead.items() if name in found})
    return found


def may_contradict(columns: Collection[str]) -> bool:
    """Whether a row of results with these columns can say more than one thing about its answer."""
    return len({"correct", "outcome"} & {*columns}) + ({"expected", "predicted"} <= {*columns}) > 1


def _same_label(positive: str | None) -> str:
    """SQL: whether the two labels are equal; NULL if they are not both labels: free text is no label."""
    truths = "expected_true = predicted_true"
    if positive is None:
        return truths
    quoted = literal('"' + positive)
    # `is_label`: some row expects this text.
    texts = f"expected_true IS NULL AND predicted_true IS NULL AND (is_label OR predicted = {quoted})"
    return f"coalesce({truths}, CASE WHEN {texts} THEN expected = predicted END)"


def evidence_columns(positive: str | None, extras: int) -> dict[str, str]:
    """First step: the evidence. `extras` is the number of the user's own columns that the policy measures."""
    # A behavior that is listed twice is expected once: else repeating an easy one would raise the score.
    repeats = f"list_position(list_transform(expected_behaviors, lambda x, i: {FIRST}), false) IS NOT NULL"
    flag_count = "len(list_filter(observed_flags, lambda x: x))"
    unmarked = "coalesce(len(list_filter(must_not, lambda x: list_contains(unmarked, x))) > 0, false)"
    # A score is a judgment too, so a row that has one is not silent; nor is one that has a number of the user's own.
    scores = [column.name for column in MEASURED if column.bounded] + [f"extra_{i}" for i in range(extras)]
    no_scores = "".join(f" AND {name} IS NULL" for name in scores)
    return {
        "is_error": "coalesce(error <> '', false)",
        "is_unjudged": "coalesce(unjudged <> '', false)",
        # Faster than list_distinct, which takes four times as long, and list_has_any and list_intersect (three times).
        "distinct_expected": (
            f"CASE WHEN {repeats} THEN list_filter(expected_behaviors, lambda x, i: {FIRST})"
            " ELSE expected_behaviors END"
        ),
        "expected_count": "coalesce(len(distinct_expected), 0)",
        "observed_flags": "list_transform(distinct_expected, lambda x: list_contains(behaviors, x))",
        "recorded_count": (
            "CASE WHEN behaviors IS NULL THEN 0 WHEN list_position(observed_flags, false) IS NULL THEN expected_count"
            f" ELSE {flag_count} END"
        ),
        "is_violated": (
            "coalesce(violation_count > 0, false) OR coalesce(len(marked_violations) > 0, false)"
            " OR coalesce(len(list_filter(must_not, lambda x: list_contains(behaviors, x))) > 0, false)"
        ),
        "says_answer": "correct IS NOT NULL OR outcome IS NOT NULL OR expected IS NOT NULL",
        "has_answer": "says_answer OR coalesce(answer_checked, false)",
        "lists_must_nots": "coalesce(len(must_not) > 0, false)",
        # An empty mapping marks nothing: it is no more than an empty list.
        "marks_must_nots": "lists_must_nots AND coalesce(all_must_nots_marked, false)",
        # Whether the row says if its must-nots happened. In an unjudged row, what `behaviors` does not name is unknown.
        # The inner CASE is for speed: DuckDB computes both sides of AND for every row, and only CASE skips rows.
        "must_nots_checked": (
            "violation_count IS NOT NULL OR marks_must_nots OR (coalesce(has_behaviors, false) AND NOT is_unjudged"
            f" AND NOT CASE WHEN unmarked IS NULL THEN false ELSE {unmarked} END)"
        ),
        "is_silent": (
            "passed IS NULL AND NOT says_answer AND NOT coalesce(has_behaviors, false) AND violation_count IS NULL"
            f" AND NOT marks_must_nots{no_scores}"
        ),
        "expected_positive": _is_positive("expected", positive),
        "predicted_positive": f"coalesce({_is_positive('predicted', positive)}, false)",
        "labels_agree": _same_label(positive),
    }


_WRONG = "coalesce(NOT correct OR NOT labels_agree, false)"
"""SQL: whether `correct` or the labels say that the answer is wrong."""
_RIGHT = "coalesce(correct OR outcome IN ('tp', 'tn'), false)"
"""SQL: whether `correct` or `outcome` says that it is right."""
_MISSED = "coalesce(outcome IN ('fp', 'fn'), false)"
"""SQL: whether `outcome` says that it is wrong."""
_OTHER = "coalesce(labels_agree AND outcome = CASE WHEN expected_positive THEN 'tn' ELSE 'tp' END, false)"
"""SQL: whether the labels agree on positive and `outcome` says negative, or the other way around."""


def answer_columns() -> dict[str, str]:
    """Second step: how the answer and the behaviors are judged."""
    # The caller's own `correct` comes first: it may accept answers that are not equal to `expected`.
    # Of two statements that contradict each other the worse counts.
    right = f"CASE WHEN correct IS NOT NULL OR outcome IS NOT NULL THEN NOT {_WRONG} AND NOT {_MISSED}"
    right += " WHEN answer_checked THEN false"  # the check of the answer comes before the label
    unnamed = (
        "len(list_filter(distinct_expected, lambda x: NOT list_contains(behaviors, x)"
        " AND NOT coalesce(list_contains(not_observed, x), false)))"
    )
    return {
        "observed_count": "CASE WHEN is_error THEN 0 ELSE recorded_count END",
        "unknown_count": (
            "CASE WHEN is_error THEN 0 WHEN behaviors IS NULL THEN expected_count"
            f" WHEN is_unjudged THEN coalesce({unnamed}, 0) ELSE 0 END"
        ),
        "score_unknown": "CASE WHEN is_violated THEN 0 ELSE unknown_count END",
        "is_correct": f"has_answer AND NOT is_error AND coalesce({right} ELSE predicted = expected END, false)",
        # No prediction is a wrong one, unless the row is unjudged.
        "outcome_known": "NOT is_unjudged OR is_error OR outcome IS NOT NULL OR predicted IS NOT NULL",
        "answer_known": (
            "CASE WHEN answer_checked THEN is_error OR outcome IS NOT NULL ELSE outcome_known END"
            " OR correct IS NOT NULL"
        ),
        "has_outcome": "outcome IS NOT NULL OR expected_positive IS NOT NULL",
        # An error turns a true positive into a false negative. A recorded false positive stays one.
        "tp": (
            f"coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'tp' AND NOT {_WRONG} AND NOT {_OTHER}"
            " ELSE expected_positive AND predicted_positive END AND NOT is_error, false)"
        ),
        "fp": (
            f"coalesce(CASE WHEN outcome IS NOT NULL THEN outcome = 'fp' OR (outcome = 'tn' AND {_WRONG})"
            " ELSE NOT expected_positive AND (predicted_positive OR NOT outcome_known) END, false)"
        ),
        "fn": (
            "coalesce(CASE WHEN outcome IS NOT NULL"
            f" THEN outcome = 'fn' OR (outcome = 'tp' AND (is_error OR {_WRONG} OR {_OTHER}))"
            " ELSE expected_positive AND NOT (predicted_positive AND NOT is_error) END, false)"
        ),
        "contradicts": (
            f"coalesce({_RIGHT} AND {_WRONG}, false) OR coalesce({_MISSED} AND (correct OR labels_agree), false)"
            f" OR coalesce(outcome IS NOT NULL AND {_OTHER}, false)"
        ),
        # A violation makes the score 0 of 1, whatever else was observed.
        "score_expected": "CASE WHEN expected_count > 0 AND NOT is_violated THEN expected_count ELSE 1 END",
        "score_observed": "CASE WHEN is_violated OR is_error THEN 0 ELSE recorded_count END",
        "is_blank": "is_silent AND NOT is_violated AND NOT is_error",
        "is_open": "is_blank OR (is_unjudged AND NOT is_error)",
        "violation_known": "is_violated OR must_nots_checked OR NOT (lists_must_nots OR is_blank OR is_unjudged)",
        "asks_known": "NOT (is_error OR is_unjudged OR is_silent) OR of_run",
        "given_bits": (
            f"CAST(has_answer AS INTEGER) * {ANSWER} + CAST(expected_count > 0 AS INTEGER) * {BEHAVIORS}"
            f" + CAST(lists_must_nots AS INTEGER) * {MUST_NOTS} + CAST(passed IS NOT NULL AS INTEGER) * {OWN}"
            f" + CAST(violation_count IS NOT NULL AS INTEGER) * {VIOLATIONS}"
        ),
    }


def passing_columns(pass_score: Fraction) -> dict[str, str]:
    """Third step: whether the trial failed, whether it passed, and the bits that it lacks if another trial has them."""
    # A pass_score of many digits (Python's 2/3 has 16) would overflow 64 bits.
    digits = [f"CAST({n} AS HUGEINT)" if n > 10**12 else f"{n}" for n in (pass_score.denominator, pass_score.numerator)]
    # Unknown behaviors count as observed: only a trial that misses `pass_score` even so has failed.
    at_best = f"expected_count = 0 OR (observed_count + unknown_count) * {digits[0]} >= {digits[1]} * expected_count"
    # An agent that answers nothing does nothing forbidden either: a blank output earns no pass by its must-nots alone.
    clean_must_nots = "lists_must_nots AND must_nots_checked AND NOT coalesce(output_blank, false)"
    # A trial that was judged by less than the others of its scenario cannot pass: to record less must never help.
    unlisted = "NOT lists_must_nots AND violation_count IS NULL"
    return {
        "is_failed": (
            "is_violated OR is_error OR CASE WHEN passed IS NOT NULL THEN NOT passed"
            f" ELSE NOT ({at_best}) OR (has_answer AND answer_known AND NOT is_correct) END"
        ),
        "is_passed": (
            "NOT is_failed AND NOT is_unjudged AND CASE WHEN passed IS NOT NULL THEN passed"
            f" ELSE (expected_count > 0 OR has_answer OR ({clean_must_nots})) AND unknown_count = 0"
            " AND (must_nots_checked OR NOT lists_must_nots) AND (answer_known OR NOT has_answer) END"
        ),
        "lacking_bits": (
            f"CASE WHEN is_passed AND passed IS NULL THEN CAST(NOT has_answer AS INTEGER) * {ANSWER}"
            f" + CAST(expected_count = 0 AS INTEGER) * {BEHAVIORS} + CAST({unlisted} AS INTEGER) * {MUST_NOTS}"
            f" + {OWN} + CAST(violation_count IS NULL AS INTEGER) * {VIOLATIONS} ELSE 0 END"
        ),
    }


VIOLATION_LIST = (
    "list_sort(list_distinct(list_concat(violation_names, marked_violations,"
    " list_filter(must_not, lambda x: list_contains(behaviors, x)))))"
)
"""The violations of a trial, from every column that names some. A NULL list adds nothing; coalesce() of lists is not
used, since DuckDB would copy the lists of all rows for it."""


EVIDENCE = (
    "violation_names", "violation_count", "marked_violations", "must_not", "behaviors", "not_observed",
    "distinct_expected", "error", "unjudged", "passed", "is_error", "is_violated", "is_passed", "is_failed",
    "is_unjudged", "has_answer", "answer_known",
    "is_correct", "expected_count", "observed_count", "unknown_count", "lists_must_nots", "must_nots_checked",
    "output_blank",
)  # fmt: skip
"""The columns that `why_column` reads."""


_TRIMMED = r"regexp_replace(error, '\s+$', '')"
_ONE_LINE = (
    rf"CASE WHEN regexp_matches({_TRIMMED}, '[\n\r]\s*at [^\n\r]*$')"
    rf" THEN regexp_replace({_TRIMMED}, '(?s)[\n\r].*$', '')"
    rf" ELSE regexp_replace({_TRIMMED}, '(?s)^.*[\n\r]\s*', '') END"
)
"""The message of a stack trace: its last line, as in Python, or its first if the last is a location, as in Java."""


def why_column(columns: Collection[str] = COLUMN_NAMES) -> str:
    """SQL for why a trial did not pass, in words, NULL for one that did; for results with these columns."""

    def listed(names: str) -> str:
        return f"array_to_string(list_slice({names}, 1, 10), ', ')"

    unseen = (
        "NOT coalesce(list_contains(behaviors, x), false)"
        " AND (NOT is_unjudged OR coalesce(list_contains(not_observed, x), false))"
    )
    missing = f"list_filter(distinct_expected, lambda x: {unseen})"
    violated = f"CASE WHEN len({VIOLATION_LIST}) > 0 THEN {listed(VIOLATION_LIST)} ELSE violation_count || ' times' END"
    too_few = "NOT is_error AND observed_count + unknown_count < expected_count"
    only_marked = (
        "NOT is_error AND NOT is_violated AND NOT passed AND observed_count = expected_count"
        " AND (is_correct OR NOT has_answer)"
    )
    parts = (
        ({"violations", "must_not"}, f"CASE WHEN is_violated THEN 'violated: ' || {violated} END"),
        ({"error"}, f"CASE WHEN is_error THEN 'error: ' || left({_ONE_LINE}, 300) END"),
        ({"expected_behaviors"}, f"CASE WHEN {too_few} THEN 'missing: ' || {listed(missing)} END"),
        (_ANSWERS, "CASE WHEN NOT is_error AND has_answer AND answer_known AND NOT is_correct THEN 'wrong answer' END"),
        ({"passed"}, f"CASE WHEN {only_marked} THEN 'marked as not passed' END"),
    )
    reasons = [sql for read_from, sql in parts if not read_from.isdisjoint(columns)]
    reasons.append(f"CASE WHEN NOT is_failed THEN 'undecided: ' || {_undecided_reason(columns)} END")
    return f"CASE WHEN NOT is_passed THEN concat_ws('; ', {', '.join(reasons)}) END"


def _undecided_reason(columns: Collection[str]) -> str:
    """SQL for why a trial is undecided: the first reason that applies."""
    unknown_must_not = "nothing says whether it did what it must not; if it did not, record violations: []"
    unseen = "no behaviors say which of the expected ones were observed; if none was, record behaviors: []"
    unexpected = (
        "behaviors without expected_behaviors to hold them against; a suite demands those, but does not fill them in"
    )
    silent = "nothing in the result says whether it passed; record passed, correct, or behaviors"
    reasons = (
        ("unjudged", "is_unjudged", "left(unjudged, 300)"),
        ("expected_behaviors", "unknown_count > 0", literal(unseen)),
        ("must_not", "lists_must_nots AND NOT must_nots_checked", literal(unknown_must_not)),
        ("must_not", "lists_must_nots AND output_blank", "'the output is blank, and only its must-nots were checked'"),
        ("behaviors", "expected_count = 0 AND behaviors IS NOT NULL", literal(unexpected)),
    )
    cases = "".join(f" WHEN {holds} THEN {words}" for read_from, holds, words in reasons if read_from in columns)
    return f"CASE{cases} ELSE {literal(silent)} END" if cases else literal(silent)
