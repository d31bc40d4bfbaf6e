"""Writes the documents as they are installed: with the commands that are installed, and links that lead to what is.

Usage: python3 harness/docs/installed.py OUT PREFIX. It writes each page of harness/docs, and the pages of the repository's root,
into OUT. A link to a file that is installed elsewhere goes there. Of a link to one that is not installed the words stay.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The pages of the root that are installed. README.md is that of harness/docs, which lists the pages.
_OF_ROOT = ("CHANGELOG.md", "CONFORMANCE.md", "CONTRIBUTING.md", "SECURITY.md")
#: Folders and files of the repository, and where they are installed, below PREFIX.
PLACES = {
    "harness/starters": "share/fcvi/starters", "harness/pipeline": "share/fcvi/pipeline", "harness/fcvi": "lib/fcvi/harness/fcvi",
    "harness/docs/examples": "share/doc/fcvi/examples", "harness/docs": "share/doc/fcvi", "conformance": "lib/fcvi/conformance",
    "fuzz/corpus": "share/fcvi/seeds", "fuzz/example": "share/fcvi/fuzz-example", "codec/include/fcvi": "include/fcvi",
    "build/fuzz/fcvi.dict": "share/fcvi/fcvi.dict", "build/fcvi.lua": "lib/fcvi/wireshark/fcvi.lua",
    "build/fcvi-open": "lib/fcvi/build/fcvi-open",
}  # fmt: skip
#: What is no part of an installation though its folder is.
_NOT = re.compile(r"conformance/(tests|monitor|explore)|/tests(/|$)|fuzz/corpus/?$")
_PROGRAM = re.compile(r"(?<![\w/.-])build/(fcvi|fcvi-agent|fcvi-verbs-agent)(?![\w.-])")
_PATH = re.compile(r"(?<![\w/.-])(?:build|harness|fuzz|conformance|codec)/[\w./-]*[\w/]")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FOREWORD = "A path such as `refimpl/src` is of the source of this version, which is not installed.\n\n"


def installed(path: str, prefix: str) -> str:
    """Where a file or folder of the repository is installed; "" when it is not."""
    if _NOT.search(path):
        return ""
    for place, there in PLACES.items():
        if path == place or path.startswith(place + "/"):
            return f"{prefix}/{there}{path[len(place):]}"
    return f"{prefix}/share/doc/fcvi/{path}" if path in _OF_ROOT else ""


def page(source: Path, prefix: str) -> str:
    """A page, for an installation under prefix."""
    text = _PROGRAM.sub(r"\1", source.read_text(encoding="utf-8"))
    text = _PATH.sub(lambda found: _exists(found[0], prefix) or found[0], text)

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found.groups()
        if "://" in target:
            return found[0]
        path = os.path.relpath((source.parent / target).resolve(), ROOT)
        there = _exists(path, prefix)
        if not there:
            return str(words)
        return f"[{words}]({os.path.relpath(there, f'{prefix}/share/doc/fcvi')}{anchor or ''})"

    text = _LINK.sub(link, text)
    return _FOREWORD + text if source.name == "README.md" else text


def _exists(path: str, prefix: str) -> str:
    """As installed, for what the repository or a build of it has."""
    plain = path.rstrip("/")
    if not (plain.startswith("build/") or (ROOT / plain).exists()):
        return ""
    return installed(plain, prefix) + ("/" if path.endswith("/") else "") if installed(plain, prefix) else ""


def main(out: Path, prefix: str) -> int:
    """Write every page."""
    out.mkdir(parents=True, exist_ok=True)
    pages = [*sorted((ROOT / "harness/docs").glob("*.md")), *(ROOT / name for name in _OF_ROOT if (ROOT / name).exists())]
    for source in pages:
        (out / source.name).write_text(page(source, prefix), encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("usage: installed.py OUT PREFIX", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2].rstrip("/")))
