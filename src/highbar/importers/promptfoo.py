"""promptfoo results (`-o results.json`, export versions 1 to 4, and `-o results.jsonl`) → rows: one per result.

`failureReason` tells an error from a failed assertion. Assertions become behaviors; negative ones (`not-…`) and those
of red-team plugins become must-nots, so that one which failed fails the trial even where a threshold let the test pass.
A result that no assertion looked at is not judged, whatever `success` says, and nor is one whose judge broke. The
results of one test by several providers or prompts are trials of one scenario, told apart by their tags.
"""

from __future__ import annotations

import hashlib
import json as json_text
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from highbar import importers
from highbar.importers import Row, signs
from highbar.importers.aside import Aside
from highbar.importers.naming import Trials, as_text, means_correct, score_column, tags
from highbar.importers.reading import json
from highbar.importers.record import Record, is_number, refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier
from highbar.model.judging import ScorerDemand

NEWEST = 4
"""The newest version of the export that is known."""

_ARRAYS = frozenset({"results", "results.results", "data.results", "data.results.results"})
_OTHER_FORMS = {
    "CSV": signs.PROMPTFOO_TABLE,
    "XML": signs.PROMPTFOO_XML,
    "YAML": signs.PROMPTFOO_YAML,
    "HTML": signs.PROMPTFOO_HTML,
    "database": signs.SQLITE,
}
_NONE, _ASSERTION, _ERROR = 0, 1, 2
_UNKNOWN = "assertion"
_SET = "assert-set"
_SUCCESS = "success"
_MOST_NAMES = 5
_RED_TEAM = "promptfoo:redteam:"
_FROM_METADATA = ("category", "capability", "cluster")
_WRITE_AGAIN = "write it again with `promptfoo eval -o FILE`; nothing may be left out of it"
_LONGEST_TAG = 200
_LONGEST_NAME = 60
_NUMBERS = (int, float, bool)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one export. They wait for the last: only then is it known which tests share a name."""
    with Aside() as aside, Path(path).open("rb") as stream:
        _refuse_other_forms(stream)
        file = _File(report)
        keep = _read_lines if _is_lines(stream) else _read_document
        suite = keep(stream, aside, file)
        file.say_who_judges()
        several = file.say_variants()
        trials = Trials()
        for row, test in aside:
            row["id"] = file.name_of(test)
            row["trial"] = trials.number(row["id"])
            row["suite"] = suite
            if several and row["cluster"] is None:
                row["cluster"] = row["id"]
            yield row


def _refuse_other_forms(stream: IO[bytes]) -> None:
    """The other forms do not tell a must-not from anything else that was asserted, nor an error from a failure."""
    start = stream.read(importers.HEAD)
    stream.seek(0)
    for form, sign in _OTHER_FORMS.items():
        if re.search(sign, start, re.DOTALL):
            hint = "write JSON: `promptfoo eval -o results.json`, or `promptfoo export eval latest -o results.json`"
            refuse(f"promptfoo's {form} does not say what was asserted", hint=hint)


def _is_lines(stream: IO[bytes]) -> bool:
    """Whether this is JSONL: its first line is a result by itself."""
    line = stream.readline(json.LARGEST_VALUE)
    stream.seek(0)
    return b'"results"' not in line[:4096] and line.rstrip().endswith(b"}") and len(line.strip()) > 1


def _read_lines(stream: IO[bytes], aside: Aside, file: _File) -> str | None:
    """The results of a JSONL file, kept aside; it does not name its suite."""
    for number, line in json.lines(stream):
        file.report.records += 1
        _keep(_Result(json.decode(line, number), f"line {number}", file, trusted=False), aside, file)
    return None


def _read_document(stream: IO[bytes], aside: Aside, file: _File) -> str | None:
    """The results of a JSON document, kept aside, and what its suite is called."""
    around: dict[str, Any] = {}
    report = file.report
    for place, text in json.parts(stream, _ARRAYS):
        key = place.removeprefix("data.")
        if key in ("results[]", "results.results[]"):
            report.records += 1
            trusted = key == "results[]"  # version 1 does not record its assertions
            _keep(_Result(json.decode(text), f"result {report.records}", file, trusted=trusted), aside, file)
        elif key in ("version", "results.version", "stats", "results.stats", "_resultsLoaded"):
            around[key] = json.decode(text)
        elif key == "config" and not json.is_null(text):
            around[key] = {"description": json.decode(json.members(text).get("description", b"null"))}
    document = Record(around, "the file")
    _refuse_incomplete(document, file)
    config = document.record("config")
    return config.text("description") if config else None


def _keep(result: _Result, aside: Aside, file: _File) -> None:
    aside.put(result.row(), file.note(result))


def _refuse_incomplete(document: Record, file: _File) -> None:
    report = file.report
    versions = [document.whole(key) or 0 for key in ("version", "results.version")]
    if max(versions) > NEWEST:
        report.warn(f"export version {max(versions)} is newer than {NEWEST}; what it shares with that is read")
    if document.flag("_resultsLoaded") is False and not report.records:
        refuse("the results were not loaded when this file was written", hint="write it with `promptfoo eval -o FILE`")
    stats = document.record("results.stats") or document.record("stats")
    if stats is not None:
        _refuse_other_totals(stats, file)


def _refuse_other_totals(stats: Record, file: _File) -> None:
    """The statistics of the file against its results; the oldest versions count errors as failures."""
    counted = {key: number for key in ("successes", "failures", "errors") if (number := stats.whole(key)) is not None}
    found = dict(file.ended)
    if "errors" not in counted:
        found["failures"] += found.pop("errors")
    if counted and sum(counted.values()) != sum(found.values()):
        told = f"the file holds {sum(found.values())} results, and its own statistics speak of {sum(counted.values())}"
        refuse(told, hint=_WRITE_AGAIN)
    for key, number in counted.items():
        if number != found[key]:
            refuse(f"the file holds {found[key]} {key}, and its own statistics speak of {number}", hint=_WRITE_AGAIN)


class _File:
    """What is known only when all results were seen: which tests share a name, who ran them, and who judged."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.ended = {"successes": 0, "failures": 0, "errors": 0}  # as promptfoo counts
        self._trusted = False
        self._asserted: set[str] = set()
        self._scored: set[str] = set()
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        self._columns: dict[str, dict[str, None]] = {"provider": {}, "prompt": {}}

    def note(self, result: _Result) -> tuple[str, str]:
        """Take a result; the name of its test, and the digest of what it asks and demands."""
        test = result.test()
        self._tests[test[0]].add(test[1])
        for name, value in result.column.items():
            self._columns[name][value] = None
        self.ended[result.ended] += 1
        self._trusted = self._trusted or result.trusted
        result.add_labels(self._asserted)
        self._scored.update(result.named)
        return test

    def name_of(self, test: tuple[str, str]) -> str:
        """The id: the test, and its digest if another has the same name."""
        name, digest = test
        unique = name if len(self._tests[name]) == 1 and len(name) <= _LONGEST_NAME else f"{_cut(name)}#{digest}"
        return identifier(unique)

    def say_variants(self) -> bool:
        """Name the providers and prompts if there are several; whether there are."""
        several = {name: [value for value in values if value] for name, values in self._columns.items()}
        told = [
            f"{len(values)} {name}s ({', '.join(_cut(value) for value in values[:_MOST_NAMES])}"
            f"{' …' if len(values) > _MOST_NAMES else ''})"
            for name, values in several.items()
            if len(values) > 1
        ]
        if told:
            chosen = next(name for name, values in several.items() if len(values) > 1)
            pooled = f"the results of {' and '.join(told)} are pooled: a test counts once over all of them"
            self.report.warn(f"{pooled}; `--where {chosen}=NAME` picks one")
        return any(len(values) > 1 for values in self._columns.values())

    def say_who_judges(self) -> None:
        """Tell the report, or refuse a file that nothing judges, or not what the policy demands."""
        report, demanded = self.report, [demand.scorer for demand in self.report.judged_by]
        known = self._asserted | self._scored
        for name in demanded:
            if name not in known:
                refuse(
                    f"the policy has this file judged by {name!r}, which is not in it; its scorers are "
                    f"{', '.join(repr(one) for one in sorted(known)) or 'none'}"
                )
        if report.records and not (self._asserted or self._trusted):
            names = f"; its scores are {', '.join(sorted(self._scored))}" if self._scored else ""
            refuse(f"nothing in this file judges: no test has an assertion{names}", hint="give the tests an `assert`")
        report.judges = tuple(demanded) or (_SUCCESS,)
        if not demanded:
            report.scorers[_SUCCESS] = "judges"
        for name in sorted(known):
            if demanded:
                told = "judges" if name in demanded else "a column, does not judge: not in judged_by"
            else:
                told = "judges, as part of success" if name in self._asserted else "a column, does not judge"
            report.scorers[name] = told


