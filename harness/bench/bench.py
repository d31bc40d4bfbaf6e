"""Every figure of harness/docs/performance.md, each as a ratio to something measured in the same run, in turn with it.

    python bench.py --build BUILD [--frames 1000000] [--rounds 5] [--json FILE]

Times are CPU times (user and system, all processes of the command together): other work on the machine disturbs them less than
elapsed time, and what several cores do is not hidden. The JSON has the elapsed times too. Captures are made by bench_traffic,
read once so that they are in the page cache, and deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

from measure import Sample, Spread, in_turn, once, spread

HERE = Path(__file__).parent


class Row:
    """One line of the table."""

    def __init__(self, name: str, value: str, ratio: Spread, against: str, note: str = "", **more: Any) -> None:
        self.name, self.value, self.ratio, self.against, self.note, self.more = name, value, ratio, against, note, more

    def words(self) -> str:
        """As the table has it."""
        note = f"; {self.note}" if self.note else ""
        return f"| {self.name} | {self.value} | {self.ratio} | {self.against}{note} |"

    def as_json(self) -> dict[str, Any]:
        """As the file has it."""
        ratio = {"median": self.ratio.median, "least": self.ratio.least, "most": self.ratio.most}
        return {"name": self.name, "value": self.value, "ratio": ratio, "against": self.against, "note": self.note, **self.more}


class Bench:
    """What all measurements need."""

    def __init__(self, args: argparse.Namespace, scratch: Path) -> None:
        self.build, self.frames, self.rounds, self.scratch = args.build, args.frames, args.rounds, scratch
        self.fcvi = str(args.build / "fcvi")

    def tool(self, name: str) -> str:
        """A program of this directory."""
        return str(self.build / f"bench_{name}")

    def capture(self, name: str, frames: int, kind: str) -> str:
        """A new capture, in the page cache."""
        path = self.scratch / f"{name}.pcap"
        once([self.tool("traffic"), str(path), str(frames), kind])
        once(["sh", "-c", 'exec cat "$0" > /dev/null', str(path)])
        return str(path)


def ratios(ours: list[Sample], base: list[Sample]) -> Spread:
    """Round by round."""
    return spread([a.cpu / b.cpu for a, b in zip(ours, base)])


def times(samples: list[Sample]) -> dict[str, list[float]]:
    """For the JSON."""
    return {"cpu_s": [round(s.cpu, 4) for s in samples], "elapsed_s": [round(s.elapsed, 4) for s in samples]}


def per_frame(samples: list[Sample], frames: int) -> float:
    """ns of CPU a frame, the median."""
    return spread([s.cpu for s in samples]).median / frames * 1e9


def reading(b: Bench, mixed: str) -> Iterator[Row]:
    """Passes over one capture beside libpcap's loop over it."""
    commands = {
        "bare": [b.tool("bare"), mixed], "header": [b.tool("bare"), mixed, "header"],
        "decode": [b.tool("lint"), mixed, "decode"], "lint": [b.fcvi, "lint", mixed],
    }  # fmt: skip
    s = in_turn(commands, 3 * b.rounds)
    names = {
        "header": "the same loop, with a look at each 24-byte header",
        "decode": "strict decoding and CRC",
        "lint": "`fcvi lint`: decoding, CRC and monitor, start-up included",
    }
    size = Path(mixed).stat().st_size // b.frames
    bare = f"bare `pcap_next_ex` loop, {per_frame(s['bare'], b.frames):.0f} ns a frame of {size} bytes"
    for name, words in names.items():
        yield Row(words, f"{per_frame(s[name], b.frames):.0f} ns a frame", ratios(s[name], s["bare"]), bare, **times(s[name]))
    yield Row("`fcvi lint`", f"{per_frame(s['lint'], b.frames):.0f} ns a frame", ratios(s["lint"], s["header"]),
              "the loop with a look at each header", **times(s["lint"]))  # fmt: skip
    yield from others(b, mixed)


