"""promptfoo configurations: what is read, and what is refused with its line and a hint."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.documents.problems import ValueCursor
from highbar.errors import InputError
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


def problems(folder: Path, content: Any, name: str = "promptfooconfig.json") -> list[tuple[str, str | None]]:
    with pytest.raises(InputError) as caught:
        read(folder, content, name)
    return [(problem.message, problem.hint) for problem in caught.value.problems]


def only_problem(folder: Path, content: Any, name: str = "promptfooconfig.json") -> str:
    ((message, _),) = problems(folder, content, name)
    return message


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
    assert "which has no text of its own" in only_problem(tmp_path, config(whole))


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
    assert "listed twice" in only_problem(tmp_path, config(test(), test()))


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
    messages = [problem.message for problem in suite.unmet_needs(read_, {}, agent=False)]
    assert messages == [
        f"tests[0].assert[{index}]: this is a statement for a judge, and no judge is configured" for index in (0, 1)
    ]
    assert suite.unmet_needs(read_, {}, agent=False)[0].hint == (
        "name one on the command line: --judge 'openai:MODEL@https://host/v1'"
    )
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
    with pytest.raises(InputError, match="'rubricPrompt' has no counterpart") as refused:
        read(tmp_path, config(test(**keys)))
    assert "a judge here has a prompt of its own" in str(refused.value)


def test_an_agent_is_named_on_the_command_line(tmp_path):
    (problem,) = suite.unmet_needs(read(tmp_path, config(test())), {})
    assert problem.hint == "name it on the command line, such as --agent python:module:function"


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
    found = [(Path(one.file or "").name, one.line, one.message) for one in caught.value.problems]
    assert ("a.csv", 3, "[1].assert[0].type: 'similar' has no counterpart") in found
    assert ("b.yaml", 3, "[0].assert[0].type: 'contians' is not a type of assertion that is known") in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q\na,b\n", "found 2 cells, and the header has 1"),
        ('q\n"a', "this is not CSV"),
        ("", "no header line"),
        ("q,q\na,b\n", "'q' is there twice"),
        ("q,_expected\na,b\n", "begins with one underscore"),
        ("q,__config:__expected:threshold\na,1\n", "has no counterpart"),
        ("q,__threshold\na,much\n", "wanted a number"),
        ('q,__expected\na,"contains-any: ""b"\n', "a quote is never closed"),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_refused(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    assert any(message in found for found, _ in problems(tmp_path, {**config(), "tests": "a.csv"}))


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
    ("assertion", "message"),
    [
        ({"type": "javascript", "value": "true"}, "'javascript' has no counterpart"),
        ({"type": "not-similar", "value": "a"}, "'similar' has no counterpart"),
        ({"type": "contains-json"}, "'contains-json' has no counterpart"),
        ({"type": "promptfoo:redteam:pii"}, "red-team"),
        ({"type": "contian", "value": "a"}, "'contian' is not a type"),
        ({"value": "a"}, "wanted the type of an assertion"),
        ({**HELLO, "transform": "output"}, "unknown key 'transform'"),
        ({**HELLO, "threshold": 1}, "'threshold' is not used"),
        ({**HELLO, "weight": 0}, "never fails"),
        ({**HELLO, "weight": -1}, "wanted a number above 0"),
        ({"type": "contains", "value": ""}, "always holds"),
        ({"type": "contains", "value": ["a"]}, "wanted a text"),
        ({"type": "contains-any", "value": 5}, "wanted a list of texts"),
        ({"type": "contains-any", "value": [None]}, "both tools write in the same way"),
        ({"type": "contains", "value": 1e30}, "both tools write in the same way"),
        ({"type": "contains", "value": "file://a.txt"}, "in another file"),
        ({"type": "contains-any", "value": ["file://a.txt"]}, "in another file"),
        ({"type": "contains", "value": "{{q | upper}}"}, "in a template"),
        ({"type": "contains", "value": "{{other}}"}, "there is no variable 'other'"),
        ({"type": "equals", "value": None}, "both tools write in the same way"),
        ({"type": "starts-with", "value": 5}, "wanted a text"),
        ({"type": "regex", "value": "(?i)a"}, "has no counterpart"),
        ({"type": "regex", "value": "a(?=b)"}, "has no counterpart"),
        ({"type": "regex", "value": ".*"}, "matches every text"),
        ({"type": "regex", "value": "a{2000}"}, "cannot be read"),
        ({"type": "is-json", "value": {"type": "string", "format": "email"}}, "checks a `format` by rules of its own"),
        ({"type": "is-json", "value": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}, "draft-07"),
        ({"type": "is-json", "value": {"typ": "string"}}, "unknown JSON Schema keyword 'typ'"),
        ({"type": "is-json", "value": "file://schema.py"}, "is no schema"),
        ({"type": "is-json", "value": "a: [b"}, "is no YAML"),
        ({"type": "is-json", "value": 5}, "wanted a JSON Schema"),
        ({"type": "latency"}, "the most that is accepted"),
        ({"type": "llm-rubric", "value": "kind", "threshold": 0.8}, "says yes or no"),
        ({"type": "llm-rubric", "value": {"a": 1}}, "wanted a statement in plain words"),
        ({"type": "word-count", "value": 5000}, "a whole number from 1 to 1000"),
        ({"type": "word-count", "value": {"min": 0}}, "a whole number from 1 to 1000"),
        ({"type": "assert-set"}, "wanted a list of assertions"),
        ({"type": "assert-set", "assert": [{"type": "assert-set", "assert": [HELLO]}]}, "that is no set"),
        ({"type": "assert-set", "assert": [HELLO], "threshold": 0}, "nothing could fail"),
        ({"type": "assert-set", "assert": [HELLO], "threshold": 2}, "nothing could pass"),
        ({"type": "assert-set", "assert": [HELLO], "treshold": 1}, "unknown key 'treshold'"),
        ({"type": "assert-set", "assert": [HELLO] * 13, "threshold": 0.5}, "more than 12"),
        ({"$ref": "#/nothing"}, "a reference to an assertion"),
        ("contains: a", "wanted an assertion"),
    ],
)
def test_an_assertion_without_a_counterpart_is_named(tmp_path, assertion, message):
    found = problems(tmp_path, config(test(**{"assert": [assertion]})))
    assert any(message in told and "tests[0]" in told for told, _ in found), found


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"assert": []}, "asserts nothing"),
        ({"asserts": [HELLO]}, "unknown key 'asserts'"),
        ({"assert": HELLO}, "wanted a list of assertions"),
        ({"vars": "file://vars.yaml"}, "wanted a mapping"),
        ({"vars": {"q": "{{other}}"}}, "a template itself"),
        ({"vars": {"q": "file://a.pdf"}}, "a variable of this kind"),
        ({"vars": {"q": "file://absent.txt"}}, "there is no file 'absent.txt'"),
        ({"vars": {"q": "file://../out.txt"}}, "not below the folder"),
        ({"vars": {}}, "there is no variable 'q'"),
        ({"vars": {"q": {"a": 1}}}, "no text of its own"),
        ({"vars": {"q": None}}, "'q' has no value"),
        ({"vars": {"q": ""}}, "empty text"),
        ({"vars": {str(n): ["a", "b"] for n in range(20)}}, "make 1048576 cases"),
        ({"description": 5}, "wanted text"),
        ({"threshold": "half"}, "wanted a number from 0 to 1"),
        ({"threshold": 0}, "nothing could fail"),
        ({"threshold": 0.5, "assert": [{"type": "assert-set", "assert": [HELLO]}]}, "a set under the threshold"),
        ({"options": {"transform": "output.trim()"}}, "'transform' has no counterpart"),
        ({"options": {"repeat": 0}}, "a whole number from 1"),
        ({"providerOutput": "hello"}, "asks no agent"),
        ({"assertScoringFunction": "file://a.js"}, "has no counterpart"),
        ({"prompts": ["other"]}, "would never be asked"),
        ({"prompts": "short"}, "wanted a list of labels"),
        ({"metadata": {"category": "happy_pth"}}, "'happy_pth' is nearly the category 'happy_path'"),
    ],
)
def test_a_test_without_a_counterpart_is_named(tmp_path, keys, message):
    found = problems(tmp_path, config(test(**keys)))
    assert any(message in told and "tests[0]" in told for told, _ in found), found


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"scenarios": [{"config": [], "tests": []}]}, "'scenarios' has no counterpart"),
        ({"extensions": ["file://hook.py"]}, "'extensions' has no counterpart"),
        ({"redteam": {"plugins": []}}, "'redteam' has no counterpart"),
        ({"tets": []}, "unknown key 'tets'"),
        ({"prompts": []}, "nothing to ask"),
        ({"prompts": {"a.txt": "a"}}, "wanted a list of prompts"),
        ({"prompts": ["file://a.py:ask"]}, "a prompt that a program makes"),
        ({"prompts": ["exec:./ask"]}, "a prompt that another program makes"),
        ({"prompts": ["prompts/absent"]}, "takes this for the name of a file"),
        ({"prompts": ["file://absent.txt"]}, "there is no file"),
        ({"prompts": ['{"a": 1}']}, "no conversation"),
        ({"prompts": ["{% if q %}{{q}}{% endif %}"]}, "in a template"),
        ({"prompts": ["{{env.KEY}}"]}, "in a template"),
        ({"prompts": ["{{q}}", "{{q}}"]}, "two prompts are called"),
        ({"prompts": [{"raw": "{{q}}", "function": "f"}]}, "unknown key 'function'"),
        ({"prompts": [5]}, "wanted the text of a prompt"),
        ({"tests": "file://tests.py"}, "tests of this kind"),
        ({"tests": "https://docs.google.com/spreadsheets/x"}, "tests of this kind"),
        ({"tests": ["*.csv"]}, "no file below the folder of the suite matches"),
        ({"tests": None}, "wanted a list of tests"),
        ({"tests": [5]}, "wanted a test"),
        ({"evaluateOptions": 5}, "wanted a mapping"),
        ({"evaluateOptions": {"repeat": 0}}, "a whole number from 1"),
        ({"defaultTest": "file://absent.yaml"}, "there is no file"),
        ({"defaultTest": {"assert": [{"type": "python", "value": "x"}]}}, "defaultTest.assert[0].type: 'python'"),
    ],
)
def test_a_configuration_without_a_counterpart_is_named(tmp_path, keys, message):
    found = problems(tmp_path, {**config(test()), **keys})
    assert any(message in told for told, _ in found), found


def test_a_problem_of_the_defaults_is_told_once_and_others_beside_it(tmp_path):
    default = {"assert": [{"type": "python", "value": "x"}]}
    tests = [test(vars={"q": str(number)}) for number in range(5)]
    found = problems(tmp_path, config(*tests, test(vars={"q": ""}), {"assert": 5}, defaultTest=default))
    assert sorted(told for told, _ in found) == [
        "defaultTest.assert[0].type: 'python' has no counterpart",
        "tests[6].assert: found 5, wanted a list of assertions",
    ]


def test_problems_have_a_line_a_caret_and_a_hint(tmp_path):
    text = "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: a}\n    assert:\n      - type: is-sql\n"
    (tmp_path / "promptfooconfig.yaml").write_text(text)
    done = run(tmp_path, "suite", "promptfooconfig.yaml")
    assert done.exit == 2
    assert "promptfooconfig.yaml:6:15: tests[0].assert[0].type: 'is-sql' has no counterpart" in done.err
    assert "  6 |       - type: is-sql\n    |               ^" in done.err
    assert "hint: Highbar has no check that does the same" in done.err


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
    found = problems(tmp_path, text.replace("THIS", written), "promptfooconfig.yaml")
    assert found[0][0] == f"promptfoo reads the unquoted '{written}' as {kind}"
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
