"""The records of a journal → the state of every planned trial, and the offset of its answer. Answers stay on disk.

Reading a journal and a running run note their records in the same way, so that both agree.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.load.checkout import Checkout
from highbar.model.judgments import JudgeAnswer
from highbar.running.calls import TrialOutcome
from highbar.running.records import Began, CanaryJudged, Finished, JudgeRead, Resumed, RunPlan, TrialEnded, TrialJudged
from highbar.store.run_document import TrialCounts

ENOUGH_FAILURES = 2
"""A trial is an agent error after this many resumes that ended it in infrastructure although others were answered, or
after this many unusable answers of the judge about it although the judge judged others."""
_NO_OFFSET = -1
_NO_PLAN = "a journal begins with its plan"
_AFTER_END = "a record after the end of the run"
_NOT_ENDED, _INFRASTRUCTURE, _ANSWERED, _ERROR = range(4)
_STATES: Mapping[TrialOutcome, int] = {"infrastructure": _INFRASTRUCTURE, "answered": _ANSWERED, "error": _ERROR}
_OUTCOMES: tuple[TrialOutcome | None, ...] = (None, "infrastructure", "answered", "error")


class EndedHead(Struct, frozen=True, tag="ended", gc=False):
    """The record that a trial ended, without what was received, which is skipped when a journal is read."""

    id: str
    trial: int
    digest: str
    outcome: TrialOutcome
    attempts: int = 1


class AnswerHead(Struct, frozen=True, gc=False):
    """The part of a judge's answer that says whether it can be used."""

    failure: str | None = None
    unusable: bool = False


class JudgedHead(Struct, frozen=True, tag="judged", gc=False):
    """The record that a judge was asked, without what it said."""

    id: str
    trial: int
    answer: AnswerHead


Noted = (
    RunPlan | Began | EndedHead | TrialEnded | JudgedHead | TrialJudged | JudgeRead | CanaryJudged | Resumed | Finished
)
_OF_TRIALS = (EndedHead, TrialEnded, Began, JudgedHead, TrialJudged)
_decode = msgspec.json.Decoder(
    RunPlan | Began | EndedHead | JudgedHead | JudgeRead | CanaryJudged | Resumed | Finished
).decode


class JudgmentPlaces:
    """The journal offsets of the judgments, by the place of the trial; empty for a run without a judge."""

    def __init__(self) -> None:
        self._offsets: dict[int, int] = {}
        self._failed: set[int] = set()
        self._unusable: dict[int, int] = {}  # how often the judge's answer could not be used

    def note(self, place: int, offset: int, answer: AnswerHead | JudgeAnswer) -> None:
        """Note the answer of a judge about the trial at `place`. A later answer replaces an earlier one."""
        self._offsets[place] = offset
        if answer.failure is None:
            self._failed.discard(place)
            return
        self._failed.add(place)
        self._unusable[place] = self._unusable.get(place, 0) + answer.unusable

    def offset(self, place: int) -> int | None:
        """The offset of the last record; None if the judge was not asked."""
        return self._offsets.get(place)

    def is_unjudgeable(self, place: int) -> bool:
        """Whether the judge failed at this trial at least twice, while it judged at least half of the others.

        Only unusable answers of the judge count as failures: what an agent says cannot make a judge unreachable.
        """
        judged = len(self._offsets) - len(self._failed)
        again = place in self._failed and self._unusable.get(place, 0) >= ENOUGH_FAILURES
        return again and 2 * judged >= len(self._offsets) - 1 and judged > 0

    def discard(self, place: int) -> None:
        """Forget the judgments of an answer that no longer counts."""
        self._offsets.pop(place, None)
        self._unusable.pop(place, None)
        self._failed.discard(place)


