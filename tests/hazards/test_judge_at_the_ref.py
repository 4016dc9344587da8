"""At the ref, a recorded judgment is believed only if all that made it is the same there; else it is undecided."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import py_compile
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, run
from tests.judge_server import JudgeServer, judging
from tests.repository import commit, git, put

pytestmark = pytest.mark.process

POLICY = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
AGENT = "def answer(text):\n    return 'Go away.'\n"
OPTIONS = ("--output", "runs/one", "--no-check")
STATEMENT = "The reply is polite."
KIND = "def judge(asked):\n    return {name: True for name in asked['statements']}\n"
"""A judge that finds whatever it is asked about."""
STRICT = KIND.replace("True", "'please' in str(asked['messages'])")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judging() as found:  # it observes everything
        yield found


def suite(judge: Mapping[str, Any], statement: str = STATEMENT, **more: Any) -> dict[str, Any]:
    one = {"id": "S1", "input": "Where?", "expected_behaviors": {"is_polite": statement}}
    return {"suite": "shelf", "agent": {"python": "agent:answer"}, "judge": judge, "scenarios": [one], **more}


def files(judge: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    own = {"highbar.json": POLICY, ".gitignore": "runs\n__pycache__\n.venv\n", "evals/agent.py": AGENT}
    return {**own, "evals/suite.json": suite(judge), **more}


def made(root: Path, *arguments: str, file: str = "evals/suite.json", **more: Any) -> None:
    """A run of the change."""
    done = run(root, "run", file, *OPTIONS, *arguments, **more)
    assert done.exit == 0, done.err


def at_main(root: Path, *arguments: str) -> Run:
    done = run(root, "check", "runs/one", "--against-ref", "main", "--format", "json", *arguments)
    assert done.exit in {0, 1, 3}, done.out + done.err
    return done


def believed(done: Run) -> bool:
    """Whether main took over that the reply is polite; if not, it is undecided there."""
    verdict = done.json["against"]["verdict"]
    assert verdict in {"pass", "inconclusive"}, done.out
    assert done.exit == (0 if verdict == "pass" else 3)
    return bool(verdict == "pass")


def model(server: JudgeServer, **more: Any) -> dict[str, Any]:
    return {"model": "m", "base_url": server.base_url, **more}


def test_h148_the_same_judge_is_believed(tmp_path, server):
    commit(tmp_path, files(model(server)))
    made(tmp_path)
    assert believed(at_main(tmp_path))
    assert len(server.calls) == 1, "main asks nobody"


@pytest.mark.parametrize(
    "change",
    [
        lambda server: {"base_url": f"{server.root}/v1/../v1"},
        lambda server: {"base_url": f"http://localhost:{server.server.port}/v1"},
        lambda _: {"base_url": "${JUDGE}/v1"},
        lambda _: {"model": "another"},
        lambda _: {"temperature": 1},
        lambda _: {"max_tokens": 9999},
        lambda _: {"key": "${OTHER_KEY}"},
        lambda server: {"format": "anthropic", "base_url": server.root},
    ],
    ids=["path", "host", "variable", "model", "temperature", "tokens", "key", "format"],
)
def test_h148_a_judge_with_another_address_or_setting_is_not_believed(tmp_path, server, monkeypatch, change):
    monkeypatch.setenv("JUDGE", server.root)
    monkeypatch.setenv("OTHER_KEY", "sesame-opens-it")
    commit(tmp_path, files(model(server)))
    put(tmp_path, {"evals/suite.json": suite(model(server, **change(server)))})
    made(tmp_path)
    done = at_main(tmp_path)
    assert not believed(done)
    assert "sesame" not in done.out


def test_h148_the_address_is_compared_as_it_is_written(tmp_path, server, monkeypatch):
    """What fills it in is the pipeline's."""
    monkeypatch.setenv("JUDGE", server.root)
    commit(tmp_path, files(model(server, base_url="${JUDGE}/v1")))
    made(tmp_path)
    assert believed(at_main(tmp_path))


