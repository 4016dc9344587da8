"""The bar over time: as it was at a git ref, how it was weakened since, recorded as a baseline, raised by a ratchet."""
