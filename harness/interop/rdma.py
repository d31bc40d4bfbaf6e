"""``make interop-rdma``: the cases of RDMA verbs against rxe and siw of the Debian kernel in QEMU.

Neither is an oracle. Where one is known to do other than the text, its `rdma-KIND.toml` declares the deviation with its requirement
and reason; the run notices a deviation that is gone as well as one that is new. The two lanes are never added up.
A lane boots one guest for two Queue Pairs on one device; `--pair` boots two, joined by a private socket, for an agent in each.

Exit status: 0 all as recorded, 1 not, 3 it cannot be run here (the reason is said: skipped, because ...).
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator

from . import rdma_smoke, rdma_vm

KINDS = ("rxe", "siw")
ROOT = Path(__file__).resolve().parents[2]
_HERE = Path(__file__).resolve().parent
_IMAGE_S = 1200
_CASES_S = 900
_MB, _SAN_MB = 256, 768
_RPC_S = 20  # a CQ of the largest size takes seconds under emulation
#: Cases that end the agent's process, with the row and the reason: they run by themselves, and have to end it still.
ENDS_THE_AGENT = {
    "siw": {"VERBS.2/sq": ("VERBS-5.3.4-02", "libsiw unmaps a CQ before the kernel refuses to destroy it; the next poll faults")},
}
#: Cases that the first of ENDS_THE_AGENT stands for, and that are not run.
LEFT_OUT = {"siw": ("VERBS.2",)}
#: The status of a program that a segmentation fault ended.
_SEGMENTATION = 139
DEVIATIONS = {kind: _HERE / f"rdma-{kind}.toml" for kind in KINDS}


class Skipped(Exception):
    """It cannot be run here; why."""


def image(images: Path, *programs: Path, overlay: str = "programs.gz") -> None:
    """The kernel and the initial file system, made once; the programs are laid over it each time."""
    for program in programs:
        if not program.exists():
            raise Skipped(f"{program} is not built: libibverbs-dev and librdmacm-dev are needed")
    if subprocess.run([str(_HERE / "rdma_image.sh"), str(images)], timeout=_IMAGE_S, check=False).returncode != 0:
        raise Skipped("there is no kernel to boot")
    words = [str(_HERE / "rdma_programs.sh"), str(images / overlay), *map(str, programs)]
    if subprocess.run(words, timeout=60, check=False).returncode != 0:
        raise Skipped("the agent cannot be laid over the initial file system")


@contextlib.contextmanager
def guests(
    images: Path, kind: str, count: int, overlay: str = "programs.gz", memory_mb: int = 256
) -> Iterator[list[rdma_vm.Guest]]:
    """So many guests that are up."""
    if kind == "siw" and not list(images.glob("siw-*.ko")):
        raise Skipped(f"there is no siw module: remove {images} to build it again")
    running: list[rdma_vm.Guest] = []
    with tempfile.TemporaryDirectory(prefix="fcvi-rdma.") as scratch:
        try:
            for end in range(count):
                running.append(rdma_vm.Guest(images, Path(scratch), kind, end if count > 1 else None, memory_mb, overlay))
            for guest in running:
                guest.wait_ready()
            yield running
        finally:
            for guest in running:
                guest.end()


def cases(paths: list[Path], kind: str, select: str, report: Path) -> int:
    """The cases of verbs through these agents. The status of the run."""
    select = ",".join([select, *(f"not {case}" for case in LEFT_OUT.get(kind, ()))])
    words = [str(ROOT / "build/fcvi"), "run", "--dut", "verbs", "--select", select, "--report", str(report), "--progress", "never",
             "--rpc-timeout", str(_RPC_S)]  # fmt: skip
    for option, path in zip(("--agent", "--agent2"), paths):
        words += [option, f"unix:{path}"]
    if DEVIATIONS[kind].exists():
        words += ["--pics", str(DEVIATIONS[kind])]
    try:
        return subprocess.run(words, timeout=_CASES_S, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"interop-rdma: {kind}: the cases had not ended after {_CASES_S} s", file=sys.stderr)
        return 1


def ends_the_agent(relay: rdma_vm.Relay, path: Path, kind: str) -> int:
    """The cases that are known to end the agent. 0 when each does."""
    status = 0
    for case, (row, reason) in ENDS_THE_AGENT.get(kind, {}).items():
        before = len(relay.statuses)
        words = [str(ROOT / "build/fcvi"), "run", "--dut", "verbs", "--select", case, "--agent", f"unix:{path}", "--quiet"]
        subprocess.run(words, timeout=_CASES_S, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ended = _SEGMENTATION in relay.statuses[before:]
        print(f"interop-rdma: {kind}: {case} {'ends' if ended else 'does not end'} the agent ({row}: {reason})")
        del relay.statuses[before:]
        status |= not ended
    return status


def show(images: Path, kind: str) -> int:
    """The programs that show the deviations of a kind with libibverbs alone. 0 when each deviates as it says."""
    programs = []
    for source in sorted((_HERE / "rdma_shows").glob(f"{kind}_*.c")):
        program = images / source.stem
        words = ["gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-O1", str(source), "-lrdmacm", "-libverbs", "-o", str(program)]
        if subprocess.run(words, check=False).returncode != 0:
            raise Skipped(f"{source.name} cannot be compiled")
        programs.append(program)
    image(images, *programs, overlay="shows.gz")
    worst = 0
    with guests(images, kind, 1, "shows.gz") as (guest,):
        for program in programs:
            status, said = guest.run(f"timeout 20 {program.name} {guest.address}", seconds=60)
            expected = _SEGMENTATION if program.name == "siw_busy_cq" else 0
            print(f"{program.name}: {'as recorded' if status == expected else f'status {status}'}")
            print("".join(f"    {line}\n" for line in said.splitlines()), end="", flush=True)
            worst |= status != expected
    return worst


def lane(images: Path, kind: str, count: int, select: str, overlay: str = "programs.gz") -> int:
    """One boot: what has to work at all, then the cases. 0 when all is as recorded."""
    name = f"{kind}, {count} guest{'s' * (count > 1)}"
    began = time.monotonic()
    with guests(images, kind, count, overlay, _SAN_MB if overlay == "san.gz" else _MB) as running:
        where = running[0].where
        up = time.monotonic() - began
        paths = [where / f"agent{i}" for i in range(count)]
        relays = [rdma_vm.Relay(guest, path) for guest, path in zip(running, paths)]
        try:
            for line in rdma_smoke.smoke([str(path) for path in paths]):
                print(f"interop-rdma: {name}: {line}")
        except (AssertionError, OSError, EOFError, KeyError) as error:
            print(f"interop-rdma: {name}: {error!r}\n{running[0].console()}", file=sys.stderr)
            return 1
        sys.stdout.flush()
        status = cases(paths, kind, select, images / f"report-{kind}-{count}") if select else 0
        if select and count == 1:
            status = ends_the_agent(relays[0], paths[0], kind) or status
        for guest in running:
            (images / f"{kind}-{count}-{guest.name}.pcap").write_bytes((where / f"{guest.name}.pcap").read_bytes())
        for relay in relays:
            if relay.failed or any(relay.statuses):
                print(f"interop-rdma: {name}: the agent ended with {set(relay.statuses)} {relay.failed}\n{relay.guest.console()}",
                      file=sys.stderr)  # fmt: skip
                status = status or 1
        print(f"interop-rdma: {name}: {'as recorded' if status == 0 else f'not as recorded (status {status})'}; "
              f"up after {up:.0f} s, {time.monotonic() - began:.0f} s in all", flush=True)  # fmt: skip
        return 0 if status == 0 else 1


def main() -> int:
    """A lane that is not as recorded counts more than one that was skipped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="default: both")
    parser.add_argument("--pair", action="store_true", help="two guests, joined by a private socket")
    parser.add_argument("--shows", action="store_true", help="the programs that show the deviations without the suite, and no case")
    parser.add_argument("--san", action="store_true", help="the agent that is built with ASan and UBSan")
    parser.add_argument("--select", default="VERBS.*", help="the cases; '' for none")
    args = parser.parse_args()
    status, skipped = 0, False
    try:
        overlay = "san.gz" if args.san else "programs.gz"
        if not args.shows:
            image(args.images, ROOT / ("build/san/fcvi-verbs-agent" if args.san else "build/fcvi-verbs-agent"), overlay=overlay)
    except (Skipped, subprocess.TimeoutExpired, OSError) as why:
        print(f"interop-rdma: skipped, because {why}", file=sys.stderr)
        return 3
    for kind in args.kinds or KINDS:
        try:
            if args.shows:
                status = max(status, show(args.images, kind))
            else:
                status = max(status, lane(args.images, kind, 2 if args.pair else 1, args.select, overlay))
        except (Skipped, rdma_vm.GuestError, subprocess.TimeoutExpired) as why:
            print(f"interop-rdma: {kind}: skipped, because {why}", file=sys.stderr)
            skipped = True
    return status or (3 if skipped else 0)


if __name__ == "__main__":
    sys.exit(main())
