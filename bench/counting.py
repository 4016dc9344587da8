"""Processor seconds to read a file, and to read it and count its lines: `python bench/counting.py FILE`."""

from __future__ import annotations

import json
import sys
import time

from highbar.load import counting, unpacking


def main(file: str) -> None:
    """Prints both, the counting first; the better of three each."""
    counted, read = [], []
    for _ in range(3):
        start = time.process_time()
        counting.count_lines(unpacking.blocks_of(file))
        counted.append(time.process_time() - start)
        start = time.process_time()
        for _ in unpacking.blocks_of(file):
            pass
        read.append(time.process_time() - start)
    print(json.dumps([min(counted), min(read)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
