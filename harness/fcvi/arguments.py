"""Says what the command line may say, for argparse."""

from __future__ import annotations

import argparse
import os
import re
import sys

from . import __version__
from .commands import modules
from .engine.words import complain, near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

EXIT_STATUS = """exit status:
  0  all as it should be
  1  findings: a failed case, a violation
  2  wrong usage, bad input or an empty selection
  3  the suite or the attachment failed
  4  nothing failed but something stayed inconclusive"""


#: What an option takes, by the name of its value in the help.
_VALUES = {
    "N": "a whole number",
    "MS": "a whole number of milliseconds",
    "MIB": "a whole number of MiB",
    "S": "a number of seconds",
    "A-B": "a record number or a range of them, such as 3, 3-7 or 3-",
}

#: Values that are files or folders. An empty one comes of a variable of the shell that is not set, and would pass for the folder
#: that one is in.
_PLACES = frozenset(("FILE", "DIR", "DIR2", "TOML", "CAPTURE", "OLD", "KEY", "PUB", "PART", "A", "B"))
_FOLDERS = frozenset(("DIR", "PART", "A", "B"))  # of those an argument without an option is no stream either
#: Values that have words for nothing: none of them is the empty one.
_NOT_EMPTY = frozenset(("SPEC", "COMMAND", "NAME", "ADDR"))


def version() -> str:
    """The version of the suite, and of a tree or an installation that knows it the commit: "0.2.0 (1a2b3c4)"."""
    from .report.commit import commit

    known = commit().removesuffix("-dirty")[:12]
    return f"{__version__} ({known})" if known else __version__


class Version(argparse.Action):
    """--version: asks for the commit only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .capture.confined import active

        print(f"fcvi {version()}")
        print(f"captures are read under {', '.join(active())}" if active() else "captures cannot be confined on this kernel")
        parser.exit()


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns or 80
    except (ValueError, OSError):
        return 80


class Formatter(argparse.HelpFormatter):
    """Asks for the width of the terminal without the modules that argparse would load for it."""

    def __init__(self, prog: str, indent_increment: int = 2, max_help_position: int = 24, width: Optional[int] = None) -> None:
        super().__init__(prog, indent_increment, max_help_position, width or _columns() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs are filled one by one. One that has indented lines is a list, and keeps its line breaks."""
        paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", text.replace("``", "`"))]
        listed = [re.search(r"^ {2}\S", part, re.MULTILINE) is not None for part in paragraphs]
        filled = [part if as_it_is else super(Formatter, self)._fill_text(part, width, indent)
                  for part, as_it_is in zip(paragraphs, listed)]  # fmt: skip
        return "\n\n".join(filled)


class RawFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """The same, for text that has its line breaks."""


#: What looks like a device that no --dut stands before.
_ATTACHED = re.compile(r"(ref|api|verbs)$|(ref|exec|unix|tcp|fcoe|vitcp|frames):")
#: Words that somebody may try as a command, and what does it.
_ELSEWHERE = {
    "merge": "report merge", "diff": "report diff", "matrix": "report matrix", "sign": "certify sign", "verify": "certify --verify",
    "help": "--help", "version": "--version",
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Usage errors are one line, and an option has its whole name: half of one is no other's."""

    innermost: Parser  # of those that have begun to read the words of the command

    def __init__(self, *, formatter_class: Any = Formatter, **options: Any) -> None:
        super().__init__(formatter_class=formatter_class, allow_abbrev=False, **options)

    def format_help(self) -> str:
        """The help, with the examples of the command at its end."""
        if self.epilog is None:
            from .commands.examples import EXAMPLES

            self.epilog = EXAMPLES.get(self.prog)
        return super().format_help()

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """The values that were given; an empty one is refused where it would pass for the option left out."""
        self._given += action.option_strings[-1:]
        if "" in arg_strings and action.metavar in _PLACES:
            raise argparse.ArgumentError(action, "the name is empty; name a file or a folder")
        if "-" in arg_strings and action.metavar in _PLACES and (action.option_strings or action.metavar in _FOLDERS):
            raise argparse.ArgumentError(action, "- is no name here, nor a stream; ./- is the file or the folder that is called so")
        if "" in arg_strings and action.option_strings and action.metavar in _NOT_EMPTY:
            raise argparse.ArgumentError(action, f"is empty; write {action.metavar}, or leave the option out")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """The value of an argument; what cannot be one is told in words, not by the name of a function."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if not error.message.startswith("invalid "):
                raise
            what = _VALUES.get(str(action.metavar), "a value that it takes")
            raise argparse.ArgumentError(action, f"{arg_string!r} is not {what}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """One of the values that there are; what is none is told with those that are near."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = str(action.metavar).lower()
        if isinstance(action, argparse._SubParsersAction):
            other = _ELSEWHERE.get(str(value)) if self.prog == "fcvi" else None
            hint = f" (did you mean `fcvi {other}`?)" if other else near(str(value), known)
            self.error(f"there is no {what} {value!r}{hint}; there are {', '.join(known)}")
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(known)}{near(str(value), known)}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it. The parser of the command that is named is remembered, for what is said of words that it does not
        know. The namespace gets the options that were given, whatever their values: a default that is typed is a wish as well."""
        Parser.innermost = self
        if not args and self._subparsers is not None:
            self.bare()
        if self._subparsers is not None and args[0].startswith("-") and args[0] not in self._option_string_actions:
            self.refuse(args[:1])
        self._given: list[str] = []
        found, left = super().parse_known_args(args, namespace)
        found.given = [*getattr(found, "given", []), *self._given]
        return found, left

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it; unknown words are told by the command that does not know them."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            Parser.innermost.refuse(left)
        return found

    def refuse(self, left: list[str]) -> NoReturn:
        """Unknown words, with the options that are near to the first. They end the command."""
        word = left[0].partition("=")[0]
        options = [option for action in self._actions if action.help != argparse.SUPPRESS for option in action.option_strings]
        hint = near(word, options) if word.startswith("-") else ""
        if "--dut" in options and _ATTACHED.match(word):
            hint = f" (did you mean --dut {word}?)"
        self.error(f"unrecognized arguments: {' '.join(left)}{hint}")

    def bare(self) -> NoReturn:
        """Nothing was asked for: the help says what there is. It ends the command."""
        self.print_help()
        self.error(f"name {'a command' if self.prog == 'fcvi' else 'an action'}")

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
    top.add_argument("--version", action=Version, nargs=0, dest=argparse.SUPPRESS, default=argparse.SUPPRESS,
                     help="Print the version, with the commit where it is known, and exit.")  # fmt: skip
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in modules(command):
        module.add_parser(commands)
    return top
