"""Reads what options take, for argparse: a value that is wrong is told in words of the user's, not of Python's."""

from __future__ import annotations

from argparse import Action, ArgumentTypeError, SUPPRESS
from dataclasses import fields
from pathlib import Path

from fcvi.engine.budget import Limits, limits_of
from fcvi.engine.words import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any, Callable

_LONGEST_MS = 24 * 3600 * 1000


def whole(least: int, most: int, unit: str = "") -> Callable[[str], int]:
    """A whole number from least to most."""

    def read(value: str) -> int:
        found = number(value, least, most)
        if found is None:
            raise ArgumentTypeError(f"must be a number from {least} to {most}{unit}")
        return found

    return read


DEFAULTS = ", ".join(f"{field.name.replace('_', '-')}={field.default}" for field in fields(Limits))


def budget(value: str) -> Limits:
    """What a device may take."""
    try:
        return limits_of(value)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


milliseconds = whole(1, _LONGEST_MS, " ms")
counted = whole(1, 1_000_000_000)
seed = whole(-(2**63), 2**63 - 1)


def _seconds(value: str, most: int) -> float:
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise ArgumentTypeError(f"must be between 0 and {most} seconds")
    return found


def seconds(value: str) -> float:
    """Seconds, with a fraction perhaps, up to an hour: how long to wait."""
    return _seconds(value, 3600)


def long_seconds(value: str) -> float:
    """The same up to a year: how long to work."""
    return _seconds(value, 366 * 24 * 3600)


class Device(Action):
    """The option --dut, beside which no other names a device."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, value: Any, option: Any = None) -> None:
        said = getattr(namespace, "attached_by", option)
        if said != option:
            parser.error(f"{said} and {option} both name the device: leave one out")
        namespace.attached_by, namespace.dut = option, value


class _Frames(Device):
    def __call__(self, parser: ArgumentParser, namespace: Namespace, value: Any, option: Any = None) -> None:
        super().__call__(parser, namespace, f"frames:{value}", option)


def frames(p: ArgumentParser) -> None:
    """The option --frames, another way to say --dut."""
    p.add_argument("--frames", dest="dut", action=_Frames, default=SUPPRESS, metavar="SPEC",
                   help="Send and receive frames through this frame adapter: exec:COMMAND, unix:PATH, tcp:HOST:PORT.")  # fmt: skip


class _Joined(Action):
    """What is given twice stands for both."""

    def __call__(self, _parser: ArgumentParser, namespace: Namespace, value: Any, _option: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, value if before is None else f"{before},{value}")


def selection(p: ArgumentParser, what: str) -> None:
    """The option --select."""
    p.add_argument("--select", metavar="EXPR", action=_Joined, help=what)


def cases(p: ArgumentParser) -> None:
    """The option --cases."""
    p.add_argument("--cases", metavar="DIR", type=Path, help="Read cases of your own as well, the Python files of this folder.")


def waivers(p: ArgumentParser) -> None:
    """The options --baseline and --quarantine."""
    p.add_argument("--baseline", metavar="OLD", type=Path,
                   help="Count only the failures that OLD, a report directory or report.json, does not have.")  # fmt: skip
    p.add_argument("--quarantine", metavar="FILE", type=Path,
                   help="Do not count failures of the cases in this TOML file, each until its date.")  # fmt: skip


def rpc_timeout(p: ArgumentParser) -> None:
    """The option --rpc-timeout."""
    p.add_argument("--rpc-timeout", type=seconds, default=5.0, metavar="S",
                   help="Give up when an answer takes longer (default 5; 20 for hello).")  # fmt: skip


def of_a_device(p: ArgumentParser) -> None:
    """The options of a command that talks to a device for long."""
    p.add_argument("--r-a-tov", type=milliseconds, metavar="MS", help="R_A_TOV is this (default 10000, 500 with a real clock).")
    rpc_timeout(p)
    p.add_argument("--progress", choices=("auto", "always", "never"), default="auto",
                   help="Show how far it is; auto shows it on a terminal only.")  # fmt: skip


def own_cases(args: Namespace) -> None:
    """Load what --cases names. Raises FileError."""
    if args.cases is not None:
        from fcvi.engine import own_cases

        own_cases.load(args.cases)
