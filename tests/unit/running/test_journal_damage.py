"""A damaged journal: a torn tail is cut, everything else is refused; nothing that was synced is lost in silence."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.errors import InputError
from highbar.running.journal import Journal
from tests.unit.running.journals import found_in, lines_of, payloads, refusal

COUNT, GROUP = 12, 4
RECORDS = payloads(COUNT)
LINES = lines_of(RECORDS, GROUP)
WHOLE = b"".join(LINES)
STARTS = [len(b"".join(LINES[:index])) for index in range(COUNT + 1)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def written(path: Path, data: bytes) -> Path:
    path.unlink(missing_ok=True)  # a file that is cut and written again is flushed to the disk by some systems
    path.write_bytes(data)
    return path


def went_on(path: Path) -> list[bytes]:
    """What is in a journal after it was opened again and one more line was appended."""
    with Journal.reopen(path) as journal:
        journal.append(b'"one more"')
    return found_in(path)


@pytest.mark.hazard("H72")
def test_a_journal_cut_at_any_byte_has_every_whole_line_before_it(path):
    for size in range(len(WHOLE) + 1):
        whole = sum(1 for start in STARTS[1:] if start <= size)
        assert found_in(written(path, WHOLE[:size])) == RECORDS[:whole]
        assert path.stat().st_size == size  # reading changes nothing


@pytest.mark.hazard("H57")
def test_a_torn_tail_is_cut_when_the_run_goes_on(path):
    for size in (*range(0, len(WHOLE), 97), *STARTS):
        whole = sum(1 for start in STARTS[1:] if start <= size)
        assert went_on(written(path, WHOLE[:size])) == [*RECORDS[:whole], b'"one more"']


def test_a_page_of_zeros_in_the_last_group_is_a_torn_tail(path):
    """Of lines 9 to 12, none says that more than 8 lines were synced."""
    for begin in range(STARTS[8], len(WHOLE), 7):
        for end in (begin + 1, begin + 100, len(WHOLE), len(WHOLE) + 4096):
            zeroed = WHOLE[:begin] + bytes(end - begin) + WHOLE[end:]
            whole = sum(1 for start in STARTS[1:] if start <= begin)
            assert found_in(written(path, zeroed)) == RECORDS[:whole]
    assert went_on(path) == [*RECORDS[:whole], b'"one more"']


def test_a_page_of_zeros_in_what_was_synced_is_refused(path):
    for begin in range(STARTS[8]):
        zeroed = WHOLE[:begin] + bytes(1) + WHOLE[begin + 1 :]
        assert "lines were synced" in str(refusal(written(path, zeroed)))
        with pytest.raises(InputError):
            Journal.reopen(path)
        assert path.read_bytes() == zeroed


@pytest.mark.slow
def test_any_bit_that_changed_is_noticed(path):
    for at in range(len(WHOLE)):
        for bit in range(8):
            changed = WHOLE[at] ^ (1 << bit)
            message = refusal(written(path, WHOLE[:at] + bytes([changed]) + WHOLE[at + 1 :]))
            assert message or (changed == 0 and at >= STARTS[8])


def test_zeros_up_to_the_beginning_of_a_line_do_not_hide_what_it_says(path):
    zeroed = WHOLE[: STARTS[6]] + bytes(STARTS[8] - STARTS[6]) + LINES[8]
    assert "says that 8 lines were synced" in str(refusal(written(path, zeroed)))


def test_lines_behind_zeros_still_follow_each_other(path):
    """No crash leaves lines 10 and 12 without 11 or zeros between them."""
    zeros = bytes(len(LINES[8]))
    assert found_in(written(path, b"".join((*LINES[:8], zeros, *LINES[9:])))) == RECORDS[:8]
    for rest in ((LINES[9], LINES[11]), (LINES[9], LINES[9]), (LINES[9], LINES[11], LINES[10]), (LINES[9], b"text\n")):
        assert f"byte {STARTS[8]}: byte" in str(refusal(written(path, b"".join((*LINES[:8], zeros, *rest)))))


@pytest.mark.parametrize("index", range(COUNT - 1))
def test_a_line_that_was_removed_is_noticed(path, index):
    message = refusal(written(path, b"".join((*LINES[:index], *LINES[index + 1 :]))))
    assert f"journal:{index + 1}: damaged at byte {STARTS[index]}: a line that does not follow" in str(message)


@pytest.mark.parametrize("index", range(COUNT))
def test_a_line_that_is_there_twice_is_noticed(path, index):
    message = refusal(written(path, b"".join((*LINES[: index + 1], LINES[index], *LINES[index + 1 :]))))
    assert f"journal:{index + 2}: damaged at byte {STARTS[index + 1]}" in str(message)


def test_lines_that_changed_places_are_noticed(path):
    for first in range(COUNT):
        for second in range(first):
            lines = list(LINES)
            lines[first], lines[second] = lines[second], lines[first]
            assert f"damaged at byte {STARTS[second]}" in str(refusal(written(path, b"".join(lines))))


@pytest.mark.hazard("H56")
@pytest.mark.parametrize(
    "text",
    [
        b'{"id":"SEC-001","passed":true}\n',
        b'{"id":"SEC-001","passed":true}',
        b"\n",
        LINES[3],  # of the same run
        lines_of([b'{"id":"SEC-001"}'], 1)[0],  # of another one
        LINES[-1][9:],
        b"00000000 00000000 00000000 00000000 {}\n",
        b"00000000 00000000 00000000 00000000 {}",
        b"00000000 0000",  # does not follow the last line
    ],
)
def test_text_that_something_else_appended_is_refused(path, text):
    for at in (4, 9, COUNT):
        data = b"".join((*LINES[:at], text, *LINES[at:]))
        assert f"journal:{at + 1}: damaged at byte {STARTS[at]}" in str(refusal(written(path, data)))


def test_a_file_that_is_no_journal_is_refused(path):
    for text in (b"hello", b"hello\n", b'{"schema": "highbar/run/1"}\n', WHOLE.replace(b" ", b"_")):
        assert "journal:1: damaged at byte 0" in str(refusal(written(path, text)))


def test_a_line_end_that_is_missing_is_a_line_that_was_cut_short(path):
    assert found_in(written(path, WHOLE[:-1])) == RECORDS[:-1]
    assert refusal(written(path, WHOLE[:-1] + b" "))
    assert refusal(written(path, WHOLE[:-1] + b"\r\n"))


DAMAGES = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, len(WHOLE)), st.just(0)),
    st.tuples(st.just("flip"), st.integers(0, len(WHOLE) - 1), st.integers(0, 7)),
    st.tuples(st.just("zero"), st.integers(0, len(WHOLE) - 1), st.integers(1, 600)),
    st.tuples(st.just("delete"), st.integers(0, len(WHOLE) - 1), st.integers(1, 600)),
    st.tuples(st.just("repeat"), st.integers(0, len(WHOLE) - 1), st.integers(1, 600)),
    st.tuples(st.just("reverse"), st.integers(0, len(WHOLE) - 1), st.integers(2, 600)),
)


def damaged(lines: list[bytes], kind: str, at: int, extent: int) -> tuple[bytes, list[bytes]]:
    """The bytes after the damage, and the lines that it did not touch."""
    whole = b"".join(lines)
    at %= len(whole)
    end = min(len(whole), at + (1 if kind == "flip" else len(whole) if kind == "cut" else extent))
    part = whole[at:end]
    changed = {
        "cut": b"",
        "delete": b"",
        "flip": bytes([part[0] ^ (1 << extent % 8)]),
        "zero": bytes(len(part)),
        "repeat": part + part,
        "reverse": part[::-1],
    }[kind]
    starts = [len(b"".join(lines[:index])) for index in range(len(lines) + 1)]
    intact = [line for line, first, last in zip(lines, starts, starts[1:], strict=False) if last <= at or first >= end]
    return whole[:at] + changed + whole[end:], intact


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=12), st.integers(1, 5), DAMAGES)
def test_after_any_damage_a_beginning_is_read_with_all_that_is_known_to_be_synced(found, group, damage):
    records = [record.replace(b"\n", b" ").replace(b"\0", b" ") for record in found]
    data, intact = damaged(lines_of(records, group), *damage)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder, "journal"), data)
        if refusal(path) is not None:
            assert damage[0] != "cut"
            return
        read_back = found_in(path)
        assert read_back == records[: len(read_back)]
        assert len(read_back) >= max((int(line[18:26], 16) for line in intact), default=0)
        lost = len(records) - len(read_back)
        # What is not a torn tail is refused: a deletion up to the end of the file is a cut, and a bit may make a zero.
        is_torn = b"\0" in data or data == b"".join(lines_of(records, group))[: len(data)]
        assert not lost or is_torn
        assert went_on(path) == [*read_back, b'"one more"']
