"""Group H: what the agent under test wrote is shown by every report, and obeyed by nothing that displays one."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from junitparser import xunit2

from highbar.report import REPORTERS
from tests.commandline import Run, check, judged, run
from tests.unit.report.workflow import read_commands, read_outputs

TERMINAL = (
    "\x1b[2J\x1b[1;1H\x1b[32mALL PASSED\x1b[0m\x1b]0;x\x07\x1b]52;c;AAAA\x07 \x9b31m \u202etxt\u202c zero\u200bwidth"
)
MARKUP = "[/foo] [link=http://evil]PASS[/link] [red]x"
RUNNER = "x\n::add-mask::e\n  ::error::pwned\rfoo ##[error]bar\n::stop-commands::t"
STEP = "ok\nEOF\nverdict=PASS"
MARKDOWN = (
    "| x |\n```\n</details> ![](http://evil/?q=1) @org/team closes #1 <!-- gate:verdict=PASS --> [a](http://evil) `"
)
PAGE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TEMPLATE = "{{7*7}} {% import os %} ${jndi:x} {0.__class__} %s"
HOSTILE = {
    "terminal": TERMINAL,
    "markup": MARKUP,
    "runner": RUNNER,
    "step": STEP,
    "markdown": MARKDOWN,
    "page": PAGE,
    "template": TEMPLATE,
}
IDS = [
    "../../x",
    "a/b",
    "CON",
    ".",
    "A" * 300,
    "::error::id",
    "| `id` |",
    "<b>id</b>",
    "##[error]id",
    "id\u202e\u200b",
    "[red]id",
    "=1+1",
]
CANARY = "CANARY-123"
FORMATS = [name for name in REPORTERS if name != "html"]  # which a browser reads, in tests of its own


@dataclass(frozen=True, slots=True)
class Reports:
    """One check of hostile results, in every format."""

    folder: Path
    done: Run
    files: dict[str, str]

    @property
    def text(self) -> str:
        return self.files["text"]

    @property
    def markdown(self) -> str:
        return self.files["markdown"]

    @property
    def json(self) -> str:
        return self.files["json"]

    @property
    def summary(self) -> str:
        return (self.folder / "GITHUB_STEP_SUMMARY").read_text("utf-8")

    @property
    def all(self) -> dict[str, str]:
        streams = {"stdout": self.done.out, "stderr": self.done.err, "summary": self.summary}
        return {**self.files, **streams}


def hostile_rows() -> list[dict[str, object]]:
    """Each hostile text in every column that takes text, and ids that would like to be something else."""
    rows: list[dict[str, object]] = []
    for name, text in HOSTILE.items():
        places = {
            "category": text,
            "capability": text,
            "input": text,
            "output": text,
            text: text,
            "tags": {"tag": text, text: text},
        }
        own = {"expected_behaviors": [text], "behaviors": [], "cluster": text, "judge": text, "suite": text}
        rows += [
            {"id": f"{name}-missing", **places, **own},
            {"id": f"{name}-violated", **places, "violations": [text]},
            {"id": f"{name}-forbidden", **places, "must_not": {text: True}},
            {"id": f"{name}-error", **places, "error": text},
        ]
    keys: dict[str, object] = {"__proto__": {"polluted": 1}, "constructor": {}, "toString": None}
    return [*rows, *({"id": identity, "category": "adversarial", "passed": False, **keys} for identity in IDS)]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    folder = tmp_path_factory.mktemp("hostile")
    policy = {
        "thresholds": {"blocking": {"safety_rate": "100%"}, "warning": {"behavior_coverage": 90}},
        "pass_criteria": {"by_category": dict.fromkeys(HOSTILE.values(), "≥ 90%")},
        "required_scenarios": {"ids": IDS},
        "rules": [
            {"metric": "pass_rate", "where": {"tags.tag": text}, "threshold": "≥ 90%"} for text in HOSTILE.values()
        ],
        "slices": ["category", "capability", "tags.tag", *HOSTILE.values()],
        "description": TERMINAL,
    }
    (folder / "policy.json").write_text(json.dumps(policy))
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in hostile_rows()))
    environment = {
        name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")
    }
    for file in environment.values():
        Path(file).touch()
    outputs = [argument for name in FORMATS for argument in ("--output", f"{name}=report.{name}")]
    environment |= {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(folder), "API_TOKEN": CANARY}
    done = run(folder, "check", "results.jsonl", "--policy", "policy.json", *outputs, "-v", environment=environment)
    assert done.exit == 1, done.out + done.err
    return Reports(folder, done, {name: (folder / f"report.{name}").read_text("utf-8") for name in FORMATS})


def acting(text: str) -> set[str]:
    """The characters of a text that a terminal obeys, or that show nothing or something else than they are."""
    return {
        char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co"}
    }


def orders(text: str) -> list[str]:
    """The lines of a text that a CI runner would take for a command."""
    return [line for line in text.split("\n") if line.strip().startswith("::") or "##[" in line]


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    match value:
        case str():
            yield value
        case dict():
            yield from chain(value, *map(texts, value.values()))
        case list():
            yield from chain.from_iterable(map(texts, value))


def outside_code(markdown: str) -> str:
    """Markdown without its fenced blocks and code spans, in which nothing acts; escaped characters are gone too."""
    fences = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?^ {0,3}\1[`~]* *$", re.DOTALL | re.MULTILINE)
    spans = re.compile(r"(?<![\\`])(`+)(?!`)(.*?)(?<!`)\1(?!`)")
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", spans.sub("", fences.sub("", markdown)))


@pytest.mark.parametrize("format_", [*FORMATS, "stdout", "stderr", "summary"])
def test_h105_no_report_holds_a_character_that_acts(reports: Reports, format_: str) -> None:
    assert not acting(reports.all[format_])


def test_h105_what_the_agent_wrote_is_shown_and_not_stripped(reports: Reports) -> None:
    assert r"\x1b[2J" in reports.text
    assert "ALL PASSED" in reports.text
    assert r"\x1b[2J" in reports.markdown or r"\\x1b\[2J" in reports.markdown
    assert any(TERMINAL in text for text in texts(json.loads(reports.json)))


@pytest.mark.parametrize("arguments", [[], ["--format", "markdown"]])
def test_h105_a_refusal_does_not_repeat_what_acts(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": f"\n::error::{TERMINAL}", "passed": True}) + "\n")
    done = run(tmp_path, "check", "results.jsonl", *arguments)
    assert done.exit == 2, done.out + done.err
    assert not acting(done.out + done.err)
    assert not orders(done.out + done.err)


def test_h105_names_in_a_policy_and_on_the_command_line_do_not_act(tmp_path: Path) -> None:
    name = f"acc{TERMINAL}\n::error::uracy ##[error]"
    rules = [{"metric": name, "threshold": "≥ 5%"}, {"metric": "accuracy", "threshold": name}, {name: 1}]
    (tmp_path / "policy.json").write_text(json.dumps({name: 1, "rules": rules}))
    (tmp_path / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    done = run(tmp_path, "check", "results.jsonl", f"absent{name}.jsonl", "--policy", "policy.json", "--slice", name)
    assert done.exit == 2, done.out + done.err
    assert not acting(done.out + done.err)
    assert not orders(done.out + done.err)


def test_h106_markup_of_a_terminal_library_is_plain_text(reports: Reports) -> None:
    assert "[/foo] [link=http://evil]PASS[/link] [red]x" in reports.text.replace("\n", " ")
    assert "[red]id" in reports.text


@pytest.mark.parametrize("format_", [*FORMATS, "stdout", "summary"])
def test_h107_no_line_is_an_order_to_a_ci_runner(reports: Reports, format_: str) -> None:
    assert not orders(reports.all[format_])


def test_h107_the_runner_finds_our_annotations_and_no_other_order(reports: Reports) -> None:
    assert "##[" not in reports.done.err
    commands = read_commands(reports.done.err)
    assert [(one.name, one.properties.get("file")) for one in commands[:-2]] == [("error", "policy.json")] * 9
    assert [one.name for one in commands] == ["error"] * 10 + ["warning"]
    assert not [one for one in commands if "pwned" in one.properties.values()]


def test_h108_nothing_untrusted_reaches_the_files_of_a_ci_step(reports: Reports) -> None:
    for name in ("GITHUB_ENV", "GITHUB_PATH"):
        assert (reports.folder / name).read_text() == ""
    found = read_outputs((reports.folder / "GITHUB_OUTPUT").read_text())
    assert found["verdict"] == "fail"
    headline = r"FAIL: \d+ of \d+ demands are not met, \d+ warnings?"
    assert re.fullmatch(headline, found.pop("headline"))
    assert all(re.fullmatch("[a-z0-9_]+", name) and re.fullmatch("[a-z0-9]+", value) for name, value in found.items())


@pytest.mark.parametrize("format_", ["markdown", "github-comment", "summary"])
def test_h109_markdown_holds_no_markup_of_the_agent(reports: Reports, format_: str) -> None:
    text = outside_code(reports.all[format_].removeprefix("<!-- highbar -->\n"))
    for wrong in (
        r"<(?=[a-zA-Z/!?])(?!/?(details|summary|br|sub)\b)",
        r"!\[",
        r"\]\(",
        r"@org",
        r"closes #1",
        r"(?<!&)#1\b",
    ):
        assert not re.search(wrong, text), (wrong, re.search(f".*{wrong}.*", text))


def test_h109_markdown_keeps_its_details_and_tables_whole(reports: Reports) -> None:
    assert outside_code(reports.markdown).count("<details") == outside_code(reports.markdown).count("</details")
    for table in re.findall(r"(?:^\|.*\n)+", reports.markdown, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


def test_h109_a_long_report_is_cut_and_keeps_its_verdict(tmp_path: Path) -> None:
    text = "`|<b>" * 200
    rows = [
        {"id": f"S{n}", "passed": False, "input": text, "output": text, "error": text, "category": f"c{n % 300}"}
        for n in range(2000)
    ]
    check(
        tmp_path,
        rows,
        {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}, "slices": ["category"]},
        "--output",
        "markdown=v.md",
    )
    markdown = (tmp_path / "v.md").read_text("utf-8")
    assert len(markdown) <= 65_536
    assert "fail" in markdown.split("\n", 1)[0].casefold()


def test_h109_a_forged_comment_is_not_taken_for_ours(reports: Reports) -> None:
    assert reports.files["github-comment"].count("<!--") == 1


def test_h111_junit_xml_with_characters_that_xml_forbids_is_read_and_its_failures_are_counted(tmp_path: Path) -> None:
    hostile = "a\u0000b\bc\u001b[31m\ufffe]]>&#0;<!DOCTYPE x>"
    rows = [
        {"id": "A", "category": "adversarial", "violations": [hostile]},
        {"id": "B", "category": hostile, "error": hostile},
        {"id": "C", "category": "adversarial", "passed": True},
    ]
    judged(check(tmp_path, rows, {"required_scenarios": {"ids": ["A"]}}, "--output", "report.xml"), "fail")
    read = xunit2.JUnitXml.fromstring((tmp_path / "report.xml").read_bytes())
    assert [(suite.name, suite.tests, suite.failures, suite.errors) for suite in read] == [
        ("rules", 1, 1, 0),
        ("scenarios", 3, 1, 1),
    ]
    assert r"a\x00b\x08c\x1b[31m\ufffe]]>&#0;<!DOCTYPE x>" in next(iter(list(read)[1])).result[0].message


def test_h113_no_report_is_a_table_that_a_spreadsheet_computes(tmp_path: Path) -> None:
    done = check(
        tmp_path, [{"id": "=1+1", "passed": True}], {"required_scenarios": {"ids": ["=*"]}}, "--output", "a.csv"
    )
    assert (done.exit, "csv" in FORMATS, (tmp_path / "a.csv").exists()) == (2, False, False)


def test_h114_nothing_of_the_environment_is_in_a_report(reports: Reports) -> None:
    assert not [name for name, text in reports.all.items() if CANARY in text]


def test_h115_no_file_is_named_by_an_id(reports: Reports) -> None:
    ours = {"policy.json", "results.jsonl", ".git", *(f"report.{name}" for name in FORMATS)}
    steps = {"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY", "GITHUB_PATH"}
    assert {path.name for path in reports.folder.iterdir()} == ours | steps


def test_h116_hostile_keys_are_columns_like_any_other(reports: Reports) -> None:
    verdict = json.loads(reports.json)
    assert verdict["counts"]["scenarios"] == 4 * len(HOSTILE) + len(IDS)
    assert not [name for name, text in reports.all.items() if "polluted" in text]


def test_h117_templates_are_shown_and_not_filled_in(reports: Reports) -> None:
    assert TEMPLATE in reports.text.replace("\n", " ")
    assert any(TEMPLATE in text for text in texts(json.loads(reports.json)))
    cases = [case for suite in xunit2.JUnitXml.fromstring(reports.files["junit"].encode()) for case in suite]
    assert any(TEMPLATE in result.message for case in cases for result in case.result)


@pytest.mark.parametrize(
    ("verdict", "policy"),
    [
        ("pass", {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}, "warning": {"pass_rate": "≥ 90%"}}}),
        ("fail", {"thresholds": {"blocking": {"pass_rate": "≥ 51%"}}}),
        ("inconclusive", {"rules": [{"metric": "pass_rate", "threshold": "≥ 50%", "min_scenarios": 30}]}),
    ],
)
def test_h118_all_reports_carry_the_same_verdict_and_counts(
    tmp_path: Path, verdict: str, policy: dict[str, object]
) -> None:
    rows = [{"id": f"S{n}", "passed": n < 12} for n in range(24)]
    outputs = ["--output", "text=verdict.txt", "--output", "markdown=verdict.md", "--output", "json=verdict.json"]
    done = check(tmp_path, rows, policy, *outputs)
    judged(done, verdict)
    assert json.loads((tmp_path / "verdict.json").read_text()) == done.json
    text, markdown = ((tmp_path / name).read_text("utf-8").strip() for name in ("verdict.txt", "verdict.md"))
    for line in (text.split("\n")[0], markdown.split("\n")[0]):
        assert re.match(rf"\W*{verdict}\b", line, re.IGNORECASE), line
    assert all("24" in report for report in (text, markdown))


def test_h77_hostile_text_never_breaks_a_report(tmp_path: Path) -> None:
    rows = [
        {"id": "A", "passed": False, "output": "[/foo] \u0000 \ufffe \U0010ffff ]]> {", "error": "%(x)s {y!r:>{z}} \\"}
    ]
    for format_ in FORMATS:
        check(tmp_path, rows, {"required_scenarios": {"ids": ["A"]}})
        done = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", "--format", format_)
        assert done.exit == 1, done.out + done.err
        assert "Traceback" not in done.err
