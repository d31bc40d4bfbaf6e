"""The lower tester on streams: it opens and accepts TCP connections, sends any bytes in any cut, and reads what comes.

Whatever a DUT says against the rules of the DUT protocol is an error of the attachment, never a breach of the draft. The bytes
themselves may be anything.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, Callable, Deque, Mapping, Optional

from fcvi.engine.attachment import Dut, DutError, Notification
from fcvi.engine.results import Finding
from . import wire
from .monitor import Monitor, Own, OwnBreach
from .numbers import Numbers
from .stream import FIRST_WINDOW, Received, Stream
from .trace import Address, TraceUnit
from .watch import Report, Watch
from .wire import Pdu

_METHODS = frozenset({"stream.open", "stream.opened", "stream.refused", "stream.data", "stream.window", "stream.close"})
_FIRST_PORT = 40_000


class Tester:
    """The tester's side of every stream of a case."""

    def __init__(
        self, dut: Dut, config: Mapping[str, Any], rng: Random, report: Report, found: Callable[[Finding, Received], None],
        numbers: Numbers,
    ) -> None:  # fmt: skip
        self._dut, self._report, self._found = dut, report, found
        self.numbers = numbers
        self.hosts = [bytes.fromhex(host) for host in config["peer"]["host"]]
        self.dut_hosts = [bytes.fromhex(host) for host in config["host"]]
        self.port: int = config["port"]
        self.trace: list[TraceUnit] = []
        self.findings: list[Finding] = []
        self.inbox: list[Received] = []
        self.streams: dict[str, Stream] = {}
        self.opened: Deque[Stream] = deque()  # by the DUT, not yet looked at by the case
        self.judged: dict[str, int] = {}
        self.answered = 0
        self.shown = False  # the DUT has opened or accepted a connection with the numbers of the profile
        self._policy, self._unlimited = "accept", True
        self.cut = "whole"  # of a new stream
        self.breaches: set[str] = set()  # what the case breaks on purpose
        self._count = 0
        self._source = _FIRST_PORT + rng.randrange(2000)

    @property
    def policy(self) -> str:
        """What becomes of a TCP connection that the DUT asks for: "accept", "refuse", "silence" or "close" (at once)."""
        return self._policy

    @policy.setter
    def policy(self, policy: str) -> None:
        self._dut.streams(policy, self._unlimited)
        self._policy = policy

    @property
    def unlimited(self) -> bool:
        """Whether the DUT may send without limit on a new stream; else it has the first window and no more."""
        return self._unlimited

    @unlimited.setter
    def unlimited(self, unlimited: bool) -> None:
        self._dut.streams(self._policy, unlimited)
        self._unlimited = unlimited

    def _note(self, event: str, stream: Stream, sender: str, data: bytes = b"", words: str = "") -> TraceUnit:
        ours = sender == "tester"
        begin = stream.sent if ours else stream.received
        source, target = (stream.local, stream.remote) if ours else (stream.remote, stream.local)
        unit = TraceUnit(
            self._dut.now_us, sender, data, 0, 0, note=words, stream=stream.name, event=event, begin=begin, source=source,
            target=target, numbers=self.numbers
        )
        self.trace.append(unit)
        return unit

    def _stream(self, name: str, by: str, local: Address, remote: Address, time_us: int) -> Stream:
        watch, own = Watch(self._report, self.numbers), Own(self.numbers.profile.struct, by == "dut")
        monitor = Monitor(self.numbers.profile.struct, by == "dut")
        stream = self.streams[name] = Stream(name, by, local, remote, watch, own, monitor, time_us, cut=self.cut)
        return stream

    # ---- out ----

    def open(self, host: Optional[bytes] = None, source: Optional[bytes] = None, port: Optional[int] = None) -> Stream:
        """Ask the DUT for a TCP connection to its port."""
        self._count += 1
        self._source += 1
        local = (source or self.hosts[0], self._source)
        remote = (host or self.dut_hosts[0], self.port if port is None else port)
        stream = self._stream(f"t{self._count}", "tester", local, remote, self._dut.now_us)
        self._note("open", stream, "tester")
        stream.number = len(self.trace)
        self._dut.notify("stream.open", {"stream": stream.name, "from": _address(local), "to": _address(remote)})
        return stream

    def send(self, stream: Stream, pdu: Pdu) -> None:
        """Send one PDU. Raises OwnBreach for one that breaks the draft though the case has not said so."""
        data = self.numbers.pack(pdu)
        if stream.deaf:
            return
        wrong = [words for words in stream.own.says(pdu, data) if words[0] not in self.breaches]
        if wrong:
            raise OwnBreach(f"the tester breaks {' and '.join(': '.join(words) for words in wrong)}: {pdu.summary()}")
        self.send_bytes(stream, data)

    def send_bytes(self, stream: Stream, data: bytes, words: str = "") -> None:
        """Send any bytes. Once a side has closed, nothing is sent any more."""
        if stream.deaf:
            return
        self._note("data", stream, "tester", data, words)
        stream.sent += len(data)
        stream.monitor.follow(data)
        if stream.cut == "joined":
            stream.held += data
            return
        for piece in stream.pieces(data):
            self._piece(stream, piece)

    def flush(self) -> None:
        """Send what was held to be sent in one piece."""
        for stream in self.streams.values():
            if stream.held:
                held, stream.held = bytes(stream.held), bytearray()
                for begin in range(0, len(held), 30_000):
                    self._piece(stream, held[begin : begin + 30_000])

    def _piece(self, stream: Stream, data: bytes) -> None:
        stream.waiting += data
        self._push(stream)

    @property
    def waiting(self) -> int:
        """Bytes that are to be sent as soon as the DUT has room for them."""
        return sum(len(stream.waiting) for stream in self.streams.values() if not stream.over)

    def _push(self, stream: Stream) -> None:
        while stream.waiting and stream.window != 0 and not stream.over:
            room = min(30_000, len(stream.waiting) if stream.window is None else stream.window)
            piece = bytes(stream.waiting[:room])
            del stream.waiting[: len(piece)]
            if stream.window is not None:
                stream.window -= len(piece)
            self._dut.notify("stream.data", {"stream": stream.name, "hex": piece.hex()})

    def grant(self, stream: Stream, count: Optional[int]) -> None:
        """The DUT may send so many bytes more; None: without limit."""
        if stream.closed or stream.over:
            return
        stream.granted = None if count is None or stream.granted is None else stream.granted + count
        self._dut.notify("stream.window", {"stream": stream.name, "bytes": count})

    def close(self, stream: Stream, how: str = "fin") -> None:
        """End our side of a stream."""
        if stream.closed or stream.refused or stream.ended == "reset":
            return
        self.flush()
        stream.closed = how
        self._note(how, stream, "tester")
        self._dut.notify("stream.close", {"stream": stream.name, "how": how})

    # ---- in ----

    @staticmethod
    def hears(method: str) -> bool:
        """Whether a notification is about a stream."""
        return method in _METHODS

    def take_in(self, note: Notification) -> None:
        """A notification about a stream. Raises DutError for what the DUT protocol forbids."""
        params = note.params
        name = params.get("stream")
        if not isinstance(name, str) or not 0 < len(name) <= 32:
            raise DutError(f"{note.method} has no name of a stream: {str(params)[:120]}")
        if note.method == "stream.open":
            self._open(name, note)
            return
        stream = self.streams.get(name)
        if stream is None:
            raise DutError(f"{note.method} is about stream {name[:32]!r}, which nobody has opened")
        if stream.closed == "reset" or (stream.closed and stream.over):
            return  # it crossed our end
        act: Callable[[Stream, Notification], None] = getattr(self, "_" + note.method.partition(".")[2])
        act(stream, note)

    def _open(self, name: str, note: Notification) -> None:
        if name in self.streams or not name.startswith("d"):
            raise DutError(f"stream.open: {name[:32]!r} is no new name of a stream of the DUT's")
        local, remote = _read_address(note, "to"), _read_address(note, "from")
        stream = self._stream(name, "dut", local, remote, note.time_us)
        self._note("open", stream, "dut")
        stream.timestamps = _timestamps(note)
        stream.number = len(self.trace)
        self.opened.append(stream)
        if local[1] == self.port and local[0] in self.hosts:
            self.answer(stream, self.policy)
        else:
            self.answer(stream, "refuse")

    def answer(self, stream: Stream, policy: str) -> None:
        """Accept or refuse a connection that the DUT has asked for."""
        if policy == "silence":
            return
        self.answered += 1
        if policy == "refuse":
            stream.refused = True
            self._note("refused", stream, "tester")
            self._dut.notify("stream.refused", {"stream": stream.name})
            return
        stream.opened = True
        self._note("opened", stream, "tester")
        self._dut.notify("stream.opened", {"stream": stream.name})
        if policy == "close":
            self.close(stream)
        elif self.unlimited:
            self.grant(stream, None)

    def _opened(self, stream: Stream, note: Notification) -> None:
        if stream.by != "tester" or stream.opened or stream.refused:
            raise DutError(f"stream.opened for {stream.name}, which does not wait for it")
        stream.opened, stream.timestamps = True, _timestamps(note)
        self._note("opened", stream, "dut")
        if self.unlimited:
            self.grant(stream, None)

    def _refused(self, stream: Stream, note: Notification) -> None:
        if stream.by != "tester" or stream.opened or stream.refused:
            raise DutError(f"stream.refused for {stream.name}, which does not wait for it")
        stream.refused = True
        self._note("refused", stream, "dut")

    def _window(self, stream: Stream, note: Notification) -> None:
        count = note.params.get("bytes")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 32):
            raise DutError(f"stream.window: bytes is {str(count)[:30]}, not a number or null")
        stream.window = None if count is None or stream.window is None else stream.window + count
        self.answered += bool(stream.waiting)
        self._push(stream)

    def _close(self, stream: Stream, note: Notification) -> None:
        """TCP may reset after its FIN, and give up a connection that nobody has answered."""
        how = note.params.get("how")
        resets = how == "reset" and stream.ended == "fin"
        gives_up = stream.by == "dut" and not stream.refused
        if how not in ("fin", "reset") or (stream.over and not resets) or not (stream.opened or gives_up):
            raise DutError(f"stream.close for {stream.name}: {str(note.params)[:80]} where it cannot be")
        if not stream.over:
            stream.ended, stream.ended_us = str(how), note.time_us
        self._note(str(how), stream, "dut")

    def _data(self, stream: Stream, note: Notification) -> None:
        text = note.params.get("hex")
        try:
            data = bytes.fromhex(text) if isinstance(text, str) else b""
        except ValueError:
            data = b""
        if not 1 <= len(data) <= 30_000:
            raise DutError(f"stream.data for {stream.name} has no 1 to 30,000 bytes of hex")
        if not stream.opened or stream.over:
            raise DutError(f"stream.data for {stream.name}, which is not open")
        if stream.granted is not None:
            stream.granted -= len(data)
            if stream.granted < 0:
                raise DutError(f"stream.data for {stream.name}: {-stream.granted} bytes beyond the window")
        stream.rest += data
        while self._next(stream, note):
            pass

    def _next(self, stream: Stream, note: Notification) -> bool:
        """Take one PDU from what has come; false when there is none."""
        rest = stream.rest
        if stream.rubbish:
            if rest:
                self._note("data", stream, "dut", bytes(rest), "not divided into PDUs")
                stream.received += len(rest)
                rest.clear()
            return False
        if len(rest) < 4:
            return False
        version, kind, length = self.numbers.header(rest)
        if kind not in wire.NAMES or (length < wire.least_length(kind) and not (length >= wire.HEADER and (
            length > len(rest) or (kind in wire.RDMA and stream.watch.goes_on(kind, rest))  # without RDMA Header (V10)
        ))):  # fmt: skip
            self._rubbish(stream, version, kind, length)
            return True
        if len(rest) < length:
            return False
        data = bytes(rest[:length])
        del rest[:length]
        unit = self._note("data", stream, "dut", data)
        unit.time_us = note.time_us
        begin, stream.received = stream.received, stream.received + length
        one = Received(self.numbers.parse(data), stream, [len(self.trace)], note.earliest_us, note.time_us)
        self.judged[one.pdu.name] = self.judged.get(one.pdu.name, 0) + 1
        self.inbox.append(one)
        stream.own.hears(one.pdu)
        self._shows(one)
        for finding in stream.monitor.judge(data, begin, stream.sent - len(stream.held) - len(stream.waiting)):
            self._found(finding, one)
        stream.watch.take(one)
        return True

    def _shows(self, one: Received) -> None:
        kind = wire.REQUEST if one.stream.by == "dut" else wire.ACCEPT
        ce = one.pdu.ce
        if one.pdu.version == wire.VERSION and one.pdu.kind == kind and ce is not None:
            self.shown = self.shown or max(ce.calling_length, ce.called_length) <= 16

    def _rubbish(self, stream: Stream, version: int, kind: int, length: int) -> None:
        """No PDU of the draft: an unknown type may be another profile, everything else is a breach."""
        stream.rubbish = True
        self._note("data", stream, "dut", bytes(stream.rest), "not divided into PDUs")
        at = Received(Pdu(kind), stream, [len(self.trace)], self._dut.now_us, self._dut.now_us)
        stream.received += len(stream.rest)
        seen = f"{bytes(stream.rest[:24]).hex()}h"
        stream.rest.clear()
        before = [r for r in self.inbox if r.stream is stream]
        if length < wire.HEADER and version == wire.VERSION:
            self._report("VITCP-3-02", "Segment Length is less than a Segment Header", length, "24 or more", at=at, byte=2,
                         bits="15-0")
        elif kind in wire.RDMA and version == wire.VERSION:
            self._report("VITCP-3-05", f"{wire.NAMES[kind]} has no RDMA Header", f"{length} bytes", "40 or more", at=at, byte=2)
        elif kind in wire.NAMES and version == wire.VERSION:
            self._report("VITCP-3-06", f"{wire.NAMES[kind]} has no CE Header", f"{length} bytes", "68 or more", at=at, byte=2)
        elif before and version != wire.VERSION:
            self._report("VITCP-3.1-11", "no PDU begins where Segment Length says", seen, "a Segment Header", at=at, byte=0)
        else:
            self._report("VITCP-3.1-04", "the type is none of the profile", self.numbers.type_of(kind), self.numbers.types, at=at,
                         byte=1, bits="7-3")

    def incomplete(self) -> Optional[Stream]:
        """A stream on which the DUT has begun a PDU that has not come whole."""
        return next((s for s in self.streams.values() if s.rest), None)


def _address(address: tuple[bytes, int]) -> dict[str, Any]:
    return {"host": address[0].hex(), "port": address[1]}


def _timestamps(note: Notification) -> Optional[bool]:
    told = note.params.get("timestamps")
    return told if isinstance(told, bool) else None


def _read_address(note: Notification, end: str) -> tuple[bytes, int]:
    value = note.params.get(end)
    try:
        host, port = bytes.fromhex(value["host"]), value["port"]  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        host, port = b"", -1
    if len(host) != 16 or isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise DutError(f"stream.open: {end} is {str(value)[:80]}, no host of 32 hex digits and port")
    return host, port


__all__ = ["FIRST_WINDOW", "Received", "Stream", "Tester"]
