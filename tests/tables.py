"""One test for a whole table: a thousand tiny cases as tests of their own cost more to collect than to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def each(table: Iterable[Sequence[object]]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Call the test with every row of the table, and list all rows that fail, each with its message."""
    rows = [tuple(row) for row in table]

    def of_table(test: Callable[..., None]) -> Callable[[], None]:
        def whole() -> None:
            failed = []
            for row in rows:
                try:
                    test(*row)
                except AssertionError as error:
                    failed.append(f"{row}: {error}")
            assert not failed, f"{len(failed)} of {len(rows)} rows fail:\n" + "\n".join(failed)

        # Not functools.wraps: pytest would ask for fixtures with the names of the columns.
        whole.__name__, whole.__doc__, whole.__module__ = test.__name__, test.__doc__, test.__module__
        assert rows, "an empty table tests nothing"
        return whole

    return of_table
