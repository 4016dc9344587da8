"""Every problem of a suite at once, each with its line and a hint, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import check, judged, refused, run

GOOD = "- {id: OK, input: hi, answer: x}\n"


def problems(folder: Path, text: str, name: str = "suite.yaml") -> str:
    (folder / name).write_text(text, "utf-8")
    done = run(folder, "suite", name)
    assert done.exit == 2, done.out
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    return done.err


@pytest.mark.parametrize(
    ("line", "place", "told", "hint"),
    [
        ("{id: A, input: a, expected_behaviors: [refusse]}", 42, "'refusse' is not defined", "did you mean 'refuses'?"),
        ("{id: A, input: a, expected_behaviors: [sings]}", 42, "'sings' is not defined", "define it under"),
        ("{id: A, input: a}", 3, "checks nothing", "expected_behaviors"),
        ("{id: A, input: a, expected_behaviors: [], must_not: []}", 3, "checks nothing", "give it one of"),
        (
            "{id: A, input: a, expected_behaviors: [refuses], must_not: [refuses]}",
            62,
            "is expected and must not",
            "keep",
        ),
        ("{id: A, input: a, answer: {matches: '.*'}}", 39, "always holds", None),
        ("{id: A, input: a, answer: {contains: ''}}", 40, "always holds", None),
        ("{id: A, input: a, answer: {matches: '('}}", 39, "cannot be read", None),
        ("{id: A, input: a, answer: {contians: x}}", 30, "unknown check 'contians'", "did you mean 'contains'?"),
        ("{id: A, input: a, answer: {}}", 29, "checks nothing", None),
        ("{id: A, inputs: a, answer: x}", 11, "'inputs' is nearly 'input'", "did you mean 'input'?"),
        ("{id: A, input: a, answer: x, trial: 2}", 32, "a column that a run writes", "did you mean 'trials'?"),
        ("{id: A, input: a, answer: x, passed: true}", 32, "a column that a run writes", None),
        ("{id: A, input: a, answer: x, trials: 0}", 40, "wanted a whole number from 1", None),
        ("{id: A, input: a, answer: x, timeout: 60}", 41, "wanted a time", "60s"),
        ("{id: A, input: a, answer: x, weight: 0}", 40, "a number above 0", None),
        ("{id: A, input: [a], answer: x}", 18, "wanted text", "turns"),
        ("{id: A, input: a, turns: [b], answer: x}", 21, "'turns' beside 'input'", "keep one"),
        ("{id: A, turns: [], answer: x}", 18, "wanted a list of texts", None),
        ("{id: A, messages: [{role: robot, content: x}], answer: x}", 29, "wanted a role", None),
        ("{id: A, messages: [{}, {role: user, content: x}], answer: x}", 22, "wanted a role", None),
        ("{id: A, messages: [{role: assistant, content: x}], answer: x}", 22, "nothing to answer", "role: user"),
        ("{id: A, input: a, predict: {json: label}, expected: x}", 37, "JSON pointer", None),
        ("{id: A, input: a, answer: x, predict: {json: /l}}", 41, "no label to compare", None),
        ("{id: OK, input: a, answer: x}", 3, "listed twice, first on line 1", None),
        ("{input: a, answer: x}", 3, "without an id", None),
        ("{id: A, ID: B, input: a, answer: x}", 11, "duplicate key 'ID'", None),
        ("{id: A, input: a, answer: x, category: adverserial}", 42, "nearly the category", "did you mean"),
        ("{id: A, input: a, expected_behaviors: refuses}", 41, "wanted a list of names", "write [refuses]"),
        ("{id: A, input: a, expected_behaviors: [refuses, refuses]}", 51, "listed twice", None),
        ("{id: A, input: a, must_not: {x: {not: {contains: a}, foo: 1}}}", 56, "unknown check 'foo'", None),
    ],
)
def test_a_problem_of_a_scenario_has_its_place_and_a_hint(tmp_path, line, place, told, hint):
    said = problems(tmp_path, f"{GOOD}- {line}\n")
    assert f"suite.yaml:2:{place}: " in said
    assert told in said
    assert f"  2 | - {line}"[:60] in said
    assert (hint or "") in said


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("agnt: {python: a:b}", "unknown key 'agnt'"),
        ("agent: {}", "wanted one of python, http, command"),
        ("agent: {python: a}", "wanted module:function"),
        ("agent: {python: a.b}", "write a:b"),
        ("agent: {python: a:b, http: 'https://x'}", "found python and http"),
        ("agent: {python: a:b, headers: {}}", "belongs to an agent with http"),
        ("agent: {http: ftp://x}", "begins with http://"),
        ("agent: {http: 'https://x', format: grpc}", "openai or anthropic or json"),
        ("agent: {http: 'https://x', output: /a}", "belongs to `format: json`"),
        ("agent: {http: 'https://x', format: json}", "needs body"),
        ("agent: {http: 'https://x', body: {q: 'Q: {input}'}, output: /a}", "more than the name in braces"),
        ("agent: {http: 'https://x', body: {q: hi}, output: /a}", "every call would be the same"),
        ("agent: {http: 'https://x', body: '{input}', output: reply}", "write /reply"),
        ("agent: {http: 'https://x', key: secret}", "does not belong in a file"),
        ("agent: {http: 'https://x', headers: {a: '${1}'}}", "not the name of a variable"),
        ("agent: {command: ./agent --json}", "write [./agent, --json]"),
        ("agent: {command: []}", "a list of words"),
        ("agent: {python: a:b, max_reply: 10}", "a size such as 16 MiB"),
        ("judge: {model: m}", "a judge needs base_url"),
        ("judge: {python: a:b, model: m}", "belongs to a judge with a model"),
        ("run: {trials: 2.5}", "wanted a whole number"),
        ("run: {concurrency: many}", "wanted auto"),
        ("run: {budget: 5}", "write $5 or 5 usd"),
        ("run: {timeout: 0s}", "above 0"),
        ("run: {retry: 1}", "unknown key 'retry'"),
        ("defaults: {input: x}", "unknown key 'input'"),
        ("behaviors: [a]", "a mapping from names to checks"),
        ("behaviors: {a: {contains: ''}}", "always holds"),
        ("suite: [a]", "wanted text"),
    ],
)
def test_a_problem_of_a_block_is_told(tmp_path, block, told):
    said = problems(tmp_path, f"{block}\nscenarios:\n{GOOD}")
    assert "suite.yaml:1:" in said
    assert told in said


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path):
    said = problems(tmp_path, f"run: {{trials: 0}}\nscenarios:\n{GOOD}- {{id: A}}\n- {{id: B, input: x, answer: []}}\n")
    assert [line.split(":")[1] for line in said.splitlines() if line.startswith("suite.yaml")] == ["1", "4", "5"]


def test_problems_beside_a_duplicate_key_are_found_too(tmp_path):
    said = problems(tmp_path, f"run: {{trials: 0, Trials: 1}}\nscenarios:\n{GOOD}")
    assert "duplicate key 'Trials'" in said
    assert "wanted a whole number" in said


def test_problems_of_jsonl_and_csv_have_their_line(tmp_path):
    said = problems(tmp_path, '{"id": "A", "input": "a", "answer": "x"}\n\n{"id": "B"\n{"id": "A"}\n', "s.jsonl")
    assert "s.jsonl:3:" in said
    assert "s.jsonl:4:1: A: the scenario 'A' is listed twice, first on line 1" in said
    said = problems(tmp_path, 'id,input,answer.contains,trials\nA,"a\nb",x,1\nB,b,x,many\nC,c,x\n', "s.csv")
    assert "s.csv:4: B: trials: found 'many'" in said
    assert "s.csv:5: found 3 cells" in said
    said = problems(tmp_path, "id,id\nA,B\n", "s.csv")
    assert "the column 'id' is there twice" in said


def test_every_cell_of_csv_is_what_its_column_takes(tmp_path):
    text = (
        "id,category,input,expected_behaviors,must_not.leaks.contains,answer.equals,answer.exact,weight,tags.v,trials\n"
        '7,edge_case,true,refuses;admits_not_knowing,secret,10,true,2.5,1.10,3\n8,,"[1, 2]","[""refuses""]",,,,,,\n'
    )
    (tmp_path / "s.csv").write_text(text, "utf-8")
    done = run(tmp_path, "suite", "s.csv")
    assert done.exit == 0, done.err
    assert "2 scenarios, 4 trials" in done.out
    assert "leaks\n      The reply contains 'secret'. Must not happen in 1 scenario." in done.out


# --- hostile input -------------------------------------------------------------------------------


@pytest.mark.hazard("H120")
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("s.yaml", "- !!python/object/apply:os.system [id]\n", "the tag"),
        ("s.yaml", "a: &a [x, x]\nb: &b [*a, *a]\nscenarios: [A]\n", "anchors and aliases"),
        ("s.yaml", "[" * 3000, "nested deeper"),
        ("s.json", "[" * 100_000, "nested deeper"),
        ("s.json", '{"scenarios": ' + "[" * 70 + "]" * 70 + "}", "nested deeper"),
        ("s.json", '[{"id": "\\ud800"}]', "surrogate"),
        ("s.json", '[{"id": "A", "x": 1e99999999999999999999}]', None),
        ("s.json", f'[{{"id": "A", "x": {"9" * 5000}}}]', "too many digits"),
        ("s.json", '[{"id": "A", "x": NaN}]', "NaN"),
        ("s.yaml", "- A\n---\n- B\n", "second document"),
        ("s.yaml", "- id: A\n  x: 'a\u2028b'\n", "U+2028"),
        ("s.yaml", "? [a]\n: b\n", "as a key"),
        ("s.yaml", "", "no scenario"),
        ("s.csv", "", "no scenario"),
        ("s.csv", "id\n" + "x" * 200_000, "not CSV"),
        ("s.jsonl", "", "no scenario"),
    ],
)
def test_hostile_suites_are_refused(tmp_path, name, text, told):
    (tmp_path / name).write_text(text, "utf-8")
    done = run(tmp_path, "suite", name)
    assert done.exit == (0 if told is None else 2), done.out
    assert "internal error" not in done.err
    assert (told or "") in done.err


def test_a_file_that_is_too_large_is_refused_without_being_read(tmp_path):
    with (tmp_path / "s.yaml").open("wb") as stream:
        stream.truncate(65 * 2**20)
    assert "larger than 64 MiB" in run(tmp_path, "suite", "s.yaml").err


def test_a_missing_file_suggests_the_one_that_is_there(tmp_path):
    (tmp_path / "suite.yaml").write_text(GOOD, "utf-8")
    done = run(tmp_path, "suite", "siute.yaml")
    assert (done.exit, "did you mean 'suite.yaml'?" in done.err) == (2, True)


# --- the policy's `suite` ------------------------------------------------------------------------

POLICY = {"suite": "s.yaml", "thresholds": {"pass_rate": "0%"}}
FULL = """
suite: x
behaviors: {leaks: {contains: secret}}
defaults: {cluster: c}
scenarios:
  - id: A
    category: edge_case
    input: hi
    answer: {contains: x}
    expected_behaviors: {greets: {contains: hello}}
    must_not: [leaks]
    trials: 2
