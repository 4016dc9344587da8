"""Tell a torn tail, which a crash leaves behind, from damage, which is refused. The package docstring has the rules."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import InputError, Problem
from highbar.running.journal.lines import JournalEnd, checksum_before, is_beginning, is_whole, synced_lines

_HINT = "restore the folder from a copy, or start a new run; no process but Highbar may write into the folder of a run"


def examine_tail(parts: Iterable[tuple[int, bytes]], good: JournalEnd, name: str) -> None:
    """Raise InputError unless the parts after `good` are a torn tail. Only the last part may lack a line end."""
    before: bytes | None = good.checksum
    for at, part in parts:
        # Zeros hide line ends, so a whole line may follow them in the same part.
        line = part[part.rfind(b"\0") + 1 :]
        has_zeros = len(line) < len(part)
        if has_zeros:
            before = None
        if is_whole(line):
            _examine_line(line, before, good, at, name)
            before = line[:8]
        elif not has_zeros and not is_beginning(part, before):
            raise _damaged(good, at, "text that this run did not write, or that was changed afterwards", name)


def _examine_line(line: bytes, before: bytes | None, good: JournalEnd, at: int, name: str) -> None:
    if before is not None and checksum_before(line) != before:
        raise _damaged(good, at, "a line that does not follow the one before it", name)
    if (synced := synced_lines(line)) > good.lines:
        raise _damaged(good, at, f"a line that says that {synced} lines were synced", name)


def _damaged(good: JournalEnd, at: int, what: str, name: str) -> InputError:
    found = what if at == good.size else f"byte {at} has {what}"
    return InputError(Problem(f"damaged at byte {good.size}: {found}", name, good.lines + 1, hint=_HINT))