class _Checked(NamedTuple):
    """One assertion that was checked."""

    kind: str
    name: str
    label: str  # its metric or its type: what `judged_by` may call it, whatever it looks for
    held: bool
    score: float | None
    broken: str | None  # why its judge could not say


def _held(one: _Checked, demand: ScorerDemand) -> bool:
    """Whether an assertion holds: by promptfoo's own verdict, or by its score if the policy gives a bound."""
    if demand.at_least is None:
        return one.held
    return demand.holds(float(one.held) if one.score is None else one.score) is True


class _Result:
    """One result of an export."""

    def __init__(self, values: object, place: str, file: _File, *, trusted: bool) -> None:
        self._top = top = Record(values, place)
        self._place = place
        self._report = file.report
        self.trusted = trusted
        self._test = _object(top.value("testCase"))
        self._response = _object(top.value("response"))
        self._grading = _object(top.value("gradingResult"))
        self._success = top.flag("success")
        self._declared = list(_flattened(self._test.get("assert")))
        self._checked = list(self._each_checked())
        self.named = self._named_scores()
        prompt = _object(top.value("prompt"))
        self._asked = as_text(prompt.get("raw"))
        label = as_text(prompt.get("label") or prompt.get("display")) or ""
        self.column = {
            "provider": self._provider(),
            "prompt": label if len(label) <= _LONGEST_TAG else f"{_cut(label)}#{_digest(label)}",
        }

    @property
    def ended(self) -> str:
        """How promptfoo counts it."""
        if self._success is True:
            return "successes"
        return "errors" if self._top.value("failureReason") == _ERROR else "failures"

    def add_labels(self, known: set[str]) -> None:
        """Take note of what judged it, or was to."""
        for one in self._checked:
            known.add(one.label)
        if not self._checked:
            known.update(_label_of(assertion) for assertion in self._declared)

    def test(self) -> tuple[str, str]:
        """The name of the test, and a digest that only repetitions of it share."""
        variables = self._test.get("vars", self._top.value("vars"))
        described = self._test.get("description")
        digest = _digest((described, variables, self._test.get("assert")))
        if isinstance(described, str) and described:
            return described, digest
        only = next(iter(variables.values())) if isinstance(variables, dict) and len(variables) == 1 else variables
        return as_text(only) or "test", digest

    def _provider(self) -> str:
        provider = self._top.value("provider")
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return named if isinstance(named, str) else ""

    def row(self) -> Row:
        """The columns; who the test is comes later, in the places that are kept for it."""
        metadata = {**_flat(self._test.get("metadata")), **_flat(self._top.value("metadata"))}
        judging = self._judging()
        behaviors, must_not = self._verdicts(judging)
        error, judge_error = self._errors()
        unjudged = None if error else self._unjudged(judging, judge_error)
        right = [seen for name, seen in behaviors.items() if means_correct(name)]
        score = self._top.number("score")
        return {
            "id": None,
            "trial": None,
            "category": "adversarial" if self._attacked(metadata) else None,
            "capability": None,
            "cluster": None,
            **{name: metadata[name] for name in _FROM_METADATA if isinstance(metadata.get(name), str)},
            **(self._demands() if not self._checked else {}),
            **({"expected_behaviors": list(behaviors)} if behaviors else {}),
            **({"must_not": must_not} if must_not else {}),
            "behaviors": [name for name, seen in behaviors.items() if seen] if behaviors else None,
            "passed": self._passed(judging, broken=error is not None, unjudged=unjudged),
            "correct": all(right) if right else None,
            "error": error,
            "unjudged": unjudged,
            "output": as_text(self._response.get("output")) or "",  # nothing is an answer that says nothing
            "input": self._asked,
            **self._measures(),
            "quality_score": score if score is not None and 0 <= score <= 1 and self._checked else None,
            **{score_column(name): value for name, value in self.named.items()},
            "tags": self._tags(metadata),
        }

    def _tags(self, metadata: Row) -> dict[str, str] | None:
        known = {key: text for key, text in self.column.items() if text}
        return tags({**_flat(self._top.value("vars")), **metadata, **known}, _FROM_METADATA)

    def _attacked(self, metadata: Row) -> bool:
        """Whether this is a test of a red team: by its plugin, or by what is asserted, checked or not."""
        return (
            bool(metadata.get("pluginId"))
            or any(one.kind.startswith(_RED_TEAM) for one in self._checked)
            or any(_kind_of(assertion).startswith(_RED_TEAM) for assertion in self._declared)
        )

    def _each_checked(self) -> Iterator[_Checked]:
        """Each assertion that was checked. A part of a set stands in the set and beside it; both count."""
        components = self._grading.get("componentResults")
        if components is None:
            return
        if not isinstance(components, list):
            Record(self._grading, self._place).items("componentResults")
        found = [one for one in components if one is not None]
        # promptfoo lists them as the test declares them, so that one which does not say what it is can be known.
        declared = self._declared if len(found) == len(self._declared) else [{}] * len(found)
        for component, assertion in zip(found, declared, strict=True):
            yield from self._parts_of(component, assertion)

    def _parts_of(self, component: object, declared: dict[str, Any]) -> Iterator[_Checked]:
        if type(component) is not dict:
            Record(component, f"{self._place}: componentResults")
        part: dict[str, Any] = component  # type: ignore[assignment] # refused above
        assertion = _object(part.get("assertion"))
        inner = part.get("componentResults")
        metadata = part.get("metadata")
        known = _kind_of(assertion) != _UNKNOWN
        if not known and isinstance(inner, list):
            assertion = {**_object(_object(metadata).get("assertionSet")), "type": _SET}
            for one in inner:
                yield from self._parts_of(one, {}) if one is not None else ()
        elif not known:
            assertion = {**declared, **assertion, "type": declared.get("type")}
        held, score = part.get("pass"), part.get("score")
        if type(held) is not bool and held is not None:
            Record(part, f"{self._place}: componentResults").flag("pass")
        broken = type(metadata) is dict and metadata.get("graderError") is True
        yield _Checked(
            _kind_of(assertion),
            _name_of(assertion),
            _label_of(assertion),
            held is True,
            score if is_number(score) else None,
            (as_text(part.get("reason")) or "it gave no reason") if broken and held is not True else None,
        )

    def _judging(self) -> list[_Checked]:
        """The assertions that judge: all of them, or those that the policy names."""
        demands = {demand.scorer: demand for demand in self._report.judged_by}
        return (
            [self._by_demand(one, demands) for one in self._checked if _judges(one, demands)]
            if demands
            else self._checked
        )

    @staticmethod
    def _by_demand(one: _Checked, demands: dict[str, ScorerDemand]) -> _Checked:
        """An assertion as the policy's bound sees it. What must not happen did, whatever its score is."""
        demand = demands.get(one.label) or demands.get(one.name)
        return one if demand is None or _forbids(one.kind) else one._replace(held=_held(one, demand))

    def _verdicts(self, judging: list[_Checked]) -> tuple[dict[str, bool], dict[str, bool]]:
        """Behaviors and whether they were seen; must-nots and whether they happened. The same name twice: the worse.

        An assertion that does not say what it is may have been a must-not, and counts as one.
        """
        behaviors: dict[str, bool] = {}
        must_not: dict[str, bool] = {}
        for kind, name, _, held, _, broken in judging:
            if not _forbids(kind):
                behaviors[name] = behaviors.get(name, True) and held
            elif broken is None:
                must_not[name] = must_not.get(name, False) or not held
        return behaviors, must_not

    def _demands(self) -> Row:
        """What the test demands, of a result that nobody looked at."""
        behaviors = [_name_of(one) for one in self._declared if not _forbids(_kind_of(one))]
        must_not = [_name_of(one) for one in self._declared if _forbids(_kind_of(one))]
        return {
            "expected_behaviors": list(dict.fromkeys(behaviors)) or None,
            "must_not": list(dict.fromkeys(must_not)) or None,
        }

    def _unjudged(self, judging: list[_Checked], judge_error: str | None) -> str | None:
        """Why nobody can say whether it passed, for no fault of the agent; None if it is known or was not asked."""
        if judge_error is not None:
            return f"judge: {judge_error}"
        broken = next((one for one in judging if one.broken is not None), None)
        failed = any(not one.held and one.broken is None for one in judging)
        if broken is not None and not (failed and self._test.get("threshold") is None):
            return f"judge: {broken.label}: {broken.broken}"
        if self._report.judged_by:
            lacking = [demand.scorer for demand in self._report.judged_by if self._meets(demand) is None]
            return f"judged_by: {lacking[0]} says nothing here" if lacking else None
        unchecked = len(self._declared) - sum(1 for one in self._checked)
        if unchecked > 0 and self._success is not False:
            return f"{unchecked} of {len(self._declared)} assertions were not checked"
        return None

    def _meets(self, demand: ScorerDemand) -> bool | None:
        """Whether a judge of the policy holds: all of its assertions, else the score of that name; None without any."""
        found = [one for one in self._checked if demand.scorer in (one.label, one.name) and one.broken is None]
        return all(_held(one, demand) for one in found) if found else demand.holds(self.named.get(demand.scorer))

    def _passed(self, judging: list[_Checked], *, broken: bool, unjudged: str | None) -> bool | None:
        """False if promptfoo says so; its true counts if something demanded was seen.

        If only must-nots were checked it is left to whether there is an output at all.
        """
        self._report.unscored += unjudged is not None or (not judging and not self.trusted and not broken)
        if broken:
            return False
        if unjudged is not None:
            return None
        if self._report.judged_by:
            return all(self._meets(demand) for demand in self._report.judged_by)
        if self._success is False or self._grading.get("pass") is False:
            return False
        seen = any(not _forbids(one.kind) for one in judging)
        return True if self._success is True and (seen or self.trusted) else None

    def _errors(self) -> tuple[str | None, str | None]:
        """What stopped the agent, and what stopped its judge; a failed assertion stops nothing.

        Grading that ended with an exception leaves an answer without a grade.
        """
        reason = self._top.value("failureReason")
        if reason in (_NONE, _ASSERTION) and not isinstance(reason, bool):
            return None, None
        told = as_text(self._top.value("error")) or as_text(self._response.get("error"))
        if reason is None:  # before version 3: what was graded is no error
            return None if self._grading else told, None
        if reason != _ERROR:
            self._report.warn(f"failureReason {as_text(reason)} is not known; it is read as an error")
        told = told or "an error without a message"
        answered = self._response.get("output") is not None and not self._response.get("error") and not self._grading
        return (None, told) if answered and reason == _ERROR else (told, None)

    def _measures(self) -> Row:
        """Latency, tokens and cost. From promptfoo's cache an answer takes no time, which says nothing of the agent."""
        used = _object(self._response.get("tokenUsage", self._top.value("tokenUsage")))
        usage = Record(used, f"{self._place}: tokenUsage")
        cached = self._response.get("cached") is True
        if cached:
            self._report.warn("some answers came from promptfoo's cache; they have no latency (run with --no-cache)")
        return {
            "latency_ms": None if cached else self._top.number("latencyMs"),
            "tokens_used": usage.whole("total") or usage.whole("cached") or None,
            "cost_usd": self._top.number("cost") or None,
        }

    def _named_scores(self) -> dict[str, float]:
        named = _flat(self._top.value("namedScores"))
        if not named:
            return {}
        scores = Record(named, f"{self._place}: namedScores")
        return {name: number for name in scores if (number := scores.number(name)) is not None}


