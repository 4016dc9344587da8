"""A baseline for a terminal, and what a ratchet proposes, as text and as JSON (`highbar/ratchet/1`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highbar.language.digits import as_float, show, show_threshold
from highbar.language.phrases import count
from highbar.model import Source, Threshold
from highbar.model.baseline import Baseline
from highbar.model.proposals import PooledRuns, Proposal, Ratchet
from highbar.report import PAGE, Display
from highbar.report.layout import columns, paragraph, text_table, title
from highbar.report.visible import visible
from highbar.store.writing import encode

_LUCK = (
    "note: a run that is recorded after each pass favors luck: pool the last runs with --history DIR, record on a"
    " schedule, or give the rules a margin"
)
RATCHET_SCHEMA = "highbar/ratchet/1"


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


# --- raised thresholds ------------------------------------------------------------------------


def render_ratchet(ratchet: Ratchet, display: Display = PAGE) -> str:
    """Each threshold with its change and the reason."""
    lines = [*_about_ratchet(ratchet), *(line for each in ratchet.proposals for line in _proposal_lines(each, display))]
    return "\n".join(lines) + "\n"


def render_ratchet_json(ratchet: Ratchet) -> str:
    """All proposals as JSON; `after` is null if a threshold stays the same."""
    return encode(
        {
            "schema": RATCHET_SCHEMA,
            "policy": ratchet.policy,
            "baseline": ratchet.baseline if ratchet.pooled is None else None,
            "history": None if ratchet.pooled is None else _pooled_document(ratchet.pooled),
            "forced": ratchet.forced,
            "written": ratchet.written,
            "thresholds": [_proposal_document(proposal) for proposal in ratchet.proposals],
            "notes": list(ratchet.notes),
        }
    )


def _about_ratchet(ratchet: Ratchet) -> Iterator[str]:
    raised, total = len(ratchet.raised), len(ratchet.proposals)
    state = "" if not raised else ", written" if ratchet.written else ", not written: --write does that"
    yield f"{visible(ratchet.policy)}: {raised} of {total} threshold{'' if total == 1 else 's'} raised{state}"
    yield from [f"baseline {visible(ratchet.baseline)}"] if ratchet.pooled is None else _about_pooled(ratchet.pooled)
    yield from (f"note: {note}" for note in ratchet.notes)
    if ratchet.forced is not None:
        yield f"note: the baseline was recorded by force: {visible(ratchet.forced)}"


def _about_pooled(pooled: PooledRuns) -> Iterator[str]:
    names = ", ".join(name[:12] for name in pooled.records)
    runs = f"{count(len(pooled.records), 'run')} pooled, failed ones included"
    yield f"history {visible(pooled.folder)}: {runs}: {names}"
    yield from (f"  left out: {count(number, 'run')} {reason}" for reason, number in pooled.left_out)
    yield from (f"  left out: {visible(one.file)}: {visible(one.reason)}" for one in pooled.damaged)


def _pooled_document(pooled: PooledRuns) -> dict[str, object]:
    return {
        "folder": pooled.folder,
        "records": list(pooled.records),
        "left_out": [{"reason": reason, "runs": number} for reason, number in pooled.left_out],
        "damaged": [{"file": one.file, "reason": one.reason} for one in pooled.damaged],
    }


def _proposal_lines(proposal: Proposal, display: Display) -> list[str]:
    change = f"-> {_wanted(proposal.after)}" if proposal.after else "stays"
    # A rule in the list `rules` is named by its number alone, so the metric is added.
    name = f"{proposal.rule} {proposal.metric}" if proposal.rule.startswith("rules[") else proposal.rule
    heading = f"  {visible(name)}: {_wanted(proposal.before)} {change}"
    return ["", heading, *paragraph(visible(proposal.reason), 4, display)]


def _wanted(threshold: Threshold) -> str:
    return show_threshold(threshold.text, threshold.unit) or threshold.text


def _proposal_document(proposal: Proposal) -> dict[str, object]:
    after = proposal.after
    return {
        "rule": proposal.rule,
        "metric": proposal.metric,
        "before": proposal.before.text,
        "after": after.text if after else None,
        "value": as_float(after.value) if after else None,
        "reason": proposal.reason,
        "line": proposal.place.line,
    }
