"""A policy file in, a checked policy out: its rules by name and level, and its metrics.

    find()                                          -> the path of the policy that holds here, or None
    read(path), read_dict(mapping)                  -> Policy, or InputError with every problem at once
    default()                                       -> the typical thresholds, where there is no policy
    mapping.read_map_file(path)                     -> RowMap: which path of a foreign record feeds which column
    resolve_version(policy, given, recorded)        -> the policy for one agent version

`policy.words` says each rule in words; `policy.schema` is the JSON Schema of the file, for editors.
"""

from highbar.policy.files import NAMES, files_named_in, find, folders, names_in
from highbar.policy.patterns import matches
from highbar.policy.reading import baseline_file, categories, chosen_by, compares, default, read, read_dict
from highbar.policy.versions import resolve_version

__all__ = [
    "NAMES",
    "baseline_file",
    "categories",
    "chosen_by",
    "compares",
    "default",
    "files_named_in",
    "find",
    "folders",
    "matches",
    "names_in",
    "read",
    "read_dict",
    "resolve_version",
]
