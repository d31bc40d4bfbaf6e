"""One pass over captures in C (harness/judge/flows.h), which stops where the table of Connections has to look."""

from __future__ import annotations

from struct import Struct

from _fcvi import ffi, lib

from fcvi.capture.limits import Limits
from fcvi.capture import scan as capture
from fcvi.capture.scan import ScanError, Watch, hash_seed, source_of
from fcvi.engine.words import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional

CONTROL, FOUND, NEW, FAILED, GAP, LATE, AGAIN, SKIP = (1 << bit for bit in range(8))
LATE_MSG, UNASKED, DAMAGED, MERGED, FIP, REV1 = (1 << bit for bit in range(8, 14))
NONE = 0xFFFFFFFF


def _members(kind: str, *names: str) -> Struct:
    """What unpacks these members of a structure in C at once, in the order in which they lie in it. All are unsigned."""
    codes, end = "=", 0
    for name in names:
        path, member = name.split("."), ffi.typeof(kind)
        for part in path:
            member = dict(member.fields)[part].type
        at = ffi.offsetof(kind, *path)
        assert at >= end
        codes += f"{at - end}x{'BHIQ'[ffi.sizeof(member).bit_length() - 1]}"
        end = at + ffi.sizeof(member)
    return Struct(codes)


_RECORD = _members(
    "struct judge_seen", "record.number", "record.time_us", "record.network", "record.kind", "record.frame.bytes",
    "record.frame.length"
).unpack_from
_SEEN = _members("struct judge_seen", "flow.why", "flow.flow", "flow.other", "flow.missing", "flow.earlier").unpack_from


