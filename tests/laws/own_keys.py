"""A key added to a scenario is understood, or refused, or listed: never a column in silence.

`attempt(seed, folder)` writes a sound suite in one form (YAML, JSON, a JSON list, JSONL, CSV; with checks, or a list of
ids) and adds one key with one value to a scenario: words by which other tools name a check, a question or an
expectation, and names of our own checks, spelled in many ways; near misses of our own keys; any words; columns of a
run. `highbar suite` must refuse the key by its name, or list it; text that nothing names is also warned of. A check
whose policy names the same suite must refuse what `highbar suite` refuses. The words are those of the contract, not
those of the code.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.commandline import Run, run

ELSEWHERE = (
    "assert", "asserts", "assertions", "check", "checks", "expect", "expects", "expectation", "expectations",
    "expected_output", "expected_answer", "expected_result", "forbid", "forbids", "forbidden", "must", "must_have",
    "must_include", "must_not_include", "never", "never_says", "should", "should_not", "rubric", "criteria",
    "prompt", "question", "query", "user", "ideal", "target", "reference", "ground_truth", "evaluators", "scorers",
    "graders", "metrics", "tests", "cases",
    "must_contain", "not_contains", "must_not_contain", "expected_response", "golden", "success_criteria", "banned",
    "forbidden_phrases", "max_words", "min_score", "should_refuse", "must_mention", "should_not_mention", "not_equals",
    "banned_words", "golden_answer", "expected_tools", "max_tool_calls", "disallowed_tools", "icontains", "regex",
    "llm_rubric",
    # Highbar's own checks and what goes beside them: these check only under a name.
    "contains", "contains_all", "starts_with", "equals", "matches", "words", "number", "is_json", "json", "calls",
    "calls_only", "calls_in_order", "state", "context", "python", "any", "all", "not", "exact", "part", "last", "every",
    "within", "times", "where", "arguments", "not_arguments", "reply", "at_least", "at_most", "same_items",
)  # fmt: skip
"""The keys by which somebody names a check, a question or an expectation."""
OURS = (
    "id", "description", "input", "turns", "messages", "trials", "timeout", "predict", "tags", "category", "capability",
    "weight", "cluster", "expected", "answer", "expected_behaviors", "must_not", "columns",
)  # fmt: skip
OF_RESULTS = (
    "passed",
    "output",
    "violations",
    "behaviors",
    "error",
    "latency_ms",
    "correct",
    "predicted",
    "tool_calls",
)
PLAIN = (
    "team",
    "ticket",
    "priority",
    "owner",
    "since",
    "schwierigkeit",
    "level",
    "assets",
    "texts",
    "x",
    "notes",
    "meta",
)
TEXTS = ("the reply says nothing of 555", "x", "red;green", "a, b")
NUMBERS: tuple[Any, ...] = (3, 2.5, 0, True, False)
NESTED: tuple[Any, ...] = ({"contains": "555"}, ["555"], [{"contains": "555"}], {}, [], {"leaks": {"contains": "555"}})
FORMS = ("suite.yaml", "suite.json", "list.json", "suite.jsonl", "suite.csv")


def spelled(chance: Random, word: str) -> str:
    """The word as people also write it: the case, the underscores, the plural, look-alikes, parts after a dot."""
    camel = word.split("_", maxsplit=1)[0] + "".join(part.capitalize() for part in word.split("_")[1:])
    variants = [word, word, word, word.upper(), word.capitalize(), camel, word.replace("_", "-"), word + "\u200b"]
    variants += [word.replace("e", "\u0435", 1), f"_{word}", f"{word}.contains", word.removesuffix("s")]
    return chance.choice(variants)


def slip(chance: Random, word: str) -> str:
    """The word with one letter doubled, dropped or swapped."""
    at = chance.randrange(len(word))
    return chance.choice(
        [word[:at] + word[at:][:1] + word[at:], word[:at] + word[at + 1 :], word[:at] + "q" + word[at + 1 :]]
    )


def added(chance: Random) -> tuple[str, Any, bool]:
    """A key, its value, and whether the key is the word of another tool."""
    value = chance.choice([*TEXTS, *NUMBERS, *NESTED])
    kind = chance.randrange(6)
    if kind < 3:
        return spelled(chance, chance.choice(ELSEWHERE)), value, True
    if kind == 3:
        return slip(chance, chance.choice([word for word in (*OURS, *ELSEWHERE) if len(word) > 3])), value, False
    return chance.choice([*PLAIN, *OF_RESULTS] if kind == 4 else PLAIN), value, False


def text_of(scenarios: list[dict[str, Any]], form: str, top: dict[str, Any]) -> str:
    """A suite in one form; only a file with a top level has `top`."""
    if form == "suite.csv":
        names = list(dict.fromkeys(name for scenario in scenarios for name in scenario))
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([[_cell(scenario.get(name)) for name in names] for scenario in scenarios])
        return stream.getvalue()
    if form == "suite.jsonl":
        return "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    return json.dumps(scenarios if form == "list.json" else {**top, "scenarios": scenarios}, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def attempt(seed: int, folder: Path) -> str:
    """One key added to one scenario of one suite."""
    chance = Random(seed)
    form, asks = chance.choice(FORMS), chance.random() < 0.7
    asks = asks or form in ("suite.yaml", "suite.json")  # a file with a top level asks
    key, value, elsewhere = added(chance)
    scenarios: list[dict[str, Any]] = [{"id": name} for name in ("A", "B", "C")]
    for scenario in scenarios if asks else ():
        scenario |= {"input": "Hi", "answer" if form != "suite.csv" else "answer.contains": "555"}
    if key in scenarios[0]:
        return "the key is there"
    named = chance.random() < 0.2 and form in ("suite.yaml", "suite.json")
    scenarios[chance.randrange(3)][key] = value
    (folder / form).write_text(text_of(scenarios, form, {"columns": [key]} if named else {}), "utf-8")
    done = run(folder, "suite", form)
    assert "Traceback" not in done.err, done.err
    return _judge(done, _checked(folder, form), key, value, elsewhere=elsewhere and not named, asks=asks, named=named)


def _checked(folder: Path, form: str) -> Run:
    """The check of passed rows without any column of the scenarios, by a policy that names the suite."""
    rows = [{"id": name, "passed": True, "correct": True} for name in ("A", "B", "C")]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "policy.json").write_text(json.dumps({"suite": form, "pass_criteria": {"overall": "90%"}}), "utf-8")
    return run(folder, "check", "rows.jsonl", "--policy", "policy.json", "--format", "json")


def _judge(done: Run, checked: Run, key: str, value: Any, *, elsewhere: bool, asks: bool, named: bool) -> str:
    what = f"{key!r}: {value!r}\n{done.out}\n{done.err}\n{checked.out}"
    if key in OURS:
        return f"understood, exit {done.exit}"
    shown = key.replace("\u200b", "\\u200b")  # what is invisible is shown by its code
    if done.exit == 2:
        assert shown in done.err, what
        assert checked.exit == 2, what
        assert "hint:" in done.err, what
        return "refused"
    assert done.exit == 0, what
    assert not elsewhere, f"a check in the words of another tool is a column: {what}"
    assert not isinstance(value, dict | list) or key in OF_RESULTS, f"no scalar: {what}"
    listed = [
        line for line in done.out.splitlines() if line.startswith(("columns of your own: ", "columns of results"))
    ]
    assert any(shown in line.partition(": ")[2].split(", ") for line in listed), f"not listed: {what}"
    if isinstance(value, str) and asks:
        assert named or ("warning:" in done.err and shown in done.err), f"no warning: {what}"
        noted = " ".join(checked.json["warnings"])
        assert checked.exit == 0, what
        assert named or key in noted, f"no warning of the check: {what}"
        return "named" if named else "listed, with a warning"
    return "listed"
