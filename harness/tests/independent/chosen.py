"""Holds what the independent endpoints share of their choices: how a table of them is written, and the values in force."""

from __future__ import annotations

from typing import Dict, Iterable, Tuple

N = "NUMBER"  # a value written as a number: NUMBER:lowest:highest:default

#: name: (values, the default first; why each is legal)
Table = Dict[str, Tuple[str, str]]


class Choices:
    """The values in force; a wrong name or value is a ValueError that says what is right."""

    def __init__(self, table: Table, settings: Iterable[str] = ()) -> None:
        self._values = {name: _default(values) for name, (values, _) in table.items()}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if name not in table or not equals:
                raise ValueError(f"--choose {setting}: no such choice, see --list-choices")
            if not _legal(table[name][0], value):
                raise ValueError(f"--choose {setting}: {name} takes {shown(table[name][0])}")
            self._values[name] = value

    def __call__(self, name: str) -> str:
        return self._values[name]

    def has(self, name: str) -> bool:
        """Whether this edition has the choice."""
        return name in self._values

    def number(self, name: str) -> int:
        """The value of a choice that is a number."""
        return int(self._values[name])

    def yes(self, name: str) -> bool:
        """Whether a yes/no choice is yes."""
        return self._values[name] == "yes"


def shown(values: str) -> str:
    """The values of a choice for people: the default first."""
    if not values.startswith(N):
        return values
    _, low, high, default = values.split(":")
    return f"{default}|{low}..{high}"


def _default(values: str) -> str:
    return values.rsplit(":", 1)[1] if values.startswith(N) else values.split("|")[0]


def _legal(values: str, value: str) -> bool:
    if not values.startswith(N):
        return value in values.split("|")
    _, low, high, _ = values.split(":")
    return value.isascii() and value.isdigit() and int(low) <= int(value) <= int(high)
