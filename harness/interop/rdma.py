"""``make interop-rdma``: the cases of RDMA verbs against rxe and siw of the Debian kernel in QEMU.

Neither is an oracle. Where one is known to do other than the text, its `rdma-KIND.toml` declares the deviation with its requirement
and reason; the run notices a deviation that is gone as well as one that is new. The two lanes are never added up.
A lane boots one guest for two Queue Pairs on one device; `--pair` boots two, joined by a private socket, for an agent in each.
`--loss` joins the two by a relay of our own (`rdma_relay.py`) that loses, doubles, delays and damages frames, by a seed. It runs
the variants of `rdma-loss.cases`, and then the steps of `rdma_cut.py`, which cut the link. IMAGES/KIND-loss.pcap has what passed.

Without `--all` a lane runs the variants of `rdma-KIND.cases`: of each case one at least, and those that show the recorded
deviations. `rdma_choose.py` writes that list from the report of a run of all. With `--all` those that end the guest's kernel are
run as well, each in a boot of its own. `--boots N` boots a lane N times and prints each variant whose verdict was not the same
every time; `IMAGES/boots-KIND-GUESTS.json` has the verdicts of every variant, and is written after each boot. A recorded deviation
that the provider decides by a race of its own is told apart from the verdict.

Exit status: 0 all as recorded, 1 not, or a guest died, 3 it cannot be run here: QEMU, a module or a download is missing (the reason
is said: skipped, because ...).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator, Sequence

from . import rdma_cut, rdma_relay, rdma_vm

KINDS = ("rxe", "siw")
ROOT = Path(__file__).resolve().parents[2]
_HERE = Path(__file__).resolve().parent
_IMAGE_S = 1200
_CASES_S = 2400
_MB, _SAN_MB = 256, 768
_RPC_S = 20  # a CQ of the largest size takes seconds under emulation
#: Cases that end the agent's process, with the row and the reason: they run by themselves, and have to end it still.
_OWN_RQ = ("VERBS-6.3-09", "libsiw follows a null pointer when a Receive is posted to a QP that has an SRQ")
ENDS_THE_AGENT = {
    "siw": {
        "VERBS.2/sq": ("VERBS-5.3.4-02", "libsiw unmaps a CQ before the kernel refuses to destroy it; the next poll faults"),
        "VERBS.51/post-idle": _OWN_RQ, "VERBS.51/post-rts": _OWN_RQ,
    },
}  # fmt: skip
#: Cases that end the guest's kernel: each has a guest of its own, which has to end still.
_NULL = ("VERBS-7.8-04", "rxe follows a null pointer when a window that is not bound is invalidated")
_ZERO = ("VERBS-8.1.3.2-04", "siw follows a null pointer for an element of length zero between others")
ENDS_THE_GUEST = {
    "rxe": dict.fromkeys(("VERBS.65/independent", "VERBS.68/twice", "VERBS.68/new", "VERBS.68/other-pd",
                          "VERBS.75/invalidate"), _NULL),
    "siw": {"VERBS.59/sum": _ZERO},
}  # fmt: skip
#: Those two are not run with the others, and neither are the variants of VERBS.2 that end as its first does.
LEFT_OUT = {kind: ("VERBS.2",) * (kind == "siw") + (*ENDS_THE_AGENT.get(kind, ()), *ENDS_THE_GUEST[kind]) for kind in KINDS}
#: Variants without one verdict: those that need a process for each end, what another case judges already, and a race of siw, in
#: which a Read that is outstanding at the close of either end is flushed once or twice (VERBS-8.2.4-04).
UNDECIDED = {
    "rxe": ("VERBS.16/killed", "VERBS.80/stopped", "VERBS.95/killed"),
    "siw": ("VERBS.16/killed", "VERBS.80/stopped", "VERBS.95/killed", "VERBS.8/illegal", "VERBS.15/local-read",
            "VERBS.15/peer-read"),
}  # fmt: skip
#: Recorded deviations that the provider decides by a race of its own, and why. A variant in which one shows in some boots and not
#: in others has one verdict; how often it showed is told.
RACES = {"siw": {"VERBS-8.2.2-02": "whether a Read is overtaken depends on when its Response comes"}}
#: The status of a program that a segmentation fault ended.
_SEGMENTATION = 139
_SANITIZED = 1  # what ASan makes of it
DEVIATIONS = {kind: _HERE / f"rdma-{kind}.toml" for kind in KINDS}
#: What is added to them where the agent takes the second data path.
EXTENDED = {kind: _HERE / f"rdma-{kind}-extended.toml" for kind in KINDS}
LOSS = rdma_relay.Harm(drop=4, double=4, delay=4, damage=2)
LOSS_CASES = _HERE / "rdma-loss.cases"
#: Deviations that loss brings to light, added to the others.
LOSS_DEVIATIONS = {kind: _HERE / f"rdma-{kind}-loss.toml" for kind in KINDS}
CASES = {kind: _HERE / f"rdma-{kind}.cases" for kind in KINDS}


class Skipped(Exception):
    """It cannot be run here; why."""


def image(images: Path, kinds: Sequence[str], *programs: Path, overlay: str = "programs.gz") -> None:
    """The kernel and the initial file system for these kinds, made once; the programs are laid over it each time."""
    for program in programs:
        if not program.exists():
            raise Skipped(f"{program} is not built: libibverbs-dev and librdmacm-dev are needed")
    try:
        wanted = [str(_HERE / "rdma_image.sh"), str(images), *(["siw"] if "siw" in kinds else [])]
        if subprocess.run(wanted, timeout=_IMAGE_S, check=False).returncode != 0:
            raise Skipped("there is no kernel to boot")
        words = [str(_HERE / "rdma_programs.sh"), str(images / overlay), *map(str, programs)]
        if subprocess.run(words, timeout=60, check=False).returncode != 0:
            raise Skipped("the agent cannot be laid over the initial file system")
    except (subprocess.TimeoutExpired, OSError) as why:
        raise Skipped(f"what is booted cannot be made: {why}") from why


@contextlib.contextmanager
def guests(
    images: Path, kind: str, count: int, overlay: str = "programs.gz", memory_mb: int = 256, relayed: bool = False
) -> Iterator[list[rdma_vm.Guest]]:
    """So many guests that are up. GuestError: one did not come up. relayed: the two are up when somebody joins them."""
    if shutil.which(rdma_vm.QEMU) is None:
        raise Skipped(f"there is no {rdma_vm.QEMU}")
    if kind == "siw" and not list(images.glob("siw-*.ko")):
        raise Skipped("there is no siw module")
    running: list[rdma_vm.Guest] = []
    with tempfile.TemporaryDirectory(prefix="fcvi-rdma.") as scratch:
        try:
            for end in range(count):
                running.append(rdma_vm.Guest(images, Path(scratch), kind, end if count > 1 else None, memory_mb, overlay, relayed))
            for guest in running:
                guest.wait_ready()
            yield running
        finally:
            for guest in running:
                guest.end()


def chosen(kind: str, loss: bool = False) -> str:
    """The variants of a lane that does not run all. In the list for loss a line may name the one kind that it is for."""
    lines = (line.partition("#")[0].split() for line in (LOSS_CASES if loss else CASES[kind]).read_text().splitlines())
    return ",".join(words[0] for words in lines if words and kind in (words[1:] or [kind]))


def verdicts(report: Path, kind: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """What each variant of a run came to, and the races that showed in it; nothing when the run had no report. A declared
    deviation is a part of the verdict, unless it is such a race.
    """
    file = report / "report.json"
    found = json.loads(file.read_text())["results"] if file.exists() else []
    words, lost = {}, {}
    for one in found:
        races = sorted(set(one["broken"]) & set(RACES.get(kind, {})))
        told = one.get("qualifier") if one["verdict"] != "pass" or set(one["broken"]) - set(races) else ""
        words[one["id"]] = " ".join(filter(None, (one["verdict"], told)))
        if races and one["verdict"] == "pass":
            lost[one["id"]] = races
    return words, lost


def cases(paths: list[Path], kind: str, select: str, report: Path, more: Sequence[str] = (), added: Sequence[Path] = ()) -> int:
    """The cases of verbs through these agents. The status of the run. added: files of deviations beside those of the kind."""
    left_out = (*LEFT_OUT[kind], *(UNDECIDED[kind] if len(paths) == 1 else ()))
    select = ",".join([select, *(f"not {case}" for case in left_out)])
    words = [str(ROOT / "build/fcvi"), "run", "--dut", "verbs", "--select", select, "--report", str(report), "--progress", "never",
             "--rpc-timeout", str(_RPC_S), *more]  # fmt: skip
    for option, path in zip(("--agent", "--agent2"), paths):
        words += [option, f"unix:{path}"]
    declared = [file for file in (DEVIATIONS[kind], *added) if file.exists()]
    if declared:
        pics = paths[0].parent / "pics.toml"
        pics.write_text("".join(file.read_text() for file in declared))
        words += ["--pics", str(pics)]
    try:
        return subprocess.run(words, timeout=_CASES_S, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"interop-rdma: {kind}: the cases had not ended after {_CASES_S} s", file=sys.stderr)
        return 1


def ends_the_agent(relay: rdma_vm.Relay, path: Path, kind: str, every: bool, how: frozenset[int]) -> int:
    """The cases that are known to end the agent, or the first of them. how: its status then. 0 when each does."""
    status = 0
    for case, (row, reason) in list(ENDS_THE_AGENT.get(kind, {}).items())[: None if every else 1]:
        before = len(relay.statuses)
        words = [str(ROOT / "build/fcvi"), "run", "--dut", "verbs", "--select", case, "--agent", f"unix:{path}", "--quiet"]
        subprocess.run(words, timeout=_CASES_S, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ended = not how.isdisjoint(relay.statuses[before:])
        print(f"interop-rdma: {kind}: {case} {'ends' if ended else 'does not end'} the agent ({row}: {reason})")
        del relay.statuses[before:]
        status |= not ended
    return status


def ends_the_guest(images: Path, kind: str, overlay: str) -> int:
    """The cases that are known to end the guest. 0 when each does."""
    status = 0
    for case, (row, reason) in ENDS_THE_GUEST.get(kind, {}).items():
        with guests(images, kind, 1, overlay) as (guest,):
            relay = rdma_vm.Relay(guest, guest.where / "agent")
            agent = f"unix:{guest.where}/agent"
            words = [str(ROOT / "build/fcvi"), "run", "--dut", "verbs", "--select", case, "--agent", agent, "--quiet"]
            subprocess.run(words, timeout=_CASES_S, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ended = guest.has_ended()
            relay.close()
        print(f"interop-rdma: {kind}: {case} {'ends' if ended else 'does not end'} the kernel ({row}: {reason})", flush=True)
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
    image(images, [kind], *programs, overlay="shows.gz")
    worst = 0
    with guests(images, kind, 1, "shows.gz") as (guest,):
        for program in programs:
            status, said = guest.run(f"timeout 20 {program.name} {guest.address}", seconds=60)
            expected = _SEGMENTATION if program.name == "siw_busy_cq" else 0
            print(f"{program.name}: {'as recorded' if status == expected else f'status {status}'}")
            print("".join(f"    {line}\n" for line in said.splitlines()), end="", flush=True)
            worst |= status != expected
    return worst


def one_boot(images: Path, kind: str, args: argparse.Namespace, overlay: str, report: Path) -> int:
    """One boot: the cases, and what the lane does besides. 0 when all is as recorded."""
    count = 2 if args.pair or args.loss else 1
    name = f"{kind}, {count} guest{'s' * (count > 1)}"
    whole = args.all or args.pair and not args.loss
    select = args.select if args.select is not None else "VERBS.*" if whole else chosen(kind, args.loss)
    began = time.monotonic()
    with (
        guests(images, kind, count, overlay, _SAN_MB if overlay == "san.gz" else _MB, args.loss) as running,
        joined(images, kind, running[0].where, args) as link,
    ):
        where = running[0].where
        up = time.monotonic() - began
        paths = [where / f"agent{i}" for i in range(count)]
        command = "fcvi-verbs-agent" + " --extended" * args.extended + " --lossy" * args.loss
        relays = [rdma_vm.Relay(guest, path, command) for guest, path in zip(running, paths)]
        if link is not None:
            link.harms(rdma_relay.harm_of(args))
        # what fails with loss has waited for 16 s already
        tov = args.r_a_tov or ("500" if args.loss else None)
        more = [*(("--r-a-tov", tov) if tov else ()), *(("--quiet",) if args.boots > 1 else ())]
        added = [*([EXTENDED[kind]] if args.extended else []), *([LOSS_DEVIATIONS[kind]] if args.loss else [])]
        status = cases(paths, kind, select, report, more, added) if select else 0
        if status == 3:
            print(f"interop-rdma: {name}: no agent answers\n{running[0].console()}", file=sys.stderr)
            return 1
        if status == 1 and only_undeclared(report, kind, args.select is not None or args.loss):
            status = 0
        if link is not None:
            print(f"interop-rdma: {name}: {link.harm.words()}: {link.said()}", flush=True)
            link.harms(rdma_relay.Harm())
            print(f"interop-rdma: {name}: the link is cut:", flush=True)
            status = rdma_cut.steps(kind, [str(path) for path in paths], link) or status
        if select and count == 1 and args.select is None:
            how = frozenset({_SEGMENTATION, _SANITIZED} if args.san else {_SEGMENTATION})
            status = ends_the_agent(relays[0], paths[0], kind, args.all, how) or status
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


def only_undeclared(report: Path, kind: str, part: bool) -> bool:
    """Whether a run fails by nothing but declared deviations that did not occur, and need not: a race of the provider, or any where
    a part of the cases ran, which need not show it."""
    if not (report / "report.json").exists():
        return False
    told = json.loads((report / "report.json").read_text())
    absent = {one["requirement"] for one in told["deviations"] if one["status"] == "absent"}
    return not told["summary"]["fail"] and (part or absent <= set(RACES.get(kind, {})))


@contextlib.contextmanager
def joined(images: Path, kind: str, where: Path, args: argparse.Namespace) -> Iterator[rdma_relay.Link | None]:
    """The relay between two guests, where one is wanted; what passed is kept."""
    if not args.loss:
        yield None
        return
    link = rdma_relay.Link(where)
    try:
        yield link
    finally:
        link.close()
        for ending in ("pcap", "harm"):
            shutil.copyfile(where / f"link.{ending}", images / f"{kind}-loss.{ending}")


def counted(boots: list[dict[str, str]]) -> dict[str, dict[str, int]]:
    """For each variant how often it came to what."""
    counts: dict[str, dict[str, int]] = {}
    for variant in dict.fromkeys(name for boot in boots for name in boot):
        came = [boot.get(variant, "not run") for boot in boots]
        counts[variant] = {word: came.count(word) for word in dict.fromkeys(came)}
    return counts


def flickered(boots: list[dict[str, str]]) -> list[str]:
    """A line for each variant that did not come to the same in every boot."""
    return [f"{variant}: " + ", ".join(f"{times} times {word}" for word, times in came.items())
            for variant, came in counted(boots).items() if len(came) > 1]  # fmt: skip


def raced(kind: str, lost: list[dict[str, list[str]]]) -> list[str]:
    """A line for each variant and race that showed in some of these boots and not in others."""
    seen = collections.Counter((variant, row) for boot in lost for variant, rows in boot.items() for row in rows)
    return [f"{variant}: {row} showed in {times} of {len(lost)} boots: {RACES[kind][row]}"
            for (variant, row), times in sorted(seen.items()) if times < len(lost)]  # fmt: skip


def compare(kind: str, boots: list[dict[str, str]], lost: list[dict[str, list[str]]], file: Path) -> None:
    """Say and keep what the boots so far have in common."""
    counts, lines = counted(boots), flickered(boots)
    file.write_text(json.dumps({"boots": len(boots), "verdicts": counts, "races": raced(kind, lost)}, indent=1) + "\n")
    same = len(counts) - len(lines)
    print(f"interop-rdma: {kind}: {same} of {len(counts)} variants had the same verdict in all {len(boots)} boots", flush=True)
    for line in (*lines, *raced(kind, lost)):
        print(f"    {line}", flush=True)


def lane(images: Path, kind: str, args: argparse.Namespace, overlay: str) -> int:
    """As many boots as are wanted. 0 when each is as recorded and all have the same verdicts."""
    boots: list[dict[str, str]] = []
    lost: list[dict[str, list[str]]] = []
    status, count = 0, "loss" if args.loss else 2 if args.pair else 1
    report = images / f"report-{kind}-{count}"
    for _ in range(args.boots):
        shutil.rmtree(report, ignore_errors=True)  # a boot that makes none must not be told by that of another
        try:
            status = max(status, one_boot(images, kind, args, overlay, report))
            if args.all and not args.pair:
                status = max(status, ends_the_guest(images, kind, overlay))
        except (rdma_vm.GuestError, subprocess.TimeoutExpired) as why:
            print(f"interop-rdma: {kind}: error: {why}", file=sys.stderr)
            status = 1
        words, races = verdicts(report, kind)
        boots.append(words)
        lost.append(races)
        if args.boots > 1:
            compare(kind, boots, lost, images / f"boots-{kind}-{count}.json")
    return max(status, 1 if flickered(boots) else 0)


def positive(text: str) -> int:
    """A number of boots."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError("one boot at least")
    return int(text)


