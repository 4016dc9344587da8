"""Results that rest on a judge, and labels of people, as `highbar run` and `highbar judge label` write them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

JUDGE = "judge-1 #0123456789ab"
TODAY = datetime.now(UTC).date()
STATEMENT = "The reply is polite."


def digest(*parts: object) -> str:
    """64 hexadecimal digits that stand for some text."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def judged_row(
    id_: str, said: bool | None, *, trial: int | None = None, judge: str = JUDGE, **columns: Any
) -> dict[str, Any]:
    """A row of which a judge said that the behavior `polite` was observed, was not, or that it cannot tell."""
    word = {True: "observed", False: "not_observed", None: "cannot_tell"}[said]
    conversation = digest("conversation", id_, trial)
    return {
        "id": id_,
        **({} if trial is None else {"trial": trial}),
        "expected_behaviors": ["polite"],
        "behaviors": {"polite": said is True},
        "output": "text",
        "judge": judge,
        "judged": {
            "digest": digest(judge, conversation),
            "conversation": conversation,
            "statements": {"polite": {"statement": STATEMENT, "judgment": word}},
        },
        **columns,
    }


def judged_must_not(id_: str, said: bool | None, **columns: Any) -> dict[str, Any]:
    """A row of which a judge said that the must-not `rude` happened, did not, or that it cannot tell."""
    row = judged_row(id_, said, **columns)
    del row["expected_behaviors"], row["behaviors"]
    row["judged"]["statements"] = {"rude": row["judged"]["statements"].pop("polite")}
    if said is None:  # of an unjudged row only what it says is known
        return {**row, "must_not": ["rude"], "unjudged": "judge: rude: the judge cannot tell"}
    return {**row, "must_not": ["rude"], "violations": ["rude"] if said else []}


def labels_of(
    rows: Sequence[Mapping[str, Any]],
    observed: Mapping[str, bool | None] | Mapping[tuple[str, int], bool | None],
    *,
    by: str = "ann",
    among: Sequence[Mapping[str, Any]] | None = None,
    on: date | None = TODAY,
    **sample: Any,
) -> list[dict[str, Any]]:
    """A label of each row that `observed` names, by its id or by id and trial, drawn from all rows of `among`.

    `on` is the day of the labels; None: they do not say it.
    """
    everything = rows if among is None else among
    framed = [row for row in everything if "judged" in row and str(row.get("unjudged", "judge:")).startswith("judge:")]
    sizes = {stratum: sum(stratum_of(row) == stratum for row in framed) for stratum in ("passed", "failed")}
    found = []
    for row in rows:
        key: Any = (row["id"], row.get("trial", 1))
        if key not in observed and row["id"] not in observed:
            continue
        stratum = stratum_of(row)
        drawn = {"stratum": stratum, "drawn": sizes[stratum], "of": sizes[stratum], "seed": 1, "run": digest("run")}
        kept = {name: value for name, value in row.items() if name != "judged"}
        for name in row["judged"]["statements"]:
            label = {"id": row["id"], "trial": row.get("trial", 1), "behavior": name, "by": by}
            label |= {} if on is None else {"on": on.isoformat()}
            answer = observed.get(key, observed.get(row["id"]))
            filled = {**drawn, "judge": row["judge"], "row": kept, "judged": row["judged"], **sample}
            found.append({**label, "observed": answer, "sample": filled})
    return found


def stratum_of(row: Mapping[str, Any]) -> str:
    """How the judge had the trial."""
    unseen = any(not row["behaviors"].get(name) for name in row.get("expected_behaviors", []))
    return "failed" if unseen or row.get("violations") or row.get("error") else "passed"


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """The rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
