"""A session at a Spark Connect server. If that is none, falls silent or dies, it is said, with its address.

By itself pyspark waits ten minutes for an answer, fifteen times over.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from highbar.errors import InputError, Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession  # an optional extra

_DEADLINE = 10.0
"""Seconds within which a server must answer a small question, the first one and those asked while it works."""
_BETWEEN = 5.0
"""Seconds between two such questions."""
_SILENCES = 3
"""Questions in a row that no answer comes to, until the server counts as gone: one alone may fall in a long pause."""
_RETRIES = 5
"""Of each call of pyspark: 17 s in all."""
FAREWELL = 3.0
"""Seconds for ending the jobs, and for ending the session, when a signal ends the check or the server is gone."""


@contextmanager
def connected(address: str) -> Iterator[SparkSession]:
    """A session at the server, which ends with the context. Raises InputError if the server does not answer or dies."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own lines about connections that fail, on standard error
    probe = _Probe(address)
    fault = probe.fault()
    if fault is not None:
        hint = "is this the address of a Spark Connect server, and is the server up?"
        raise InputError(
            Problem("spark.no-session", f"no Spark session: no answer from {_shown(address)}: {fault}", hint=hint)
        )
    session = _session(address)
    gone = threading.Event()
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(probe, session, over, gone), daemon=True)
    watch.start()
    try:
        yield session
    except InputError:
        raise
    except Exception as error:
        if gone.is_set() or probe.fault() is not None:
            gone.set()
            raise _died(address) from error
        raise
    finally:
        over.set()
        if gone.is_set() or not within(FAREWELL, session.stop):
            _hang_up(session)


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Do the work for so many seconds at most, and whether it ended; what it raises is of no interest at the end."""

    def run() -> None:
        with suppress(Exception):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def _hang_up(session: SparkSession) -> None:
    """Close the session's channel, which ends every call in flight: the client by itself would wait for the server."""
    session.client._channel.close()  # noqa: SLF001 - nothing public closes it without asking the server
    within(FAREWELL, session.client.close)


def _shown(address: str) -> str:
    """The address without its parameters, one of which may be a token."""
    return address.partition(";")[0].rstrip("/")


def _died(address: str) -> InputError:
    return InputError(
        Problem(
            "spark.no-session",
            f"the Spark Connect server at {_shown(address)} no longer answers, so nothing was judged",
            hint="see whether it is up, and check again; its own log says why it stopped",
        )
    )


def _session(address: str) -> SparkSession:
    from pyspark.sql import SparkSession  # an optional extra
    from pyspark.sql.connect.client.retries import DefaultPolicy  # likewise

    session = SparkSession.builder.appName("highbar").remote(address).getOrCreate()
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    return session


def _watch(probe: _Probe, session: SparkSession, over: threading.Event, gone: threading.Event) -> None:
    """Ask until the check is over. If the server is gone, close the session's channel: that ends the call in flight."""
    silences = 0
    while not over.wait(_BETWEEN):
        silences = silences + 1 if probe.fault() is not None else 0
        if silences == _SILENCES and not over.is_set():
            gone.set()
            _hang_up(session)
            return


class _Probe:
    """A channel of our own to the server, for the question which Spark it is."""

    def __init__(self, address: str) -> None:
        from pyspark.errors import PySparkException  # an optional extra
        from pyspark.sql.connect.client import DefaultChannelBuilder  # likewise
        from pyspark.sql.connect.proto import AnalyzePlanRequest, SparkConnectServiceStub, UserContext  # likewise

        try:
            builder = DefaultChannelBuilder(address)
        except (PySparkException, ValueError) as error:
            message = f"no Spark session: {_shown(address)} is no address of a Spark Connect server"
            raise InputError(Problem("spark.no-session", message, hint="wanted sc://host:port")) from error
        self._metadata = list(builder.metadata())
        stub: Any = SparkConnectServiceStub
        self._ask = stub(builder.toChannel()).AnalyzePlan
        self._question = AnalyzePlanRequest(
            session_id=str(uuid.uuid4()),
            user_context=UserContext(user_id=builder.userId or ""),
            client_type="highbar",
            spark_version=AnalyzePlanRequest.SparkVersion(),
        )

    def fault(self) -> str | None:
        """Why the server did not answer in time; None if it did."""
        from grpc import RpcError, StatusCode  # comes with pyspark[connect]

        try:
            self._ask(self._question, timeout=_DEADLINE, metadata=self._metadata)
        except RpcError as error:
            if error.code() == StatusCode.DEADLINE_EXCEEDED:
                return f"none within {_DEADLINE:.0f} seconds"
            return str(error.details() or error.code().name).rpartition("last error: ")[2]
        return None
