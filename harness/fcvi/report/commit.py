"""The commit of the suite: of an installation or a tarball as it was written down then, of a checkout as git says."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

_HERE = Path(__file__).resolve().parents[1]
_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@functools.cache
def commit() -> str:
    """The commit, with "-dirty" when files differ from it; "" when nobody knows it."""
    try:
        noted = (_HERE / "commit").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        noted = ""
    if _HASH.fullmatch(noted):  # a working tree has what `git archive` would have replaced
        return noted
    root = _HERE.parents[1]
    if not (root / ".git").exists():
        return ""
    try:
        words = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()[:60]
