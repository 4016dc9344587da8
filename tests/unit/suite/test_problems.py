"""Every problem of a suite at once, each with its line and a hint, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import Run, check, judged, refused, run

GOOD = "- {id: OK, input: hi, answer: x}\n"


def problems(folder: Path, text: str, name: str = "suite.yaml") -> Run:
    (folder / name).write_text(text, "utf-8")
    done = run(folder, "suite", name)
    assert done.exit == 2, done.out
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    return done


@pytest.mark.parametrize(
    ("line", "place", "codes", "value", "hint"),
    [
        ("{id: A, input: a, expected_behaviors: [refusse]}", 42, "suite.undefined-behavior", "'refusse'", "'refuses'"),
        (
            "{id: A, input: a, expected_behaviors: [sings]}",
            42,
            "suite.undefined-behavior",
            "'sings'",
            '{contains: "sings"}',
        ),
        ("{id: A, input: a}", 3, "suite.no-check", "A: ", "expected_behaviors"),
        ("{id: A, input: a, expected_behaviors: [], must_not: []}", 3, "suite.no-check", "A: ", "must_not"),
        (
            "{id: A, input: a, expected_behaviors: [refuses], must_not: [refuses]}",
            62,
            "suite.conflict",
            "must_not: 'refuses'",
            None,
        ),
        ("{id: A, input: a, answer: {matches: '.*'}}", 39, "check.constant", "answer.matches: ", None),
        ("{id: A, input: a, answer: {contains: ''}}", 40, "check.constant", "answer.contains: ", None),
        ("{id: A, input: a, answer: {matches: '('}}", 39, "check.bad-pattern", "answer.matches: ", None),
        ("{id: A, input: a, answer: {contians: x}}", 30, "check.unknown", "'contians'", "'contains'"),
        ("{id: A, input: a, answer: {}}", 29, "check.constant", "A: answer: ", None),
        ("{id: A, inputs: a, answer: x}", 11, "suite.misspelled", "'inputs'", "'input'"),
        ("{id: A, input: a, answer: x, trial: 2}", 32, "suite.bad-column", "'trial'", "'trials'"),
        ("{id: A, input: a, answer: x, passed: true}", 32, "suite.bad-column", "'passed'", None),
        ("{id: A, input: a, answer: x, trials: 0}", 40, "suite.wrong-type", "trials: found 0", None),
        ("{id: A, input: a, answer: x, timeout: 60}", 41, "suite.wrong-type", "timeout: found 60", "60s"),
        ("{id: A, input: a, answer: x, weight: 0}", 40, "suite.wrong-type", "weight: found 0", None),
        ("{id: A, input: [a], answer: x}", 18, "suite.wrong-type", "A: input: ", "turns"),
        ("{id: A, input: a, turns: [b], answer: x}", 21, "suite.conflict", "'turns' beside 'input'", None),
        ("{id: A, turns: [], answer: x}", 18, "suite.wrong-type", "A: turns: ", None),
        (
            "{id: A, messages: [{role: robot, content: x}], answer: x}",
            29,
            "suite.wrong-type",
            "messages[0].role: found 'robot'",
            None,
        ),
        (
            "{id: A, messages: [{}, {role: user, content: x}], answer: x}",
            22,
            "suite.wrong-type suite.wrong-type",
            "messages[0].role: ",
            None,
        ),
        (
            "{id: A, messages: [{role: assistant, content: x}], answer: x}",
            22,
            "suite.no-question",
            "messages[0]: ",
            "role: user",
        ),
        (
            "{id: A, input: a, predict: {json: label}, expected: x}",
            37,
            "suite.wrong-type",
            "predict.json: found 'label'",
            None,
        ),
        ("{id: A, input: a, answer: x, predict: {json: /l}}", 41, "suite.check-without-answer", "`expected`", None),
        ("{id: OK, input: a, answer: x}", 3, "suite.listed-twice", "'OK' is listed twice, first on line 1", None),
        ("{input: a, answer: x}", 3, "suite.bad-id", "scenario 2: ", None),
        ("{id: A, ID: B, input: a, answer: x}", 11, "suite.duplicate-key", "'ID'", None),
        (
            "{id: A, input: a, answer: x, category: adverserial}",
            42,
            "suite.misspelled",
            "'adverserial'",
            "'adversarial'",
        ),
        ("{id: A, input: a, expected_behaviors: refuses}", 41, "suite.wrong-type", "found 'refuses'", "[refuses]"),
        ("{id: A, input: a, expected_behaviors: [refuses, refuses]}", 51, "suite.listed-twice", "'refuses'", None),
        ("{id: A, input: a, must_not: {x: {not: {contains: a}, foo: 1}}}", 56, "check.unknown", "'foo'", None),
    ],
)
def test_a_problem_of_a_scenario_has_its_place_and_a_hint(tmp_path, line, place, codes, value, hint):
    done = problems(tmp_path, f"{GOOD}- {line}\n")
    assert done.codes == codes.split()
    message, _, advice = done.err.partition("hint: ")
    assert f"suite.yaml:2:{place}: " in message
    assert value in message
    assert f"  2 | - {line}"[:60] in done.err
    assert (hint or "") in advice


@pytest.mark.parametrize(
    ("block", "codes", "named"),
    [
        ("agnt: {python: a:b}", "suite.unknown-key", "'agnt'"),
        ("agent: {}", "suite.missing-key", "python, http, command"),
        ("agent: {python: a}", "suite.wrong-type", "found 'a'"),
        ("agent: {python: a.b}", "suite.wrong-type", " a:b"),
        ("agent: {python: a:b, http: 'https://x'}", "suite.missing-key", "found python and http"),
        ("agent: {python: a:b, headers: {}}", "suite.misplaced-key", "'headers'"),
        ("agent: {http: ftp://x}", "suite.wrong-type", "agent.http: found 'ftp://x'"),
        ("agent: {http: 'https://x', format: grpc}", "suite.wrong-type", "openai or anthropic or json"),
        ("agent: {http: 'https://x', output: /a}", "suite.misplaced-key", "'output'"),
        ("agent: {http: 'https://x', format: json}", "suite.missing-key suite.missing-key", "needs body"),
        (
            "agent: {http: 'https://x', body: {q: 'Q: {input}'}, output: /a}",
            "agent.bad-body",
            "agent.body.q: 'Q: {input}'",
        ),
        ("agent: {http: 'https://x', body: {q: hi}, output: /a}", "agent.bad-body", "{messages}"),
        ("agent: {http: 'https://x', body: '{input}', output: reply}", "suite.wrong-type", " /reply"),
        ("agent: {http: 'https://x', key: secret}", "suite.key-in-file", "${AGENT_KEY}"),
        ("agent: {http: 'https://x', headers: {a: '${1}'}}", "agent.bad-body", "agent.headers.a: '${1}'"),
        ("agent: {command: ./agent --json}", "suite.wrong-type", "[./agent, --json]"),
        ("agent: {command: []}", "suite.wrong-type", "agent.command: "),
        ("agent: {python: a:b, max_reply: 10}", "suite.wrong-type", "agent.max_reply: found 10"),
        ("judge: {model: m}", "suite.missing-key", "base_url"),
        ("judge: {python: a:b, model: m}", "suite.misplaced-key", "'model'"),
        ("run: {trials: 2.5}", "suite.wrong-type", "run.trials: "),
        ("run: {concurrency: many}", "suite.wrong-type", "run.concurrency: found 'many'"),
        ("run: {budget: 5}", "suite.wrong-type", "$5 or 5 usd"),
        ("run: {timeout: 0s}", "suite.wrong-type", "run.timeout: found '0s'"),
        ("run: {retry: 1}", "suite.unknown-key", "run: unknown key 'retry'"),
        ("defaults: {input: x}", "suite.unknown-key", "defaults: unknown key 'input'"),
        ("behaviors: [a]", "suite.wrong-type", ":1:12: behaviors: "),
        ("behaviors: {a: {contains: ''}}", "check.constant", "behaviors.a.contains: "),
        ("suite: [a]", "suite.wrong-type", ":1:8: suite: "),
    ],
)
def test_a_problem_of_a_block_is_told(tmp_path, block, codes, named):
    done = problems(tmp_path, f"{block}\nscenarios:\n{GOOD}")
    assert done.codes == codes.split()
    assert "suite.yaml:1:" in done.err
    assert named in done.err


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path):
    done = problems(tmp_path, f"run: {{trials: 0}}\nscenarios:\n{GOOD}- {{id: A}}\n- {{id: B, input: x, answer: []}}\n")
    assert [line.split(":")[1] for line in done.err.splitlines() if line.startswith("suite.yaml")] == ["1", "4", "5"]


def test_problems_beside_a_duplicate_key_are_found_too(tmp_path):
    done = problems(tmp_path, f"run: {{trials: 0, Trials: 1}}\nscenarios:\n{GOOD}")
    assert done.codes == ["suite.wrong-type", "suite.duplicate-key"]
    assert "'Trials'" in done.err
    assert "found 0" in done.err


def test_problems_of_jsonl_and_csv_have_their_line(tmp_path):
    done = problems(tmp_path, '{"id": "A", "input": "a", "answer": "x"}\n\n{"id": "B"\n{"id": "A"}\n', "s.jsonl")
    assert done.codes == ["file.not-json", "suite.listed-twice"]
    assert "s.jsonl:3:" in done.err
    assert "s.jsonl:4:1: A: " in done.err
    assert "'A' is listed twice, first on line 1" in done.err
    done = problems(tmp_path, 'id,input,answer.contains,trials\nA,"a\nb",x,1\nB,b,x,many\nC,c,x\n', "s.csv")
    assert done.codes == ["suite.wrong-type", "row.field-count"]
    assert "s.csv:4: B: trials: found 'many'" in done.err
    assert "s.csv:5: found 3 cells" in done.err
    done = problems(tmp_path, "id,id\nA,B\n", "s.csv")
    assert done.codes == ["suite.duplicate-key", "suite.duplicate-key"]
    assert "'id'" in done.err


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
    ("name", "text", "codes", "value"),
    [
        ("s.yaml", "- !!python/object/apply:os.system [id]\n", "yaml.not-allowed suite.bad-id", ":1:3: "),
        (
            "s.yaml",
            "a: &a [x, x]\nb: &b [*a, *a]\nscenarios: [A]\n",
            "suite.unknown-key yaml.not-allowed suite.unknown-key suite.no-check",
            ":1:4: ",
        ),
        ("s.yaml", "[" * 3000, "file.too-deep", "64"),
        ("s.json", "[" * 100_000, "file.too-deep", "64"),
        ("s.json", '{"scenarios": ' + "[" * 70 + "]" * 70 + "}", "file.too-deep", "64"),
        ("s.json", '[{"id": "\\ud800"}]', "file.bad-character", ":1:9: "),
        ("s.json", '[{"id": "A", "x": 1e99999999999999999999}]', "", ""),
        ("s.json", f'[{{"id": "A", "x": {"9" * 5000}}}]', "file.too-many-digits", ":1:19: "),
        ("s.json", '[{"id": "A", "x": NaN}]', "file.not-json", "'NaN'"),
        ("s.yaml", "- A\n---\n- B\n", "yaml.not-allowed", ":2:1: "),
        ("s.yaml", "- id: A\n  x: 'a\u2028b'\n", "file.bad-character", "U+2028"),
        ("s.yaml", "? [a]\n: b\n", "suite.no-scenario file.key-not-text", ":1:3: "),
        ("s.yaml", "", "suite.no-scenario", ":1:"),
        ("s.csv", "", "suite.no-scenario", ":1:"),
        ("s.csv", "id\n" + "x" * 200_000, "file.not-csv", ":2: "),
        ("s.jsonl", "", "suite.no-scenario", ":1:"),
    ],
)
def test_hostile_suites_are_refused(tmp_path, name, text, codes, value):
    (tmp_path / name).write_text(text, "utf-8")
    done = run(tmp_path, "suite", name)
    assert done.exit == (2 if codes else 0), done.out
    assert "internal error" not in done.err
    assert done.codes == codes.split()
    assert value in done.err


def test_a_file_that_is_too_large_is_refused_without_being_read(tmp_path):
    with (tmp_path / "s.yaml").open("wb") as stream:
        stream.truncate(65 * 2**20)
    done = run(tmp_path, "suite", "s.yaml")
    assert done.codes == ["file.too-large"]
    assert "64 MiB" in done.err


def test_a_missing_file_suggests_the_one_that_is_there(tmp_path):
    (tmp_path / "suite.yaml").write_text(GOOD, "utf-8")
    done = run(tmp_path, "suite", "siute.yaml")
    assert (done.exit, done.codes) == (2, ["file.missing"])
    assert "'suite.yaml'" in done.err


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
    assert [problem["code"] for problem in done.json["problems"]] == ["suite.misspelled", "suite.listed-twice"]
