"""Connections that know whether a byte of the response had arrived before they broke.

Before the first byte nobody knows what became of the request: that is infrastructure. After it the agent has begun to
answer, and a cut is its error. aiohttp raises the same exceptions for both, so a subclass of its protocol marks them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import ClientError, TCPConnector
from aiohttp.client_proto import ResponseHandler

_MARK = "highbar_answering"


class MarkingConnector(TCPConnector):
    """A connector whose connections mark their exceptions."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # A private attribute: aiohttp has no public setting for the class of its protocol.
        self._factory = partial(_MarkingResponse, loop=self._loop)  # type: ignore[assignment]  # of a subclass


class _MarkingResponse(ResponseHandler):
    """A connection that remembers whether any byte has arrived since the last request."""

    _answering = False

    def set_response_params(self, **settings: Any) -> None:
        self._answering = False  # a connection is reused for the next request
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        self._answering = self._answering or bool(data)
        super().data_received(data)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        setattr(exc, _MARK, self._answering)
        super().set_exception(exc, *cause)


def had_begun(error: ClientError | OSError) -> bool:
    """Whether the agent had begun to answer when this error happened."""
    return bool(getattr(error, _MARK, False))
