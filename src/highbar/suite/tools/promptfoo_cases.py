"""The tests of a promptfoo configuration, in it and in the files that it names → cases, with the defaults filled in.

A variable that is a list of texts makes one case for each text, and several such lists make every combination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.language.promptfoo_names import conversation_of, key_of_test
from highbar.language.spelling import did_you_mean
from highbar.suite.located import OtherFile
from highbar.suite.tools.linked import PREFIX, file_text, files_named, values_of
from highbar.suite.tools.promptfoo_assertions import RUBRIC_PROMPT
from highbar.suite.tools.promptfoo_csv import case_of_row, read_csv_rows
from highbar.suite.tools.templates import is_template, js_value
from highbar.suite.values import NO_VALUE, entries

MOST_COMBINATIONS = 10_000
"""The most cases that the lists of one test may make: more is a mistake."""
_KEYS = (
    "description", "vars", "assert", "metadata", "options", "threshold", "prompts", "provider", "providers",
    "providerOutput", "assertScoringFunction",
)  # fmt: skip
_REFUSED = {
    "providerOutput": "a test with an answer of its own asks no agent",
    "assertScoringFunction": "a scoring function in JavaScript or Python has no counterpart",
}
_REFUSED_OPTIONS = {
    "transform": "the answer is judged as the agent gave it; let the agent transform it",
    "postprocess": "the answer is judged as the agent gave it; let the agent transform it",
    "transformVars": "write the variables as they should be",
    "storeOutputAs": "every scenario is asked by itself",
    "rubricPrompt": RUBRIC_PROMPT,
}
_UNREAD = (".py", ".js", ".cjs", ".mjs", ".ts", ".xlsx", ".xls")


class Case(Struct, frozen=True):
    """One test with one value of each variable. `asserts` has every assertion with its path."""

    path: ValuePath
    description: str | None
    variables: Mapping[str, Any]
    asserts: tuple[tuple[ValuePath, Any], ...]
    metadata: Mapping[str, Any]
    metadata_path: ValuePath
    options: Mapping[str, Any]
    threshold: Any = None
    prompts: tuple[str, ...] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The name and the digest of the test, as the importer computes them from promptfoo's results."""
        assertions = [js_value(assertion) for _, assertion in self.asserts]
        conversation = conversation_of(js_value(dict(self.metadata)))
        return key_of_test(self.description, js_value(dict(self.variables)), assertions, conversation)


