"""The outcomes of the trials of a session: counted while it runs, summed up at its end."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from highbar.running.calls import Attempt
from highbar.running.histogram import Histogram
from highbar.running.pacing import AllowedRate
from highbar.running.progress import ProgressState
from highbar.running.records import TrialEnded
from highbar.running.stopping import ENOUGH_REFUSALS, Spending
from highbar.store.run_document import RunEnd
from highbar.suite import RunSettings

HowEnded = RunEnd | Literal["refused", "versions", "judge refused"]


class Summary(Struct, frozen=True):
    """How a session of a run ended, and what it did. Costs include those of earlier sessions.

    `how` is `refused` if the first trials were all refused (`refusal` says how), `versions` if the agent reported two
    versions, and `judge refused` if the judge refused the first questions. `reason` says what was used up. `began`
    minus `ended` trials were given up: nothing of them is reported, and a later session asks them again from their
    first turn. `seconds` is the duration of the session.
    """

    how: HowEnded
    began: int
    ended: int
    answered: int
    errors: int
    unanswered: int
    calls: int
    seconds: float
    cost_usd: Decimal
    cost_unknown: int
    at_once: int  # how many calls were allowed at the end
    reason: str | None = None
    refusal: str | None = None
    versions: tuple[str, ...] = ()
    latency_p95_ms: float | None = None
    loop_delay_p95_ms: float | None = None
    shortage: str | None = None  # of what this system allowed too little, so that fewer calls ran at once
    escaped: tuple[str, ...] = ()  # processes that a command left behind and that could not be ended
    allowance: AllowedRate | None = None  # what the agent's server allowed, if it refused calls
    judge_allowance: AllowedRate | None = None
    same_error: str | None = None  # of every trial of the session, if it is the same
    no_answer: str | None = None  # why most of the unanswered trials have no answer
    judge_no_answer: str | None = None  # why the judge answered no question

    @property
    def is_loop_slow(self) -> bool:
        """Whether measured latencies may be too long: the p95 of the loop's delay is over a tenth of their p95."""
        if self.latency_p95_ms is None or self.loop_delay_p95_ms is None:
            return False
        return self.loop_delay_p95_ms > self.latency_p95_ms / 10


class Tally:
    """Counts calls and ends of trials, also in `progress`. `versions` has at most one version, or two that conflict."""

    def __init__(self, progress: ProgressState, settings: RunSettings) -> None:
        self.progress = progress
        self.spending = Spending(settings.budget, progress.cost_usd, progress.cost_unknown)
        self.versions: tuple[str, ...] = () if progress.agent_version is None else (progress.agent_version,)
        self.began = self.calls = self.answered = self.errors = self.unanswered = 0
        self.latencies, self.loop_delays = Histogram(), Histogram()
        self._no_answer: Counter[str] = Counter()
        self._error: str | None = None  # the reason of every error so far

    def called(self, attempt: Attempt) -> None:
        """Count a call."""
        self.calls += 1
        if attempt.outcome == "answered" and attempt.latency_ms is not None:
            self.latencies.add(attempt.latency_ms)

    def ended(self, ended: TrialEnded) -> None:
        """Count a trial that has ended, with its cost and the versions that its replies report."""
        progress = self.progress
        progress.done += 1
        if ended.outcome == "answered":
            self.answered += 1
        elif ended.outcome == "error":
            self._error = ended.reason if self._error == ended.reason or not self.errors else None
            self.errors += 1
            progress.errors += 1
        else:
            self.unanswered += 1
            progress.unanswered += 1
            self._no_answer[ended.reason or "no answer"] += 1
        self.spending.note(ended)
        progress.cost_usd, progress.cost_unknown = self.spending.cost, self.spending.unknown
        for turn in ended.turns:
            if turn.reply is not None and turn.reply.agent_version is not None:
                self._note_version(turn.reply.agent_version)

    def _note_version(self, version: str) -> None:
        if not self.versions:
            self.progress.agent_version = version
        if version not in self.versions and len(self.versions) < 2:
            self.versions = (*self.versions, version)

    @property
    def count(self) -> int:
        """How many trials have ended in this session."""
        return self.answered + self.errors + self.unanswered

    def summary(self, how: HowEnded, seconds: float, reason: str | None, refusal: str | None) -> Summary:
        """The summary of the session."""
        return Summary(
            how=how,
            began=self.began,
            ended=self.count,
            answered=self.answered,
            errors=self.errors,
            unanswered=self.unanswered,
            calls=self.calls,
            seconds=seconds,
            cost_usd=self.spending.cost,
            cost_unknown=self.spending.unknown,
            at_once=self.progress.at_once,
            reason=reason,
            refusal=refusal,
            same_error=self._error if self.errors == self.count >= ENOUGH_REFUSALS else None,
            no_answer=next((why for why, _ in self._no_answer.most_common(1)), None),
            versions=self.versions,
            latency_p95_ms=self.latencies.percentile(0.95),
            loop_delay_p95_ms=self.loop_delays.percentile(0.95),
        )
