"""Results as rows: one reader a form, one struct for a row."""
