"""A policy file in, a checked policy out: its rules by name and level, and its metrics.

    choose(policy, where)                           -> the Policy that is given, named or found, for these rows
    find()                                          -> the path of the policy that holds here, or None
    read(path), read_dict(mapping)                  -> Policy, or InputError with every problem at once
    default()                                       -> the typical thresholds, which `--policy typical` names
    missing()                                       -> where a policy was looked for in vain, and what is there instead
    mapping.read_map_file(path)                     -> RowMap: which path of a foreign record feeds which column
    resolve_version(policy, given, recorded)        -> the policy for one agent version

`policy.words` says each rule in words; `policy.schema` is the JSON Schema of the file, for editors.
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