def test_h148_a_judge_on_the_command_line_is_another_one(tmp_path, server):
    commit(tmp_path, files(model(server)))
    made(tmp_path, "--judge", f"m@{server.base_url}")
    done = at_main(tmp_path)
    assert not believed(done)
    assert "main: 1 trial undecided: " in str(done.json["warnings"])
    assert "a judge named on the command line judged" in str(done.json["warnings"])


def test_h148_an_address_that_was_changed_for_a_part_of_the_run_counts(tmp_path, server):
    """A run goes on with another suite, and says at its end that it was main's."""
    commit(tmp_path, files(model(server)))
    put(tmp_path, {"evals/suite.json": suite(model(server, base_url=f"http://localhost:{server.server.port}/v1"))})
    made(tmp_path)
    git(tmp_path, "checkout", "--quiet", "evals/suite.json")
    put(tmp_path, {"evals/suite.json": json.dumps(suite(model(server))) + "\n"})
    assert run(tmp_path, "run", "--resume", "runs/one", "--rerun-changed", "--no-check").exit == 0
    assert not believed(at_main(tmp_path))


def test_h148_another_statement_is_undecided(tmp_path, server):
    commit(tmp_path, files(model(server)))
    put(tmp_path, {"evals/suite.json": suite(model(server), "The reply has words.")})
    made(tmp_path)
    assert not believed(at_main(tmp_path))


def test_h148_another_prompt_is_another_judge(tmp_path, server, monkeypatch):
    """Another version of Highbar asks in other words."""
    commit(tmp_path, files(model(server)))
    made(tmp_path)
    monkeypatch.setattr("highbar.running.judging.identity.TEXTS", "in other words")
    assert not believed(at_main(tmp_path))


def test_h148_one_more_judge_or_one_less_is_another_judge(tmp_path, server):
    panel = [model(server, model=name) for name in ("a", "b", "c")]
    several = suite({})
    del several["judge"]
    commit(tmp_path, files({}, **{"evals/suite.json": {**several, "judges": panel}}))
    made(tmp_path)
    assert believed(at_main(tmp_path))
    put(tmp_path, {"evals/suite.json": {**several, "judges": [*panel[:2], model(server, model="kind")]}})
    (tmp_path / "runs" / "one").rename(tmp_path / "runs" / "zero")
    made(tmp_path)
    assert not believed(at_main(tmp_path))


def test_h148_canaries_that_were_taken_away_are_missed(tmp_path, server):
    """The judge finds everything, so canaries that are bad would have shown it."""
    bad = [{"input": "Do it.", "output": f"Go {n}.", "behaviors": {"is_polite": False}} for n in range(8)]
    glossary = {"behaviors": {"is_polite": STATEMENT}}
    scenarios = [{"id": "S1", "input": "Where?", "expected_behaviors": ["is_polite"]}]
    with_canaries = suite(model(server), **glossary, scenarios=scenarios, canaries=bad)
    commit(tmp_path, files({}, **{"evals/suite.json": with_canaries}))
    put(tmp_path, {"evals/suite.json": suite(model(server), **glossary, scenarios=scenarios)})
    made(tmp_path)
    assert not believed(at_main(tmp_path))


# --- a judge in Python -----------------------------------------------------------------------

PYTHON = {"python": "quality:judge"}


def test_h151_a_python_judge_that_read_the_same_is_believed(tmp_path):
    reading = f"from words import WORDS\nimport pathlib\npathlib.Path('evals/list.txt').read_text()\n{KIND}"
    own = {"evals/quality.py": reading, "evals/words.py": "WORDS = []\n", "evals/list.txt": "x"}
    commit(tmp_path, files(PYTHON, **own))
    made(tmp_path)
    assert believed(at_main(tmp_path))


def test_h151_an_async_judge_too(tmp_path):
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": f"import words\nasync {KIND}", "evals/words.py": "1\n"}))
    made(tmp_path)
    assert believed(at_main(tmp_path))
    put(tmp_path, {"evals/words.py": "2\n"})
    (tmp_path / "runs" / "one").rename(tmp_path / "runs" / "zero")
    made(tmp_path)
    assert not believed(at_main(tmp_path))


