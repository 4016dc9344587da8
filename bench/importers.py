"""Speed of imports: `python -m bench.importers [--inspect-python PYTHON]` prints one table.

An Inspect AI log beside `inspect_ai.log.read_eval_log` (PYTHON is an interpreter that has inspect_ai; without one that
line is left out), a promptfoo export beside merely parsing it with the fastest JSON parser at hand (orjson, else
msgspec), and a log of a gigabyte by its memory. Everything measured is a process of its own; two are run by turns. The
files are made from the small ones that the tools wrote for the tests, with more samples and longer conversations.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.run import Line, Run, by_turns, machine, run

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "importers" / "fixtures"
SENTENCE = "The quick brown fox jumps over the lazy dog, and then says a number: "
READ_LOG = "import sys; from inspect_ai.log import read_eval_log; print(len(read_eval_log(sys.argv[1]).samples))"
PLACE = "records go here"
PARSE = "import sys, {0}; print(len({1}(open(sys.argv[1], 'rb').read())['results']['results']))"


def inspect_log(path: Path, samples: int, messages: int) -> int:
    """Write a log of so many samples, each with so long a conversation, as `.eval` or `.json`; its size unpacked."""
    document = json.loads((FIXTURES / "inspect" / "as_json.json").read_text("utf-8"))
    sample = next(one for one in document["samples"] if not one.get("error"))
    sample["scores"] = {name: score for name, score in sample["scores"].items() if name != "rubric"}
    document["eval"]["dataset"] = {"samples": samples, "sample_ids": [f"Q-{number}" for number in range(samples)]}
    document["results"] |= {"total_samples": samples, "completed_samples": samples}
    header = {key: value for key, value in document.items() if key not in ("samples", "reductions")}
    if path.suffix == ".json":
        return _streamed(path, {**header, "samples": [PLACE]}, _samples(sample, samples, messages))
    size = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one in _samples(sample, samples, messages):
            text = json.dumps(one)
            size += len(text)
            archive.writestr(f"samples/{one['id']}_epoch_1.json", text)
        archive.writestr("header.json", json.dumps(header))
    return size


def _samples(sample: dict[str, Any], samples: int, messages: int) -> Iterator[dict[str, Any]]:
    said: list[dict[str, Any]] = [
        {"role": "user" if turn % 2 else "assistant", "source": "generate"} for turn in range(messages)
    ]
    for number in range(samples):
        for turn, message in enumerate(said):
            message["content"] = SENTENCE * 25 + str(number * turn)
        yield {**sample, "id": f"Q-{number}", "messages": said}


def promptfoo_export(path: Path, results: int, answer: int) -> int:
    """Write an export of so many results, each with an answer of so many sentences; its size."""
    document = json.loads((FIXTURES / "promptfoo" / "results.json").read_text("utf-8"))
    kept = document["results"]["results"]
    document["results"] |= {"stats": {}, "results": [PLACE]}
    return _streamed(path, document, _more_results(kept, results, answer))


def _more_results(kept: list[dict[str, Any]], results: int, answer: int) -> Iterator[dict[str, Any]]:
    for number in range(results):
        made = copy.deepcopy(kept[number % len(kept)])
        made["testCase"]["vars"]["number"] = made["vars"]["number"] = number
        made["prompt"]["raw"] = SENTENCE * answer
        if "output" in made["response"]:
            made["response"]["output"] = SENTENCE * answer
        yield made


def _streamed(path: Path, document: dict[str, Any], records: Iterator[dict[str, Any]]) -> int:
    """Write the document with the records in their place, one by one: this process stays small."""
    before, after = json.dumps(document, indent=2, ensure_ascii=False).split(json.dumps(PLACE))
    with path.open("w", encoding="utf-8") as stream:
        stream.write(before)
        for number, record in enumerate(records):
            stream.write(",\n" if number else "")
            stream.write(json.dumps(record, indent=2, ensure_ascii=False))
        stream.write(after)
    return path.stat().st_size


def imported(tool: str, path: Path, folder: Path) -> list[str]:
    """The command that imports a file; what it says about it is not shown."""
    command = [sys.executable, "-m", "highbar", "import", tool, str(path), "-o", str(folder / "rows.jsonl")]
    return ["sh", "-c", 'exec "$@" 2>"$0"', str(folder / "said"), *command]


def fastest_parser() -> tuple[str, list[str]]:
    """The fastest parser that is installed, and the start of a command that parses a file with it."""
    name, call = (
        ("orjson", "orjson.loads") if importlib.util.find_spec("orjson") else ("msgspec", "msgspec.json.decode")
    )
    return name, [sys.executable, "-c", PARSE.format(name, call)]


def compared(what: str, ours: Run, against: str, theirs: Run, bound: str) -> Line:
    """One line of the table: ours beside theirs."""
    ratio = theirs.seconds / ours.seconds if bound.startswith("≥") else ours.seconds / theirs.seconds
    return Line(what, f"{ours.seconds:.2f} s", f"{against} {theirs.seconds:.2f} s", f"{ratio:.1f} ×", bound)


def _large(tool: str, what: str, path: Path, size: int, folder: Path) -> Line:
    """The memory that the import of a large file takes."""
    large = run(imported(tool, path, folder))
    path.unlink()
    memory = f"{large.mebibytes:.0f} MiB"
    return Line(f"{what}, {size / 1e9:.2f} GB", f"{large.seconds:.1f} s", "", memory, "≤ 1024 MiB")


def measure(folder: Path, inspect_python: str | None) -> Iterator[Line]:
    """Every line, as it is measured. Memory comes first: a process starts with the peak of the one that started it."""
    for form in ("eval", "json"):
        path = folder / f"large.{form}"
        yield _large("inspect", f"Inspect log, .{form}", path, inspect_log(path, 2000, 300), folder)
    path = folder / "results.json"
    yield _large("promptfoo", "promptfoo export", path, promptfoo_export(path, 120_000, 40), folder)
    for samples, messages in ((20, 4), (1000, 40)):
        path = folder / f"{samples}.eval"
        size = inspect_log(path, samples, messages) / 1e6
        if inspect_python:
            ours, theirs = by_turns(3, imported("inspect", path, folder), [inspect_python, "-c", READ_LOG, str(path)])
            yield compared(f"Inspect log, {samples} samples, {size:.0f} MB", ours, "read_eval_log", theirs, "≥ 5 ×")
    name, parse = fastest_parser()
    for results, answer in ((20_000, 40), (20_000, 5)):  # 8 KB each, as real exports have, and 4 KB
        path = folder / "results.json"
        size = promptfoo_export(path, results, answer) / 1e6
        ours, theirs = by_turns(3, imported("promptfoo", path, folder), [*parse, str(path)])
        yield compared(f"promptfoo, {results} results, {size:.0f} MB", ours, name, theirs, "≤ 3 ×")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inspect-python", metavar="PYTHON")
    arguments = parser.parse_args()
    print(f"{machine()}; medians of whole processes\n")
    with tempfile.TemporaryDirectory() as folder:
        for line in measure(Path(folder), arguments.inspect_python):
            print(f"{line.what:45} {line.measured:>8}   {line.against:25} {line.ratio:>9}   {line.bound}", flush=True)


if __name__ == "__main__":
    main()