def main(words: Sequence[str] | None = None) -> int:
    """A lane that is not as recorded counts more than one that was skipped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="default: both")
    parser.add_argument("--all", action="store_true", help="every variant, not those of rdma-KIND.cases alone")
    parser.add_argument("--boots", type=positive, default=1, metavar="N", help="boot so often, and compare the verdicts")
    parser.add_argument("--pair", action="store_true", help="two guests, joined by a private socket, and every variant")
    parser.add_argument("--loss", action="store_true", help="two guests, joined by a relay that harms frames")
    rdma_relay.add_rates(parser, LOSS)
    parser.add_argument("--shows", action="store_true", help="the programs that show the deviations without the suite, and no case")
    parser.add_argument("--san", action="store_true", help="the agent that is built with ASan and UBSan")
    parser.add_argument("--extended", action="store_true", help="the agent posts by ibv_wr_* and polls by ibv_start_poll")
    parser.add_argument("--select", help="these cases; '' for none")
    parser.add_argument("--r-a-tov", metavar="MS", help="as that of fcvi run; then no case is tried again, however busy the host")
    args = parser.parse_args(words)
    try:
        rdma_relay.harm_of(args)
    except ValueError as why:
        parser.error(str(why))
    status, skipped = 0, False
    try:
        overlay = "san.gz" if args.san else "programs.gz"
        if not args.shows:
            agent = ROOT / ("build/san/fcvi-verbs-agent" if args.san else "build/fcvi-verbs-agent")
            image(args.images, args.kinds or KINDS, agent, overlay=overlay)
    except Skipped as why:
        print(f"interop-rdma: skipped, because {why}", file=sys.stderr)
        return 3
    for kind in args.kinds or KINDS:
        try:
            status = max(status, show(args.images, kind) if args.shows else lane(args.images, kind, args, overlay))
        except Skipped as why:
            print(f"interop-rdma: {kind}: skipped, because {why}", file=sys.stderr)
            skipped = True
        except (rdma_vm.GuestError, subprocess.TimeoutExpired) as why:
            print(f"interop-rdma: {kind}: error: {why}", file=sys.stderr)
            status = 1
    return status or (3 if skipped else 0)


if __name__ == "__main__":
    sys.exit(main())
