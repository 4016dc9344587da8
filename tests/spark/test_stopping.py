"""Ctrl-C while Spark works: it is felt at once, and the jobs of the check end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

import pytest

from highbar.engine.spark import SparkEngine

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.xdist_group("spark")]


class Asked(BaseException):
    """What a signal raises."""


@contextmanager
def signal_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Asked

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def a_job_of_the_caller(spark: Any) -> None:
    with suppress(Exception):  # it is canceled when the test ends
        spark.sql("SELECT max(hash(id)) FROM endless").collect()


def test_a_signal_is_felt_while_a_query_runs_and_its_jobs_alone_end(spark: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.range(10**11).createOrReplaceTempView("endless")  # minutes, if nobody stops it
    other = Thread(target=a_job_of_the_caller, args=(spark,), daemon=True)
    other.start()
    while not tracker.getActiveJobsIds():
        time.sleep(0.1)
    (theirs,) = tracker.getActiveJobsIds()
    engine = SparkEngine(spark.createDataFrame([("s1", True)], "id string, passed boolean"))
    start = time.monotonic()
    try:
        with pytest.raises(Asked), signal_after(3):
            engine.rows("SELECT max(hash(id)) FROM endless")
        assert time.monotonic() - start < 120  # on a busy machine; the query takes far longer
        engine.interrupt()
        while [*tracker.getActiveJobsIds()] != [theirs]:
            assert time.monotonic() - start < 300, "a job of the check still runs, or the other one does not"
            time.sleep(0.1)
        assert other.is_alive()
    finally:
        spark.sparkContext.cancelAllJobs()
        other.join()
        engine.close()
        spark.catalog.dropTempView("endless")
