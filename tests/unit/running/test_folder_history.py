"""The history of a run: what has become of each trial, from the records alone."""

from __future__ import annotations

import tracemalloc

import pytest
from msgspec.structs import replace

from highbar.errors import InputError
from highbar.running import folder
from highbar.running.journal_state import JournalState
from highbar.running.records import Began, Finished, Resumed, encode
from highbar.store.run_document import Chosen, TrialCounts
from tests.patience import processor_time
from tests.unit.running.folders import AT, DIGEST, ended, plan_of

FINISHED = Finished("complete", AT, 0)


def history_of(*records, plan=None) -> JournalState:
    """The history after these records, read as lines."""
    history = JournalState("journal")
    for offset, record in enumerate((plan or plan_of(), *records)):
        history.read(offset * 100, encode(record))
    return history


def refusal(*records, plan=None) -> str:
    with pytest.raises(InputError) as caught:
        history_of(*records, plan=plan)
    return str(caught.value)


def test_a_plan_alone_leaves_everything_to_be_run():
    history = history_of()
    assert list(history.left()) == [("A", 1), ("B", 1), ("C", 1), ("A", 2), ("B", 2), ("C", 2)]
    assert (history.ended, history.counts()) == (0, TrialCounts(0, 0, 6))


def test_scenarios_may_have_different_numbers_of_trials():
    history = history_of(ended("C", 3), plan=plan_of(("C", "A"), trials={"C": 3, "A": 1}))
    assert list(history.left()) == [("C", 1), ("A", 1), ("C", 2)]


@pytest.mark.hazard("H75")
def test_a_trial_that_was_called_twice_counts_once():
    history = history_of(Began("A", 1), Began("A", 1), Began("B", 1), ended("A", 1))
    assert history.counts() == TrialCounts(1, 0, 5)
    assert history.offset("A", 1) == 400


@pytest.mark.parametrize("outcome", ["answered", "error"])
def test_an_answer_or_error_is_final(outcome):
    history = history_of(ended("A", 1, outcome))
    assert (history.outcome("A", 1), ("A", 1) in list(history.left())) == (outcome, False)
    for again in ("answered", "error", "infrastructure"):
        assert "'A' ended before" in refusal(ended("A", 1, outcome), Resumed(AT), ended("A", 1, again))


def test_a_trial_without_an_answer_is_run_again_and_the_last_record_counts():
    first = (ended("A", 1, "infrastructure"), Resumed(AT))
    assert ("A", 1) in list(history_of(*first).left())
    assert history_of(*first).offset("A", 1) == 100
    history = history_of(*first, Began("A", 1), ended("A", 1, "infrastructure"), Resumed(AT), ended("A", 1))
    assert (history.outcome("A", 1), history.offset("A", 1), history.resumes) == ("answered", 600, 2)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([ended("Z")], "no trial 1 of 'Z' was planned"),
        ([Began("Z", 1)], "no trial 1 of 'Z' was planned"),
        ([ended("A", 3)], "no trial 3 of 'A' was planned"),
        ([ended("A", 0)], "no trial 0 of 'A' was planned"),
        ([ended("A", -1)], "no trial -1 of 'A' was planned"),
        ([plan_of()], "a second plan"),
        ([Resumed(AT, again=("Z",))], "'Z' was not planned"),
        ([Resumed(AT, digests={"Z": DIGEST})], "'Z' was not planned"),
        ([FINISHED, ended("A")], "a record after the end"),
        ([FINISHED, FINISHED], "a record after the end"),
        ([Resumed(AT, digests={"A": "c" * 64}), ended("A")], "'A' was asked in another form"),
    ],
)
def test_a_record_that_contradicts_the_others_is_refused(records, message):
    found = refusal(*records)
    assert f"journal: at byte {100 * len(records)}: {message}" in found
    assert "hint:" in found


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": {"A": 1}},
        {"digests": {"A": DIGEST}},
        {"order": ("A", "A", "B", "C")},
        {"order": ()},
        {"trials": {"A": 1, "B": 0, "C": 1}},
    ],
)
def test_a_plan_that_does_not_fit_together_is_refused(changes):
    assert "journal: at byte 0: the plan" in refusal(plan=plan_of(**changes))


@pytest.mark.parametrize("payload", [b"{}", b"", b'{"type":"judged"}', b'{"type":"began","id":1,"trial":1}', b"\xff"])
def test_what_is_no_record_is_refused(payload):
    history = history_of()
    with pytest.raises(InputError, match="at byte 100: not a record") as caught:
        history.read(100, payload)
    assert [problem.code for problem in caught.value.problems] == ["run.damaged"]