def others(b: Bench, mixed: str) -> Iterator[Row]:
    """tshark and scapy on the first frames of the same capture, projected to all of it; start-up counts once on each side."""
    one = b.capture("one", 1, "mixed")
    programs = {
        "tshark -V": (["tshark", "-V", "-r"], 50000),
        "scapy": (["/usr/bin/python3", str(HERE / "scapy_dissect.py")], 10000),
    }
    for name, (command, frames) in programs.items():
        if shutil.which(command[0]) is None:
            print(f"{name}: not installed, left out", file=sys.stderr)
            continue
        part = b.capture("part", frames, "mixed")
        s = in_turn({"start": [*command, one], "part": [*command, part], "lint": [b.fcvi, "lint", mixed]}, b.rounds)
        all_of_it = [x.cpu + (y.cpu - x.cpu) * b.frames / frames for x, y in zip(s["start"], s["part"])]
        yield Row(f"`fcvi lint`, {b.frames:,} frames", f"{b.frames / spread([x.cpu for x in s['lint']]).median:,.0f} frames/s",
                  spread([theirs / x.cpu for theirs, x in zip(all_of_it, s["lint"])]),
                  f"`{name}`, {b.frames / spread(all_of_it).median:,.0f} frames/s, times faster",
                  f"projected from its first {frames:,} frames", **times(s["part"]))  # fmt: skip


def findings(b: Bench) -> Iterator[Row]:
    """What a finding costs to report."""
    frames = min(b.frames, 100000)
    good, bad = b.capture("good", frames, "mixed"), b.capture("bad", frames, "damaged")
    s: dict[str, list[Sample]] = {"good": [], "bad": []}
    for _ in range(3):
        s["good"].append(once([b.fcvi, "lint", "--json", good]))
        s["bad"].append(once([b.fcvi, "lint", "--json", bad], (1,)))
    count = s["bad"][0].output.count("\n") - 1
    each = spread([(x.cpu - y.cpu) / count * 1e6 for x, y in zip(s["bad"], s["good"])]).median
    yield Row(f"`fcvi lint --json`, {count:,} findings in {frames:,} frames", f"{each:.0f} us a finding",
              ratios(s["bad"], s["good"]), "the same frames without a fault", **times(s["bad"]))  # fmt: skip


def compressed(b: Bench) -> Iterator[Row]:
    """pcapng beside pcap, and packed captures beside the tools that unpack them."""
    frames = min(b.frames, 200000)
    if shutil.which("editcap") is not None:
        plain = b.capture("packed", frames, "mixed")
        once(["editcap", "-F", "pcapng", plain, f"{plain}ng"])
        s = in_turn({"pcap": [b.fcvi, "lint", plain], "pcapng": [b.fcvi, "lint", f"{plain}ng"]}, 3)
        yield Row("`fcvi lint` of a .pcapng", f"{per_frame(s['pcapng'], frames):.0f} ns a frame", ratios(s["pcapng"], s["pcap"]),
                  "the same frames in a .pcap", **times(s["pcapng"]))  # fmt: skip
    for tool, suffix in (("gzip", "gz"), ("zstd", "zst"), ("lz4", "lz4"), ("xz", "xz")):
        if shutil.which(tool) is None:
            continue
        plain = b.capture("packed", frames, "mixed")
        packed = f"{plain}.{suffix}"
        Path(packed).unlink(missing_ok=True)
        once([tool, "-1", "-q", "-k", plain] if tool != "lz4" else [tool, "-1", "-q", plain, packed])
        s = in_turn({"tool": [tool, "-dc", packed], "lint": [b.fcvi, "lint", packed]}, 3)
        value = f"{per_frame(s['lint'], frames):.0f} ns a frame"
        yield Row(f"`fcvi lint` of a .{suffix}", value, ratios(s["lint"], s["tool"]), f"`{tool} -dc` alone", **times(s["lint"]))
        Path(packed).unlink()


