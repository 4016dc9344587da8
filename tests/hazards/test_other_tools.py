"""H112, H121: files of other tools that were made to hurt. Each is refused by the real command line."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from tests.commandline import Run, run


def refused(folder: Path, name: str) -> Run:
    done = run(folder, "check", name, "--format", "json")
    assert done.exit == 2
    assert done.json["verdict"] is None
    return done


@pytest.mark.hazard("H112")
@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><testsuite name='s'><testcase name='&x;'/></testsuite>",
        "<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;&a;'>]><testsuite><testcase name='&b;'/></testsuite>",
        "<!DOCTYPE testsuite SYSTEM 'http://127.0.0.1:9/x.dtd'><testsuite><testcase name='a'/></testsuite>",
    ],
)
def test_h112_a_document_type_is_refused_and_no_file_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.xml").write_text(text, "utf-8")
    done = refused(tmp_path, "report.xml")
    assert "a document type or an entity is declared here, which is not allowed" in done.problems
    assert "root:" not in done.out + done.err


@pytest.mark.hazard("H121")
def test_h121_a_gigabyte_of_spaces_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("header.json", "w") as stream:
            for _ in range(64):
                stream.write(b" " * 16 * 1024 * 1024)
        archive.writestr("../../evil.txt", "evil")
    started = time.monotonic()
    done = refused(tmp_path, "log.eval")
    assert time.monotonic() - started < 20
    assert "claims to unpack to 1,073,741,824 bytes" in done.problems


@pytest.mark.hazard("H121")
@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "..\\..\\evil.txt"])
def test_h121_a_name_that_leads_out_of_the_archive_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    with zipfile.ZipFile(inner / "log.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr(name, "evil")
    done = refused(inner, "log.eval")
    assert "is not allowed in a log" in done.problems
    assert not list(tmp_path.rglob("evil*"))
