"""Writes the reference of the C interface from the public headers: every function with the comment that stands above it.

Usage: python3 harness/docs/api.py ROOT > api.md. A function without a
comment of its own is given the heading of its section.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HEADERS = (
    "codec/include/fcvi/*.h", "conformance/monitor/include/fcvi/*.h", "refimpl/include/fcvi/*.h", "refimpl/vipl/include/fcvi/*.h",
    "refimpl/vipl/include/*.h", "harness/capture/capture.h",
)  # fmt: skip

_FUNCTION = re.compile(
    r"^(?!static|typedef|#|return)[A-Za-z_][\w \t\*]*?\**\b((?:fcvi_|mon_|Vip)\w+)\s*\(([^;{}]*)\)\s*;[ \t]*(/\*.*?\*/)?",
    re.MULTILINE | re.DOTALL,
)
_SECTION = re.compile(r"/\* ---- (.*?) ---- \*/", re.S)


@dataclass(frozen=True)
class Function:
    """One function of a header. comment: its own; section: the heading of the section it stands in."""

    name: str
    prototype: str
    comment: str
    section: str


def _words(comment: str) -> str:
    body = re.sub(r"^/\*+|\*+/$", "", comment.strip())
    return " ".join(" ".join(line.strip().removeprefix("*").strip() for line in body.splitlines()).split())


def functions(text: str) -> list[Function]:
    """The functions that a header declares, in its order."""
    found: list[Function] = []
    end = 0
    for match in _FUNCTION.finditer(text):
        before = text[end:match.start()]
        above = re.search(r"/\*(?:(?!\*/).)*\*/\s*\Z", before, re.S)
        own = above.group() if above and "----" not in above.group() else ""
        comment = _words(own or match.group(3) or "")
        sections = list(_SECTION.finditer(text, 0, match.start()))
        prototype = " ".join(re.sub(r"/\*.*?\*/", "", match.group()).split())
        found.append(Function(match.group(1), prototype, comment, _words(sections[-1].group(1)) if sections else ""))
        end = match.end()
    return found


def _included(path: str) -> str:
    """A header as a program includes it, wherever its source is."""
    return path.partition("/include/")[2] or path


def render(root: Path) -> str:
    """The reference in Markdown."""
    parts: list[tuple[str, str, list[Function]]] = []
    for pattern in HEADERS:
        for path in sorted(root.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            listed = functions(text)
            if listed:
                first = re.search(r"/\*.*?\*/", text, re.S)
                parts.append((_included(path.relative_to(root).as_posix()), _words(first.group()) if first else "", listed))
    lines = ["# The C interface", ""]
    lines += ["This page is generated from the public headers. The structures and enumerations stand in the headers.", ""]
    lines += [f"- [`{name}`](#{re.sub(r'[^a-z0-9_-]', '', name.lower())}): {len(listed)} functions" for name, _, listed in parts]
    for name, about, listed in parts:
        lines += ["", f"## {name}", "", about]
        for one in listed:
            comment = one.comment or f"Section of the header: {one.section}."
            lines += ["", f"### {one.name}", "", "```c", one.prototype, "```", "", comment]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: api.py ROOT", file=sys.stderr)
        sys.exit(2)
    sys.stdout.write(render(Path(sys.argv[1])))
