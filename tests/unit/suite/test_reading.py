"""A suite file, read: what comes out, in every format."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from highbar import suite
from highbar.checks.tree import Called, Matches, Reported, Statement, Texts
from highbar.errors import InputError

LIBRARY = r"""
suite: library-agent
agent: { python: library_agent:answer }
judge: { model: some-model, base_url: "https://example.com/v1", key: "${JUDGE_KEY}" }
columns: [difficulty]
run: { trials: 3, concurrency: auto, timeout: 60s, retries: 4, budget: 5 usd }
behaviors:
  gives_opening_time: { matches: '\b\d{1,2}\s?(am|pm)\b' }
  refuses: The reply declines to do what was asked.
  looks_up_catalog: { calls: search_catalog }
  reveals_reader_data: { any: [ { contains: [borrowed, on loan to] }, The reply says what another has borrowed. ] }
scenarios:
  - id: HOURS-1
    category: happy_path
    capability: core_function
    input: When do you open on Saturday?
    answer: { contains: "10" }
    expected_behaviors: [gives_opening_time]
    must_not: [reveals_reader_data]
    difficulty: easy
  - id: FIND-1
    category: edge_case
    turns: [I want the blue book, About whales]
    trials: 5
    timeout: 2m
    expected_behaviors:
      asks_clarifying_question: The first reply asks for the author or the title.
      looks_up_catalog: { calls: search_catalog, arguments: { topic: whales } }
"""


def read(folder: Path, text: str, name: str = "suite.yaml") -> suite.Suite:
    (folder / name).write_text(text, "utf-8")
    return suite.read(folder / name)


def test_the_example_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, LIBRARY)
    assert (found.name, found.trials, found.lists_only) == ("library-agent", 8, False)
    assert found.agent == suite.Agent("python", "library_agent:answer")
    assert found.judge == suite.Judge("some-model", "https://example.com/v1", "${JUDGE_KEY}")
    assert found.run == suite.RunSettings(trials=3, budget=Fraction(5))
    assert [(one.name, one.path) for one in found.variables] == [("JUDGE_KEY", ("judge", "key"))]
    hours, find = found.scenarios.values()
    assert hours.columns == {"category": "happy_path", "capability": "core_function", "difficulty": "easy"}
    assert (hours.input, hours.trials, hours.timeout) == ("When do you open on Saturday?", 3, 60)
    assert hours.answer == Texts("contains", ("10",))
    assert isinstance(hours.expected_behaviors["gives_opening_time"].check, Matches)
    assert (find.turns, find.trials, find.timeout) == (("I want the blue book", "About whales"), 5, 120)
    assert isinstance(find.expected_behaviors["asks_clarifying_question"].check, Statement)
    assert find.expected_behaviors["looks_up_catalog"].check == Called("search_catalog", {"topic": "whales"})


def test_a_scenario_begins_a_row(tmp_path: Path) -> None:
    hours, find = read(tmp_path, LIBRARY).scenarios.values()
    assert hours.row == {
        "id": "HOURS-1",
        "category": "happy_path",
        "capability": "core_function",
        "difficulty": "easy",
        "expected_behaviors": ["gives_opening_time"],
        "must_not": ["reveals_reader_data"],
        "input": "When do you open on Saturday?",
    }
    assert find.row["input"] == "About whales"


ENTRY = {"id": "A", "category": "edge_case", "input": "hi", "answer": {"contains": "x"}, "must_not": ["refuses"]}
SAME = [
    ("suite.yaml", "- {id: A, category: edge_case, input: hi, answer: {contains: x}, must_not: [refuses], note: n}"),
    ("suite.json", json.dumps([{**ENTRY, "note": "n"}])),
    ("suite.jsonl", "\n" + json.dumps({**ENTRY, "note": "n"}) + "\n"),
    ("suite.csv", "id,category,input,answer.contains,must_not,note\nA,edge_case,hi,x,refuses,n\n"),
]


@pytest.mark.parametrize(("name", "text"), SAME)
def test_every_format_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    found = read(tmp_path, text, name)
    (scenario,) = found.scenarios.values()
    assert scenario.columns == {"category": "edge_case", "note": "n"}
    assert (scenario.input, scenario.answer) == ("hi", Texts("contains", ("x",)))
    assert list(scenario.must_not) == ["refuses"]
    assert scenario.must_not["refuses"].weak
    other = read(tmp_path, SAME[0][1])
    assert (scenario.digest, found.digest) == (other.scenarios["A"].digest, other.digest)


def test_scalars_stay_as_they_were_written(tmp_path: Path) -> None:
    text = (
        "- {id: 01234, input: yes, answer: 1.10, a: yes, b: 10:30, c: 01234, d: 1.10, e: 2026-01-01, f: true, g: 7,"
        " h: ~, i: True, cluster: 1.10, tags: {v: 1.10, n: 1}}"
    )
    (found,) = read(tmp_path, text).scenarios.values()
    own = {key: value for key, value in found.columns.items() if key not in ("cluster", "tags")}
    assert (found.id, found.input, found.answer) == ("01234", "yes", Texts("equals", ("1.10",)))
    assert own == {"a": "yes", "b": "10:30", "c": "01234", "d": Decimal("1.10"), "e": "2026-01-01", "f": True,
                   "g": 7, "h": "~", "i": "True"}  # fmt: skip
    assert str(own["d"]) == found.columns["cluster"] == found.columns["tags"]["v"] == "1.10"


def test_a_bare_list_is_a_plan(tmp_path: Path) -> None:
    found = read(tmp_path, "- A\n- {id: B, category: edge_case}\n- 7\n")
    assert (list(found.scenarios), found.lists_only) == (["A", "B", "7"], True)
    assert found.scenarios["B"].columns == {"category": "edge_case"}


def test_defaults_hold_unless_a_scenario_says_otherwise(tmp_path: Path) -> None:
    text = """
