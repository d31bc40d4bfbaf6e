"""``fcvi explore``: every interleaving of arrivals, timers and calls between two reference ports, within bounds.

Breadth first over snapshots of both ports and what is under way between them; each scenario is a small program of VIPL calls
on either side. What may go wrong is bounded: so many frames are lost, arrive twice or overtake others (on an Out-of-Order
Fabric), and so many timers expire before the frames that could have stopped them arrive. The scenarios of VI/TCP, whose
names begin with vitcp, have TCP connections in place of frames: so many are reset, and so many PDUs arrive in two pieces;
a stream that stalls is a timer that expires first. Every frame and PDU passes the codec and the monitor; calls return once,
Descriptors complete once and in order, what completes well is what was sent, concurrent Peers never get two Connections,
nothing goes over one that is half open, both sides end up agreeing, and nothing stays open. A violation is written as the
shortest way to it: a capture, a ladder diagram, the choices (status 1). Status 4: a bound of the search was
reached before everything had been seen.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Sequence

from fcvi.explore.program import Outcome, explore_all, scenarios
from fcvi.explore.report import ladder, pcapng
from fcvi.engine.files import encoded, write_file
from fcvi.engine.words import UsageError, complain, near, refuse
from . import place
from .values import whole

#: Options that change nothing on the other wire.
_VITCP_ONLY = ("--resets", "--cuts")
_FC_ONLY = ("--losses", "--duplications", "--reorderings", "--fabric", "--class")


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("explore", help="Try every interleaving of two reference ports.", description=__doc__)
    p.add_argument("scenarios", metavar="SCENARIO", nargs="*",
                   help="Explore or list this scenario (default all); a name with / is a variant.")  # fmt: skip
    p.add_argument("--list", action="store_true", help="List these scenarios, and end.")
    p.add_argument("--json", action="store_true", help="Print one object for each scenario, a line each; a violation has its path.")
    for name, default, words in (
        ("losses", 2, "So many frames may be lost"),
        ("duplications", 0, "So many frames may arrive twice"),
        ("reorderings", 1, "So many frames may overtake others"),
        ("resets", 2, "VI/TCP: so many TCP connections may be reset"),
        ("cuts", 1, "VI/TCP: so many PDUs may arrive in two pieces"),
        ("races", 0, "So many timers may expire though a frame, a PDU or a call is due"),
    ):
        p.add_argument(f"--{name}", type=whole(0, 255), default=default, metavar="N", help=f"{words} (default {default}).")
    p.add_argument("--fabric", choices=("out-of-order", "in-order"), default="out-of-order",
                   help="The Fabric delivers frames in this order (default out-of-order).")  # fmt: skip
    p.add_argument("--class", dest="service_class", choices=("2", "3"), default="3", help="Use this class of service.")
    p.add_argument("--no-reduction", action="store_true", help="Explore without partial-order reduction.")
    p.add_argument("--memory", type=whole(1, 1 << 20), default=1024, metavar="MIB",
                   help="Use so much memory for the states (default 1024).")  # fmt: skip
    p.add_argument("--states", type=whole(1, (1 << 32) - 1), default=(1 << 32) - 1, metavar="N",
                   help="Visit no more states than this.")  # fmt: skip
    p.add_argument("--jobs", type=whole(1, 256), default=1, metavar="N", help="Explore so many scenarios at a time (default 1).")
    p.add_argument("--out", type=place.directory, default=Path("."), metavar="DIR",
                   help="Write captures and diagrams there (default .).")  # fmt: skip
    place.force(p)
    p.set_defaults(run=run)


def _settings(args: argparse.Namespace) -> dict[str, object]:
    return {
        "losses": args.losses,
        "duplications": args.duplications,
        "reorderings": args.reorderings,
        "races": args.races,
        "resets": args.resets,
        "cuts": args.cuts,
        "fabric": args.fabric,
        "class": args.service_class,
        "reduction": int(not args.no_reduction),
        "memory": args.memory,
        "states": args.states,
    }


def _say(outcome: Outcome, as_json: bool) -> None:
    s = outcome.summary
    if as_json:
        none = {"rule": None, "text": None, "steps": None}  # members are there whatever was found
        print(json.dumps({**none, **s, "path": outcome.path if outcome.violation else None}), flush=True)
        return
    words = {"none": "nothing found", "bound": "a bound was reached"}.get(s["result"]) or f"{s['rule']}: {s['text']}"
    numbers = f"{s['states']:>9} {s['transitions']:>9} {s['ends']:>6} {s['depth']:>5} {s['states_per_second']:>9.0f}"
    print(f"{outcome.name:<26} {numbers}  {words}", flush=True)


def _write(outcome: Outcome, directory: Path) -> None:
    stem = outcome.name.replace("/", "-")
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / f"{stem}.pcapng", pcapng(outcome))
    write_file(directory / f"{stem}.txt", encoded(ladder(outcome)))
    complain(f"{directory / stem}.pcapng and .txt show the way there")


def _refuse_what_changes_nothing(args: argparse.Namespace, names: Sequence[str]) -> None:
    """Raises UsageError for an option that none of the scenarios heeds."""
    streams = {name.startswith("vitcp-") for name in names}
    for options, wire, here in ((_VITCP_ONLY, "VI/TCP", True), (_FC_ONLY, "FC-VI", False)):
        if here not in streams:
            refuse(args.given, options, f"none of these scenarios is of {wire}; `fcvi explore --list` shows those that are")
    if args.fabric == "in-order" and args.reorderings:
        refuse(args.given, ("--reorderings",), "a Fabric that is in order reorders nothing; leave out --reorderings or --fabric")


def run(args: argparse.Namespace) -> int:
    """The command."""
    known = scenarios()
    names = args.scenarios or [scenario.name for scenario in known]
    for name in names:
        if name not in {scenario.name for scenario in known}:
            offered = near(name, (scenario.name for scenario in known))
            raise UsageError(f"no scenario '{name}'{offered}; `fcvi explore --list` shows them")
    if args.list:
        refuse(args.given, set(args.given) - {"--list", "--json"}, "--list explores nothing: leave it out")
        for scenario in (one for one in known if one.name in names):
            listed = json.dumps({"scenario": scenario.name, "title": scenario.title})
            print(listed if args.json else f"{scenario.name:<26} {scenario.title}")
        return 0
    _refuse_what_changes_nothing(args, names)
    place.refuse_what_is_kept("--out", args.out, args.force)
    if not args.json:
        print(f"{'scenario':<26} {'states':>9} {'steps':>9} {'ends':>6} {'depth':>5} {'states/s':>9}  result", flush=True)
    outcomes = explore_all(names, _settings(args), args.jobs, lambda outcome: _say(outcome, args.json))
    for outcome in outcomes:
        if outcome.violation:
            with place.writing("--out", args.out):
                _write(outcome, args.out)
    if any(outcome.violation for outcome in outcomes):
        return 1
    return 0 if all(outcome.summary["complete"] for outcome in outcomes) else 4
