"""What must be known before the first row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from msgspec import Struct, field

from highbar.columns import EXTRA, MEASURED
from highbar.core.rows.row import FIELDS
from highbar.model import Percentile, Term
from highbar.model.requests import Request

TAGS = "tags."
WHY = ("found", "missed")
"""Columns of rows that Highbar graded: by behavior, the evidence, and why it was not observed. Rows of others may use
the same names for anything. A row that is read again has them as its own columns."""
PLACES = {column.name: place for place, column in enumerate(MEASURED)}
"""The measured columns, in order; those of the user's own follow."""
OF_AGENTS = ("provider", "model", "prompt")
"""Tags or columns that name an agent."""
AGENT_TAGS = "agent_tags"
"""The column in which a run records the tags that came from the agent, as `{name: text}`."""


class Asked(Struct, frozen=True):
    """What must be known before the first row: how trials are scored, and which columns describe scenarios.

    `own` are the columns of the user's own that a row must hold, in the order of its fields.
    """

    positive: str | None
    pass_score: Fraction
    columns: tuple[str, ...]  # by which scenarios are grouped or chosen
    extras: tuple[str, ...]  # columns of the user's own that are measured
    own: tuple[str, ...]
    suite: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    demands: bool = False  # whether the suite demands anything of any scenario

    @property
    def places(self) -> Mapping[str, int]:
        """The place of each measured column."""
        return PLACES | {name: len(PLACES) + place for place, name in enumerate(self.extras)}


def asked_of(request: Request, columns: Iterable[str] = ()) -> Asked:
    """What a request needs to know of every row; `columns` are further ones, by which scenarios are described."""
    items: list[Term | Percentile] = [*request.terms, *request.percentiles]
    wheres = [item.where for item in items]
    wheres += [where for wanted in request.undecided for _, where in wanted.parts]
    wheres += [range_.where for range_ in request.ranges]
    named = [*request.slices, *(column for where in (*wheres, request.select) for column, _ in where), *columns]
    described = tuple(dict.fromkeys(named))
    extras = [one.column.removeprefix(EXTRA) for one in items if one.column.startswith(EXTRA)]
    ranged = [one.column for one in request.ranges if one.column not in FIELDS]
    tags = [f"{TAGS}{name}" for name in OF_AGENTS] + [name for name in described if name.startswith(TAGS)]
    of_suite = [name for fields in (request.suite.scenarios.values() if request.suite else ()) for name in fields]
    own = [*described, *extras, *ranged, *OF_AGENTS, *tags, AGENT_TAGS, *dict.fromkeys(of_suite)]
    return Asked(
        request.positive,
        request.pass_score,
        described,
        tuple(dict.fromkeys(extras)),
        tuple(name for name in dict.fromkeys(own) if name not in FIELDS),
        request.suite.scenarios if request.suite else {},
        bool(request.suite and request.suite.demands),
    )
