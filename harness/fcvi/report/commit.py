"""The commit of the suite, where it runs from a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """The commit, with "-dirty" when files differ from it; "" when this is no checkout or there is no git."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        words = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()[:60]