def _flattened(assertions: object) -> Iterator[dict[str, Any]]:
    """The assertions that a test declares, each set followed by its parts."""
    for assertion in assertions if isinstance(assertions, list) else ():
        declared = _object(assertion)
        yield declared
        if declared.get("type") == _SET:
            yield from _flattened(declared.get("assert"))


def _kind_of(assertion: dict[str, Any]) -> str:
    kind = assertion.get("type")
    return kind if isinstance(kind, str) and kind else _UNKNOWN


def _forbids(kind: str) -> bool:
    """Whether what is asserted must not happen, or may be of that kind."""
    return kind.startswith(("not-", _RED_TEAM)) or kind == _UNKNOWN


def _judges(one: _Checked, demands: Collection[str]) -> bool:
    """Whether the policy names it, or it may be something that must not happen, which fails whoever judges."""
    return one.label in demands or one.name in demands or _forbids(one.kind)


def _label_of(assertion: dict[str, Any]) -> str:
    return as_text(assertion.get("metric")) or _kind_of(assertion)


def _object(value: object) -> dict[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _flat(value: object) -> Row:
    """The members of an object that can be sliced by: numbers and short texts, but not promptfoo's own (`_…`)."""
    if not value or type(value) is not dict:
        return {}
    return {
        key: member
        for key, member in value.items()
        if (len(member) <= _LONGEST_TAG if type(member) is str else type(member) in _NUMBERS) and key[:1] != "_"
    }


def _digest(value: object) -> str:
    """A short mark of a value, the same in whatever order its keys stand."""
    try:
        text = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json_text.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]


def _name_of(assertion: dict[str, Any]) -> str:
    """The metric that the assertion names, else its type and what it looks for."""
    metric = assertion.get("metric")
    if metric:
        return as_text(metric) or _UNKNOWN
    plain = _kind_of(assertion).removeprefix(_RED_TEAM).removeprefix("not-")
    value = as_text(assertion.get("value"))
    return f"{plain}: {_cut(value)}" if value else plain


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
