"""Runs what the pages show. `python -m tests.docs.pages` writes the real outputs into them.

A page is a Markdown file of this repository; all its blocks share one folder, which starts with a copy of `examples/`
and, in `runs/`, with files that other tools wrote.

    ```console            each line after `$ ` is run by bash; what follows it is its output
    ```python             run; the lines after `# => ` are what it prints
    ```yaml, ```json      a whole policy, and `highbar policy` accepts it
    ```yaml FILE          (any language) written to FILE, for the commands below; a policy again if it is named like one
    ```sh                 for the reader's own machine; `test_commands.py` says how each is tested
    ```text, ```diff      neither command nor output
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs import forking
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"console", "python", "yaml", "json", "jsonl", "csv", "toml", "sh", "text", "diff"}
FENCE = re.compile(r"^```(?P<language>\S+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
END = "end of output"
BUSY = "note: this machine was busy; measured latencies may be too long\n"
"""What `highbar run` may say on any machine; no page shows it."""
PYTEST = "-p highbar.pytest_plugin -p no:cacheprovider"
"""The plugin is there even if Highbar was installed before it had one; and no page shows a cache."""
HOME = "/project"
"""What pages show in place of the folder in which their commands run."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page: its language, the file it is written to if it names one, its text."""

    language: str
    file: str | None
    text: str
    start: int
    end: int

    @property
    def is_policy(self) -> bool:
        """Whether the block must be a policy that Highbar accepts."""
        if self.file:
            return bool(re.search(r"(^|[/.-])highbar\.(yaml|json)$", self.file))
        return self.language in {"yaml", "json"}


def pages() -> list[Path]:
    """Every Markdown page of the repository that a user reads."""
    return [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/**/*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in FENCE.finditer(text):
        yield Block(match["language"], match["file"], match["text"], match.start("text"), match.end("text"))


def render(page: Path) -> str:
    """The page as it would be if every output in it were real: equal to its text when they are."""
    text = page.read_text("utf-8")
    parts, position = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = prepare(Path(temporary))
        for block in blocks(text):
            parts += [text[position : block.start], real(block, folder)]
            position = block.end
    return "".join([*parts, text[position:]])


def prepare(temporary: Path) -> Path:
    """A repository with nothing but the examples and other tools' runs, and `highbar` and `python` on its path."""
    folder, programs = temporary / "project", temporary / "bin"
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "tests" / "importers" / "fixtures", folder / "runs")
    (folder / ".git").mkdir()
    programs.mkdir()
    commands = {"highbar": " -m highbar", "python": "", "python3": "", "pytest": f" -m pytest {PYTEST}"}
    for name, module in commands.items():
        (programs / name).write_text(program(module))
        (programs / name).chmod(0o755)
    return folder


def program(module: str) -> str:
    """The text of a program that is Python with these arguments."""
    return f'#!/bin/sh\nexec {sys.executable}{module} "$@"\n'


def real(block: Block, folder: Path) -> str:
    """The block with the outputs that its commands have now."""
    if block.file:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, "utf-8")
        return block.text
    if block.language == "console":
        return transcript(block.text, folder)
    if block.language == "python":
        return annotated(block.text, folder)
    return block.text


def transcript(text: str, folder: Path) -> str:
    """A console block with each command's real output below it."""
    found = re.findall(r"^\$ (.*(?:\\\n.*)*)$", text, re.MULTILINE)
    # `(exit $code)` hands each command's exit code on, so that `echo $?` may follow it.
    script = "".join(f"{command}\ncode=$?; printf '\\n{END}\\n'; (exit $code)\n" for command in found)
    # A command that is killed must be the real one: a signal does not reach a process that was forked for it.
    highbar = program(" -m highbar") if re.search(r"\bkill ", text) else forking.command()
    (folder.parent / "bin" / "highbar").write_text(highbar)
    outputs = run(["bash", "-s"], folder, script).replace(BUSY, "").split(f"\n{END}\n")[:-1]
    assert len(outputs) == len(found), f"{len(outputs)} of {len(found)} commands came to an end in:\n{text}"
    return "".join(
        f"$ {command}\n{output.rstrip()}\n" if output.strip() else f"$ {command}\n"
        for command, output in zip(found, outputs, strict=True)
    )


def annotated(text: str, folder: Path) -> str:
    """A Python block with what it prints after `# => `, one line for each printed line, where they stood."""
    code = [line for line in text.splitlines() if not line.startswith("# =>")]
    printed = run([sys.executable, "-c", "\n".join(code)], folder).splitlines()
    lines: list[str] = []
    for line in text.splitlines():
        if not line.startswith("# =>"):
            lines.append(line)
        elif printed:
            lines.append(f"# => {printed.pop(0)}")
    return "\n".join([*lines, *(f"# => {line}" for line in printed)]) + "\n"


def run(command: list[str], folder: Path, script: str | None = None) -> str:
    """What the command prints on both streams, in a plain terminal of 80 columns."""
    environment = {
        "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder.parent),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=script,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout.replace(str(folder), HOME)


def main(chosen: list[str]) -> None:
    """Writes the real outputs into the named pages, or into all."""
    for page in [Path(name).resolve() for name in chosen] or pages():
        text = render(page)
        if text != page.read_text("utf-8"):
            page.write_text(text, "utf-8")
            print(f"wrote {page.relative_to(ROOT)}")  # noqa: T201  (a command of its own)


if __name__ == "__main__":
    main(sys.argv[1:])
