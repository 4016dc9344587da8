"""All files of a commit are written as they were: links and submodules too, if they are here and lead nowhere else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from highbar.errors import InputError
from highbar.load import commit_copy
from highbar.load.commit_copy import CommitCopy, copy_commit
from highbar.load.revision import revision_at
from tests.repository import commit, git, put

pytestmark = pytest.mark.process


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def copied(root: Path) -> CommitCopy:
    target = root.with_name("copy")
    target.mkdir()
    return copy_commit(revision_at("main", target.resolve()))


def test_files_are_written_with_their_bytes_and_modes(root):
    commit(root, {"a b/ünï.txt": "x\r\ny", "run.sh": "#!/bin/sh\n"})
    (root / "data.bin").write_bytes(bytes(range(256)) * 10)
    (root / "run.sh").chmod(0o755)
    commit(root, {"empty": "", ".gitattributes": "id.txt text eol=crlf ident export-ignore\n", "id.txt": "$Id$\n"})
    put(root, {"id.txt": "changed", "only-here.txt": "x"})
    copy = copied(root).folder
    assert (copy / "a b" / "ünï.txt").read_bytes() == b"x\r\ny"
    assert (copy / "data.bin").read_bytes() == bytes(range(256)) * 10
    assert (copy / "id.txt").read_bytes() == b"$Id$\n"
    assert (copy / "empty").read_bytes() == b""
    assert os.access(copy / "run.sh", os.X_OK)
    assert not os.access(copy / "id.txt", os.X_OK)
    assert not (copy / "only-here.txt").exists()
    assert not list((copy / ".git").iterdir())  # a mark for whoever looks for the root of the repository


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside", "inside/../../outside", "hop/../../outside", "loop"])
def test_links_stay_inside(root, target):
    commit(root, {"inside/deep/file.txt": "x"})
    (root / "hop").symlink_to("inside/deep")
    (root / "near").symlink_to("inside/deep/file.txt")
    (root / "nowhere").symlink_to("inside/none")
    (root / "loop").symlink_to("loop")
    (root / "odd").symlink_to(target)
    commit(root, {})
    copy = copied(root)
    assert (copy.folder / "near").read_text("utf-8") == "x"
    assert (copy.folder / "hop").readlink() == Path("inside/deep")
    assert (copy.folder / "nowhere").is_symlink()
    leads_out = target in {"/etc/hostname", "../outside", "inside/../../outside"}
    assert copy.links == (("odd",) if leads_out else ())
    assert os.path.lexists(copy.folder / "odd") is not leads_out


def test_submodules_are_there_if_their_commit_is_here(root):
    inner = root / "inner"
    inner.mkdir()
    first = commit(inner, {"tool.py": "1\n"})
    commit(inner, {"tool.py": "2\n"})
    put(root, {"note.txt": "x"})
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{first},inner")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},other")
    git(root, "commit", "--quiet", "--message=subs")
    copy = copied(root)
    assert (copy.folder / "inner" / "tool.py").read_text("utf-8") == "1\n"
    assert list(copy.missing) == ["other"]
    assert "git submodule update --init other" in (copy.missing["other"].hint or "")


def test_a_file_of_git_lfs_is_what_was_fetched(root):
    content = b"large\n"
    digest = hashlib.sha256(content).hexdigest()

    def pointer(oid: str) -> str:
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 6\n"

    commit(root, {"here.bin": pointer(digest), "gone.bin": pointer("0" * 64)})
    kept = root / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4]
    kept.mkdir(parents=True)
    (kept / digest).write_bytes(content)
    copy = copied(root)
    assert (copy.folder / "here.bin").read_bytes() == content
    assert not (copy.folder / "gone.bin").exists()
    assert list(copy.missing) == ["gone.bin"]


def test_too_much_is_refused(root, monkeypatch):
    commit(root, {"a.txt": "x" * 100, "b.txt": "y" * 100})
    monkeypatch.setattr(commit_copy, "LARGEST_COPY", 150)
    with pytest.raises(InputError) as refused:
        copied(root)
    assert "200 bytes" in str(refused.value)


def test_what_is_not_here_is_missing(root):
    commit(root, {"a.txt": "x" * 100, "b.txt": "y" * 100})
    blob = git(root, "rev-parse", "HEAD:a.txt").strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    copy = copied(root)
    assert list(copy.missing) == ["a.txt"]
    assert "git fetch" in (copy.missing["a.txt"].hint or "")
    assert (copy.folder / "b.txt").is_file()