def flat(b: Bench) -> Iterator[Row]:
    """Cost and memory of few and many frames of the same Connections.

    Every file is read once and with cold caches, as the frames of a large capture come: few frames that are passed over again are
    0.84 as dear, because they and what the monitor knows of them stay in the cache that a core has for itself. Few are
    in twenty files. Start-up is apart.
    """
    few, some = b.capture("few", 10**4, "small"), b.capture("some", 10**5, "small")
    many, most = b.capture("many", 10**6, "small"), b.capture("most", 10**7, "small")
    copies = [shutil.copy(few, b.scratch / f"few{i}.pcap") for i in range(20)]
    passes = {"few": [copies[0], "lint", "cold", *copies[1:]], "many": [many, "lint", "cold"], "most": [most, "lint", "cold"]}
    cost: dict[str, list[float]] = {name: [] for name in passes}
    for i in range(3 * b.rounds):
        for name, arguments in passes.items():
            if name != "most" or i % 3 == 0:  # ten times as long as the others
                cost[name].append(float(once([b.tool("lint"), *map(str, arguments)]).output.split()[1]))
    for name, words, base in (("few", "10,000", cost["many"]), ("most", "10,000,000", cost["many"][::3])):
        yield Row(f"small frames, {words} of them, start-up apart", f"{spread(cost[name]).median:.0f} ns a frame",
                  spread([x / y for x, y in zip(cost[name], base)]),
                  f"1,000,000 of them, {spread(base).median:.0f} ns", ns=cost[name])  # fmt: skip
    memory = {name: [int(once([b.tool("memory"), b.fcvi, "lint", path]).output.split()[-1]) for _ in range(3)]
              for name, path in (("some", some), ("most", most))}  # fmt: skip
    yield Row("memory of `fcvi lint` for 10,000,000 frames", f"{memory['most'][0] / 1024:.1f} MiB",
              spread([x / y for x, y in zip(memory["most"], memory["some"])]),
              f"100,000 frames of as many Connections, {memory['some'][0] / 1024:.1f} MiB")  # fmt: skip
    both = in_turn({"one": [b.fcvi, "lint", many, many], "two": [b.fcvi, "lint", "--jobs", "2", many, many]}, 3)
    yield Row("`fcvi lint --jobs 2` of two files, elapsed", f"{spread([x.elapsed for x in both['two']]).median:.2f} s",
              spread([x.elapsed / y.elapsed for x, y in zip(both["two"], both["one"])]), "`--jobs 1`")  # fmt: skip


def codec(b: Bench) -> Iterator[Row]:
    """codec/bench: the codec beside a copy of the same bytes."""
    for line in once([str(b.build / "bench")]).output.splitlines():
        r = json.loads(line)
        ratio = Spread(r["ratio"], r["ns_fastest"] / r["memcpy_ns"], r["ns_slowest"] / r["memcpy_ns"])
        yield Row(f"codec: {r['name']}, {r['bytes']:,} bytes", f"{r['ns']:.0f} ns", ratio,
                  f"`memcpy` of them, {r['memcpy_ns']:.0f} ns")  # fmt: skip


def port(b: Bench) -> Iterator[Row]:
    """refimpl/bench: few and many open, measured in turn by the program itself."""
    text = once([str(b.build / "bench_port")]).output
    rates = re.findall(r"^(\w+) with +(\d+) (?:Exchanges )?open +(\d+) /s", text, re.M)
    ratio = [float(x) for x in re.findall(r"^ratio +([\d.]+)", text, re.M)]
    for i, what in enumerate(("Connection Setups", "Messages of one frame")):
        few, many = rates[2 * i], rates[2 * i + 1]
        yield Row(f"reference port: {what}, {int(many[1]):,} open", f"{int(many[2]):,} /s", Spread(ratio[i], ratio[i], ratio[i]),
                  f"{int(few[1]):,} open, {int(few[2]):,} /s (few/many; medians of 5)")  # fmt: skip


