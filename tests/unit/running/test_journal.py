"""A journal: what is appended is read back, durable in groups, by one process at a time."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest

from highbar.errors import InputError, ReportError
from highbar.running.journal import Journal, payload_at
from highbar.running.journal.lines import START
from highbar.running.journal.syncing import LARGEST_GROUP, GroupSync
from tests.patience import processor_time, wait_for
from tests.unit.running.journals import found_in, lines_in, lines_of, payloads


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def test_what_was_appended_is_read_back_in_order(path):
    records = payloads(30)
    with Journal.create(path) as journal:
        offsets = [journal.append(record) for record in records]
    assert lines_in(path) == list(zip(offsets, records, strict=True))


def test_any_line_is_found_by_its_offset(path):
    records = [*payloads(5), b"x" * 100_000, b"", b"y" * 4060, b"z" * 4059, b"w" * 4058]
    with Journal.create(path) as journal:
        offsets = [journal.append(record) for record in records]
        descriptor = os.open(path, os.O_RDONLY)
        found = [payload_at(descriptor, offset, "journal") for offset in reversed(offsets)]
        for wrong in (offsets[1] + 1, journal.end.size, 10**9):
            with pytest.raises(InputError, match=f"at byte {wrong}") as caught:
                payload_at(descriptor, wrong, "journal")
            assert [problem.code for problem in caught.value.problems] == ["run.damaged"]
        os.close(descriptor)
    assert found == records[::-1]


@pytest.mark.hazard("H55")
def test_an_answer_that_looks_like_lines_of_a_journal_stays_one_line(path):
    forged = b"".join(lines_of(payloads(2), 1)).decode()
    answers = [f"ok\n{forged}", 'x\u2028{"id":"S"}\u0085\x0b\x1c\r\n', "\0\ud7ff"]
    with Journal.create(path) as journal:
        for answer in answers:
            journal.append(json.dumps({"output": answer}, ensure_ascii=False).encode())
    assert path.read_bytes().count(b"\n") == len(answers)
    assert [json.loads(payload)["output"] for payload in found_in(path)] == answers


@pytest.mark.parametrize("payload", [b"a\nb", b"a\0b", b"\n"])
def test_what_is_not_one_line_is_not_written(path, payload):
    with Journal.create(path) as journal:
        journal.append(b"{}")
        with pytest.raises(ValueError, match="one line"):
            journal.append(payload)
        journal.append(b"[]")
    assert found_in(path) == [b"{}", b"[]"]


def test_a_journal_goes_on_where_it_ended(path):
    records = payloads(9)
    for begin in range(0, 9, 3):
        seen = []
        with Journal.reopen(path, lambda *line, seen=seen: seen.append(line)) if begin else Journal.create(path) as one:
            assert [payload for _, payload in seen] == records[:begin]
            assert one.synced == one.end.lines == begin
            for record in records[begin : begin + 3]:
                one.append(record)
    assert found_in(path) == records


def test_a_line_is_in_the_file_when_append_returns(path):
    with Journal.create(path) as journal:
        for number, record in enumerate(payloads(20), 1):
            journal.append(record)
            assert len(found_in(path)) == number


def test_lines_are_synced_soon_without_being_asked(path):
    with Journal.create(path) as journal:
        for record in payloads(3):
            journal.append(record)
        wait_for(lambda: journal.synced == 3, "the lines were not synced")
        journal.append(b"{}")
        wait_for(lambda: journal.synced == 4, "the line was not synced")


def test_a_line_says_how_many_were_synced_before_it(path):
    with Journal.create(path) as journal:
        for record in payloads(3):
            journal.append(record)
            journal.sync()
    assert [int(line[18:26], 16) for line in path.read_bytes().splitlines()] == [0, 1, 2]


def test_who_waits_for_a_line_goes_on_when_it_is_durable(path):
    async def judge(journal: Journal, offset: int) -> bool:
        await journal.wait_synced(offset)
        return journal.synced > 0

    async def run() -> list[bool]:
        with Journal.create(path) as journal:
            offsets = [journal.append(record) for record in payloads(40)]
            return await asyncio.gather(*(judge(journal, offset) for offset in (*offsets, *offsets)))

    assert asyncio.run(run()) == [True] * 80


def test_the_event_loop_does_not_wait_for_the_disk(path):
    """While somebody waits for a sync, others append; none of this takes the lock that is held during a sync."""

    async def run() -> None:
        with Journal.create(path) as journal:
            offset = journal.append(b"{}")
            with journal._sync._syncing:  # as if the disk took for ever
                waiting = asyncio.ensure_future(journal.wait_synced(offset))
                for _ in range(3):
                    await asyncio.sleep(0)
                    journal.append(b"{}")
                assert not waiting.done()
            await waiting

    asyncio.run(run())


def test_a_mebibyte_is_synced_without_waiting_for_more(path, monkeypatch):
    monkeypatch.setattr("highbar.running.journal.syncing.LONGEST_WAIT", 3600.0)
    with Journal.create(path) as journal:
        journal.append(b"{}")
        time.sleep(0.02)  # long enough for a thread that does not wait; if the machine is busy, it tests less
        assert journal.synced == 0
        journal.append(b"x" * LARGEST_GROUP)
        wait_for(lambda: journal.synced == 2, "the lines were not synced")


def test_nothing_is_written_after_the_end(path):
    journal = Journal.create(path)
    journal.append(b"{}")
    journal.close()
    journal.close()
    with pytest.raises(ReportError, match="is closed"):
        journal.append(b"[]")
    assert found_in(path) == [b"{}"]


def test_what_is_there_is_not_overwritten(path):
    path.write_bytes(b"something")
    with pytest.raises(InputError, match="cannot be made: File exists"):
        Journal.create(path)
    assert path.read_bytes() == b"something"


@pytest.mark.parametrize("open_journal", [Journal.reopen, lines_in])
def test_a_journal_that_is_not_there_is_refused(path, open_journal):
    with pytest.raises(InputError, match=r"cannot be (read|written): No such file"):
        open_journal(path)


@pytest.mark.hazard("H79")
def test_a_second_writer_is_refused_until_the_first_is_done(path):
    with Journal.create(path) as journal:
        journal.append(b"{}")
        with pytest.raises(InputError, match="locked by another run") as caught:
            Journal.reopen(path)
        assert caught.value.problems[0].hint
        assert found_in(path) == [b"{}"]
    with Journal.reopen(path) as journal:
        journal.append(b"[]")
    assert found_in(path) == [b"{}", b"[]"]


@pytest.mark.hazard("H56")
@pytest.mark.parametrize("change", ["append", "cut", "remove"])
def test_the_run_ends_when_something_else_changes_its_journal(path, change):
    with Journal.create(path) as journal:
        for record in payloads(5):
            journal.append(record)
        if change == "append":
            with path.open("ab") as stream:
                stream.write(b'{"id":"SEC-001","passed":true}\n')
        elif change == "cut":
            os.truncate(path, 50)
        else:
            path.unlink()
        with pytest.raises(InputError, match=r"changed by another process|was removed") as caught:
            wait_for(lambda: journal.append(b"{}") < 0, "nobody noticed")
    assert caught.value.problems[0].file == str(path)


def test_a_sync_that_fails_is_the_end_and_is_not_tried_again():
    reading, writing = os.pipe()  # a pipe cannot be synced
    group = GroupSync(writing, "journal", START)
    group.wrote(10)
    with pytest.raises(ReportError, match=r"^journal could not be written: Invalid argument"):
        group.sync()
    first = group.failure
    group.wrote(10)
    for wait in (group.sync, lambda: asyncio.run(group.wait(0))):
        with pytest.raises(ReportError) as caught:
            wait()
        assert caught.value is first
    assert group.synced_size == 0
    group.stop()
    os.close(reading)
    os.close(writing)


def test_who_waits_for_a_line_hears_that_it_cannot_be_made_durable():
    async def run() -> None:
        reading, writing = os.pipe()
        group = GroupSync(writing, "journal", START)
        with group._syncing:
            group.wrote(10)
            waiting = [asyncio.ensure_future(group.wait(0)) for _ in range(3)]
            await asyncio.sleep(0)
        for found in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(found, ReportError)
        group.stop()
        os.close(reading)
        os.close(writing)

    asyncio.run(run())


def test_a_write_that_was_interrupted_is_followed_by_none(path):
    """The handler of a signal may raise between the write and the counting of it."""
    journal = Journal.create(path)
    journal.append(b"{}")
    os.write(journal._descriptor, b"half of a li")
    journal._sync.under_way += 30
    with pytest.raises(ReportError, match="was interrupted"):
        journal.append(b"[]")
    journal.close()
    assert path.read_bytes().count(b"\n") == 1


def test_closing_says_what_went_wrong_if_nobody_has_heard_of_it(path):
    journal = Journal.create(path)
    journal.append(b"{}")
    path.unlink()
    with pytest.raises(InputError, match="was removed"):
        journal.close()


@pytest.mark.slow
def test_long_journals_are_written_and_read_fast(path):
    """A million lines of 500 bytes take about 4 s to append and 2 s to read; here it is a tenth of them."""
    record = b'{"output":"%b"}' % (b"x" * 486)
    with Journal.create(path) as journal, processor_time(below=2):
        for _ in range(100_000):
            journal.append(record)
    with processor_time(below=1):
        assert len(lines_in(path)) == 100_000
