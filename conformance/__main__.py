"""``python3 -m conformance``: the fcvi command with every standard that is here."""

from __future__ import annotations

import sys

from fcvi.cli import main as run

from . import NoStandard, register_all


def main() -> int:
    """Run one command; returns its exit status."""
    try:
        return run(standards=register_all)
    except NoStandard as error:
        print(f"fcvi: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
