"""Every column of the results as one row of one table: the only place that knows the facts of a column.

The engine, the readers, the schemas, the messages and the metrics read their own tables from here, by the form of a
column rather than by its name. So a new column is one row of `COLUMNS`; if it measures something, it is read, checked,
summed, ranked and compared by that row alone, and the policy takes its limit. If it judges a trial,
`engine/scoring.py` needs an expression too.

Two tables: `COLUMNS` has what a row of the results may have, `QUANTITIES` what a scenario adds to a sum because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["identifies", "describes", "demands", "judges", "measures", "shows", "run", "origin"]
"""What a column is for.

    identifies  which scenario, which trial
    describes   the scenario: what it is about and how much it counts; a suite may fill it in
    demands     what must be true of a trial for it to pass; a suite may demand it, but never fills it in
    judges      what became of a trial
    measures    a number that a metric can be computed from
    shows       text for the reader of a report; nothing is computed from it
    run         the whole run: one agent, one suite, one judge
    origin      which run of ours wrote the row, and whether all rows of it are there
"""

Form = Literal[
    "id", "whole", "number", "text", "shown", "truth", "label", "outcome",
    "names", "observed", "violated", "count", "tags", "origin",
]  # fmt: skip
"""How a value is written; `observed` and `violated` are names with a mark, and called by the key of that mark.

    id        text or a whole number       label     text, true or false
    shown     text that is only shown      outcome   tp, fp, fn or tn
    truth     true or false                names     a list of text
    count     a list of text or a count    tags      {name: text}
    origin    {id, plan, planned, part}
"""

Direction = Literal["higher", "lower"]

QuantityKind = Literal["counted", "scored", "paired", "unbounded"]
"""What a scenario's value of a quantity can be.

    counted     the share of its trials that are 1, the others being 0
    scored      a mean of numbers from 0 to 1
    paired      only meaningful over another quantity, such as behaviors observed over behaviors expected
    unbounded   a mean of numbers from 0 up, in a column that has no worst value of its own
"""

EXTRA = "extra:"
"""The prefix of a quantity that is a user's own column: its name may be that of a built-in quantity."""
LARGEST_EXTRA = 10**18
"""The largest number in a user's own column that a metric measures."""
EXTRA_SCALE = 10**9
"""The scale of users' own columns: with numbers up to `LARGEST_EXTRA`, finer sums would not fit into 128 bits."""


class PolicyLimit(Struct, frozen=True):
    """The key of the policy that says what a trial without a value counts as, and its text in the policy's schema."""

    key: str
    meaning: str


class Column(Struct, frozen=True):
    """A column of the results.

    `least` and `most` bound the numbers that it takes. Sums are whole multiples of 1/`scale`, so that they are exact
    in whatever order the rows come.

    A column that measures says which direction is `better`. If it is `bounded`, a crashed trial counts as its worst
    number, and an undecided one as anything in between; if not, the policy's `limit` says what they count as in a mean.
    """

    name: str
    type: str  # in words, for the reference
    meaning: str
    kind: Kind
    form: Form = "text"
    least: float | None = None
    most: float | None = None
    scale: int = 1
    better: Direction | None = None
    bounded: bool = False
    limit: PolicyLimit | None = None
    quantities: tuple[str, ...] = ()  # quantities that are computed from it and have another name


_ANSWER = ("correct", "tp", "fp", "fn")
_BEHAVIOR = ("observed", "expected", "behavior_score")

