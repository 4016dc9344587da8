"""Documents that outlive a run: what they hold, how they are written, and how they are read back."""
