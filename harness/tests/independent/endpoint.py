"""The independent FC-VI endpoint as a program: see README.md beside it."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from independent.rpc import main  # noqa: E402

sys.exit(main())
