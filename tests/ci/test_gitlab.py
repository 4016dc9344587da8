"""The template for GitLab CI: read, and its script run for real, by bash and by a plain shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.architecture.repository import ROOT
from tests.docs import forking

JOB = yaml.safe_load((ROOT / "ci" / "gitlab" / "highbar.yml").read_text("utf-8"))[".highbar"]
FOUND = {Path(found).resolve(): shell for shell in ("bash", "dash", "sh") if (found := shutil.which(shell))}
SHELLS = list(FOUND.values())
"""Each once: `sh` is often another name of one of them."""


def run(folder: Path, shell: str, part: str = "script", **variables: str) -> subprocess.CompletedProcess[str]:
    """The script as GitLab's runner gives it to a shell, which stops at the first line that fails."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "python"
    program.write_text(forking.python())
    program.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "HIGHBAR_"))}
    environment = {**inherited, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", **JOB["variables"]}
    return subprocess.run(
        [shell, "-e", "-c", "\n".join(JOB[part])],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "support-agent", tmp_path / "evals")
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("version", "code"), [("v1", 1), ("v2", 0)])
def test_the_job_ends_with_the_code_of_the_verdict_and_leaves_its_reports(
    folder: Path, shell: str, version: str, code: int
) -> None:
    done = run(folder, shell, HIGHBAR_RESULTS=f"evals/{version}.jsonl", HIGHBAR_POLICY="evals/highbar.yaml")
    assert done.returncode == code, done.stderr
    reports = folder / "highbar-reports"
    verdict = json.loads((reports / "verdict.json").read_text())["verdict"]
    assert verdict == ("pass" if code == 0 else "fail")
    assert [(folder / file).exists() for file in JOB["artifacts"]["reports"].values()] == [True]


@pytest.mark.process
@pytest.mark.parametrize("shell", SHELLS)
def test_results_and_arguments_stand_on_lines_of_their_own_and_patterns_are_highbars_to_read(
    folder: Path, shell: str
) -> None:
    rows = (folder / "evals" / "v2.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "part 1.jsonl").write_text("".join(rows[:30]))
    (folder / "part 2.jsonl").write_text("".join(rows[30:]))
    shutil.copy(folder / "evals" / "v2.jsonl", folder / "evals" / "one.jsonl")
    both = {"HIGHBAR_POLICY": "evals/highbar.yaml", "HIGHBAR_ARGUMENTS": "--strict\n--agent-version\n2.1.0"}
    for results in ("part 1.jsonl\npart 2.jsonl\n", "part ?.jsonl"):
        done = run(folder, shell, HIGHBAR_RESULTS=results, **both)
        assert done.returncode == 1, done.stderr
        assert "strict" in done.stderr
        assert json.loads((folder / "highbar-reports" / "verdict.json").read_text())["counts"]["scenarios"] == 60


@pytest.mark.process
@pytest.mark.parametrize("hostile", ["$(touch pwned)", '"; touch pwned; "', "`touch pwned`"])
def test_a_variable_is_never_run(folder: Path, hostile: str) -> None:
    assert run(folder, "sh", HIGHBAR_RESULTS=hostile, HIGHBAR_AGENT_VERSION=hostile).returncode == 2
    assert not list(folder.rglob("pwned"))


@pytest.mark.process
def test_an_inconclusive_verdict_has_a_code_of_its_own(folder: Path) -> None:
    (folder / "policy.yaml").write_text("rules: [{metric: pass_rate, threshold: ≥ 50%, min_scenarios: 1000}]\n")
    done = run(folder, "sh", HIGHBAR_RESULTS="evals/v2.jsonl", HIGHBAR_POLICY="policy.yaml")
    assert done.returncode == 3


def test_the_reports_are_kept_also_where_the_job_fails() -> None:
    assert JOB["artifacts"]["when"] == "always"
    assert "allow_failure" not in JOB


def test_no_document_suggests_to_let_an_inconclusive_verdict_through() -> None:
    documents = [
        ROOT / "README.md",
        ROOT / "action.yml",
        *(ROOT / "ci").rglob("*.y*ml"),
        *(ROOT / "docs").rglob("*.md"),
    ]
    assert len(documents) > 30
    for document in documents:
        text = document.read_text("utf-8")
        assert "exit_codes" not in text, document
        assert "allow_failure:" not in text, document
        assert "continue-on-error:" not in text, document


@pytest.mark.process
def test_without_a_policy_the_job_fails_and_the_reports_say_so(folder: Path) -> None:
    done = run(folder, "sh", HIGHBAR_RESULTS="evals/v2.jsonl")
    assert done.returncode == 2, done.stderr
    assert "NO POLICY" in done.stdout
    found = json.loads((folder / "highbar-reports" / "verdict.json").read_text())
    assert (found["verdict"], found["rules"]) == (None, [])
    assert 'errors="1"' in (folder / "highbar-reports" / "junit.xml").read_text()


@pytest.mark.process
def test_what_the_checkout_brought_is_no_report_of_the_job(folder: Path) -> None:
    brought = folder / "highbar-reports"
    brought.mkdir()
    (brought / "junit.xml").write_text("forged")
    (brought / "more.xml").write_text("forged")
    assert JOB["before_script"][0].startswith("rm -rf highbar-reports")  # before pip, which may fail
    done = run(folder, "sh", HIGHBAR_RESULTS="evals/v2.jsonl", HIGHBAR_POLICY="absent.yaml")
    assert done.returncode == 2
    assert not (brought / "more.xml").exists()
    assert "forged" not in (brought / "junit.xml").read_text()


@pytest.mark.process
@pytest.mark.parametrize("shell", SHELLS)
def test_without_a_word_on_what_to_install_nothing_is_installed(folder: Path, shell: str) -> None:
    done = run(folder, shell, "before_script")
    assert done.returncode == 2
    assert done.stderr.startswith("HIGHBAR_INSTALL is not set: set it to what pip installs, such as ./tools/highbar")
    assert not done.stdout


@pytest.mark.process
def test_what_is_set_is_what_pip_installs(folder: Path) -> None:
    done = run(folder, "sh", "before_script", HIGHBAR_INSTALL="./tools/highbar")
    assert done.returncode != 0
    assert "./tools/highbar" in done.stderr  # pip looks for it, and it is not there


def test_the_example_of_the_guide_says_what_to_install() -> None:
    guide = (ROOT / "docs" / "how-to" / "gitlab.md").read_text("utf-8")
    example = yaml.safe_load(guide.partition("```yaml .gitlab-ci.yml\n")[2].partition("```")[0])
    assert example["gate"]["variables"]["HIGHBAR_INSTALL"] == "./tools/highbar"
    assert example["gate"]["variables"].keys() <= JOB["variables"].keys()
