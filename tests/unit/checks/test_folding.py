"""Forms in which texts are compared, and the way back."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from highbar.checks import folding
from highbar.checks.folding import LOOK_ALIKES

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("aß \u200b\u00a0éİǆ１Ⅷ\u0301\u0323가한ﷺ")), max_size=60)


def test_a_look_alike_is_a_character_that_compatibility_form_keeps():
    for letter, others in LOOK_ALIKES.items():
        for other in others:
            assert unicodedata.normalize("NFKD", other) == other
            folded = folding.strict(other, accents=False).text
            assert letter in folding.PLACEHOLDERS.get(folded, folded)


def test_every_character_folds_into_what_stays_as_it_is():
    for code in (*range(0x3000), *range(0xA000, 0x11000), *range(0x1D400, 0x1D800), *range(0xE0000, 0xE0200)):
        for accents in (False, True):
            folded = folding.strict(chr(code), accents=accents).text
            assert folding.strict(folded, accents=accents).text == folded


@given(TEXTS)
def test_the_simple_form_has_the_same_length(text):
    assert len(folding.simple(text)) == len(text)


@given(TEXTS, st.data())
def test_a_stretch_of_the_original_folds_into_at_least_what_was_found(text, data):
    for folded in (folding.plain_form(text), folding.strict(text, accents=False), folding.strict(text, accents=True)):
        if folded.text:
            start = data.draw(st.integers(0, len(folded.text) - 1))
            end = data.draw(st.integers(start + 1, len(folded.text)))
            stretch = folded.stretch(start, end)
            assert stretch in text
            again = folding._fold(stretch, folded.table).text
            assert set(folded.text[start:end].strip()) <= set(again)


def test_a_stretch_in_a_long_text_is_found():
    text = "ß  " * 10_000 + "needle" + "é" * 10_000
    folded = folding.plain_form(text)
    at = folded.text.find("needle")
    assert folded.stretch(at, at + 6) == "needle"
