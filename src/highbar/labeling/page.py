"""Trials to label → one self-contained page that asks about them, one trial at a time, and saves `labels.jsonl`.

The page is blind: it shows no judgment. It still contains what the judge said, because every label stores the judgment
that it is about. That part is packed, so that nobody sees it by accident, but anyone who looks for it can find it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.labeling.drawing import Drawing, DrawnTrial
from highbar.language.phrases import count
from highbar.model.judgments import Label
from highbar.report.html.markup import Markup, element, join, legible
from highbar.report.html.page import pack, package_text, page_document, script_data
from highbar.store.labels import Labels, is_same_judgment, line_of

_MOST_PROBLEMS = 20
"""Problems in one refusal: enough to see what they have in common."""
_KEYS = (
    ("y", "yes"),
    ("n", "no"),
    ("?", "cannot tell"),
    ("j", "next"),
    ("k", "back"),
    ("u", "undo"),
    ("s", "save"),
)


def render(drawing: Drawing, existing: Labels | None = None, by: str | None = None) -> str:
    """The page, with the existing labels in it. `by` is the person who labels, if that is known already.

    Raises InputError if a label is about an earlier judgment of a drawn trial.
    """
    lines = _labels(drawing, existing) if existing else []
    asked = {
        "run": drawing.run,
        "by": by or "",
        "trials": [_asked(trial) for trial in drawing.trials],
        "labels": [line_of(label).rstrip() for label in lines],
    }
    samples = [_ends(trial) for trial in drawing.trials]
    parts = {"asked": pack(asked), "samples": pack(samples), "key": _key(samples)}
    main = element("main", _who(), _trial(), _done(), id="main")
    style = package_text("page.css") + package_text("label.css", __package__)
    return page_document(
        "Label · Highbar",
        "",
        [_head(drawing), main, script_data("data", parts)],
        style=style,
        script=package_text("label.js", __package__),
    )


def _labels(drawing: Drawing, existing: Labels) -> list[Label]:
    """The existing labels: first those about other trials, which stay unchanged, then those of drawn trials."""
    trials = {trial.key: trial for trial in drawing.trials}
    others, ours, problems = [], [], []
    for label in existing.lines:
        drawn = trials.get((label.id, label.trial))
        if drawn is None or label.sample is None or label.sample.run != drawing.run:
            others.append(label)
        elif not is_same_judgment(label.sample, drawn.sample):
            message = f"{label.id}, trial {label.trial}: this label is of an earlier judgment of the same trial"
            problems.append(Problem("label.other-judgment", message, existing.file, hint="start a new file of labels"))
        else:
            # If the sample is larger than before, more trials were drawn than the label records.
            ours.append(replace(label, sample=drawn.sample))
    if problems:
        raise InputError(*problems[:_MOST_PROBLEMS])
    return others + ours


def _ends(trial: DrawnTrial) -> tuple[str, str]:
    """The beginning and end of each label of a trial, as JSON text: JavaScript would round integers of 64 bits."""
    sample = json.dumps(msgspec.to_builtins(trial.sample), separators=(",", ":"))
    return f'{{"id":{json.dumps(trial.id)},"trial":{trial.trial}', f'"sample":{sample}}}'


def _key(samples: list[tuple[str, str]]) -> str:
    """The key under which a browser stores the answers of this page."""
    return hashlib.sha256(json.dumps(samples).encode()).hexdigest()


def _asked(trial: DrawnTrial) -> list[Any]:
    statements = [[name, legible(name), legible(text)] for name, text in trial.statements.items()]
    messages = [[message.role, message.text, [*map(list, message.calls)]] for message in trial.messages]
    return [trial.id, trial.trial, legible(trial.id), statements, messages]


def _head(drawing: Drawing) -> Markup:
    drawn = f"{count(len(drawing.trials), 'trial')}, drawn at random from {drawing.of} that the judge judged"
    return element(
        "header",
        element("h1", "Label what you see"),
        element("p", f"{drawn}; {count(drawing.statements, 'statement')}.", class_="about"),
        element("p", "Scripts are switched off, and this page needs one.", id="quiet"),
        element(
            "div",
            element("progress", id="progress", max="1", value="0", aria_label="Answered statements"),
            element("span", id="place", role="status"),
            element("span", id="saved", class_="dim"),
            element("button", "Save labels.jsonl", id="save", type="button"),
            element("button", "Undo", id="undo", type="button"),
            element("label", "Load labels.jsonl", element("input", id="file", type="file", accept=".jsonl")),
            id="tools",
            class_="bar",
            hidden=True,
        ),
        element("p", id="note", role="alert"),
        class_="banner",
    )


def _who() -> Markup:
    """Ask for the person's name, once. Several people may label the same trials; their labels are kept separate."""
    return element(
        "section",
        element("h2", "Who labels?"),
        element("p", "Your name goes into every label. Decide by the conversation alone; nothing is sent anywhere."),
        element(
            "p",
            element("label", "Name ", element("input", id="by", maxlength="200", autocomplete="name")),
            " ",
            element("button", "Start", id="start", type="button"),
        ),
        id="who",
        hidden=True,
    )


def _trial() -> Markup:
    keys = [join(element("kbd", key), f" {meaning}  ") for key, meaning in _KEYS]
    return element(
        "div",
        element(
            "section",
            element("h2", "Trial", id="title", tabindex="-1"),
            element("div", id="conversation", role="log", aria_label="Conversation", aria_live="off", tabindex="0"),
        ),
        element(
            "section",
            element("h2", "Is this true of the conversation?"),
            element("ol", id="statements"),
            element("p", *keys, class_="keys dim"),
            class_="asked",
        ),
        id="trial",
        class_="trial-to-label",
        hidden=True,
    )


def _done() -> Markup:
    return element(
        "section",
        element("h2", "Everything is answered"),
        element("p", "Press ", element("kbd", "s"), " to save labels.jsonl, then run:"),
        element("pre", "highbar judge calibrate RESULTS --labels labels.jsonl"),
        id="done",
        hidden=True,
    )