# fmt: off
COLUMNS = (
    Column("id", "text or whole number, required", "the scenario", "identifies", "id"),
    Column("trial", "whole number", "which repetition of the scenario", "identifies", "whole"),
    Column("category", "text", "happy_path, edge_case, adversarial, regression, or any other", "describes"),
    Column("capability", "text", "what the scenario exercises", "describes"),
    Column("expected_behaviors", "list of text", "what should be seen", "demands", "names"),
    Column("behaviors", "list of text, {name: bool}, or [{name, observed}]", "what was seen", "judges", "observed",
           quantities=_BEHAVIOR),
    Column("must_not", "list of text, {name: bool}, or [{name, violated}]", "what must not happen", "demands",
           "violated", quantities=_BEHAVIOR),
    Column("violations", "list of text, or a count", "what did happen of it", "judges", "count"),
    Column("passed", "bool", "the caller's own judgment, if it has one", "judges", "truth"),
    Column("correct", "bool", "whether the answer was right", "judges", "truth", quantities=_ANSWER),
    Column("expected", "text or bool", "the right label", "demands", "label"),
    Column("predicted", "text or bool", "the label that the agent gave", "judges", "label", quantities=_ANSWER),
    Column("answer_checked", "true", "the scenario has a check for its answer: without `correct` it is undecided",
           "demands", "truth"),
    Column("outcome", "tp, fp, fn or tn", "what the prediction was, in place of the two labels", "judges", "outcome",
           quantities=_ANSWER),
    # 1e15 ms are 30,000 years: every engine sums such numbers exactly, however many rows there are.
    Column("latency_ms", "number, 0 to 1e15", "how long the trial took", "measures", "number",
           least=0, most=10**15, scale=10**6, better="lower",
           limit=PolicyLimit("latency_limit", "The 1 of normalized_latency; 5000ms by default. If it is given, a trial"
                             " without a latency counts as this in a mean.")),
    Column("tokens_used", "whole number, 0 or more", "how many tokens it used", "measures", "whole",
           least=0, better="lower", quantities=("tokens_both",),
           limit=PolicyLimit("tokens_limit", "What a crashed or undecided trial without `tokens_used` counts as.")),
    Column("quality_score", "number from 0 to 1", "how good the output was", "measures", "number",
           least=0, most=1, scale=10**12, better="higher", bounded=True, quantities=("quality_both",)),
    Column("cost_usd", "number, 0 or more", "what it cost", "measures", "number",
           least=0, most=10**9, scale=10**12, better="lower",
           limit=PolicyLimit("cost_limit", "What a crashed or undecided trial without `cost_usd` counts as, in USD.")),
    Column("error", "text", "how the agent crashed or timed out", "judges"),
    Column("unjudged", "text", "why this trial has no judgment, for no fault of the agent", "judges"),
    Column("input", "text", "what the agent was asked; shown, never trusted", "shows", "shown"),
    Column("output", "text", "what it answered; shown, never trusted", "shows", "shown"),
    # Above 0: a scenario that should not count is left out instead.
    Column("weight", "number above 0", "the scenario's own weight", "describes", "number",
           least=0.000001, most=10**9, scale=10**12),
    Column("cluster", "text", "scenarios that stand or fall together share one", "describes"),
    Column("tags", "{name: text}", "slices, as tags.name", "describes", "tags"),
    Column("agent_version", "text", "which version ran; one per check", "run"),
    Column("suite", "text", "which suite ran", "run", "shown"),
    Column("judge", "text", "who judged", "run", "shown"),
    Column("highbar_run", "{id, plan, planned, part}", "which run wrote the row, and how many rows it planned",
           "origin", "origin"),
)
# fmt: on

BY_NAME = {column.name: column for column in COLUMNS}
COLUMN_NAMES = frozenset(BY_NAME)


def column_names(*kinds: Kind, form: Form | None = None) -> tuple[str, ...]:
    """The columns of some kinds, and of one form if it is given, in the order of the table."""
    return tuple(column.name for column in COLUMNS if column.kind in kinds and form in (None, column.form))


def of_form(*forms: Form) -> tuple[str, ...]:
    """The columns of some forms, in the order of the table."""
    return tuple(column.name for column in COLUMNS if column.form in forms)


