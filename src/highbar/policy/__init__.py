"""A policy file in, a checked policy out: its rules by name and level, and its metrics.

    choose(policy, where)                           -> the Policy that the caller passes or names, or the one found here
    find_here()                                     -> the path of the working folder's policy, or None
    read(path), read_dict(mapping)                  -> Policy, or InputError with every problem at once
    default()                                       -> the typical thresholds, which `--policy typical` selects
    missing()                                       -> the Problem if no policy was found: where, and what is similar
    mapping.read_map_file(path)                     -> RowMap: which path of a foreign record feeds which column
    resolve_version(policy, given, recorded)        -> the policy for one agent version

From the file to the policy:

    files, reading                    which file; its tree → a Policy, block by block, with every problem
    cursor, shapes                    the position of a reader in the tree; short forms of a block, and hints
    settings                          plain settings, weights and filters; the evidence that rules demand
    metrics, composite                the metrics that a policy defines, and its composite
    rules, scenario_ids, versions     thresholds and other rules; ids and patterns; the versions of progressive rules
    baseline, judge, quarantine       blocks of that name; also judged_by, suite, mapping (paths) and selecting
    sequential, crashes               what sequential rules cannot do; rules that crashes would make easier to meet
    directions                        which way a formula goes with each name in it, and which values it can have
    notes                             what a policy may say, but probably does not mean

From the policy to others: `words` puts each rule into words, `schema` is the JSON Schema of the file, and `editing`
writes new numbers into its text.
"""

from highbar.policy.files import NAMES, files_named_in, find_here, find_policy, folders, missing, names_in
from highbar.policy.reading import (
    TYPICAL,
    baseline_file,
    categories,
    choose,
    chosen_by,
    default,
    is_typical,
    named_columns,
    read,
    read_dict,
    read_named,
    resolve_version,
    without_rules,
)
from highbar.policy.scenario_ids import matches

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
    "named_columns",
    "names_in",
    "read",
    "read_dict",
    "read_named",
    "resolve_version",
    "without_rules",
]
