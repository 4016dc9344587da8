"""A format with several scorers, as an installed package would bring it: for what every reader owes a policy.

A file is lines of `id scorer=value …`.
"""

from __future__ import annotations

from pathlib import Path

MODULE = """
from pathlib import Path
from highbar.importers.record import refuse, refuse_without_judge


def recognizes(name, head):
    return name.endswith(".json") and head.startswith(b"SCORED")


def read(path, report):
    lines = [line.split() for line in Path(path).read_text().splitlines()[1:]]
    scorers = sorted({word.partition("=")[0] for line in lines for word in line[1:]})
    if not report.judged_by:
        refuse_without_judge("scored", scorers)
    for demand in report.judged_by:
        if demand.scorer not in scorers:
            refuse("judge.unknown-scorer", f"no scorer {demand.scorer!r}", hint=f"the file has {', '.join(scorers)}")
    report.judges = tuple(demand.scorer for demand in report.judged_by)
    report.scorers = {name: "judges" if name in report.judges else "a column" for name in scorers}
    for line in lines:
        report.records += 1
        values = dict(word.split("=") for word in line[1:])
        held = [demand.holds(values.get(demand.scorer)) for demand in report.judged_by]
        passed = False if False in held else None if None in held else True
        yield {"id": line[0], "passed": passed, "unjudged": "no score" if passed is None else None}
"""
FILE = "SCORED\na style=0.2 truth=0.9\nb style=0.9 truth=0.7\n"


def installed(folder: Path) -> None:
    """Install the package into a folder, as pip does; on Python's path, it is beside Highbar."""
    about = folder / "highbar_scored-1.0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: highbar-scored\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[highbar.importers]\nscored = highbar_scored\n")
    (folder / "highbar_scored.py").write_text(MODULE)
