"""A format that somebody else adds: a small distribution of its own, really built and really installed."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import highbar
from highbar import importers
from tests.commandline import Run, run
from tests.docs.pages import blocks
from tests.importers.imported import written

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # as the example of the page leaves it
]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "mapping.md"
BLOCKS = [block.text for block in blocks(PAGE.read_text("utf-8")) if block.language == "text"]
(ABOUT,) = (text for text in BLOCKS if "[project]" in text)
(MODULE,) = (text for text in BLOCKS if "def read(path, report)" in text)
(SIGN,) = (text for text in BLOCKS if "def recognizes(name, head)" in text)
"""The example of the page, as it stands there."""
BUILD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
only-include = ["highbar_strange.py", "highbar_strange_sign.py"]
"""
FILE = "STRANGE-1|good\n# a comment\nb|bad\n"
POLICY = "thresholds:\n  blocking: { accuracy: 50% }\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the distribution, with `recognizes` in the reader's own module."""
    about = ABOUT[: ABOUT.index('[project.entry-points."highbar.recognizers"]')]
    return _installed(tmp_path_factory, about, f"{SIGN}\n\n{MODULE}")


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with `recognizes` in a module of its own, as on the page."""
    return _installed(tmp_path_factory, ABOUT, MODULE)


def _installed(tmp_path_factory: pytest.TempPathFactory, about: str, module: str) -> Path:
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(about + BUILD, "utf-8")
    (source / "highbar_strange.py").write_text(module, "utf-8")
    (source / "highbar_strange_sign.py").write_text(SIGN, "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--target", target, source], check=True)
    return target


def test_a_file_of_an_installed_package_is_recognized_and_judged(tmp_path: Path, installed: Path) -> None:
    place = {"PYTHONPATH": os.pathsep.join([str(installed), str(Path(highbar.__file__).parents[1])])}
    (tmp_path / "highbar.yaml").write_text(POLICY)
    written(tmp_path, "results.json", FILE)
    done = run(tmp_path, "check", "results.json", "--format", "json", environment=place)
    assert done.exit == 0
    assert done.json["counts"]["scenarios"] == 2
    assert done.json["metrics"]["accuracy"]["value"] == 0.5
    assert "read as strange: 3 records, 2 rows, 1 left out" in done.err
    assert run(tmp_path, "check", "results.json").exit == 2


@pytest.fixture
def place(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It is installed beside Highbar, for commands of this process."""
    monkeypatch.syspath_prepend(installed)
    yield
    _forget()


