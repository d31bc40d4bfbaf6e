"""The independent model of verbs as a program: see README.md in the folder above."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from independent.verbs.program import main  # noqa: E402

sys.exit(main())
