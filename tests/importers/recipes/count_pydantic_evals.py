# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-evals==2.62.0"]
# ///
"""How many cases and failures pydantic-evals' own reader finds in each report of a folder; null where it finds none.

    python count_pydantic_evals.py FOLDER

prints one JSON object: the names of the files, and their counts.
"""

import json
import sys
from pathlib import Path

from pydantic_evals.reporting import EvaluationReportAdapter


def counted(path: Path) -> int | None:
    try:
        report = EvaluationReportAdapter.validate_json(path.read_bytes())
    except ValueError:
        return None
    return len(report.cases) + len(report.failures)


if __name__ == "__main__":
    print(json.dumps({path.name: counted(path) for path in sorted(Path(sys.argv[1]).glob("*.json"))}))  # noqa: T201 - a program
