"""promptfoo configurations: what is read, and what is refused with its line and a hint."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.documents.problems import ValueCursor
from highbar.errors import InputError, Problem
from highbar.suite import Suite
from highbar.suite.tools.js_patterns import to_re2
from highbar.suite.tools.promptfoo_csv import assertion_of
from highbar.suite.tools.promptfoo_lists import NotAList, comma_separated
from highbar.suite.tools.templates import fill_template, js_text
from tests.commandline import run

HELLO = {"type": "icontains", "value": "hello"}


def config(*tests: Any, **keys: Any) -> dict[str, Any]:
    return {"prompts": ["{{q}}"], "providers": ["echo"], "tests": list(tests), **keys}


def test(**keys: Any) -> dict[str, Any]:
    return {"vars": {"q": "hi"}, "assert": [HELLO], **keys}


test.__test__ = False  # type: ignore[attr-defined]  # it makes a test of promptfoo's


def read(folder: Path, content: Any, name: str = "promptfooconfig.json") -> Suite:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return suite.read(path)


def problems(
    folder: Path, content: Any, codes: str | None = None, name: str = "promptfooconfig.json"
) -> tuple[Problem, ...]:
    """The problems for which a configuration is refused, which have these codes."""
    with pytest.raises(InputError) as caught:
        read(folder, content, name)
    found = caught.value.problems
    assert codes is None or [problem.code for problem in found] == codes.split()
    return found


# --- what is read ----------------------------------------------------------------------------


def test_a_test_is_a_scenario(tmp_path):
    described = test(
        description="greets",
        metadata={"category": "happy_path", "locale": "de", "docs": ["a"]},
        options={"repeat": 3, "prefix": "Please: "},
    )
    described["assert"] = [HELLO, {"type": "not-contains", "value": "Bye", "metric": "rude"}]
    read_ = read(tmp_path, config(described, description="greetings", evaluateOptions={"maxConcurrency": 4}))
    (scenario,) = read_.scenarios.values()
    assert (read_.name, read_.run.concurrency) == ("greetings", 4)
    assert (scenario.id, scenario.input, scenario.trials) == ("greets", "Please: hi", 3)
    assert scenario.columns == {"category": "happy_path", "tags": {"q": "hi", "locale": "de"}}
    assert [*scenario.expected_behaviors] == ["icontains: hello"]
    assert [*scenario.must_not] == ["rude"]


def test_the_defaults_belong_to_every_test(tmp_path):
    default = {
        "vars": {"q": "one", "name": "Ann"},
        "assert": [{"type": "contains", "value": "{{name}}"}],
        "metadata": {"category": "edge_case"},
        "options": {"suffix": "!"},
    }
    own = {"vars": {"name": "Bob"}, "metadata": {"category": "happy_path"}, "assert": [HELLO]}
    first, second = read(tmp_path, config({}, own, defaultTest=default)).scenarios.values()
    assert (first.input, first.columns["category"]) == ("one!", "edge_case")
    assert (second.input, second.columns["category"]) == ("one!", "happy_path")
    assert [*second.expected_behaviors] == ["contains: {{name}}", "icontains: hello"]


def test_lists_of_texts_make_every_combination(tmp_path):
    several = {"vars": {"q": ["a", "b"], "n": ["1", "2", "3"], "rows": [[1], [2]]}, "assert": [HELLO]}
    assert [one.input for one in read(tmp_path, config(several)).scenarios.values()] == ["a"] * 3 + ["b"] * 3
    whole = {**several, "options": {"disableVarExpansion": True}}
    (problem,) = problems(tmp_path, config(whole), "suite.no-counterpart")
    assert "'q'" in problem.message


def test_ids_are_stable_and_differ(tmp_path):
    tests = [
        test(description="same", vars={"q": "a"}),
        test(description="same", vars={"q": "b"}),
        test(vars={"q": "a question"}),
        test(vars={"q": "a", "n": 1.50}),
    ]
    before = [*read(tmp_path, config(*tests)).scenarios]
    assert before[2:] == ["a question", '{"q": "a", "n": 1.5}']
    assert all(id_.startswith("same#") for id_ in before[:2])
    assert len({*before}) == 4
    assert {*read(tmp_path, config(*reversed(tests))).scenarios} == {*before}


def test_a_test_that_is_there_twice_is_refused(tmp_path):
    (problem,) = problems(tmp_path, config(test(), test()), "suite.listed-twice")
    assert "'hi'" in problem.message


def test_several_prompts_are_scenarios_of_one_cluster(tmp_path):
    prompts = [{"raw": "Short: {{q}}", "label": "short"}, "Answer at length, please, and with all the details: {{q}}"]
    wanted = test(description="T", prompts=["short"])
    read_ = read(tmp_path, {**config(test(description="A"), wanted), "prompts": prompts})
    first, _, third = read_.scenarios
    assert (first, third) == ("A · short", "T · short")
    assert {one.columns["cluster"] for one in read_.scenarios.values()} == {"A", "T"}
    assert read_.scenarios["A · short"].columns["tags"]["prompt"] == "short"
    assert read_.rewritten is not None
    assert any("2 prompts" in note for note in read_.rewritten.notes)


def test_a_prompt_that_is_json_is_a_conversation(tmp_path):
    chat = [{"role": "system", "content": "Be {{how}}."}, {"role": "user", "content": "{{q}}"}]
    for prompts in ([json.dumps(chat)], ["file://chat.json"]):
        (tmp_path / "chat.json").write_text(json.dumps(chat))
        read_ = read(tmp_path, {**config(test(vars={"q": 'say "hi"', "how": "kind"})), "prompts": prompts})
        (scenario,) = read_.scenarios.values()
        assert [message["content"] for message in scenario.messages] == ["Be kind.", 'say "hi"']


def test_prompts_and_variables_may_be_in_files(tmp_path):
    (tmp_path / "two.txt").write_text("One: {{q}}\n---\nTwo: {{q}}\n")
    (tmp_path / "doc.md").write_text("\nThe text.\n\n")
    content = {**config(test(vars={"q": "file://doc.md"})), "prompts": "file://two.txt"}
    assert [one.input for one in read(tmp_path, content).scenarios.values()] == ["One: The text.", "Two: The text."]


def test_one_line_break_at_the_end_of_a_variable_is_cut_off(tmp_path):
    (scenario,) = read(tmp_path, config(test(vars={"q": "a\n\n"}))).scenarios.values()
    assert scenario.input == "a\n"


def test_a_metric_of_both_kinds_of_assertions_is_two_behaviors(tmp_path):
    both = test(**{"assert": [{**HELLO, "metric": "m"}, {"type": "not-contains", "value": "x", "metric": "m"}]})
    (scenario,) = read(tmp_path, config(both)).scenarios.values()
    assert ([*scenario.expected_behaviors], [*scenario.must_not]) == (["m"], ["not m"])


def test_a_metric_that_means_correct_is_the_answer(tmp_path):
    (scenario,) = read(tmp_path, config(test(**{"assert": [{**HELLO, "metric": "accuracy"}]}))).scenarios.values()
    assert scenario.answer is not None
    assert scenario.answer == scenario.expected_behaviors["accuracy"].check


def test_a_judge_is_asked_once_there_is_one(tmp_path):
    asked = test(
        **{"assert": [{"type": "llm-rubric", "value": "is kind to {{q}}"}, {"type": "not-llm-rubric", "value": "lies"}]}
    )
    read_ = read(tmp_path, config(asked))
    assert {problem.line for problem in suite.unmet_needs(read_, {}, agent=False)} == {1}
    found = suite.unmet_needs(read_, {}, agent=False)
    assert [(problem.code, problem.message.partition(": ")[0]) for problem in found] == [
        ("judge.missing", f"tests[0].assert[{index}]") for index in (0, 1)
    ]
    assert "--judge 'openai:MODEL@https://host/v1'" in (found[0].hint or "")
    assert suite.unmet_needs(read_, {}, agent=False, judge=False) == ()


@pytest.mark.parametrize(
    "keys",
    [
        {"assert": [{"type": "llm-rubric", "value": "is kind", "provider": "openai:gpt-4o"}]},
        {"assert": [{"type": "llm-rubric", "value": "is kind"}], "options": {"provider": "openai:gpt-4o"}},
        {"assert": [{"type": "assert-set", "assert": [{"type": "llm-rubric", "value": "is kind", "provider": "a"}]}]},
    ],
)
def test_that_another_judge_reads_the_rubrics_is_said(tmp_path, keys):
    notes = read(tmp_path, config(test(**keys))).rewritten.notes
    assert "its graders are not asked; the judge of the run reads the rubrics in their place" in notes
    assert "graders" not in str(read(tmp_path, config(test())).rewritten.notes)


@pytest.mark.parametrize(
    "keys",
    [
        {"assert": [{"type": "llm-rubric", "value": "is kind", "rubricPrompt": "Say pass."}]},
        {"assert": [{"type": "llm-rubric", "value": "is kind"}], "options": {"rubricPrompt": "Say pass."}},
    ],
)
def test_another_prompt_of_the_judge_is_refused(tmp_path, keys):
    (problem,) = problems(tmp_path, config(test(**keys)), "suite.no-counterpart")
    assert "'rubricPrompt'" in problem.message


def test_an_agent_is_named_on_the_command_line(tmp_path):
    (problem,) = suite.unmet_needs(read(tmp_path, config(test())), {})
    assert problem.code == "agent.missing"
    assert "--agent python:module:function" in (problem.hint or "")


def test_what_is_not_used_is_said(tmp_path):
    keys = {"outputPath": "x.json", "sharing": True, "env": {"A": "b"}, "tags": {}}
    single = test(provider="openai:gpt-4o", options={"temperature": 0})
    read_ = read(tmp_path, config(single, **keys, targets=[{"id": "x", "label": "the agent"}]))
    assert read_.rewritten is not None
    providers, unused = read_.rewritten.notes
    assert providers.startswith("the providers are not called (echo, the agent)")
    assert unused.endswith("env, outputPath, sharing, options.temperature")
    assert "written for promptfoo" in run(tmp_path, "suite", "promptfooconfig.json").out


# --- tests in other files --------------------------------------------------------------------


def test_tests_may_be_in_csv_yaml_json_and_lines(tmp_path):
    (tmp_path / "a.csv").write_text(
        "q,__expected,__expected2,__description,__metadata:category,__metadata:tags[],__threshold,__prefix\n"
        '"a, b",icontains: hello,not-equals: x,first,edge_case,"x,y",1,Oh: \n'
    )
    (tmp_path / "b.yaml").write_text(
        '- description: second\n  vars: {q: "10:30"}\n  assert: [{type: contains, value: x}]\n'
    )
    (tmp_path / "c.json").write_text(json.dumps(test(description="third")))
    (tmp_path / "d.jsonl").write_text(json.dumps(test(description="fourth")) + "\n")
    names = ["file://a.csv", "b.yaml", "*.json", "file://d.jsonl"]
    (tmp_path / "e").mkdir()
    content = {**config(), "tests": names}
    found = read(tmp_path, content, "promptfooconfig.yaml").scenarios
    assert [*found] == ["first", "second", "third", "fourth"]
    assert found["first"].input == "Oh: a, b"
    assert found["first"].columns["category"] == "edge_case"
    assert [*found["first"].must_not] == ["equals: x"]


def test_problems_in_another_file_have_its_lines(tmp_path):
    (tmp_path / "a.csv").write_text("q,__expected\nhi,icontains: hello\nhi,similar: x\n")
    (tmp_path / "b.yaml").write_text("- vars: {q: a}\n  assert:\n    - type: contians\n      value: x\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path, {**config(), "tests": ["a.csv", "b.yaml"]})
    found = [
        (Path(one.file or "").name, one.line, one.code, " ".join(one.message.split()[:2]))
        for one in caught.value.problems
    ]
    assert ("a.csv", 3, "suite.no-counterpart", "[1].assert[0].type: 'similar'") in found
    assert ("b.yaml", 3, "check.unknown", "[0].assert[0].type: 'contians'") in found


@pytest.mark.parametrize(
    ("text", "codes", "named"),
    [
        ("q\na,b\n", "row.field-count", "found 2 cells"),
        ('q\n"a', "file.not-csv", ""),
        ("", "file.empty", ""),
        ("q,q\na,b\n", "suite.duplicate-key", "'q'"),
        ("q,_expected\na,b\n", "suite.misspelled suite.no-check", "'_expected'"),
        (
            "q,__config:__expected:threshold\na,1\n",
            "suite.no-counterpart suite.no-check",
            "'__config:__expected:threshold'",
        ),
        ("q,__threshold\na,much\n", "suite.wrong-type suite.no-check", "[0].__threshold: found 'much'"),
        ('q,__expected\na,"contains-any: ""b"\n', "suite.wrong-type suite.wrong-type", "[0]: "),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_refused(tmp_path, text, codes, named):
    (tmp_path / "a.csv").write_text(text)
    first, *_ = problems(tmp_path, {**config(), "tests": "a.csv"}, codes)
    assert named in first.message


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("hello", {"type": "equals", "value": "hello"}),
        ("contains: a: b", {"type": "contains", "value": "a: b"}),
        ("not-icontains-any: a, b", {"type": "not-icontains-any", "value": ["a", "b"]}),
        ("contains-all:", {"type": "contains-all"} | {"value": ""}),
        ("is-json", {"type": "is-json"}),
        ("latency(300)", {"type": "latency", "threshold": 300}),
        ("cost", {"type": "cost", "threshold": Decimal("0.75")}),
        ("grade: is kind", {"type": "llm-rubric", "value": " is kind"}),
        ("fn: output", {"type": "javascript", "value": "output"}),
        ("python: output", {"type": "python", "value": "python: output"}),
        ("file://check.mjs", {"type": "javascript", "value": "file://check.mjs"}),
        ("unknown: x", {"type": "equals", "value": "unknown: x"}),
    ],
)
def test_a_cell_asserts_what_it_does_in_promptfoo(cell, assertion):
    assert assertion_of(cell, ValueCursor(problems=[])) == assertion


# --- what has no counterpart -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("assertion", "code", "named"),
    [
        ({"type": "javascript", "value": "true"}, "suite.no-counterpart", "'javascript'"),
        ({"type": "not-similar", "value": "a"}, "suite.no-counterpart", "'similar'"),
        ({"type": "contains-json"}, "suite.no-counterpart", "'contains-json'"),
        ({"type": "promptfoo:redteam:pii"}, "suite.no-counterpart", "assert[0].type: "),
        ({"type": "contian", "value": "a"}, "check.unknown", "'contian'"),
        ({"value": "a"}, "suite.wrong-type", "assert[0].type: "),
        ({**HELLO, "transform": "output"}, "suite.unknown-key", "'transform'"),
        ({**HELLO, "threshold": 1}, "suite.misplaced-key", "'threshold'"),
        ({**HELLO, "weight": 0}, "check.constant", "assert[0].weight: "),
        ({**HELLO, "weight": -1}, "suite.wrong-type", "assert[0].weight: found -1"),
        ({"type": "contains", "value": ""}, "check.constant", "assert[0]: "),
        ({"type": "contains", "value": ["a"]}, "suite.wrong-type", "assert[0].value: found a list of 1"),
        ({"type": "contains-any", "value": 5}, "suite.wrong-type", "assert[0].value: found 5"),
        ({"type": "contains-any", "value": [None]}, "suite.wrong-type", "assert[0].value: found null"),
        ({"type": "contains", "value": 1e30}, "suite.wrong-type", "assert[0].value: "),
        ({"type": "contains", "value": "file://a.txt"}, "suite.no-counterpart", "assert[0].value: "),
        ({"type": "contains-any", "value": ["file://a.txt"]}, "suite.no-counterpart", "assert[0].value[0]: "),
        ({"type": "contains", "value": "{{q | upper}}"}, "suite.no-counterpart", "'{{q | upper}}'"),
        ({"type": "contains", "value": "{{other}}"}, "suite.no-counterpart", "'other'"),
        ({"type": "equals", "value": None}, "suite.wrong-type", "assert[0].value: found null"),
        ({"type": "starts-with", "value": 5}, "suite.wrong-type", "assert[0].value: found 5"),
        ({"type": "regex", "value": "(?i)a"}, "suite.no-counterpart", "'(?i)'"),
        ({"type": "regex", "value": "a(?=b)"}, "suite.no-counterpart", "'(?=b'"),
        ({"type": "regex", "value": ".*"}, "check.constant", "assert[0]: "),
        ({"type": "regex", "value": "a{2000}"}, "check.bad-pattern", "{2000}"),
        ({"type": "is-json", "value": {"type": "string", "format": "email"}}, "suite.no-counterpart", "value.format: "),
        (
            {"type": "is-json", "value": {"$schema": "https://json-schema.org/draft/2020-12/schema"}},
            "suite.wrong-type",
            "draft-07",
        ),
        ({"type": "is-json", "value": {"typ": "string"}}, "check.bad-schema", "'typ'"),
        ({"type": "is-json", "value": "file://schema.py"}, "check.bad-schema", "'file://schema.py'"),
        ({"type": "is-json", "value": "a: [b"}, "check.bad-schema", "assert[0].value: "),
        ({"type": "is-json", "value": 5}, "suite.wrong-type", "assert[0].value: found 5"),
        ({"type": "latency"}, "suite.wrong-type", "assert[0].threshold: found null"),
        ({"type": "llm-rubric", "value": "kind", "threshold": 0.8}, "suite.misplaced-key", "'threshold'"),
        ({"type": "llm-rubric", "value": {"a": 1}}, "suite.wrong-type", "assert[0].value: found a mapping (a)"),
        ({"type": "word-count", "value": 5000}, "suite.wrong-type", "assert[0].value: found 5000"),
        ({"type": "word-count", "value": {"min": 0}}, "suite.wrong-type", "1 to 1000"),
        ({"type": "assert-set"}, "suite.wrong-type", "assert[0].assert: found null"),
        (
            {"type": "assert-set", "assert": [{"type": "assert-set", "assert": [HELLO]}]},
            "suite.wrong-type",
            "assert[0].assert[0]: ",
        ),
        ({"type": "assert-set", "assert": [HELLO], "threshold": 0}, "suite.no-counterpart", "assert[0].threshold: "),
        ({"type": "assert-set", "assert": [HELLO], "threshold": 2}, "suite.no-counterpart", "assert[0].threshold: "),
        ({"type": "assert-set", "assert": [HELLO], "treshold": 1}, "suite.unknown-key", "'treshold'"),
        ({"type": "assert-set", "assert": [HELLO] * 13, "threshold": 0.5}, "suite.no-counterpart", "12"),
        ({"$ref": "#/nothing"}, "suite.wrong-type", "assert[0].$ref: found '#/nothing'"),
        ("contains: a", "suite.wrong-type", "'contains: a'"),
    ],
)
def test_an_assertion_without_a_counterpart_is_named(tmp_path, assertion, code, named):
    (problem,) = problems(tmp_path, config(test(**{"assert": [assertion]})), code)
    assert problem.message.startswith("tests[0].")
    assert named in problem.message


@pytest.mark.parametrize(
    ("keys", "codes", "named"),
    [
        ({"assert": []}, "suite.no-check", "tests[0]: "),
        ({"asserts": [HELLO]}, "suite.unknown-key", "'asserts'"),
        ({"assert": HELLO}, "suite.wrong-type", "tests[0].assert: "),
        ({"vars": "file://vars.yaml"}, "suite.wrong-type", "tests[0].vars: found 'file://vars.yaml'"),
        ({"vars": {"q": "{{other}}"}}, "suite.no-counterpart", "tests[0].vars.q: "),
        ({"vars": {"q": "file://a.pdf"}}, "suite.no-counterpart", "'file://a.pdf'"),
        ({"vars": {"q": "file://absent.txt"}}, "file.missing", "'absent.txt'"),
        ({"vars": {"q": "file://../out.txt"}}, "suite.linked-file", "'../out.txt'"),
        ({"vars": {}}, "suite.no-counterpart", "'q'"),
        ({"vars": {"q": {"a": 1}}}, "suite.no-counterpart", "'q' is a mapping (a)"),
        ({"vars": {"q": None}}, "suite.bad-column", "'q'"),
        ({"vars": {"q": ""}}, "suite.wrong-type", "tests[0].vars: "),
        ({"vars": {str(n): ["a", "b"] for n in range(20)}}, "suite.too-large", "1048576"),
        ({"description": 5}, "suite.wrong-type", "tests[0].description: found 5"),
        ({"threshold": "half"}, "suite.wrong-type", "tests[0].threshold: found 'half'"),
        ({"threshold": 0}, "suite.no-counterpart", "tests[0].threshold: "),
        (
            {"threshold": 0.5, "assert": [{"type": "assert-set", "assert": [HELLO]}]},
            "suite.no-counterpart",
            "tests[0].assert[0]: ",
        ),
        ({"options": {"transform": "output.trim()"}}, "suite.no-counterpart", "tests[0].options: 'transform'"),
        ({"options": {"repeat": 0}}, "suite.wrong-type", "tests[0].options.repeat: found 0"),
        ({"providerOutput": "hello"}, "suite.no-counterpart", "'providerOutput'"),
        ({"assertScoringFunction": "file://a.js"}, "suite.no-counterpart", "'assertScoringFunction'"),
        ({"prompts": ["other"]}, "suite.no-question", "tests[0].prompts: "),
        ({"prompts": "short"}, "suite.wrong-type", "tests[0].prompts: found 'short'"),
        (
            {"metadata": {"category": "happy_pth"}},
            "suite.misspelled",
            "metadata.category: 'happy_pth'",
        ),
    ],
)
def test_a_test_without_a_counterpart_is_named(tmp_path, keys, codes, named):
    (problem,) = problems(tmp_path, config(test(**keys)), codes)
    assert problem.message.startswith("tests[0]")
    assert named in problem.message


@pytest.mark.parametrize(
    ("keys", "codes", "named"),
    [
        ({"scenarios": [{"config": [], "tests": []}]}, "suite.no-counterpart", "'scenarios'"),
        ({"extensions": ["file://hook.py"]}, "suite.no-counterpart", "'extensions'"),
        ({"redteam": {"plugins": []}}, "suite.no-counterpart", "'redteam'"),
        ({"tets": []}, "suite.unknown-key", "'tets'"),
        ({"prompts": []}, "suite.no-question", "prompts: "),
        ({"prompts": {"a.txt": "a"}}, "suite.wrong-type", "prompts: "),
        ({"prompts": ["file://a.py:ask"]}, "suite.no-counterpart", "'a.py:ask'"),
        ({"prompts": ["exec:./ask"]}, "suite.no-counterpart", "exec:./ask"),
        ({"prompts": ["prompts/absent"]}, "suite.linked-file", "prompts[0]: "),
        ({"prompts": ["file://absent.txt"]}, "file.missing", "'absent.txt'"),
        ({"prompts": ['{"a": 1}']}, "suite.no-counterpart", "prompts[0]: "),
        ({"prompts": ["{% if q %}{{q}}{% endif %}"]}, "suite.no-counterpart", "'{% if q %}"),
        ({"prompts": ["{{env.KEY}}"]}, "suite.no-counterpart", "'{{env.KEY}}'"),
        ({"prompts": ["{{q}}", "{{q}}"]}, "suite.listed-twice suite.listed-twice suite.listed-twice", "'{{q}}'"),
        ({"prompts": [{"raw": "{{q}}", "function": "f"}]}, "suite.unknown-key", "'function'"),
        ({"prompts": [5]}, "suite.wrong-type", "prompts[0]: found 5"),
        ({"tests": "file://tests.py"}, "suite.no-counterpart", "'file://tests.py'"),
        (
            {"tests": "https://docs.google.com/spreadsheets/x"},
            "suite.no-counterpart",
            "'https://docs.google.com/spreadsheets/x'",
        ),
        ({"tests": ["*.csv"]}, "file.missing", "'*.csv'"),
        ({"tests": None}, "suite.wrong-type", "tests: found null"),
        ({"tests": [5]}, "suite.wrong-type", "tests[0]: found 5"),
        ({"evaluateOptions": 5}, "suite.wrong-type", "evaluateOptions: found 5"),
        ({"evaluateOptions": {"repeat": 0}}, "suite.wrong-type", "evaluateOptions: found 0"),
        ({"defaultTest": "file://absent.yaml"}, "file.missing", "'absent.yaml'"),
        (
            {"defaultTest": {"assert": [{"type": "python", "value": "x"}]}},
            "suite.no-counterpart",
            "defaultTest.assert[0].type: 'python'",
        ),
    ],
)
def test_a_configuration_without_a_counterpart_is_named(tmp_path, keys, codes, named):
    first, *_ = problems(tmp_path, {**config(test()), **keys}, codes)
    assert named in first.message


def test_a_problem_of_the_defaults_is_told_once_and_others_beside_it(tmp_path):
    default = {"assert": [{"type": "python", "value": "x"}]}
    tests = [test(vars={"q": str(number)}) for number in range(5)]
    found = problems(tmp_path, config(*tests, test(vars={"q": ""}), {"assert": 5}, defaultTest=default))
    assert sorted((problem.code, " ".join(problem.message.split()[:2])) for problem in found) == [
        ("suite.no-counterpart", "defaultTest.assert[0].type: 'python'"),
        ("suite.wrong-type", "tests[6].assert: found"),
    ]


def test_problems_have_a_line_a_caret_and_a_hint(tmp_path):
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: a}\n    assert:\n      - type: is-sql\n"
    (tmp_path / "promptfooconfig.yaml").write_text(text)
    done = run(tmp_path, "suite", "promptfooconfig.yaml")
    assert done.exit == 2
    assert done.codes == ["suite.no-counterpart"]
    assert "promptfooconfig.yaml:6:15: tests[0].assert[0].type: 'is-sql'" in done.err
    assert "  6 |       - type: is-sql\n    |               ^" in done.err
    assert "hint: " in done.err


# --- scalars, templates, lists, patterns -----------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("2026-01-02", "a date"),
        ("0x1F", "a number"),
        ("01234", "a number"),
        ("True", "true or false"),
        ("~", "nothing"),
        (".5", "a number"),
    ],
)
def test_a_scalar_that_promptfoo_reads_otherwise_must_be_quoted(tmp_path, written, kind):
    text = "prompts: ['{{q}}']\ntests: [{vars: {q: THIS}, assert: [{type: contains, value: x}]}]\n"
    first, *_ = problems(tmp_path, text.replace("THIS", written), name="promptfooconfig.yaml")
    assert first.code == "yaml.unquoted"
    assert f"'{written}' as {kind}" in first.message
    (scenario,) = read(tmp_path, text.replace("THIS", f'"{written}"'), "promptfooconfig.yaml").scenarios.values()
    assert scenario.input == written


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }}-{{a}}", "1-1"),
        ("}} { % {", "}} { % {"),
        ("{{a}}}", "1}"),
        ("{{{a}}}", None),
        ("{{-a}}", None),
        ("{{a.b}}", None),
        ("{{a-b}}", None),
        ("{{not}}", None),
        ("{# a #}", None),
        ("{{a", None),
    ],
)
def test_only_names_are_filled_in(template, text):
    place = ValueCursor(problems=[])
    assert fill_template(template, {"a": "1", "not": "2"}, place) == text
    assert (text is None) == bool(place.problems)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.0"), "1"),
        (Decimal("0.10"), "0.1"),
        (Decimal("1e21"), None),
        (Decimal("0.0000001"), None),
        (-7, "-7"),
        (False, "false"),
        ([1], None),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(value, text):
    assert js_text(value) == text


@pytest.mark.parametrize(
    ("text", "items"),
    [("a,b", ["a", "b"]), (" a , , b ", ["a", "b"]), ('"a ""b"" \\"c",d', ['a "b" "c', "d"]), ("", [])],
)
def test_a_text_is_split_at_commas_outside_of_quotes(text, items):
    assert comma_separated(text) == items


@pytest.mark.parametrize("text", ['"a', '"a"b'])
def test_quotes_in_a_list_must_be_closed(text):
    with pytest.raises(NotAList):
        comma_separated(text)


@pytest.mark.parametrize(
    ("pattern", "in_re2"),
    [
        (r"\d+\.\d", r"\d+\.\d"),
        ("[a-c-]", r"[\-a-c]"),
        (r"[\w-x]", r"[\-0-9A-Z_a-z]"),
        ("[^]", r"[\x{0}-\x{10ffff}]"),
        (r"[\b]", r"[\x{8}]"),
        ("a{,3}", r"a\{,3\}"),
        ("(?<n>a)", "(?P<n>a)"),
        (r"\0", r"\x{0}"),
        ("[]", None),
        ("[z-a]", None),
        ("[a", None),
        (r"\A", None),
        (r"\p{L}", None),
        (r"\1", None),
        (r"\ud83d", None),
        ("[😀]", None),
        ("(?!a)", None),
    ],
)
def test_patterns_of_javascript_are_written_for_re2(pattern, in_re2):
    place = ValueCursor(problems=[])
    assert to_re2(pattern, place) == in_re2
    assert (in_re2 is None) == bool(place.problems)
