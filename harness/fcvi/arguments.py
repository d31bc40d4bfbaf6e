"""What the command line may say, for argparse."""

from __future__ import annotations

import argparse
import os
import sys

from . import __version__
from .commands import modules
from .engine.words import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

EXIT_STATUS = """exit status:
  0  all as it should be
  1  findings: a failed case, a violation
  2  wrong usage, bad input or an empty selection
  3  the suite or the attachment failed
  4  nothing failed but something stayed inconclusive"""


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns or 80
    except (ValueError, OSError):
        return 80


class Formatter(argparse.HelpFormatter):
    """Asks for the width of the terminal without the modules that argparse would load for it."""

    def __init__(self, prog: str, indent_increment: int = 2, max_help_position: int = 24, width: Optional[int] = None) -> None:
        super().__init__(prog, indent_increment, max_help_position, width or _columns() - 2)


class RawFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """The same, for text that has its line breaks."""


class Parser(argparse.ArgumentParser):
    """Usage errors are one line."""

    def __init__(self, *, formatter_class: Any = Formatter, **options: Any) -> None:
        super().__init__(formatter_class=formatter_class, **options)

    def error(self, message: str) -> NoReturn:
        complain(f"{message}; see `{self.prog} --help`", self.prog)
        sys.exit(2)


def parser(command: str = "") -> argparse.ArgumentParser:
    """The command line; of one command only, when it is named."""
    top = Parser(
        prog="fcvi",
        description="Certifies, decodes and checks implementations of FC-VI (ISO/IEC 14165-331:2007).",
        epilog=EXIT_STATUS,
        formatter_class=RawFormatter,
    )
    top.add_argument("--version", action="version", version=f"fcvi {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in modules(command):
        module.add_parser(commands)
    return top