"""
ROW = {"id": "A", "category": "edge_case", "correct": True, "expected_behaviors": ["greets"], "behaviors": ["greets"],
       "must_not": ["leaks"], "violations": []}  # fmt: skip


def test_a_policy_takes_the_same_file(tmp_path):
    (tmp_path / "s.yaml").write_text(FULL, "utf-8")
    judged(check(tmp_path, [ROW], POLICY), "pass")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"expected_behaviors": ["waves"]}, "expected_behaviors lacks 'greets' of the suite"),
        ({"must_not": ["lies"]}, "must_not lacks 'leaks' of the suite"),
        ({"category": "happy_path"}, "category is 'happy_path' in the results"),
        ({"cluster": "d"}, "cluster is 'd' in the results and 'c' in the suite"),
        ({"correct": None}, "answer, by `correct`"),
        ({"id": "B"}, "A"),
    ],
)
def test_results_that_contradict_the_file_fail(tmp_path, changed, told):
    (tmp_path / "s.yaml").write_text(FULL, "utf-8")
    done = check(tmp_path, [{**ROW, **changed}], POLICY)
    judged(done, "fail")
    assert told in done.rule("suite")["reason"]


def test_a_policy_tells_the_problems_of_its_suite(tmp_path):
    (tmp_path / "s.yaml").write_text("scenarios:\n- {id: A, categry: edge_case}\n- A\n", "utf-8")
    done = check(tmp_path, [ROW], POLICY)
    refused(done, "'categry' is nearly 'category'", "listed twice, first on line 2", line=3)
