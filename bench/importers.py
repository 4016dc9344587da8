"""Speed of imports: `python -m bench.importers [--inspect-python PYTHON] [--before FOLDER]` prints one table.

`--before` adds two lines beside the version that is checked out there; `--only b` measures those and no others.
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
from itertools import chain
from pathlib import Path
from typing import Any

from bench.run import Line, Run, by_turns, machine, median, processor, run

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


def traces(path: Path, spans: int) -> int:
    """Write traces of so many spans, 8 for each run of an agent and 512 in a line; its size."""
    service = {"attributes": _attributes({"service.name": "rote", "service.version": "1.4.0"})}
    with path.open("w", encoding="utf-8") as stream:
        for first in range(0, spans // 8, 64):
            runs = (span for run_ in range(first, min(first + 64, spans // 8)) for span in _spans(run_))
            scopes = [{"scope": {"name": "rote"}, "spans": list(runs)}]
            line = {"resourceSpans": [{"resource": service, "scopeSpans": scopes}]}
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")
    return path.stat().st_size


def _spans(run_: int) -> Iterator[dict[str, Any]]:
    """A test case, the agent's run in it, which an evaluator judged, and its calls of models and tools."""
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": SENTENCE * 4 + str(run_)}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": SENTENCE * 3 + str(run_)}]}])
    spoken = {"gen_ai.input.messages": said, "gen_ai.output.messages": answered}
    used = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50}
    verdict = {"gen_ai.evaluation.name": "Polite", "gen_ai.evaluation.score.label": "pass" if run_ % 10 else "fail"}
    yield _span(run_, 0, "case", {"test.case.name": f"case {run_}", "category": "happy_path"})
    judged = {"timeUnixNano": "1", "name": "gen_ai.evaluation.result", "attributes": _attributes(verdict)}
    agent = {"gen_ai.operation.name": "invoke_agent", **used, **spoken}
    yield {**_span(run_, 1, "invoke_agent rote", agent), "events": [judged]}
    for number in range(2, 8):
        if number % 2:
            response = {"gen_ai.response.id": f"r-{run_}-{number}", "server.port": 8080}
            yield _span(run_, number, "chat", {"gen_ai.operation.name": "chat", **response, **used, **spoken})
        else:
            tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "arguments": '{"q": "x"}'}
            yield _span(run_, number, "execute_tool search", tool)


def _span(run_: int, number: int, name: str, values: dict[str, Any]) -> dict[str, Any]:
    start = 1_794_782_505_954_129_490 + number
    return {
        "traceId": f"{run_ + 1:032x}",
        "spanId": f"{run_ * 8 + number + 1:016x}",
        **({"parentSpanId": f"{run_ * 8 + min(number, 2):016x}"} if number else {}),
        "flags": 256,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1_000_000 + run_ % 997),
        "attributes": _attributes(values),
        "status": {},
    }


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def against_earlier(folder: Path, before: Path) -> Iterator[Line]:
    """Processor time beside an earlier version, by turns: a check of promptfoo's results, and an import of traces."""
    path, policy = folder / "results.json", folder / "highbar.json"
    policy.write_text(json.dumps({"thresholds": {"blocking": {"pass_rate": ">= 10%"}}}), "utf-8")
    size = promptfoo_export(path, 50_000, 5) / 1e6
    checked = [sys.executable, "-m", "highbar", "check", str(path), "--policy", str(policy), "--quiet"]
    now, then = _by_turns(checked, before)
    bound = f"≤ 9 s {'✓' if now.processor <= 9 else '✗'}"
    yield _beside(f"promptfoo, check of 50,000 results, {size:.0f} MB", now, then, bound)
    path.unlink()
    path = folder / "traces.jsonl"
    size = traces(path, 400_000) / 1e6
    now, then = _by_turns(imported("otel", path, folder), before)
    bound = f"≥ 3 × {'✓' if then.processor >= 3 * now.processor else '✗'}"
    yield _beside(f"OpenTelemetry, 400,000 spans, {size:.0f} MB", now, then, bound)
    path.unlink()


def _by_turns(command: list[str], before: Path) -> tuple[Run, Run]:
    rounds = [(run(command), run(command, before / "src")) for _ in range(3)]
    now, then = (median(runs, processor) for runs in zip(*rounds, strict=True))
    return now, then


def _beside(what: str, now: Run, then: Run, bound: str) -> Line:
    ratio = then.processor / now.processor
    return Line(what, f"{now.processor:.2f} s", f"before {then.processor:.2f} s", f"{ratio:.1f} ×", bound)


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
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a checkout of an earlier version")
    parser.add_argument("--only", choices=["b"], help="b: only what is measured beside an earlier version")
    arguments = parser.parse_args()
    print(f"{machine()}; medians of whole processes\n")
    with tempfile.TemporaryDirectory() as folder:
        every = measure(Path(folder), arguments.inspect_python) if arguments.only is None else ()
        earlier = against_earlier(Path(folder), arguments.before) if arguments.before else ()
        for line in chain(every, earlier):
            print(f"{line.what:45} {line.measured:>8}   {line.against:25} {line.ratio:>9}   {line.bound}", flush=True)


if __name__ == "__main__":
    main()
