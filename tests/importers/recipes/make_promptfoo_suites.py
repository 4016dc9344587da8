# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Configurations of promptfoo, and what promptfoo itself says about the answers of one agent; no model is called.

    python make_promptfoo_suites.py FOLDER

needs what make_promptfoo.py needs. It writes `matrix.json`, a configuration with every assertion that has a counterpart
here, each against every answer of `answers.json`; `project`, a configuration as people write them, with prompts and
tests in files, and `project.json`, promptfoo's export of it; and `totals.json`: for each test of the matrix a 1 for
each answer that passes and a 0 for each that does not.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROMPTFOO = shlex.split(os.environ.get("PROMPTFOO", "npx --yes promptfoo@0.121.20"))

ANSWERS = [
    "Hello, World!",
    "hello world",
    "HELLO  WORLD",
    "The answer is 42.",
    '{"a": 1, "b": [true, null]}',
    '{"b": [true, null], "a": 1.0}',
    '```json\n{"a": 1, "b": [true, null]}\n```',
    "[1, 2]",
    '"text"',
    "42",
    "42.0",
    "-42",
    "line one\nline two\r\nline three",
    "line one\u2028line two",
    "It’s “quoted” — really",
    'It\'s "quoted" - really',
    "İstanbul, STRASSE, straße",
    "ΟΔΥΣΣΕΥΣ and οδυσσευς",
    "a\u00a0b\u3000c\ufeffd",
    "  padded  ",
    "true",
    "null",
    "Yes",
    "**Yes.**",
    "x, y and z",
    "café",
    "cafe\u0301",
    "2026-01-02",
    "topsecrets",
    "The SECRET is ѕecret",
    "one two three four five",
    "one  two\nthree",
    "mail@example.org or a.b-c@x.y",
    "1.10 and 1.1",
    "path/to/file {curly} [square] $5",
    "{not json}",
    '{"a": 1} trailing',
    '{"a": "1"}',
]

AGENT = """
const answers = require('./answers.json');
class Agent {
  id() { return 'agent'; }
  async callApi(prompt) {
    const asked = /\\[(\\d+)\\]/.exec(prompt);
    return { output: asked ? answers[Number(asked[1])] : prompt.toUpperCase() };
  }
}
module.exports = Agent;
"""

SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
PATTERNS = [
    "^hello", "World!$", r"\d+", r"line one.line two", r"line one[\s\S]line two", r"a\sb", r"a\Sb", r"b\s+c",
    r"[\w.-]+@[a-z-]+\.[^\s@]+", r"(?:am|42|x)", r"(?<word>two) three", r"\bis\b", r"caf.$", r"^caf..$", r"\{curly\}",
    r"\[square\]", r"\$5", r"[^a-z]{2,}", r"e{2,}|l{2}", r"\x41|\u00e9", r"^\s*\S+\s*$", r"tw[a-o]{1}", r"{not",
    r"[\]{}]", r"S[A-Z]+E", r"a.b", r"[^\s\w]", r"\/to\/", r"[\d\D]{30}",
]  # fmt: skip
TEXTS = [
    "hello",
    "World",
    "42",
    "secret",
    "’",
    "'",
    "é",
    "istanbul",
    "straße",
    "οδυσσευς",
    "\u00a0",
    "line two\r\n",
    " ",
]
ASSERTIONS = [
    *({"type": kind, "value": text} for kind in ("contains", "icontains") for text in TEXTS),
    {"type": "contains", "value": 42},
    {"type": "contains", "value": 1.10},
    {"type": "contains-any", "value": ["Hello", "42", "é"]},
    {"type": "icontains-any", "value": ["HELLO", "Secret"]},
    {"type": "contains-any", "value": 'x, "y and", zebra'},
    {"type": "contains-all", "value": ["a", "1"]},
    {"type": "contains-all", "value": "one, two"},
    {"type": "icontains-all", "value": ["HELLO", "world"]},
    {"type": "icontains-all", "value": ["s", 42]},
    *({"type": "equals", "value": value} for value in ("42", 42, "Yes", True, "  padded  ", "{{yes}}", "café")),
    {"type": "equals", "value": {"a": 1, "b": [True, None]}},
    {"type": "equals", "value": [1, 2]},
    {"type": "starts-with", "value": "The"},
    {"type": "starts-with", "value": "{"},
    {"type": "starts-with", "value": "hello"},
    {"type": "is-json"},
    {"type": "is-json", "value": SCHEMA},
    {"type": "is-json", "value": "type: array\nitems: {type: integer}"},
    *({"type": "regex", "value": pattern} for pattern in PATTERNS),
    {"type": "word-count", "value": 2},
    {"type": "word-count", "value": {"min": 2, "max": 3}},
    {"type": "word-count", "value": {"min": 4}},
    {"type": "word-count", "value": {"max": 2}},
    {"type": "latency", "threshold": 600000},
]

