"""What we ship for CI systems keeps to the schemas that are published for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.repository import ROOT


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", "ci/github/workflow.yaml"),
        ("gitlab-ci", "ci/gitlab/highbar.yml"),
    ],
)
def test_a_template_keeps_to_the_schema_of_its_system(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_pre_commit_accepts_the_manifest_of_its_hooks() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
