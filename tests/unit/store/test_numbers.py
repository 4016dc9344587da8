"""Numbers beyond those of a double, in every document that is read: one clear message, and no internal error."""

from __future__ import annotations

import pytest

from highbar.store.forms import END, EXACT, NUMBER, SHARE, Context, DamagedError


@pytest.mark.parametrize("form", [NUMBER, SHARE, EXACT, END], ids=["number", "share", "exact", "end"])
@pytest.mark.parametrize(
    "number", [10**400, -(10**400), float("inf"), float("nan")], ids=["long", "negative", "inf", "nan"]
)
def test_a_number_that_no_double_holds_is_refused(form, number):
    with pytest.raises(DamagedError, match="wanted a number"):
        form.read(number, Context())
