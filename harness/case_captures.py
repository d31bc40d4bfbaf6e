"""One capture for each case of the wires of FC-VI, of its first variant, from the reference port, and the calls beside it.

The TOML file beside a capture has the calls, their answers and the configuration, so that `fcvi replay build/pcaps/cases` plays
all. cases/ has those of FC-VI, rev1/ those that the edition of 1999 has of its own. The repository keeps their SHA-256 alone, in
a manifest: the captures are what the suite makes, and a line of the manifest changes when the suite does something else.

    python case_captures.py make FCVI FOLDER             write them; FCVI is the command
    python case_captures.py check FOLDER MANIFEST        compare them with the manifest; exit status 1 when one differs
    python case_captures.py check FCVI MANIFEST          the same of what is made for this moment
    python case_captures.py renew FOLDER MANIFEST        write the manifest, and list the lines that changed
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fcvi.engine.evidence import stem
from fcvi.replay import keep, sides, trace


#: By folder: the revision of which it has the cases, and what their ids begin with.
_FOLDERS = {"cases": ("", ""), "rev1": ("rev1", "R1.")}
_DIFFERENCE = """\
check-pcaps: the manifest says what the last commit made of these cases.
  To see the difference from it: make pcaps-diff OF=%s
  When it is meant: make pcaps, commit the manifest with what changed it, and give the reason in the commit."""


def recorded(fcvi: str, folder: Path, revision: str, begin: str) -> dict[str, bytes]:
    """The captures of the cases whose ids begin so, and what belongs to them, by file name; folder: for the report of the run."""
    edition = ["--revision", revision] if revision else []
    listed = json.loads(subprocess.run([fcvi, "list", "--json", *edition], capture_output=True, check=True).stdout)
    first = {case["id"]: (case["variants"] or [case["id"]])[0] for case in listed if case["id"].startswith(begin)}
    options = ["--dut", "ref", "--quiet", "--seed", "1", "--formats", "evidence,pcapng", "--report", str(folder)]
    subprocess.run([fcvi, "run", *edition, *options, "--select", ",".join(first.values())], check=True)
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


def make(fcvi: str, folder: Path) -> None:
    """Write the captures, and remove what the suite makes no longer."""
    for name, (revision, begin) in _FOLDERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            captures = recorded(fcvi, Path(scratch), revision, begin)
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for path in place.iterdir():
            if path.name not in captures:
                path.unlink()
        for file, content in captures.items():
            (place / file).write_bytes(content)


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file, by the name that it has in the manifest."""
    paths = [path for name in _FOLDERS for path in sorted((folder / name).glob("*"))]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def written(manifest: Path) -> dict[str, str]:
    """What a manifest says, in the form of sha256sum."""
    lines = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def differing(now: dict[str, str], then: dict[str, str]) -> list[str]:
    """The names of files that are another, or on one side alone."""
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def check(source: Path, manifest: Path) -> int:
    """Say which files are not those of the manifest."""
    if source.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            make(str(source), Path(scratch))
            return check(Path(scratch), manifest)
    now, then = sums(source), written(manifest)
    if not now:
        print(f"check-pcaps: {source} has no captures: make pcaps", file=sys.stderr)
        return 1
    found = differing(now, then)
    for name in found:
        what = "is not made any more" if name not in now else "is new" if name not in then else "has other bytes"
        print(f"{name}: the file {what}; its case is {Path(name).stem}", file=sys.stderr)
    if found:
        print(_DIFFERENCE % Path(found[0]).stem, file=sys.stderr)
    return 1 if found else 0


def renew(folder: Path, manifest: Path) -> None:
    """Write the manifest."""
    now = sums(folder)
    found = differing(now, written(manifest))
    if found:
        manifest.write_text("".join(f"{digest}  {name}\n" for name, digest in now.items()), encoding="utf-8")
    for name in found:
        print(f"{manifest}: {name} changed; give the reason in the commit")
    print(f"{len(now) // 2} captures, {len(found)} lines of {manifest} changed")


def main(words: list[str]) -> int:
    """Make, check or renew."""
    if len(words) != 3 or words[0] not in ("make", "check", "renew"):
        print(__doc__, file=sys.stderr)
        return 2
    if words[0] == "check":
        return check(Path(words[1]), Path(words[2]))
    if words[0] == "make":
        make(words[1], Path(words[2]))
    else:
        renew(Path(words[1]), Path(words[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
