"""A test case of JUnit XML between its opening and its closing tag, with all that is said about it."""

from __future__ import annotations

from msgspec import Struct, field

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import junit_outcomes
from highbar.importers.limits import LONGEST_TAG
from highbar.importers.record import refuse, shown

_COLUMNS = (*SCENARIO_TEXTS, "agent_version")
_NAMED = frozenset({"name", "value"})


class Ending(Struct):
    """How an attempt that did not pass ended, with its message."""

    kind: str
    message: str = ""
    repeated: bool = False
    is_attribute: bool = False
    tag: str = ""  # the tag of an ending that JUnit does not have, such as <timeout>: its text may deny it
    has_tags: bool = False  # whether the text may be that of a tag inside
    text: list[str] = field(default_factory=list)

    def reason(self) -> str:
        """The message, or else the text."""
        said = self.message or "".join(self.text).strip()
        return said or (f"<{self.tag}>" if self.tag else f"a {self.kind} without a message")

    def outcome(self) -> str | None:
        """The kind; UNCLEAR or None if the tag is one that JUnit does not have, and its text denies it."""
        if not self.tag or self.message or self.has_tags:
            return self.kind
        said = junit_outcomes.tag_outcome(self.tag, "".join(self.text))
        return self.kind if said not in (None, junit_outcomes.UNCLEAR) else said


class OpenCase(Struct):
    """A test case between its opening and its closing tag."""

    attributes: dict[str, str]
    endings: list[Ending] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)  # properties that are columns of a row
    properties: dict[str, list[str]] = field(default_factory=dict)  # other properties, each with its values
    unknown: str | None = None  # an attribute or a text with an unknown outcome

    def name(self) -> str:
        """The name, for messages and ids."""
        return self.attributes.get("name") or "(no name)"

    def read_attributes(self) -> None:
        """Note the outcome that its attributes give: a known bad word is an ending."""
        for key, value in self.attributes.items():
            kind = junit_outcomes.attribute_outcome(key, value)
            if kind == junit_outcomes.UNCLEAR:
                self.doubt(f"{key} is {shown(value)}")
            elif kind:
                self.endings.append(Ending(kind, f"{key}: {value}", is_attribute=True))

    def doubt(self, said: str) -> None:
        """Leave the test undecided, because of what is said about it."""
        self.unknown = junit_outcomes.undecided_reason(said)

    def read_inner(self, tag: str, attributes: dict[str, str]) -> None:
        """Look at the attributes of a tag inside: what says that a test did not pass leaves the test undecided."""
        is_pair = attributes.keys() >= _NAMED  # its value is that of what it names, as in a property
        if is_pair and junit_outcomes.property_outcome(attributes["name"], attributes["value"]):
            self.doubt(f"<{tag}>: {attributes['name']} is {shown(attributes['value'])}")
        for key, value in attributes.items():
            is_read = (is_pair and key in _NAMED) or junit_outcomes.is_step_left_out(tag, value)
            if not is_read and junit_outcomes.attribute_outcome(key, value):
                self.doubt(f"<{tag}>: {key} is {shown(value)}")

    def end(self, ending: Ending) -> None:
        """Add an ending, unless its text denies it."""
        outcome = ending.outcome()
        if outcome == junit_outcomes.UNCLEAR:
            self.doubt_tag(ending.tag, "".join(ending.text))
        elif outcome:
            self.endings.append(ending)

    def doubt_tag(self, tag: str, text: str) -> None:
        """Leave the test undecided, because of a tag and its text."""
        self.doubt(f"<{tag}> is {shown(text.strip())}" if text.strip() else f"it has <{tag}>")

    def add_property(self, name: str, attribute: str, text: str) -> None:
        """Add a property; its value is an attribute or the text between the tags. Refuses two values for one column."""
        values = [value for value in (attribute, text.strip()) if value.strip()]
        column = name.strip().lower()
        if column not in _COLUMNS:
            if any(junit_outcomes.property_outcome(name, value) for value in values):
                self.doubt(f"the property {name} is {shown(values[0])}")
            known = self.properties.setdefault(name, [])
            known += [value for value in (values or [""])[:1] if value not in known]
            return
        for value in values:
            before = self.columns.setdefault(column, value.strip())
            if before != value.strip():
                hint = "record it once for each test"
                test = self.name()
                refuse(
                    "import.contradiction",
                    f"{test}: the property {column} is {shown(before)} and {shown(value.strip())}",
                    hint=hint,
                )

    def tags(self) -> dict[str, str]:
        """The short properties that are not columns, each with all its values."""
        joined = {name: ", ".join(values) for name, values in self.properties.items() if name}
        return {name: value for name, value in joined.items() if len(value) <= LONGEST_TAG}
