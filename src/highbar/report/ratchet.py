"""The proposals of a ratchet, as text and as JSON (`highbar/ratchet/1`).

Every text from the policy goes through `visible`: its lines are printed, and a CI runner must not execute them.
"""

from __future__ import annotations

from collections.abc import Iterator

from highbar.language.digits import as_float, show_threshold
from highbar.language.phrases import count
from highbar.model import Threshold
from highbar.model.proposals import PooledRuns, Proposal, Ratchet
from highbar.report import PAGE, Display
from highbar.report.layout import paint, paragraph
from highbar.report.visible import visible
from highbar.store.writing import encode

SCHEMA = "highbar/ratchet/1"
_COLORS = {"+": "green", "-": "red"}


def render(ratchet: Ratchet, display: Display = PAGE) -> str:
    """Each threshold with its change and the reason, then the diff; `git apply` skips the text before the diff."""
    lines = [*_about(ratchet), *(line for each in ratchet.proposals for line in _proposal_lines(each, display))]
    diff = [_diff_line(line, display) for line in ratchet.diff.splitlines()]
    return "\n".join([*lines, *([""] if diff else []), *diff]) + "\n"


def render_json(ratchet: Ratchet) -> str:
    """All proposals as JSON; `after` is null if a threshold stays the same."""
    return encode(
        {
            "schema": SCHEMA,
            "policy": ratchet.policy,
            "baseline": ratchet.baseline if ratchet.pooled is None else None,
            "history": None if ratchet.pooled is None else _pooled_document(ratchet.pooled),
            "forced": ratchet.forced,
            "written": ratchet.written,
            "thresholds": [_proposal(proposal) for proposal in ratchet.proposals],
            "diff": ratchet.diff,
            "notes": list(ratchet.notes),
        }
    )


def _about(ratchet: Ratchet) -> Iterator[str]:
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


def _diff_line(line: str, display: Display) -> str:
    """A line of the diff, made visible except for tabs, without which the diff could not be applied."""
    safe = "\t".join(visible(part) for part in line.removesuffix("\r").split("\t"))
    return paint(safe, _COLORS[line[0]], display) if line[:1] in _COLORS else safe


def _wanted(threshold: Threshold) -> str:
    return show_threshold(threshold.text, threshold.unit) or threshold.text


def _proposal(proposal: Proposal) -> dict[str, object]:
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
