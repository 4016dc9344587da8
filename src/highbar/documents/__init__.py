"""Files that people write: YAML or JSON text in, a tree with the place of every value out.

`files` reads them, `tree` has the nodes, `excerpts` adds the lines that problems are about.
"""
