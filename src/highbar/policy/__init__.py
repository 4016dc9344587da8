"""A policy file in, a checked policy out: its rules by name and level, and its metrics.

    choose(policy, where)                           -> the Policy that the caller passes or names, or the one found here
    find_here()                                     -> the path of the working folder's policy, or None
    read(path), read_dict(mapping)                  -> Policy, or InputError with every problem at once
    default()                                       -> the typical thresholds, which `--policy typical` selects
    missing()                                       -> the Problem if no policy was found: where, and what is similar
    mapping.read_map_file(path)                     -> RowMap: which path of a foreign record feeds which column
    resolve_version(policy, given, recorded)        -> the policy for one agent version

`policy.words` puts each rule into words; `policy.schema` is the JSON Schema of the file, for editors.
"""

from highbar.policy.files import NAMES, files_named_in, find_here, find_policy, folders, missing, names_in
from highbar.policy.patterns import matches
from highbar.policy.reading import (
    TYPICAL,
    baseline_file,
    categories,
    choose,
    chosen_by,
    default,
    is_typical,
    read,
    read_dict,
    read_named,
    without_rules,
)
from highbar.policy.versions import resolve_version

__all__ = [
    "NAMES",
    "TYPICAL",
    "baseline_file",
    "categories",
    "choose",
    "chosen_by",
    "default",
    "files_named_in",
    "find_here",
    "find_policy",
    "folders",
    "is_typical",
    "matches",
    "missing",
    "names_in",
    "read",
    "read_dict",
    "read_named",
    "resolve_version",
    "without_rules",
]
