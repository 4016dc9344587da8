"""`python -m highbar` is `highbar`."""

import sys

from highbar.cli import main

if __name__ == "__main__":
    sys.exit(main())
