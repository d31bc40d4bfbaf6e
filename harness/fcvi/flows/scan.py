"""One pass over captures in C (harness/judge/flows.h), which stops where the table of Connections has to look."""

from __future__ import annotations

from struct import Struct

from _fcvi import ffi, lib

from fcvi.capture.limits import Limits
from fcvi.capture.scan import Editions, ScanError, Watch, hash_seed, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional

CONTROL, FOUND, NEW, FAILED, GAP, LATE, AGAIN, SKIP = (1 << bit for bit in range(8))
LATE_MSG, UNASKED, DAMAGED, MERGED = (1 << bit for bit in range(8, 12))
NONE = 0xFFFFFFFF
_ERROR, _FINDINGS, _UNANSWERED = 512, 64, 64


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


_RECORD = _members("struct capture_record", "number", "time_us", "network", "kind", "frame.bytes", "frame.length").unpack_from
_SEEN = _members("struct fcvi_flow_seen", "why", "flow", "other", "missing", "earlier").unpack_from
_FRAME = _members("struct fcvi_frame", "fc", "dh").unpack_from


class Scan:
    """Captures as one stream. After each step the members are those of the record: its ``number`` over all files, ``time_us`` and
    ``network`` (struct capture_record), and ``why``, ``flow``, ``other``, ``missing`` and ``earlier`` (struct fcvi_flow_seen).

    ahead: a second thread takes turns at reading and judging.
    """

    number = time_us = network = why = missing = earlier = _kind = _bytes = _length = 0
    flow = other = NONE

    def __init__(
        self, r_a_tov_us: int = 0, monitor: bool = True, limits: Optional[Limits] = None, ahead: bool = False, edition: str = "auto"
    ) -> None:
        self._limits, self._ahead = limits or Limits(), ahead
        self._flows = ffi.gc(lib.fcvi_flows_open(hash_seed()), lib.fcvi_flows_close)
        if self._flows == ffi.NULL:
            raise ScanError(self._limits.hint("out of memory"))
        self._watch = Watch(0, r_a_tov_us) if monitor else None
        self._editions = Editions(edition)
        lib.fcvi_flows_editions(self._flows, self._editions.pointer)
        self._record, self._frame = ffi.new("struct capture_record *"), ffi.new("struct fcvi_frame *")
        self._seen = ffi.new("struct fcvi_flow_seen *")
        self._in_c = ffi.buffer(self._record), ffi.buffer(self._seen), ffi.buffer(self._frame)
        self._found = ffi.new("struct fcvi_finding[]", _FINDINGS)
        self._list = ffi.new("struct fcvi_findings *", {"list": self._found, "capacity": _FINDINGS})
        self._breach = ffi.new("struct fcvi_monitor_finding[]", _FINDINGS)
        self._breaches = ffi.new("struct fcvi_monitor_findings *", {"list": self._breach, "capacity": _FINDINGS})
        self._slots = ffi.new("struct fcvi_flow_slot[]", _UNANSWERED)
        self._side = ffi.new("uint8_t *")
        self.files: list[tuple[int, str]] = []  # records before each file
        self.tick: Callable[[], None] = lambda: None  # called now and then

    def take(self, path: str) -> Iterator[None]:
        """One more file of the stream. Raises ScanError."""
        error = ffi.new("char[]", _ERROR)
        capture = opened(path, error, self._limits)
        if capture == ffi.NULL:
            raise ScanError(self._limits.hint(str(ffi.string(error), errors="replace")))
        before = int(self.tally.records)
        self.files.append((before, path))
        lib.fcvi_flows_take(self._flows, capture, before)
        watch = ffi.NULL if self._watch is None else self._watch.pointer
        try:
            if self._ahead:  # where there is no thread to be had it goes on without
                lib.fcvi_flows_ahead(self._flows, watch)
            while status := lib.fcvi_flows_next(
                self._flows, self._record, self._frame, self._seen, self._list, watch, self._breaches, error, _ERROR
            ):
                if status < 0:
                    raise ScanError(self._limits.hint(f"{path}: {str(ffi.string(error), errors='replace')}"))
                if status == 1:
                    record, seen, _ = self._in_c
                    number, self.time_us, self.network, self._kind, self._bytes, self._length = _RECORD(record)
                    self.number = before + number
                    self.why, self.flow, self.other, self.missing, self.earlier = _SEEN(seen)
                    yield
                self.tick()
        finally:
            lib.fcvi_flows_leave(self._flows)
            lib.fcvi_capture_close(capture)

    @property
    def tally(self) -> Any:
        """What the records were (struct fcvi_flow_tally)."""
        return lib.fcvi_flows_tally(self._flows)

    def place(self, number: int) -> tuple[str, int]:
        """The file of a record counted over all files, and its number there."""
        before, path = self.files[0]
        if len(self.files) > 1:
            before, path = max((entry for entry in self.files if entry[0] < number), default=self.files[0])
        return path, number - before

    def data(self) -> bytes:
        """The bytes of the frame."""
        return bytes(ffi.buffer(self._record.frame.bytes, self._length))

    def device_header(self) -> Optional[int]:
        """Where the Device_Header begins in the frame; None without one."""
        fc, dh = _FRAME(self._in_c[2])
        return dh - (fc if self._kind == lib.CAPTURE_CUT else self._bytes) if dh else None

    def findings(self) -> list[tuple[str, str, str]]:
        """What codec and monitor found: requirement, class, message."""
        whats = [self._found[i] for i in range(min(self._list.count, _FINDINGS))]
        if self._watch is not None:
            whats += [self._breach[i].what for i in range(min(self._breaches.count, _FINDINGS))]
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
        flow = lib.fcvi_flows_find(self._flows, network, d_id, handle, self._side)
        return None if flow == NONE else (int(flow), int(self._side[0]))

    def count(self) -> int:
        """How many Connections there are."""
        return int(lib.fcvi_flows_count(self._flows))

    def at(self, flow: int) -> Any:
        """What was counted of a Connection (struct fcvi_flow)."""
        return lib.fcvi_flows_at(self._flows, flow)

    def unanswered(self, flow: int, side: int) -> tuple[int, list[Any]]:
        """Requests of a side without their Response: how many, and the first 64 (struct fcvi_flow_slot)."""
        count = lib.fcvi_flows_unanswered(self._flows, flow, side, self._slots, _UNANSWERED)
        return int(count), [self._slots[i] for i in range(min(count, _UNANSWERED))]

    def exchange(self, flow: int, side: int, ox_id: int) -> Any:
        """The latest request of a side on an Exchange (struct fcvi_flow_slot), None without one."""
        return self._slots[0] if lib.fcvi_flows_exchange(self._flows, flow, side, ox_id, self._slots) else None

    def latest_us(self, flow: int, side: int) -> int:
        """When the latest frame of the side's latest request came; 0 when that is not known."""
        way = self.at(flow).way[side]
        if not way.has_next or way.ring == ffi.NULL:
            return 0
        last = (int(way.next_id) - 1) & NONE
        slot = way.ring[last & (int(way.size) - 1)]
        return int(slot.time_us) if slot.state and int(slot.id) == last else 0

    def end(self, flow: int) -> None:
        """No more Messages are expected on the Connection."""
        lib.fcvi_flows_end(self._flows, flow)

    def quantile(self, flow: int, share: float) -> int:
        """Microseconds within which this share of the latencies of both sides stay."""
        return int(lib.fcvi_flows_quantile(self._flows, flow, 2, share))


def _text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else str(ffi.string(pointer), errors="replace")
