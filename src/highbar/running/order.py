"""Which scenarios a run has, and in which order their trials begin."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from highbar.errors import InputError, Problem
from highbar.language.spelling import did_you_mean
from highbar.store.run_document import Chosen
from highbar.suite import Suite


def permutation(ids: Sequence[str], seed: int) -> tuple[str, ...]:
    """The ids in a random order that depends only on the seed and the ids, not on their order or on Python's version.

    They are sorted by the SHA-256 of seed and id. `random.shuffle` may change its algorithm between versions, and with
    it one more id would move all others.

    >>> permutation(["A", "B", "C", "D"], 1), permutation(["D", "C", "A"], 1)
    (('B', 'D', 'C', 'A'), ('D', 'C', 'A'))
    """
    return tuple(sorted(ids, key=lambda id_: (_place(id_, seed), id_)))


def _place(id_: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{id_}".encode("utf-8", "surrogatepass")).digest()


class StartOrder:
    """The remaining trials, scenario by scenario, for a run that stops when it is decided.

    A scenario counts once all its trials have ended. A rule sees the longest prefix of its scenarios, in the order of
    the permutation, that have all ended. So the next scenario of the permutation, with all its trials, helps most.

    Two kinds of scenarios may begin earlier. The permutation itself stays the same, so this changes no error rate:

    - `first`: scenarios that must pass. One that fails decides the verdict, at the price of one scenario.
    - after `focus`: scenarios that open rules are about. A scenario that no open rule sees can change nothing.

    Each scenario that begins is the next one of some open rule, so if the version passes, no other order needs fewer.
    """

    def __init__(self, left: Mapping[str, Sequence[int]], first: Collection[str] = ()) -> None:
        ids = [id_ for id_ in left if id_ in first] + [id_ for id_ in left if id_ not in first]
        self._left = {id_: left[id_] for id_ in ids}  # in the order in which they begin without a focus
        self._next = deque(ids)
        self._trials: Iterator[tuple[str, int]] = iter(())  # of the scenario that has begun

    def focus(self, needed: Collection[str]) -> None:
        """Begin these scenarios before all others from now on."""
        self._next = deque([id_ for id_ in self._left if id_ in needed])
        self._next += [id_ for id_ in self._left if id_ not in needed]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return self

    def __next__(self) -> tuple[str, int]:
        while (found := next(self._trials, None)) is None:
            if not self._next:
                raise StopIteration
            id_ = self._next.popleft()
            self._trials = ((id_, trial) for trial in self._left.pop(id_))
        return found


def shard_of(id_: str, shards: int) -> int:
    """The number of the shard that a scenario belongs to, from 1: the SHA-256 of its id modulo `shards`, plus 1.

    >>> [shard_of(id_, 3) for id_ in ("A", "B", "C", "D")]
    [2, 1, 1, 2]
    """
    digest = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest, "big") % shards + 1


def choose_scenarios(suite: Suite, chosen: Chosen) -> tuple[str, ...]:
    """The ids of the chosen scenarios, in the order of the suite. Raises InputError with all problems of the choice.

    `only` and `category` both have to match. `limit` takes the first ones in the order of the suite, not of the
    permutation: users who say `--limit 3` expect those that they see first in their file. `shard` then takes its part
    of these, which may be empty.
    """
    problems = [*_unmatched(suite, chosen)]
    if chosen.limit is not None and chosen.limit < 1:
        problems.append(Problem("option.bad-value", f"--limit {chosen.limit}: wanted a whole number from 1"))
    ids = tuple(_matching(suite, chosen)) if not problems else ()
    if not ids and not problems:
        problems.append(Problem("option.no-match", "no scenario matches both --only and --category"))
    if problems:
        raise InputError(*problems)
    chosen_ids = ids[: chosen.limit]
    if chosen.shard is None:
        return chosen_ids
    number, shards = chosen.shard
    return tuple(id_ for id_ in chosen_ids if shard_of(id_, shards) == number)


def _matching(suite: Suite, chosen: Chosen) -> Iterator[str]:
    patterns = [_pattern(word) for word in chosen.only]
    for id_, scenario in suite.scenarios.items():
        if chosen.category and scenario.columns.get("category") not in chosen.category:
            continue
        if not chosen.only or id_ in chosen.only or any(pattern.fullmatch(id_) for pattern in patterns):
            yield id_


def _unmatched(suite: Suite, chosen: Chosen) -> Iterator[Problem]:
    """A problem for each word that matches nothing, even if another one matches: the run would lack what was asked."""
    for word in chosen.only:
        if word not in suite.scenarios and not any(map(_pattern(word).fullmatch, suite.scenarios)):
            yield Problem(
                "option.no-match",
                f"--only {word}: no scenario of the suite matches",
                hint=did_you_mean(word, suite.scenarios),
            )
    categories = {scenario.columns.get("category") for scenario in suite.scenarios.values()}
    known = sorted(category for category in categories if category is not None)
    for word in chosen.category:
        if word not in known:
            yield Problem(
                "option.no-match", f"--category {word}: no scenario of the suite has it", hint=did_you_mean(word, known)
            )


def _pattern(word: str) -> re.Pattern[str]:
    """A pattern in which `*` matches any characters and everything else itself: ids may have brackets."""
    return re.compile(".*".join(map(re.escape, word.split("*"))), re.DOTALL)