@pytest.fixture
def light_place(light: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same for the one with `recognizes` in a module of its own."""
    monkeypatch.syspath_prepend(light)
    yield light
    _forget()


def _forget() -> None:
    """Forget what this process knows of installed packages: the next command finds them as a new process does."""
    importers._entry_points.cache_clear()
    for name in ("highbar_strange", "highbar_strange_sign"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def run_anew(folder: Path, *arguments: str) -> Run:
    _forget()
    return run(folder, *arguments)


@pytest.mark.usefixtures("place")
def test_its_format_has_a_name_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "highbar.yaml").write_text(POLICY)
    written(tmp_path, "results.log", FILE)
    done = run_anew(tmp_path, "import", "strange", "results.log")
    assert done.out.splitlines() == ['{"id":"STRANGE-1","correct":true}', '{"id":"b","correct":false}']
    assert run_anew(tmp_path, "check", "results.log", "--input-format", "strange").exit == 0
    assert "junit, strange" in run_anew(tmp_path, "import", "strang", "results.log").err


@pytest.mark.usefixtures("place")
def test_a_refusal_of_its_own_names_the_file_and_the_line(tmp_path: Path) -> None:
    written(tmp_path, "results.json", FILE + "c|ugly\n")
    done = run_anew(tmp_path, "check", "results.json")
    assert done.exit == 2
    assert done.codes == ["import.wrong-value"]
    assert "results.json:4: found 'ugly', wanted good or bad" in done.err


@pytest.mark.usefixtures("place")
def test_rows_of_ours_stay_ours(tmp_path: Path) -> None:
    (tmp_path / "highbar.yaml").write_text(POLICY)
    written(tmp_path, "ours.jsonl", '{"id": "STRANGE", "correct": true}\n')
    done = run_anew(tmp_path, "check", "ours.jsonl")
    assert done.exit == 0
    assert "read as" not in done.err


LONG = "x" * 200_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("no-id.jsonl", json.dumps({"passed": True, "must_not": [], "output": "x"})),
        ("cut.jsonl", '{"passed": true, "id": "a'),
    ],
)
@pytest.mark.usefixtures("place")
def test_no_code_of_an_outsider_runs_for_a_file_that_is_refused_as_ours(
    tmp_path: Path, replaced, name: str, content: str
) -> None:
    replaced("raise RuntimeError('an outsider was loaded')\n")
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 50% } }\n")
    (tmp_path / name).write_bytes(content.encode())
    done = run_anew(tmp_path, "check", name)
    assert "outsider" not in done.err, done.err
    assert done.exit == 2, done.err


@pytest.mark.usefixtures("place")
def test_no_code_of_an_outsider_runs_for_files_of_ours(tmp_path: Path, replaced) -> None:
    replaced("raise RuntimeError('an outsider was loaded')\n")
    files = {
        "late.jsonl": json.dumps({"output": LONG, "passed": True, "id": "a"}).encode(),
        "long.jsonl": json.dumps({"id": "b", "output": LONG, "passed": True}).encode(),
        "blank.jsonl": b"\n\n" + json.dumps({"id": "c", "passed": True}).encode(),
        "array.json": json.dumps([{"id": "d", "passed": True, "output": LONG}]).encode(),
        "table.csv": '\ufeff"passed","id"\ntrue,e\n'.encode(),
        "packed.jsonl.gz": gzip.compress(json.dumps({"passed": True, "id": "f"}).encode()),
        "packed.csv.gz": gzip.compress(b"id,passed\ng,true\n"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 50% } }\n")
    done = run_anew(tmp_path, "check", *files, "--format", "json")
    assert "outsider" not in done.err, done.err
    assert done.exit == 0, done.err
    assert done.json["counts"]["scenarios"] == len(files)


def test_the_reader_of_an_outsider_is_loaded_only_for_a_file_that_it_claims(tmp_path: Path, light_place: Path) -> None:
    (tmp_path / "highbar.yaml").write_text(POLICY)
    written(tmp_path, "results.json", FILE)
    done = run_anew(tmp_path, "check", "results.json")
    assert (done.exit, "read as strange" in done.err) == (0, True), done.err
    (light_place / "highbar_strange.py").write_text("raise RuntimeError('the reader was loaded')\n", "utf-8")
    written(tmp_path, "nobody.json", '{"neither": "ours", "nor": "strange"}')
    done = run_anew(tmp_path, "check", "nobody.json")
    assert done.exit == 2
    assert "reader was loaded" not in done.err, done.err
    assert "reader was loaded" in run_anew(tmp_path, "check", "results.json").err


@pytest.fixture
def replaced(installed: Path):
    """Puts another module in the place of the installed one, for a while."""
    module = installed / "highbar_strange.py"
    kept = module.read_text("utf-8")
    yield module.write_text
    module.write_text(kept, "utf-8")


@pytest.mark.usefixtures("place")
def test_an_outsider_who_loses_records_is_found_out(tmp_path: Path, replaced) -> None:
    replaced(MODULE.replace("yield {", "if name != 'b': yield {"))
    written(tmp_path, "results.json", FILE)
    done = run_anew(tmp_path, "import", "strange", "results.json")
    assert done.exit == 4
    assert "1 records were neither read nor left out" in done.err


@pytest.mark.usefixtures("place")
def test_a_package_that_is_broken_is_named(tmp_path: Path, replaced) -> None:
    replaced("import no_such_module\n")
    written(tmp_path, "results.json", FILE)
    done = run_anew(tmp_path, "check", "results.json")
    assert done.exit == 2
    assert done.codes == ["plugin.broken"]
    assert "'strange'" in done.err
    assert "ModuleNotFoundError" in done.err


@pytest.mark.usefixtures("place")
def test_a_package_that_fails_on_a_file_is_named_and_the_format_can_be(tmp_path: Path, replaced):
    replaced(f"{SIGN}\n\n{MODULE}".replace('return head.startswith(b"STRANGE")', "return head[10**9]"))
    (tmp_path / "highbar.yaml").write_text(POLICY)
    written(tmp_path, "results.jsonl", '{"correct": true, "name": "no id"}\n')
    done = run_anew(tmp_path, "check", "results.jsonl")
    assert done.exit == 2
    assert done.codes == ["plugin.broken"]
    assert "results.jsonl: " in done.err
    assert "'strange'" in done.err
    assert "IndexError" in done.err
    assert run_anew(tmp_path, "check", "results.jsonl", "--input-format", "jsonl").codes == ["row.missing-id"]
