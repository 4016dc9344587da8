"""A promptfoo configuration → a suite of ours: one scenario for each test, and for each prompt if there are several.

A scenario has the id that the importer gives to promptfoo's own results of the test, and its behaviors have the same
names. An assertion is an expected behavior, one with `not-` a must-not. Must-nots are written as `not: {not: …}`: the
check inside is then read as promptfoo reads it, while a plain must-not would be read more strictly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.language.phrases import some
from highbar.language.promptfoo_names import assertion_name, id_of_test, taggable
from highbar.language.spelling import did_you_mean
from highbar.language.tool_names import means_correct, scenario_id, short_name, shorten
from highbar.suite.tools.promptfoo_assertions import SET, Asserted, AssertionReader, refuse_keys
from highbar.suite.tools.promptfoo_cases import Case, CaseReader, load_variables
from highbar.suite.tools.promptfoo_prompts import PromptTemplate, read_prompts
from highbar.suite.tools.rewritten import Draft, Rewritten, columns_and_tags
from highbar.suite.tools.templates import js_text, js_value
from highbar.suite.tools.thresholds import enough, joined_checks

_READ = ("description", "prompts", "tests", "defaultTest", "assertionTemplates")
_AGENTS = ("providers", "targets")
_UNUSED = (
    "$schema", "author", "commandLineOptions", "env", "evaluateOptions", "metadata", "outputPath", "sharing", "tags",
    "tracing", "writeLatestResults", "derivedMetrics",
)  # fmt: skip
_REFUSED = {
    "scenarios": "write its tests under `tests`",
    "extensions": "hooks run code that Highbar does not",
    "nunjucksFilters": "templates are filled in by name only",
    "redteam": "generate the tests first: promptfoo redteam generate -o redteam.yaml",
}
_KNOWN = (*_READ, *_AGENTS, *_UNUSED, *_REFUSED)


def rewrite(values: Mapping[str, Any], place: ValueCursor, path: Path) -> Rewritten:
    """The configuration as a suite of ours. Anything without a counterpart is noted in `place`."""
    for key, value in values.items():
        if key in _REFUSED and value not in (None, [], {}):
            place.at(key).refuse("suite.no-counterpart", f"'{key}' has no counterpart", _REFUSED[key])
        elif key not in _KNOWN:
            place.at(key).refuse(
                "suite.unknown-key", f"unknown key '{key[:60]}'", did_you_mean(key, _KNOWN) or "it has no counterpart"
            )
    prompts = read_prompts(values.get("prompts"), place.at("prompts"), path.parent)
    reader = CaseReader(values, place, path.parent)
    cases = list(reader.cases())
    draft = Draft()
    _Scenarios(prompts, cases, place, path.parent).add_to(draft)
    top = {"suite": _name(values, path), "run": _run(values, place)}
    made = {**{key: value for key, value in top.items() if value}, "scenarios": draft.scenarios}
    paths = {**draft.paths, ("suite",): ("description",), ("run",): ("evaluateOptions",)}
    return Rewritten("promptfoo", made, paths, tuple(_notes(values, reader, prompts)))


def _name(values: Mapping[str, Any], path: Path) -> str | None:
    described = values.get("description")
    return described if isinstance(described, str) and described.strip() else path.stem


def _run(values: Mapping[str, Any], place: ValueCursor) -> dict[str, Any]:
    """The `trials` and `concurrency` that the configuration sets."""
    found: dict[str, Any] = {}
    for block in ("evaluateOptions", "commandLineOptions"):
        options = values.get(block)
        for key, ours in (("repeat", "trials"), ("maxConcurrency", "concurrency")):
            if isinstance(options, dict) and options.get(key) is not None:
                found[ours] = options[key]
        if options is not None and not isinstance(options, dict):
            place.at(block).refuse_value(options, "a mapping")
    return found


def _notes(values: Mapping[str, Any], reader: CaseReader, prompts: Sequence[PromptTemplate]) -> Iterator[str]:
    agents = [_agent_name(one) for key in _AGENTS for one in _as_list(values.get(key))]
    if agents or reader.providers:
        named = some(agents, 3) if agents else "of single tests"
        yield f"the providers are not called ({named}); the agent of the run answers in their place"
    if reader.has_graders:
        yield "its graders are not asked; the judge of the run reads the rubrics in their place"
    unused = [key for key in _UNUSED if values.get(key) not in (None, {}, []) and key != "$schema"]
    unused += [f"options.{key}" for key in reader.unused]
    if unused:
        yield f"these settings of promptfoo are not used: {some(unused, 10)}"
    if len(prompts) > 1:
        asked = f"each test is asked with {len(prompts)} prompts"
        yield f"{asked}, which are scenarios of one cluster: tags.prompt says which"


def _agent_name(provider: Any) -> str:
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id") or next(iter(provider), "")
    return shorten(str(provider))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


class _Scenarios:
    """Makes scenarios of cases, all at once: an id depends on the names of all cases."""

    def __init__(
        self, prompts: Sequence[PromptTemplate], cases: Sequence[Case], place: ValueCursor, folder: Path
    ) -> None:
        self.prompts = prompts
        self.cases = cases
        self.place = place
        self.folder = folder
        self.keys = [case.key for case in cases]
        # A set, because the repetitions of a test share its key and are not other tests of the same name.
        self.names = Counter(name for name, _ in {*self.keys})

    def add_to(self, draft: Draft) -> None:
        """Add the scenarios of every case that has no problem."""
        for case, key in zip(self.cases, self.keys, strict=True):
            place = ValueCursor(case.path, self.place.problems)
            before = len(place.problems)
            variables = load_variables(case, place, self.folder)
            checks = None if variables is None else _Checks(case, variables, place, self.folder)
            wanted = self._prompts_of(case, place)
            if variables is None or checks is None or len(place.problems) > before:
                continue
            test = id_of_test(key, alone=self.names[key[0]] == 1)
            for prompt in wanted:
                self._add(test, case, prompt, variables, checks, draft)

    def _prompts_of(self, case: Case, place: ValueCursor) -> list[PromptTemplate]:
        if case.prompts is None:
            return list(self.prompts)
        found = [prompt for prompt in self.prompts if any(map(prompt.is_named_by, case.prompts))]
        if not found and self.prompts:
            place.at("prompts").refuse(
                "suite.no-question", "this test names no prompt that there is: it would never be asked"
            )
        return found

    def _add(
        self,
        test: str,
        case: Case,
        prompt: PromptTemplate,
        variables: Mapping[str, Any],
        checks: _Checks,
        draft: Draft,
    ) -> None:
        test_place = ValueCursor(case.path, self.place.problems)
        affixes = [case.options.get(key) or "" for key in ("prefix", "suffix")]
        asked = prompt.asked(variables, test_place, *map(str, affixes))
        if asked is None:
            return
        metadata = js_value(dict(case.metadata))
        tagged = {**taggable(js_value(dict(case.variables))), **taggable(metadata)}
        described, tags = columns_and_tags(metadata, tagged)
        scenario: dict[str, Any] = {"id": test, "description": case.description, **asked, **described}
        # One test with several prompts tends to pass or fail with all of them, so its scenarios are one cluster.
        if len(self.prompts) > 1:
            label = short_name(prompt.label)
            scenario |= {"id": f"{test} · {scenario_id(label)}", "cluster": described.get("cluster", test)}
            tags = {**tags, "prompt": label}
        scenario |= {"trials": case.options.get("repeat"), "tags": tags or None, **checks.columns}
        inside: dict[Sequence[str], ValuePath] = {(key,): (*case.path, "vars") for key in asked}
        inside |= {(key,): (*case.metadata_path, key) for key in described}
        inside |= {("tags",): case.metadata_path, ("trials",): (*case.path, "options", "repeat")}
        draft.add(scenario, case.path, {**inside, **checks.paths})


class _Checks:
    """The assertions of a case as behaviors, with the path of each."""

    def __init__(self, case: Case, variables: Mapping[str, Any], place: ValueCursor, folder: Path) -> None:
        self.place = place
        self.reader = AssertionReader(variables, folder, place)
        self.behaviors: defaultdict[str, list[Any]] = defaultdict(list)
        self.must_not: defaultdict[str, list[Any]] = defaultdict(list)
        self.origins: dict[tuple[str, str], ValuePath] = {}
        top: list[Asserted] = []
        for path, assertion in case.asserts:
            at = ValueCursor(path, place.problems)
            if assertion.get("type") == SET:
                self._add_set(assertion, at, threshold=case.threshold)
            elif (found := self.reader.read(assertion, at)) is not None:
                top.append(found)
                if case.threshold is None:
                    self._add(found)
        if case.threshold is not None:
            self._add_threshold(top, case, place)
        if not case.asserts:
            place.refuse(
                "suite.no-check", "this test asserts nothing: promptfoo lets every answer pass", "give it an `assert`"
            )

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the scenario with its demands."""
        expected = {name: joined_checks(checks) for name, checks in self.behaviors.items()}
        # By the rule of the importer, so that `correct` means the same in promptfoo's results and in a run.
        right = [check for name, check in expected.items() if means_correct(name)]
        must_not = {
            self._name_of_must_not(name): checks[0] if len(checks) == 1 else {"any": checks}
            for name, checks in self.must_not.items()
        }
        return {
            "expected_behaviors": expected or None,
            "must_not": must_not or None,
            "answer": joined_checks(right) if right else None,
        }

    @property
    def paths(self) -> dict[Sequence[str], ValuePath]:
        """The path of the assertion behind each behavior, by the keys that lead to the behavior in the scenario."""
        found: dict[Sequence[str], ValuePath] = {}
        for (key, name), path in self.origins.items():
            found[key, self._name_of_must_not(name) if key == "must_not" else name] = path
        right = [name for name in self.behaviors if means_correct(name)]
        return {**found, **({("answer",): self.origins["expected_behaviors", right[0]]} if right else {})}

    def _name_of_must_not(self, name: str) -> str:
        """A name that no expected behavior has: assertions of both kinds may share a metric, behaviors may not."""
        return f"not {name}" if name in self.behaviors else name

    def _expect(self, name: str, check: Any, path: ValuePath) -> None:
        self.behaviors[name].append(check)
        self.origins.setdefault(("expected_behaviors", name), path)

    def _add(self, one: Asserted) -> None:
        if not one.forbids:
            self._expect(one.name, one.check, one.path)
            return
        # Negated twice: a plain must-not would be read more strictly than promptfoo reads it.
        self.must_not[one.name].append(one.check if "judge" in one.check else {"not": {"not": one.check}})
        self.origins.setdefault(("must_not", one.name), one.path)

    def _add_threshold(self, parts: Sequence[Asserted], case: Case, place: ValueCursor) -> None:
        """Add all assertions as one behavior: those that hold have enough of the weight."""
        at = place.at("threshold")
        threshold = _threshold(case.threshold, at)
        if threshold is None or not parts:
            return
        if threshold == 1:
            for one in parts:
                self._add(one)
            return
        check = enough([(one.demanded, one.weight) for one in parts], threshold, at)
        self._expect(f"score of at least {js_text(case.threshold)}", check, at.path)

    def _add_set(self, assertion: Mapping[str, Any], place: ValueCursor, threshold: Any) -> None:
        """Add a set: all of its parts must hold, or with a threshold enough of them."""
        refuse_keys({key: value for key, value in assertion.items() if key != "assert"}, SET, place)
        parts = list(self._parts(assertion.get("assert"), place.at("assert")))
        if threshold is not None:
            hint = "a set counts by its score there, and here it holds or does not"
            place.refuse("suite.no-counterpart", "a set under the threshold of a test has no counterpart", hint)
            return
        if not parts:
            return
        # The set is a behavior beside its parts, as the importer reads it from promptfoo's results. With a threshold
        # its parts may fail, so only the set is demanded.
        name, wanted = assertion_name(js_value(dict(assertion))), assertion.get("threshold")
        if wanted is None:
            for one in parts:
                self._add(one)
            check = joined_checks([one.demanded for one in parts])
        else:
            share = _threshold(wanted, place.at("threshold"))
            weighted = [(one.demanded, one.weight) for one in parts]
            check = None if share is None else enough(weighted, share, place.at("threshold"))
        if check is not None:
            self._expect(name, check, place.path)

    def _parts(self, value: Any, place: ValueCursor) -> Iterator[Asserted]:
        if not isinstance(value, list) or not value:
            place.refuse_value(value, "a list of assertions")
            return
        for index, item in enumerate(value):
            at = place.at(index)
            if not isinstance(item, dict) or item.get("type") == SET:
                at.refuse_value(item, "an assertion that is no set")
            elif (found := self.reader.read(item, at)) is not None:
                yield found


def _threshold(value: Any, place: ValueCursor) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        place.refuse_value(value, "a number from 0 to 1")
        return None
    return Fraction(value)
