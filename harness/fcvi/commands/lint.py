"""``fcvi lint``: strict decoding and the monitor over captures, every breach with requirement, byte and bit.

A capture may begin anywhere, miss frames and show them out of order: unless --trust says better, only what contradicts
itself is reported. What could not be judged is said at the end. Frames of different VLANs belong to different Fabrics.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from typing import Any, Iterator

from .. import codec
from ..captures import CaptureError, Reader, Record
from ..monitor import TRUST, Monitor, Unjudged
from ..results import Finding


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("lint", help="strict check of captures", description=__doc__)
    p.add_argument("files", metavar="FILE", nargs="+")
    p.add_argument("--json", action="store_true", help="one object per finding and line, then a summary")
    p.add_argument(
        "--trust", type=_trust, default=0, metavar="WHAT",
        help="comma list of what is certain of the capture: all (no frame is missing), start (no Connection is older), "
        "order (as sent), once (the Fabric delivers none twice), or whole for all of it",
    )  # fmt: skip
    unknown = "(default: taken for 10000, and no breach is judged by it)"
    p.add_argument("--r-a-tov", type=_positive, default=0, metavar="MS", help=f"R_A_TOV of the ports {unknown}")
    p.set_defaults(run=run)


def _trust(value: str) -> int:
    words = set(value.split(","))
    if words == {"whole"}:
        return sum(TRUST.values())
    if not words <= set(TRUST):
        raise argparse.ArgumentTypeError(f"must be of {', '.join(TRUST)}, or whole")
    return sum(TRUST[word] for word in words)


def _positive(value: str) -> int:
    number = int(value)
    if not 0 < number <= 3600000:
        raise argparse.ArgumentTypeError("must be between 1 and 3600000 ms")
    return number


_EXCHANGES, _ENDPOINTS = 16384, 8192


@dataclass
class Tally:
    """What was seen."""

    frames: int = 0
    fcvi: int = 0
    violations: int = 0
    malformed: int = 0
    notices: int = 0

    def count(self, finding: Finding) -> None:
        """Count one finding by its class."""
        if finding.cls == "violation":
            self.violations += 1
        elif finding.cls == "malformed":
            self.malformed += 1
        else:
            self.notices += 1


@dataclass
class Assembly:
    """Connect IUs that come in several frames (E44), by Sequence."""

    parts: dict[tuple[int, ...], list[codec.Frame]] = field(default_factory=dict)

    def add(self, record: Record) -> list[Finding]:
        """One part; gives the findings of the whole when it is complete, and none when parts are missing."""
        frame = codec.decode(record.data, record.sof, record.eof, record.crc)
        if frame.iu not in ("CONNECT_RQST", "CONNECT_RESP1") or record.crc == codec.CRC_BAD:
            return []
        key = tuple(int.from_bytes(v, "big") if isinstance(v, bytes) else v for v in (
            frame.get("FC", name) for name in ("S_ID", "D_ID", "OX_ID", "SEQ_ID")))  # fmt: skip
        if frame.get("FC", "Parameter") == 0:
            self.parts[key] = []
        if key not in self.parts:
            return []
        self.parts[key].append(frame)
        if not frame.get("FC", "End_Sequence"):
            return []
        whole = self.parts.pop(key)
        if len(whole) == 1:
            return []
        payload = b""
        for part in whole:
            if part.get("FC", "Parameter") != len(payload):
                return []  # a part is missing from the capture: nothing can be said
            payload += part.payload
        first = whole[0]
        return codec.check_connect(
            frame.iu, first.data[first.dh_offset : first.payload_offset], payload, first.payload_offset
        )


def _findings(reader: Reader, monitor: Monitor, tally: Tally) -> Iterator[tuple[Record, list[Finding]]]:
    assembly = Assembly()
    for record, findings in reader.findings(monitor):
        if record.kind == "malformed":
            findings = [Finding("FCVI-5.8.1-01", "malformed", record.problem, f"{len(record.data)} bytes", "an FC-2 frame")]
        else:
            findings = findings + assembly.add(record)
        if findings:
            yield record, findings
    tally.frames += reader.tally.frames
    tally.fcvi += reader.tally.fcvi


def _as_json(path: str, record: Record, f: Finding) -> dict[str, Any]:
    return {
        "file": path, "frame": record.number, "time": record.time_us / 1e6, "requirement": f.requirement,
        "class": f.cls, "message": f.message, "byte": f.byte, "bits": f.bits, "seen": f.seen,
        "required": f.required, "erratum": f.erratum,
    }  # fmt: skip


def _as_text(f: Finding) -> str:
    where = "" if f.byte is None else f" at byte {f.byte}" + (f" bits {f.bits}" if f.bits else "")
    tolerated = f" (tolerated: {f.erratum})" if f.erratum else ""
    return f"  {f.requirement} [{f.cls}]{tolerated} {f.message}{where}: seen {f.seen}, required {f.required}"


def run(args: argparse.Namespace) -> int:
    """Lint."""
    tally, status, read = Tally(), 0, False
    unjudged: list[tuple[str, Unjudged]] = []
    for path in args.files:
        monitor = Monitor(args.trust, exchanges=_EXCHANGES, endpoints=_ENDPOINTS, r_a_tov_us=args.r_a_tov * 1000)
        try:
            with Reader(path) as reader:
                read = True
                for record, findings in _findings(reader, monitor, tally):
                    if not args.json:
                        title = codec.decode(record.data, record.sof, record.eof, record.crc).summary()
                        print(f"{path}: frame {record.number} at {record.time_us / 1e6:.6f}: {title}")
                    for finding in findings:
                        tally.count(finding)
                        print(json.dumps(_as_json(path, record, finding)) if args.json else _as_text(finding))
        except CaptureError as error:
            sys.stdout.flush()
            print(f"fcvi: {error}", file=sys.stderr)
            status = 2
        unjudged += [(path, u) for u in monitor.unjudged()]
    if args.json:
        print(json.dumps({"summary": {**vars(tally), "not_judged": [{"file": p, **u.as_json()} for p, u in unjudged]}}))
    else:
        for path, u in unjudged:
            print(f"{path}: not judged: {u.reason} ({u.frames} times" + (f", first in frame {u.first})" if u.first else ")"))
    if read and not args.json:  # of what cannot be read there is nothing to say, least of all "0 violations"
        print(
            f"{tally.frames} frames, {tally.fcvi} of them FC-VI: {tally.violations} violations, "
            f"{tally.malformed} malformed, {tally.notices} notices"
        )
    return status or (1 if tally.violations or tally.malformed else 0)
