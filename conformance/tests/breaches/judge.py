"""Run ``fcvi lint`` over labelled captures and over conforming ones, and sort what it finds.

``python3 -m conformance.tests.breaches.judge [--out DIR] [--sessions N] [--seed N] [--detail]``
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Iterable

from conformance.tests.breaches.scene import CATALOGUE, Label
from conformance.tests.breaches.wire import write_pcap

ROOT = Path(__file__).parents[3]
#: What may be claimed of a capture; every set of these is a value of --trust.
CLAIMS = ("all", "start", "order", "once")
KNOWN = Path(__file__).with_name("known.tsv")
FOUND, NOTICE, ELSEWHERE, OTHER, MISSED = "found", "as notice", "elsewhere", "another requirement", "missed"


def lint(files: Iterable[Path], trust: str = "", r_a_tov: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The findings of each file."""
    names = [str(f) for f in files]
    found: dict[str, list[dict[str, Any]]] = {n: [] for n in names}
    for i in range(0, len(names), 1500):
        command = [str(ROOT / "build" / "fcvi"), "lint", "--json"]
        command += ["--trust", trust] * bool(trust) + ["--r-a-tov", "10000"] * r_a_tov
        done = subprocess.run(command + names[i : i + 1500], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
                              check=False)
        if done.returncode not in (0, 1) and b"nothing of FC-VI was judged" not in done.stderr:
            raise RuntimeError(done.stderr.decode()[-2000:])
        for line in done.stdout.decode().splitlines():
            finding = json.loads(line)
            if "summary" not in finding:
                found[finding["file"]].append(finding)
    return found


def bad(finding: dict[str, Any]) -> bool:
    """Whether a finding accuses."""
    return finding["class"] not in ("notice", "tolerated", "warning")


def bytes_of(finding: dict[str, Any]) -> tuple[int, int]:
    """The bytes that a finding points at: its byte, or of a container the bytes in which its bits lie."""
    byte, bits = finding["byte"], finding["bits"]
    numbers = [int(n) for n in str(bits or "").replace("..", "-").split("-") if n.strip().isdigit()]
    if not numbers:
        return byte, byte
    top = max(numbers)
    size = 4 if byte == 36 else 3 if byte == 9 else top // 8 + 1
    if top >= 8 * size:
        return byte, byte
    return byte + size - 1 - top // 8, byte + size - 1 - min(numbers) // 8


