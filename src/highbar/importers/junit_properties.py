"""The properties of a JUnit test case: those that describe its scenario, and those that are tags."""

from __future__ import annotations

from dataclasses import dataclass, field

from highbar.importers.record import refuse, shown

COLUMNS = ("category", "capability", "cluster", "agent_version")
"""The properties that are columns of a row."""

_LONGEST_TAG = 200


@dataclass(slots=True)
class Property:
    """One property: its value is an attribute, or the text between its tags."""

    name: str
    value: str
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Properties:
    """All that a test case says about itself by name."""

    columns: dict[str, str] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)

    def add(self, test: str, given: Property) -> None:
        """Take a property. One that is a column has one value: of two, nobody knows which the policy is to see."""
        text = "".join(given.text).strip()
        values = [value for value in (given.value, text) if value.strip()]
        column = given.name.strip().lower()
        if column not in COLUMNS:
            known = self.others.setdefault(given.name, [])
            known += [value for value in (values or [""])[:1] if value not in known]
            return
        for value in values:
            before = self.columns.setdefault(column, value.strip())
            if before != value.strip():
                hint = "record it once for each test"
                refuse(f"{test}: the property {column} is {shown(before)} and {shown(value.strip())}", hint=hint)

    def tags(self) -> dict[str, str]:
        """The others, as far as they are short; one that is given several times has all of its values."""
        joined = {name: ", ".join(values) for name, values in self.others.items() if name}
        return {name: value for name, value in joined.items() if len(value) <= _LONGEST_TAG}
