"""Documents that outlive a run: how they are written, how they are read back, and their JSON Schemas.

A document is described once, by the forms of its fields (`forms`); writing, reading and the schema follow from that.
`verdict`, `comparison` and `plan` are the descriptions, and `pieces` is what they share.
"""
