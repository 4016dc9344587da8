"""Files that people write: YAML or JSON text in, a tree with the place of every value out.

`files` reads them. `tree` has the nodes and reads YAML, `json_tree` JSON, `python_values` what a program passes.
`scalars` has the rules of unquoted values, `problems` collects what is wrong with a decoded value, and `excerpts` adds
the lines that problems are about. `yaml_faults` explains errors of the YAML parser. `csv_fields` is for CSV.
"""
