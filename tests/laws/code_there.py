"""At the ref, code that reads what the change wrote never makes a pass that main would not have made.

`attempt` makes a repository in which a check, or a judge in Python, asks several modules, files and folders of it, each
in another way, whether the answer is good. Then it changes tracked files at random: what they say, what they are, and
whether they are there at all. A run of the change is judged at main. What main itself would have said is known.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from tests.commandline import run
from tests.repository import commit, put

POLICY = {"suite": "evals/suite.json", "thresholds": {"blocking": {"pass_rate": "100%"}}}
AGENT = "def answer(text):\n    return 'There.'\n"
Way = Callable[[int, bool], tuple[dict[str, str], str]]
"""From a number, and whether it says yes: the files that it needs, and the lines that set `said`."""


def _said(good: bool) -> str:
    return f"SAID = {good!r}\n"


def _beside(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"evals/m{n}.py": _said(good)}, f"import m{n}\nsaid = m{n}.SAID\n"


def _package(n: int, good: bool) -> tuple[dict[str, str], str]:
    files = {f"src/pack{n}/__init__.py": "", f"src/pack{n}/part.py": _said(good)}
    return files, f"from pack{n} import part\nsaid = part.SAID\n"


def _namespace(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"src/space{n}/part.py": _said(good)}, f"import space{n}.part\nsaid = space{n}.part.SAID\n"


def _optional(n: int, good: bool) -> tuple[dict[str, str], str]:
    files = {f"src/rules{n}.py": _said(good)}
    return files, f"try:\n    from rules{n} import SAID as said\nexcept ImportError:\n    said = True\n"


def _late(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"evals/late{n}.py": _said(good)}, f"said = __import__('importlib').import_module('late{n}').SAID\n"


def _text(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"evals/text{n}.txt": str(good)}, f"said = open('evals/text{n}.txt').read() == 'True'\n"


def _of_its_own(n: int, good: bool) -> tuple[dict[str, str], str]:
    read = f"pathlib.Path(__file__).resolve().parent.parent.joinpath('own{n}/text.txt').read_text()"
    return {f"own{n}/text.txt": str(good)}, f"import pathlib\nsaid = {read} == 'True'\n"


def _lenient(n: int, good: bool) -> tuple[dict[str, str], str]:
    files = {f"evals/rule{n}.txt": str(good)}
    return files, f"try:\n    said = open('evals/rule{n}.txt').read() == 'True'\nexcept OSError:\n    said = True\n"


def _is_there(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"there{n}/flag{n}" if good else f"there{n}/other": ""}, f"said = os.path.exists('there{n}/flag{n}')\n"


def _is_not_there(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"there{n}/other" if good else f"there{n}/flag{n}": ""}, f"said = not os.path.exists('there{n}/flag{n}')\n"


def _listed(n: int, good: bool) -> tuple[dict[str, str], str]:
    files = {f"list{n}/{name}": "" for name in ("a", "b", "c")[: 2 + good]}
    return files, f"said = len(os.listdir('list{n}')) == 3\n"


def _absolute(n: int, good: bool) -> tuple[dict[str, str], str]:
    return {f"evals/abs{n}.txt": str(good)}, f"said = open(ROOT + '/evals/abs{n}.txt').read() == 'True'\n"


def _program(n: int, good: bool) -> tuple[dict[str, str], str]:
    read = f"subprocess.run(['cat', 'evals/run{n}.txt'], capture_output=True).stdout"
    return {f"evals/run{n}.txt": str(good)}, f"import subprocess\nsaid = {read} == b'True'\n"


CERTAIN: tuple[Way, ...] = (_beside, _package, _namespace, _optional, _late, _text, _of_its_own, _lenient)
LOOKING: tuple[Way, ...] = (_is_there, _is_not_there, _listed)
DOUBTFUL: tuple[Way, ...] = (_absolute, _program)
KEPT = frozenset({"highbar.json", "evals/suite.json", "evals/agent.py", "evals/quality.py", ".gitignore"})
"""Without these there would be no run, or other answers."""


def attempt(seed: int, folder: Path) -> str:
    """One repository and one change of it; raises if main accepts what it would not."""
    random = Random(seed)
    is_judge = random.random() < 0.4
    ways = [random.choice((*CERTAIN, *CERTAIN, *LOOKING, *DOUBTFUL)) for _ in range(random.randint(1, 4))]
    # Often one part alone says no, and a change of it would be enough.
    bad = random.choice((None, *range(len(ways)), *range(len(ways))))
    good = [n != bad for n in range(len(ways))]
    parts = [way(n, good[n]) for n, way in enumerate(ways)]
    files = {name: content for each, _ in parts for name, content in each.items()}
    tested = [f"    {line}\n" for _, lines in parts for line in (*lines.splitlines(), "all_said.append(said)")]
    first = (
        f"import os\nROOT = {str(folder)!r}\ndef ask():\n    all_said = []\n{''.join(tested)}    return all(all_said)\n"
    )
    second = "def polite(answer):\n    return ask()\n"
    second += "def judge(asked):\n    found = ask()\n    return {name: found for name in asked['statements']}\n"
    commit(folder, {**files, **_of_every_run(is_judge), "evals/quality.py": first + second})
    likely = sorted(files if bad is None or random.random() < 0.2 else parts[bad][0])
    kinds = [_change(random, folder, random.choice(likely), files) for _ in range(random.choice((0, 1, 1, 2)))]
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(folder / "src")}):
        made = run(folder, "run", "evals/suite.json", "--output", "runs/one", "--no-check", process=True)
        if made.exit != 0:
            return "the change cannot be run"
        done = run(folder, "check", "runs/one", "--against-ref", "main", "--format", "json", process=True)
    assert done.exit in {0, 1, 2, 3}, done.err
    if done.exit == 2:
        return "refused"
    verdict = done.json["against"]["verdict"]
    about = f"seed {seed}: {[way.__name__ for way in ways]} are {good}, changed: {kinds}, a judge: {is_judge}"
    assert verdict != "pass" or all(good), f"main would not have accepted this; {about}"
    is_certain = not kinds and all(way in CERTAIN for way in ways)
    assert not is_certain or verdict == ("pass" if all(good) else "fail"), f"nothing was changed; {about}"
    return f"{'judge' if is_judge else 'check'}: {verdict}"


def _of_every_run(is_judge: bool) -> dict[str, Any]:
    wanted: Any = "The reply is polite." if is_judge else {"python": "quality:polite"}
    one = {"id": "S1", "input": "Where?", "expected_behaviors": {"is_polite": wanted}}
    judge = {"judge": {"python": "quality:judge"}} if is_judge else {}
    suite = {"suite": "law", "agent": {"python": "agent:answer"}, **judge, "scenarios": [one]}
    ignored = "runs\n__pycache__\n"
    return {"highbar.json": POLICY, "evals/suite.json": suite, "evals/agent.py": AGENT, ".gitignore": ignored}


def _change(random: Random, folder: Path, name: str, files: dict[str, str]) -> str:
    """Change one file, or the folder that it is in."""
    path = folder / name
    kind = random.choice(("said", "said", "gone", "link", "outside", "folder", "beside", "flag"))
    if kind == "said" and path.is_file():
        path.write_text(path.read_text("utf-8").replace("False", "True"), "utf-8")
    elif kind == "gone" and os.path.lexists(path):
        path.unlink()
    elif kind in {"link", "outside"} and os.path.lexists(path):
        path.unlink()
        other = (
            folder / "runs" / path.name if kind == "link" else folder.with_name(f"{folder.name}-outside") / path.name
        )
        put(other.parent, {other.name: files[name].replace("False", "True")})
        path.symlink_to(other)
    elif kind == "folder" and path.parent != folder / "evals" and path.parent.is_dir() and not path.parent.is_symlink():
        moved = folder / "moved" / path.parent.relative_to(folder)
        moved.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path.parent, moved)
        path.parent.symlink_to(moved)
        for one in moved.rglob("*"):
            if one.is_file() and not one.is_symlink():
                one.write_text(one.read_text("utf-8").replace("False", "True"), "utf-8")
    elif kind == "beside":  # a module that is found first
        put(folder, {f"evals/{path.parent.name}/part.py": "SAID = True\n", f"evals/{path.stem}.py": "SAID = True\n"})
    elif kind == "flag":
        number = "".join(letter for letter in path.parent.name if letter.isdigit())
        put(folder, {f"{path.parent.relative_to(folder)}/flag{number}": "", f"{path.parent.relative_to(folder)}/c": ""})
    return f"{kind} {name}"
