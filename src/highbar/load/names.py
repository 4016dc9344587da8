"""What other people call the columns of results, and how they write a verdict: the tables that a guess is based on.

Names are compared in lower case with underscores (`testCaseId` is test_case_id). The names of one column are in groups,
the clearest first. All names in one group are equally clear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        (
            "scenario_id case_id test_id testcase_id test_case_id task_id question_id sample_id example_id item_id"
            " prompt_id query_id problem_id dataset_item_id reference_example_id qid scenario case test testcase"
            " test_case test_name case_name scenario_name task task_name"
        ),
        "name title key slug nodeid doc_id row_id index idx number uuid guid uid run_id trace_id",
        "question user_input prompt query input",
    ),
    "trial": ("attempt epoch repeat repetition iteration trial_index trial_number run_number replicate",),
    "category": ("test_category scenario_category case_category", "type kind group test_type scenario_type"),
    "capability": ("skill topic area domain subject feature intent",),
    "passed": (
        "pass is_pass is_passed has_passed test_passed success succeeded successful is_success ok is_ok",
        ("status result verdict state test_status test_result test_outcome judgment grade decision conclusion outcome"),
    ),
    "correct": ("is_correct correctness answer_correct exact_match is_match match right is_right",),
    "expected": (
        (
            "expected_output expected_answer expected_label ideal ground_truth reference reference_answer gold"
            " gold_label target label true_label y_true correct_answer reference_output"
        ),
    ),
    "predicted": (
        "prediction predicted_label predicted_answer y_pred",
        "response output answer completion actual actual_output model_output model_answer picked sampled",
    ),
    "outcome": (),
    "expected_behaviors": ("required_behaviors",),
    "behaviors": ("observed_behaviors",),
    "must_not": ("forbidden_behaviors", "forbidden"),
    "violations": ("policy_violations rule_violations",),
    "error": ("error_message exception err", "traceback error_type crash crashed timed_out is_error has_error"),
    "unjudged": (),
    "tokens_used": ("total_tokens tokens token_count num_tokens n_tokens tokens_total usage_total_tokens",),
    "cost_usd": ("cost total_cost total_cost_usd price_usd usd cost_in_usd estimated_cost",),
    "quality_score": (),
    "weight": (),
    "cluster": (),
    "input": ("question user_input prompt query inputs request",),
    "output": ("response answer completion prediction actual_output model_output generated generation reply outputs",),
    "agent_version": ("version",),
    "suite": (),
    "judge": (),
    "tags": (),
}
"""By column: groups of its names elsewhere."""

TAGS = frozenset({"locale", "language", "lang", "model", "model_name", "provider", "difficulty", "split"})
"""Columns that become a tag with the same name."""
TIMES = frozenset(
    {
        *("latency", "duration", "elapsed", "time", "runtime", "took", "response_time", "wall_time"),
        *("execution_time", "total_time", "elapsed_time", "run_time", "inference_time", "latency_total"),
    }
)
"""Names of durations, without a unit."""
MILLISECONDS = frozenset({"ms", "msec", "millis", "milliseconds"})
SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
STATES = frozenset({"status", "state", "result", "outcome", "test_status", "conclusion"})
"""Columns in which `success` may only mean that the run ended."""

PAIRS = (
    ("pass", "fail"),
    ("passed", "failed"),
    ("correct", "incorrect"),
    ("right", "wrong"),
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("1", "0"),
    ("1.0", "0.0"),
    ("success", "failure"),
    ("succeeded", "failed"),
    ("successful", "unsuccessful"),
    ("ok", "not ok"),
)
"""Words for a trial that passed, each with its opposite."""
GOOD = frozenset(good for good, _ in PAIRS)
BAD = frozenset({*(bad for _, bad in PAIRS), "failing", "fails", "not_ok", "rejected"})
CRASHED = frozenset(
    {"error", "errored", "crash", "crashed", "timeout", "timed out", "timed_out", "exception", "broken"}
)
UNJUDGED = frozenset({"skipped", "skip", "pending", "not run", "not_run", "unknown", "n/a", "unjudged"})
FINISHED = frozenset({"success", "succeeded", "successful", "ok", "completed", "complete", "done", "finished"})
"""Words that may only mean that a run ended."""


def plain_name(name: str) -> str:
    """The name in lower case with underscores.

    >>> plain_name("testCaseId"), plain_name("Test Case (ID)"), plain_name("latencyMs")
    ('test_case_id', 'test_case_id', 'latency_ms')
    """
    return _OTHER.sub("_", _CAMEL.sub("_", name).lower()).strip("_")


def meanings(name: str) -> Mapping[str, int]:
    """The columns that a name may mean, each with the number of its group: 0 for the column's own name.

    >>> meanings("id"), meanings("test_id"), meanings("answer")
    ({'id': 0}, {'id': 1}, {'predicted': 2, 'output': 1})
    """
    return _MEANINGS.get(name, {})


def _by_name() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for column, groups in NAMES.items():
        for place, group in enumerate((column, *groups)):
            for name in group.split():
                found.setdefault(name, {}).setdefault(column, place)
    return found


_MEANINGS = _by_name()


def unit_of(name: str) -> str | None:
    """The unit of a duration by its name: `ms`, `s`, or `unknown`; None if the name is not that of a duration.

    >>> unit_of("latency_ms"), unit_of("elapsed_s"), unit_of("duration"), unit_of("start_time"), unit_of("seconds")
    ('ms', 's', 'unknown', None, 's')
    """
    stem, _, last = name.rpartition("_")
    # `ms` alone is a duration, but `s` alone may mean anything.
    if last in MILLISECONDS | SECONDS and (not stem or stem in TIMES) and len(last) > (0 if stem else 1):
        return "ms" if last in MILLISECONDS else "s"
    return "unknown" if name in TIMES else None