def verdict(label: Label, findings: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """How a label was found, and what else was accused."""

    def here(f: dict[str, Any]) -> bool:
        if f["frame"] != label.frame and f["frame"] not in label.later:
            return False
        if f["frame"] != label.frame or not label.place or label.place == (0, 0) or f["byte"] is None:
            return True
        at, size = label.place
        first, last = bytes_of(f)
        return at <= first and last < at + size

    mine = [f for f in findings if f["requirement"] in label.requirements]
    rest = [f for f in findings if bad(f) and f not in mine and f["frame"] not in label.also]
    good = [f for f in mine if here(f)]
    if good:
        return (NOTICE if not any(bad(f) for f in good) else FOUND), rest
    if mine:
        return ELSEWHERE, rest
    return (OTHER if rest or any(f["frame"] == label.frame for f in findings) else MISSED), rest


def others(label: Label, rest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Accusations of the port that has done nothing wrong."""
    guilty = {label.frames[n - 1].src for n in (label.frame, *label.also)}
    return [f for f in rest if label.frames[f["frame"] - 1].src not in guilty]


def labels() -> list[Label]:
    """Every breach, made anew."""
    from conformance.tests.breaches import (  # noqa: F401
        breach_fields, breach_sequences, breach_services, breach_sessions, breach_setup,
    )  # fmt: skip

    return [make() for make in CATALOGUE.values()]


def judge_breaches(folder: Path, detail: bool) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """The bank, with a line for each that is not found as it should be."""
    bank = labels()
    for label in bank:
        write_pcap(folder / f"{label.name.replace('/', '.')}.pcap", label.frames)
    path = {label.name: folder / f"{label.name.replace('/', '.')}.pcap" for label in bank}
    outcome = {}
    for timing in (False, True):
        group = [label for label in bank if label.timing == timing]
        if not group:
            continue
        findings = lint([path[label.name] for label in group], "whole", timing)
        for label in group:
            outcome[label.name] = verdict(label, findings[str(path[label.name])])
            how, rest = outcome[label.name]
            if detail and (how != (NOTICE if label.notice else FOUND) or rest):
                who = "ACCUSES THE OTHER PORT " if others(label, rest) else ""
                print(f"{who}{how:20} {label.name} frame {label.frame} {label.place} {' '.join(label.requirements)[:70]}")
                for f in findings[str(path[label.name])][:4]:
                    print(f"{'':12}{f['class']} {f['requirement']} frame {f['frame']} byte {f['byte']} {f['message'][:110]}")
    return outcome


def judge_cut(folder: Path, snap: int, trust: str) -> tuple[int, int, list[str]]:
    """Of the breaches that lie in the headers (56 bytes of the frame, 60 from the SOF on) and are found in whole captures: how many
    there are, and how many are found when each frame is cut at ``snap`` bytes; and which accuse a port that whole ones do not."""
    there, found, accused = 0, 0, []
    bank = labels()
    for timing in (False, True):
        group = [label for label in bank if label.timing == timing]
        names = {(label.name, most): folder / f"{i}.{most}.pcap" for i, label in enumerate(group) for most in (65535, snap)}
        for label in group:
            for most in (65535, snap):
                write_pcap(names[label.name, most], label.frames, most)
        findings = lint(names.values(), trust, timing)
        for label in group:
            (whole, rest), (cut, more) = (verdict(label, findings[str(names[label.name, most])]) for most in (65535, snap))
            accused += [label.name] if others(label, more) and not others(label, rest) else []
            good = (FOUND, NOTICE) if label.notice else (FOUND,)
            if whole in good and label.place and label.place != (0, 0) and sum(label.place) <= 56:
                there += 1
                found += cut in good
    return there, found, accused


def known() -> dict[str, str]:
    """What lint does not do yet: the name of a capture, a blank, how it is seen; and why."""
    lines = KNOWN.read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def shortcomings(folder: Path) -> dict[str, str]:
    """The lines that ``known.tsv`` should have today."""
    out = {}
    rows = (ROOT / "conformance" / "fcvi" / "requirements.tsv").read_text().splitlines()[1:]
    statements = {row.split("\t")[0]: row.split("\t")[4] for row in rows}
    bank = {label.name: label for label in labels()}
    for name, (how, rest) in judge_breaches(folder, False).items():
        if how not in ((FOUND, NOTICE) if bank[name].notice else (FOUND,)):
            out[f"{name} {how}"] = f"{bank[name].requirements[0]} {statements[bank[name].requirements[0]]}"
        if others(bank[name], rest):
            first = others(bank[name], rest)[0]
            out[f"{name} accuses the other port"] = f"{first['requirement']} in frame {first['frame']}"
    return out | alarms(folder)


def alarms(folder: Path) -> dict[str, str]:
    """Alarms on the smallest conforming captures."""
    from conformance.tests.breaches.conforming import trusts
    from conformance.tests.breaches import minimal_crossing  # noqa: F401
    from conformance.tests.breaches.minimal import MINIMAL

    out: dict[str, str] = {}
    sessions = [make() for make in MINIMAL.values()]
    for s in sessions:
        write_pcap(folder / f"{s.name}.pcap", s.frames)
    for trust in trusts():
        names = {str(folder / f"{s.name}.pcap"): s.name for s in sessions if s.claims >= set(trust)}
        for path, findings in lint([Path(p) for p in names], ",".join(trust), True).items():
            for f in findings:
                if bad(f):
                    before = out.get(f"{names[path]} false alarm", "").split()
                    out[f"{names[path]} false alarm"] = " ".join(sorted({*before, f["requirement"]}))
    return out


def write_known(today: dict[str, str]) -> None:
    """known.tsv with what is missed today."""
    before = known() if KNOWN.exists() else {}
    head = [
        "# What fcvi lint does not do yet with the captures of this directory: capture and how it is seen, TAB, why.",
        "# `PYTHONPATH=build/python:harness:. python3 -m conformance.tests.breaches.judge --write-known` writes it anew.",
    ]
    rows = [f"{name}\t{before.get(name, 'to be mended: ' + why)}" for name, why in sorted(today.items())]
    KNOWN.write_text("\n".join(head + rows) + "\n")


def write_labels(path: Path) -> None:
    """Name, requirements, frame, first byte and length, bits, kind of every breach."""
    rows = ["name\trequirements\tframe\tbyte\tlength\tbits\tkind"]
    for label in labels():
        at, size = label.place if label.place and label.place != (0, 0) else ("", "")
        kind = "notice" if label.notice else "with --r-a-tov" if label.timing else "violation"
        rows.append(f"{label.name}\t{' '.join(label.requirements)}\t{label.frame}\t{at}\t{size}\t{label.bits}\t{kind}")
    path.write_text("\n".join(rows) + "\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python3 -m conformance.tests.breaches.judge", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="keep the captures there")
    parser.add_argument("--sessions", type=int, default=0, help="conforming sessions to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--detail", action="store_true")
    parser.add_argument("--write-known", action="store_true", help="write known.tsv anew: lines that still hold keep their reasons")
    parser.add_argument("--labels", type=Path, help="write the list of breaches there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if args.labels:
            write_labels(args.labels)
        if args.write_known:
            write_known(shortcomings(folder))
            return
        outcome = judge_breaches(folder, args.detail)
        print(len(outcome), "breaches:", dict(Counter(how for how, _ in outcome.values())),
              "with further accusations:", sum(bool(rest) for how, rest in outcome.values() if how == FOUND))  # fmt: skip
        if args.sessions:
            from conformance.tests.breaches.conforming import judge_sessions

            alarms = judge_sessions(folder, args.seed, args.sessions)
            by: dict[str, list[str]] = defaultdict(list)
            for name, trust, finding in alarms:
                where = f"{name} --trust {trust or 'nothing'} frame {finding['frame']}"
                by[finding["requirement"]].append(f"{where}: {finding['message'][:120]}")
            print(args.sessions, "conforming sessions:", len({a[0] for a in alarms}), "with false alarms")
            for requirement, lines in sorted(by.items()):
                print(f"  {requirement} {len(lines)} times, as in {lines[0]}")


if __name__ == "__main__":
    main()
