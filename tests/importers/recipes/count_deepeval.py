# /// script
# requires-python = ">=3.11"
# dependencies = ["deepeval==4.3.1"]
# ///
"""How many test cases DeepEval's own reader finds in each test run of a folder; null where it finds none.

    python count_deepeval.py FOLDER

prints one JSON object: the names of the files, and their counts.
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1", ERROR_REPORTING="NO")

from deepeval.test_run.test_run import TestRun


def counted(path: Path) -> int | None:
    with path.open(encoding="utf-8") as stream:
        run = TestRun.load(stream)
    return len(run.test_cases) + len(run.conversational_test_cases) or None


if __name__ == "__main__":
    print(json.dumps({path.name: counted(path) for path in sorted(Path(sys.argv[1]).glob("*.json"))}))  # noqa: T201 - a program
