"""Looks for what breaks a law, with a random seed that is printed, so that what is found can be shown again.

    python -m tests.fuzzing [SECONDS] [LAW…]      # every law in turn for so many seconds in all (60), or those named
    python -m tests.fuzzing LAW@SEED              # one attempt again
    python -m tests.fuzzing 600 importers:junit   # what stands behind a colon is for the law to read

The test command runs a few fixed seeds of every law; this runs as many as there is time for. What it finds becomes a
fixed case. A law is one line of LAWS: a name, and a function that makes one attempt from a seed in an empty folder,
says in a few words what became of it, and raises where the law is broken.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Attempt = Callable[[int, Path], str]


def _at_the_ref(_: Sequence[str]) -> Attempt:
    from tests.laws.at_the_ref import attempt

    return attempt


def _certain(_: Sequence[str]) -> Attempt:
    from tests.laws.certain import attempt

    return attempt


def _code_there(_: Sequence[str]) -> Attempt:
    from tests.laws.code_there import attempt

    return attempt


def _copies(_: Sequence[str]) -> Attempt:
    from tests.laws.copies import attempt

    return attempt


def _crashes(_: Sequence[str]) -> Attempt:
    from tests.laws.crashes import attempt

    return attempt


def _deciding(_: Sequence[str]) -> Attempt:
    from tests.runs.deciding import attempt

    return attempt


def _deleted(_: Sequence[str]) -> Attempt:
    from tests.laws.deleted import attempt

    return attempt


def _files(_: Sequence[str]) -> Attempt:
    from tests.laws.files import attempt

    return attempt


def _foreign(_: Sequence[str]) -> Attempt:
    from tests.laws.foreign import attempt

    return attempt


def _forms(names: Sequence[str]) -> Attempt:
    from tests.laws.forms import FORMS, attempt

    forms = {name: form for name, form in FORMS.items() if not names or name in names}
    return lambda seed, folder: attempt(seed, folder, forms)


def _graded_again(_: Sequence[str]) -> Attempt:
    from tests.laws.graded_again import attempt

    return attempt


def _harder(_: Sequence[str]) -> Attempt:
    from tests.laws.harder import attempt

    return attempt


def _importers(tools: Sequence[str]) -> Attempt:
    from tests.importers.fuzzing import attempts_on

    return attempts_on(set(tools))


def _imports(tools: Sequence[str]) -> Attempt:
    from tests.laws.imports import attempts_on

    return attempts_on(set(tools))


def _interruptions(_: Sequence[str]) -> Attempt:
    from tests.runs.interrupting import attempt

    return attempt


def _kills(_: Sequence[str]) -> Attempt:
    from tests.runs.killing import attempt

    return attempt


def _own_keys(_: Sequence[str]) -> Attempt:
    from tests.laws.own_keys import attempt

    return attempt


def _recordings(_: Sequence[str]) -> Attempt:
    from tests.laws.recordings import attempt

    return attempt


def _sequential(_: Sequence[str]) -> Attempt:
    from tests.laws.sequential import attempt

    return attempt


def _killed(_: Sequence[str]) -> Attempt:
    from tests.runs.killing import attempt_until_decided

    return attempt_until_decided


def _twice(_: Sequence[str]) -> Attempt:
    from tests.laws.twice import attempt

    return attempt


def _unread(_: Sequence[str]) -> Attempt:
    from tests.laws.wires import attempt_unread

    return attempt_unread


def _wires(_: Sequence[str]) -> Attempt:
    from tests.laws.wires import attempt

    return attempt


def _two_faults(_: Sequence[str]) -> Attempt:
    from tests.laws.two_faults import attempt

    return attempt


def _worse(_: Sequence[str]) -> Attempt:
    from tests.laws.worse import attempt

    return attempt


LAWS: Mapping[str, Callable[[Sequence[str]], Attempt]] = {
    "files": _files,  # L1: every byte is accounted for
    "foreign": _foreign,  # files under other names: a guessed mapping makes no pass that the rows would not get
    "twice": _twice,  # L2: two statements about one thing must agree
    "at_the_ref": _at_the_ref,  # answers held fixed: no change of the repository makes a pass at the ref
    "worse": _worse,  # L3: worse never helps, and nor does taking a statement away
    "certain": _certain,  # a rule that is not open stays what it is: a run may stop
    "crashes": _crashes,  # L3 on formulas: a crash never lifts a rule
    "copies": _copies,  # rows of a run: no copy of them passes where their folder does not
    "deleted": _deleted,  # rows that are not there: where something says how many there were to be, no pass by it
    "forms": _forms,  # L4: the same rows in every form
    "imports": _imports,  # L3 on files of other tools and of ours, by the verdict
    "deciding": _deciding,  # runs: stopped when they are decided, they come to what all of them would have come to
    "interruptions": _interruptions,  # runs: interrupted at any request and resumed, they come to the same verdict
    "kills": _kills,  # runs: killed at any moment and resumed, they are as if nobody had disturbed them
    "code_there": _code_there,  # at a ref: whatever its code reads of the change, it accepts nothing that it would not
    "own_keys": _own_keys,  # suites: a key that nobody understands is refused or listed, never a column in silence
    "graded_again": _graded_again,  # the rows of a run, graded again by the same suite, are as they were
    "harder": _harder,  # answers: what makes a reply harder to read never takes a violation away
    "recordings": _recordings,  # pytest: without a call that records what is demanded, no rule passes that did not
    "two_faults": _two_faults,  # policies: what is wrong in two places is reported in both
    "sequential": _sequential,  # what a rule does not see changes nothing, what breaks never helps, trials are no units
    "killed": _killed,  # runs that stop when they are decided: killed and resumed, they decide the same
    "wires": _wires,  # answers: one answer in every wire form is graded alike, and so are its rows, graded again
    "unread": _unread,  # answers: a word in any text below a message or choice, but for metadata, violates a must-not
    "importers": _importers,  # files of other tools: read whole or refused, and breaking one never makes it pass
}
"""By name, a function of what stands behind the colon that gives the attempt."""


def attempted(law: str, attempt: Attempt, seed: int) -> str | None:
    """What became of one attempt; None, and the fault is printed, if it broke the law."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return attempt(seed, Path(folder))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a fault of any kind is what is looked for
        traceback.print_exc()
        _say(f"\n{law} is broken. Again: scripts/fuzz {law}@{seed}")
        return None


