"""A scenario that broke or was fixed, with the agent's replies in both runs side by side."""

from __future__ import annotations

from highbar.model.comparison import MovedScenario
from highbar.model.details import Excerpt, TrialDetail
from highbar.report.html.markup import EMPTY, Markup, element, join, legible
from highbar.report.html.parts import LONGEST_TEXT, code
from highbar.report.visible import cut, revealed

_NO_OUTPUTS = "This run has no outputs to show: it is a baseline, or was read from standard input."


def side_by_side(scenario: MovedScenario) -> Markup:
    """A closed row for the scenario, which opens to the input and both replies."""
    base, head = (None if trials is None else _telling(trials) for trials in (scenario.base, scenario.head))
    known = [trial for trial in (head, base) if trial is not None]
    asked = next((trial.input for trial in known if trial.input), None)
    why = next((trial.reason for trial in known if trial.reason), "") or ""
    return element(
        "details",
        element("summary", code(scenario.id), element("span", cut(revealed(why), LONGEST_TEXT), class_="reason")),
        join(element("h3", "Input"), _text(asked, "Input")) if asked else EMPTY,
        element("div", _side("Base", scenario.base, base), _side("Head", scenario.head, head), class_="sides"),
        class_="both",
    )


def _telling(trials: tuple[TrialDetail, ...]) -> TrialDetail | None:
    """The trial to show: the first that did not pass, else the first; None if there are none."""
    return next((trial for trial in trials if not trial.passed), trials[0] if trials else None)


def _side(name: str, trials: tuple[TrialDetail, ...] | None, trial: TrialDetail | None) -> Markup:
    if trial is None:
        return element("div", element("h3", name), element("p", _NO_OUTPUTS, class_="dim"), class_="trial")
    passed = sum(bool(each.passed) for each in trials or ())
    count = f", {passed} of {len(trials or ())} trials passed" if len(trials or ()) > 1 else ""
    outcome = {True: "passed", False: "did not pass", None: "undecided"}[trial.passed]
    title = element("h3", f"{name}: {outcome}{count}")
    why = element("p", cut(revealed(trial.reason), LONGEST_TEXT)) if trial.reason else EMPTY
    error = join(element("h4", "Error"), _text(Excerpt(trial.error), f"Error, {name}")) if trial.error else EMPTY
    nothing = element("p", "No output was recorded.", class_="dim")
    reply = _text(trial.output, f"Output, {name}") if trial.output else nothing
    return element("div", title, why, error, reply, class_=f"trial {'passed' if trial.passed else 'failed'}")


def _text(text: Excerpt, label: str) -> Markup:
    rest = element("p", f"… and {text.left_out} more characters", class_="dim") if text.left_out else EMPTY
    return join(element("pre", legible(text.text) or "(empty)", tabindex=0, role="group", aria_label=label), rest)
