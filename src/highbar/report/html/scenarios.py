"""The failed scenarios, to filter, search and open; all scenarios; and those that passed only some of their trials.

The first page of the list is in the markup. The other pages, and the details of each scenario, are packed into blocks
that the script unpacks on demand, so that a page with ten thousand scenarios opens as fast as one with ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from highbar.language.digits import amount
from highbar.model import FailedScenario, Verdict
from highbar.model.details import Excerpt, ScenarioDetail, TrialDetail
from highbar.model.verdict import ScenarioResult
from highbar.report.failures import KINDS, kinds_of
from highbar.report.headline import MOST_UNDECIDED, UNDECIDED, quarantined_ids, repetition_sentences
from highbar.report.html.markup import EMPTY, Markup, element, legible
from highbar.report.html.page import pack, script_data
from highbar.report.html.parts import LONGEST_TEXT, code, folded, for_screen_readers, more_line, named_section, table
from highbar.report.visible import cut, revealed

PAGE_LENGTH = 50
BLOCK_LENGTH = 100
MOST_FLAKY = 15
"""Flaky scenarios that are shown at first, those nearest to a pass rate of one half first; the others are folded."""
_FILTERS = (("", "all"), *KINDS.items(), ("r", "Required scenarios"), ("s", "Passed some trials"))


def failed_section(verdict: Verdict) -> Markup:
    """The first page of failed scenarios, the filters, and the packed rest."""
    total = max(verdict.counts.failed, len(verdict.scenarios_failed))
    if not total:
        return EMPTY
    details = verdict.details.scenarios if verdict.details else ()
    opened = sorted(details, key=lambda detail: _group(detail.scenario))
    listed = [detail.scenario for detail in opened] or sorted(verdict.scenarios_failed, key=_group)
    quarantined = quarantined_ids(verdict)
    rows = element("ul", *_rows(listed[:PAGE_LENGTH], quarantined), class_="scenarios")
    shown = min(len(listed), PAGE_LENGTH)
    quiet = element("p", f"{shown} of {total}; JavaScript opens, filters and searches them.", class_="dim", id="quiet")
    return named_section(
        "Failed scenarios",
        "failed",
        _tools(listed) if opened else EMPTY,
        rows,
        _pager() if opened else EMPTY,
        quiet if opened else EMPTY,
        more_line(total, len(listed)),
        _packed_details(opened, quarantined) if opened else EMPTY,
    )


def open_scenarios(verdict: Verdict) -> Markup:
    """The first undecided scenarios, and why they are undecided."""
    found = verdict.scenarios_undecided
    if not found:
        return EMPTY
    rows = [(code(one.id), code(one.category) if one.category else EMPTY, code(one.reason)) for one in found]
    return named_section(
        UNDECIDED,
        "undecided",
        table(("scenario", "category", "why"), rows[:MOST_UNDECIDED], "undecided"),
        more_line(len(found), MOST_UNDECIDED),
    )


def _group(scenario: FailedScenario) -> int:
    """A sort key: the position of the scenario's first kind of reason in `KINDS`; equal ones keep their order."""
    return list(KINDS).index(kinds_of(scenario.reason)[0])


def _rows(listed: Sequence[FailedScenario], quarantined: frozenset[str]) -> Iterator[Markup]:
    """The closed rows, with a heading above each kind of reason. The script builds the same markup: change both."""
    before = None
    for scenario in listed:
        kind = KINDS[kinds_of(scenario.reason)[0]]
        if kind != before:
            yield element("li", kind, class_="group")
        before = kind
        yield element("li", element("div", *_summary(scenario, quarantined), class_="summary"))


def _summary(scenario: FailedScenario, quarantined: frozenset[str]) -> tuple[Markup, ...]:
    """The content of a scenario's closed row."""
    trials = f"{scenario.passed_trials} of {scenario.trials} trials passed" if scenario.trials > 1 else ""
    return (
        code(scenario.id),
        element("span", "required", class_="chip strong") if scenario.required else EMPTY,
        element("span", "quarantined", class_="chip strong") if scenario.id in quarantined else EMPTY,
        element("span", cut(revealed(scenario.category), 60), class_="chip") if scenario.category else EMPTY,
        element("span", trials, class_="chip") if trials else EMPTY,
        element("span", cut(revealed(scenario.reason), LONGEST_TEXT), class_="reason"),
    )


def _tools(listed: Sequence[FailedScenario]) -> Markup:
    """The filters and the search field, hidden until the script shows them and adds the categories."""
    search = element(
        "label", "Search", element("input", type="search", id="search", autocomplete="off", spellcheck="false")
    )
    kinds = [element("option", text, value=kind) for kind, text in _FILTERS]
    chosen = element("label", "Show", element("select", *kinds, id="kind"))
    whole = element("option", "all", value="")
    category = element("label", "Category", element("select", whole, id="category"))
    hint = element("span", "/ to search", class_="dim keys")
    status = element("p", str(len(listed)), id="status", role="status")
    return element("div", search, category, chosen, hint, status, class_="tools", id="tools", hidden=True)


def _pager(name: str = "") -> Markup:
    previous = element("button", "Previous", type="button", id=f"{name}previous")
    following = element("button", "Next", type="button", id=f"{name}next")
    place = element("span", id=f"{name}place")
    label = "Pages of all scenarios" if name else "Pages of failed scenarios"
    return element("nav", previous, place, following, class_="pager", id=f"{name}pager", aria_label=label, hidden=True)


