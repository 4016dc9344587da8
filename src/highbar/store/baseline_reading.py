"""The text of a baseline → a Baseline, or its first problem: a file that was edited wrongly is refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from highbar.columns import EXTRA, quantities_of
from highbar.errors import InputError, Problem
from highbar.language.exact import read_decimal
from highbar.language.limits import MOST_DIGITS
from highbar.model import Better, Decision, Source, Unit, Value, Where
from highbar.model.baseline import SCHEMA, Baseline, RecordedRule, Scoring
from highbar.model.records import ONE, ScenarioRecord
from highbar.store.reading import read_document_bytes, refuse_constant, unique

_HEAD = 4096
_FRACTION = re.compile(r"(-?[0-9]{1,400})/([1-9][0-9]{0,400})", re.ASCII)
_LARGEST = 10**30
"""No number of a scenario comes near it; sums of products of such numbers are doubles still."""
_LARGEST_COUNT = 2**63 - 1
"""What a 64-bit counter holds: no file has more rows."""
_AGAIN = "highbar baseline record writes it anew"
KEYS = (
    "schema", "agent_version", "date", "verdict", "forced", "confidence", "scoring", "judges", "suites", "policy",
    "suite", "results", "metrics", "rules", "scenarios",
)  # fmt: skip
OPTIONAL_KEYS = ("select", "judged_by", "pooled")
"""Keys that only some baselines have: those of selected rows, of files of other tools, or of several runs."""
SHARES = quantities_of("counted", "scored") - {"passed"}  # a record counts its passed trials instead
AMOUNTS = quantities_of("paired", "unbounded")
_MEASURED = ("value", "low", "high", "scenarios", "missing", "unit", "better", "reason")
_SCENARIO = ("columns", "cluster", "weight", "trials", "passed", "bare", "lone", "valueless", "values", "ranks")


def is_baseline(path: str) -> bool:
    """Whether a file is a baseline, by its first bytes; False if it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    return re.match(rb'\s*\{\s*"schema"\s*:\s*"highbar/baseline/', head) is not None


def read_baseline(path: Path | str) -> Baseline:
    """The baseline in a file. Raises InputError if it is not a baseline, or is damaged."""
    return parse_baseline(read_document_bytes(str(path)), str(path))


def parse_baseline(data: bytes, name: str) -> Baseline:
    """The baseline in these bytes; messages call the file `name`. Raises InputError at the first problem."""
    try:
        document = _exact_values(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(
            Problem("baseline.damaged", f"not JSON: {error.msg}", name, error.lineno, error.colno, hint=_AGAIN)
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("baseline.damaged", f"not a baseline: {error}", name, hint=_AGAIN)) from None
    return _DocumentReader(name).baseline(document, hashlib.sha256(data).hexdigest())


def parse_scenario(id_: str, text: str, name: str) -> ScenarioRecord:
    """One scenario, as `baseline_text.scenario_text` writes it; messages call the file `name`. Raises InputError."""
    reader = _DocumentReader(name)
    try:
        found = reader.scenario(id_, _exact_values(text))
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("baseline.damaged", f"not a scenario of a baseline: {error}", name)) from None
    return found


def _exact_values(text: str) -> Any:
    # Every number becomes a Fraction: a float would make later comparisons with the baseline inexact.
    return json.loads(
        text,
        parse_float=_decimal,
        parse_int=_decimal,
        parse_constant=refuse_constant,
        object_pairs_hook=unique,
    )


def _decimal(text: str) -> Fraction:
    number = read_decimal(text.removeprefix("-")) if len(text) <= MOST_DIGITS else _long_decimal(text)
    if number is None:
        raise ValueError(f"found the number {text[:40]}, wanted plain digits")
    return -number if text.startswith("-") else number


def _long_decimal(text: str) -> Fraction | None:
    """A number with more digits than a policy may have: exact values can need them."""
    plain = text.removeprefix("-")
    return Fraction(plain) if len(plain) < 1200 and re.fullmatch(r"[0-9]+(\.[0-9]+)?", plain, re.ASCII) else None