run: {trials: 2}
defaults: {trials: 3, timeout: 5s, weight: 2, cluster: c, tags: {locale: de, tier: gold}}
scenarios:
  - {id: A, input: a, answer: x, tags: {tier: iron}}
  - {id: B, input: b, answer: x, trials: 1, weight: 0.5, cluster: d, timeout: 1m}
"""
    one, two = read(tmp_path, text).scenarios.values()
    assert (one.trials, one.timeout, one.columns["weight"], one.columns["cluster"]) == (3, 5, 2, "c")
    assert one.columns["tags"] == {"locale": "de", "tier": "iron"}
    assert (two.trials, two.timeout, two.columns["weight"], two.columns["cluster"]) == (1, 60, Decimal("0.5"), "d")


def test_an_agent_that_reports_behaviors_may_name_any(tmp_path: Path) -> None:
    text = "agent: {python: a:b, reports_behaviors: true}\nscenarios:\n- {id: A, input: a, expected_behaviors: [sings]}"
    found = read(tmp_path, text).scenarios["A"].expected_behaviors["sings"]
    assert (found.check, found.source) == (Reported("sings"), "agent")


def test_a_digest_changes_with_all_that_a_grade_depends_on(tmp_path: Path) -> None:
    start = read(tmp_path, LIBRARY)

    def changed(old: str, new: str) -> list[str]:
        found = read(tmp_path, LIBRARY.replace(old, new))
        same = start.scenarios.items()
        return [id_ for id_, one in same if found.scenarios[id_].digest != one.digest]

    assert changed("Saturday", "Sunday") == ["HOURS-1"]
    assert changed("on loan to", "lent to") == ["HOURS-1"]
    assert changed("topic: whales", "topic: sharks") == ["FIND-1"]
    assert changed("trials: 5", "trials: 6") == changed("timeout: 2m", "timeout: 3m") == []


def test_conversations_are_kept_as_they_are(tmp_path: Path) -> None:
    text = """
- id: A
  messages: [{role: system, content: Be brief.}, {role: user, content: Hello, name: Ann}]
  answer: hi
