"""The status of a span, a trace or a run → whether it is an error, by a closed list of words."""

from __future__ import annotations

from typing import NamedTuple

from highbar.importers.record import Record, is_number, refuse, shown


class Statuses(NamedTuple):
    """The words of one format, in capitals; `wanted` names them in messages.

    Any other word is refused: it may be how a newer version of the tool says that the agent crashed.
    """

    good: frozenset[str]
    bad: frozenset[str]
    wanted: str

    def failed(self, holder: Record, key: str) -> bool:
        """Whether the status at `key` is an error; an absent one is not. Refuses true, false and unknown words.

        >>> SPAN_CODES.failed(Record({"code": "Status_Code_Error"}, "span"), "code")
        True
        """
        value = holder.value(key)
        if value is None:
            return False
        whole = is_number(value) and value == int(value)
        word = str(int(value)) if whole else value.strip().upper() if isinstance(value, str) else None
        if word not in self.good and word not in self.bad:
            refuse(f"{holder.place}: {key}: found {shown(value)}, wanted {self.wanted}")
        return word in self.bad


SPAN_CODES = Statuses(
    frozenset({"", "0", "1", "UNSET", "OK", "STATUS_CODE_UNSET", "STATUS_CODE_OK"}),
    frozenset({"2", "ERROR", "STATUS_CODE_ERROR"}),
    "0, 1 or 2 (unset, ok or error)",
)
"""The status codes of OpenTelemetry. OTLP JSON has numbers; other Protobuf writers use names."""