MEASURED = tuple(column for column in COLUMNS if column.kind == "measures")
UNBOUNDED = tuple(column for column in MEASURED if not column.bounded)
UNBOUNDED_NAMES = frozenset(column.name for column in UNBOUNDED)
SCENARIO_TEXTS = column_names("describes", form="text")
"""Text columns that describe a scenario; a suite may fill them in."""
DESCRIPTION_COLUMNS = (*SCENARIO_TEXTS, *column_names("describes", form="number"))
"""All columns that describe a scenario, except its tags."""
OF_THE_RUN = column_names("run")
SLICEABLE = frozenset({*SCENARIO_TEXTS, *OF_THE_RUN})
"""Columns by which scenarios may be chosen: they say what the agent was asked, never what it did."""
JUDGMENTS = frozenset({*column_names("judges"), *of_form("violated")})
"""Columns that can say whether a trial passed. `expected` alone is a demand without an answer."""
JUDGING = frozenset({*column_names("judges", "demands"), *(column.name for column in MEASURED if column.bounded)})
"""Columns that judge a trial, or say what it must do to pass."""


class Quantity(Struct, frozen=True):
    """A number that a scenario adds to a sum; terms of formulas name it."""

    name: str
    kind: QuantityKind
    better: Direction
    of: str = ""  # the column whose values it has; empty if it is computed
    bounded: bool = True  # whether a scenario's value is between 0 and 1


_OUTCOMES = ("tp", "fp", "fn")

QUANTITIES: Mapping[str, Quantity] = {
    quantity.name: quantity
    for quantity in (
        Quantity("passed", "counted", "higher"),
        Quantity("error", "counted", "lower"),
        Quantity("violated", "counted", "lower"),
        Quantity("unjudged", "counted", "lower"),
        Quantity("correct", "counted", "higher"),
        Quantity("tp", "counted", "higher"),
        Quantity("fp", "counted", "lower"),
        Quantity("fn", "counted", "lower"),
        Quantity("observed", "paired", "higher", bounded=False),
        Quantity("expected", "paired", "higher", bounded=False),
        Quantity("behavior_score", "scored", "higher"),
        Quantity("quality_both", "paired", "higher", "quality_score"),
        Quantity("tokens_both", "paired", "lower", "tokens_used", bounded=False),
        *(Quantity(one.name, "scored" if one.bounded else "unbounded", one.better or "higher", one.name, one.bounded)
          for one in MEASURED),
    )
}  # fmt: skip
"""Every quantity except the number of scenarios, pass_at_K, pass_hat_K, and users' own columns."""


def quantities_of(*kinds: QuantityKind) -> frozenset[str]:
    """The quantities of some kinds."""
    return frozenset(name for name, quantity in QUANTITIES.items() if quantity.kind in kinds)


BOUNDED = frozenset(name for name, quantity in QUANTITIES.items() if quantity.bounded)
"""Quantities that are between 0 and 1 in every scenario."""
SHARES = quantities_of("counted", "scored") - {*_OUTCOMES}
"""Bounded quantities whose mean is a rate; tp, fp and fn make a rate only together."""
WORSE_IF_HIGHER = frozenset(name for name, quantity in QUANTITIES.items() if quantity.better == "lower")


def recorded_column(quantity: str) -> str:
    """The column of the results whose values a quantity has; the quantity itself if it is computed."""
    known = QUANTITIES.get(quantity)
    return known.of or quantity if known else quantity


def sum_scale(quantity: str) -> int:
    """The denominator of a quantity's sums, which are whole multiples of 1 / scale."""
    if quantity.startswith(EXTRA):
        return EXTRA_SCALE
    known = QUANTITIES.get(quantity)
    return BY_NAME[known.of].scale if known and known.of else 1


def source_columns(quantity: str) -> frozenset[str]:
    """The columns of the results that a quantity can be computed from."""
    if quantity == "scenario":
        return frozenset()
    if quantity in ("passed", "violated") or quantity.startswith(("pass_at_", "pass_hat_")):
        return JUDGMENTS
    if quantity == "error":  # a trial that has any of these values, and no error, did not crash
        return JUDGMENTS | {column.name for column in MEASURED} | {"output"}
    found = frozenset(column.name for column in COLUMNS if quantity in column.quantities)
    return found or frozenset({quantity.removeprefix(EXTRA)})
