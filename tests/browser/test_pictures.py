"""The pictures of the documentation."""

from __future__ import annotations

from tests.browser.pictures import PICTURES, STATES, shown


def test_every_picture_is_one_that_the_command_takes_and_a_page_shows() -> None:
    there = {file.stem for file in PICTURES.iterdir()}
    assert there == shown()
    assert there <= set(STATES)


def test_the_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 500_000
