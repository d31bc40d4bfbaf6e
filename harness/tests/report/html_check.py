"""Checks what a page must hold to be usable by everybody, on its structure."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Optional

VOID = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """A page as a flat list of elements, with what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, Optional[str]]]] = []
        self.open: list[str] = []
        self.problems: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.open:
            self.problems.append(f"</{tag}> without a start")
        elif self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes <{self.open[-1]}>")
            self.open.remove(tag)
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "script" not in self.open:
            self.text.append(data)

    def named(self, tag: str) -> list[dict[str, Optional[str]]]:
        """The attributes of all elements of this name."""
        return [attrs for name, attrs in self.elements if name == tag]

    def ids(self) -> list[str]:
        """Every id."""
        return [attrs["id"] or "" for _, attrs in self.elements if "id" in attrs]


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb (WCAG 2)."""
    digits = colour.lstrip("#")
    digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