class CaseReader:
    """Reads tests, given the whole configuration."""

    def __init__(self, values: Mapping[str, Any], place: ValueCursor, folder: Path | None) -> None:
        self.values = values
        self.place = place
        self.folder = folder
        self.providers: dict[str, None] = {}  # that single tests name
        self.has_graders = False  # models that read rubrics
        self.unused: dict[str, None] = {}  # options of a provider
        self.default_path: ValuePath = ("defaultTest",)
        self.default = self._default(values.get("defaultTest"))

    def _default(self, value: Any) -> Mapping[str, Any]:
        place = self.place.at("defaultTest")
        if isinstance(value, str):
            path = next(files_named(value, place, self.folder), None)
            if path is None:
                return {}
            value, self.default_path = values_of(path), (OtherFile(path),)
            place = ValueCursor(self.default_path, self.place.problems)
        found = {} if value is None else entries(value, place, "a mapping")
        self._refuse_keys(found, place)
        return found

    def cases(self) -> Iterator[Case]:
        """Every case without a problem; the problems of the others are noted."""
        for test, place in self._tests(self.values.get("tests"), self.place.at("tests")):
            before = len(self.place.problems)
            merged = self._merge(test, place)
            if merged is None or len(self.place.problems) > before:
                continue
            yield from self._expand(merged, place)

    def _tests(self, value: Any, place: ValueCursor) -> Iterator[tuple[Mapping[str, Any], ValueCursor]]:
        if isinstance(value, str):
            yield from self._in_files(value, place)
        elif isinstance(value, list) and value:
            for index, item in enumerate(value):
                inside = place.at(index)
                if isinstance(item, str):
                    yield from self._in_files(item, inside)
                elif isinstance(item, dict):
                    yield item, inside
                else:
                    inside.refuse_value(item, "a test, or the name of a file with tests")
        else:
            place.refuse_value(value, "a list of tests, or the name of a file with tests")

    def _in_files(self, name: str, place: ValueCursor) -> Iterator[tuple[Mapping[str, Any], ValueCursor]]:
        bare = name.removeprefix(PREFIX)
        if "://" in bare or bare.partition(":")[0].endswith(_UNREAD):
            place.refuse(
                "suite.no-counterpart",
                f"tests of this kind ('{name[:60]}') have no counterpart",
                "write them as YAML, JSON or CSV",
            )
            return
        for path in files_named(name, place, self.folder):
            file = ValueCursor((OtherFile(path),), place.problems)
            if path.suffix == ".csv":
                for index, (_, row) in enumerate(read_csv_rows(file_text(path), str(path))):
                    yield case_of_row(row, file.at(index)), file.at(index)
                continue
            values = values_of(path)
            alone = isinstance(values, dict)
            for index, item in enumerate([values] if alone else values if isinstance(values, list) else []):
                inside = file if alone else file.at(index)
                if isinstance(item, dict):
                    yield item, inside
                else:
                    inside.refuse_value(item, "a test")
            if not isinstance(values, list | dict):
                file.refuse_value(values, "a list of tests")

    def _refuse_keys(self, test: Mapping[str, Any], place: ValueCursor) -> None:
        for key in test:
            if key in _REFUSED:
                place.at(key).refuse("suite.no-counterpart", f"'{key}' has no counterpart: {_REFUSED[key]}")
            elif key not in _KEYS:
                place.at(key).refuse(
                    "suite.unknown-key",
                    f"unknown key '{key[:60]}'",
                    did_you_mean(key, _KEYS) or "it has no counterpart",
                )
        variables = test.get("vars")
        for name in [name for name, value in variables.items() if value is None] if isinstance(variables, dict) else ():
            place.at("vars", name).refuse("suite.bad-column", f"'{name[:60]}' has no value", NO_VALUE)

    def _merge(self, test: Mapping[str, Any], place: ValueCursor) -> Case | None:
        """A test with the defaults filled in."""
        self._refuse_keys(test, place)
        options = {**self._part(self.default, "options"), **self._part(test, "options", place)}
        self._refuse_options(options, place.at("options"))
        for key in ("provider", "providers"):
            if test.get(key, self.default.get(key)) is not None:
                self.providers[key] = None
        threshold = test.get("threshold")
        return Case(
            path=place.path,
            description=self._description(test, place),
            variables={**self._part(self.default, "vars"), **self._part(test, "vars", place)},
            asserts=tuple(self._asserts(test, place, options)),
            metadata={**self._part(self.default, "metadata"), **self._part(test, "metadata", place)},
            metadata_path=(*place.path, "metadata"),
            options=options,
            threshold=self.default.get("threshold") if threshold is None else threshold,
            prompts=self._prompts(test, place),
        )

    def _description(self, test: Mapping[str, Any], place: ValueCursor) -> str | None:
        found = test.get("description")
        if found is None or isinstance(found, str):
            return found or None
        place.at("description").refuse_value(found, "text", "quote it")
        return None

    def _part(self, test: Mapping[str, Any], key: str, place: ValueCursor | None = None) -> Mapping[str, Any]:
        place = ValueCursor(self.default_path, self.place.problems) if place is None else place
        value = test.get(key)
        return {} if value is None else entries(value, place.at(key), "a mapping")

    def _refuse_options(self, options: Mapping[str, Any], place: ValueCursor) -> None:
        for key in options:
            if key in _REFUSED_OPTIONS:
                place.at(key).refuse("suite.no-counterpart", f"'{key}' has no counterpart", _REFUSED_OPTIONS[key])
            elif key == "provider":
                self.has_graders = True
            elif key not in ("prefix", "suffix", "repeat", "disableVarExpansion", "disableDefaultAsserts"):
                self.unused[key] = None

    def _prompts(self, test: Mapping[str, Any], place: ValueCursor) -> tuple[str, ...] | None:
        named = test.get("prompts", self.default.get("prompts"))
        if named is None:
            return None
        if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
            place.at("prompts").refuse_value(named, "a list of labels")
            return None
        return tuple(named)

    def _asserts(
        self, test: Mapping[str, Any], place: ValueCursor, options: Mapping[str, Any]
    ) -> Iterator[tuple[ValuePath, Any]]:
        default = ValueCursor(self.default_path, self.place.problems)
        sources = [] if options.get("disableDefaultAsserts") is True else [(self.default, default)]
        for source, at in (*sources, (test, place)):
            listed = source.get("assert")
            if listed is not None and not isinstance(listed, list):
                at.at("assert").refuse_value(listed, "a list of assertions")
                continue
            for index, assertion in enumerate(listed or ()):
                found = self._resolve(assertion, at.at("assert", index))
                inside = found.get("assert")
                parts = [found, *(inside if isinstance(inside, list) else ())]
                self.has_graders |= any(isinstance(part, dict) and "provider" in part for part in parts)
                yield (*at.path, "assert", index), found

    def _resolve(self, assertion: Any, place: ValueCursor) -> Any:
        """The assertion, or the one in the configuration that its `$ref` names; {} after noting a problem."""
        if not isinstance(assertion, dict):
            place.refuse_value(assertion, "an assertion such as {type: contains, value: …}")
            return {}
        reference = assertion.get("$ref")
        if reference is None:
            return assertion
        value: Any = self.values if isinstance(reference, str) and reference.startswith("#/") else None
        for part in reference.removeprefix("#/").split("/") if value is not None else ():
            value = value.get(part) if isinstance(value, dict) else None
        if len(assertion) > 1 or not isinstance(value, dict) or "$ref" in value:
            place.at("$ref").refuse_value(reference, "a reference to an assertion of this file, and nothing beside it")
            return {}
        return value

    def _expand(self, case: Case, place: ValueCursor) -> Iterator[Case]:
        """One case for every combination of the values that its variables list."""
        lists = [self._values(value, case) for value in case.variables.values()]
        number = 1
        for values in lists:
            number *= len(values)
        if number > MOST_COMBINATIONS:
            place.at("vars").refuse(
                "suite.too-large", f"the lists of this test make {number} cases, at most {MOST_COMBINATIONS} are read"
            )
            return
        for chosen in product(*lists):
            yield replace(case, variables=dict(zip(case.variables, chosen, strict=True)))

    def _values(self, value: Any, case: Case) -> list[Any]:
        is_list = isinstance(value, list) and value and isinstance(value[0], str)
        return value if is_list and case.options.get("disableVarExpansion") is not True else [value]


