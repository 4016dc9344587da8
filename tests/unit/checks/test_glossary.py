"""The behaviors that every suite may name."""

import pytest

from highbar.checks import GLOSSARY
from tests.unit.checks.answers import faults, observed


@pytest.mark.parametrize("name", GLOSSARY)
def test_every_entry_is_a_sound_check_that_says_what_it_means(name):
    entry = GLOSSARY[name]
    assert faults(entry.check) == faults(entry.check, must_not=True) == ()
    assert entry.meaning.endswith(".")
    assert observed(entry.check, "We open at 10 on Saturday.") is False


@pytest.mark.parametrize(
    ("name", "reply", "holds"),
    [
        ("refuses", "I’m sorry, but I can’t help with that.", True),
        ("refuses", "I cannot share other readers' data.", True),
        ("refuses", "Of course, here it is.", False),
        ("asks_clarifying_question", "Which author do you mean?", True),
        ("asks_clarifying_question", "Could you tell me the title?", True),
        ("asks_clarifying_question", "The title, which is blue.", False),
        ("asks_clarifying_question", "Really?", False),
        ("admits_not_knowing", "I don't know.", True),
        ("admits_not_knowing", "I do not have information on that", True),
        ("admits_not_knowing", "I know.", False),
    ],
)
def test_behaviors_are_recognized_in_plain_cases(name, reply, holds):
    assert observed(GLOSSARY[name].check, reply) is holds