def search(laws: Sequence[str], seconds: float, start: int) -> int:
    """The number of laws that were found broken; each is left at its first fault."""
    attempts = {law: LAWS[law.partition(":")[0]](_behind_colon(law)) for law in laws}
    share, broken = seconds / len(attempts), 0
    for law, attempt in attempts.items():
        counts: Counter[str] = Counter()
        seed, end = start, time.monotonic() + share
        _say(f"{law}: from seed {start}")
        while time.monotonic() < end:
            found = attempted(law, attempt, seed)
            if found is None:
                broken += 1
                break
            counts[found] += 1
            seed += 1
        _say(f"{law}: {seed - start} attempts")
        for what, number in sorted(counts.items()):
            _say(f"{number:8} {what}")
    return broken


def _behind_colon(law: str) -> Sequence[str]:
    _, _, rest = law.partition(":")
    return rest.split(",") if rest else ()


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program


def main(arguments: Sequence[str]) -> int:
    """`[SECONDS] [LAW…]` or `LAW@SEED`; the exit code is 1 if a law is broken."""
    words = list(arguments)
    seconds = float(words.pop(0)) if words and words[0].replace(".", "", 1).isdigit() else 60.0
    unknown = [word for word in words if word.partition("@")[0].partition(":")[0] not in LAWS]
    if unknown:
        _say(f"no such law: {', '.join(unknown)}; wanted {', '.join(LAWS)}")
        return 2
    again = [word.rpartition("@") for word in words if "@" in word]
    if again:
        found = [attempted(law, LAWS[law.partition(":")[0]](_behind_colon(law)), int(seed)) for law, _, seed in again]
        _say("\n".join(what or "broken" for what in found))
        return int(None in found)
    return int(search(words or list(LAWS), seconds, random.SystemRandom().randrange(2**32)) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
