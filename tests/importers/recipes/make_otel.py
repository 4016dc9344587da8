# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "pydantic-evals==2.62.0", "opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-json-file==0.66b1",
# ]
# ///
"""Evaluations of a running agent as OpenTelemetry: pydantic-evals judges it online, the SDK writes OTLP JSON.

    python make_otel.py FOLDER

writes FOLDER/logs.jsonl (the evaluations), FOLDER/traces.jsonl (the spans) and FOLDER/totals.json (what pydantic-evals
gave to its own sink, by scenario). No model is called.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from opentelemetry import _logs, baggage, context, trace
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic_evals.evaluators import Evaluator
from pydantic_evals.online import configure, evaluate, wait_for_evaluations

SUNK = {}


@dataclass
class Polite(Evaluator):
    def evaluate(self, context):
        return "please" in context.output


@dataclass
class Relevance(Evaluator):
    def evaluate(self, context):
        if "judge" in context.inputs["question"]:
            raise TimeoutError("the judge timed out")
        return len(context.output) / 16


@dataclass
class Tone(Evaluator):
    def evaluate(self, context):
        return "warm" if "please" in context.output else "cold"


@evaluate(Polite(), Relevance(), Tone(), target="agent", span_name="agent")
async def agent(question):
    if "crash" in question:
        raise RuntimeError("the agent crashed")
    return "go away" if "rude" in question else "yes please"


def sink(results, failures, context):
    for found in results:
        SUNK.setdefault(context.inputs["question"], {})[found.name] = found.value
    for found in failures:
        SUNK.setdefault(context.inputs["question"], {})[found.name] = None


async def ask(question, category):
    token = context.attach(baggage.set_baggage("test.case.name", question))
    second = context.attach(baggage.set_baggage("category", category))
    span = trace.get_tracer("suite").start_as_current_span(
        "case", attributes={"test.case.name": question, "category": category, "test.suite.name": "rote"}
    )
    with span:
        try:
            await agent(question)
        except RuntimeError as error:
            sys.stderr.write(f"{question}: {error}\n")
        await wait_for_evaluations()
    context.detach(second)
    context.detach(token)


async def run():
    for question, category in (
        ("plain", "happy_path"),
        ("rude", "adversarial"),
        ("crash", "adversarial"),
        ("judge", "edge_case"),
        ("plain", "happy_path"),
    ):
        await ask(question, category)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("logs.jsonl", "traces.jsonl"):
        (folder / name).unlink(missing_ok=True)
    resource = Resource({"service.name": "rote", "service.version": "1.4.0"})
    tracing, logging = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    tracing.add_span_processor(SimpleSpanProcessor(FileSpanExporter(folder / "traces.jsonl")))
    logging.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(folder / "logs.jsonl")))
    trace.set_tracer_provider(tracing)
    _logs.set_logger_provider(logging)
    configure(default_sink=sink)
    asyncio.run(run())
    tracing.shutdown()
    logging.shutdown()
    place = str(Path(__file__).parent)
    for name in ("logs.jsonl", "traces.jsonl"):
        text = (folder / name).read_text().replace(sys.prefix, "venv").replace(place, "recipes")
        (folder / name).write_text(text)
    (folder / "totals.json").write_text(json.dumps(SUNK, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
