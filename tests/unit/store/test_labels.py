"""Labels: every line is read strictly, each label counts once, and rows become what people say of them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.errors import InputError
from highbar.model.judgments import BehaviorTable, JudgedStatement, JudgedTrial
from highbar.store.labels import Labels, line_of, majority, parse_labels, read_labels, row_with_labels

DIGEST = "a" * 64


def _statement(judgment: str = "observed") -> dict[str, Any]:
    return {"statement": "The reply declines.", "judgment": judgment}


def _sample(**changes: Any) -> dict[str, Any]:
    return {
        "run": DIGEST,
        "seed": 0,
        "stratum": "passed",
        "drawn": 2,
        "of": 9,
        "judge": "some-model #0123456789ab",
        "row": {"id": "s1", "trial": 1, "expected_behaviors": ["refuses"], "behaviors": {"refuses": True}},
        "judged": {"digest": DIGEST, "conversation": "b" * 64, "statements": {"refuses": _statement()}},
        **changes,
    }


def _line(**changes: Any) -> dict[str, Any]:
    return {"id": "s1", "trial": 1, "behavior": "refuses", "observed": True, "by": "ada", **changes}


def _read(*lines: dict[str, Any] | str) -> Labels:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return parse_labels(text, "labels.jsonl")


def _messages(*lines: dict[str, Any] | str) -> list[str]:
    with pytest.raises(InputError) as caught:
        _read(*lines)
    return [f"{problem.place_text}: {problem.message}" for problem in caught.value.problems]


# --- lines -----------------------------------------------------------------------------------


def test_a_label_without_a_sample_is_unbound() -> None:
    labels = _read(_line(), "", _line(observed=None, by="bob", id=7))
    assert [(label.id, label.observed) for label in labels.unbound] == [("s1", True), ("7", None)]
    assert labels.trials == ()
    assert labels.people == ("ada", "bob")


def test_a_label_with_a_sample_makes_a_trial() -> None:
    labels = _read(_line(observed=False, sample=_sample()))
    (trial,) = labels.trials
    assert trial.statements == {"refuses": ("observed", False)}
    assert (trial.as_judged["behaviors"], trial.as_labeled["behaviors"]) == ({"refuses": True}, {"refuses": False})
    assert trial.is_complete
    assert (labels.unbound, labels.incomplete, labels.complete) == ((), 0, (trial,))


def test_a_trial_is_as_old_as_its_oldest_label_and_of_no_day_if_one_does_not_say_it() -> None:
    days = ["2026-11-17", "2026-11-03", None]
    for many, expected in ((2, date(2026, 11, 3)), (3, None)):
        labels = _read(*(_line(by=f"p{n}", on=day, sample=_sample()) for n, day in enumerate(days[:many])))
        assert [trial.on for trial in labels.trials] == [expected]
        assert _read(*map(line_of, labels.lines)) == labels


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observed": "yes"}, "observed: found 'yes', wanted true, false, or null for: cannot tell"),
        ({"observed": 1}, "observed: found 1, wanted true, false, or null for: cannot tell"),
        ({"trial": "1"}, "trial: found '1', wanted a whole number"),
        ({"trial": True}, "trial: found true, wanted a whole number"),
        ({"trial": 2**64}, "trial: found 18446744073709551616, wanted a whole number of at most 64 bits"),
        ({"on": "yesterday"}, "on: found 'yesterday', wanted the day of the label, such as 2026-11-17"),
        ({"on": "2026-02-30"}, "on: found '2026-02-30', wanted the day of the label, such as 2026-11-17"),
        ({"on": 20260217}, "on: found 20260217, wanted the day of the label, such as 2026-11-17"),
        ({"id": ""}, "id: found '', wanted the id of a scenario"),
        ({"id": "a\x1b"}, r"id: found 'a\x1b', wanted the id of a scenario"),
        ({"behavior": " "}, "behavior: found ' ', wanted a name"),
        ({"by": "a\nb"}, r"by: found 'a\nb', wanted who labeled it: a name of at most 200 characters, on one line"),
        ({"Observed": True}, "found the key 'Observed', wanted 'observed'"),
        ({"samples": None}, "found the key 'samples', wanted 'sample'"),
        ({"sample": _sample(seed=-1)}, "sample.seed: found -1, wanted a whole number from 0 on"),
        ({"sample": _sample(run="x")}, "sample.run: found 'x', wanted 64 hexadecimal digits"),
        ({"sample": _sample(stratum="best")}, "sample.stratum: found 'best', wanted passed or failed or given"),
        ({"sample": _sample(drawn=3, of=2)}, "sample.drawn: found 3 of 2 trials"),
        ({"sample": _sample(drawn=0)}, "sample.drawn: found 0 of 9 trials"),
        ({"sample": []}, "sample: found a list, wanted an object"),
        ({"behavior": "other", "sample": _sample()}, "behavior: found 'other', wanted 'refuses'"),
        (
            {"sample": _sample(row={"id": "s2", "trial": 1})},
            "sample.row: found the row of another trial than 's1', trial 1",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_line(changes: dict[str, Any], message: str) -> None:
    assert _messages(_line(by="zoe"), _line(**changes)) == [f"labels.jsonl:2: {message}"]


def test_a_missing_key_is_named() -> None:
    line = _line()
    del line["observed"]
    assert _messages(line) == ["labels.jsonl:1: observed: is missing"]


@pytest.mark.parametrize(
    ("table", "of", "message"),
    [
        ("01", ["refuses", "x"], "sample.judged.behaviors.b.of: found 'x', which is not among the statements"),
        ("0", ["refuses"], "sample.judged.behaviors.b.table: found '0', wanted 2 characters, each 0, 1 or ?"),
        ("0x", ["refuses"], "sample.judged.behaviors.b.table: found '0x', wanted 2 characters, each 0, 1 or ?"),
    ],
)
def test_a_table_must_fit_its_statements(table: str, of: list[str], message: str) -> None:
    judged = {**_sample()["judged"], "behaviors": {"b": {"of": of, "table": table}}}
    assert f"labels.jsonl:1: {message}" in _messages(_line(sample=_sample(judged=judged)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[]", "found a list, wanted an object"),
        ('{"id": NaN}', "found the number NaN, wanted plain digits"),
        ('{"id": "a", "id": "b"}', "the key 'id' is there twice"),
        ('{"id": "\\ud800"}', "found half of a surrogate pair, wanted text"),
        ("[" * 100_000, "found lists or objects that are nested too deeply"),
        ('{"trial": ' + "9" * 10_000 + "}", "Exceeds the limit"),
    ],
)
def test_hostile_text_is_refused_with_its_line(line: str, message: str) -> None:
    (found,) = _messages(line)
    assert found.startswith("labels.jsonl:1: ")
    assert message in found


def test_every_problem_is_reported_up_to_twenty() -> None:
    assert len(_messages(*[_line(trial=None)] * 50)) == 20


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00", b"\x80"])
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError, match="not UTF-8"):
        read_labels(path)


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "labels.jsonl")


# --- the same label twice --------------------------------------------------------------------


def test_the_same_label_twice_counts_once() -> None:
    assert len(_read(_line(), _line()).lines) == 1


def test_a_contradiction_names_both_lines() -> None:
    (message,) = _messages(_line(), _line(by="bob"), _line(observed=None))
    assert message == (
        "labels.jsonl:3: observed: found null, but line 1 says true of 'refuses' in 's1', trial 1, by 'ada' too"
    )


def test_one_person_may_label_the_same_trial_of_two_runs() -> None:
    labels = _read(_line(sample=_sample()), _line(observed=False, sample=_sample(run="c" * 64)))
    assert [trial.statements["refuses"][1] for trial in labels.trials] == [True, False]


def test_labels_of_one_trial_agree_on_what_the_judge_said() -> None:
    other = {**_sample()["judged"], "statements": {"refuses": _statement("not_observed")}}
    (message,) = _messages(_line(sample=_sample()), _line(by="bob", sample=_sample(judged=other)))
    assert "labels.jsonl:2: sample: found another judgment of 's1', trial 1 than in line 1" in message


def test_two_draws_of_the_same_trial_are_one_trial() -> None:
    labels = _read(_line(sample=_sample()), _line(by="bob", observed=False, sample=_sample(seed=5, drawn=4)))
    (trial,) = labels.trials
    assert trial.statements == {"refuses": ("observed", None)}
    assert trial.as_labeled["behaviors"] == {"refuses": False}, "what people do not agree on counts as a failure"
    assert not trial.is_answered
    assert labels.incomplete == 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"behaviors": [{"x": 1}]}, "sample.row.behaviors"),
        ({"behaviors": [["a"]]}, "sample.row.behaviors"),
        ({"must_not": ["refuses"], "violations": [["a"]]}, "sample.row.violations"),
    ],
)
def test_a_row_that_no_results_have_is_refused(keys: dict[str, Any], message: str) -> None:
    row = {"id": "s1", "trial": 1, **keys}
    assert any(message in found for found in _messages(_line(sample=_sample(row=row))))


def test_a_size_beyond_all_numbers_is_refused() -> None:
    assert any("sample.of" in found for found in _messages(_line(sample=_sample(of=10**400))))


# --- reading back what was written -----------------------------------------------------------


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.sampled_from([True, False, None]))
def test_a_line_is_read_back_as_it_was(id_: str, observed: bool | None) -> None:
    sample = _sample(row={"id": id_, "trial": 1, "note": "\u2028\x1b"})
    (label,) = _read(_line(id=id_, observed=observed, sample=sample)).lines
    line = line_of(label)
    assert line.isascii()
    assert line.count("\n") == 1
    assert _read(line).lines == (label,)


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [([], None), ([True, True, False], True), ([True, False], None), ([None, False], False), ([None], None)],
)
def test_the_majority_decides_and_a_tie_does_not(answers: list[bool | None], wanted: bool | None) -> None:
    assert majority(answers) is wanted


# --- a row as people have it -----------------------------------------------------------------


def _judged(*names: str, **tables: BehaviorTable) -> JudgedTrial:
    return JudgedTrial(DIGEST, DIGEST, {name: JudgedStatement(name, "observed") for name in names}, tables)


def test_labels_change_behaviors_violations_and_correct() -> None:
    row = {
        "id": "s1",
        "expected_behaviors": ["refuses", "checked"],
        "behaviors": {"refuses": True, "checked": True},
        "must_not": ["leaks", "plain", "insults"],
        "violations": ["plain", "leaks"],
        "correct": True,
    }
    seen = {"refuses": False, "leaks": False, "insults": True, "answer": False}
    new = row_with_labels(row, _judged(*seen), seen)
    assert new == {
        **row,
        "behaviors": {"refuses": False, "checked": True},
        "violations": ["plain", "insults"],
        "correct": False,
    }
    assert row["correct"] is True  # the row that was given is left as it is


@pytest.mark.parametrize(("first", "second", "wanted"), [(1, 0, True), (0, 1, False), (1, 1, True), (0, 0, False)])
def test_a_table_says_what_several_statements_come_to(first: int, second: int, wanted: bool) -> None:
    judged = _judged("kind.1", "kind.2", kind=BehaviorTable(("kind.1", "kind.2"), "0101"))
    row = {"id": "s1", "expected_behaviors": ["kind"], "behaviors": {"kind": True}}
    new = row_with_labels(row, judged, {"kind.1": bool(first), "kind.2": bool(second)})
    assert new["behaviors"] == {"kind": wanted}


def test_a_statement_can_be_a_behavior_and_a_part_of_another() -> None:
    judged = _judged("kind", polite=BehaviorTable(("kind",), "01"))
    row = {"id": "s1", "expected_behaviors": ["kind", "polite"], "behaviors": {"kind": True, "polite": True}}
    assert row_with_labels(row, judged, {"kind": False})["behaviors"] == {"kind": False, "polite": False}


def test_answers_that_decide_nothing_leave_the_trial_undecided() -> None:
    judged = _judged("kind.1", kind=BehaviorTable(("kind.1",), "0?"))
    row = {"id": "s1", "expected_behaviors": ["kind"], "behaviors": {"kind": True}}
    assert row_with_labels(row, judged, {"kind.1": True})["unjudged"] == "labels: the answers do not decide kind"
    assert row_with_labels(row, judged, {"kind.1": False})["behaviors"] == {"kind": False}


def test_a_statement_without_an_answer_leaves_the_trial_undecided() -> None:
    row = {"id": "s1", "expected_behaviors": ["a"], "behaviors": {"a": True}}
    assert row_with_labels(row, _judged("a", "b"), {"a": True})["unjudged"] == "labels: b has no answer"


def test_people_decide_what_only_the_judge_left_undecided() -> None:
    row = {"id": "s1", "must_not": ["leaks"], "unjudged": "judge: leaks: the judge cannot tell"}
    assert row_with_labels(row, _judged("leaks"), {"leaks": False}) == {
        "id": "s1",
        "must_not": ["leaks"],
        "violations": [],
    }
    checked = {**row, "unjudged": "check: other: it raised"}
    assert row_with_labels(checked, _judged("leaks"), {"leaks": False})["unjudged"] == "check: other: it raised"


def test_behaviors_written_as_a_list_stay_one() -> None:
    row = {"id": "s1", "expected_behaviors": ["A", "a", "b"], "behaviors": ["A", "b"]}
    seen = {"A": False, "a": True}
    assert row_with_labels(row, _judged(*seen), seen)["behaviors"] == ["b", "a"]


def test_a_count_of_violations_cannot_be_relabeled() -> None:
    row = {"id": "s1", "must_not": ["leaks"], "violations": 2}
    assert "unjudged" in row_with_labels(row, _judged("leaks"), {"leaks": False})


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "d", "answer"]), st.booleans(), min_size=1))
def test_the_judges_own_answers_give_the_judges_own_row(seen: dict[str, bool]) -> None:
    expected, forbidden = [n for n in seen if n in "ab"], [n for n in seen if n in "cd"]
    row: dict[str, Any] = {"id": "s1", "expected_behaviors": expected, "must_not": forbidden}
    if expected:
        row["behaviors"] = {name: seen[name] for name in expected}
    if forbidden:
        row["violations"] = [name for name in forbidden if seen[name]]
    if "answer" in seen:
        row["correct"] = seen["answer"]
    assert row_with_labels(row, _judged(*seen), seen) == row


def test_a_behavior_without_a_table_stays_undecided_however_many_statements_are_unclear() -> None:
    names = [f"kind.{number}" for number in range(60)]
    judged = _judged(*names, kind=BehaviorTable(tuple(names), ""))
    row = {"id": "s1", "expected_behaviors": ["kind"], "behaviors": {"kind": True}}
    assert row_with_labels(row, judged, {}, unclear=names)["unjudged"] == "labels: the answers do not decide kind"


def test_a_number_that_could_not_be_written_again_is_refused_with_its_line() -> None:
    line = json.dumps(_line(sample=_sample(row={"id": "s1", "trial": 1, "latency_ms": 1.5}))).replace("1.5", "-1e400")
    assert _messages(_line(by="bob"), line) == ["labels.jsonl:2: found the number -1e400, wanted one within ±1e308"]
