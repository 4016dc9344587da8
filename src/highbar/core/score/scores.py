"""What is known of a run so far: exact, mergeable, the same in any order.

A row is first reduced to its facts and its description, of which millions of rows have few different ones; the numbers
of measured columns are kept beside them. Nothing here keeps a text: `reasons.py` reads those of failed trials again.

    add      rows, as they come
    settle   the trials of each scenario together: `Settled`, from which `groups.py` makes sums
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from highbar.columns import MEASURED, SLICEABLE
from highbar.core.rows.row import FIELDS, own_field, says, says_raw, with_own
from highbar.core.score.asked import AGENT_TAGS, OF_AGENTS, PLACES, TAGS, Asked
from highbar.core.score.differences import SuiteDifferences
from highbar.core.score.texts import raw_text, scalar_text, seen
from highbar.core.score.told import told_by
from highbar.core.score.trial import DEMANDED, IN_SUITE, Facts, Trial, facts_of, score
from highbar.model import Where

NOT_THERE = "planned, but not in the results"
"""What `unjudged` says of a planned trial that no row has, and the name of the part of such rows."""
NO_NUMBER = -(2**63)
"""In place of the number of a trial that has none."""
NAN = float("nan")
_DESCRIBING = ("category", "capability", "cluster", "weight")
_MOST_KNOWN = 100_000
"""What rows say is forgotten beyond so many kinds of it, to bound the memory; their facts are few."""


class Described(Struct, frozen=True, gc=False):
    """What describes a scenario: values of its own columns, None where a row does not say."""

    category: str | None
    capability: str | None
    cluster: str | None
    weight: float | None
    values: tuple[str | None, ...]  # of the columns by which scenarios are grouped or chosen


class Batch(Struct):
    """Rows that were read together: where they begin and end, and all columns that any of them has."""

    begin: int
    end: int
    columns: frozenset[str]
    of: Any = None  # parts of the same are one: their columns are those of all


class Scores:
    """The trials of a run, in the order in which they came."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.ids: dict[str, int] = {}  # the scenario of each id, in the order of their first trials
        self.scenario = array("I")  # of each trial
        self.number = array("q")  # of each trial within its scenario
        self.kind = array("I")  # of each trial: its place in `facts`
        self.description = array("I")  # of each trial: its place in `descriptions`
        self.numbers: list[array[Any]] = [array("d") for _ in asked.places]  # NaN where a trial has no number
        self.numbers[PLACES["tokens_used"]] = array("q")  # -1 where it has none
        self.facts: list[Facts] = []
        self.descriptions: list[Described] = []
        self.parts: list[Batch] = []
        self.labels: set[str] = set()  # all texts that any row expects
        self.unsure: list[tuple[int, bool, str]] = []  # trials, whether their labels are equal, and the predicted one
        self.versions: set[str] = set()  # of the agent
        self.whole_ids: set[str] = set()  # ids that are whole numbers
        self.text_digits: set[str] = set()  # ids that are text and look like one
        self.origins: Counter[str | None] = Counter()  # by the text of `highbar_run`
        self.agent_tags: dict[str, set[str]] = {}  # by tag, the ids of rows in which the agent gave it
        self.origin_places: list[int] | None = None  # of a part: the place of each trial among all
        self.of_agents: dict[int, tuple[str | None, ...]] = {}  # by trial, what names its agent
        self.tags: set[str] = set()  # the names of all tags
        self.not_text: set[str] = set()  # columns by which rows are chosen, with a value that is not text
        self.differences = SuiteDifferences(asked.suite)
        self._kinds: dict[Facts, int] = {}
        self._known: dict[Any, int] = {}  # kinds by what rows say in the columns that judge them
        self._described: dict[Any, int] = {}
        self._fields = {name: own_field(place) for place, name in enumerate(asked.own)}
        self._extras = tuple(self._fields[name] for name in asked.extras)
        self.row = with_own(asked.own)
        self._readers = tuple(self._reader(name) for name in asked.columns)
        self._read_from = {
            read: frozenset({"tags" if name.startswith(TAGS) else name, self._fields.get(name, name)})
            for read, name in zip(self._readers, asked.columns, strict=True)
        }
        self._of_agents = frozenset(
            {"tags", *(self._fields[name] for one in OF_AGENTS for name in (one, f"{TAGS}{one}"))}
        )

    # --- adding ------------------------------------------------------------------------------

    def add(self, rows: Iterable[Any]) -> None:
        """Add some rows. Those of one class are read column by column: what none of them has costs nothing."""
        for kind, alike in groupby(rows, key=lambda row: row.__struct_fields__):
            self._add(list(alike), frozenset(kind))

    def end_part(self, begin: int, columns: Iterable[str], of: Any = None) -> None:
        """Say which columns the rows since `begin` have; those `of` the same file format count together."""
        self.parts.append(Batch(begin, len(self.kind), frozenset(columns), of))

    def __len__(self) -> int:
        return len(self.kind)

    def _add(self, rows: Sequence[Any], fields: frozenset[str]) -> None:
        """Add rows of one class, which has these fields."""
        begin = len(self.kind)
        names = self._names(rows)
        add_id, count = self.ids.setdefault, self.ids.__len__
        self.scenario.extend([add_id(name, count()) for name in names])
        numbers = [row.trial for row in rows] if "trial" in fields else [NO_NUMBER] * len(rows)
        self.number.extend([number if number.__class__ is int else NO_NUMBER for number in numbers])
        self.kind.extend(self._facts(rows, self._add_numbers(rows, fields)))
        self.description.extend(self._describe(rows, fields))
        if self.asked.positive is not None and "expected" in fields:
            for at, row in enumerate(rows, begin):
                self._note_labels(at, row)
        if "agent_version" in fields:
            self.versions.update({seen(row.agent_version) for row in rows} - {None})  # type: ignore[arg-type]
        if self.asked.suite:
            for row, name in zip(rows, names, strict=True):
                self.differences.note(row, name, self._text)
        self._note_run(rows, names, fields)
        if not self._of_agents.isdisjoint(fields):
            for at, row in enumerate(rows, begin):
                self._note_agent(at, row)

    def _names(self, rows: Sequence[Any]) -> list[str]:
        """The ids as text."""
        names = [row.id for row in rows]
        if set(map(type, names)) != {str}:
            self.whole_ids.update(str(name) for name in names if name.__class__ is not str)
        # `1` and `"1"` become the same text, so texts that look like whole numbers are remembered.
        self.text_digits.update(
            [name for name in names if name.__class__ is str and name < ":" and name.lstrip("-").isdecimal()]
        )
        return names if not self.whole_ids else [name if name.__class__ is str else str(name) for name in names]

    def _add_numbers(self, rows: Sequence[Any], fields: frozenset[str]) -> list[int]:
        """Keep the numbers of the rows; return the bits of those that each row has."""
        bits = [0] * len(rows)
        for place, column in enumerate(MEASURED):
            absent = -1 if column.form == "whole" else NAN
            wanted = int if column.form == "whole" else float
            if column.name not in fields:
                self.numbers[place].extend([absent] * len(rows))
                continue
            values = list(map(attrgetter(column.name), rows))
            if set(map(type, values)) == {wanted}:
                self.numbers[place].extend(values)
                bits = [one | 1 << place for one in bits]
            else:
                self.numbers[place].extend([one if one.__class__ is wanted else absent for one in values])
                bits = [one | (value.__class__ is wanted) << place for one, value in zip(bits, values, strict=True)]
        for place, name in enumerate(self._extras, len(PLACES)):
            raws = list(map(attrgetter(name), rows)) if name in fields else [UNSET] * len(rows)
            self.numbers[place].extend([number_of(raw) if says_raw(raw) else NAN for raw in raws])
            bits = [one | says_raw(raw) << place for one, raw in zip(bits, raws, strict=True)]
        return bits

    def _facts(self, rows: Sequence[Any], bits: Sequence[int]) -> list[int]:
        """The kind of each row. Columns that judge it say few different things, so these are looked up together."""
        known, found = self._known, []
        for row, numbers in zip(rows, bits, strict=True):
            key = (numbers, *told_by(row, self.asked.positive))
            kind = known.get(key)
            if kind is None:
                kind = known[key] = self._intern(
                    facts_of(row, self.asked.positive, numbers, own_score=numbers >= 1 << len(PLACES))
                )
            found.append(kind)
        if len(known) > _MOST_KNOWN:
            known.clear()
        return found

    def _note_labels(self, at: int, row: Any) -> None:
        if row.expected.__class__ is str:
            self.labels.add(row.expected)
            if (says(row.correct) or says(row.outcome)) and row.predicted.__class__ is str:
                self.unsure.append((at, row.expected == row.predicted, row.predicted))

    def _note_run(self, rows: Sequence[Any], names: Sequence[str], fields: frozenset[str]) -> None:
        if "highbar_run" in fields:
            self.origins.update(
                [bytes(row.highbar_run).decode() if says_raw(row.highbar_run) else None for row in rows]
            )
        else:
            self.origins[None] += len(rows)
        if "tags" in fields:
            for tags in {tuple(row.tags) for row in rows if row.tags}:
                self.tags.update(tags)
        if (column := self._fields[AGENT_TAGS]) in fields:
            for row, name in zip(rows, names, strict=True):
                given = getattr(row, column)
                for tag in msgspec.json.decode(given) if says_raw(given) else ():
                    self.agent_tags.setdefault(tag, set()).add(name)

    def _note_agent(self, at: int, row: Any) -> None:
        tags = row.tags if row.tags.__class__ is dict else {}
        named = tuple(
            value
            for column in OF_AGENTS
            for value in (
                seen(tags.get(column)) or self._own_text(row, f"{TAGS}{column}"),
                self._own_text(row, column),
            )
        )
        if any(named):
            self.of_agents[at] = named

    def _describe(self, rows: Sequence[Any], fields: frozenset[str]) -> list[int]:
        """The place of what describes each row among the descriptions."""
        columns = [list(map(attrgetter(name), rows)) if name in fields else [None] * len(rows) for name in _DESCRIBING]
        columns += [
            list(map(read, rows)) if self._may_say(read, fields) else [None] * len(rows) for read in self._readers
        ]
        return [self._description(told) for told in zip(*columns, strict=True)]

    def _may_say(self, read: Any, fields: frozenset[str]) -> bool:
        return not self._read_from[read].isdisjoint(fields)

    def _description(self, told: tuple[Any, ...]) -> int:
        place = self._described.get(told)
        if place is None:
            category, capability, cluster, weight, *values = told
            found = Described(
                seen(category), seen(capability), seen(cluster), weight if says(weight) else None, tuple(values)
            )
            place = self._described.setdefault(found, len(self.descriptions))
            if place == len(self.descriptions):
                self.descriptions.append(found)
            self._described[told] = place
        return place

    # --- the text of any column --------------------------------------------------------------

    def _text(self, row: Any, column: str) -> str | None:
        return self._reader(column)(row)  # type: ignore[no-any-return]

    def _reader(self, column: str) -> Any:
        """A function for the text of a column, by which a scenario is grouped or chosen; blank text is absent."""
        if column.startswith(TAGS):
            tag = column.removeprefix(TAGS)
            return lambda row: seen((row.tags or {}).get(tag)) or self._own_text(row, column)
        if column in SLICEABLE:
            return lambda row: seen(getattr(row, column))
        if column in FIELDS:
            return lambda row: scalar_text(getattr(row, column))
        return lambda row: self._own_text(row, column)

    def _own_text(self, row: Any, column: str) -> str | None:
        raw = getattr(row, self._fields[column])
        if not says_raw(raw):
            return None
        text = bytes(raw)
        if text[:1] != b'"':
            self.not_text.add(column)
        return seen(raw_text(text))

    # --- parts of it ---------------------------------------------------------------------------

    def subset(self, positions: Iterable[int]) -> Scores:
        """The same with some of its trials; call `settle_kinds` before, which needs all of them."""
        chosen = list(positions)
        found = Scores(self.asked)
        names = list(self.ids)
        found.facts, found.descriptions, found.differences = self.facts, self.descriptions, self.differences
        found._kinds, found._described = self._kinds, self._described
        found.parts = [Batch(0, 0, part.columns, part.of) for part in self.parts]
        found.origin_places = [self.place_of(at) for at in chosen]
        for at in chosen:
            name = names[self.scenario[at]]
            found.scenario.append(found.ids.setdefault(name, len(found.ids)))
            if at in self.of_agents:
                found.of_agents[len(found.scenario) - 1] = self.of_agents[at]
        for mine, its in zip(found._columns(), self._columns(), strict=True):
            mine.extend([its[at] for at in chosen])
        for name in ("versions", "whole_ids", "text_digits", "origins", "agent_tags", "tags", "not_text"):
            setattr(found, name, getattr(self, name))
        return found

    def _columns(self) -> list[array[Any]]:
        return [self.number, self.kind, self.description, *self.numbers]

    def place_of(self, at: int) -> int:
        """The place of a trial among all that were read."""
        return self.origin_places[at] if self.origin_places is not None else at

    def reader(self, reread: Any) -> Any:
        """`reread` for the trials of a part."""

        def read(positions: Iterable[int]) -> Mapping[int, Any]:
            places = {self.place_of(at): at for at in positions if at < len(self.origin_places or self.kind)}
            return {places[place]: row for place, row in reread(places).items()}

        return read

    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in a stable order."""
        return tuple(sorted({name for part in self.parts if part.of != NOT_THERE for name in part.columns}))

    def origins_in_order(self) -> tuple[tuple[str | None, int], ...]:
        """How many rows have each value of `highbar_run`; empty if none has one."""
        if not any(name.partition(".")[0] == "highbar_run" for part in self.parts for name in part.columns):
            return ()
        return tuple(sorted(self.origins.items(), key=lambda one: (one[0] is not None, one[0] or "")))

    # --- settling ----------------------------------------------------------------------------

    def trials(self) -> list[Trial]:
        """What the facts of each kind are worth, now that all rows are known."""
        return [score(facts, self.asked.pass_score) for facts in self.facts]

    def settle_kinds(self) -> None:
        """Settle what only all rows together show: which texts are labels, and which rows have an output column."""
        for at, equal, predicted in self.unsure:
            if predicted in self.labels or predicted == self.asked.positive:
                self.kind[at] = self._intern(self.facts[self.kind[at]]._replace(agree=equal))
        self.unsure.clear()
        of_output = {part.of for part in self.parts if "output" in part.columns}
        open_kinds = {place for place, facts in enumerate(self.facts) if facts.output is None}
        for part in self.parts:
            if part.of in of_output and open_kinds:
                for at in range(part.begin, part.end):
                    if self.kind[at] in open_kinds:
                        self.kind[at] = self._intern(self.facts[self.kind[at]]._replace(output=False))

    def _intern(self, facts: Facts) -> int:
        kind = self._kinds.setdefault(facts, len(self.facts))
        if kind == len(self.facts):
            self.facts.append(facts)
        return kind

    def demanded_of(self, id_: str) -> int:
        """The bits of what the suite demands of a scenario."""
        if not self.asked.demands:
            return 0
        fields = self.asked.suite.get(id_)
        if fields is None:
            return 0
        bits = IN_SUITE
        for key, bit in DEMANDED.items():
            if fields.get(key, "[]") != "[]":
                bits |= bit
        return bits


def number_of(raw: Any) -> float:
    """A number of JSON as a float."""
    return float(bytes(raw))


def is_chosen(where: Where, columns: Sequence[str], values: Sequence[str | None]) -> bool:
    """Whether a scenario with these values has one of the wanted values in each column."""
    return all(values[columns.index(column)] in wanted for column, wanted in where)
