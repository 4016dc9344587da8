"""What a verdict says about early stopping: where each rule was decided, and how much of the plan was run."""

from __future__ import annotations

from typing import Any

from highbar.model.stopping import SequentialMethod, SequentialRun, Stopping
from highbar.store.forms import COUNT, TEXT, WHOLE, Context, field, object_of, one_of, optional, rebuilt

STOPPING = optional(
    object_of(
        Stopping,
        field(
            "method",
            one_of(SequentialMethod),
            "Exact boundaries, bets on scores, five looks, zero tolerance, or one look at the end.",
        ),
        field("planned", COUNT, "Scenarios that the accepted error is spread over: those in the plan, or the horizon."),
        field("seen", COUNT, "The longest prefix of the recorded order of which every scenario has finished."),
        field("decided_at", optional(COUNT), "After how many of them the rule was decided; null if it is open."),
        field("standing", optional(TEXT), "How close it is, in words."),
        description="Where a sequential rule was decided. Its value and interval are those at stopping.",
    )
)


def _run(fields: dict[str, Any], _context: Context) -> SequentialRun:
    """The struct from its fields. What was saved follows from the rest; the verdict's reader refuses other numbers."""
    del fields["saved"], fields["saved_trials"]
    return SequentialRun(**fields)


SEQUENTIAL = optional(
    rebuilt(
        object_of(
            dict,
            field("planned", COUNT, "Scenarios in the plan."),
            field("ran", COUNT, "Those of which all trials have ended."),
            field("saved", COUNT, "Those that were not run."),
            field("planned_trials", COUNT),
            field("ran_trials", COUNT),
            field("saved_trials", COUNT),
            field("seed", optional(WHOLE), "Of the recorded order; null if there is none."),
            field("problem", optional(TEXT), "Why there is no order, so that nothing was decided early."),
            description="What was run of what was planned.",
        ),
        _run,
    )
)
