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
    """A pass over one capture beside libpcap's loop over it, and beside tshark on its first frames, projected to all of it.
    Start-up counts once on each side."""
    s = in_turn({"bare": [b.tool("bare"), mixed], "lint": [b.fcvi, "lint", mixed]}, 3 * b.rounds)
    size = Path(mixed).stat().st_size // b.frames
    bare = f"bare `pcap_next_ex` loop, {per_frame(s['bare'], b.frames):.0f} ns a frame of {size} bytes"
    yield Row("`fcvi lint`: decoding, CRC and monitor, start-up included", f"{per_frame(s['lint'], b.frames):.0f} ns a frame",
              ratios(s["lint"], s["bare"]), bare, **times(s["lint"]))  # fmt: skip
    frames, tshark = 50000, ["tshark", "-V", "-r"]
    one, part = b.capture("one", 1, "mixed"), b.capture("part", frames, "mixed")
    s = in_turn({"start": [*tshark, one], "part": [*tshark, part], "lint": [b.fcvi, "lint", mixed]}, b.rounds)
    all_of_it = [x.cpu + (y.cpu - x.cpu) * b.frames / frames for x, y in zip(s["start"], s["part"])]
    yield Row(f"`fcvi lint`, {b.frames:,} frames", f"{b.frames / spread([x.cpu for x in s['lint']]).median:,.0f} frames/s",
              spread([theirs / x.cpu for theirs, x in zip(all_of_it, s["lint"])]),
              f"`tshark -V`, {b.frames / spread(all_of_it).median:,.0f} frames/s, times faster",
              f"projected from its first {frames:,} frames", **times(s["part"]))  # fmt: skip


def compressed(b: Bench) -> Iterator[Row]:
    """Packed captures beside the tools that unpack them."""
    frames = min(b.frames, 200000)
    for tool, suffix in (("gzip", "gz"), ("zstd", "zst")):
        plain = b.capture("packed", frames, "mixed")
        packed = f"{plain}.{suffix}"
        once([tool, "-1", "-q", "-k", plain])
        s = in_turn({"tool": [tool, "-dc", packed], "lint": [b.fcvi, "lint", packed]}, 3)
        value = f"{per_frame(s['lint'], frames):.0f} ns a frame"
        yield Row(f"`fcvi lint` of a .{suffix}", value, ratios(s["lint"], s["tool"]), f"`{tool} -dc` alone", **times(s["lint"]))
        Path(packed).unlink()


def flat(b: Bench) -> Iterator[Row]:
    """Memory for few and many frames of the same Connections."""
    captures = {"some": b.capture("some", 10**5, "small"), "most": b.capture("most", 10**7, "small")}
    memory = {name: [int(once([b.tool("memory"), b.fcvi, "lint", path]).output.split()[-1]) for _ in range(3)]
              for name, path in captures.items()}  # fmt: skip
    yield Row("memory of `fcvi lint` for 10,000,000 frames", f"{memory['most'][0] / 1024:.1f} MiB",
              spread([x / y for x, y in zip(memory["most"], memory["some"])]),
              f"100,000 frames of as many Connections, {memory['some'][0] / 1024:.1f} MiB")  # fmt: skip


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
        s["run"].append(once([b.fcvi, "run", "--dut", "ref", "--quiet", "--formats", "json", "--report", str(report), "--force"]))
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
                        help="comma list of: reading, compressed, flat, codec, port, sockets, vipl, cases")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # from its second run on a user's command finds its bytecode
    parts = args.only.split(",") if args.only else "codec reading compressed flat port sockets vipl cases".split()
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
