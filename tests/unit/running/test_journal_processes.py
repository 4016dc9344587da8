"""A journal through kills, full disks and two processes: all of them real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from highbar.errors import InputError
from highbar.running.journal import Journal
from tests.patience import PATIENCE
from tests.unit.running.journals import found_in

pytestmark = pytest.mark.process

WRITER = """
import sys
from pathlib import Path
from highbar.errors import HighbarError
from highbar.running.journal import Journal

def record(number):
    return b'{"number":%d,"output":"%b"}' % (number, b"words " * (number * 7 % 900))
"""
KILLED = f"""{WRITER}
import os, random, signal

path, kills = Path(sys.argv[1]), int(sys.argv[2])
random.seed(18)
Journal.create(path).close()

def write(pipe):
    journal = Journal.reopen(path)
    number = journal.end.lines
    while True:
        journal.append(record(number))
        number += 1
        os.write(pipe, b"%08d" % number)

for _ in range(kills):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        write(writing)
    os.close(writing)
    wanted = random.choice((1, 2, 5, 40, 200))
    for _ in range(wanted):
        answered = os.read(reading, 8)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while told := os.read(reading, 8):
        answered = told
    os.close(reading)
    print(int(answered), path.stat().st_size, flush=True)
"""
FILLING = f"""{WRITER}
journal = Journal.create(Path(sys.argv[1]))
number = 0
try:
    while number < 100_000:
        journal.append(record(number))
        number += 1
except HighbarError as error:
    print(type(error).__name__, error)
try:
    journal.append(b"{{}}")
except HighbarError as error:
    print("then", type(error).__name__)
journal.close()
print(number)
"""


def records(count: int) -> list[bytes]:
    return [b'{"number":%d,"output":"%b"}' % (number, b"words " * (number * 7 % 900)) for number in range(count)]


def run(program: str, *arguments: object, before: tuple[str, ...] = ()) -> list[str]:
    """The lines that a program prints."""
    command = [*before, sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.hazard("H72")
def test_a_process_that_is_killed_loses_nothing_that_it_was_told_is_written(tmp_path):
    """Thirty times on one journal: each process cuts what the one before it left, and goes on."""
    path = tmp_path / "journal"
    kills = [tuple(map(int, line.split())) for line in run(KILLED, path, 30)]
    assert len(kills) == 30
    found = found_in(path)
    assert found == records(len(found))
    # The last process may have been killed after a write and before it could say so.
    assert kills[-1][0] <= len(found) <= kills[-1][0] + 1
    with Journal.reopen(path) as journal:
        assert journal.end.lines == len(found)


@pytest.mark.hazard("H79")
def test_a_second_process_is_told_which_one_writes(tmp_path):
    program = f"{WRITER}\njournal = Journal.create(Path(sys.argv[1])); print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, tmp_path / "journal"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(InputError, match="locked by another run") as caught:
            Journal.reopen(tmp_path / "journal")
        if Path("/proc/locks").exists():
            assert f"(process {process.pid})" in str(caught.value)
        process.kill()
    Journal.reopen(tmp_path / "journal").close()


def test_a_child_of_the_writer_does_not_keep_the_lock(tmp_path):
    """An agent that outlives a killed run must not keep the next one out."""
    with Journal.create(tmp_path / "journal"):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    with child, Journal.reopen(tmp_path / "journal") as journal:
        journal.append(b"{}")
        child.kill()


def is_cut_to_whole_lines(path: Path, printed: list[str], reason: str) -> None:
    first, then, count = printed
    assert first == f"ReportError {path} could not be written: {reason}"
    assert then == "then ReportError"
    assert found_in(path) == records(int(count))
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.hazard("H78")
def test_a_file_that_may_not_grow_ends_with_its_last_whole_line(tmp_path):
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)){FILLING}"
    is_cut_to_whole_lines(tmp_path / "journal", run(limited, tmp_path / "journal"), "File too large")


@pytest.mark.hazard("H78")
def test_a_full_disk_ends_the_journal_with_its_last_whole_line(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=256k tmpfs {disk}"
    # The mount is seen by that process and its children alone, and ends with them.
    alone = ("unshare", "--mount", "sh", "-c", f'{mount} || exit 77; "$@" && cp {disk}/journal {tmp_path}', "sh")
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root can make a small disk")
    if subprocess.run([*alone[:-2], f"{mount} || exit 77"], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    printed = run(FILLING, disk / "journal", before=alone)
    printed[0] = printed[0].replace(str(disk), str(tmp_path))
    is_cut_to_whole_lines(tmp_path / "journal", printed, "No space left on device")
