"""With the recorded answers held fixed, no change of a repository makes a pass at the ref that was none.

`attempt(seed, folder)` makes a repository from the seed: policies and suites in several folders, a schema, versions,
and answers to what its suite asks. The answers are judged once as everything is on main. Then a change edits, swaps,
moves, deletes or links tracked files and folders, adds scenarios, or names versions and suites; the same answers are
recorded by the suite that the change has, and judged against main. `python -m tests.fuzzing at_the_ref@SEED` shows one
again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import highbar
from highbar.running.calls import Reply
from tests.recorded_runs import record
from tests.repository import commit, git

Json = Any
REPLIES = ("yes", "no", "yes, no", '{"hour": 10}', "{}")
CHECKS: tuple[Json, ...] = (
    {"contains": "yes"},
    {"contains": "no"},
    {"contains": ["yes", "no"]},
    {"is_json": "schema.json"},
    {"not": {"contains": "no"}},
)
SCHEMAS: tuple[Json, ...] = (
    {"type": "object"},
    {"type": "object", "required": ["hour"]},
    {"type": ["object", "array"]},
)
VERSIONS = ("1.0", "2.0", "3.0")
SHARES = ("20%", "50%", "75%", "100%")
FOLDERS = ("agent", "demo", "agent/evals", "demo/evals")


def scenario(draw: random.Random, id_: str) -> Json:
    made = {"id": id_, "input": draw.choice(["?", "When?"]), "answer": draw.choice(CHECKS)}
    if draw.random() < 0.3:
        made["must_not"] = {"leaks": {"contains": "no"}}
    if draw.random() < 0.2:
        made["trials"] = draw.randint(2, 3)
    return made


def suite(draw: random.Random) -> Json:
    found: Json = {"scenarios": [scenario(draw, f"S{n}") for n in range(draw.randint(1, 5))]}
    if draw.random() < 0.4:
        found["agent"] = {"python": "agent:answer", "version": draw.choice(VERSIONS)}
    return found


def policy(draw: random.Random) -> Json:
    found: Json = {"thresholds": {"blocking": {"pass_rate": draw.choice(SHARES)}}}
    if draw.random() < 0.4:
        steps = sorted(draw.sample(SHARES, len(VERSIONS)), key=lambda share: int(share[:-1]))
        found = {"progressive": {"pass_rate": {f"v{v}": f"≥ {s}" for v, s in zip(VERSIONS, steps, strict=True)}}}
    if draw.random() < 0.3:
        found["agent_version"] = draw.choice(VERSIONS)
    if draw.random() < 0.6:
        found["suite"] = draw.choice(["evals/suite.json", "evals/other.json"])
    if draw.random() < 0.2:
        found["required_scenarios"] = {"ids": ["S0"]}
    return found


def tree(draw: random.Random) -> dict[str, Json]:
    """The files of main: two agents with the same names inside, so that each can stand for the other."""
    files: dict[str, Json] = {}
    for agent in ("agent", "demo"):
        files[f"{agent}/highbar.json"] = policy(draw)
        for name in ("suite.json", "other.json"):
            files[f"{agent}/evals/{name}"] = suite(draw)
        files[f"{agent}/evals/schema.json"] = draw.choice(SCHEMAS)
    return {**files, ".gitignore": "runs\nresults.jsonl\n"}


def documents(root: Path) -> list[Path]:
    return sorted(path for agent in ("agent", "demo") for path in (root / agent).rglob("*.json") if path.is_file())


# --- what a change does -----------------------------------------------------------------------


def edit(draw: random.Random, root: Path) -> None:
    """Make another file of the same kind, or change one value of it."""
    path = draw.choice(documents(root))
    make = policy if path.name == "highbar.json" else suite if path.name != "schema.json" else None
    found = json.loads(path.read_text())
    if make is None:
        found = draw.choice(SCHEMAS)
    elif draw.random() < 0.5 or (make is suite and "scenarios" not in found):  # another file was moved there
        found = make(draw)
    elif path.name == "highbar.json":
        found |= {key: value for key, value in policy(draw).items() if draw.random() < 0.5}
    else:
        change_scenario(draw, found)
    path.write_text(json.dumps(found))


def change_scenario(draw: random.Random, found: Json) -> None:
    one = draw.choice(found["scenarios"])
    what = draw.choice(["answer", "input", "must_not", "trials", "gone", "version"])
    if what == "gone" and len(found["scenarios"]) > 1:
        found["scenarios"].remove(one)
    elif what == "answer":
        one["answer"] = {"contains": ["yes", "no", "hour", "{}"]}
    elif what == "input":
        one["input"] = "Easier?"
    elif what == "version":
        found["agent"] = {"python": "agent:answer", "version": draw.choice(VERSIONS)}
    else:
        one.pop(what, None)


def add(draw: random.Random, root: Path) -> None:
    """Add trivial scenarios to every suite."""
    for path in documents(root):
        found = json.loads(path.read_text())
        if "scenarios" in found:
            number = draw.choice([1, 20])
            new = ({"id": f"NEW-{n}", "input": "?", "answer": {"not": {"contains": "x"}}} for n in range(number))
            found["scenarios"] += [one for one in new if one["id"] not in {old["id"] for old in found["scenarios"]}]
            path.write_text(json.dumps(found))


def link(draw: random.Random, root: Path) -> None:
    """Replace a folder or a file by a link to another one of main."""
    if draw.random() < 0.5:
        inside = draw.choice(["", "/evals"])
        place, other = root / f"agent{inside}", root / f"demo{inside}"
        place, other = (place, other) if draw.random() < 0.8 else (other, place)
    else:
        place, other = draw.sample([*(root / name for name in FOLDERS), *documents(root)], 2)
    if place.is_symlink() or not place.exists() or place in other.parents or other in place.parents:
        return
    target = os.path.relpath(other, place.parent)
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(target)


def choose(draw: random.Random, root: Path) -> None:
    """Name another suite, or another version, in the policy."""
    path = root / "agent" / "highbar.json"
    if path.is_file():
        found = json.loads(path.read_text())
        found["suite"] = draw.choice(["evals/suite.json", "evals/other.json", "../demo/evals/suite.json"])
        if draw.random() < 0.5:
            found["agent_version"] = draw.choice(VERSIONS)
        path.write_text(json.dumps(found))


def move(draw: random.Random, root: Path) -> None:
    """Swap two files, move one over another, or take one away."""
    one = draw.choice(documents(root))
    alike = [path for path in documents(root) if path != one and path.name[:5] == one.name[:5]]
    other = draw.choice(alike or [one])
    first, second = one.read_text(), other.read_text()
    how = draw.random()
    other.write_text(first)
    if how < 0.5:
        one.write_text(second)
    elif how < 0.7:
        one.unlink()


CHANGES: tuple[Callable[[random.Random, Path], None], ...] = (edit, choose, add, link, link, move)


# --- judging ----------------------------------------------------------------------------------


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def judged(where: Path, results: Path, named: str | None, version: str | None) -> tuple[str, str]:
    """The verdict, and that at the ref; or `refused`."""
    try:
        with inside(where):
            found = highbar.check(str(results), named, against_ref="main", agent_version=version)
    except highbar.InputError:
        return "refused", "refused"
    assert found.against is not None
    return str(found.verdict), found.against.verdict


def ran(
    root: Path, suite_file: str, answers: Mapping[str, str], states: str | None, name: str, *, copied: bool
) -> Path:
    """The results of a run of a suite of the repository: its folder, or a copy of its rows."""

    def reply(id_: str, trial: int) -> Reply:
        return Reply(answers.get(id_, "yes") if trial % 2 else answers.get(f"{id_}'", "yes"), agent_version=states)

    folder = record(root / "runs" / name, root / suite_file, reply, in_repository=suite_file)
    if not copied:
        return folder
    return Path(shutil.copy(folder / "results.jsonl", root / f"runs/{name}.jsonl"))


def suite_run(root: Path, named: Json, given: str) -> str:
    """The suite that is run: that of the policy, else the one that the pipeline names."""
    found = named.get("suite") if isinstance(named, dict) else None
    return f"agent/{found}" if isinstance(found, str) and (root / "agent" / found).is_file() else given


def attempt(seed: int, folder: Path) -> str:
    """One repository, one set of answers, and one change of everything else."""
    draw = random.Random(seed)
    root = folder.resolve() / "repository"
    root.mkdir()
    files = tree(draw)
    commit(root, files)
    answers = {f"S{n}{tick}": draw.choice(REPLIES) for n in range(5) for tick in ("", "'")}
    given = draw.choice(["agent/evals/suite.json", "agent/evals/other.json"])
    inner = draw.random() < 0.5
    where, named = (root / "agent", None) if inner else (root, "agent/highbar.json")
    copied, version = draw.random() < 0.3, draw.choice([None, None, *VERSIONS])
    states = draw.choice([None, *VERSIONS])
    try:
        first = ran(root, suite_run(root, files["agent/highbar.json"], given), answers, states, "main", copied=copied)
    except highbar.InputError:
        return "not run on main"
    _, there = judged(where, first, named, version)
    main = files["agent/highbar.json"]
    graded = files[suite_run(root, main, given)]
    if "agent_version" not in main and "agent" not in graded:  # who selects no version takes the highest step anyway
        version, states = draw.choice([None, *VERSIONS]), draw.choice([None, *VERSIONS])
    for change in draw.choices(CHANGES, k=draw.randint(1, 3)):
        change(draw, root)
    if draw.random() < 0.3:
        git(root, "checkout", "--quiet", "-b", "change")
        commit(root, {})
    try:
        now = json.loads((root / "agent" / "highbar.json").read_text())
        by = suite_run(root, now, given)
        second = ran(root, by, answers, states, "change", copied=copied)
    except (highbar.InputError, OSError):
        return "not run after the change"
    found, at_ref = judged(where, second, named, version)
    if there != "pass":
        assert at_ref != "pass", f"main: {there}, after the change: {at_ref}"
        assert found != "pass", f"main: {there}, after the change: {found}"
    return f"{there} on main, {at_ref} after"
