"""Instructions a frame of the hot paths, by callgrind: the same on every run, whatever else the machine does.

    python instructions.py --build BUILD [--write]

Counted are the instructions of our own code (not of libraries, which choose theirs by the CPU) that each further frame of a mixed
capture costs. Fails when one is more than MARGIN above harness/bench/instructions.json; --write renews that file, which
belongs into the commit that says why.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MARGIN = 0.03
FEW, MANY = 4000, 12000
EXPECTED = Path(__file__).with_name("instructions.json")


def own_instructions(out: Path, program: str) -> int:
    """Self cost of the functions of one object in a callgrind file."""
    total, mine, names, skip = 0, False, {}, False
    for line in out.read_text(encoding="utf-8").splitlines():
        entry = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
        if entry:
            names.setdefault(entry[1], entry[2] or "")
            mine = names[entry[1]].endswith(program)
        elif line.startswith("calls="):
            skip = True  # the next line is what was called cost
        elif re.match(r"[+\-*\d]", line):
            total += int(line.split()[1]) if mine and not skip else 0
            skip = False
        elif cob := re.match(r"cob=\((\d+)\) (.*)", line):
            names.setdefault(cob[1], cob[2])
    return total


def count(build: Path, scratch: Path, mode: str, frames: int) -> int:
    """Of one pass over so many frames."""
    capture, out = scratch / f"{frames}.pcap", scratch / "callgrind.out"
    if not capture.exists():
        subprocess.run([str(build / "bench_traffic"), str(capture), str(frames), "mixed"], check=True)
    tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
    subprocess.run([*tool, str(build / "bench_lint"), str(capture), mode], check=True, capture_output=True)
    return own_instructions(out, "bench_lint")


def main() -> int:
    """Count and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--write", action="store_true", help="what is counted now is what is expected from now on")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.build) as scratch:
        counted = {}
        for mode in ("decode", "lint"):
            few, many = (count(args.build, Path(scratch), mode, frames) for frames in (FEW, MANY))
            counted[mode] = round((many - few) / (MANY - FEW), 1)
    if args.write:
        EXPECTED.write_text(json.dumps(counted) + "\n", encoding="utf-8")
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    worse = 0
    for mode, instructions in counted.items():
        change = instructions / expected[mode] - 1
        verdict = "too many" if change > MARGIN else "as expected" if change > -MARGIN else "fewer: renew the file (--write)"
        worse += change > MARGIN
        print(f"{mode}: {instructions} instructions a frame, expected {expected[mode]} ({change:+.1%}): {verdict}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
