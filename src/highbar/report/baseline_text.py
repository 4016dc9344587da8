"""A baseline for a terminal: its origin and its metrics."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.language.digits import show
from highbar.language.phrases import count
from highbar.model import Source
from highbar.model.baseline import Baseline
from highbar.report import PAGE, Display
from highbar.report.layout import columns, text_table, title
from highbar.report.visible import visible

_LUCK = (
    "note: one run that is recorded after each pass selects luck: pool the last runs with --history DIR, record on a"
    " schedule, or give the rules a margin"
)


def render_baseline(baseline: Baseline, display: Display = PAGE) -> str:
    """The description of a baseline, for `highbar baseline show`."""
    rows = [("verdict", baseline.verdict), ("scenarios", f"{len(baseline.scenarios)}, {baseline.trials} trials")]
    rows += [("pooled from", f"{baseline.runs} runs of a history")] if baseline.pooled else []
    rows += [("agent version", visible(baseline.agent_version))] if baseline.agent_version else []
    rows += [("date", visible(baseline.date))] if baseline.date else []
    rows += [("recorded by force", visible(baseline.forced))] if baseline.forced else []
    rows += [("policy", _source(baseline.policy))] if baseline.policy else []
    rows += [("results", _source(source)) for source in baseline.results]
    rows += [
        ("judged by", f"{visible(tool)}: {visible(', '.join(names))}") for tool, names in baseline.scoring.judged_by
    ]
    rows += [("only rows with", visible(f"{column} {' or '.join(named)}")) for column, named in baseline.scoring.select]
    values = [
        (visible(name), show(value), str(value.scenarios))
        for name, value in baseline.metrics.items()
        if value.value is not None
    ]
    lines = [f"baseline {visible(baseline.file or '')}".rstrip(), *columns(rows, 2, display)]
    lines += [*title("Metrics", display), *text_table(("", "value (bounds)", "scenarios"), values, display)]
    return "\n".join(lines) + "\n"


def render_recorded(
    baseline: Baseline, file: str, reasons: Sequence[str], notes: Sequence[str] = (), *, replaced: bool
) -> str:
    """A line for the written file, one for each objection that --force overruled, and notes."""
    what = f"{len(baseline.scenarios)} scenarios, {len(baseline.metrics)} metrics"
    what += f", pooled from {count(baseline.runs, 'run')}" if baseline.pooled else ""
    version = f" of agent version {visible(baseline.agent_version)}" if baseline.agent_version else ""
    lines = [f"{'replaced' if replaced else 'wrote'} {visible(file)}: {what}{version}"]
    lines += [f"  by force, although {visible(reason)}" for reason in reasons]
    lines += [f"  {visible(note)}" for note in notes]
    lines += [_LUCK] if replaced and not baseline.pooled else []
    return "\n".join(lines) + "\n"


def _source(source: Source) -> str:
    return visible(source.file) + (f", sha256 {source.sha256[:12]}…" if source.sha256 else "")