def sockets(b: Bench) -> Iterator[Row]:
    """VI/TCP between two processes over loopback, in elapsed time: each run measures both in turn."""
    runs = [json.loads(once([b.tool("sockets")]).output) for _ in range(b.rounds)]
    middle = sorted(runs, key=lambda r: float(r["transfer_s"]))[len(runs) // 2]
    volume = middle["messages"] * middle["message_bytes"] / 1e6
    yield Row("VI/TCP over loopback: Messages of 64 KiB", f"{volume / middle['transfer_s']:,.0f} MB/s",
              spread([r["transfer_s"] / r["bare_transfer_s"] for r in runs]),
              f"bare `send` and `recv`, {volume / middle['bare_transfer_s']:,.0f} MB/s")  # fmt: skip
    bare = f"bare `connect` and `accept` with a byte each way, {middle['setups'] / middle['bare_setup_s']:,.0f} /s"
    yield Row("VI/TCP over loopback: Connection Setups", f"{middle['setups'] / middle['setup_s']:,.0f} /s",
              spread([r["setup_s"] / r["bare_setup_s"] for r in runs]), bare)  # fmt: skip


# A namespace with two joined interfaces; libvipl opens them as root of it.
_JOINED = ("unshare", *(["-r"] if os.geteuid() else []), "-n", "sh", "-c",
           "ip link add bench0 mtu 2500 type veth peer name bench1 mtu 2500 && ip link set bench0 up && "
           'ip link set bench1 up && exec "$0" "$@" bench0 bench1')  # fmt: skip


def vipl(b: Bench) -> Iterator[Row]:
    """A program of VIPL between two processes, in elapsed time: each run measures all in turn."""
    kinds = ("VI/TCP", "bare `send` and `recv`", (), "400"), ("FCoE", "bare packet sockets", _JOINED, "64")
    for wire, against, start, messages in kinds:
        runs = [json.loads(once([*start, b.tool("vipl"), "4000", messages]).output) for _ in range(b.rounds)]
        middle = sorted(runs, key=lambda r: float(r["wait_s"]))[len(runs) // 2]
        trip, volume = 1e6 / middle["trips"], middle["messages"] * middle["message_bytes"] / 1e6
        for how, what in (("wait_s", "waiting"), ("poll_s", "polling")):
            yield Row(f"VIPL over {wire}: 64 bytes there and back, {what}", f"{middle[how] * trip:.0f} us",
                      spread([r[how] / r["bare_s"] for r in runs]),
                      f"{against}, {middle['bare_s'] * trip:.0f} us")  # fmt: skip
        yield Row(f"VIPL over {wire}: Messages of 1 MB", f"{volume / middle['bulk_s']:,.0f} MB/s",
                  spread([r["bulk_s"] / r["bare_bulk_s"] for r in runs]),
                  f"{against}, {volume / middle['bare_bulk_s']:,.0f} MB/s")  # fmt: skip


def cases(b: Bench) -> Iterator[Row]:
    """All cases on the reference port."""
    report = b.scratch / "report"
    s: dict[str, list[Sample]] = {"list": [], "run": []}
    for _ in range(3):
        s["list"].append(once([b.fcvi, "list"]))
        s["run"].append(once([b.fcvi, "run", "--dut", "ref", "--quiet", "--formats", "json", "--report", str(report)]))
    count = len(json.loads((report / "report.json").read_text(encoding="utf-8"))["results"])
    spent = spread([x.cpu for x in s["run"]]).median
    yield Row("every case on the reference port", f"{count / spent:,.0f} /s", ratios(s["run"], s["list"]),
              "`fcvi list`, which only loads them", **times(s["run"]))  # fmt: skip


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--frames", type=int, default=10**6, help="of the mixed capture")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--only", default="",
                        help="comma list of: reading, findings, compressed, flat, codec, port, sockets, vipl, cases")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # from its second run on a user's command finds its bytecode
    parts = args.only.split(",") if args.only else "codec reading findings compressed flat port sockets vipl cases".split()
    rows: list[Row] = []
    failed: list[str] = []
    print("| what | figure | ratio (least to most) | against |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(dir=args.build) as scratch:
        b = Bench(args, Path(scratch))
        for part in parts:
            measured = reading(b, b.capture("mixed", b.frames, "mixed")) if part == "reading" else globals()[part](b)
            try:
                for row in measured:
                    rows.append(row)
                    print(row.words(), flush=True)
            except RuntimeError as error:
                failed.append(part)
                print(f"bench: {part} could not be measured: {error}", file=sys.stderr)
    if args.json is not None:
        args.json.write_text(json.dumps([row.as_json() for row in rows], indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
