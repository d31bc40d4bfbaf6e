"""``fcvi dut check``: whether a device keeps to the DUT protocol, before any case runs.

It calls each method, compares every answer with the protocol's JSON Schema, and tries clock, order, errors, long lines
and hostile frames. Each line that begins with "mend" says what the device did and what it has to do.
The page dut-protocol.md is the protocol. With frames: before SPEC it tests a frame adapter against frame-adapter.md, with
verbs: an agent for RDMA verbs against dut-protocol-verbs.md, and with --book vitcp a device of VI/TCP against
dut-protocol-streams.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from fcvi.dut.base import AttachError
from fcvi.engine.target import Target
from fcvi.engine.words import complain, printable
from .target import book, target
from .values import seconds


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("dut", help="Test the adapter of a device against the DUT protocol.", description=__doc__)
    actions = p.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="Test an adapter, before any case runs.", description=__doc__)
    check.add_argument("dut", metavar="SPEC",
                       help="This is the device: exec:COMMAND, unix:PATH, tcp:HOST:PORT; frames:SPEC is an adapter, verbs:SPEC an "
                            "agent for RDMA verbs.")  # fmt: skip
    book(check, editions=False)
    check.add_argument("--timeout", type=seconds, default=5.0, metavar="S", help="An answer may take so long (default 5).")
    check.add_argument("--json", action="store_true", help="Print one object with every check.")
    check.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check; 0 nothing to mend, 1 something, 2 it cannot be attached, 3 it fell silent or broke the stream."""
    device = target(args)
    kind, _, rest = _plain(device).partition(":")
    if kind not in ("exec", "unix", "tcp") or not rest:
        use = "use exec:COMMAND, unix:PATH or tcp:HOST:PORT, with frames: before it for a frame adapter, verbs: for an agent"
        complain(f"{args.dut}: {use}", "fcvi dut check")
        return 2
    with tempfile.NamedTemporaryFile("ab", prefix="fcvi-dut-", suffix=".log") as log:
        return _check(args, device, log)


def _check(args: argparse.Namespace, device: Target, log: Any) -> int:
    from fcvi.dut.contract.adapter import check_adapter
    from fcvi.dut.contract.checks import Review, check_device
    from fcvi.dut.contract.verbs import check_agent

    review = Review()
    try:
        if device.kind == "frames":
            broke = check_adapter(device.rest, args.timeout, log.fileno(), review)
        elif device.kind == "verbs":
            broke = check_agent(device.rest, args.timeout, log.fileno(), review)
        elif device.book.streams:
            from fcvi.dut.contract.streams import check_streams

            broke = check_streams(str(device), args.timeout, log.fileno(), review)
        else:
            broke = check_device(str(device), args.timeout, log.fileno(), review)
    except AttachError as error:
        complain(error, "fcvi dut check")
        return error.status
    last = _last_words(Path(log.name))
    if args.json:
        checks = [{"check": title, "outcome": outcome, "words": words} for title, outcome, words in review.lines]
        print(json.dumps({"dut": args.dut, "implementation": review.implementation, "clock": review.clock, "checks": checks,
                          "not_served": review.missing, "broke_off": broke or None, "standard_error": last}, indent=1))  # fmt: skip
    else:
        _print(device, review, broke, last)
    return 3 if broke else 1 if review.to_mend else 0


def _print(device: Target, review: Any, broke: str, last: list[str]) -> None:
    print(printable(f"{device}: {review.implementation or 'it did not say who it is'}, {review.clock or 'unknown'} clock"))
    for title, outcome, words in review.lines:
        print(printable(f"{outcome:<5} {title}{': ' + words if words else ''}"))
    if broke:
        print(printable(f"mend  the check broke off: {broke}"))
    for line in last:
        print(printable(f"      standard error of the device: {line}"))
    if broke:
        print("The device did not hold to the protocol; the other checks were not made.")
    elif review.to_mend:
        print(f"{review.to_mend} to mend. {_page(device)} says what the suite expects.")
    else:
        print("Nothing to mend: the adapter keeps to the protocol, as far as these checks see.")


def _page(device: Target) -> str:
    pages = {"frames": "frame-adapter.md", "verbs": "dut-protocol-verbs.md"}
    return pages.get(device.kind, "dut-protocol-streams.md" if device.book.streams else "dut-protocol.md")


def _plain(device: Target) -> str:
    """Where it is, without what says which protocol it speaks."""
    return device.rest if device.kind in ("frames", "verbs") else str(device)


def _last_words(log: Path) -> list[str]:
    try:
        return log.read_bytes()[-2000:].decode("utf-8", "backslashreplace").splitlines()[-5:]
    except OSError:
        return []
