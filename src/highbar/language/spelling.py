"""A word and the candidates for it → the one that was meant: for "did you mean", and for near misses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from highbar.language.limits import LONGEST_WORD, SHORTEST_OF_SEVERAL, SHORTEST_SLIP

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

_READ_AS = str.maketrans("1!|i0@4$5378", "lllloaassetb")
"""Digits and signs as the letters that they stand for in a word; `1` stands for both `i` and `l`, so these are one."""

_NEGATING = (
    "no not nto nt non none nor never neither without except cannot cant dont doesnt isnt wont mustnt mustnot doesnot"
    " donot isnot shouldnt shouldnot avoid avoids exclude excludes excluding lack lacks omit omits"
)
_NEGATIONS = frozenset(_NEGATING.split())
"""Words that turn what is said beside them into its opposite."""
_PREFIXES = (*sorted(_NEGATIONS), "un", "in", "il", "im", "ir", "dis", "mis", "anti")
"""The same and syllables, joined to a word: `notcontains`, `incorrect`."""
_AUXILIARIES = frozenset({"do", "does", "did", "is", "be", "must", "should", "may", "has", "have", "will", "can", "to"})
_OPPOSITES = (
    *(("min", "max"), ("minimum", "maximum"), ("least", "most"), ("include", "exclude"), ("over", "under")),
    *(("above", "below"), ("lower", "higher"), ("before", "after"), ("pass", "fail"), ("passed", "failed")),
    *(("found", "missed"), ("expected", "forbidden"), ("first", "last")),
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
    """The candidate with the fewest edits from `word`, and at most one in three letters; None if there is none.

    It never means the opposite: whoever follows the hint `contains` for `not_contains` demands what must not be.

    >>> nearest("contians", ["contains"]), nearest("not_contains", ["contains"]), nearest("max_age", ["min_age"])
    ('contains', None, None)
    >>> nearest("call", ["all", "calls"])
    'calls'
    """
    allowed = max(1, min(len(word), LONGEST_WORD) // 3)
    # Of candidates that are as near, people rarely mistype the first letter: `call` is rather `calls` than `all`.
    ranked = sorted((_distance(word.lower(), one.lower()), one[:1] != word[:1], one) for one in set(candidates))
    near = (candidate for distance, _, candidate in ranked if distance <= allowed)
    return next((candidate for candidate in near if not _are_opposite(word, candidate)), None)


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The hint for an unknown `word`; None if no candidate is near."""
    found = nearest(word, candidates)
    return f"did you mean '{found}'?" if found else None