def test_a_journal_begins_with_its_plan():
    history = JournalState("journal")
    with pytest.raises(InputError, match="begins with its plan"):
        history.read(0, encode(Began("A", 1)))
    with pytest.raises(InputError, match="has no plan"):
        _ = history.plan


@pytest.mark.hazard("H74")
def test_answers_to_scenarios_that_changed_no_longer_count():
    before = (ended("A", 1), ended("A", 2, "error"), ended("B", 1), Began("A", 1))
    changed = Resumed(AT, again=("A",), suite_text=b"new", digests={"A": "c" * 64})
    history = history_of(*before, changed)
    assert history.counts() == TrialCounts(1, 0, 5)
    assert (history.offset("A", 1), history.outcome("A", 2)) == (None, None)
    assert (history.suite_text, history.digests["A"], history.digests["B"]) == (b"new", "c" * 64, DIGEST)
    again = history_of(*before, changed, replace(ended("A"), digest="c" * 64))
    assert again.outcome("A", 1) == "answered"


def test_the_end_of_a_run_is_its_last_record():
    assert history_of(FINISHED).finished == FINISHED
    assert history_of(FINISHED, Resumed(AT)).finished is None
    stopped = Finished("budget", AT, 1)
    assert history_of(FINISHED, Resumed(AT), stopped).finished == stopped


def tried(stuck: int, resumes: int) -> JournalState:
    """A run of nine scenarios, the first of which got no answer, not in so many resumes either. It goes on."""
    plan = plan_of([f"S-{number}" for number in range(9)], 1)
    without = [ended(id_, 1, "infrastructure") for id_ in plan.order[:stuck]]
    records = [*(ended(id_) for id_ in plan.order[stuck:]), *without, *[Resumed(AT), *without] * resumes]
    return history_of(*records, plan=plan)


@pytest.mark.parametrize("stuck", [1, 2, 5])
def test_a_trial_without_an_answer_in_two_resumes_is_an_error_if_half_of_the_others_have_one(stuck):
    for resumes, outcome in ((0, "infrastructure"), (1, "infrastructure"), (2, "error"), (3, "error")):
        history = tried(stuck, resumes)
        history.note(9999, FINISHED)
        assert {history.outcome(f"S-{number}", 1) for number in range(stuck)} == {outcome}
        assert len(list(history.left())) == (0 if outcome == "error" else stuck)
        assert history.counts().errors == (stuck if outcome == "error" else 0)


def test_a_trial_stays_undecided_if_most_others_have_no_answer_either():
    assert tried(6, 5).counts() == TrialCounts(3, 0, 6)


@pytest.mark.parametrize("end", [FINISHED, Resumed(AT)])
def test_a_resume_counts_when_it_has_ended(end):
    history = tried(1, 2)
    assert history.outcome("S-0", 1) == "infrastructure"
    history.note(9999, end)
    assert history.outcome("S-0", 1) == "error"


def test_an_answer_after_one_fruitless_resume_is_an_answer():
    stuck = ended("A", 1, "infrastructure")
    others = [ended(id_, trial) for id_ in "BC" for trial in (1, 2)]
    assert history_of(*others, stuck, Resumed(AT), stuck, Resumed(AT), ended("A", 1)).outcome("A", 1) == "answered"


def test_what_is_noted_while_a_run_goes_on_is_what_is_read_afterwards(tmp_path):
    with folder.create(tmp_path / "run", plan_of()) as run:
        for record in (Began("A", 1), ended("A", 1), ended("B", 2, "infrastructure"), Resumed(AT), ended("B", 2)):
            run.append(record)
        with pytest.raises(InputError, match="ended before"):
            run.append(ended("A", 1))
        live = run.history
    found = folder.read_run(tmp_path / "run")
    assert list(found.left()) == list(live.left())
    assert [found.offset(*one) for one in (("A", 1), ("B", 2))] == [live.offset(*one) for one in (("A", 1), ("B", 2))]


@pytest.mark.slow
def test_a_long_history_is_read_fast_and_holds_no_answer(tmp_path):
    """Two lines for each of 30,000 trials; the answers have 60 MB."""
    plan = plan_of([f"S-{number}" for number in range(10_000)], 3, chosen=Chosen())
    long = "x" * 2000
    with folder.create(tmp_path / "run", plan) as run:
        for id_, trial in list(run.history.left()):
            run.append(Began(id_, trial))
            run.append(ended(id_, trial, "error", reason=long))
    tracemalloc.start()
    history = folder.read_run(tmp_path / "run")
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 8_000_000
    assert peak < 16_000_000
    with processor_time(below=2):
        assert folder.read_run(tmp_path / "run").ended == history.ended == 30_000
