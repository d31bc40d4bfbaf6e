"""The port: streams, memory, VIs, and who waits for whom."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ..clock import Clock
from ..chosen import Choices
from .faults import Faults
from .setup import Passive, Waits
from .stream import Stream, address_json
from .vi import Descriptor, Memory, Vi

TOP = 1 << 64
PAGE = 4096


class Port:
    """Everything that a reset makes anew."""

    def __init__(self, config: Dict[str, Any], choose: Choices, faults: Faults, notify: Callable[[str, Dict[str, Any]],
                                                                                                 None]) -> None:
        """Raises ValueError for a configuration that cannot be."""
        self.choose, self.faults, self.notify = choose, faults, notify
        self.clock = Clock()
        self.hosts = [host_of(text) for text in config.get("host", [])]
        self.peer_hosts = [host_of(text) for text in config.get("peer", {}).get("host", [])]
        self.port = int(config.get("port", 0))
        self.nop_bound = int(config.get("nop_bound_us", 1_000_000))
        self.incoming_timeout = int(config.get("incoming_timeout_us", 2_000_000))
        self.streams: Dict[str, Stream] = {}
        self.vis: Dict[int, Vi] = {}
        self.memory: Dict[int, Memory] = {}
        self.waits: Waits = []
        self.conns: Dict[int, Passive] = {}
        self.listening = False
        self._opened = self._conn = 0
        self.came = 0  # TCP connections that others opened
        self.left_unread = b""  # by the connection before, for a fault
        self.gone: Set[int] = set()  # memory of a first connection, for a fault
        self.highest = -1  # Message Number of any VI, for a fault
        self._source = 49152

    def bad(self, name: str) -> bool:
        """Whether this mistake is made."""
        return self.faults.is_on(name)

    # ---- streams ----

    def open_stream(self, local: bytes, remote: bytes) -> Stream:
        """TCP to the reserved port of a host."""
        self._opened += 1
        if not self.bad("one-source-port"):
            self._source = self._free_port()
        target = self._source if self.bad("connects-to-another-port") else self.port
        if self.bad("connects-elsewhere"):
            remote = remote[:-1] + bytes([remote[-1] ^ 1])
        stream = Stream(self, f"d{self._opened}", (local, self._source), (remote, target))
        self.streams[stream.name] = stream
        self.notify("stream.open", {
            "stream": stream.name, "from": address_json(stream.local), "to": address_json(stream.remote)})
        return stream

    def _free_port(self) -> int:
        """A source port of which no connection is open."""
        taken = {stream.local[1] for stream in self.streams.values()}
        how = self.choose("source_port")
        ports = range(65535, 1023, -1) if how == "falling" else range(49153, 65536)
        found = next(one for one in ports if one not in taken)
        return self._source + 1 if how == "rising" else found

    def forget(self, stream: Stream) -> None:
        """It is closed on our side."""
        self.streams.pop(stream.name, None)

    def incoming(self, name: str, remote: Tuple[bytes, int], local: Tuple[bytes, int]) -> None:
        """A SYN has come (4.3)."""
        peers = any(vi.attempt is not None and vi.attempt.peer for vi in self.vis.values())  # one of the two is passive (4)
        listening = self.listening and (self.choose("listen") == "create" or bool(self.waits or self.conns) or peers)
        self.came += 1
        full = self.bad("forty-incoming") and self.came > 40
        if full or self.bad("listens-never") or (self.bad("no-ipv6-server") and not local[0].startswith(bytes(10))):
            listening = False
        if local[1] != self.port or local[0] not in self.hosts or not listening or (
            self.bad("one-connection-at-a-time") and self.streams
        ):
            self.notify("stream.refused", {"stream": name})
            return
        stream = self.streams[name] = Stream(self, name, local, remote)
        self.after("open_delay", lambda: self.opened(stream))

    def after(self, choice: str, act: Callable[[], None]) -> None:
        """Now, or after the time that is chosen."""
        delay = self.choose.number(choice)
        if delay:
            self.clock.after(delay, act)
        else:
            act()

    def opened(self, stream: Stream) -> None:
        """TCP has been accepted."""
        if self.streams.get(stream.name) is not stream:
            return
        name = stream.name
        self.notify("stream.opened", {"stream": name, **({"timestamps": False} if self.bad("no-timestamps") else {})})
        stream.opened()
        Passive(self, stream)

    def new_conn(self, passive: Passive) -> int:
        """A request for VipConnectAccept."""
        self._conn += 1
        number = self._conn
        if self.choose("handles") == "reused":
            number = next(n for n in range(1, len(self.conns) + 2) if n not in self.conns)
        self.conns[number] = passive
        return number

    def told_level(self) -> int:
        """What the application is told for a Reliable flag (V15, V68)."""
        return 2 if self.choose("told_level") == "delivery" else 3

    def first_number(self, vi: Optional[Vi] = None) -> int:
        """The first Message Number of a connection of this VI, which may be varied (3.1)."""
        begin, how = self.choose.number("first_number"), self.choose("numbers_begin")
        if vi is None or how == "same" or vi.connections == 0:
            return begin
        return vi.next_number if how == "go-on" else (begin + 0x9E3779B1 * vi.connections) & 0xFFFFFFFF

    # ---- memory ----

    def region_of(self, handle: int) -> Optional[Memory]:
        """The region of a Memory Handle."""
        mask = 0xFFFF if self.bad("handle-checked-in-16-bits") else 0xFFFFFFFF
        found = next((m for n, m in self.memory.items() if n not in self.gone and m.handle & mask == handle & mask), None)
        if found is None and self.bad("handle-not-checked"):
            return next(iter(self.memory.values()), None)
        return found

    def _named(self, region: Memory, address: int) -> int:
        """The address that the port looks at."""
        if self.bad("address-checked-in-32-bits") or self.choose("memory") == "narrow":
            return region.va & ~0xFFFFFFFF | address & 0xFFFFFFFF
        return address

    def inside(self, region: Optional[Memory], address: int, length: int) -> bool:
        """Whether the range lies in the region."""
        if region is None:
            return False
        address = self._named(region, address)
        if self.bad("read-length-is-signed") and length >= 1 << 31:
            length -= 1 << 32
        end = address + length
        if self.bad("address-wraps"):
            end %= TOP
        first = address >= region.va or self.bad("below-not-checked")
        if self.bad("end-not-checked"):
            return first and address < region.va + len(region.data)
        if self.bad("one-byte-too-far"):
            end -= 1
        last = region.va + len(region.data)
        if self.choose.yes("pages"):
            return region.va - region.va % PAGE <= address and end <= last + -last % PAGE
        return first and end <= last

    def fits(self, region: Optional[Memory], address: int, length: int, how: str, handle: int) -> bool:
        """Whether the other side may do it (2.2.2.2.2)."""
        if region is None:
            return False
        if self.bad("any-right-will-do"):
            how = "write" if region.rdma_write else "read"
        if self.bad("address-not-checked-with-handle"):
            region = next((m for m in self.memory.values() if self.inside(m, address, length)), region)
        return self.inside(region, address, length) and (region.rdma_write if how == "write" else region.rdma_read)

    def put(self, region: Memory, address: int, offset: int, data: bytes) -> None:
        """Bytes of an RDMA Write."""
        address = self._named(region, address)
        if self.bad("offset-not-added"):
            offset = 0
        if self.bad("write-one-further") and data:
            offset += 1
        start = address + offset - region.va
        if self.choose.yes("pages") and not 0 <= start <= len(region.data) - len(data):
            region.beside.update(zip(range(start, start + len(data)), data))
            for at, one in enumerate(data, start):
                if 0 <= at < len(region.data):
                    region.data[at] = one
            return
        if self.bad("address-not-checked-with-handle"):
            region = next((m for m in self.memory.values() if self.inside(m, address + offset, len(data))), region)
            start = address + offset - region.va
        if self.bad("address-wraps"):
            start %= TOP
        if start < 0 or start >= len(region.data):
            start %= max(1, len(region.data))
        room = len(region.data) - start
        region.data[start: start + min(room, len(data))] = data[:room]

    def read_region(self, region: Optional[Memory], address: int, length: int) -> Optional[bytes]:
        """Bytes for a Read Response; None when the region has gone (2.2.2.2.6)."""
        if region is None or region not in self.memory.values():
            if self.bad("reads-what-is-gone"):
                return b"\xEE" * length
            return None if length or region is not None else b""
        if self.bad("read-one-further"):
            address += 1
        start = address - region.va
        if self.choose.yes("pages"):
            inside = range(len(region.data))
            return bytes(region.data[at] if at in inside else region.beside.get(at, 0) for at in range(start, start + length))
        data = bytes(region.data[start: start + length]) if start >= 0 else b""
        return data.ljust(length, b"\0")

    def problem_with(self, vi: Vi, descriptor: Descriptor) -> str:
        """Why a send Descriptor cannot be done; "" when it can."""
        if descriptor.op not in ("send", "rdma-write", "rdma-read"):
            return "VIP_STATUS_FORMAT_ERROR"
        unreliable = not vi.attributes.reliable and not self.bad("asks-at-unreliable")
        if descriptor.op == "rdma-read" and (unreliable or descriptor.immediate is not None):
            return "VIP_STATUS_FORMAT_ERROR"
        for mem, offset, length in descriptor.segments if descriptor.copy is None else ():
            region = self.memory.get(mem)
            if (region is None or offset + length > len(region.data)) and not self.bad("source-not-checked"):
                return "VIP_STATUS_PROTECTION_ERROR"
        return ""

    def gather(self, vi: Vi, descriptor: Descriptor, begin: int, size: int) -> Optional[bytes]:
        """Bytes of a Descriptor's segments; None when memory has gone (V44)."""
        if self.bad("no-payload"):
            return bytes(size)
        if descriptor.copy is not None:
            return descriptor.copy[begin: begin + size]
        found, at = bytearray(), 0
        most = 16 if self.bad("segments-beyond-16-lost") else None
        places = descriptor.segments[::-1 if self.bad("gathers-backwards") else 1][:most]
        if self.bad("gathers-by-offset"):
            places.sort(key=lambda place: place[1])
        for mem, offset, length in places:
            offset *= not self.bad("gathers-from-the-beginning")
            region = self.memory.get(mem)
            if self.bad("skips-single-bytes") and length == 1 and len(descriptor.segments) > 1:
                continue
            if region is None and not (self.bad("source-not-checked") or self.bad("padding-not-told")):
                return None
            first, last = max(begin, at), min(begin + size, at + length)
            if first < last:
                found += bytes(last - first) if region is None else region.data[offset + first - at: offset + last - at]
            at += length
        return bytes(found)

    def fill_rest(self, descriptor: Descriptor, begin: int) -> None:
        """What was posted beyond the message holds anything (VI-DG 5.5)."""
        at = 0
        for mem, offset, length in descriptor.segments:
            region, first = self.memory.get(mem), max(begin - at, 0)
            if region is not None and first < length and offset + length <= len(region.data):
                region.data[offset + first: offset + length] = b"\x6B" * (length - first)
            at += length

    def fill_behind(self, descriptor: Descriptor) -> None:
        """For a fault: a byte behind the last segment of a Descriptor."""
        for mem, offset, length in descriptor.segments[-1:]:
            region = self.memory.get(mem)
            if region is not None and offset + length < len(region.data):
                region.data[offset + length] ^= 0xFF

    def scatter(self, descriptor: Descriptor, begin: int, data: bytes) -> bool:
        """Put bytes into a Descriptor's segments; False when memory has gone."""
        at = 0
        if self.bad("payload-corrupted") and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        places = descriptor.segments
        if self.bad("scatters-into-the-first") and places:
            places = [(places[0][0], places[0][1], len(data) + begin)]
        for mem, offset, length in places[: 16 if self.bad("segments-beyond-16-lost") else None]:
            offset *= not self.bad("scatters-from-the-beginning")
            region = self.memory.get(mem)
            first, last = max(begin, at), min(begin + len(data), at + length)
            if first < last:
                if region is None or offset + length > len(region.data):
                    return False
                region.data[offset + first - at: offset + last - at] = data[first - begin: last - begin]
                if self.bad("boundary-byte-lost") and last == at + length < begin + len(data):
                    region.data[offset + last - at - 1] = 0
            at += length
        return True


def host_of(text: str) -> bytes:
    """A host of the configuration. Raises ValueError."""
    host = bytes.fromhex(text)
    if len(host) != 16:
        raise ValueError("a host has 32 hex digits")
    return host


Regions = List[Memory]
