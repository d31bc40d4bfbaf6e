"""One capture for each case, of its first variant, from the reference port, and the calls beside it: pcaps/cases.

The TOML file beside a capture has the calls, their answers and the configuration, so that `fcvi replay pcaps/cases` plays all.

    python case_captures.py FCVI FOLDER            write them
    python case_captures.py --check FCVI FOLDER    say which are not what the suite makes now; exit status 1 if any is

With --revision rev1 in front of FCVI they are those of the cases that the edition has of its own: pcaps/rev1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fcvi.engine.evidence import stem
from fcvi.replay import keep, sides, trace


#: What the ids of the cases begin with that an edition has of its own.
_OWN = {"rev1": "R1."}


def made(fcvi: str, folder: Path, revision: str = "") -> dict[str, bytes]:
    """The captures and what belongs to them, by file name."""
    edition = ["--revision", revision] if revision else []
    listed = json.loads(subprocess.run([fcvi, "list", "--json", *edition], capture_output=True, check=True).stdout)
    listed = [case for case in listed if case["id"].startswith(_OWN.get(revision, ""))]
    first = {case["id"]: (case["variants"] or [case["id"]])[0] for case in listed}
    options = ["--dut", "ref", "--quiet", "--seed", "1", "--formats", "evidence,pcapng", "--report", str(folder)]
    command = [fcvi, "run", *edition, *options]
    subprocess.run([*command, "--select", ",".join(first.values())], check=True)
    found: dict[str, bytes] = {}
    for ident, variant in first.items():
        capture = folder / f"{stem(variant)}.pcapng"
        if not capture.is_file():
            continue  # a case of a standard without a wire
        recording = trace.load(folder, variant)
        numbers = [n + 1 for n in range(len(sides.of_capture(capture) or ())) if n not in unsent(capture)]
        found[f"{ident}.pcapng"] = capture.read_bytes()
        found[f"{ident}.toml"] = keep.expectations(recording, f"The case {variant} of the suite.", numbers).encode()
    return found


def unsent(capture: Path) -> frozenset[int]:
    """The frames, from 0, that the tester meant to send and that were lost: the device never saw them."""
    senders = sides.of_capture(capture) or []
    return frozenset(n for n in sides.lost(capture) if senders[n] == "tester")


def main() -> int:
    """Write or compare."""
    check = sys.argv[1:2] == ["--check"]
    arguments = sys.argv[1 + check :]
    revision = ""
    if arguments[:1] == ["--revision"]:
        revision, arguments = arguments[1], arguments[2:]
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[1])
    with tempfile.TemporaryDirectory() as scratch:
        captures = made(arguments[0], Path(scratch), revision)
    there = {path.name: path.read_bytes() for kind in ("*.pcapng", "*.toml") for path in folder.glob(kind)}
    stale = sorted(name for name in captures.keys() | there.keys() if captures.get(name) != there.get(name))
    if check:
        for name in stale:
            print(f"{folder / name}: not what the suite makes now; make pcaps", file=sys.stderr)
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in captures:
            (folder / name).write_bytes(captures[name])
        else:
            (folder / name).unlink()
    print(f"{len(captures) // 2} captures, {len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
