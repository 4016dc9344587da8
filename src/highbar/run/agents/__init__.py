"""An agent of a suite → something that can be called, one attempt at a time."""
