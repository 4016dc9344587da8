"""A suite and an agent in, a run folder with results out. Nothing here judges a version: `check` reads the results.

    suite + agent  →  calls  →  journal  →  graded rows  →  results.jsonl

`agents` calls the agent, one attempt at a time. `scheduling` decides what is called when, and what is tried again.
`journal` makes every answer durable. `grading` turns answers into rows. `execution` runs these steps in order.
"""
