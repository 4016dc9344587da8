"""One trial as a file says it: a struct with a field for every column of `columns.py`.

A field of a column that is absent is UNSET, and one that is null is None: both are falsy, and both say nothing. Columns
of the user's own that a policy slices by or measures are further fields, of JSON text that nobody has read yet.
"""

from __future__ import annotations

import typing
from typing import Annotated, Any, cast

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, defstruct

Absent = UnsetType | None
Text = str | Absent
Truth = bool | Absent
Label = str | bool | Absent
_WHOLE = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_COUNT = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Observed(Struct, frozen=True, gc=False):
    """A behavior, and whether it was observed."""

    name: str
    observed: bool


class Violated(Struct, frozen=True, gc=False):
    """A must-not, and whether it happened."""

    name: str
    violated: bool


class Row(Struct, gc=False, kw_only=True):
    """One trial; `design.md` says what each column means."""

    id: Annotated[str, Meta(min_length=1)] | _WHOLE
    trial: _WHOLE | Absent = UNSET
    category: Text = UNSET
    capability: Text = UNSET
    expected_behaviors: list[str] | Absent = UNSET
    behaviors: list[str | Observed] | dict[str, bool | None] | Absent = UNSET
    must_not: list[str | Violated] | dict[str, bool | None] | Absent = UNSET
    violations: list[str] | _COUNT | Absent = UNSET
    passed: Truth = UNSET
    correct: Truth = UNSET
    expected: Label = UNSET
    predicted: Label = UNSET
    answer_checked: Truth = UNSET
    outcome: Annotated[str, Meta(pattern=r"\A(tp|fp|fn|tn)\Z")] | Absent = UNSET
    latency_ms: Annotated[float, Meta(ge=0, le=1e15)] | Absent = UNSET
    tokens_used: _COUNT | Absent = UNSET
    quality_score: Annotated[float, Meta(ge=0, le=1)] | Absent = UNSET
    cost_usd: Annotated[float, Meta(ge=0, le=1e9)] | Absent = UNSET
    error: Text = UNSET
    unjudged: Text = UNSET
    input: Text = UNSET
    output: Text = UNSET
    weight: Annotated[float, Meta(ge=0.000001, le=1e9)] | Absent = UNSET
    cluster: Text = UNSET
    tags: dict[str, str | None] | Absent = UNSET
    agent_version: Text = UNSET
    suite: Text = UNSET
    judge: Text = UNSET
    highbar_run: Raw = cast("Raw", UNSET)  # null is the text `null`: msgspec decodes no union with Raw


FIELDS = Row.__struct_fields__


def own_field(place: int) -> str:
    """The field of a column of the user's own; the column's name may be anything."""
    return f"own_{place}"


def with_own(names: tuple[str, ...]) -> type[Row]:
    """Rows that also hold these columns of the user's own, as JSON text."""
    if not names:
        return Row
    fields: list[tuple[str, Any, Any]] = [(own_field(at), Raw, UNSET) for at in range(len(names))]
    renamed = {own_field(at): name for at, name in enumerate(names)}
    return cast("type[Row]", defstruct("Row", fields, bases=(Row,), gc=False, kw_only=True, rename=renamed))


def exactly(present: tuple[str, ...], names: tuple[str, ...] = ()) -> type[Struct]:
    """Rows that hold just these fields, all of them, so that none needs to be counted; the others read as UNSET."""
    wide = with_own(names)
    types = typing.get_type_hints(wide, include_extras=True)
    renamed = {own_field(at): name for at, name in enumerate(names)}
    absent = {name: UNSET for name in wide.__struct_fields__ if name not in present}
    return defstruct(
        "Row",
        [(name, types[name]) for name in present],
        gc=False,
        kw_only=True,
        namespace=absent,
        rename={name: renamed.get(name, name) for name in present},
    )


def says(value: Any) -> bool:
    """Whether a field of a row says anything: null is absent."""
    return value is not None and value is not UNSET


def says_raw(value: Any) -> bool:
    """The same of a field that holds the text of JSON."""
    return value is not UNSET and bytes(value) != b"null"
