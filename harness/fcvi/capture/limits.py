"""Limits what reading captures may take of this host, and says so when that is not enough."""

from __future__ import annotations

from fcvi.engine.words import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_MOST = 1 << 40


class Limits:
    """0 stands for no limit."""

    memory = 8192  #: MiB of address space
    cpu = 86_400  #: seconds of processor time
    output = 0  #: MiB of a file that standard output or error goes to
    bytes = 0  #: MiB of each capture, unpacked
    findings = 1_000_000  #: shown of each stream of frames; all are counted

    def bytes_most(self) -> int:
        """The limit of a capture in bytes; 0 stands for none."""
        return self.bytes << 20

    def shows(self, findings: int) -> bool:
        """Whether one more than so many findings is shown."""
        return not self.findings or findings < self.findings

    def hint(self, words: str) -> str:
        """The same words. Where an option would help, it follows them."""
        if words.endswith("unknown file format"):
            return f"{words}; --from hex reads a text of hexadecimal numbers"
        if not words.endswith("out of memory") and "out of memory for" not in words:
            return words
        return f"{words}; the reader may take {self.memory} MiB: --limits memory=MIB gives it more" if self.memory else words


class Wishes:
    """What a command is told about reading captures, when it is told nothing."""

    given: list[str] = []
    limits = Limits()
    no_sandbox = False
    reorder = 0  #: ms: records are taken in the order of their times within so much
    form = "capture"  #: or hex
    link: Optional[str] = None  #: of a dump


NAMES = ("memory", "cpu", "output", "bytes", "findings")


def parse(text: str) -> Limits:
    """``NAME=NUMBER,...``. Raises ValueError."""
    limits = Limits()
    for word in text.split(","):
        name, _, value = word.partition("=")
        found = number(value, 0, _MOST)
        if name not in NAMES or found is None:
            raise ValueError(f"{word[:40]!r} is no limit; write NAME=NUMBER with a NAME of {', '.join(NAMES)}")
        setattr(limits, name, found)
    return limits


def _argument(text: str) -> Limits:
    from argparse import ArgumentTypeError

    try:
        return parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def positive_ms(text: str) -> int:
    """Milliseconds, up to an hour."""
    from argparse import ArgumentTypeError

    found = number(text, 1, 3_600_000)
    if found is None:
        raise ArgumentTypeError("must be between 1 and 3600000 ms")
    return found


def add_reorder(parser: Any) -> None:
    """--reorder, of the commands that look at frames one after the other."""
    parser.add_argument(
        "--reorder", type=positive_ms, default=Wishes.reorder, metavar="MS",
        help="Take records in the order of their times, where they are no more than so many milliseconds apart.",
    )  # fmt: skip


def add_form(parser: Any) -> None:
    """--from and --link, of the commands that read hexadecimal dumps too. ``hexdump.standing_in`` opens them."""
    parser.add_argument("--from", dest="form", choices=("capture", "hex"), default=Wishes.form,
                        help="The files are captures (the default) or hexadecimal dumps, as `fcvi decode` reads them.")  # fmt: skip
    link = "The frames of a hexadecimal dump begin with the Frame_Header, SOF or Ethernet (default: as they look)."
    parser.add_argument("--link", choices=("frame", "delimited", "ethernet"), default=Wishes.link, help=link)


def add_options(parser: Any) -> None:
    """--limits and --no-sandbox, of every command that reads captures."""
    parser.add_argument(
        "--limits", type=_argument, default=Wishes.limits, metavar="NAME=N,...",
        help=f"Reading may take this, 0 for no limit: memory (MiB, default {Limits.memory}), cpu (seconds, {Limits.cpu}), "
        "output (MiB of each file that is printed to, 0), bytes (MiB of each capture when it is unpacked, 0), "
        f"findings (shown of each file, {Limits.findings}).",
    )  # fmt: skip
    parser.add_argument("--no-sandbox", action="store_true", help="Read captures in this process, with all rights of the user.")
