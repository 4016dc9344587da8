# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-json-file==0.66b1",
#   "opentelemetry-semantic-conventions==0.66b2",
# ]
# ///
"""`gen_ai.evaluation.result` events in every way that the conventions allow, written by the OpenTelemetry SDK.

    python make_otel_events.py FOLDER

writes FOLDER/run.jsonl (log records and spans, as `cat` joins them) and FOLDER/totals.json: what was emitted for each
scenario. The names of attributes are those of the package of the conventions. No model is called.
"""

import json
import sys
from pathlib import Path

from opentelemetry import context, trace
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode

EVENT = "gen_ai.evaluation.result"
EMITTED = {}


def result(case, name, *, label=None, score=None, error=None, explanation=None, response=None):
    """The attributes of one evaluation, as the conventions name them."""
    EMITTED.setdefault(case, []).append({"name": name, "label": label, "score": score, "error": error})
    found = {
        gen_ai.GEN_AI_EVALUATION_NAME: name,
        gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: label,
        gen_ai.GEN_AI_EVALUATION_SCORE_VALUE: score,
        gen_ai.GEN_AI_EVALUATION_EXPLANATION: explanation,
        gen_ai.GEN_AI_RESPONSE_ID: response,
        ERROR_TYPE: error,
        "test.case.name": case,
    }
    return {key: value for key, value in found.items() if value is not None}


class Run:
    """A tracer and a logger, and one run of the agent after the other."""

    def __init__(self, tracer, logger):
        self.tracer = tracer
        self.logger = logger

    def agent(self, case):
        about = {gen_ai.GEN_AI_OPERATION_NAME: "invoke_agent", "test.case.name": case}
        return self.tracer.start_as_current_span("invoke_agent clerk", attributes=about)

    def log(self, attributes, within=None):
        self.logger.emit(LogRecord(event_name=EVENT, attributes=attributes, context=within))

    def all(self):
        self.on_the_span()
        self.in_the_log()
        self.by_response()
        with self.agent("broken"):
            self.log(result("broken", "Judge", label="pass", error="TimeoutError"))
        with self.agent("odd"):
            self.log(result("odd", "Judge", label="mostly"))
        with self.agent("crash") as span:
            span.set_status(Status(StatusCode.ERROR, "the agent crashed"))
        self.elsewhere()
        self.dropped()

    def on_the_span(self):
        with self.agent("plain") as span:
            span.add_event(EVENT, result("plain", "Judge", label="pass", score=1.0))

    def in_the_log(self):
        with self.agent("rude"):
            self.log(result("rude", "Judge", label="fail", score=0.25, explanation="It says go away."))
            self.log(result("rude", "Helpful", score=0.5))

    def by_response(self):
        """The evaluation comes when the span has ended, and names the response."""
        with self.agent("later"):
            chat = {gen_ai.GEN_AI_OPERATION_NAME: "chat", gen_ai.GEN_AI_RESPONSE_ID: "resp-7"}
            self.tracer.start_span("chat", attributes=chat).end()
        self.log(result("later", "Judge", label="pass", response="resp-7"), context.Context())

    def elsewhere(self):
        """The span that is judged was not exported: it belongs to another service, or was sampled away."""
        parent = NonRecordingSpan(SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=True))
        self.log(result("elsewhere", "Judge", label="pass"), trace.set_span_in_context(parent))

    def dropped(self):
        """A span takes one event only: the first evaluation, which is bad, is dropped."""
        with self.agent("dropped") as span:
            span.add_event(EVENT, result("dropped", "Judge", label="fail"))
            span.add_event(EVENT, result("dropped", "Judge", label="pass"))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / "logs.jsonl", folder / "traces.jsonl"]
    for part in (*parts, folder / "run.jsonl"):
        part.unlink(missing_ok=True)
    resource = Resource({"service.name": "clerk", "service.version": "2.0.0"})
    tracing = TracerProvider(resource=resource, span_limits=SpanLimits(max_events=1))
    logging = LoggerProvider(resource=resource)
    logging.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(parts[0])))
    tracing.add_span_processor(SimpleSpanProcessor(FileSpanExporter(parts[1])))
    Run(tracing.get_tracer("clerk"), logging.get_logger("evaluators")).all()
    tracing.shutdown()
    logging.shutdown()
    (folder / "run.jsonl").write_text("".join(part.read_text() for part in parts))
    for part in parts:
        part.unlink()
    (folder / "totals.json").write_text(json.dumps(EMITTED, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
