"""One answer in every wire form is graded alike, and no text of a reply is unread. `scripts/fuzz 600 wires unread`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.wires import attempt, attempt_unread

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_is_graded_alike_in_every_wire_form(tmp_path: Path, seed: int) -> None:
    assert attempt(seed, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_no_text_below_a_message_or_choice_is_unread(tmp_path: Path, seed: int) -> None:
    assert attempt_unread(seed, tmp_path)
