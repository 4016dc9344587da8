"""The bar over time: as it was at a git ref, weakened since then, recorded as a baseline, raised by a ratchet."""
