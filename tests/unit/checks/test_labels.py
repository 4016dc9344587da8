"""The columns `correct` and `predicted`."""

import pytest

from highbar import checks
from tests.unit.checks.answers import said

LABELS = ["Spam", "not spam", "N/A"]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Spam", "Spam"),
        ("**spam.**", "Spam"),
        ("  NOT  SPAM!", "not spam"),
        ("NotSpam", "not spam"),
        ("n/a", "N/A"),
        ("It is spam", "It is spam"),
        ("x" * 300, "x" * 200 + "…"),
        ("...", "..."),
        ("", None),
        (None, None),
    ],
)
def test_the_label_that_equals_the_reply_as_the_suite_spells_it(reply, label):
    assert checks.predicted(said(reply), LABELS) == label


def test_a_reply_that_is_cut_is_no_label():
    label = "a" * 200
    assert checks.predicted(said(label), [label]) == label
    assert checks.predicted(said(label + " is wrong"), [label]) != label


def test_the_last_reply_counts():
    assert checks.predicted(said("spam", "not spam"), LABELS) == "not spam"
    assert checks.predicted(said("spam", None), LABELS) is None


def test_labels_that_are_true_and_false():
    assert checks.predicted(said("True."), [True, False]) is True
    assert checks.predicted(said("no"), [True, False]) == "no"


def test_a_reply_that_could_be_two_labels_is_none_of_them():
    assert checks.predicted(said("us"), ["US", "us"]) == "us"
    assert checks.predicted(said("Us"), ["US", "us"]) == "Us"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ('{"label": "spam"}', "Spam"),
        ('```\n{"label": "spam"}\n```', "Spam"),
        ('{"label": true}', "true"),
        ('{"label": 7}', "7"),
        ('{"label": ["spam"]}', None),
        ('{"label": null}', None),
        ("{}", None),
        ("spam", None),
        ("[" * 100_000, None),
        (None, None),
    ],
)
def test_a_label_in_json(reply, label):
    predict, problems = checks.read_predict({"json": "/label"})
    assert problems == ()
    assert checks.predicted(said(reply), LABELS, predict) == label


@pytest.mark.parametrize("value", [None, {}, {"json": 1}, {"json": "label"}, {"jsn": "/label"}, {"json": "/a", "x": 1}])
def test_where_the_label_is_must_be_a_pointer(value):
    predict, problems = checks.read_predict(value)
    assert predict is None
    assert problems


def test_correct_is_what_the_check_under_answer_comes_to():
    check = checks.read_answer("10").check
    assert checks.apply(check, said("10.")).observed is True
    assert checks.apply(check, said("at 10")).observed is False
    assert checks.apply(check, said(None)).observed is False