class _DocumentReader:
    """Reads the parts of one document. Raises InputError at the first problem."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refusal(self, place: str, found: object, wanted: str) -> InputError:
        message = f"{place}: found {str(found)[:60]}, wanted {wanted}"
        return InputError(Problem("baseline.damaged", message, self.name, hint=_AGAIN))

    def baseline(self, document: object, sha256: str) -> Baseline:
        top = self._object(document, "the baseline", (*KEYS, *OPTIONAL_KEYS), KEYS)
        if top["schema"] != SCHEMA:
            raise self.refusal("schema", top["schema"], SCHEMA)
        scoring = self._object(top["scoring"], "scoring", ("pass_score", "positive"), ("pass_score", "positive"))
        metrics = self._object(top["metrics"], "metrics")
        if not top["scenarios"]:
            raise self.refusal("scenarios", "none", "at least one")
        return Baseline(
            scenarios=self._scenarios(top["scenarios"]),
            metrics={name: self._value(value, f"metrics.{name}") for name, value in metrics.items()},
            rules=tuple(self._rule(rule, f"rules[{i}]") for i, rule in enumerate(self._list(top["rules"], "rules"))),
            verdict=self._choice(top["verdict"], "verdict", get_args(Decision)),
            agent_version=self._text(top["agent_version"], "agent_version"),
            date=self._text(top["date"], "date"),
            forced=self._text(top["forced"], "forced"),
            confidence=self._number(top["confidence"], "confidence", lambda n: Fraction(1, 2) < n < 1),
            scoring=Scoring(
                self._number(scoring["pass_score"], "scoring.pass_score", lambda n: 0 < n <= 1),
                self._text(scoring["positive"], "scoring.positive"),
                self._where(top.get("select"), "select"),
                self._where(top.get("judged_by"), "judged_by"),
            ),
            judges=self._texts(top["judges"], "judges"),
            suites=self._texts(top["suites"], "suites"),
            policy=self._source(top["policy"], "policy"),
            suite=self._source(top["suite"], "suite"),
            results=tuple(
                source
                for i, item in enumerate(self._list(top["results"], "results"))
                if (source := self._source(item, f"results[{i}]"))
            ),
            pooled=self._texts(top.get("pooled", []), "pooled"),
            file=self.name,
            sha256=sha256,
        )

    def _object(
        self, found: object, place: str, known: Iterable[str] | None = None, required: Iterable[str] = ()
    ) -> dict[str, Any]:
        if not isinstance(found, dict):
            raise self.refusal(place, found, "an object")
        if known is not None and (others := [key for key in found if key not in known]):
            raise self.refusal(place, f"the key {others[0]!r}", f"only {', '.join(known)}")
        for key in required:
            if key not in found:
                raise self.refusal(place, f"no {key!r}", "it")
        return found

    def _list(self, found: object, place: str) -> list[Any]:
        if not isinstance(found, list):
            raise self.refusal(place, found, "a list")
        return found

    def _text(self, found: object, place: str) -> str | None:
        if found is not None and not isinstance(found, str):
            raise self.refusal(place, found, "text")
        return found

    def _texts(self, found: object, place: str) -> tuple[str, ...]:
        return tuple(text for item in self._list(found, place) if (text := self._text(item, place)) is not None)

    def _choice(self, found: object, place: str, words: tuple[Any, ...]) -> Any:
        if found not in words:
            raise self.refusal(place, found, " or ".join(words))
        return found

    def _number(self, found: object, place: str, holds: Callable[[Fraction], bool]) -> Fraction:
        fraction = _FRACTION.fullmatch(found) if isinstance(found, str) else None
        number = Fraction(int(fraction[1]), int(fraction[2])) if fraction else found
        if not isinstance(number, Fraction) or not holds(number):
            raise self.refusal(place, found, "a number that it can be")
        return number

    def _count(self, found: object, place: str, least: int) -> int:
        return int(self._number(found, place, lambda n: n.denominator == 1 and least <= n <= _LARGEST_COUNT))

    def _measure(self, found: object, place: str) -> Fraction | None:
        """A number of a metric; None if there is none. A double can hold it, as reports need it."""
        return None if found is None else self._number(found, place, lambda n: abs(n) < 10**300)

    def _end(self, found: object, place: str) -> float | None:
        number = self._measure(found, place)
        return None if number is None else float(number)

    def _source(self, found: object, place: str) -> Source | None:
        if found is None:
            return None
        fields = self._object(found, place, ("file", "sha256"), ("file", "sha256"))
        return Source(
            self._text(fields["file"], f"{place}.file") or "", self._text(fields["sha256"], f"{place}.sha256")
        )

    def _value(self, found: object, place: str, extra: tuple[str, ...] = ()) -> Value:
        fields = self._object(found, place, (*extra, *_MEASURED), (*extra, *_MEASURED[:-1]))
        return Value(
            value=self._measure(fields["value"], f"{place}.value"),
            scenarios=self._count(fields["scenarios"], f"{place}.scenarios", 0),
            missing=self._count(fields["missing"], f"{place}.missing", 0),
            unit=self._choice(fields["unit"], f"{place}.unit", get_args(Unit)),
            better=self._choice(fields["better"], f"{place}.better", get_args(Better)),
            reason=self._text(fields.get("reason"), f"{place}.reason"),
            low=self._end(fields["low"], f"{place}.low"),
            high=self._end(fields["high"], f"{place}.high"),
        )

    def _rule(self, found: object, place: str) -> RecordedRule:
        value = self._value(found, place, ("rule", "metric", "slice", "threshold"))
        fields = self._object(found, place)
        return RecordedRule(
            rule=self._text(fields["rule"], f"{place}.rule") or "",
            metric=self._text(fields["metric"], f"{place}.metric") or "",
            slice=self._where(fields["slice"], f"{place}.slice"),
            threshold=self._text(fields["threshold"], f"{place}.threshold"),
            value=value,
        )

    def _where(self, found: object, place: str) -> Where:
        items = () if found is None else self._object(found, place).items()
        return tuple(sorted((column, self._texts(values, place)) for column, values in items))

    def _scenarios(self, found: object) -> tuple[ScenarioRecord, ...]:
        items = self._object(found, "scenarios").items()
        return tuple(sorted((self.scenario(id_, item) for id_, item in items), key=lambda scenario: scenario.id))

    def scenario(self, id_: str, found: object) -> ScenarioRecord:
        place = f"scenarios.{id_}"
        fields = self._object(found, place, _SCENARIO, ("trials", "passed", "values"))
        trials = self._count(fields["trials"], f"{place}.trials", 1)
        passed = self._count(fields["passed"], f"{place}.passed", 0)
        if passed > trials:
            raise self.refusal(f"{place}.passed", passed, f"at most {trials}")
        columns = self._object(fields.get("columns", {}), f"{place}.columns")
        values = {
            name: self._amount(name, item, f"{place}.values.{name}")
            for name, item in self._object(fields["values"], f"{place}.values").items()
        }
        lone = set(self._texts(fields.get("lone", []), f"{place}.lone"))
        if fields.get("bare"):  # the first version wrote this for an error without any expectation
            lone |= {name for name in ("correct", "behavior_score") if name not in values}
            values = dict.fromkeys(lone - values.keys(), Fraction(0)) | values
        return ScenarioRecord(
            id=id_,
            trials=trials,
            passed=passed,
            columns={name: self._text(text, f"{place}.columns.{name}") or "" for name, text in columns.items()},
            values=values,
            ranks={
                name: tuple(self._rank(item, f"{place}.ranks.{name}") for item in self._list(items, place))
                for name, items in self._object(fields.get("ranks", {}), f"{place}.ranks").items()
            },
            weight=self._number(fields.get("weight", ONE), f"{place}.weight", _is_weight),
            cluster=self._text(fields.get("cluster"), f"{place}.cluster"),
            lone=frozenset(lone),
            valueless=frozenset(self._texts(fields.get("valueless", []), f"{place}.valueless")),
        )

    def _amount(self, column: str, found: object, place: str) -> Fraction:
        if column in SHARES:
            return self._number(found, place, lambda n: 0 <= n <= 1)
        if column not in AMOUNTS and not column.startswith(EXTRA):
            raise self.refusal(place, f"the measure {column!r}", "one that Highbar knows")
        return self._number(found, place, lambda n: abs(n) <= _LARGEST and (n >= 0 or column not in AMOUNTS))

    def _rank(self, found: object, place: str) -> Fraction | None:
        return None if found is None else self._number(found, place, lambda n: abs(n) <= _LARGEST)


def _is_weight(number: Fraction) -> bool:
    """Whether neither the weight nor its inverse is too large: a double of 0 would divide by it."""
    return number > 0 and number <= _LARGEST and number * _LARGEST >= 1
