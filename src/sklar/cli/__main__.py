"""`python -m sklar.cli` is `sklar`."""

import sys

from sklar.cli import main

if __name__ == "__main__":
    sys.exit(main())
