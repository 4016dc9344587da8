"""The files of the repository, as the tests of its shape see them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "highbar"


def tracked() -> list[Path]:
    """Every file that is committed or about to be; in an unpacked archive, every file but what installs leave."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [file for file in ROOT.rglob("*") if file.is_file() and ".venv" not in file.parts]


def text(file: Path) -> str | None:
    """What the file says; None where it is not text."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return None
