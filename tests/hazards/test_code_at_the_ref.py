"""At the ref, checks run the code of the ref, wherever Python finds it, and only the judge of the ref is believed."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

import highbar
from tests.commandline import Run
from tests.patience import PATIENCE
from tests.repository import commit, git, put

pytestmark = pytest.mark.process

POLICY = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
IGNORED = "runs\n.venv\n__pycache__\nbuilt\n"
AGENT = "def answer(text):\n    return 'Go away.'\n"
STRICT = "def polite(answer):\n    return 'please' in answer['output']\n"
LOOSE = "def polite(answer):\n    return bool(answer['output'])\n"
ROUGH = "def polite(answer):\n    return 'Go' in answer['output']\n"
"""Holds for the answer that the agent gives."""
RUN = ("--output", "runs/one", "--no-check")
CHECK = ("check", "runs/one", "--against-ref", "main", "--format", "json")


def suite(function: str = "shelf.quality:polite") -> dict[str, object]:
    one = {"id": "S1", "input": "Where?", "expected_behaviors": {"is_polite": {"python": function}}}
    return {"suite": "shelf", "agent": {"python": "agent:answer"}, "scenarios": [one]}


def files(quality: str, **more: object) -> dict[str, object]:
    """A repository with a package in `src` that the checks use."""
    return {
        "highbar.json": POLICY,
        ".gitignore": IGNORED,
        "evals/suite.json": suite(),
        "evals/agent.py": AGENT,
        "src/shelf/__init__.py": "",
        "src/shelf/quality.py": quality,
        **more,
    }


def python_in(folder: Path) -> tuple[Path, Path]:
    """A Python of its own, with Highbar, and the folder of its packages."""
    command = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    ours = [str(Path(highbar.__file__).parent.parent), sysconfig.get_path("purelib")]
    (packages / "ours.pth").write_text("".join(f"{path}\n" for path in ours), "utf-8")
    return folder / "bin" / "python", packages


def call(python: Path, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Run:
    """Highbar in that Python."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-m", "highbar", *arguments],
        cwd=folder,
        env={**variables, **(environment or {})},
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def judged_at_main(python: Path, folder: Path, environment: Mapping[str, str] | None = None) -> Run:
    """A run of the change, judged by main, too."""
    made = call(python, folder, "run", "evals/suite.json", *RUN, environment=environment)
    assert made.exit == 0, made.err
    return call(python, folder, *CHECK, environment=environment)


def outcome(done: Run) -> str:
    """The verdict at main."""
    assert done.exit in {0, 1, 3}, done.out + done.err
    return str(done.json["against"]["verdict"])


def doubt(done: Run) -> str:
    """Why the verdict at main is inconclusive."""
    assert outcome(done) == "inconclusive", done.out
    assert done.exit == 3
    return str(done.rule("main:against_ref")["reason"])


FINDER = """
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING = {"shelf": ROOT + "/src/shelf"}
class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            init = Path(MAPPING[name], "__init__.py")
            if init.exists():
                return spec_from_file_location(name, init)
        return None
def install():
    if not any(finder is _EditableFinder for finder in sys.meta_path):
        sys.meta_path.append(_EditableFinder)
"""


def by_path(root: Path, packages: Path) -> dict[str, str]:
    (packages / "shelf.pth").write_text(f"{root}/src\n", "utf-8")
    return {}


def by_finder(root: Path, packages: Path) -> dict[str, str]:
    (packages / "__editable___shelf_finder.py").write_text(FINDER.replace("ROOT", repr(str(root))), "utf-8")
    line = "import __editable___shelf_finder; __editable___shelf_finder.install()\n"
    (packages / "__editable__.shelf.pth").write_text(line, "utf-8")
    return {}


def by_variable(root: Path, _packages: Path) -> dict[str, str]:
    return {"PYTHONPATH": "src", "PYTHONPYCACHEPREFIX": str(root / "built")}


def by_link(root: Path, packages: Path) -> dict[str, str]:
    (packages.parent / "shelf-src").symlink_to(root / "src")
    (packages / "shelf.pth").write_text(f"{packages.parent}/shelf-src\n", "utf-8")
    return {}


EDITABLE = pytest.mark.parametrize("install", [by_path, by_finder, by_variable, by_link])


