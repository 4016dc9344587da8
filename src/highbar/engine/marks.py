"""Names with a mark, true or false: how `behaviors` and `must_not` tell what was observed and what happened."""

from __future__ import annotations

from msgspec import Struct

from highbar.engine import duplicates


class Marks(Struct, frozen=True):
    """{name: bool} or [{name, `key`: bool}] as SQL: the names by their mark, and whether the form is bad.

    A name whose mark is null is unmarked: nobody said whether it is true. Only {name: bool} can have such a name.
    """

    every: str
    true: str
    false: str
    unmarked: str
    bad: str


def read_marks(json: str, key: str) -> Marks:
    """The marks in a JSON text; in a list of objects, the mark is the value of `key`."""
    pairs = f"map_entries(CAST(CAST({json} AS JSON) AS MAP(VARCHAR, JSON)))"
    items = f"CAST(CAST({json} AS JSON) AS JSON[])"
    item_name, item_mark = "json_extract(x, '/name')", f"json_extract(x, '/{key}')"
    is_object = f"starts_with({json}, '{{')"
    no_mark = "(x.value IS NULL OR x.value = 'null')"

    def names(of_pairs: str, of_items: str) -> str:
        return (
            f"CASE WHEN {is_object} THEN list_transform(list_filter({pairs}, lambda x: {of_pairs}), lambda x: x.key)"
            f" ELSE list_transform(list_filter({items}, lambda x: {of_items}),"
            " lambda x: json_extract_string(x, '/name')) END"
        )

    every = names("true", "true")
    sound_item = f"coalesce(json_type({item_name}) = 'VARCHAR' AND {item_mark} IN ('true', 'false'), false)"
    # With two marks a name could be true and false: which of the two counts would depend on the reader.
    two_marks = duplicates.has_duplicate("json_keys(x)")
    odd_mark = "x.value IS NOT NULL AND x.value NOT IN ('true', 'false', 'null')"
    bad_object = f"len(list_filter({pairs}, lambda x: {odd_mark})) > 0 OR {duplicates.has_duplicate_key(pairs)}"
    bad = (
        f"CASE WHEN {is_object} THEN {bad_object}"
        f" WHEN starts_with({json}, '[') THEN len(list_filter({items}, lambda x: NOT {sound_item} OR {two_marks})) > 0"
        f" OR list_unique(list_transform({every}, lambda n: lower(n))) < len({items}) ELSE true END"
    )
    return Marks(
        every=every,
        true=names("x.value = 'true'", f"{item_mark} = 'true'"),
        false=names("x.value = 'false'", f"{item_mark} = 'false'"),
        unmarked=names(no_mark, "false"),
        bad=bad,
    )
