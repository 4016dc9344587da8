"""Ctrl-C while Spark works: it is felt at once, and the jobs of the check end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread, Timer
from typing import Any

import pytest

from highbar.engine.spark import SparkEngine
from tests.patience import PATIENCE, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]


class Asked(BaseException):
    """What a signal raises."""


@contextmanager
def signal_once(runs: Callable[[], object]) -> Iterator[None]:
    """A signal as soon as the query runs."""

    def stop(*_: object) -> None:
        raise Asked

    def send() -> None:
        wait_for(runs, "the query does not run")
        os.kill(os.getpid(), signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, stop)
    sender = Thread(target=send, daemon=True)
    sender.start()
    try:
        yield
    finally:
        sender.join()
        signal.signal(signal.SIGALRM, before)


def a_job_of_the_caller(spark: Any) -> None:
    with suppress(Exception):  # it is canceled when the test ends
        spark.sql("SELECT max(hash(id)) FROM endless").collect()


def test_a_signal_is_felt_while_a_query_runs_and_its_jobs_alone_end(spark: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.range(10**14).createOrReplaceTempView("endless")  # days, if nobody stops it
    other = Thread(target=a_job_of_the_caller, args=(spark,), daemon=True)
    other.start()
    wait_for(tracker.getActiveJobsIds, "the job of the caller does not start")
    (theirs,) = tracker.getActiveJobsIds()
    engine = SparkEngine(spark.createDataFrame([("s1", True)], "id string, passed boolean"))
    giving_up = Timer(PATIENCE, spark.sparkContext.cancelAllJobs)
    giving_up.start()
    try:
        with pytest.raises(Asked), signal_once(lambda: len(tracker.getActiveJobsIds()) > 1):
            engine.rows("SELECT max(hash(id)) FROM endless")
        assert giving_up.is_alive(), "the signal was not felt while the query ran"
        engine.interrupt()
        wait_for(lambda: [*tracker.getActiveJobsIds()] == [theirs], "a job of the check still runs, or no other does")
        assert other.is_alive()
    finally:
        giving_up.cancel()
        spark.sparkContext.cancelAllJobs()
        other.join()
        engine.close()
        spark.catalog.dropTempView("endless")
