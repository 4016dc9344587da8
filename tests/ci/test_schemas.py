"""What we ship for CI systems keeps to the schemas that are published for them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import yaml

from tests.architecture.repository import ROOT


@pytest.mark.process
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-actions", ["action.yml"]),
        ("gitlab-ci", ["ci/gitlab/highbar.yml"]),
        (
            "github-workflows",
            ["ci/github/workflow.yaml", ".github/workflows/test.yml", ".github/workflows/release.yml"],
        ),
        ("github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"]),
        ("github-issue-forms", [f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("wrong-verdict", "bug", "idea")]),
    ],
)
def test_templates_keep_to_the_schema_of_their_system(schema: str, files: list[str]) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.process
def test_pre_commit_accepts_the_manifest_of_its_hooks() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.process
def test_pre_commit_accepts_the_configuration_for_developers() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_version_of_python_that_is_declared_is_tested() -> None:
    declared = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    # A version is tested first and declared once it has passed.
    assert tested[: len(declared)] == declared
    assert f'requires-python = ">={tested[0]}"' in (ROOT / "pyproject.toml").read_text("utf-8")
