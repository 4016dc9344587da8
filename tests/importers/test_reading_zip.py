"""Archives of strangers: nothing is written, nothing is unpacked beyond what was said, and every lie is named."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from highbar.errors import InputError, Problem
from highbar.importers.reading import zip as reading
from tests.importers.bombs import a_gigabyte_of_spaces
from tests.importers.imported import problems_of, written
from tests.patience import processor_time


def archive(folder: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", method) as target:
        for name, data in members.items():
            target.writestr(name, data)
    return path


def read_all(path: Path) -> None:
    with reading.open_archive(str(path)) as found:
        for name in found:
            found.read(name)


def refused(path: Path) -> Problem:
    with pytest.raises(InputError) as caught:
        read_all(path)
    (problem,) = caught.value.problems
    return problem


def refused_as_log(path: Path) -> Problem:
    (problem,) = problems_of("inspect", path)
    return problem


def bent(path: Path, change: dict[int, bytes]) -> Path:
    """The archive with some bytes of its first entry in the table of contents replaced, by their offset there."""
    data = bytearray(path.read_bytes())
    table = data.index(b"PK\x01\x02")
    for offset, new in change.items():
        data[table + offset : table + offset + len(new)] = new
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_one_at_a_time(tmp_path, method):
    members = {"header.json": b"{}", "samples/1_epoch_1.json": bytes(range(256)) * 40_000}
    with reading.open_archive(str(archive(tmp_path, members, method))) as found:
        assert list(found) == list(members)
        assert {name: bytes(found.read(name)) for name in found} == members
        assert "header.json" in found
        assert "other" not in found


def test_of_two_members_with_one_name_the_later_one_counts_as_it_does_for_the_tool(tmp_path):
    path = archive(tmp_path, {"header.json": b"old"})
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as target:
        target.writestr("header.json", b"new")
    with reading.open_archive(str(path)) as found:
        assert bytes(found.read("header.json")) == b"new"
        assert found.replaced == 1


@pytest.mark.hazard("H121")
@pytest.mark.parametrize(
    "name", ["../../evil.txt", "/etc/passwd", "a/../../b", "..\\..\\evil.txt", "C:\\evil.txt", "\\\\host\\x", "a\x07b"]
)
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(tmp_path, name):
    path = archive(tmp_path, {"header.json": b"{}", name: b"evil"})
    before = sorted(tmp_path.rglob("*"))
    assert refused(path).code == "file.not-allowed"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.hazard("H121")
def test_a_gigabyte_of_spaces_is_refused_before_it_is_unpacked(tmp_path):
    path = a_gigabyte_of_spaces(tmp_path / "log.eval")
    assert path.stat().st_size < 2_000_000
    with processor_time(below=5):
        problem = refused_as_log(path)
    assert problem.code == "file.not-allowed"
    assert "1,073,741,824" in problem.message


@pytest.mark.hazard("H121")
def test_a_member_that_shrank_too_much_is_refused(tmp_path):
    path = archive(tmp_path, {"header.json": b" " * 30_000_000})
    problem = refused(bent(path, {20: struct.pack("<L", 10_000)}))
    assert problem.code == "file.not-allowed"
    assert "3,000 " in problem.message


@pytest.mark.hazard("H121")
def test_a_member_that_holds_more_than_it_says_is_not_unpacked_to_its_end(tmp_path, monkeypatch):
    path = archive(tmp_path, {"header.json": b"x" * 50_000_000})
    unpacked = []
    inflated = reading._inflate
    monkeypatch.setattr(reading, "_inflate", lambda packed: (unpacked.append(len(p)) or p for p in inflated(packed)))
    assert refused(bent(path, {24: struct.pack("<L", 100)})).code == "file.damaged"
    assert sum(unpacked) < 10_000_000


def test_a_zstd_bomb_is_not_unpacked_to_its_end(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress(b"x" * 50_000_000)
    path = stored_as(tmp_path, packed, method=93, size=100, checksum=0)
    assert refused(path).code == "file.damaged"


def stored_as(folder: Path, packed: bytes, *, method: int, size: int, checksum: int) -> Path:
    """An archive whose one member has these packed bytes, and says so of itself."""
    path = archive(folder, {"header.json": packed}, zipfile.ZIP_STORED)
    change = {10: struct.pack("<H", method), 16: struct.pack("<L", checksum), 24: struct.pack("<L", size)}
    return bent(path, change)


def test_several_zstd_frames_are_one_member(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    whole = b"first " * 1000 + b"second " * 1000
    packed = zstd.compress(whole[:6000]) + zstd.compress(whole[6000:])
    path = stored_as(tmp_path, packed, method=93, size=len(whole), checksum=zlib.crc32(whole))
    with reading.open_archive(str(path)) as found:
        assert bytes(found.read("header.json")) == whole


@pytest.mark.parametrize(
    ("change", "code", "value"),
    [
        ({16: b"\0\0\0\0"}, "file.damaged", "header.json"),
        ({8: b"\x01\x00"}, "file.not-allowed", "encrypted"),
        ({10: b"\x0e\x00"}, "file.not-allowed", "14"),
        ({24: struct.pack("<L", 2_000_000_000)}, "file.not-allowed", "2,000,000,000"),
        ({20: struct.pack("<L", 2_000_000_000)}, "file.damaged", "overlap"),
        ({42: struct.pack("<L", 7)}, "file.damaged", "header.json"),
    ],
)
def test_what_the_table_of_contents_says_falsely_is_named(tmp_path, change, code, value):
    problem = refused(bent(archive(tmp_path, {"header.json": b"{}" * 1000}), change))
    assert problem.code == code
    assert value in problem.message


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = archive(tmp_path, {f"samples/{n}_epoch_1.json": b"x" * 1000 for n in range(50)}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    table = data.index(b"PK\x01\x02")
    first = data[:1100]
    path.write_bytes(first + data[table:])
    assert refused(path)


def test_an_archive_that_is_cut_off_is_refused_wherever_it_is_cut(tmp_path):
    whole = archive(tmp_path, {"header.json": b"{}", "samples/1_epoch_1.json": b"[1,2,3]" * 100}).read_bytes()
    for length in range(len(whole)):
        assert refused_as_log(written(tmp_path, "cut.eval", whole[:length]))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "file.empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "file.git-lfs"),
        (b"not an archive", "file.damaged"),
        (b"PK\x03\x04" + b"\0" * 100, "file.damaged"),
        (b"PK\x05\x06" + b"\0" * 18, "import.incomplete"),
    ],
)
def test_what_is_no_archive_is_refused_with_a_word(tmp_path, data, code):
    assert refused_as_log(written(tmp_path, "log.eval", data)).code == code


def test_a_table_of_contents_that_claims_too_much_is_refused_before_it_is_read(tmp_path):
    data = bytearray(archive(tmp_path, {"header.json": b"{}"}).read_bytes())
    end = data.rindex(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<L", 0x7FFFFFFF)
    assert refused_as_log(written(tmp_path, "log.eval", bytes(data))).code == "file.not-allowed"


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_MEMBERS", 3)
    path = archive(tmp_path, {f"{n}": b"" for n in range(4)})
    problem = refused(path)
    assert problem.code == "file.not-allowed"
    assert "at most 3" in problem.message


def test_a_member_is_unpacked_in_bounded_steps():
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packed.compress(b"\0" * 20_000_000) + packed.flush()
    sizes = [len(part) for part in reading._inflate(iter([data]))]
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 4 * 1024 * 1024
    assert io.BytesIO(data).getbuffer().nbytes < 30_000
