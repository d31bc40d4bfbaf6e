"""The commands, one module each, with ``add_parser`` and ``run``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

#: Each command and its module, in the order of the help.
NAMES = {
    name: name
    for name in (
        "run", "certify", "judge", "replay", "report", "pics", "list", "show", "decode", "lint", "flows",
        "explain", "new-case", "fuzz", "random", "learn", "explore", "endpoint", "dut",
    )  # fmt: skip
} | {"list": "list_cases", "new-case": "new_case"}


def modules(command: str) -> list[ModuleType]:
    """The module of a command alone: it need not wait for the others to load. All of them for what is none."""
    from importlib import import_module

    names = [NAMES[command]] if command in NAMES else list(NAMES.values())
    return [import_module(f"{__name__}.{name}") for name in names]
