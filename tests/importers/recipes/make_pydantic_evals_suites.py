# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-evals==2.62.0"]
# ///
"""Datasets of pydantic-evals, and what pydantic-evals itself says about the answers of one agent; no model is called.

    python make_pydantic_evals_suites.py FOLDER

writes `matrix.yaml` and `typed.yaml`, datasets with every evaluator that has a counterpart here; `answers.json`, what
the agent answers to `[0]`, `[1]` …; `typed.report.json`, the report of the second one; and `totals.json`: by case, what
each assertion came to.
"""

import json
import re
import sys
from pathlib import Path

from pydantic_evals import Dataset
from pydantic_evals.reporting import EvaluationReportAdapter

ANSWERS = [
    "Hello, World!",
    "hello world",
    "HELLO  WORLD",
    "42",
    "42.0",
    "The answer is 42.",
    '{"a": 1, "b": [true, null]}',
    "It’s a trap",
    "It's a trap",
    "STRASSE and straße",
    "İstanbul",
    "yes",
    "Yes",
    "  padded  ",
    "two\nlines",
]

MATRIX = """\
name: answers
cases:
{cases}
  # One without a name, and one with evaluators of its own.
  - inputs: "[0]"
    expected_output: Hello, World!
  - name: its own evaluators
    inputs: "[1]"
    expected_output: hello world
    metadata: {{category: edge_case, locale: de, turns: 2}}
    evaluators:
      - Contains: world
      - Contains: {{value: WORLD, case_sensitive: false, evaluation_name: shouted}}
      - Equals: {{value: hello world}}
evaluators:
  - EqualsExpected
  - Contains: Hello
  - Contains: {{value: hello, case_sensitive: false}}
  - Contains: {{value: 42, as_strings: true}}
  - Contains: "'"
  - Contains: {{value: strasse, case_sensitive: false}}
  - Contains: {{value: i̇stanbul, case_sensitive: false}}
  - Contains: "two\\n"
  - Equals: {{value: "yes"}}
  - name: Equals
    arguments: {{value: "42", evaluation_name: is 42}}
  - MaxDuration: 60
"""

CASE = """\
  - name: answer {number}
    inputs: "[{number}]"
    expected_output: {expected}
    metadata: {{category: happy_path}}
"""

TYPED = """\
# The task returns a value of Python; an agent of Highbar answers with its JSON.
cases:
  - name: sum
    inputs: {a: 1, b: 2}
    expected_output: 3
  - name: parts
    inputs: {text: "a b"}
    expected_output: {words: [a, b], count: 2, ratio: 0.5}
  - name: wrong
    inputs: {a: 2, b: 2}
    expected_output: 5
  - name: flag
    inputs: [true, false]
    expected_output: true
evaluators: [EqualsExpected]
"""


def task(asked):
    """The agent, as a task of pydantic-evals."""
    if isinstance(asked, str):
        return ANSWERS[int(asked.strip("[]"))]
    if isinstance(asked, list):
        return any(asked)
    if "text" in asked:
        words = asked["text"].split()
        return {"words": words, "count": len(words), "ratio": 1 / len(words)}
    return asked["a"] + asked["b"]


def report(folder, name):
    dataset = Dataset[object, object, object].from_file(folder / f"{name}.yaml")
    made = dataset.evaluate_sync(task, max_concurrency=1, progress=False)
    if name == "typed":
        (folder / "typed.report.json").write_bytes(EvaluationReportAdapter.dump_json(made, indent=1) + b"\n")
    return {case.name: {key: found.value for key, found in case.assertions.items()} for case in made.cases}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answers.json").write_text(json.dumps(ANSWERS, indent=1) + "\n")
    expected = [json.dumps(answer, ensure_ascii=False) for answer in ANSWERS]
    expected[3] = '"43"'  # a wrong one
    cases = [CASE.format(number=number, expected=text) for number, text in enumerate(expected)]
    (folder / "matrix.yaml").write_text(re.sub(r"\n\n", "\n", MATRIX.format(cases="".join(cases))))
    (folder / "typed.yaml").write_text(TYPED)
    totals = {name: report(folder, name) for name in ("matrix", "typed")}
    (folder / "totals.json").write_text(json.dumps(totals, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
