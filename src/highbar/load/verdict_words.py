"""The values of a column that may say whether a trial passed → how a mapping turns them into true and false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from highbar.language.tool_names import scalar_text
from highbar.load import names
from highbar.load.candidates import Candidate, RowField
from highbar.load.hints import is_number_text

_UNREAD_DOUBT = "say what its values mean: values: { …: true, …: false }"
FINISHED_DOUBT = "is this a good answer, or only a run that came to its end?"
LONGEST_WORD = 20
"""Characters of a word that may mean true or false."""
MOST_WORDS = 12
"""Different words in a column of verdicts: a column with more of them holds texts."""
_OPPOSITES = {**dict(names.PAIRS), **{bad: good for good, bad in reversed(names.PAIRS)}}


def verdict_candidate(field: RowField, group: int, *, cells: bool) -> Candidate | None:
    """The field as a candidate for verdicts, with the meaning of its values; None if they are no verdicts."""
    name, values, given = names.plain_name(field.path[-1]), field.values, field.given
    # Whether the name alone says that they are verdicts. 0 and 1 inside an object, such as `scores`, may be a score,
    # whose direction is not guessed.
    clear = group < 2 and len(field.path) == 1
    if all(isinstance(value, bool) for value in given) or (cells and _are_truth_cells(given)):
        reading = tuple(None if value is None else str(value).lower() == "true" for value in values)
        finished = name.removeprefix("is_") in names.FINISHED
        return Candidate(field, group=group, reading=reading, finished=finished)
    texts = list(dict.fromkeys(scalar_text(value) for value in given))
    if None in texts or len(texts) > MOST_WORDS or (any(map(is_number_text, texts)) and not clear):
        return None
    by_word = {text: _meaning(text) for text in texts if text is not None}
    unknown = [text for text, meaning in by_word.items() if meaning is None]
    if any(map(is_number_text, unknown)):
        return None
    if not any(meaning in (True, False) for meaning in by_word.values()):
        unread = Candidate(field, doubt=_UNREAD_DOUBT, group=group, unread=True)
        return unread if _are_words(unknown, given, clear=clear) else None
    # A trial that crashed has not passed: its word is false here, and `guess` lets it feed `error`, too.
    table = {text: meaning is True for text, meaning in by_word.items() if meaning in (True, False, "crashed")}
    options: list[tuple[str, Any]] = [("values", {**table, **_opposites(table)})]
    unjudged = tuple(text for text, meaning in by_word.items() if meaning == "unjudged")
    if unjudged:
        options.append(("when", (field, unjudged)))
    return Candidate(
        field,
        tuple(options),
        doubt=_doubt(name, by_word, unknown),
        group=group,
        reading=tuple(None if value is None else table.get(scalar_text(value) or "") for value in values),
        finished=bool(_good(by_word) & names.FINISHED),
    )


def _are_truth_cells(given: Sequence[Any]) -> bool:
    return all(str(value).lower() in ("true", "false") for value in given)


def _are_words(unknown: Sequence[str], given: Sequence[Any], *, clear: bool) -> bool:
    """Whether unknown texts are verdicts and not answers: by the column's name, or since they are short and repeat."""
    words = [text for text in unknown if text.strip().lower() not in names.FINISHED]
    short = all(len(text) <= LONGEST_WORD and " " not in text for text in words)
    return bool(words) and (clear or (short and len(given) > len({*map(str, given)})))


def _meaning(text: str) -> bool | str | None:
    word = text.strip().lower()
    if word in names.GOOD or word in names.BAD:
        return word in names.GOOD
    if word in names.CRASHED:
        return "crashed"
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


def _doubt(name: str, by_word: Mapping[str, bool | str | None], unknown: Sequence[str]) -> str | None:
    if unknown:
        return "say what the other values mean"
    return FINISHED_DOUBT if name in names.STATES and _good(by_word) & names.FINISHED else None


def _good(by_word: Mapping[str, bool | str | None]) -> set[str]:
    return {text.strip().lower() for text, meaning in by_word.items() if meaning is True}
