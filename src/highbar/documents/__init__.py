"""Files that people write: YAML or JSON text in, a tree with the place of everything in it out.

`files` reads, `tree` is what comes out, `excerpts` shows the lines that problems are about.
"""
