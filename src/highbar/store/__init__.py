"""Documents that outlive a run: how they are written, how they are read back, and their JSON Schemas.

A document is described once, by the forms of its fields (`forms`); writing, reading and the schema all follow from that
description. `verdict`, `comparison` and `plan` are such descriptions, and `pieces` has the parts that they share.
"""
