"""``fcvi explain``: what went wrong in captures, in plain words, the most probable cause first.

Each cause comes with the frames that show it and with what would confirm it. A party is named only where a frame of that
party shows the fault; of what happened beyond the capture point every possibility is named. "Not known which" means
that several causes look alike from where the capture was taken. "Not known" means that a Connection failed and the capture does
not show why. What the capture point made of frames, of their order and of their times is told before the causes, and none rests on
it. --glossary lists the words of storage systems' logs.

The exit status is 0 when nothing went wrong and 1 when a cause was found. It is 2 when nothing of FC-VI is there or the input is
bad, 3 when the reader failed, and 4 when something failed and no cause is known.
"""

from __future__ import annotations

import json
from pathlib import Path

from fcvi.capture import confined
from fcvi.capture.limits import add_form, add_options, add_reorder, positive_ms
from fcvi.capture.scan import EDITIONS
from fcvi.engine.words import complain, file_name, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fcvi.flows.cause import Cause
    from fcvi.flows.table import Flow, Table


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("explain", help="Say in plain words what went wrong in captures.", description=__doc__)
    p.add_argument("files", metavar="CAPTURE", nargs="*", help="This is a capture; - is standard input.")
    p.add_argument("--json", action="store_true", help="Print one object for each cause, a line each.")
    p.add_argument("--html", metavar="FILE", type=Path, help="Write a page with causes, time lines, ladders and latencies too.")
    what = "R_A_TOV of the ports is this, where no FLOGI shows it."
    p.add_argument("--r-a-tov", metavar="MS", type=positive_ms, default=0, help=what)
    which = "The ports speak this edition: that of 2007, Rev 1.0 of 1999, or what their frames show (the default)."
    p.add_argument("--edition", choices=tuple(EDITIONS), default="auto", help=which)
    p.add_argument("--glossary", action="store_true", help="Print the words of storage systems' logs, and what they mean here.")
    add_form(p)
    add_reorder(p)
    add_options(p)
    p.set_defaults(run=run, books=False)


_MOST_OTHERS = 20  # Connections that are named


def _json(cause: Cause, table: Table, flows: list[Flow]) -> str:
    from .flows import about_capture

    places = [table.scan.place(s.number) for s in cause.frames]
    return json.dumps({
        "cause": cause.name if cause.is_known else "not-known", "may_be": list(cause.names), "certainty": cause.sure,
        "text": cause.text, "confirm": cause.confirm, "party": "" if cause.party is None else f"{cause.party:06X}",
        "connection": flows.index(cause.flow) + 1 if cause.flow is not None else -1, "further_connections": len(cause.others),
        "frames": [{"file": file_name(path), "frame": n, "text": s.words()} for (path, n), s in zip(places, cause.frames)],
        "capture": about_capture(table),
    })  # fmt: skip


def _text(number: int, cause: Cause, table: Table, flows: list[Flow]) -> list[str]:
    from fcvi.commands.flows import connections
    from fcvi.flows.cause import TITLES
    from fcvi.flows.glossary import logs_of

    which = f" (Connection {flows.index(cause.flow) + 1})" if cause.flow is not None else ""
    others = [str(flows.index(flow) + 1) for flow in cause.others[:_MOST_OTHERS]]
    rest = ", ..." if len(cause.others) > _MOST_OTHERS else ""
    more = f"; the same in {connections(len(cause.others))} more: {', '.join(others)}{rest}" if others else ""
    title = TITLES[cause.name] if cause.is_known else f"Not known which of {len(cause.names)}"
    lines = [f"{number}. {title}{which}: {cause.sure}{more}"]
    if not cause.is_known:
        lines += [f"   - {TITLES[name]}" for name in cause.names]
    lines.append(f"   {cause.text}")
    for step in cause.frames:
        path, frame = table.scan.place(step.number)
        lines.append(f"   {printable(path)}: frame {frame}: {step.words()}")
    lines.append(f"   To confirm: {cause.confirm}.")
    words = logs_of(cause.name)
    if words:
        lines.append(f"   In logs: {', '.join(words)}")
    return lines


