"""The hook for pre-commit: run by pre-commit itself, in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.architecture.repository import ROOT, tracked

pytestmark = pytest.mark.process

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
SOUND = "thresholds: { blocking: { pass_rate: 90% } }\n"
BAD = "thresholds: { blocking: { pas_rate: 90% } }\nsuite: 3\n"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def pre_commit(folder: Path, config: dict[str, object], files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`pre-commit run` on files that are about to be committed."""
    git(folder, "init", "--quiet")
    for name, text in {**files, ".pre-commit-config.yaml": yaml.safe_dump({"repos": [config]})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    git(folder, "add", ".")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color", "never"],
        cwd=folder,
        env={**environment, "PATH": here, "PRE_COMMIT_HOME": str(folder.parent / "pre-commit-home")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


def local() -> dict[str, object]:
    """The hook as it is shipped, but with what is installed here."""
    return {"repo": "local", "hooks": [{**HOOK, "language": "system"}]}


def test_a_sound_policy_passes(repository: Path) -> None:
    done = pre_commit(repository, local(), {"highbar.yaml": SOUND, "evals/highbar.yml": SOUND})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_every_problem_of_every_policy_is_shown_with_its_place(repository: Path) -> None:
    done = pre_commit(
        repository, local(), {"highbar.yaml": BAD, "evals/highbar.json": '{"rules": 3}', "other.yaml": "x: ["}
    )
    assert done.returncode == 1
    for place in ("highbar.yaml:1:27: ", "highbar.yaml:2:8: ", "evals/highbar.json:1:11: "):
        assert place in done.stdout, done.stdout
    assert "did you mean 'pass_rate'?" in done.stdout
    assert "other.yaml" not in done.stdout


def test_it_is_not_run_where_no_policy_changed(repository: Path) -> None:
    done = pre_commit(repository, local(), {"agent.py": "", "not-highbar.yaml": ":", "highbar.yaml.bak": ":"})
    assert done.returncode == 0
    assert "Skipped" in done.stdout


@pytest.mark.slow
@pytest.mark.registry
def test_pre_commit_installs_the_hook_from_a_repository(repository: Path, tmp_path: Path) -> None:
    source = tmp_path / "highbar"
    for file in tracked():
        target = source / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    git(source, "init", "--quiet")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", "as it is here")
    config = {"repo": str(source), "rev": git(source, "rev-parse", "HEAD"), "hooks": [{"id": HOOK["id"]}]}
    done = pre_commit(repository, config, {"highbar.yaml": BAD})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "highbar.yaml:1:27: " in done.stdout
