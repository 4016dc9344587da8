"""Group H in the HTML report: a real browser shows what the agent wrote, as text, and obeys none of it."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.chromium import Open
from tests.commandline import run

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(2)>",
    "breakout": "</script><script>alert(3)</script>",
    "style": "</style><style>*{display:none}</style>",
    "refresh": "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "attribute": '" onmouseover="alert(4)" x=\'\' autofocus onfocus=alert(5) ',
    "frame": "<iframe srcdoc='<script>alert(6)</script>'></iframe><base href=http://evil.example/>",
    "link": "<a href='javascript:alert(7)'>x</a><link rel=stylesheet href=http://evil.example/x.css>",
    "drawing": "<svg onload=alert(8)><use href='http://evil.example/#x'/></svg></svg></details></section>",
    "comment": "<!--><img src=x onerror=alert(9)>--> <![CDATA[<img src=x onerror=alert(10)>]]>",
    "textarea": "</textarea></title></pre></code><plaintext>",
    "entity": "&lt;b&gt; &amp;lt; &#x3c;script&#x3e; %3Cscript%3E",
    "template": "{{7*7}} {% import os %} ${jndi:x} {0.__class__} %s `${alert(11)}`",
    "terminal": "\x1b[2J\x1b[32mALL PASSED\x1b]52;c;AAAA\x07 \x9b31m",
    "bidi": "\u202eSSAP\u202c \u2066x\u2069 zero\u200bwidth \u2028line",
    "runner": "x\n::error::pwned\r::stop-commands::t ##[error]bar",
    "verdict": "PASS: 9 blocking rules passed",
    "markup": "[/foo] [link=http://evil]PASS[/link] [red]x",
    "forms": "<form action=http://evil.example/><button autofocus>ok</button></form><object data=x><embed src=x>",
}
CANARY = "CANARY-123"
NAME = "<img src=x onerror=alert(24)>.jsonl"
KEYS = {
    "__proto__": {"polluted": 1},
    "constructor": {"prototype": {"polluted": 1}},
    "toString": "x",
    "hasOwnProperty": "x",
}


def rows() -> list[dict[str, object]]:
    """Each attack as an id where ids may be so, and in every other place that takes text."""
    made: list[dict[str, object]] = []
    for name, text in ATTACKS.items():
        id_ = "".join(char for char in text if unicodedata.category(char) != "Cc")
        common = {
            "category": text,
            "capability": text,
            "input": text,
            "output": text,
            "tags": {"tag": text, text: text},
        }
        made += [
            {"id": f"{name} {id_}", **common, "expected_behaviors": [text, "x"], "behaviors": ["x", text + "!"]},
            {"id": f"{name}-violated", **common, "must_not": {text: True}, text: text, **KEYS},
            {"id": f"{name}-error", **common, "error": text, "expected": text, "predicted": text + "!"},
        ]
    return made


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    texts = list(ATTACKS.values())
    policy = {
        "description": "<script>alert(20)</script>",
        "thresholds": {
            "blocking": {"pass_rate": {"threshold": "≥ 90%", "description": "<img src=x onerror=alert(21)>"}}
        },
        "pass_criteria": {"by_category": dict.fromkeys(texts, "≥ 90%")},
        "required_scenarios": {"ids": [f"{name}-error" for name in ATTACKS] + ["<img src=x onerror=alert(22)>"]},
        "rules": [{"metric": "pass_rate", "where": {"tags.tag": text}, "threshold": "≥ 90%"} for text in texts],
        "slices": ["category", "capability", "tags.tag", *(f"tags.{text}" for text in texts[:4]), *texts[:4]],
        "agent_version": "<script>alert(23)</script>",
    }
    (folder / "policy.json").write_text(json.dumps(policy, indent=1))
    (folder / NAME).write_text("".join(json.dumps(row) + "\n" for row in rows()))
    outputs = ("--output", "report.html", "--output", "verdict.json")
    done = run(folder, "check", NAME, "--policy", "policy.json", *outputs, environment={"API_TOKEN": CANARY})
    assert done.exit == 1, done.out + done.err
    return folder


def opened(page: Page) -> None:
    """Open whatever can be opened, the first page of scenarios included, and wait for it."""
    expect(page.locator("#tools")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    expect(page.locator("ul.scenarios > li").last.locator(".trial")).to_be_visible()


@pytest.mark.browser
def test_h106_h110_h117_nothing_that_the_agent_wrote_acts_and_all_of_it_is_seen(hostile: Path, open_page: Open) -> None:
    visit = open_page(hostile / "report.html")
    opened(visit.page)
    visit.page.mouse.move(300, 300)
    for text in ATTACKS.values():
        visit.page.get_by_label("Search").fill(re.split(r"[^\x20-\x7e]", text)[0] or "x")
        visit.page.wait_for_timeout(20)
    visit.page.get_by_label("Search").fill("")
    expect(visit.page.locator("#status")).to_have_text(f"{len(rows())} scenarios")
    opened(visit.page)
    shown = visit.page.evaluate("document.body.innerText")
    for name, text in ATTACKS.items():
        if name not in {"terminal", "bidi", "runner"}:
            assert re.sub(r"\s+", " ", text).strip() in re.sub(r"\s+", " ", shown), name
    assert visit.misdeeds == []
    assert visit.page.evaluate("[typeof polluted, ({}).polluted === undefined].join()") == "undefined,true"


@pytest.mark.browser
def test_h110_the_page_lets_nothing_run_that_is_not_its_own(hostile: Path, open_page: Open) -> None:
    """Should a text get through as markup after all: the page's own policy stops it."""
    visit = open_page(hostile / "report.html")
    opened(visit.page)
    visit.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=http://evil.example/x onerror=alert(1)>"
        '<svg onload=alert(2)></svg><b onmouseover=alert(3)>x</b><iframe srcdoc="<script>alert(4)</script>"></iframe>'
        "<form action=http://evil.example/><button id=send>x</button></form>')"
    )
    visit.page.evaluate("document.getElementById('send').click()")
    visit.page.wait_for_timeout(100)
    assert visit.dialogs == []
    assert [url for url in visit.requests if url.startswith("http")] == visit.stopped
    assert visit.page.url.endswith("report.html")