class JournalState:
    """What is known of a run. `name` is the name of its journal in messages.

    `digests` and `suite_text` are of the scenarios as they were asked last. `finished` is how the run ended; None if it
    goes on, was killed, or was resumed since. `checkout` is the commit of all answers; its fields are None if the
    commit is not known, or if the run was resumed at another commit.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.finished: Finished | None = None
        self.resumes = 0
        self.again: set[str] = set()  # scenarios that changed, so that their earlier answers no longer count
        self.checkout = Checkout()
        self.digests: dict[str, str] = {}
        self.suite_text = b""
        self.suite_texts: list[bytes] = []  # each one that the run had, the last one last
        self._plan: RunPlan | None = None
        # Flat arrays, 11 bytes per trial, instead of an object for each: a run may have a million trials.
        self._places: dict[str, range] = {}  # the indexes of each scenario's trials in the arrays that follow
        self._offsets = array("q")
        self._states, self._retried, self._failed_resumes = (bytearray() for _ in range(3))
        self.judgments = JudgmentPlaces()
        self.canaries: dict[str, CanaryJudged] = {}  # by id: the last answer
        self.judge_facts: list[tuple[Any, ...]] = []  # what a Python judge read; empty if that was not noted
        self._answered = 0
        self._without_answer: set[int] = set()  # trials of this resume that ended in infrastructure

    @property
    def plan(self) -> RunPlan:
        """What the run was started with. Raises InputError if the journal has no plan."""
        if self._plan is None:
            raise InputError(
                Problem("run.damaged", "the journal has no plan: nothing was run", self.name, hint="start a new run")
            )
        return self._plan

    def read(self, offset: int, payload: bytes) -> None:
        """Note the record in a line. Raises InputError if no run writes such a record, or not at this point."""
        try:
            record = _decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            hint = "if a newer version of Highbar wrote it, update Highbar"
            raise self._refusal(offset, f"not a record of a run: {error}", hint) from None
        self.note(offset, record)

    def note(self, offset: int, record: Noted) -> None:
        """Note a record, and the offset of its line. Raises InputError if it contradicts what came before."""
        if isinstance(record, _OF_TRIALS):  # first, because nearly all records are of trials
            self._note_trial(offset, record)
        elif isinstance(record, RunPlan):
            self._begin(offset, record)
        elif self._plan is None:
            raise self._refusal(offset, _NO_PLAN)
        elif isinstance(record, Resumed):
            self._resume(offset, record)
        elif self.finished is not None:
            raise self._refusal(offset, _AFTER_END)
        elif isinstance(record, CanaryJudged):
            self.canaries[record.id] = record
        elif isinstance(record, JudgeRead):
            self.judge_facts += record.facts
        else:
            self._end_session()
            self.finished = record

    def _note_trial(self, offset: int, record: Began | EndedHead | TrialEnded | JudgedHead | TrialJudged) -> None:
        places = self._places.get(record.id)
        if places is None or not 0 < record.trial <= len(places) or self.finished is not None:
            raise self._refusal_of_trial(offset, record)
        place = places[record.trial - 1]
        if isinstance(record, EndedHead | TrialEnded):
            self._end(offset, record, place)
        elif isinstance(record, JudgedHead | TrialJudged):
            if self._states[place] < _ANSWERED:
                raise self._refusal(offset, f"trial {record.trial} of {record.id[:60]!a} was judged without an answer")
            self.judgments.note(place, offset, record.answer)

    def outcome(self, id_: str, trial: int) -> TrialOutcome | None:
        """The outcome of a trial; None if it has not ended.

        A trial that ended in infrastructure in two resumes, although at least half of all other trials of the run had
        been answered by their end, is an error: an agent cannot choose to stay undecided.
        """
        return _OUTCOMES[self._state(self._planned(id_, trial))]

    def has_ended(self, id_: str) -> bool:
        """Whether every planned trial of a scenario has ended, with any outcome."""
        return all(self._states[place] != _NOT_ENDED for place in self._places[id_])

    def offset(self, id_: str, trial: int) -> int | None:
        """The offset of the last record of a trial's end, with any outcome; None if the trial has not ended."""
        found = self._offsets[self._planned(id_, trial)]
        return None if found == _NO_OFFSET else found

    def judgment(self, id_: str, trial: int) -> int | None:
        """The offset of the last record of what a judge said about a trial; None if it was not asked."""
        return self.judgments.offset(self._planned(id_, trial))

    def is_unjudgeable(self, id_: str, trial: int) -> bool:
        """Whether the judge gave no usable answer about this trial at least twice, while it judged others."""
        return self.judgments.is_unjudgeable(self._planned(id_, trial))

    def left(self) -> Iterator[tuple[str, int]]:
        """The trials that have neither an answer nor an error: trial 1 of all scenarios, then trial 2, and so on."""
        trials = self.plan.trials
        for trial in range(1, max(trials.values(), default=0) + 1):
            for id_ in self.plan.order:
                if trial <= trials[id_] and self._state(self._places[id_][trial - 1]) <= _INFRASTRUCTURE:
                    yield id_, trial

    def final_ends(self) -> Iterator[tuple[str, int, int]]:
        """The trials that ended with an answer or an error, each with the offset of that record."""
        for id_, places in self._places.items():
            for trial, place in enumerate(places, 1):
                if self._offsets[place] != _NO_OFFSET and self._state(place) > _INFRASTRUCTURE:
                    yield id_, trial, self._offsets[place]

    def counts(self, *, retried: bool = False) -> TrialCounts:
        """The outcomes of all planned trials, or with `retried` of those that needed several attempts."""
        wanted = range(len(self._states))
        states = bytes(self._state(place) for place in wanted if not retried or self._retried[place])
        answered, errors = states.count(_ANSWERED), states.count(_ERROR)
        return TrialCounts(answered, errors, len(states) - answered - errors)

    @property
    def ended(self) -> int:
        """How many trials have ended, with any outcome."""
        return len(self._states) - self._states.count(_NOT_ENDED)

    def _refusal_of_trial(
        self, offset: int, record: Began | EndedHead | TrialEnded | JudgedHead | TrialJudged
    ) -> InputError:
        """Why a record of a trial is not possible at this point."""
        if self._plan is None:
            return self._refusal(offset, _NO_PLAN)
        if self.finished is not None:
            return self._refusal(offset, _AFTER_END)
        return self._refusal(offset, f"no trial {record.trial} of {record.id[:60]!a} was planned")

    def _begin(self, offset: int, plan: RunPlan) -> None:
        if self._plan is not None:
            raise self._refusal(offset, "a second plan")
        ids = set(plan.order)
        is_empty = not ids and plan.chosen.shard is None  # a shard may be empty
        if is_empty or len(ids) < len(plan.order) or ids != plan.trials.keys() or ids != plan.digests.keys():
            raise self._refusal(offset, "the plan does not say for every scenario how often it is run")
        if min(plan.trials.values(), default=1) < 1:
            raise self._refusal(offset, "the plan has a scenario without trials")
        self._plan = plan
        self.checkout = plan.checkout
        self.digests = dict(plan.digests)
        self.suite_text = plan.suite_text
        self.suite_texts = [plan.suite_text]
        total = 0
        for id_ in plan.order:
            self._places[id_] = range(total, total + plan.trials[id_])
            total += plan.trials[id_]
        self._offsets = array("q", [_NO_OFFSET]) * total
        self._states, self._retried, self._failed_resumes = (bytearray(total) for _ in range(3))
        self.judgments = JudgmentPlaces()

    def _resume(self, offset: int, record: Resumed) -> None:
        unknown = next((id_ for id_ in chain(record.again, record.digests) if id_ not in self._places), None)
        if unknown is not None:
            raise self._refusal(offset, f"{unknown[:60]!a} was not planned")
        self._end_session()
        self.finished = None
        self.resumes += 1
        self.checkout = _common(self.checkout, record.checkout)
        self.digests |= record.digests
        if record.suite_text is not None:
            self.suite_text = record.suite_text
            self.suite_texts.append(record.suite_text)
        self.again.update(record.again)
        self._discard(place for id_ in record.again for place in self._places[id_])

    def _end(self, offset: int, record: EndedHead | TrialEnded, place: int) -> None:
        if self._states[place] > _INFRASTRUCTURE:
            raise self._refusal(offset, f"trial {record.trial} of {record.id[:60]!a} ended before, and ends again")
        if record.digest != self.digests[record.id]:
            raise self._refusal(offset, f"{record.id[:60]!a} was asked in another form than the suite has")
        self._states[place] = state = _STATES[record.outcome]
        self._offsets[place] = offset
        self._retried[place] = record.attempts > 1
        if state == _ANSWERED:
            self._answered += 1
        elif state == _INFRASTRUCTURE and self.resumes:
            self._without_answer.add(place)

    def _end_session(self) -> None:
        """Count this resume against the trials that got no answer in it, if at least half of the others have one."""
        others = len(self._states) - 1
        if 2 * self._answered >= others:
            for place in self._without_answer:
                self._failed_resumes[place] = min(ENOUGH_FAILURES, self._failed_resumes[place] + 1)
        self._without_answer.clear()

    def _discard(self, places: Iterable[int]) -> None:
        """Forget the answers to questions that have changed."""
        for place in places:
            self._answered -= self._states[place] == _ANSWERED
            self._offsets[place] = _NO_OFFSET
            self._states[place] = self._retried[place] = self._failed_resumes[place] = 0
            self.judgments.discard(place)

    def _state(self, place: int) -> int:
        state = self._states[place]
        return _ERROR if state == _INFRASTRUCTURE and self._failed_resumes[place] >= ENOUGH_FAILURES else state

    def _planned(self, id_: str, trial: int) -> int:
        """The index of a planned trial. Raises KeyError or IndexError if it is not planned."""
        if trial < 1:  # a negative index would find another trial
            raise IndexError(trial)
        return self._places[id_][trial - 1]

    def _refusal(self, offset: int, message: str, hint: str | None = None) -> InputError:
        return InputError(
            Problem("run.damaged", f"at byte {offset}: {message}", self.name, hint=hint or "start a new run")
        )


def _common(before: Checkout, now: Checkout) -> Checkout:
    """The checkout that two parts of a run have in common; without a commit if they are of two or of an unknown one."""
    if before.commit is None or before.commit != now.commit:
        return Checkout(changed=before.changed or (True if before.commit and now.commit else None))
    states = (before.changed, now.changed)
    changed = True if True in states else None if None in states else False
    return replace(before, branch=before.branch if before.branch == now.branch else None, changed=changed)
