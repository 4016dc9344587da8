"""Files under other names: what `highbar init --from` writes for them never makes a PASS that their rows would not get.

`attempt(seed, folder)` makes rows of ours, some of them broken in one way, and writes them under names, with values and
in a form that other people use. `init --from` must leave the file alone, and what it writes must be YAML and a policy.
A check by it ends with 0, 1, 2 or 3. If it passes, the same rows under their right names pass the same policy.
`python -m tests.fuzzing foreign@SEED` shows one.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import yaml
from pyarrow import parquet

from tests.commandline import run
from tests.laws.files import packed
from tests.oracle.suites import rows_of as any_rows

Row = dict[str, Any]

NAMES = {
    "id": ("id", "ID", "test_id", "caseId", "case", "question_id", "Name", "scenario", "test name"),
    "trial": ("trial", "attempt", "epoch", "Trial"),
    "category": ("category", "Category", "type", "test_category"),
    "capability": ("capability", "topic", "skill"),
    "passed": ("passed", "Pass", "success", "status", "verdict", "result", "ok", "Passed", "outcome"),
    "correct": ("correct", "is_correct", "isCorrect", "exact_match", "Correctness"),
    "expected": ("expected", "ideal", "ground_truth", "expectedOutput", "label"),
    "predicted": ("predicted", "prediction", "picked", "y_pred"),
    "expected_behaviors": ("expected_behaviors", "required_behaviors"),
    "behaviors": ("behaviors", "observed_behaviors"),
    "must_not": ("must_not", "forbidden"),
    "violations": ("violations", "policy_violations", "Violations"),
    "error": ("error", "exception", "errorMessage", "err"),
    "latency_ms": ("latency_ms", "latencyMs", "elapsed_s", "duration_seconds", "latency", "seconds"),
    "tokens_used": ("tokens_used", "total_tokens", "tokens"),
    "cost_usd": ("cost_usd", "cost", "totalCost"),
    "input": ("input", "question", "prompt"),
    "output": ("output", "response", "answer"),
}
WORDS = (
    (True, False),
    (True, False),
    (1, 0),
    (1.0, 0.0),
    ("true", "false"),
    ("PASS", "FAIL"),
    ("passed", "failed"),
    ("Yes", "No"),
    ("ok", "error"),
    ("success", "failure"),
    ("correct", "wrong"),
    ("good", "bad"),
)
DECOYS: dict[str, Callable[[Random], Any]] = {
    "score": lambda chance: chance.choice((0, 1, 0.5, 5)),
    "status": lambda chance: chance.choice(("success", "completed", "passed")),
    "success": lambda _: True,
    "name": lambda chance: chance.choice(("agent", "other")),
    "run_id": lambda chance: str(chance.random()),
    "model": lambda chance: chance.choice(("m1", "m2")),
    "is_error": lambda _: False,
    "traceback": lambda chance: chance.choice(("", None, "x")),
    'a "b"\n\x1b[2J: {c}': lambda _: "::error::x",
    "  - &x *y !z %w @v `u` #": lambda _: "#",
    "::set-output name=x::y": lambda _: None,
    "data": lambda chance: {"passed": True, "id": chance.random(), "deep": {"er": {"est": [1]}}},
    "null": lambda _: None,
    "'": lambda _: "''",
    "\u202egnol\u2028": lambda _: "x" * 300,
}
FORMS = ("jsonl", "json", "results", "deeper", "by key", "csv", "parquet", "jsonl.gz", "csv.gz", "json.zst")


def good_rows(chance: Random) -> list[Row]:
    """Rows that pass whatever is demanded of them."""
    shape = {column for column in NAMES if chance.random() < 0.4}
    if not shape & {"passed", "correct", "predicted", "behaviors"}:
        shape.add(chance.choice(("passed", "correct", "predicted", "behaviors")))
    made: Row = {
        "passed": True,
        "correct": True,
        "expected": "yes",
        "predicted": "yes",
        "expected_behaviors": ["greets"],
        "behaviors": ["greets"],
        "must_not": ["swears"],
        "violations": [],
        "error": chance.choice((None, "")),
        "latency_ms": chance.choice((250, 1500, 12.5)),
        "tokens_used": 7,
        "cost_usd": 0.25,
        "input": "hi",
        "output": "hello",
        "category": "happy_path",
        "capability": "core",
    }
    if "predicted" in shape:
        shape |= {"expected"}
    if "behaviors" in shape:
        shape |= {"expected_behaviors"}
    kept = {column: value for column, value in made.items() if column in shape}
    rows = [{"id": f"s{number}", **kept} for number in range(chance.randint(4, 12))]
    if "category" in kept and chance.random() < 0.5:
        rows[0]["category"] = rows[1]["category"] = "adversarial"
    return rows


BREAKS: dict[str, Row] = {
    "error": {"error": "timed out"},
    "violations": {"violations": ["swears"]},
    "passed": {"passed": False},
    "correct": {"correct": False},
    "predicted": {"predicted": "no"},
    "behaviors": {"behaviors": []},
    "latency": {"latency_ms": 60_000},
    "blank": {"output": " "},
    "absent verdict": {"passed": None, "correct": None},
    "same id": {"id": "s0"},
}


def rows_of(chance: Random) -> tuple[list[Row], str]:
    """Rows of ours, and in which way some of them are broken."""
    if chance.random() < 0.2:
        rows = any_rows(chance, scenarios=chance.randint(1, 6))
        return [{key: value for key, value in row.items() if key in NAMES} for row in rows], "any"
    rows, how = good_rows(chance), chance.choice(("none", *BREAKS))
    for row in rows[: max(1, chance.randint(1, len(rows)))] if how != "none" else ():
        row |= {key: value for key, value in BREAKS[how].items() if key in row or key == "error"}
    return rows, how


VERDICTS = {"success", "data"}
"""Decoys that say `passed`, if nothing else does."""


def disguised(rows: Sequence[Row], chance: Random) -> list[Row]:
    """The rows under other names, with other words for true and false, times in seconds, and fields of no use.

    If one of those fields says that a trial passed, so do the rows, unless they say it themselves.
    """
    names = {column: chance.choice(choices) for column, choices in NAMES.items()}
    words = {column: chance.choice(WORDS) for column in ("passed", "correct")}
    own = {*rows[0]}
    decoys = [name for name in DECOYS if chance.random() < 0.15]
    for row in rows if VERDICTS & {*decoys} else ():
        row.setdefault("passed", True)
    unspoken = {"passed"} if own != {*rows[0]} else set()

    def value(column: str, given: Any) -> Any:
        if column in words and isinstance(given, bool):
            return words[column][0 if given else 1]
        in_seconds = column == "latency_ms" and names[column] in ("elapsed_s", "duration_seconds", "seconds")
        return given / 1000 if in_seconds and given is not None else given

    found = []
    for row in rows:
        other = {name: DECOYS[name](chance) for name in decoys}
        spoken = {names[column]: value(column, given) for column, given in row.items() if column not in unspoken}
        found.append({**other, **spoken})
    return found


def written(rows: Sequence[Row], form: str, chance: Random) -> tuple[str, bytes]:
    """The name and the bytes of a file that holds the rows."""
    whole = json.dumps(list(rows), indent=chance.choice((None, 1)))
    if form in ("results", "deeper"):
        key = chance.choice(("results", "a.b", 'say "x"', "läufe"))
        inner = {key: list(rows), "meta": {"total": 3}}
        document = {"run": inner} if form == "deeper" else inner
        return "own.json", json.dumps(document, indent=chance.choice((None, 1))).encode()
    if form == "by key":
        return "own.json", json.dumps({f"k{number}": row for number, row in enumerate(rows)}).encode()
    if form == "parquet":
        columns = {
            name: [json.dumps(row.get(name)) if _nested(rows, name) else row.get(name) for row in rows]
            for name in _all(rows)
        }
        target = io.BytesIO()
        parquet.write_table(pa.table(columns), target)
        return "own.parquet", target.getvalue()
    plain = form.partition(".")[0]
    if plain == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, _all(rows), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
        data = text.getvalue().encode("utf-8", "surrogatepass")
    else:
        data = whole.encode() if plain == "json" else "".join(json.dumps(row) + "\n" for row in rows).encode()
    return f"own.{form}", gzip.compress(data) if form.endswith(".gz") else packed(data, form)


def _all(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _nested(rows: Sequence[Row], name: str) -> bool:
    kinds = {type(row.get(name)) for row in rows} - {type(None)}
    return bool(kinds & {dict, list}) or len(kinds) > 1


def _cell(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def attempt(seed: int, folder: Path) -> str:
    """One file: an AssertionError is a fault."""
    chance = Random(seed)
    rows, how = rows_of(chance)
    name, data = written(disguised(rows, chance), chance.choice(FORMS), chance)
    (folder / name).write_bytes(data)
    bare = run(folder, "check", name)
    assert bare.exit in (0, 1, 2, 3), f"{bare.exit}\n{bare.err}"
    made = run(folder, "init", "--from", name)
    assert (folder / name).read_bytes() == data
    assert made.exit in (0, 2), f"{made.exit}\n{made.err}"
    if made.exit == 2:
        return f"{how}: nothing to start from"
    assert run(folder, "policy").exit == 0, (folder / "highbar.yaml").read_text("utf-8")
    arguments = [name]
    if (folder / "map.yaml").exists():
        mapping = yaml.safe_load((folder / "map.yaml").read_text("utf-8"))
        assert mapping["columns"], mapping
        arguments += ["--map", "map.yaml"]
    done = run(folder, "check", *arguments, "--quiet")
    assert done.exit in (0, 1, 2, 3), f"{done.exit}\n{done.err}"
    if done.exit != 0:
        return f"{how}: {('fail', 'refused', 'inconclusive')[done.exit - 1]}"
    (folder / "right.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    right = run(folder, "check", "right.jsonl", "--quiet")
    texts = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.yaml")))
    assert right.exit == 0, f"PASS, and under its right names: {right.out}{right.err}\n{texts}"
    return f"{how}: pass"
