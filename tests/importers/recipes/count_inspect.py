# /// script
# requires-python = ">=3.11"
# dependencies = ["inspect-ai==0.3.285"]
# ///
"""How many samples Inspect AI's own reader finds in each log of a folder; null where it cannot read the file.

    python count_inspect.py FOLDER

prints one JSON object: the names of the files, and their counts.
"""

import json
import sys
from pathlib import Path

from inspect_ai.log import read_eval_log


def counted(path: Path) -> int | None:
    try:
        return len(read_eval_log(str(path)).samples or [])
    except ValueError:  # pydantic's errors are such, and those of its zip reader
        return None


if __name__ == "__main__":
    found = (path for path in sorted(Path(sys.argv[1]).iterdir()) if path.suffix in (".eval", ".json"))
    print(json.dumps({path.name: counted(path) for path in found}))  # noqa: T201 - a program
