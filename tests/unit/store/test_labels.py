"""Labels: every line is read strictly, each label counts once, and rows become what people say of them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.errors import InputError, Problem
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


def _problems(*lines: dict[str, Any] | str) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        _read(*lines)
    assert {problem.file for problem in caught.value.problems} == {"labels.jsonl"}
    return list(caught.value.problems)


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
    ("changes", "place", "value"),
    [
        ({"observed": "yes"}, "observed", "'yes'"),
        ({"observed": 1}, "observed", "1"),
        ({"trial": "1"}, "trial", "'1'"),
        ({"trial": True}, "trial", "true"),
        ({"trial": 2**64}, "trial", "18446744073709551616"),
        ({"on": "yesterday"}, "on", "'yesterday'"),
        ({"on": "2026-02-30"}, "on", "'2026-02-30'"),
        ({"on": 20260217}, "on", "20260217"),
        ({"id": ""}, "id", "''"),
        ({"id": "a\x1b"}, "id", "'a\\x1b'"),
        ({"behavior": " "}, "behavior", "' '"),
        ({"by": "a\nb"}, "by", "'a\\nb'"),
        ({"Observed": True}, "", "'Observed', wanted 'observed'"),
        ({"samples": None}, "", "'samples', wanted 'sample'"),
        ({"sample": _sample(seed=-1)}, "sample.seed", "-1"),
        ({"sample": _sample(run="x")}, "sample.run", "'x'"),
        ({"sample": _sample(stratum="best")}, "sample.stratum", "'best'"),
        ({"sample": _sample(drawn=3, of=2)}, "sample.drawn", "3 of 2"),
        ({"sample": _sample(drawn=0)}, "sample.drawn", "0 of 9"),
        ({"sample": []}, "sample", "list"),
        ({"behavior": "other", "sample": _sample()}, "behavior", "'other', wanted 'refuses'"),
        (
            {"sample": _sample(row={"id": "s2", "trial": 1})},
            "sample.row",
            "'s1', trial 1",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_line(changes: dict[str, Any], place: str, value: str) -> None:
    (found,) = _problems(_line(by="zoe"), _line(**changes))
    assert (found.code, found.line) == ("label.damaged", 2)
    assert found.message.startswith(f"{place}: " if place else "")
    assert value in found.message


def test_a_missing_key_is_named() -> None:
    line = _line()
    del line["observed"]
    (found,) = _problems(line)
    assert (found.line, found.message.split(": ")[0]) == (1, "observed")


@pytest.mark.parametrize(
    ("table", "of", "key", "value"),
    [
        ("01", ["refuses", "x"], "of", "'x'"),
        ("0", ["refuses"], "table", "'0'"),
        ("0x", ["refuses"], "table", "'0x'"),
    ],
)
def test_a_table_must_fit_its_statements(table: str, of: list[str], key: str, value: str) -> None:
    judged = {**_sample()["judged"], "behaviors": {"b": {"of": of, "table": table}}}
    found = _problems(_line(sample=_sample(judged=judged)))[0]
    assert found.code == "label.damaged"
    assert (found.line, found.message.split(": ")[0]) == (1, f"sample.judged.behaviors.b.{key}")
    assert value in found.message


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("{", "column 2"),
        ("[]", "list"),
        ('{"id": NaN}', "NaN"),
        ('{"id": "a", "id": "b"}', "'id'"),
        ('{"id": "\\ud800"}', ""),
        ("[" * 100_000, ""),
        ('{"trial": ' + "9" * 10_000 + "}", "10000 digits"),
    ],
)
def test_hostile_text_is_refused_with_its_line(line: str, value: str) -> None:
    (found,) = _problems(line)
    assert (found.code, found.line) == ("label.damaged", 1)
    assert value in found.message


def test_every_problem_is_reported_up_to_twenty() -> None:
    assert len(_problems(*[_line(trial=None)] * 50)) == 20


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00", b"\x80"])
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_labels(path)
    assert [problem.code for problem in caught.value.problems] == ["file.not-utf8"]


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_labels(tmp_path / "labels.jsonl")
    assert [problem.code for problem in caught.value.problems] == ["file.missing"]


# --- the same label twice --------------------------------------------------------------------


def test_the_same_label_twice_counts_once() -> None:
    assert len(_read(_line(), _line()).lines) == 1


def test_a_contradiction_names_both_lines() -> None:
    (found,) = _problems(_line(), _line(by="bob"), _line(observed=None))
    assert (found.code, found.line) == ("label.contradiction", 3)
    for value in ("null", "line 1", "true", "'refuses'", "'s1'", "trial 1", "'ada'"):
        assert value in found.message


def test_one_person_may_label_the_same_trial_of_two_runs() -> None:
    labels = _read(_line(sample=_sample()), _line(observed=False, sample=_sample(run="c" * 64)))
    assert [trial.statements["refuses"][1] for trial in labels.trials] == [True, False]


def test_labels_of_one_trial_agree_on_what_the_judge_said() -> None:
    other = {**_sample()["judged"], "statements": {"refuses": _statement("not_observed")}}
    (found,) = _problems(_line(sample=_sample()), _line(by="bob", sample=_sample(judged=other)))
    assert (found.code, found.line) == ("label.other-judgment", 2)
    for value in ("'s1'", "trial 1", "line 1"):
        assert value in found.message


def test_two_draws_of_the_same_trial_are_one_trial() -> None:
    labels = _read(_line(sample=_sample()), _line(by="bob", observed=False, sample=_sample(seed=5, drawn=4)))
    (trial,) = labels.trials
    assert trial.statements == {"refuses": ("observed", None)}
    assert trial.as_labeled["behaviors"] == {"refuses": False}, "what people do not agree on counts as a failure"
    assert not trial.is_answered
    assert labels.incomplete == 0


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"behaviors": [{"x": 1}]}, "sample.row.behaviors"),
        ({"behaviors": [["a"]]}, "sample.row.behaviors"),
        ({"must_not": ["refuses"], "violations": [["a"]]}, "sample.row.violations"),
    ],
)
def test_a_row_that_no_results_have_is_refused(keys: dict[str, Any], place: str) -> None:
    row = {"id": "s1", "trial": 1, **keys}
    found = [(problem.code, problem.message.split(": ")[0]) for problem in _problems(_line(sample=_sample(row=row)))]
    assert ("label.damaged", place) in found


def test_a_size_beyond_all_numbers_is_refused() -> None:
    found = [(problem.code, problem.message.split(": ")[0]) for problem in _problems(_line(sample=_sample(of=10**400)))]
    assert ("label.damaged", "sample.of") in found


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
    (found,) = _problems(_line(by="bob"), line)
    assert (found.code, found.line) == ("label.damaged", 2)
    assert "-1e400" in found.message