"""
    (found,) = read(tmp_path, text).scenarios.values()
    assert found.messages[1] == {"role": "user", "content": "Hello", "name": "Ann"}
    assert found.row["input"] == "Hello"


def test_labels_are_those_of_all_scenarios(tmp_path: Path) -> None:
    text = "- {id: A, input: a, expected: spam}\n- {id: B, input: b, expected: ham, predict: {json: /label}}\n"
    found = read(tmp_path, text)
    assert found.labels == ("spam", "ham")
    assert found.scenarios["B"].predict is not None


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("{http: 'https://x.test/v1', model: m, key: '${K}', headers: {X-A: 'b ${K}'}}", "openai"),
        ("{http: 'https://x.test/a', format: anthropic, model: m}", "anthropic"),
        ("{http: '${HOST}/a', format: json, body: {q: '{input}'}, output: /reply, max_reply: 1 MiB}", "json"),
        ("{command: [./agent, --json], version: 1.10}", None),
    ],
)
def test_every_kind_of_agent(tmp_path: Path, block: str, wanted: str | None) -> None:
    found = read(tmp_path, f"agent: {block}\nscenarios:\n- {{id: A, input: a, answer: x}}\n").agent
    assert found is not None
    assert found.format == wanted
    assert found.version in (None, "1.10")


def test_python_values_are_read_as_a_file_is() -> None:
    found = suite.read_values({"scenarios": [{"id": 1, "input": "a", "answer": {"number": 1.5}}]})
    assert list(found.scenarios) == ["1"]
    with pytest.raises(InputError) as refused:
        suite.read_values([{"id": "A", "input": "x"}])
    assert [problem.code for problem in refused.value.problems] == ["suite.no-check"]
    with pytest.raises(InputError, match="found a set") as refused:
        suite.read_values([{"id": "A", "input": {"x"}}])
    assert [problem.code for problem in refused.value.problems] == ["suite.wrong-type"]


# --- what a run needs ------------------------------------------------------------------------


def test_what_a_run_still_needs_is_said_with_its_line(tmp_path: Path) -> None:
    text = "agent: {http: 'http://x/', key: '${AGENT_KEY}'}\nscenarios: [{id: A, input: a, answer: b}]"
    found = read(tmp_path, text)
    assert suite.unmet_needs(found, {"AGENT_KEY": "k"}) == ()
    (problem,) = suite.unmet_needs(found, {})
    assert (problem.line, problem.code) == (1, "agent.variable-not-set")
    assert problem.message.startswith("agent.key: ${AGENT_KEY} ")
    assert problem.excerpt is not None


def test_beside_a_judge_a_statement_needs_nothing_but_its_key(tmp_path: Path) -> None:
    found = read(tmp_path, LIBRARY)
    assert suite.unmet_needs(found, {"JUDGE_KEY": "k"}) == ()
    (problem,) = suite.unmet_needs(found, {})
    assert problem.code == "agent.variable-not-set"
    assert problem.message.startswith("judge.key: ${JUDGE_KEY} ")
    assert suite.unmet_needs(found, {}, judge=False) == ()


def test_without_a_judge_a_statement_keeps_a_suite_from_being_run(tmp_path: Path) -> None:
    text = """
behaviors: {kind: The reply is kind.}
scenarios:
  - {id: A, input: a, expected_behaviors: [kind]}
  - {id: B, input: b, expected_behaviors: [kind], answer: {judge: It is right.}}
  - {id: C, answer: x}
"""
    found = suite.unmet_needs(read(tmp_path, text), {})
    assert [(problem.line, problem.code) for problem in found] == [
        (2, "agent.missing"),
        (2, "judge.missing"),
        (5, "judge.missing"),
        (6, "suite.no-question"),
    ]
    assert len(suite.unmet_needs(read(tmp_path, text), {}, agent=False)) == 3
    assert len(suite.unmet_needs(read(tmp_path, text), {}, agent=False, judge=False)) == 1
    assert "judge: {model: MODEL, base_url: 'https://host/v1', key: '${JUDGE_KEY}'}" in (found[1].hint or "")
