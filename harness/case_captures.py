"""One capture for each case, of its first variant, from the reference port: pcaps/cases.

    python case_captures.py FCVI FOLDER            write them
    python case_captures.py --check FCVI FOLDER    say which are not what the suite makes now; exit status 1 if any is
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def made(fcvi: str, folder: Path) -> dict[str, bytes]:
    """The captures by file name."""
    listed = json.loads(subprocess.run([fcvi, "list", "--json"], capture_output=True, check=True).stdout)
    first = {case["id"]: (case["variants"] or [case["id"]])[0] for case in listed}
    command = [fcvi, "run", "--dut", "ref", "--quiet", "--seed", "1", "--formats", "pcapng", "--report", str(folder)]
    subprocess.run([*command, "--select", ",".join(first.values())], check=True)
    names = {ident: variant.replace("/", "__") + ".pcapng" for ident, variant in first.items()}
    return {f"{ident}.pcapng": Path(folder, name).read_bytes() for ident, name in names.items()}


def main() -> int:
    """Write or compare."""
    check = sys.argv[1:2] == ["--check"]
    arguments = sys.argv[1 + check :]
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[1])
    with tempfile.TemporaryDirectory() as scratch:
        captures = made(arguments[0], Path(scratch))
    there = {path.name: path.read_bytes() for path in folder.glob("*.pcapng")}
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
    print(f"{len(captures)} captures, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