# --- what the script unpacks -----------------------------------------------------------------


def _packed_details(opened: Sequence[ScenarioDetail], quarantined: frozenset[str]) -> Markup:
    index = [_index_row(detail, quarantined) for detail in opened]
    # In blocks, because the list and its search need only the index, and opening a scenario then unpacks one block.
    blocks = [
        pack([[_trial(trial) for trial in detail.trials] for detail in opened[start : start + BLOCK_LENGTH]])
        for start in range(0, len(opened), BLOCK_LENGTH)
    ]
    data = {"page": PAGE_LENGTH, "block": BLOCK_LENGTH, "groups": KINDS, "index": pack(index), "blocks": blocks}
    return script_data("data", data)


def _index_row(detail: ScenarioDetail, quarantined: frozenset[str]) -> list[Any]:
    scenario = detail.scenario
    return [
        revealed(scenario.id),
        revealed(scenario.category or ""),
        cut(revealed(scenario.reason), LONGEST_TEXT),
        scenario.trials,
        scenario.passed_trials,
        _kinds(detail, quarantined),
    ]


def _kinds(detail: ScenarioDetail, quarantined: frozenset[str]) -> str:
    """A letter for each filter that shows the scenario; the first one is the group that it is listed in."""
    scenario = detail.scenario
    reasons = kinds_of(scenario.reason)
    more = {
        "v": any(trial.violations or trial.violation_count for trial in detail.trials),
        "e": any(trial.error for trial in detail.trials),
        "r": scenario.required,
        "q": scenario.id in quarantined,
        "s": 0 < scenario.passed_trials < scenario.trials,
    }
    return reasons + "".join(letter for letter, holds in more.items() if holds and letter not in reasons)


def _trial(trial: TrialDetail) -> list[Any]:
    expected = [[revealed(name), int(name in trial.behaviors)] for name in trial.expected_behaviors]
    wanted = set(trial.expected_behaviors)
    other = [revealed(name) for name in trial.behaviors if name not in wanted]
    happened = [revealed(name) for name in trial.violations]
    if not happened and trial.violation_count:
        happened = [f"{trial.violation_count} times"]
    return [
        "" if trial.trial is None else str(trial.trial),
        int(bool(trial.passed)),
        revealed(trial.reason or ""),
        _excerpt(trial.input),
        _excerpt(trial.output),
        expected,
        other,
        happened,
        [revealed(name) for name in trial.must_not if name not in trial.violations],
        revealed(trial.expected or ""),
        revealed(trial.predicted or ""),
        legible(trial.error or ""),
        "" if trial.latency_ms is None else amount(trial.latency_ms, "ms"),
        [[revealed(name), legible(text)] for name, text in trial.why],
    ]


def _excerpt(excerpt: Excerpt | None) -> list[Any] | None:
    return None if excerpt is None else [legible(excerpt.text), excerpt.left_out]


# --- all scenarios ---------------------------------------------------------------------------


def all_scenarios(verdict: Verdict) -> Markup:
    """Every scenario, in a list that is closed at first; the script shows its other pages."""
    if not verdict.scenarios:
        return EMPTY
    rows = [
        (revealed(one.id), revealed(one.category or ""), _outcome(one), f"{one.passed_trials} of {one.trials}")
        for one in verdict.scenarios
    ]
    shown = [(code(one[0]), *one[1:]) for one in rows[:PAGE_LENGTH]]
    return folded(
        f"All scenarios ({verdict.counts.scenarios})",
        "all",
        table(("scenario", "category", "outcome", "trials passed"), shown, "all"),
        _pager("all-"),
        more_line(verdict.counts.scenarios, len(rows)),
        script_data("everything", {"page": PAGE_LENGTH, "rows": pack(rows)}),
    )


def _outcome(scenario: ScenarioResult) -> str:
    return "passed" if scenario.passed else "undecided" if scenario.undecided else "failed"


# --- repeated trials -------------------------------------------------------------------------


def flaky_section(verdict: Verdict) -> Markup:
    """Sentences on the repeated trials, and the scenarios that passed only some of them."""
    items = [element("li", sentence) for sentence in repetition_sentences(verdict)]
    if not items and not verdict.flaky:
        return EMPTY
    total = verdict.repetition.flaky if verdict.repetition else len(verdict.flaky)
    rows = [
        (code(one.id), f"{one.passed_trials} of {one.trials}", _pips(one.passed_trials, one.trials))
        for one in verdict.flaky
    ]
    names = ("scenario", "trials passed", for_screen_readers("drawn"))
    first, rest = rows[:MOST_FLAKY], rows[MOST_FLAKY:]
    closed = element("details", element("summary", f"{len(rest)} more"), table(names, rest, "flaky")) if rest else EMPTY
    return named_section(
        "Repeated trials",
        "flaky",
        element("ul", *items) if items else EMPTY,
        table(names, first, "flaky") if first else EMPTY,
        closed,
        more_line(total, len(rows)),
    )


def _pips(passed: int, trials: int) -> Markup:
    """A dot for each trial, filled for those that passed; empty for more than 20 trials."""
    if trials > 20:
        return EMPTY
    dots = [
        element("circle", cx=8 + 13 * place, cy=8, r=4, class_="pip" if place < passed else "pip open")
        for place in range(trials)
    ]
    width = 13 * trials + 4
    return element("svg", *dots, viewBox=f"0 0 {width} 16", width=width, height=16, aria_hidden="true")
