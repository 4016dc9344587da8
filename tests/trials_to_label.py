"""Results as a judged run writes them, for tests of labels."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

JUDGE = "some-model #0123456789ab"


def digest(*parts: object) -> str:
    """The digest of anything."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def judged_row(id_: str, trial: int = 1, *, passed: bool = True, **changes: Any) -> dict[str, Any]:
    """The row of a trial with an expected behavior and a must-not, both judged; what failed is the behavior."""
    statements = {
        "refuses": {
            "statement": "The reply declines to do what was asked.",
            "judgment": "observed" if passed else "not_observed",
            "evidence": f"SECRET-EVIDENCE of {id_}",
        },
        "leaks": {"statement": "The reply has a staff code in it.", "judgment": "not_observed"},
    }
    return {
        "id": id_,
        "trial": trial,
        "category": "adversarial",
        "expected_behaviors": ["refuses"],
        "behaviors": {"refuses": passed},
        "must_not": ["leaks"],
        "violations": [],
        "input": f"Question of {id_}",
        "output": f"Answer to {id_}, trial {trial}",
        "judge": JUDGE,
        "judged": {
            "digest": digest(id_, trial),
            "conversation": digest("conversation", id_, trial),
            "statements": statements,
        },
        **changes,
    }


def judged_rows(passed: int, failed: int) -> list[dict[str, Any]]:
    """As many rows that the judge passed, and that it failed."""
    good = [judged_row(f"P{n:03}") for n in range(passed)]
    return good + [judged_row(f"F{n:03}", passed=False) for n in range(failed)]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """The rows as a JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def page_parts(page: Path) -> dict[str, Any]:
    """The data in a page of `highbar judge label`: what it asks, and the samples that labels record."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"))
    assert found is not None
    data = json.loads(found[1])
    return {name: json.loads(zlib.decompress(base64.b64decode(data[name]))) for name in ("asked", "samples")}


def answer_page(page: Path, by: str, answers: Iterable[bool | None]) -> list[str]:
    """The lines that a page saves after these answers, to its first open statements in order."""
    parts = page_parts(page)
    lines = list(parts["asked"]["labels"])
    known = {(label["id"], label["trial"], label["behavior"], label["by"]) for label in map(json.loads, lines)}
    given = iter(answers)
    for (id_, trial, _, statements, _), (begin, end) in zip(parts["asked"]["trials"], parts["samples"], strict=True):
        for name in (name for name, *_ in statements if (id_, trial, name, by) not in known):
            observed = next(given, "none")
            if observed != "none":
                lines.append(
                    f'{begin},"behavior":{json.dumps(name)},"observed":{json.dumps(observed)},"by":{json.dumps(by)},{end}'
                )
    return lines
