"""The commands for a reader's own machine do what the pages say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.repository import tracked
from tests.docs.pages import ROOT, blocks, pages

# Each command that a page shows for the reader's own machine, and what tests it.
TESTED = {
    "README.md": {
        "install": "test_the_install_command_of_the_readme_works_on_a_fresh_machine",
        "./scripts/test": "the command that runs this test",
    },
    "CONTRIBUTING.md": {
        "scripts/setup": "scripts/test runs it first",
        "scripts/test": "the command that runs this test",
        "scripts/test --quick": "the same with fewer tests; tests/architecture/test_markers.py",
        "scripts/laws": "tests/laws tries the same laws on fixed suites",
        "scripts/coverage": "a command of its own, run by CI after the tests",
        "scripts/walk": "tests/architecture/test_walk.py",
        "scripts/words": "tests/words/test_words.py",
        "scripts/size": "tests/architecture/test_sizes.py",
        "scripts/docs": "test_pages.py runs what it runs",
        "scripts/mutation": "a command of its own, run before a release",
        ".venv/bin/python bench/run.py": "a command of its own, run before a release",
        ".venv/bin/python -m bench.history": "a command of its own: it writes 230 MB",
        ".venv/bin/python -m bench.early_stopping": "tests/docs/test_early_stopping.py reads what it wrote",
        ".venv/bin/python -m bench.early_runs": "tests/runs/test_completion_order.py does a little of it",
        ".venv/bin/python -m bench.runners": "a command of its own: it installs the other tools",
        ".venv/bin/python -m bench.rate_limits": "tests/runs/test_rate_limits.py does a little of it",
        ".venv/bin/python -m bench.gates": "tests/docs/test_gates.py does a little of it, and reads what it wrote",
        "scripts/samples": "tests/importers reads the same files",
        "scripts/fuzz": "tests/laws/test_file_laws.py and tests/importers/test_fuzzing.py do a little of it",
        "scripts/fixtures": "a command of its own: it installs the other tools",
        ".venv/bin/python -m bench.importers": "a command of its own, run before a release",
    },
    "docs/how-to/inspect.md": {
        "inspect eval arithmetic.py --model openai/gpt-4o --no-fail-on-error": "make_inspect.py makes such a log",
        "highbar check logs/*.eval": "the page itself, on that log",
    },
    "docs/how-to/promptfoo.md": {
        "promptfoo eval --no-cache -o results.json": "tests/importers/recipes/make_promptfoo.py makes such a file",
        "highbar check results.json": "the page itself, on that file",
    },
    "docs/how-to/lm-eval.md": {
        "lm_eval --model local-completions --tasks gsm8k --output_path results --log_samples": "make_lm_eval.py does",
        "highbar check results/my-model": "the page itself, on its files",
    },
    "docs/how-to/every-eval-ever.md": {
        "every_eval_ever convert inspect --log_path logs --output_dir data": "make_every_eval_ever.py does",
        "highbar check data/arithmetic/example/clerk": "the page itself, on its files",
    },
    "docs/how-to/junit.md": {
        "pytest --junitxml=report.xml tests/evals": "tests/importers/recipes/make_junit.py makes such a file",
        "highbar check report.xml": "the page itself, on that file",
    },
    "docs/how-to/deepeval.md": {
        "rm -f .deepeval/.latest_run_full.json": "tests/hazards/test_metrics_without_a_verdict.py runs the block",
        "deepeval test run tests/evals": "tests/importers/recipes/make_deepeval.py makes such a file",
        "highbar check .deepeval/.latest_run_full.json": "the page itself, on that file",
    },
    "docs/how-to/agentskills.md": {
        "highbar check 'my-skill-workspace/iteration-1/eval-*/with_skill/run-*/grading.json'": "tests/importers",
        "highbar check benchmark.json --where tags.configuration=with_skill": "tests/importers",
    },
    "docs/how-to/pydantic-evals.md": {
        "python evals.py": "tests/importers/recipes/make_pydantic_evals.py makes such a file",
        "highbar check report.json": "the page itself, on that file",
    },
    "docs/how-to/tau-bench.md": {
        "python run.py --env airline --model my-agent --num-trials 4": "needs a model; the published runs are tested",
        "highbar check results/tool-calling-my-agent-*.json": "the page itself, on a shorter file",
    },
    "docs/how-to/mlflow.md": {
        "python evaluate.py": "tests/importers/recipes/make_mlflow.py makes such a file",
        "highbar check eval_results.json": "the page itself, on that file",
    },
    "docs/how-to/opentelemetry.md": {
        "cat logs.jsonl traces.jsonl > run.jsonl": "the page itself, on the files of make_otel.py",
        "highbar check run.jsonl": "the page itself",
    },
    "docs/how-to/raise-the-bar.md": {
        "git fetch --depth=1 origin main:refs/remotes/origin/main": "git's own; the page commits instead",
        "highbar check results.jsonl --against-ref origin/main": "the page itself, against main",
    },
    "docs/how-to/mcp.md": {
        "pip install '.[mcp]'": "scripts/setup installs the same",
        "highbar mcp --allow-run --budget '$5'": "tests/unit/mcp_server/test_process.py",
    },
    "docs/how-to/spark.md": {
        "pip install '.[spark]'": "scripts/setup installs the same",
        "highbar check s3a://traffic/judged/day=2026-11-14/ --policy highbar.yaml --engine spark": "tests/spark, local",
    },
}


def commands(page: Path) -> list[str]:
    """The commands of the page's `sh` blocks, without their comments."""
    found = "".join(block.text for block in blocks(page.read_text("utf-8")) if block.language == "sh")
    return [line.partition("  # ")[0].strip() for line in found.splitlines() if line]


def install() -> str:
    """The one line of the README that installs and runs."""
    (line,) = [command for command in commands(ROOT / "README.md") if "pip install" in command]
    return line


def test_every_command_for_the_readers_machine_is_known() -> None:
    for page in pages():
        known = {install() if name == "install" else name for name in TESTED.get(str(page.relative_to(ROOT)), {})}
        assert set(commands(page)) == known


@pytest.mark.slow
@pytest.mark.registry
def test_the_install_command_of_the_readme_works_on_a_fresh_machine(tmp_path: Path) -> None:
    for file in tracked():
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(["bash", "-c", install()], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    (shown,) = [
        block.text.partition("\n")[2]
        for block in blocks((ROOT / "README.md").read_text("utf-8"))
        if block.language == "console" and "$ highbar run examples/library-agent/suite.yaml" in block.text
    ]
    assert done.stdout.decode().splitlines()[0] in shown.splitlines()