@pytest.mark.parametrize(
    ("before", "reads", "now"),
    [
        ({"evals/quality.py": STRICT}, "", {"evals/quality.py": KIND}),
        ({"evals/words.py": "1\n"}, "import words\n", {"evals/words.py": "2\n"}),
        ({"evals/pack/words.py": "1\n"}, "import pack.words\n", {"evals/pack/words.py": "2\n"}),
        ({"evals/words.txt": "1"}, "open('evals/words.txt').read()\n", {"evals/words.txt": "2"}),
        ({"words.txt": "1"}, "open('words.txt').read()\n", {"words.txt": "2"}),
        ({}, "import os\nos.path.exists('kind')\n", {"kind": "yes"}),
        ({"strict": "yes"}, "import os\nos.path.exists('strict')\n", {"strict": None}),
        ({"evals/strict.py": "1\n"}, "try:\n    import strict\nexcept ImportError: pass\n", {"evals/strict.py": None}),
        ({}, "try:\n    import mild\nexcept ImportError: pass\n", {"evals/mild.py": "1\n"}),
        ({"rules/a": "1"}, "import os\nlen(os.listdir('rules'))\n", {"rules/b": "1"}),
        ({"rules/a": "1", "rules/b": "1"}, "import glob\nglob.glob('rules/*')\n", {"rules/b": None}),
        ({"words.txt": "1"}, "import subprocess\nsubprocess.run(['cat', 'words.txt'])\n", {"words.txt": "2"}),
        ({"words.txt": "1"}, "import os\nos.system('cat words.txt')\n", {"words.txt": "2"}),
    ],
    ids=["module", "imported", "namespace", "file", "working-folder", "added-file", "removed-file", "removed-module",
         "added-module", "added-to-folder", "removed-from-folder", "program", "shell"],
)  # fmt: skip
def test_h151_a_python_judge_that_read_something_else_is_not_believed(tmp_path, before, reads, now):
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": reads + KIND, **before}))
    put(tmp_path, now)
    made(tmp_path)
    assert not believed(at_main(tmp_path))


@pytest.mark.parametrize("linked", ["evals/words.txt", "evals/words"])
def test_h151_a_link_out_of_the_repository_is_another_file(tmp_path, linked):
    root, outside = tmp_path / "repository", tmp_path / "outside"
    root.mkdir()
    own = "evals/words.txt" if linked.endswith(".txt") else "evals/words/list.txt"
    commit(root, files(PYTHON, **{"evals/quality.py": f"open('{own}').read()\n{KIND}", own: "1"}))
    put(tmp_path, {f"outside/{own}": "2"})
    put(root, {own: None})
    if not linked.endswith(".txt") and (root / linked).exists():
        (root / linked).rmdir()
    (root / linked).symlink_to(outside / linked)
    made(root)
    assert not believed(at_main(root))


def test_h151_a_module_that_hid_another_one_was_taken_away(tmp_path):
    """Main has both, and found the first."""
    own = {"evals/quality.py": f"import words\n{KIND}", "evals/words.py": "1\n", "src/words.py": "2\n"}
    commit(tmp_path, files(PYTHON, **own))
    variables = {"PYTHONPATH": str(tmp_path / "src")}
    made(tmp_path, environment=variables)
    assert believed(at_main(tmp_path))
    put(tmp_path, {"evals/words.py": None})
    (tmp_path / "runs" / "one").rename(tmp_path / "runs" / "zero")
    made(tmp_path, environment=variables)
    assert not believed(at_main(tmp_path))


def test_h151_stored_bytecode_is_not_what_is_judged_by(tmp_path):
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": f"import words\n{KIND}", "evals/words.py": "1\n"}))
    put(tmp_path, {"loose.py": "raise OSError\n"})
    target = importlib.util.cache_from_source(str(tmp_path / "evals" / "words.py"))
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(tmp_path / "loose.py"), target, invalidation_mode=unchecked)
    made(tmp_path)
    assert believed(at_main(tmp_path))


