"""Whether the judgments that a run recorded are those that the judge of a ref would have given to the same answers.

They are if everything that made them is the same there. Nobody else is asked: what is not believed is undecided.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from highbar.bar.code_there import CodeThere, code_of, content_at, module_names, names_at
from highbar.load.revision import Revision
from highbar.running.child.watching import MODULES
from highbar.running.journal_state import JournalState
from highbar.running.judging.canaries import canary_result, distrust
from highbar.running.judging.identity import JudgeIdentity
from highbar.running.judging.questions import canary_question
from highbar.running.watched import Fact
from highbar.suite import Judge, Suite, read

if TYPE_CHECKING:
    from highbar.model.judgments import JudgeAnswer


_OPEN_NOTHING = frozenset({
    "_yaml", "aiohttp", "backports", "charset_normalizer", "frozenlist", "jiter", "markupsafe", "msgspec", "multidict",
    "numpy", "orjson", "propcache", "pydantic_core", "rapidfuzz", "regex", "rpds", "tiktoken", "yaml", "yarl",
    "zstandard",
})  # fmt: skip
"""Installed packages with libraries in C that open no file, or only by Python."""


def why_not_believed(history: JournalState, suite: Suite, there: Revision, identity: JudgeIdentity) -> str | None:
    """Why no judgment of the run counts by the suite at the ref; None if they count, one by one."""
    return next(_reasons(history, suite, there, identity), None)


def _reasons(history: JournalState, suite: Suite, there: Revision, identity: JudgeIdentity) -> Iterator[str]:
    if history.plan.judges:
        yield f"a judge named on the command line judged, and not that of {there.ref}"
    both = other_judge(history, suite)
    if both is not None:
        yield f"another judge judged than at {there.ref}: {both[1]}, wanted {both[0]}"
    if any(judge.python is not None for judge in suite.judges):
        beside = os.path.relpath(identity.folder, there.folder)
        code = code_of(there)
        reason = next(chain(_other_code(history.judge_facts, beside, code), _unseen(history.judge_facts, code)), None)
        if reason is not None:
            yield f"not certain that the judge of {there.ref} judged: {reason}"
    answers: dict[str, JudgeAnswer] = {}
    recorded = {one.digest: one.answer for one in history.canaries.values()}
    for canary in suite.canaries:
        digest = identity.digest(canary_question(canary))
        if digest not in recorded:
            yield f"the canary {canary.id} of {there.ref} was not judged"
        else:
            answers[canary.id] = recorded[digest]
    failed = distrust(canary_result(suite.canaries, answers))
    if failed is not None:
        yield failed


def other_judge(history: JournalState, suite: Suite) -> tuple[str, str] | None:
    """The judges at the ref and those that the suite of the run named, in words; None if they are the same."""
    before = _in_words(suite.judges)
    for text in history.suite_texts:
        now = _in_words(read(history.plan.suite_file, data=text).judges)
        if now != before:
            return before, now
    return None


def _in_words(judges: Iterable[Judge]) -> str:
    return "; ".join(sorted(map(_judge_in_words, judges))) or "none"


def _judge_in_words(judge: Judge) -> str:
    """A judge in words, with all settings that its answers depend on, as written: variables are not filled in."""
    keys = ("base_url", "key", "temperature", "max_tokens")
    settings = [f"{key} {value}" for key in keys if (value := getattr(judge, key)) is not None]
    return ", ".join([judge.python or f"{judge.model} ({judge.format})", *settings])


# --- a judge in Python -----------------------------------------------------------------------


def _other_code(facts: Iterable[Fact], beside: str, code: CodeThere) -> Iterator[str]:
    """Why a process that noted these facts may have judged otherwise than one at the ref, in that folder."""
    known = module_names(code.copy.paths)
    began = False
    for kind, name, *more in facts:
        match kind:
            case "began":
                began = True
                if name != beside:
                    yield f"it is in {name}, and there in {beside}"
            case "file" if name != ".git" and content_at(code.copy.folder, name) != more[0]:
                yield f"it read {name}, which is another one there"
            case "searched" if lost := sorted(_modules(names_at(code.copy.folder, name)) - set(more[0])):
                yield f"{name} has {lost[0]} there"
            case "listed" if names_at(code.copy.folder, name) != set(more[0]):
                yield f"it listed {name}, which has other files there"
            case "installed" | "absent" if name in known and not (kind == "installed" and code.is_of_others(name)):
                yield f"it asked for the module {name}, and did not use {known[name]}"
            case "program":
                yield f"it started {name}"
    if not began:
        yield "what it read was not recorded"


def _unseen(facts: Iterable[Fact], code: CodeThere) -> Iterator[str]:
    """What a library in C may have read otherwise than there, without a note."""
    names = [name for kind, name, *_ in facts if kind == "library"]
    for name in names:
        if name not in _OPEN_NOTHING and not name.endswith("__mypyc"):
            yield from (
                f"{name}, a library in C, may have read {path}, which is another one there" for path in _changed(code)
            )


def _changed(code: CodeThere) -> Iterator[str]:
    """The tracked files that are not as they are there, without those of Python, whose modules are noted."""
    now, before = code.there.root, code.copy.folder
    for path in sorted(code.copy.paths.union(code.there.tracked_now())):
        if not path.endswith(".py") and content_at(now, path) != content_at(before, path):
            yield path


def _modules(names: Iterable[str]) -> set[str]:
    return {name for name in names if "." not in name or name.endswith(MODULES)}
