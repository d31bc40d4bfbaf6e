"""The independent VI/TCP endpoint as a program: see README.md beside it."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from tests.independent.vitcp.rpc import main  # noqa: E402

sys.exit(main())
