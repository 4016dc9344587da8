"""What a verdict is made of, without files, clocks or processes: rows are read once (`rows`) and scored (`score`)."""
