"""Textual mutants of C sources: an operator, a constant, a condition or a removed statement, one a mutant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(file for part in ("codec", "refimpl", "conformance/monitor") for file in ROOT.glob(f"{part}/src/**/*.c"))

#: pattern in a line of C, and what stands there instead
CHANGES = [
    (r"(?<![=!<>])==(?!=)", "!="), (r"!=(?!=)", "=="), (r"<=", "<"), (r">=", ">"), (r"(?<![-<])<(?![<=])", "<="),
    (r"(?<![->])>(?![>=])", ">="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=\w) \+ (?=\w)", " - "), (r"(?<=\w) - (?=\w)", " + "),
    (r"(?<=\w) & (?=\w)", " | "), (r"(?<=\w) \| (?=\w)", " & "), (r"<<", ">>"), (r">>", "<<"), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"\b0\b(?![xX.])", "1"), (r"\b1\b(?!\.)", "0"), (r"\b(?:[2-9]|[1-9]\d+)\b(?!\.)", "+1"),
]  # fmt: skip
_CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$")
_STATEMENT = re.compile(r"^\s+(?!return\b|break\b|continue\b|goto\b|static\b|const\b|struct\b|enum\b)"
                        r"(?!uint\w+ |size_t |int |bool |char )"
                        r"[\w>.\[\]*()-]+.*;$")  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed line."""

    file: Path
    line: int  # from 1
    old: str
    new: str
    nth: int = 0  # of the lines of the file that read the same

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What names it when lines before it come and go."""
        return str(self.file.relative_to(ROOT)), self.old, self.nth, self.new

    @property
    def part(self) -> str:
        """What it is counted with: the simulated Fabric and the form in which states are compared are no protocol code."""
        path = self.file.relative_to(ROOT)
        place, support = path.parts[0], path.parts[:3] == ("refimpl", "src", "fabric") or path.stem == "canonical"
        return "support" if support else "monitor" if place == "conformance" else place

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.old.strip()}  ->  {self.new.strip()}"


def _code(line: str) -> str:
    """The line with strings and comments blanked out."""
    return re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//.*', lambda m: "\x00" * len(m[0]), line)


def _of_line(line: str) -> list[str]:
    code = _code(line)
    if line.lstrip().startswith(("#", "*", "/*", "//", "static const", "_Static_assert")):
        return []
    found = []
    for pattern, new in CHANGES:
        for match in re.finditer(pattern, code):
            text = str(int(match[0]) + 1) if new == "+1" else new
            found.append(line[: match.start()] + text + line[match.end() :])
    condition = _CONDITION.match(line)
    if condition:
        found.append(f"{condition[1]}(!({condition[2]})){condition[3] or ''}")
    if _STATEMENT.match(code):
        found.append(re.match(r"\s*", line)[0] + ";")  # type: ignore[index]
    return found


def mutants_of(file: Path) -> list[Mutant]:
    """Every mutant of a file. Lines of comments and of preprocessor directives are left alone."""
    found, comment = [], False
    seen: dict[str, int] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        starts = "/*" in line and "*/" not in line
        nth = seen[line] = seen.get(line, -1) + 1
        if not comment and not starts:
            found += [Mutant(file, number, line, new, nth) for new in dict.fromkeys(_of_line(line)) if new != line]
        comment = (comment or starts) and "*/" not in line
    return found