def run(args: Any) -> int:
    """Explain."""
    if args.glossary and (args.files or args.given != ["--glossary"]):
        complain("--glossary explains words, and no capture: leave the rest out", "fcvi explain")
        return 2
    if args.glossary:
        from fcvi.flows.glossary import GLOSSARY

        for word, (_, meaning) in GLOSSARY.items():
            print(f"{word}: {meaning}")
        return 0
    if not args.files:
        complain("no capture named; see `fcvi explain --help`", "fcvi explain")
        return 2
    from .flows import with_page

    return with_page(args, lambda box: _explain(args, box))


def _hand_over_page(box: confined.Box, table: Table, flows: list[Flow], causes: list[Cause], unknown: list[Flow]) -> None:
    from fcvi.engine.files import encoded
    from fcvi.flows.page import page
    from fcvi.flows.rows import row

    from .flows import about_capture, connections

    said = [*about_capture(table)]
    if unknown:
        numbers = ", ".join(str(flows.index(flow) + 1) for flow in unknown[:20])
        said.append(f"{connections(len(unknown))} failed, and the capture does not show why: {numbers}.")
    if not causes and not unknown:
        said.append("Nothing went wrong that the capture shows.")
    rows = [row(table, flow, ident) for ident, flow in enumerate(flows, 1)]
    box.hand_over(encoded(page(table, flows, rows, causes=causes, summary=said)))


def _of_vitcp(args: Any, table: Table) -> tuple[list[Any], int, list[str]]:
    """What there is to say of VI/TCP, how many connections it has, and what the capture lacks of them. A capture without a foreign
    packet has none."""
    from _fcvi import lib

    if not table.scan.tally.kind[lib.CAPTURE_FOREIGN] or not all(file.is_file for file in table.files):
        return [], 0, []
    from fcvi.vitcp.causes import found_in

    return found_in(args.files, args)


def _explain(args: Any, box: confined.Box) -> int:
    box.enter()
    from fcvi.flows.causes import explain
    from fcvi.flows.table import Table
    from fcvi.flows.words import reason

    from .flows import about_capture, connections, left_out, none_of_ours, old_edition, taken

    def make() -> Table:
        table = Table(args.r_a_tov * 1000, limits=args.limits, edition=args.edition, dumps=args.dumps)
        if args.html is not None:
            table.scan.sample()
        return table

    table, status = taken("explain", args.files, make, args)
    flows = table.finish()
    if not table.scan.tally.records and status:
        return status
    causes, unknown = explain(table, flows)
    others, streams, lacks = _of_vitcp(args, table)
    if not causes and not streams and none_of_ours("explain", table):
        return 2
    if args.html is not None:
        _hand_over_page(box, table, flows, causes, unknown)
    if args.json:
        for cause in causes:
            print(_json(cause, table, flows))
        for other in others:
            print(other.json([*about_capture(table), *lacks]))
    else:
        for said in (*about_capture(table), *lacks):
            print(said)
        for number, cause in enumerate(causes, 1):
            print("\n".join(_text(number, cause, table, flows)))
        for number, other in enumerate(others, len(causes) + 1):
            print("\n".join(other.lines(number)))
        for flow in unknown[:20]:
            said = " with {:02X}h ({})".format(*reason(flow)) if flow.reason else ""
            print(f"Connection {flows.index(flow) + 1} {flow.ids[0]:06X} -> {flow.ids[1]:06X}: {flow.ended}{said}; "
                  "why is not known: the capture does not show it")  # fmt: skip
        if len(unknown) > 20:
            print(f"{connections(len(unknown) - 20)} more failed; why is not known")
        if not causes and not others and not unknown:
            of_tcp = f", {streams} of VI/TCP" if streams else ""
            rest = f"{left_out(table)}{old_edition(table)}"
            print(f"{connections(len(flows))}{of_tcp}; nothing went wrong that the capture shows{rest}")
    return status or (1 if causes or others else 4 if unknown else 0)