def load_variables(case: Case, place: ValueCursor, folder: Path | None) -> dict[str, Any] | None:
    """The variables as templates see them: files are read, one line break at the end is cut off.

    None if a file cannot be read, which is noted.
    """
    found: dict[str, Any] = {}
    for name, value in case.variables.items():
        text = _in_file(value, place.at("vars", name), folder) if _names_file(value) else value
        if isinstance(text, str):
            if is_template(text):
                place.at("vars", name).refuse(
                    "suite.no-counterpart", "a variable that is a template itself has no counterpart", "write it out"
                )
            text = text.removesuffix("\n")
        found[name] = text
    return None if any(_names_file(case.variables[name]) and text is None for name, text in found.items()) else found


def _names_file(value: Any) -> bool:
    return isinstance(value, str) and value.startswith((PREFIX, "package:"))


def _in_file(value: str, place: ValueCursor, folder: Path | None) -> str | None:
    """The text of the file that a variable names; None after noting a problem."""
    if not value.endswith((".txt", ".md", ".json", ".csv", ".html", ".xml")) or "*" in value:
        place.refuse(
            "suite.no-counterpart", f"a variable of this kind ('{value[:60]}') has no counterpart", "name a text file"
        )
        return None
    return next((file_text(path).strip() for path in files_named(value, place, folder)), None)