class Scan:
    """Captures as one stream. After each step the members are those of the record: its ``number`` over all files, ``time_us`` and
    ``network`` (struct capture_record), and ``why``, ``flow``, ``other``, ``missing`` and ``earlier`` (struct fcvi_flow_seen).
    """

    number = time_us = network = why = missing = earlier = _kind = _bytes = _length = 0
    flow = other = NONE

    def __init__(self, r_a_tov_us: int = 0, monitor: bool = True, limits: Optional[Limits] = None, edition: str = "auto",
                 dumps: Optional[dict[str, str | Exception]] = None) -> None:  # fmt: skip
        self._limits, self._dumps = limits or Limits(), dumps or {}
        self._flows = ffi.gc(lib.fcvi_flows_open(hash_seed()), lib.fcvi_flows_close)
        if self._flows == ffi.NULL:
            raise ScanError(self._limits.hint("out of memory"))
        self._watch = Watch(0, r_a_tov_us, edition, monitor)
        self._scan: Any = None  # of the file that is read
        self._slots = ffi.new("struct fcvi_flow_slot[]", lib.FCVI_FLOW_UNANSWERED)
        self._side = ffi.new("uint8_t *")
        self.files: list[tuple[int, str]] = []  # records before each file
        self._numbers: dict[int, memoryview] = {}  # in the file, of records in another order, by the records before the file
        self.artefacts: list[str] = []  # of the capture point, a sentence each
        self.is_file = False  # the file that was read last: it can be read again
        self.clock = (0, 0, 0)  # of that file: records that are late, by how much at most, and the longest pause
        self.heard_us = 0  # when its latest frame came, also of those that are only counted
        self.foreign: dict[str, int] = {}  # records of other protocols than Fibre Channel, by name
        self.tick: Callable[[], None] = lambda: None  # called now and then

    def take(self, path: str, order: Optional[capture.Order] = None) -> Iterator[None]:
        """One more file of the stream. Raises ScanError."""
        before = self._watch.frames = int(self.tally.records)
        scan = self._scan = capture.Scan(self.source(path), self._limits, order)
        scan.path = path
        self.files.append((before, path))
        in_c = None
        try:
            for _ in scan.stops(self._watch, lambda: self.tick(), flows=self._flows):
                if in_c is None:
                    in_c = ffi.buffer(scan.seen)
                number, self.time_us, self.network, self._kind, self._bytes, self._length = _RECORD(in_c)
                self.number = before + number
                self.why, self.flow, self.other, self.missing, self.earlier = _SEEN(in_c)
                yield
        finally:
            scan.close()
            clock = scan.tally.clock
            self.heard_us = int(clock.heard_us)
            for name, count in capture.foreign_of(scan.tally).items():
                if count and not name.startswith("FC TYPE"):
                    self.foreign[name] = self.foreign.get(name, 0) + count
            self.is_file, self.clock = scan.is_file, (int(clock.late), int(clock.lag_us), int(clock.pause_us))
            if scan.numbers is not None:
                self._numbers[before] = scan.numbers
            self.artefacts += [said for said in scan.artefacts if said not in self.artefacts]

    def source(self, path: str) -> str:
        """Where a file is read: that of a dump is a capture in memory. Raises ScanError."""
        return source_of(path, self._dumps)

    @property
    def tally(self) -> Any:
        """What the records were (struct fcvi_flow_tally)."""
        return lib.fcvi_flows_tally(self._flows)

    def place(self, number: int) -> tuple[str, int]:
        """The file of a record counted over all files, and its number there."""
        before, path = self.files[0]
        if len(self.files) > 1:
            before, path = max((entry for entry in self.files if entry[0] < number), default=self.files[0])
        numbers, at = self._numbers.get(before), number - before
        return path, int(numbers[at - 1]) if numbers is not None and 0 < at <= len(numbers) else at

    def where(self, number: int) -> str:
        """The same in words."""
        path, frame = self.place(number)
        return f"frame {frame} of {printable(path)}" if len(self.files) > 1 else f"frame {frame}"

    def data(self) -> bytes:
        """The bytes of the frame."""
        return bytes(ffi.buffer(self._scan.seen.record.frame.bytes, self._length))

    @property
    def ends(self) -> tuple[int, int]:
        """The Ethernet addresses that a frame of FIP comes from and goes to, 0 where that is not known."""
        record = self._scan.seen.record
        return int(record.source), int(record.target)

    def device_header(self) -> Optional[int]:
        """Where the Device_Header begins in the frame; None without one."""
        frame = self._scan.seen.frame
        fc, dh = int(ffi.cast("uintptr_t", frame.fc)), int(ffi.cast("uintptr_t", frame.dh))
        return dh - (fc if self._kind == lib.CAPTURE_CUT else self._bytes) if dh else None

    def findings(self) -> list[tuple[str, str, str]]:
        """What codec and monitor found: requirement, class, message."""
        whats = [*self._scan.findings(), *(breach.what for breach in self._scan.breaches())]
        classes = ("notice", "violation", "malformed")
        return [(_text(w.requirement), classes[w.cls], _text(w.message)) for w in whats]

    # ---- Connections ----

    def add(self, network: int, from_id: int, to_id: int) -> int:
        """A Connection that is being set up; its number."""
        return int(lib.fcvi_flows_add(self._flows, network, from_id, to_id))

    def bind(self, flow: int, side: int, handle: int) -> None:
        """Messages to the side's port with this FCVI_HANDLE belong to the Connection from now on."""
        lib.fcvi_flows_bind(self._flows, flow, side, handle)

    def find(self, network: int, d_id: int, handle: int) -> Optional[tuple[int, int]]:
        """The Connection that a frame with this FCVI_HANDLE belongs to, and the receiver's side of it."""
        end = ffi.new("struct fcvi_flow_end *", (network, d_id, handle))
        flow = lib.fcvi_flows_find(self._flows, end, self._side)
        return None if flow == NONE else (int(flow), int(self._side[0]))

    def count(self) -> int:
        """How many Connections there are."""
        return int(lib.fcvi_flows_count(self._flows))

    def at(self, flow: int) -> Any:
        """What was counted of a Connection (struct fcvi_flow)."""
        return lib.fcvi_flows_at(self._flows, flow)

    def last(self, flow: int, *sides: int) -> tuple[int, int]:
        """The latest frame of a Message or a Response that these sides sent, both without a word, and when; 0 and 0 without one."""
        way = self.at(flow).way
        return max((int(way[side].last), int(way[side].last_us)) for side in sides or (0, 1))

    def unanswered(self, flow: int, side: int) -> tuple[int, list[Any]]:
        """Requests of a side without their Response: how many, and the first 64 (struct fcvi_flow_slot)."""
        count = lib.fcvi_flows_unanswered(self._flows, flow, side, self._slots)
        return int(count), [self._slots[i] for i in range(min(count, lib.FCVI_FLOW_UNANSWERED))]

    def exchange(self, flow: int, side: int, ox_id: int) -> Any:
        """The latest request of a side on an Exchange (struct fcvi_flow_slot), None without one."""
        return lib.fcvi_flows_exchange(self._flows, flow, side, ox_id) or None

    def latest_us(self, flow: int, side: int) -> int:
        """When the latest frame of the side's latest request came; 0 when that is not known."""
        slot = self.latest(flow, side)
        return 0 if slot is None else int(slot.time_us)

    def latest(self, flow: int, side: int) -> Any:
        """The side's latest request (struct fcvi_flow_slot); None when it is not known."""
        way = self.at(flow).way[side]
        if not way.has_next or way.ring == ffi.NULL:
            return None
        last = (int(way.next_id) - 1) & NONE
        slot = way.ring[last & (int(way.size) - 1)]
        return slot if slot.state and int(slot.id) == last else None

    def end(self, flow: int) -> None:
        """No more Messages are expected on the Connection."""
        lib.fcvi_flows_end(self._flows, flow)

    def sample(self) -> None:
        """Keep latencies over time from now on."""
        lib.fcvi_flows_sample(self._flows)

    def samples(self, flow: int, side: int) -> list[tuple[int, int]]:
        """Latencies of a side's requests: when each was answered, and how long that took, in microseconds. Of very many the longest
        of some neighbours stand for all."""
        kept = self.at(flow).way[side].samples
        if kept == ffi.NULL:
            return []
        return [(int(kept.list[i].time_us), int(kept.list[i].latency_us)) for i in range(kept.count)]

    def quantile(self, flow: int, share: float) -> int:
        """Microseconds within which this share of the latencies of both sides stay."""
        return int(lib.fcvi_flows_quantile(self._flows, flow, 2, share))


def _text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else str(ffi.string(pointer), errors="replace")
