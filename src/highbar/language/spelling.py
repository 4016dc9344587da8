"""A word and the candidates for it → the one that was meant: for "did you mean", and for near misses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from highbar.language.limits import LONGEST_WORD, SHORTEST_SLIP

_UNSEEN = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp"})
# Patterns as text: few policies have a word beyond ASCII, and these take 4 ms to compile.
_INVISIBLE = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
"""Characters that are invisible, though Unicode counts them as letters, marks or symbols."""
_IDEOGRAPH = (
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00017000-\U00018dff\U00020000-\U0003ffff]"
)
"""Characters that each mean a word or a syllable, Korean blocks included: one of them can turn "high" into "low"."""
_SAME_LOOK = str.maketrans(
    # Cyrillic, Greek, Armenian, Latin beyond ASCII and Cherokee, after case folding.
    "авсԁеёһіїјкӏмнорԛгѕтуүѵԝхьαβϲεγηικμνορσςτυχωօսհոցքզյıɑɡɩɪʏɴʀʟɢʙʜᴀᴄᴅᴇꜰᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡᴢđøłħᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏚᏟᏢᏦᏞᏴᏙ",
    "abcdeehiijklmhopqrstyyvwxbabceynikmvopostuxwouhngpqjiagiiynrlgbhacdefjkmopstuvwzdolhdrtajewmhgzscpklbv",
)

_REPEATED = r"pass([@^])([1-9][0-9]*)"


def spelled_out(name: str) -> str:
    """The name of a metric as reports write it: `pass@3` and `pass^3` are other spellings.

    >>> spelled_out("pass@3"), spelled_out("pass^3"), spelled_out("accuracy")
    ('pass_at_3', 'pass_hat_3', 'accuracy')
    """
    found = re.fullmatch(_REPEATED, name)
    return f"pass_{'at' if found[1] == '@' else 'hat'}_{found[2]}" if found else name


def spellings(name: str) -> tuple[str, ...]:
    """The ways to write the name of a metric.

    >>> spellings("pass_at_3"), spellings("accuracy")
    (('pass_at_3', 'pass@3'), ('accuracy',))
    """
    other = name.replace("pass_at_", "pass@").replace("pass_hat_", "pass^")
    return (name, other) if other != name and spelled_out(other) == name else (name,)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate with the fewest edits from `word`; None if that is more than one edit in three letters."""
    allowed = max(1, min(len(word), LONGEST_WORD) // 3)
    ranked = sorted((_distance(word.lower(), candidate.lower()), candidate) for candidate in set(candidates))
    return ranked[0][1] if ranked and ranked[0][0] <= allowed else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The hint for an unknown `word`; None if no candidate is near."""
    found = nearest(word, candidates)
    return f"did you mean '{found}'?" if found else None


def near_miss(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` is probably meant to be; None if it is a candidate itself, or clearly another word.

    Both are folded first, so that words that look the same are the same. Then a difference in the plural or in
    underscores, or one edit between words of five or more letters, is a near miss. A digit or an ideograph carries
    meaning of its own: `tier1` and `tier2` are two names.

    >>> near_miss("Adverserial", ["adversarial"]), near_miss("Violation", ["violations"]), near_miss("a", ["a", "b"])
    ('adversarial', 'violations', None)
    >>> near_miss("tier2", ["tier1"]) is near_miss("高風險測試", ["低風險測試"]) is None
    True
    """
    return _near_miss(word, frozenset(candidates))


def same_word(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` is, apart from look-alikes, case, underscores and the plural.

    >>> same_word("expectedOutput", ["expected_output"]), same_word("level", ["never"])
    ('expected_output', None)
    """
    bare = _bare(folded_word(word))
    return next((name for name, _, bare_name in _folded_words(frozenset(candidates)) if bare == bare_name), None)


@lru_cache(maxsize=4096)
def _near_miss(word: str, candidates: frozenset[str]) -> str | None:
    """`near_miss`, cached: thousands of scenarios have the same few columns and categories."""
    if word in candidates:
        return None
    folded = folded_word(word)
    bare = _bare(folded)
    for name, folded_name, bare_name in _folded_words(candidates):
        if bare == bare_name or _is_misspelled(folded, folded_name):
            return name
    return None


@lru_cache(maxsize=64)
def _folded_words(candidates: frozenset[str]) -> tuple[tuple[str, str, str], ...]:
    """Each candidate as written, folded, and bare; cached, since the same few are compared with thousands of words."""
    return tuple((name, folded_word(name), _bare(folded_word(name))) for name in sorted(candidates))


def folded_word(word: str) -> str:
    """A word as a reader sees it: without case, width, spaces and invisible characters, with look-alikes as a to z.

    >>> folded_word("Ｐassed\u200b"), folded_word("раssеd"), folded_word("happy-path")
    ('passed', 'passed', 'happy_path')
    """
    if word.isascii():
        folded = word.lower()
    else:
        # Folding the case can undo the normal form, so that is restored before look-alikes are replaced.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold()).translate(_SAME_LOOK)
        folded = re.sub(_INVISIBLE, "", "".join(c for c in folded if unicodedata.category(c) not in _UNSEEN))
    return "".join(folded.replace("-", "_").split())


def _bare(folded: str) -> str:
    """A folded word without underscores and without its plural `s`."""
    return folded.replace("_", "").removesuffix("s")


def _is_misspelled(first: str, second: str) -> bool:
    """Whether two folded words are one edit apart, and both are alphabetic and long enough for that to be a slip."""
    if min(len(first), len(second)) < SHORTEST_SLIP or abs(len(first) - len(second)) > 1:
        return False
    return _one_edit_apart(first, second) and _is_alphabetic(first) and _is_alphabetic(second)


def _is_alphabetic(folded: str) -> bool:
    if not folded.replace("_", "a").isalpha():
        return False
    return folded.isascii() or re.search(_IDEOGRAPH, folded) is None


def _one_edit_apart(first: str, second: str) -> bool:
    """Whether inserting, deleting, replacing or swapping one letter turns one word into the other."""
    if len(first) > len(second):
        first, second = second, first
    at = next((i for i, character in enumerate(first) if character != second[i]), len(first))
    if len(first) < len(second):
        return first[at:] == second[at + 1 :]
    swapped = first[at : at + 2] == second[at : at + 2][::-1] and first[at + 2 :] == second[at + 2 :]
    return first != second and (swapped or first[at + 1 :] == second[at + 1 :])


def _distance(first: str, second: str) -> int:
    """The fewest letters to insert, delete, replace, or swap with their neighbor, to turn one word into the other.

    `LONGEST_WORD` if the words are too long to compare.
    """
    if abs(len(first) - len(second)) > LONGEST_WORD or max(len(first), len(second)) > 2 * LONGEST_WORD:
        return LONGEST_WORD
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, character in enumerate(first, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (character != other))
            if i > 1 and j > 1 and character == second[j - 2] and first[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