def negated(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` negates; "" if it negates what is not said, as `excludes` does; None if it does not.

    >>> negated("does_not_contain", ["contains"]), negated("notContains", ["contains"]), negated("without", ["x"])
    ('contains', 'contains', '')
    """
    parts = _parts(word)
    if not _NEGATIONS.isdisjoint(parts):
        rest = "_".join(part for part in parts if part not in _NEGATIONS and part not in _AUXILIARIES)
        return _meant(rest, candidates) if rest else ""
    bare = "".join(parts)
    rests = (bare.removeprefix(prefix) for prefix in _PREFIXES if bare.startswith(prefix))
    return next((found for rest in rests if (found := _meant(rest, candidates))), None)


def near_miss(word: str, candidates: Iterable[str], slips: int = 1) -> str | None:
    """The candidate that `word` is probably meant to be; None if it is a candidate itself, or clearly another word.

    Both are folded first, so that words that look the same are the same. Then a difference in the plural or in
    underscores is a near miss. In words of five or more letters, so are other separators, a digit in place of the
    letter that it looks like, and one edit (in long words as many as `slips`). Any other digit, and an ideograph, carry
    meaning of their own: `tier1` and `tier2` are two names.

    >>> near_miss("Adverserial", ["adversarial"]), near_miss("Violation", ["violations"]), near_miss("a", ["a", "b"])
    ('adversarial', 'violations', None)
    >>> near_miss("adversaria1.", ["adversarial"]), near_miss("advreserials", ["adversarial"], slips=2)
    ('adversarial', 'adversarial')
    >>> near_miss("tier2", ["tier1"]) is near_miss("高風險測試", ["低風險測試"]) is None
    True
    """
    return _near_miss(word, frozenset(candidates), slips)


def same_word(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` is, apart from look-alikes, case, underscores and the plural.

    >>> same_word("expectedOutput", ["expected_output"]), same_word("level", ["never"])
    ('expected_output', None)
    """
    bare = _bare(folded_word(word))
    return next((name for name, _, bare_name in _folded_words(frozenset(candidates)) if bare == bare_name), None)


def _meant(word: str, candidates: Iterable[str]) -> str | None:
    return word if word in candidates else near_miss(word, candidates)


def _are_opposite(first: str, second: str) -> bool:
    """Whether one of two words that are nearly the same negates the other, or says the opposite."""
    parts, others = frozenset(_parts(first)), frozenset(_parts(second))
    if _NEGATIONS.isdisjoint(parts) != _NEGATIONS.isdisjoint(others):
        return True
    differing = (parts - others, others - parts)
    if any(
        (one in left and other in right) for one, other in _OPPOSITES for left, right in (differing, differing[::-1])
    ):
        return True
    return _is_joined("".join(_parts(first)), "".join(_parts(second)))


def _is_joined(first: str, second: str) -> bool:
    """Whether one of two words is nearer to the other without a negating syllable at its start, which that has not."""
    apart = _distance(first, second)
    return any(
        word.startswith(prefix) and not other.startswith(prefix) and _distance(word[len(prefix) :], other) < apart
        for word, other in ((first, second), (second, first))
        for prefix in _PREFIXES
    )


def _parts(word: str) -> list[str]:
    """The words in a name: `not-contains`, `notContains` and `!contains` have two."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub("^[!~\u00ac]", "not_", word))
    return [part for part in re.split(r"[\W_]+", re.sub("['\u2019]", "", spaced.lower())) if part]


@lru_cache(maxsize=4096)
def _near_miss(word: str, candidates: frozenset[str], slips: int) -> str | None:
    """`near_miss`, cached: thousands of scenarios have the same few columns and categories."""
    if word in candidates:
        return None
    folded = folded_word(word)
    bare = _bare(folded)
    for name, folded_name, bare_name in _folded_words(candidates):
        if bare == bare_name or _is_misspelled(folded, folded_name, 1) or _is_misspelled(bare, bare_name, slips):
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


def _is_misspelled(first: str, second: str, slips: int) -> bool:
    """Whether two folded words read the same, or are so few edits apart and so long that these are slips."""
    if min(len(first), len(second)) < SHORTEST_SLIP or not (_is_alphabetic(first) or _is_alphabetic(second)):
        return False
    signs = "".join(character for character in first + second if unicodedata.category(character)[0] in "PS")
    first, second = first.strip(signs), second.strip(signs)
    if _read(first, signs) == _read(second, signs):
        return True
    return _edits_apart(first, second, slips if len(second) >= SHORTEST_OF_SEVERAL else 1)


def _is_alphabetic(folded: str) -> bool:
    return folded.replace("_", "a").isalpha() and not _is_ideographic(folded)


def _is_ideographic(folded: str) -> bool:
    return not folded.isascii() and re.search(_IDEOGRAPH, folded) is not None


def _read(folded: str, signs: str = "") -> str:
    """The letters of a folded word as they are read, without some signs."""
    read = folded.translate(_READ_AS)
    return read.translate(dict.fromkeys(map(ord, signs))) if signs else read


def _common(first: str, second: str) -> int:
    """How many letters two words have in common at their start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _edits_apart(first: str, second: str, most: int) -> bool:
    """Whether inserting, deleting, replacing or swapping at most so many letters turns one word into the other."""
    at = _common(_read(first), _read(second))
    first, second = first[at:], second[at:]
    if not first and not second:
        return True
    if not most or abs(len(first) - len(second)) > most:
        return False
    edited = [(first[1:], second, first[:1]), (first, second[1:], second[:1])]
    edited.append((first[1:], second[1:], first[:1] + second[:1] if first and second else ""))
    if first[:2] == second[1::-1]:
        edited.append((first[2:], second[2:], first[:2]))
    return any(_is_alphabetic(letters) and _edits_apart(left, right, most - 1) for left, right, letters in edited)


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