@pytest.mark.parametrize("kind", ["", "async "], ids=["sync", "async"])
def test_h151_code_of_the_change_cannot_forge_what_was_recorded(tmp_path, kind):
    strict = "def rule():\n    return False\n"
    judging = f"from rules import rule\n{kind}{KIND.replace('True', 'rule()')}"
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": judging, "evals/rules.py": strict}))
    forging = f"""
import highbar.running.child.watching as notes
for watch in notes._begun:
    for fact in getattr(watch, "_facts", []):
        if fact[1].endswith("rules.py") and len(fact) > 2:
            fact[2] = "{hashlib.sha256(strict.encode()).hexdigest()}"
def rule():
    return True
"""
    put(tmp_path, {"evals/rules.py": forging})
    made(tmp_path)
    assert not believed(at_main(tmp_path))


BY_LIBRARY = [
    ("duckdb", "import duckdb\nduckdb.sql(\"from 'evals/words.csv'\").fetchall()\n"),
    ("sqlite3", "import sqlite3\nsqlite3.connect(':memory:').execute(\"attach 'evals/words.db' as w\")\n"),
    ("ctypes", "import ctypes\nctypes.CDLL(None).fopen(b'evals/words.csv', b'r')\n"),
]


@pytest.mark.parametrize("reads", [reads for _, reads in BY_LIBRARY], ids=[name for name, _ in BY_LIBRARY])
def test_h151_what_a_library_in_c_may_have_read_counts(tmp_path, reads):
    """Nobody sees what it opens, so all files must be those of main, but for modules, which are seen."""
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": reads + KIND, "evals/words.csv": "word\nplease\n"}))
    put(tmp_path, {"evals/agent.py": f"{AGENT}\n"})
    made(tmp_path)
    assert believed(at_main(tmp_path))
    put(tmp_path, {"evals/words.csv": "word\nGo\n"})
    (tmp_path / "runs" / "one").rename(tmp_path / "runs" / "zero")
    made(tmp_path)
    assert not believed(at_main(tmp_path))


def test_h151_libraries_in_c_that_open_nothing_are_believed(tmp_path):
    """Such as those below the clients of models."""
    uses = "import aiohttp, ctypes, multiprocessing, numpy, ssl, uuid, yaml\n"
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": uses + KIND, "prompt.txt": "1"}))
    put(tmp_path, {"prompt.txt": "2"})
    made(tmp_path)
    assert believed(at_main(tmp_path))


def test_h151_what_a_judge_reads_in_a_later_call_counts(tmp_path):
    """Nothing is read when the module is loaded."""
    late = "def judge(asked):\n    import late\n    return {name: True for name in asked['statements']}\n"
    commit(tmp_path, files(PYTHON, **{"evals/quality.py": late, "evals/late.py": "1\n"}))
    put(tmp_path, {"evals/late.py": "2\n"})
    made(tmp_path)
    assert not believed(at_main(tmp_path))


def test_h151_a_judge_of_the_same_name_in_another_folder_is_another_judge(tmp_path):
    """Main has both folders; the code that both share reads what is beside it."""
    own = {f"{folder}/quality.py": f"import words\n{KIND}" for folder in ("evals", "easy")}
    words = {"evals/words.py": "1\n", "easy/words.py": "2\n"}
    policy = {**POLICY, "suite": "evals/suite.json"}
    commit(tmp_path, files(PYTHON, **own, **words, **{"highbar.json": policy, "easy/agent.py": AGENT}))
    put(tmp_path, {"easy/suite.json": suite(PYTHON)})
    made(tmp_path, file="easy/suite.json")
    assert not believed(at_main(tmp_path))


def test_h151_a_judge_whose_reads_nobody_recorded_is_not_believed(tmp_path):
    """The judge was in no repository when the run was made."""
    commit(
        tmp_path, files(PYTHON, **{"evals/quality.py": KIND, "highbar.json": {**POLICY, "suite": "evals/suite.json"}})
    )
    elsewhere = tmp_path / "runs" / "copy"
    put(elsewhere, {"agent.py": AGENT, "quality.py": KIND, "suite.json": suite(PYTHON)})
    (tmp_path / ".git").rename(tmp_path / "kept")
    command = [sys.executable, "-m", "highbar", "run", str(elsewhere / "suite.json"), *OPTIONS]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "kept").rename(tmp_path / ".git")
    assert not believed(at_main(tmp_path))
