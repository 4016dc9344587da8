"""A scenario and a recorded answer → the question to a judge; what the judge said → findings that checks can use.

A statement has the name of its behavior: `refuses`, or `refuses.1` and `refuses.2` if the check has several statements,
and `answer` if it is about the scenario's answer. A text that occurs twice is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count

from msgspec import Struct

from highbar import checks
from highbar.checks import Check, Finding, Functions, Statement
from highbar.checks.tree import no, yes
from highbar.model.answer import Answer
from highbar.model.judgments import (
    BehaviorTable,
    JudgeAnswer,
    JudgedStatement,
    JudgedTrial,
    JudgeQuestion,
    StatementJudgment,
)
from highbar.running.received import transcript
from highbar.running.records import TrialEnded
from highbar.suite import Canary, Scenario, Suite

ANSWER = "answer"
"""The name of the statement about a scenario's answer, also in the columns `found` and `missed`."""
CANNOT_TELL = "the judge cannot tell"
_NOT_ALL_RECORDED = "only the last reply was recorded"
_MOST_COMBINED = 6
"""The most statements of one check whose combinations are listed: that is a table of 64."""


class JudgeFindings(Struct, frozen=True):
    """What a judge found in one trial, by the text of the statement; or why it found nothing (`failure`).

    `judge` and `judged` are the values of these columns.
    """

    findings: Mapping[str, Finding] = {}
    judge: str | None = None
    judged: JudgedTrial | None = None
    failure: str | None = None


NO_FINDINGS = JudgeFindings()
"""Of a trial about which no judge was asked."""
Judgments = Callable[[Scenario, TrialEnded], JudgeFindings]
"""A function that returns what a judge found in a trial that ended."""


def statements_of(scenario: Scenario) -> dict[str, str]:
    """The statements of a scenario by name, each text once."""
    return _named(_checks(scenario))


def statements_in(suite: Suite) -> list[tuple[str, str]]:
    """All statements of a suite with their names, each pair once, sorted. The digest in a judge's name covers them."""
    found = {pair for scenario in suite.scenarios.values() for pair in statements_of(scenario).items()}
    return sorted(found)


def question_of(scenario: Scenario, ended: TrialEnded) -> JudgeQuestion | None:
    """The question to a judge about a trial; None if there is nothing to ask.

    If the trial ended in an error, only the must-nots are asked: everything else is known.
    """
    if ended.outcome == "infrastructure" or not any(turn.reply is not None for turn in ended.turns):
        return None
    if "replies" in ended.unrecorded:
        return None
    found = _named(_checks(scenario) if ended.outcome == "answered" else _must_nots(scenario))
    return JudgeQuestion(found, tuple(transcript(scenario, ended))) if found else None


def canary_question(canary: Canary) -> JudgeQuestion:
    """The question to a judge about a canary."""
    return JudgeQuestion(canary.statements, canary.messages)


def findings_unasked(scenario: Scenario, ended: TrialEnded) -> JudgeFindings:
    """The findings of a trial about which there is no question. Statements are undecided if a reply is missing."""
    if "replies" in ended.unrecorded and statements_of(scenario):
        return no_judgment(scenario, _NOT_ALL_RECORDED)
    return NO_FINDINGS


def no_judgment(scenario: Scenario, reason: str) -> JudgeFindings:
    """Findings without a judgment: every statement is undecided for this reason."""
    open_ = Finding(None, reason=reason)
    return JudgeFindings(dict.fromkeys(statements_of(scenario).values(), open_), failure=reason)


def findings(question: JudgeQuestion, answer: JudgeAnswer, judge: str, judged: JudgedTrial) -> JudgeFindings:
    """The judge's answer, as checks read it. It must have a judgment of every statement."""
    found = {text: _finding(answer.statements[name]) for name, text in question.statements.items()}
    return JudgeFindings(found, judge, judged)


def judged_trial(
    question: JudgeQuestion, answer: JudgeAnswer, digest: str, conversation: str, *, replayed: bool = False
) -> JudgedTrial:
    """The column `judged`, without the tables of behaviors."""
    statements = {
        name: JudgedStatement(text, one.judgment, one.evidence, one.votes)
        for name, text in question.statements.items()
        for one in (answer.statements[name],)
    }
    return JudgedTrial(digest, conversation, statements, replayed=replayed)


def tables(scenario: Scenario, answer: Answer, functions: Functions | None) -> dict[str, BehaviorTable]:
    """Truth tables: for every behavior that is not just the statement of the same name, how it follows from statements.

    A table has one mark for each combination: `1` observed, `0` not observed, `?` unknown. The first statement is the
    lowest bit. It is empty if there are more than 6 statements.
    """
    names = {text: name for name, text in statements_of(scenario).items()}
    found: dict[str, BehaviorTable] = {}
    for name, check, must_not in _checks(scenario):
        texts = checks.statements(check)
        if not texts or (isinstance(check, Statement) and names[check.text] == name):
            continue
        apply = partial(checks.apply, check, answer, must_not=must_not, functions=functions)
        rows = range(2 ** len(texts)) if len(texts) <= _MOST_COMBINED else ()
        table = "".join(_mark(apply(judged=_combination(texts, row))) for row in rows)
        found[name] = BehaviorTable(tuple(names[text] for text in texts), table)
    return found


def _combination(texts: tuple[str, ...], row: int) -> dict[str, Finding]:
    return {text: Finding(bool(row >> place & 1)) for place, text in enumerate(texts)}


def _mark(finding: Finding) -> str:
    return "?" if finding.observed is None else str(int(finding.observed))


def _finding(judged: StatementJudgment) -> Finding:
    if judged.judgment == "cannot_tell":
        return Finding(None, reason=CANNOT_TELL)
    if judged.judgment == "observed":
        return yes(judged.evidence)
    return no("the judge did not find it" + (f": {judged.evidence}" if judged.evidence else ""))


def _checks(scenario: Scenario) -> Iterator[tuple[str, Check, bool]]:
    """Every check of a scenario with its name, and whether it is a must-not."""
    for name, behavior in scenario.expected_behaviors.items():
        yield name, behavior.check, False
    yield from _must_nots(scenario)
    if scenario.answer is not None:
        yield ANSWER, scenario.answer, False


def _must_nots(scenario: Scenario) -> Iterator[tuple[str, Check, bool]]:
    for name, behavior in scenario.must_not.items():
        yield name, behavior.check, True


def _named(of: Iterator[tuple[str, Check, bool]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, check, _ in of:
        texts = [text for text in checks.statements(check) if text not in found.values()]
        several = len(checks.statements(check)) > 1
        for number, text in enumerate(texts, 1):
            wanted = f"{name}.{number}" if several else name
            # The name may be taken: a behavior may itself be called `refuses.1` or `answer`.
            found[next(one for one in _candidates(wanted) if one not in found)] = text
    return found


def _candidates(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}.{number}"