def test_h110_h116_the_policy_of_the_page_comes_first_and_names_only_our_own_script(hostile: Path) -> None:
    text = (hostile / "report.html").read_text("utf-8")
    assert text.startswith(
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta http-equiv="Content-Security-Policy" content="'
    )
    policy = text.partition('content="')[2].partition('"')[0].replace("&#x27;", "'")
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; img-src data:;"
        r" base-uri 'none'; form-action 'none'",
        policy,
    )
    tags = Tags()
    tags.feed(text)
    assert tags.count("script") == 3  # the data of failed scenarios, of all scenarios, and the one that runs
    assert text.count('<script type="application/json"') == 2
    assert tags.count("style") == 1
    assert not tags.names & {"img", "iframe", "object", "embed", "form", "base", "textarea", "plaintext"}
    assert not [
        name for name in tags.attributes if name.startswith("on") or name in {"srcdoc", "style", "action", "src"}
    ]
    assert {link.split("-")[0] for link in tags.links} <= {"#policy", "#rules", *(f"#{name}" for name in tags.ids)}


class Tags(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href" and tag == "a"]
        self.ids |= {value or "" for name, value in attrs if name == "id"}

    def count(self, name: str) -> int:
        return self.found.count(name)

    @property
    def names(self) -> set[str]:
        return set(self.found)


def test_h105_h107_the_file_holds_no_character_that_acts_and_no_order_to_a_ci_runner(hostile: Path) -> None:
    text = (hostile / "report.html").read_text("utf-8")
    assert not {
        char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co"}
    }
    assert not [line for line in text.split("\n") if line.strip().startswith("::") or "##[" in line]


@pytest.mark.browser
def test_h105_what_would_act_or_hide_is_written_out(hostile: Path, open_page: Open) -> None:
    page = open_page(hostile / "report.html").page
    expect(page.locator("#tools")).to_be_visible()
    page.get_by_label("Search").fill("terminal-violated")
    expect(page.locator("#status")).to_have_text(re.compile("^1 of"))
    page.locator("ul.scenarios summary").click()
    expect(page.get_by_role("group", name="Output")).to_have_text(
        re.compile(re.escape(r"\x1b[2J\x1b[32mALL PASSED\x1b]52"))
    )
    page.get_by_label("Search").fill("bidi-violated")
    expect(page.locator("ul.scenarios summary > code")).to_have_text("bidi-violated")
    page.locator("ul.scenarios summary").click()
    expect(page.get_by_role("group", name="Output")).to_have_text(re.compile(re.escape(r"\u202eSSAP\u202c")))


@pytest.mark.browser
def test_h118_no_text_of_theirs_stands_where_the_verdict_does(hostile: Path, open_page: Open) -> None:
    page = open_page(hostile / "report.html").page
    verdict = json.loads((hostile / "verdict.json").read_text())
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("h1 b")).to_have_text("FAIL")
    assert page.locator("[data-verdict]").get_attribute("data-verdict") == verdict["verdict"] == "fail"
    assert page.locator("tr.rule").count() == len(verdict["rules"])
    expect(page.locator(".counts li").first).to_have_text(f"{verdict['counts']['scenarios']} scenarios")


def test_h114_nothing_of_the_environment_is_in_the_page(hostile: Path) -> None:
    text = (hostile / "report.html").read_text("utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    packed = [zlib.decompress(base64.b64decode(each)).decode() for each in (data["index"], *data["blocks"])]
    assert any("ALL PASSED" in each for each in packed)
    assert not [each for each in (text, *packed) if CANARY in each]


def test_h115_no_file_is_named_by_an_id(hostile: Path) -> None:
    assert {file.name for file in hostile.iterdir()} == {NAME, "policy.json", "report.html", "verdict.json", ".git"}