@EDITABLE
@pytest.mark.parametrize("inside", [False, True], ids=["beside", "in-the-repository"])
def test_h147_a_check_in_an_installed_package_is_that_of_the_ref(tmp_path, install, inside):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT))
    put(root, {"src/shelf/quality.py": LOOSE})
    python, packages = python_in(root / ".venv" if inside else tmp_path / "venv")
    done = judged_at_main(python, root, install(root, packages))
    assert outcome(done) == "fail", done.out
    assert done.exit == 1


@EDITABLE
def test_h147_where_nothing_was_changed_the_ref_accepts_it(tmp_path, install):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(ROUGH))
    python, packages = python_in(root / ".venv")
    (packages / "third.py").write_text("def party():\n    return open(__file__).read()\n", "utf-8")
    commit(root, {"src/shelf/quality.py": f"import third\nthird.party()\n{ROUGH}"})
    done = judged_at_main(python, root, install(root, packages))
    assert outcome(done) == "pass", done.out
    assert done.exit == 0


TAKING = """
import importlib.util, sys
class Loader:
    def __init__(self, loader): self.loader = loader
    def create_module(self, spec): return None
    def exec_module(self, module):
        self.loader.exec_module(module)
        module.find_check = lambda *_: lambda answer: True
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "highbar.running.child.finding": return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        spec.loader = Loader(spec.loader)
        return spec
if any("highbar.running.child" in word for word in sys.orig_argv):
    sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
@pytest.mark.parametrize("install", [by_path, by_variable])
def test_h147_what_python_runs_at_its_start_is_not_of_the_change(tmp_path, install, name):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT))
    python, packages = python_in(tmp_path / "venv")
    cfg = tmp_path / "venv" / "pyvenv.cfg"  # or there would be no usercustomize
    cfg.write_text(cfg.read_text("utf-8").replace("packages = false", "packages = true"), "utf-8")
    put(root, {f"src/{name}.py": TAKING})
    environment = install(root, packages)
    made = call(python, root, "run", "evals/suite.json", *RUN, environment=environment)
    assert made.exit == 0, made.err
    done = call(python, root, *CHECK, environment=environment)
    assert done.exit == 2, done.out
    assert f"src/{name}.py" in done.problems
    put(root, {f"src/{name}.py": f"{TAKING}del __file__\n"})
    assert outcome(call(python, root, *CHECK, environment=environment)) == "fail", "the checks are those of main anyway"


def test_h147_an_installed_copy_of_the_package_is_a_doubt(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT))
    put(root, {"src/shelf/quality.py": LOOSE})
    python, packages = python_in(tmp_path / "venv")
    put(packages, {"shelf/__init__.py": "", "shelf/quality.py": LOOSE})
    assert "installed module shelf" in doubt(judged_at_main(python, root))


def test_h147_a_part_of_a_namespace_that_is_installed_is_a_doubt(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT))
    git(root, "rm", "--quiet", "src/shelf/__init__.py")
    commit(root, {})
    put(root, {"src/shelf/quality.py": LOOSE})
    python, packages = python_in(tmp_path / "venv")
    put(packages, {"shelf/quality.py": LOOSE})
    assert "installed module shelf.quality" in doubt(judged_at_main(python, root))


def test_h147_an_installed_copy_of_a_judge_is_not_believed(tmp_path):
    kind = "def judge(asked):\n    return {name: True for name in asked['statements']}\n"
    root = tmp_path / "repository"
    root.mkdir()
    one = {"id": "S1", "input": "Where?", "expected_behaviors": {"is_polite": "The reply is polite."}}
    judged = {**suite(), "judge": {"python": "shelf.quality:judge"}, "scenarios": [one]}
    commit(root, files(kind, **{"evals/suite.json": judged}))
    python, packages = python_in(tmp_path / "venv")
    assert outcome(judged_at_main(python, root, by_path(root, packages))) == "pass"
    (packages / "shelf.pth").unlink()
    put(packages, {"shelf/__init__.py": "", "shelf/quality.py": kind})
    git(root, "clean", "-fdxq", "runs")
    assert outcome(judged_at_main(python, root)) == "inconclusive"


def test_h151_why_trials_are_undecided_at_the_ref_is_said(tmp_path):
    """The job that checks has not installed what the checks need."""
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(f"import thirdparty\n{ROUGH}"))
    python, packages = python_in(tmp_path / "venv")
    put(packages, {"thirdparty.py": ""})
    environment = by_path(root, packages)
    assert call(python, root, "run", "evals/suite.json", *RUN, environment=environment).exit == 0
    put(packages, {"thirdparty.py": None})
    done = call(python, root, *CHECK, "--output", "markdown=runs/check.md", environment=environment)
    assert outcome(done) == "inconclusive"
    why = [one for one in done.json["warnings"] if "1 trial undecided" in one]
    assert "No module named 'thirdparty'" in why[0]
    assert "No module named 'thirdparty'" in (root / "runs" / "check.md").read_text("utf-8").replace("\\", "")
    text = call(python, root, *CHECK[:-2], environment=environment).out
    assert "No module named 'thirdparty'" in " ".join(text.split())


def test_h147_packages_that_the_change_tracks_are_its_code(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT, **{"evals/suite.json": suite("manners:polite")}))
    python, packages = python_in(root / ".venv")
    put(packages, {"manners.py": LOOSE})
    git(root, "add", "--force", str(packages / "manners.py"))
    done = judged_at_main(python, root)
    assert outcome(done) != "pass"


def test_h147_the_ref_has_the_module_and_the_change_took_it_away(tmp_path):
    """A check that is milder where an optional module is absent."""
    mild = "try:\n    from shelf.rules import polite\nexcept ImportError:\n    polite = lambda answer: True\n"
    root = tmp_path / "repository"
    root.mkdir()
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": mild, "src/shelf/rules.py": STRICT}
    commit(root, files(STRICT, **own))
    python, packages = python_in(tmp_path / "venv")
    put(root, {"src/shelf/rules.py": None})
    assert outcome(judged_at_main(python, root, by_finder(root, packages))) == "fail"
    (packages / "__editable__.shelf.pth").unlink()
    git(root, "clean", "-fdxq", "runs")
    assert "no module shelf" in doubt(judged_at_main(python, root))


@pytest.mark.parametrize(
    ("reads", "named"),
    [
        ("open(ROOT + '/words.txt').read()", "words.txt"),
        ("__import__('pathlib').Path(ROOT, 'words.txt').read_text()", "words.txt"),
        ("__import__('os').listdir(ROOT + '/src')", "src"),
        ("__import__('os').path.exists(ROOT + '/none')", "none"),
        ("__import__('os').chdir(ROOT) or open('words.txt').read()", "words.txt"),
        ("open('/proc/self/root' + ROOT + '/words.txt').read()", "words.txt"),
        ("__import__('sqlite3').connect(ROOT + '/built.db')", "built.db"),
        ("__import__('subprocess').run(['true'])", "the program true"),
        ("[__import__('os').system('true')]", "the program"),
        ("__import__('os').posix_spawn('/bin/true', ['true'], {})", "the program"),
        ("__import__('runpy').run_path(ROOT + '/src/shelf/lists.py')", "src/shelf/lists.py"),
        ("__import__('importlib.util').machinery.SourceFileLoader('a', ROOT + '/src/shelf/lists.py').load_module()",
         "src/shelf/lists.py"),
    ],
)  # fmt: skip
def test_h151_what_a_check_reads_of_the_change_is_a_doubt(tmp_path, reads, named):
    root = tmp_path / "repository"
    root.mkdir()
    first = f"ROOT = {str(root)!r}\nREAD = {reads}\n"
    own = {"evals/suite.json": suite("quality:polite"), "words.txt": "x", "src/shelf/lists.py": ""}
    commit(root, files(ROUGH, **own, **{"evals/quality.py": first + ROUGH}))
    put(root, {"words.txt": "y", "src/shelf/lists.py": "more = 1\n", "src/more": ""})
    done = judged_at_main(Path(sys.executable), root)
    assert named in doubt(done), done.out


@pytest.mark.parametrize(
    "reads",
    [
        "next(at for at in __import__('pathlib').Path(__file__).resolve().parents if (at / '.git').exists())",
        "next(at for at in __import__('pathlib').Path(ROOT, 'evals').resolve().parents if (at / '.git').is_dir())",
        "__import__('pathlib').Path(ROOT, 'words.txt').resolve().read_text()",
        "__import__('os').listdir(ROOT + '/src')",
        "__import__('platform').uname().processor",
        "__import__('ctypes.util').util.find_library('c')",
        "__import__('yaml').safe_load('1')",
    ],
    ids=["root", "root-by-path", "same-file", "same-names", "uname", "library", "namesake"],
)
@pytest.mark.parametrize("judge", [False, True], ids=["check", "judge"])
def test_h151_what_is_the_same_is_no_doubt(tmp_path, reads, judge):
    root = tmp_path / "repository"
    root.mkdir()
    if judge:
        one = {"id": "S1", "input": "Where?", "expected_behaviors": {"is_polite": "The reply is polite."}}
        graded = {**suite(), "judge": {"python": "quality:judge"}, "scenarios": [one]}
    else:
        graded = suite("quality:polite")
    functions = ROUGH + "def judge(asked):\n    return {name: True for name in asked['statements']}\n"
    own = {"evals/suite.json": graded, "words.txt": "x", "providers/yaml.py": "", "examples/yaml/__init__.py": ""}
    commit(root, files(ROUGH, **own, **{"evals/quality.py": f"ROOT = {str(root)!r}\nREAD = {reads}\n{functions}"}))
    done = judged_at_main(Path(sys.executable), root)
    assert outcome(done) == "pass", done.out


@pytest.mark.parametrize("installed", [False, True], ids=["read", "installed"])
def test_h151_code_of_the_change_cannot_hide_that_it_was_run(tmp_path, installed):
    root = tmp_path / "repository"
    root.mkdir()
    hiding = "import highbar.running.child.watching as notes\nfor watch in notes._begun:\n    watch._facts.clear()\n"
    hiding += "    watch.note = watch.take = lambda *_: []\n    watch._known.clear()\nnotes._begun.clear()\n"
    first = "import shelf\n" if installed else f"exec(open({str(root / 'src/shelf/lists.py')!r}).read())\n"
    own = {"evals/suite.json": suite("quality:polite"), "src/shelf/lists.py": ""}
    commit(root, files(ROUGH, **own, **{"evals/quality.py": first + ROUGH}))
    put(root, {"src/shelf/lists.py": hiding})
    python, packages = python_in(tmp_path / "venv")
    if installed:
        put(packages, {"shelf/__init__.py": hiding})
    assert "shelf" in doubt(judged_at_main(python, root))


def test_h151_late_reads_are_seen_too(tmp_path):
    """In a function that is called, and by a library that it loads, and in a second call only."""
    late = "calls = []\ndef polite(answer):\n    calls.append(1)\n"
    late += "    return len(calls) < 2 or bool(open(ROOT + '/words.txt'))\n"
    root = tmp_path / "repository"
    root.mkdir()
    scenarios = [{**suite("quality:polite")["scenarios"][0], "id": f"S{n}"} for n in range(3)]
    own = {"evals/suite.json": {**suite(), "scenarios": scenarios}, "words.txt": "x"}
    commit(root, files(ROUGH, **own, **{"evals/quality.py": f"ROOT = {str(root)!r}\n{late}"}))
    put(root, {"words.txt": "y"})
    assert "words.txt" in doubt(judged_at_main(Path(sys.executable), root))


@pytest.mark.parametrize(
    "where",
    ["__import__('pathlib').Path(__file__).parent / 'words.txt'", "'evals/words.txt'", "'link/words.txt'"],
    ids=["beside", "working-folder", "link"],
)
def test_h151_a_file_that_a_check_opens_is_that_of_the_ref(tmp_path, where):
    words = f"WORDS = open({where}).read().split()\n"
    reading = f"{words}def polite(answer):\n    return any(word in answer['output'] for word in WORDS)\n"
    root = tmp_path / "repository"
    root.mkdir()
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": reading, "evals/words.txt": "please"}
    commit(root, files(STRICT, **own))
    (root / "link").symlink_to("evals")
    commit(root, {})
    put(root, {"evals/words.txt": "please Go"})
    done = judged_at_main(Path(sys.executable), root)
    assert outcome(done) == "fail", done.out
    commit(root, {})
    again = call(Path(sys.executable), root, *CHECK)
    assert outcome(again) == "pass", again.out


def test_h151_a_module_that_a_check_imports_is_that_of_the_ref(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": "from words import polite\n"}
    commit(root, files(STRICT, **own, **{"evals/words.py": STRICT}))
    put(root, {"evals/words.py": LOOSE})
    assert outcome(judged_at_main(Path(sys.executable), root)) == "fail"


def test_h151_stored_bytecode_is_not_believed(tmp_path):
    """The source is that of main, the bytecode beside it is not, and says that it need not be compared."""
    root = tmp_path / "repository"
    root.mkdir()
    commit(root, files(STRICT, **{"evals/suite.json": suite("quality:polite"), "evals/quality.py": STRICT}))
    (tmp_path / "loose.py").write_text(LOOSE, "utf-8")
    target = importlib.util.cache_from_source(str(root / "evals" / "quality.py"))
    py_compile.compile(
        str(tmp_path / "loose.py"), target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    assert outcome(judged_at_main(Path(sys.executable), root)) == "fail"


def test_h151_a_link_out_of_the_repository_and_a_pointer_are_not_read_as_files(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("Go", "utf-8")
    reading = "def polite(answer):\n    return open(NAME).read().strip() in answer['output']\n"
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": f"NAME = 'out.txt'\n{reading}"}
    commit(root, files(STRICT, **own))
    (root / "out.txt").symlink_to("../outside.txt")
    commit(root, {})
    assert "out.txt" in doubt(judged_at_main(Path(sys.executable), root))
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 2\n"
    commit(root, {"evals/quality.py": f"NAME = 'kept.txt'\n{reading}", "kept.txt": pointer})
    done = call(Path(sys.executable), root, *CHECK)
    assert done.exit == 2, done.out
    assert "kept.txt" in done.problems
    assert "git lfs fetch" in done.problems


def test_h151_a_large_file_of_the_ref_does_not_fill_memory(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    with (root / "large").open("wb") as stream:
        stream.truncate(600 * 2**20)
    read = "def polite(answer):\n    with open('large', 'rb') as file:\n        return file.seek(0, 2) == 600 * 2**20\n"
    commit(root, files(STRICT, **{"evals/suite.json": suite("quality:polite"), "evals/quality.py": read}))
    measured = (
        "import sys; from highbar.cli.guard import run_guarded; code = run_guarded(sys.argv[1:]); "
        "most = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')]; "
        "print(*most, file=sys.stderr); sys.exit(code)"  # `ru_maxrss` would begin with the memory of this process
    )
    assert call(Path(sys.executable), root, "run", "evals/suite.json", *RUN).exit == 0
    command = [sys.executable, "-c", measured, *CHECK]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) * 1024 < 350 * 2**20


@pytest.mark.parametrize("module", ["sub.rules", "rules"])
def test_h151_an_optional_module_in_a_submodule_that_is_not_here_is_not_skipped(tmp_path, module):
    mild = f"try:\n    from {module} import polite\nexcept ImportError:\n    polite = lambda answer: True\n"
    root = tmp_path / "repository"
    root.mkdir()
    inner = commit(root, files(STRICT, **{"evals/suite.json": suite("quality:polite"), "evals/quality.py": mild}))
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{inner[:-1]}{'0' if inner[-1] != '0' else '1'},sub")
    git(root, "commit", "--quiet", "--message=sub")
    variables = {"PYTHONPATH": f"{root}{os.pathsep}{root / 'sub'}"}
    made = call(Path(sys.executable), root, "run", "evals/suite.json", *RUN, environment=variables)
    assert made.exit == 0, made.err
    done = call(Path(sys.executable), root, *CHECK, environment=variables)
    assert done.exit == 2, done.out
    assert "git submodule update" in done.problems


def test_h151_what_nobody_needs_may_be_missing(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 2\n"
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": ROUGH, "picture.png": pointer}
    commit(root, files(ROUGH, **own))
    (root / "out").symlink_to("/nowhere")
    inner = commit(root, {})
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{inner},sub")
    git(root, "commit", "--quiet", "--message=sub")
    assert outcome(judged_at_main(Path(sys.executable), root)) == "pass"


def test_h151_a_folder_that_looks_like_the_repository_of_a_submodule_runs_nothing(tmp_path):
    """Git would fetch what it lacks by the program that the folder's configuration names."""
    root = tmp_path / "repository"
    root.mkdir()
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": ROUGH}
    inner = commit(root, files(STRICT, **own))
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{inner[::-1]},sub")
    git(root, "commit", "--quiet", "--message=sub")
    options = "[core]\nbare = true\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n"
    options += (
        f'[remote "o"]\nurl = "ext::sh -c touch% {tmp_path}/ran"\npromisor = true\n[protocol "ext"]\nallow = always\n'
    )
    inside = {"HEAD": "ref: refs/heads/x", "config": options, "objects/x": "", "refs/x": ""}
    put(root / "sub", inside)
    assert outcome(judged_at_main(Path(sys.executable), root)) == "pass"
    assert not (tmp_path / "ran").exists()


def test_h151_attributes_and_filters_of_the_change_have_no_say_in_the_copy(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    own = {"evals/suite.json": suite("quality:polite"), "evals/quality.py": STRICT}
    commit(root, files(STRICT, **own))
    put(root, {"evals/quality.py": LOOSE, ".gitattributes": "*.py export-ignore export-subst filter=loose\n"})
    git(root, "config", "filter.loose.smudge", "sed s/please//")
    assert outcome(judged_at_main(Path(sys.executable), root)) == "fail"
