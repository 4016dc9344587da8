"""Keys and passwords in the settings of a suite: only a `${NAME}` may stand for one.

Only what comes from the environment is kept out of logs and run folders, so a secret in the file would get there.
"""

from __future__ import annotations

import re
from typing import Any

from highbar.documents.problems import ValueCursor

VARIABLE = re.compile(r"\$\{([^}]*)\}")
NOT_IN_A_FILE = "a key or password does not belong in a file"
"""The message about a secret. Its line is not shown: a log may be public."""
_SECRET_NAME = re.compile(
    r"(^|-)(x-)?(api|access|account|auth|client|functions|subscription)-?key$|^(x-)?key$|(^|-)(token|auth|sig|signature)$"
    r"|authorization|cookie|credential|passw|secret",
    re.IGNORECASE,
)
"""Names of headers and of parameters in addresses that hold a secret."""


def secret(value: Any, place: ValueCursor, variable: str) -> str | None:
    """A key, which must be a `${NAME}`; `variable` is the name that the hint suggests."""
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return value
    place.refuse("suite.key-in-file", NOT_IN_A_FILE, f"put it into the environment, and write ${{{variable}}} here")
    return None


def is_secret(name: str, value: str) -> bool:
    """Whether a header or a parameter of this name holds a secret that is written out."""
    return bool(value) and _SECRET_NAME.search(name.replace("_", "-")) is not None and not VARIABLE.search(value)


def has_secret(address: str) -> bool:
    """Whether a secret is written out in a web address: as its user, its password or one of its parameters."""
    query = address.partition("?")[2].partition("#")[0]
    parameters = (parameter.partition("=") for parameter in query.split("&"))
    if any(is_secret(name, value) for name, _, value in parameters):
        return True
    rest = address.partition("://")[2]
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    before, at, _ = authority.rpartition("@")
    if at:
        user, colon, password = before.partition(":")
        return not VARIABLE.fullmatch(password if colon else user)
    # What is written as a port but is none is a password with a `/`, `?` or `#` in it.
    port = re.sub(r"^\[[^]]*\]", "", authority).partition(":")[2]
    return "@" in rest and bool(port) and not port.isdecimal() and not VARIABLE.fullmatch(port)
