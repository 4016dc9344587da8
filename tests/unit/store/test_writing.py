"""A baseline is there whole or not at all, whoever writes it and whenever they are killed."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from highbar.errors import InputError, ReportError
from highbar.model.baseline import Baseline
from highbar.model.records import ScenarioRecord
from highbar.store import writing as store
from highbar.store.baseline_reading import read_baseline
from highbar.store.baseline_text import render
from tests.killed_writers import Kill, run_killing

BASELINE = Baseline(tuple(ScenarioRecord(f"S{i:04}", 1, 1) for i in range(500)), {})


TEXT = render(replace(BASELINE, date="when"))


def dated(number: int) -> str:
    return TEXT.replace('"when"', f'"{number}"')


def test_it_is_written_only_over_what_was_seen(tmp_path: Path):
    file = tmp_path / "baseline.json"
    store.replace_baseline(file, dated(1), expected_digest=None)
    first = store.digest(file)
    assert first == hashlib.sha256(dated(1).encode()).hexdigest()
    store.replace_baseline(file, dated(2), expected_digest=first)
    for seen in (None, first):
        with pytest.raises(InputError, match="changed by someone else"):
            store.replace_baseline(file, dated(3), expected_digest=seen)
    assert read_baseline(file).date == "2"
    assert [path.name for path in tmp_path.iterdir()] == ["baseline.json"]


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "baseline.json"
    link.symlink_to("there/kept.json")
    store.replace_baseline(link, dated(1), expected_digest=None)
    assert link.is_symlink()
    assert read_baseline(tmp_path / "there" / "kept.json").date == "1"


def test_what_cannot_be_written_is_said(tmp_path: Path):
    with pytest.raises(ReportError, match="could not be written"):
        store.replace_baseline(tmp_path / "absent" / "baseline.json", dated(1), expected_digest=None)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        store.digest(tmp_path / "folder")


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path):
    left = tmp_path / ".baseline.json.0123456789ab.tmp"
    left.write_text("half")
    store.replace_baseline(tmp_path / "baseline.json", dated(1), expected_digest=None)
    assert not left.exists()


def write_until_killed(file: Path, number: int) -> None:
    while True:
        number += 1
        store.replace_baseline(file, dated(number), expected_digest=store.digest(file))


def kill_200_writers(folder: Path, kill: Kill) -> None:
    file = folder / "baseline.json"
    store.replace_baseline(file, dated(0), expected_digest=None)
    chance, last, kills = random.Random(4), 0, 0
    while kills < 200 or (last == 0 and kills < 5000):  # on a busy machine a writer gets less done before it is killed
        kills += 1
        kill(partial(write_until_killed, file, last), chance.random() * 0.03)
        found = read_baseline(file)
        assert found.scenarios == BASELINE.scenarios, "not what was written"
        assert int(found.date or "") >= last, "an older one came back"
        last = int(found.date or "")
    store.replace_baseline(file, dated(10**6), expected_digest=store.digest(file))
    assert [path.name for path in folder.iterdir()] == ["baseline.json"], "something was left behind"
    assert last > 0, "nothing was ever written"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_200_writers_that_are_killed_leave_a_whole_baseline_each_time(tmp_path: Path):
    run_killing(kill_200_writers, tmp_path)


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_of_many_writers_at_once_each_is_kept_or_refused(tmp_path: Path):
    """Every writer that was not refused saw the one before it: in the order of their writes they make one chain."""
    file = tmp_path / "baseline.json"
    store.replace_baseline(file, dated(0), expected_digest=None)
    children = []
    for number in range(1, 21):
        child = os.fork()
        if child == 0:
            os._exit(_write_once(file, number, tmp_path))
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) <= {0, 2}
    kept = [number for number, code in enumerate(codes, 1) if code == 0]
    assert kept
    before = {int((tmp_path / f"saw-{number}").read_text()): number for number in kept}
    assert len(before) == len(kept), "two writers replaced the same baseline: one of them is lost"
    at = 0
    while at in before:
        at = before.pop(at)
    assert not before
    assert read_baseline(file).date == str(at)


def _write_once(file: Path, number: int, folder: Path) -> int:
    try:
        seen = store.digest(file)
        (folder / f"saw-{number}").write_text(read_baseline(file).date or "")
        if store.digest(file) != seen:
            return 2
        time.sleep(random.Random(number).random() * 0.05)
        store.replace_baseline(file, dated(number), expected_digest=seen)
    except InputError:
        return 2
    except BaseException:  # noqa: BLE001 - a child must not return into the tests
        return 3
    return 0


@pytest.mark.skipif(sys.platform == "win32", reason="there it is the usual way")
def test_where_folders_cannot_be_locked_a_file_is_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "baseline.json"
    monkeypatch.setitem(sys.modules, "fcntl", None)
    store.replace_baseline(file, dated(1), expected_digest=None)
    assert [path.name for path in tmp_path.iterdir()] == ["baseline.json"]
    (tmp_path / ".baseline.json.lock").touch()
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    with pytest.raises(InputError, match="another writer"):
        store.replace_baseline(file, dated(2), expected_digest=store.digest(file))


def test_only_what_a_killed_writer_of_this_file_left_is_removed(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_bytes(b"{}")
    own, other = tmp_path / f".a.json.{'0' * 12}.tmp", tmp_path / f".a.json.b.{'0' * 12}.tmp"
    for path in (own, other):
        path.write_text("half")
    store.replace_policy(file, b"{}", b"[]")
    assert (own.exists(), other.exists()) == (False, True)
