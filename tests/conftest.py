"""What holds for every test: what its markers say about its cost is true, and generated examples are fixed.

`scripts/test --quick` leaves out what bears a marker of cost. What asks for a browser or a Spark session gets its
marker here; what starts a process without a marker fails, because it would make the quick loop slow.

Random search has its own commands, scripts/laws and scripts/fuzz; what they find becomes a fixed example.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.repository import git

settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=True, max_examples=50)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get("HIGHBAR_FUZZ") else "fixed")

MARKER_OF_FIXTURE = {"chromium": "browser", "spark": "spark"}
STARTING = {"process", "browser", "registry", "spark"}
"""The markers under which a test may start processes."""
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
"""The events of `sys.audit` that start a process."""
SLOW = 2.0
"""Seconds of processor time that call for the marker `slow`."""

MOST_OF_A_CASE = 200
"""Characters of a case of a parametrized test by which it is named; see `pytest_make_parametrize_id`."""

_folders = itertools.count()
_started: list[str] = []
_unmarked: dict[str, float] = {}


def _note_start(event: str, arguments: tuple[Any, ...], starts: Collection[str] = frozenset(STARTS)) -> None:
    # Every run asks git for the commit, which takes milliseconds: that alone makes no test slow.
    if event in starts and arguments[:1] != (
        "git",
    ):  # `starts` is an argument: at the very end of the process this module is empty, and the hook still called
        _started.append(f"{event}{arguments[:2]}"[:200])


sys.addaudithook(_note_start)
# A shell starts `scripts/test &` with interrupts ignored, and every process below would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case after the beginning of a long text.

    Some have megabytes, and each worker tells the first process the names of all tests, and that of each once more.
    """
    if not isinstance(val, str | bytes) or len(val) <= MOST_OF_A_CASE:
        return None  # as pytest names it
    start = val[:MOST_OF_A_CASE] if isinstance(val, str) else val[:MOST_OF_A_CASE].decode("latin-1")
    return f"{start.encode('unicode_escape').decode('ascii')} and {len(val) - MOST_OF_A_CASE} more"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: all that is made lives as long as the process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for something that costs, and group the tests that share what takes long to make.

    That is a session of Spark, a browser, a server, or what a fixture makes once for the tests of a file. What is slow
    comes first in a worker's list: at the end no worker is left alone with a long test.
    """
    for item in items:
        for fixture, marker in MARKER_OF_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))
        if _of_module(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if item.get_closest_marker("spark"):
            shared = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("spark" if shared else f"spark {item.path.stem}"))
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _of_module(item: pytest.Item) -> bool:
    """Whether a test uses a fixture that is made once for the tests of its file: in one worker, then."""
    found = getattr(item, "_fixtureinfo", None)
    return found is not None and any(each[-1].scope == "module" for each in found.name2fixturedefs.values())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Forget what was started before the first test: pytest-xdist asks the system what it runs on.

    Half a million objects, thousands of tests and the libraries, live as long as the process: Python need not look
    through them again each time that it collects what tests left behind, and there is memory for it to do so rarely.
    """
    _started.clear()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, by the name of the test and a number.

    As pytest's, which lists the folders of all tests before this one to find a number that is free.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_folders)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Fills a folder as `make(folder, *arguments, **how)` does; of one file's tests, only the first one waits for it.

    Later ones get a copy: for repositories, baselines and histories, which take checks and processes to make.
    """
    folders: dict[str, Path] = {}

    def copy(folder: Path, make: Callable[..., object], *arguments: object, **how: object) -> None:
        key = repr((make, arguments, how))
        if key not in folders:
            new = tmp_path_factory.getbasetemp() / f"made{next(_folders)}"
            new.mkdir(mode=0o700)
            make(new, *arguments, **how)
            folders[key] = new
        shutil.copytree(folders[key], folder, symlinks=True, dirs_exist_ok=True)
        for place in (folder, *folder.iterdir()):
            if (place / ".git" / "HEAD").exists():
                git(place, "status", "--short")  # else git takes every file for a changed one: it is a copy

    return copy


@pytest.fixture(autouse=True)
def markers_are_true(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that started a process, it or a fixture that it was the first to ask for, and bears no marker."""
    start = time.process_time()
    yield
    request.node.user_properties.append(("processor_time", time.process_time() - start))
    started = [*_started]
    _started.clear()
    markers = {marker.name for marker in request.node.iter_markers()}
    assert not started or markers & STARTING, f"mark it: @pytest.mark.process, since it starts {started[0]}"


@pytest.fixture(autouse=True)
def no_loop_of_a_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Playwright leaves an event loop running in this thread; tests without a page start loops of their own."""
    loop = asyncio._get_running_loop()
    if loop is None or MARKER_OF_FIXTURE.keys() & {*request.fixturenames}:
        yield
        return
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what took long and is not marked, from every worker."""
    took = dict(report.user_properties).get("processor_time", 0.0)
    if report.when == "teardown" and isinstance(took, float) and took > SLOW and "slow" not in report.keywords:
        _unmarked[report.nodeid] = took


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List it; it is no failure, since processor time grows a little on a busy machine."""
    for name, took in sorted(_unmarked.items()):
        terminalreporter.write_line(f"not marked slow: {name} took {took:.1f} s of processor time")


@pytest.fixture(scope="session")
def chromium():
    """The one browser of a process; it is loaded if a test asks for it."""
    from tests.chromium import launched

    with ExitStack() as stack:
        yield launched(stack)


@pytest.fixture
def open_page(chromium):
    """Opens pages in it."""
    from tests.chromium import opener

    with ExitStack() as stack:
        yield opener(chromium, stack)
