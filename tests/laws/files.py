"""L1, every byte is accounted for: what a check judges is what an independent reader finds in the files.

`attempt(seed, folder)` writes a few files, bends one of them as machines and people do (cut off, junk behind it, blank
lines, marks, line ends, quotes, a wrong checksum, links, empty shards), and checks all. A refusal is always right. A
verdict must be about exactly the rows that Python's own readers find. `python -m tests.fuzzing files@SEED` shows one.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import highbar

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

POLICY = {"thresholds": {"blocking": {"pass_rate": "10%"}}}
MARK = b"\xef\xbb\xbf"
TEXTS = ("x", "a,b", 'say ""', "two\nlines", "\r\n", "", " ", '"', "é", "[", "}", "," * 9)
KINDS = ("jsonl", "json", "csv", "jsonl.gz", "jsonl.zst", "csv.gz", "csv.zst", "json.gz", "json.zst", "parquet")


def rows_of(chance: random.Random, start: int, number: int) -> list[dict[str, object]]:
    """Rows that can be judged."""
    return [{"id": f"s{start + n}", "passed": True, "output": chance.choice(TEXTS)} for n in range(number)]


def plain(rows: list[dict[str, object]], kind: str) -> bytes:
    """The bytes of a file that holds the rows, not compressed."""
    form = kind.split(".", maxsplit=1)[0]
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if form == "json":
        return json.dumps(rows).encode()
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, ["id", "passed", "output"], lineterminator="\n")
        writer.writeheader()
        writer.writerows([{**row, "passed": "true"} for row in rows])
        return text.getvalue().encode()
    target = io.BytesIO()
    columns = {name: [row[name] for row in rows] for name in ("id", "passed", "output")}
    types = {"id": pa.string(), "passed": pa.bool_(), "output": pa.string()}
    parquet.write_table(pa.table({n: pa.array(v, types[n]) for n, v in columns.items()}), target)
    return target.getvalue()


def packed(data: bytes, kind: str) -> bytes:
    """The data as a file of this kind has it."""
    checked = {zstd.CompressionParameter.checksum_flag: 1}
    if kind.endswith(".gz"):
        return gzip.compress(data)
    return zstd.compress(data, options=checked) if kind.endswith(".zst") else data


# --- bending: each takes bytes and gives other bytes --------------------------------------------


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _cut_a_little(data: bytes, chance: random.Random) -> bytes:
    return data[: -chance.randint(1, 9)]


def _insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.choice((0, len(data), chance.randrange(len(data) + 1)))
    added = chance.choice(
        (b"\n", b"\r\n", b"\r", b" ", b"\n\n \n", b'"', b",", MARK, b"\0", b"junk", b"[", b"]", b"\x0c")
    )
    return data[:place] + added + data[place:]


def _flip(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data)) if data else 0
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :] if data else data


def _twice(data: bytes, _: random.Random) -> bytes:
    return data + data


def _line_ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n")), chance.choice((1, -1)))


def _first_blank(data: bytes, chance: random.Random) -> bytes:
    return chance.choice((b"\n", b"\r\n", MARK + b"\n")) + data


BENDS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "whole": lambda data, _: data,
    "cut": _cut,
    "cut a little": _cut_a_little,
    "insert": _insert,
    "flip": _flip,
    "twice": _twice,
    "line ends": _line_ends,
    "first line blank": _first_blank,
    "empty": lambda *_: b"",
}
PLACES = ("file", "file", "file", "folder", "folder", "pattern", "linked folder", "broken link", "fifo", "empty shard")


# --- the independent reader --------------------------------------------------------------------


def ids_in(path: Path) -> list[str] | None:
    """The ids of the rows of a file, read by Python's own libraries to its end; None if it is not sound."""
    try:
        data = path.read_bytes()
        if path.name.endswith(".gz"):
            data = gzip.decompress(data)
        if path.name.endswith(".zst"):
            data = zstd.decompress(data)
        if path.suffix == ".parquet":
            return [str(row["id"]) for row in parquet.read_table(io.BytesIO(data)).to_pylist()]
        text = data.decode("utf-8-sig")
        if ".json" in path.suffixes:
            return [str(row["id"]) for row in json.loads(text)]
        if ".csv" in path.suffixes:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
            return [row[rows[0].index("id")] for row in rows[1:]]
        return [str(json.loads(line)["id"]) for line in data.removeprefix(MARK).split(b"\n") if line.strip()]
    except Exception:  # noqa: BLE001 - whatever a reader says of a file that is not sound
        return None


# --- attempts ----------------------------------------------------------------------------------


def attempt(seed: int, folder: Path) -> str:
    """A few files, one of them bent, checked together; an AssertionError is a fault."""
    chance = random.Random(seed)
    kinds = [chance.choice(KINDS) for _ in range(chance.randint(1, 3))]
    bend, place = chance.choice(list(BENDS)), chance.choice(PLACES)
    out = folder / "out"
    out.mkdir()
    files: list[Path] = []
    for number, kind in enumerate(kinds):
        data = plain(rows_of(chance, number * 10, chance.randint(1, 5)), kind)
        inside = chance.random() < 0.5 or kind == "parquet"  # bent before it is packed, or after
        if number == 0:
            data = packed(BENDS[bend](data, chance), kind) if inside else BENDS[bend](packed(data, kind), chance)
        else:
            data = packed(data, kind)
        files.append(out / f"{number}.{kind}")
        files[-1].write_bytes(data)
    lost = _placed(place, folder, files)
    named = {"file": [str(file) for file in files], "pattern": [f"{out}/*"]}.get(place, [str(out)])
    return f"{place}, {bend}: {hold(named, files, lost)}"


def hold(named: list[str], files: list[Path], lost: str | None = None) -> str:
    """Check what is named; a verdict must be about exactly what the files hold, and nothing may be `lost`."""
    try:
        verdict = highbar.check(named, POLICY)
    except highbar.InputError as error:
        return "refused" if error.problems else "refused without a word"
    assert not lost, f"judged without {lost}"
    found = [ids_in(file) for file in files]
    held = sum(len(ids or ()) for ids in found)
    assert None not in found, f"judged {files[found.index(None)]}, which is not sound"
    assert verdict.counts.trials == held, f"{verdict.counts.trials} of {held} results were judged"
    return "judged"


def _placed(place: str, folder: Path, files: list[Path]) -> str | None:
    """Put something beside the files, or some of them elsewhere; what cannot be read then."""
    out = folder / "out"
    if place == "linked folder":
        (folder / "elsewhere").mkdir()
        moved = folder / "elsewhere" / files[-1].name
        files[-1].rename(moved)
        files[-1] = moved
        (out / "link").symlink_to(folder / "elsewhere")
    elif place == "broken link":
        (out / "gone.jsonl").symlink_to(folder / "nowhere")
        return "the broken link"
    elif place == "fifo":
        os.mkfifo(out / "pipe.jsonl")
        return "the pipe"
    elif place == "empty shard":
        (out / "shard.parquet").write_bytes(plain([], "parquet"))
        return "the empty shard"
    return None