HELLO, WORLD, ANSWER = ({"type": "icontains", "value": text} for text in ("hello", "world", "42"))
NO_SECRET = {"type": "not-icontains", "value": "secret"}
COMBINED = {
    "two": {"assert": [HELLO, WORLD]},
    "both kinds": {"assert": [HELLO, {"type": "not-contains", "value": "!"}]},
    "one metric": {"assert": [{**HELLO, "metric": "m"}, {**WORLD, "metric": "m"}, {**NO_SECRET, "metric": "m"}]},
    "set": {"assert": [{"type": "assert-set", "assert": [HELLO, WORLD]}]},
    "set with a threshold": {"assert": [{"type": "assert-set", "threshold": 0.5, "assert": [HELLO, ANSWER]}]},
    "set with weights": {
        "assert": [{"type": "assert-set", "threshold": 0.6, "assert": [{**HELLO, "weight": 3}, ANSWER, NO_SECRET]}]
    },
    "two sets": {
        "assert": [
            {"type": "assert-set", "threshold": 0.5, "assert": [HELLO, ANSWER]},
            {"type": "assert-set", "threshold": 0.5, "assert": [WORLD, NO_SECRET], "weight": 0},
        ]
    },
    "threshold": {"threshold": 0.5, "assert": [HELLO, ANSWER, NO_SECRET]},
    "threshold with weights": {"threshold": 0.7, "assert": [{**HELLO, "weight": 2}, WORLD, {**NO_SECRET, "weight": 4}]},
    "threshold of all": {"threshold": 1, "assert": [HELLO, NO_SECRET]},
    "without defaults": {
        "options": {"disableDefaultAsserts": True},
        "assert": [{"type": "contains", "value": "SECRET"}],
    },
}


def matrix() -> dict:
    """Every assertion and its opposite against every answer, by variables that are lists."""
    asked = [f"[{number}]" for number in range(len(ANSWERS))]
    tests = []
    for number, assertion in enumerate(ASSERTIONS):
        for start in ("", "not-"):
            named = {**assertion, "type": f"{start}{assertion['type']}"}
            tests.append({"description": f"{start}{assertion['type']} {number}", "assert": [named]})
    tests += [{"description": name, **test} for name, test in COMBINED.items()]
    default = {
        "vars": {"yes": "Yes", "ask": asked},
        "assert": [{"type": "not-equals", "value": "a sentence that nobody says"}],
    }
    return {"prompts": ["{{ask}}"], "providers": ["file://agent.js"], "defaultTest": default, "tests": tests}


PROJECT = {
    "promptfooconfig.yaml": """\
# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
description: library agent
prompts:
  - file://prompts/ask.txt
providers:
  - id: file://agent.js
    label: the agent
    config: { temperature: 0 }
defaultTest:
  vars:
    greeting: Good morning
  metadata: { team: desk }
  assert:
    - type: not-icontains
      value: password
      metric: leaks
    - $ref: '#/assertionTemplates/polite'
assertionTemplates:
  polite:
    type: icontains
    value: good morning
    metric: accuracy
tests:
  - description: opening hours
    vars: { question: When do you open on Saturday? }
    metadata: { category: happy_path, capability: core_function }
    assert:
      - type: contains-all
        value: [OPEN, MORNING]
  - vars:
      question: [Where is the blue book?, Who has the password?]
    assert:
      - type: icontains
        value: "{{question}}"
      - type: regex
        value: '[A-Z]{3,}'
  - description: a conversation of two
    vars: { question: "Two\\nlines", count: 3 }
    options: { prefix: "Please: " }
    assert:
      - type: assert-set
        threshold: 0.5
        metric: either
        assert:
          - { type: contains, value: PLEASE }
          - { type: contains, value: nothing }
  - file://tests/*.csv
  - file://tests/more.yaml
outputPath: out.json
""",
    "prompts/ask.txt": "{{greeting}}. {{question}}\n",
    "tests/rows.csv": (
        "question,__expected,__expected2,__metadata:category,__description\n"
        'Do you have maps?,icontains: MAPS,"not-contains-any: a, b",edge_case,\n'
        '"Quotes "" and, commas",starts-with: GOOD,,edge_case,quoted\n'
        "Is it free?,GOOD MORNING. IS IT FREE?,regex: FREE\\?$,happy_path,\n"
    ),
    "tests/more.yaml": """\
- description: opening hours
  vars: { question: And on Sunday? }
  assert:
    - type: equals
      value: GOOD MORNING. AND ON SUNDAY?
    - type: word-count
      value: { max: 5 }
""",
}


def evaluate(home: Path, config: str) -> dict:
    """promptfoo's export of one evaluation, with its own state in the same folder."""
    (home / "agent.js").write_text(AGENT)
    (home / "answers.json").write_text(json.dumps(ANSWERS))
    command = [*PROMPTFOO, "eval", "-c", config, "--no-cache", "--no-table", "--no-progress-bar", "-o", "export.json"]
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(home)}
    # A failed assertion ends promptfoo with 100, which is what these tests are for.
    subprocess.run(command, cwd=home, env={**os.environ, **quiet}, check=False, capture_output=True)
    text = (home / "export.json").read_text("utf-8").replace(str(home), "suite")
    return json.loads(re.sub(r"(file://)?/[^\s()'\"]*?/node_modules", "node_modules", text))


def verdicts(export: dict) -> dict:
    """For each test of the matrix, what promptfoo says of each answer: 1 passed, 0 failed, E an error."""
    found = {}
    for result in export["results"]["results"]:
        test = result["testCase"]
        number = int(test["vars"]["ask"].strip("[]"))
        row = found.setdefault(test["description"], ["?"] * len(ANSWERS))
        row[number] = "E" if result["failureReason"] == 2 else "1" if result["success"] else "0"
    return {name: "".join(row) for name, row in found.items()}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    (folder / "answers.json").write_text(json.dumps(ANSWERS, indent=1) + "\n")
    (folder / "matrix.json").write_text(json.dumps(matrix(), indent=1) + "\n")
    for name, text in PROJECT.items():
        (folder / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "project" / name).write_text(text)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        shutil.copy(folder / "matrix.json", home)
        found = verdicts(evaluate(home, "matrix.json"))
    (folder / "totals.json").write_text(json.dumps(found, indent=1) + "\n")
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        shutil.copytree(folder / "project", home, dirs_exist_ok=True)
        export = evaluate(home, "promptfooconfig.yaml")
    (folder / "project.json").write_text(json.dumps(export, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
