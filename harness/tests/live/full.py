"""The whole suite over real frames, so many times: ``make live``.

Each run has a namespace of its own with a veth pair, the device on one end (the reference port, or fcvi-agent over our
libvipl), `fcvi certify` on the other, and dumpcap beside it. Then tshark reads what crossed the wire. A role is the suite's
own; the device takes the one that fits it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

import pytest

from .net import DEVICE, TESTER, Net, available

_LONGEST_S = 900
#: By the suite's role: the device's role, and the Ethernet address that its frames come from ("": that of its interface).
_ROLES = {
    "point-to-point": ("point-to-point", "0efc00010200"),
    "vn2vn": ("vn2vn", "0efd00000002"),
    "fabric": ("enode", "0efc00010200"),
    "enode": ("fabric", ""),
}
#: What a link of this kind has no room for: a loop on Ethernet, a Fabric between two VN2VN ports, ours behind an FCF of others.
_NO_SUCH_LINK = ("the device cannot be configured so", "cannot play the Fabric")
#: tshark 4.0 takes every LS_ACC to a FARP-REPLY for one with a body, which it has not (fc-wire, 8.3).
_FARP_REPLY = "0x55"
_FIELDS = ("eth.src", "fcoe.crc.status", "fcoe.eof", "_ws.malformed", "fc.type", "fcels.opcode", "frame.number", "fc.ox_id")


class Outcome:
    """What one run came to."""

    def __init__(self) -> None:
        self.flaws: list[str] = []
        self.summary = ""


def one(where: Path, device: str, role: str, select: Optional[str] = None) -> Outcome:
    """One run; its files are in the directory."""
    other, source = _ROLES[role]
    outcome = Outcome()
    net = Net()
    started = time.monotonic()
    try:
        source = source or net.run("ip", "-o", "link", "show", DEVICE).stdout.split("link/ether ")[1][:17].replace(":", "")
        agent = net.agent(where / "control") if device == "agent" else net.endpoint(where / "control", f",role={other}")
        capture = net.start("dumpcap", "-q", "-i", TESTER, "-w", str(where / "wire.pcapng"), until="File:")
        words = ["run", "--select", select] if select else ["certify"]
        done = net.fcvi(*words, "--dut", f"fcoe:{TESTER},role={role}", "--agent", agent, "--report", str(where / "report"),
                        timeout=_LONGEST_S)  # fmt: skip
        took = time.monotonic() - started
        net.stop_capture(capture)
    finally:
        net.close()
    (where / "run.log").write_text(done.stdout + done.stderr)
    results = json.loads((where / "report/report.json").read_text())
    counts = ", ".join(f"{n} {verdict}" for verdict, n in results["summary"].items() if n)
    cases = json.loads((where / "report/evidence/run.json").read_text())["cases"]
    again = [c["id"] for c in cases if c.get("slower", 1) > 1 or c.get("pace") == "again"]
    outcome.flaws += [f"{r['id']}: {r['verdict']}: {r['reason']}" for r in results["results"] if _is_flaw(r, role)]
    if done.returncode not in (0, 4 if results["summary"]["inconclusive"] else 0):
        outcome.flaws.append(f"exit status {done.returncode}")
    frames = tshark_reads(where / "wire.pcapng", source, outcome.flaws)
    outcome.summary = f"{counts}; {took:.0f} s; tried again: {', '.join(again) or 'none'}; {frames} frames of the device read"
    return outcome


def _is_flaw(result: dict[str, Any], role: str) -> bool:
    if result["verdict"] == "inconclusive" and role != "point-to-point":
        return not any(words in result["reason"] for words in _NO_SUCH_LINK)
    return result["verdict"] in ("fail", "error", "inconclusive")


def tshark_reads(wire: Path, by_device: str, flaws: list[str]) -> int:
    """Everything the device sent: right CRC, a valid EOF, nothing malformed. How many frames it sent.

    by_device: the Ethernet address that they come from.
    """
    fields = [word for name in _FIELDS for word in ("-e", name)]
    read = subprocess.run(
        ["tshark", "-r", str(wire), "-Y", "fcoe", "-T", "fields", *fields], capture_output=True, text=True, timeout=600, check=False
    )
    if read.returncode != 0:
        flaws.append(f"tshark: exit status {read.returncode}: {read.stderr.strip()[:200]}")
    lines = [line.split("\t") for line in read.stdout.splitlines()]
    farp = {ox_id for *_, opcode, _, ox_id in lines if opcode == _FARP_REPLY}
    count = 0
    for source, crc, eof, malformed, _, opcode, number, ox_id in lines:
        if source.replace(":", "") != by_device:
            continue  # what the tester sends may be wrong on purpose
        count += 1
        known = opcode == "0x02" and ox_id in farp
        if crc != "1" or eof not in ("0x41", "0x42") or (malformed and not known):
            flaws.append(f"tshark: frame {number}: CRC status {crc}, EOF {eof} {malformed}")
    return count


def main() -> int:
    """Exit status 0 when no run had a flaw."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--device", choices=("endpoint", "agent"), default="endpoint")
    p.add_argument("--role", choices=[*_ROLES, "all"], default="point-to-point", help="the suite's; all: one after the other")
    p.add_argument("--select")
    p.add_argument("--keep", type=Path, help="where the files of runs with flaws go")
    args = p.parse_args()
    missing = available() or next((f"no {tool} here" for tool in ("dumpcap", "tshark") if shutil.which(tool) is None), None)
    if missing is not None:
        print(f"live: not run: {missing}", file=sys.stderr)
        return 3
    if args.device == "agent" and args.role != "point-to-point":
        p.error("fcvi-agent has no role but point-to-point")
    bad = 0
    roles = list(_ROLES) if args.role == "all" else [args.role]
    for role, number in ((role, number) for role in roles for number in range(1, args.runs + 1)):
        with tempfile.TemporaryDirectory(prefix="fcvi-live.") as scratch:
            try:
                outcome = one(Path(scratch), args.device, role, args.select)
            except pytest.skip.Exception as refused:
                print(f"live: not run: {refused}", file=sys.stderr)
                return 3
            print(f"live run {number} of {args.runs}, {role}, {args.device}: {outcome.summary}", flush=True)
            for flaw in outcome.flaws[:40]:
                print(f"    {flaw}", flush=True)
            bad += bool(outcome.flaws)
            if outcome.flaws and args.keep is not None:
                kept = args.keep / f"{role}-{number}"
                shutil.copytree(scratch, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("control"))
    print(f"live: {args.runs * len(roles) - bad} of {args.runs * len(roles)} runs without a flaw")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
