"""``python3 -m fcvi``."""

import sys

from .cli import main

sys.exit(main())
