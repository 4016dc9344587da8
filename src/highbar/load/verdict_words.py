"""The values of a column that may say whether a trial passed → how a mapping turns them into true and false."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highbar.language.tool_names import scalar_text
from highbar.load import names
from highbar.load.candidates import Candidate, RowField
from highbar.load.hints import is_number_text

FINISHED_DOUBT = "is this a good answer, or only a run that came to its end?"
LONGEST_WORD = 20
"""Characters of a word that may mean true or false."""
MOST_WORDS = 12
"""Different words in a column of verdicts: a column with more of them holds texts."""
_OPPOSITES = {**dict(names.PAIRS), **{bad: good for good, bad in reversed(names.PAIRS)}}


def verdict_candidate(field: RowField, group: int, *, cells: bool) -> Candidate | None:
    """The field as a candidate for verdicts, with the meaning of its values; None if they are no verdicts."""
    given = field.given
    # Whether the name alone says that they are verdicts. 0 and 1 inside an object, such as `scores`, may be a score,
    # whose direction is not guessed.
    clear = group < 2 and len(field.path) == 1
    if all(isinstance(value, bool) or (cells and str(value).lower() in ("true", "false")) for value in given):
        return Candidate(field, group=group)
    texts = [*dict.fromkeys(text for value in given if (text := scalar_text(value)) is not None)]
    numbers = [text for text in texts if is_number_text(text)]
    if any(scalar_text(value) is None for value in given) or len(texts) > MOST_WORDS or (numbers and not clear):
        return None
    by_word = {text: _meaning(text) for text in texts}
    table = {text: meaning for text, meaning in by_word.items() if isinstance(meaning, bool)}
    unknown = [text for text, meaning in by_word.items() if meaning is None]
    if not table:
        return Candidate(field, doubt=_UNREAD, group=group) if _are_words(unknown, given, clear=clear) else None
    unjudged = tuple(text for text, meaning in by_word.items() if meaning == "unjudged")
    options: list[tuple[str, Any]] = [("values", {**table, **_opposites(table)})]
    options += [("when", (field, unjudged))] if unjudged else []
    good = {text.strip().lower() for text, meaning in table.items() if meaning}
    ended = names.plain_name(field.path[-1]) in names.STATES and bool(good & names.FINISHED)
    doubt = "say what the other values mean" if unknown else FINISHED_DOUBT if ended else None
    return None if set(numbers) & {*unknown} else Candidate(field, tuple(options), doubt=doubt, group=group)


_UNREAD = "say what its values mean: values: { …: true, …: false }"


def _are_words(unknown: list[str], given: list[Any], *, clear: bool) -> bool:
    """Whether unknown texts are verdicts and not answers: by the column's name, or since they are short and repeat."""
    words = [text for text in unknown if text.strip().lower() not in names.FINISHED]
    short = all(len(text) <= LONGEST_WORD and " " not in text for text in words)
    return bool(words) and (clear or (short and len(given) > len({*map(str, given)})))


def _meaning(text: str) -> bool | str | None:
    """True or false, `unjudged`, or None if the word is not known. A trial that crashed has not passed."""
    word = text.strip().lower()
    if word in names.GOOD or word in names.BAD or word in names.CRASHED:
        return word in names.GOOD
    return "unjudged" if word in names.UNJUDGED else None


def _opposites(table: Mapping[str, bool]) -> dict[str, bool]:
    """The opposites of the sample's words, in the same case: the rest of the file may have them."""
    found: dict[str, bool] = {}
    for text, passed in table.items():
        word = text.strip()
        other = _OPPOSITES.get(word.lower())
        if other is not None:
            spelled = other.upper() if word.isupper() else other.capitalize() if word.istitle() else other
            if spelled not in table:
                found[spelled] = not passed
    return found
