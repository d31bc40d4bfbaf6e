"""Plays a recorded case of VI/TCP to a device, and compares what it says.

The tester's actions come in their order, at their times, and in their pieces. Before each the device gets the time to say what
it had said by then, and the bound of a NOP beyond it. Message Numbers that the device chooses, and addresses and handles of its
memory, are translated in what is sent to it.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.engine.attachment import Dut, DutError, Notification, Reply
from fcvi.engine.files import damage
from fcvi.vitcp import codec, wire
from fcvi.vitcp.numbers import Numbers, numbers_of
from fcvi.vitcp.trace import Address, TraceUnit
from fcvi.vitcp.wire import READ_REQUEST, READ_RESPONSE, WRITE

from .control import Calls, given
from .difference import Difference
from .ids import Translation
from .play import Outcome
from .recording import CallEvent, NoteEvent, ReturnEvent
from .stream_recording import PolicyEvent, StreamEvent, StreamRecording
from .stream_words import Item, Voice, shifted

_STEPS = 20  # of the clock, in the patience
_MOST = 1000  # differences
_SHORTEST = 24


def _where_apart(recorded: bytes, seen: bytes) -> tuple[str, str]:
    """Both from the first byte on that differs."""
    at = next((n for n, (a, b) in enumerate(zip(recorded, seen)) if a != b), min(len(recorded), len(seen)))
    first, second = (f"{data[at : at + 16].hex() or 'nothing'} at byte {at} of {len(data)}" for data in (recorded, seen))
    return first, second


class StreamPlayer:
    """One replay. live: the configuration of ``reset`` now."""

    def __init__(
        self, dut: Dut, recording: StreamRecording, live: Mapping[str, Any], patience_us: int, ignore: frozenset[str]
    ) -> None:
        self._dut, self._recording, self._config = dut, recording, dict(live)
        self._patience = patience_us + int(live["nop_bound_us"])
        self._ignore = frozenset(word.lower() for word in ignore)
        text = "" if recording.profile is None else recording.profile.text
        self._numbers = numbers_of(text)
        self._profile = codec.of_text(text) if text else codec.T0
        self._ids = _translation(recording.config, live)
        self._calls = Calls(self._ids, self._ignore, lambda us: us)
        self._returns = recording.returns()
        self._given = given(self._returns)
        self._open: list[tuple[CallEvent, Reply]] = []
        self._then, self._now = _Side(self._numbers), _Side(self._numbers)
        self._returned = 0  # calls of the recording whose answers were due so far
        self._answered = 0
        self._notes: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
        self._plain: dict[tuple[str, int], bytes] = {}  # by stream and first byte: PDUs of the tester as they are sent now
        self._ends: dict[str, tuple[Address, Address]] = {}  # by the name of now: the tester's end, and the device's
        self._begins: dict[tuple[str, str], int] = {}  # by stream and sender: the number of the next byte
        self.outcome = Outcome(of_streams=True)

    def run(self) -> Outcome:
        """Play. Raises DutError when the attachment fails, Unavailable when this device cannot be configured so."""
        self._dut.reset(dict(self._config))
        self._read(0)
        for event in self._recording.events:
            if isinstance(event, StreamEvent) and event.sender == "dut":
                self._then.hear(event.method, event.params)
            elif isinstance(event, StreamEvent):
                self._reach(event.time_us)
                self._send(event)
            elif isinstance(event, PolicyEvent):
                self._dut.streams(event.policy, event.unlimited)
            elif isinstance(event, CallEvent):
                self._reach(event.time_us, event)
                self._call(event)
            elif isinstance(event, ReturnEvent):
                self._returned += 1
        self._reach(self._recording.end_us)
        self._compare()
        return self.outcome

    # ---- time ----

    def _owes(self, call: Optional[CallEvent]) -> bool:
        if call is not None and self._calls.unbound(call.params, self._given):
            return bool(self._open)
        return self._answered < self._returned or self._now.behind(self._then)

    def _reach(self, target: int, call: Optional[CallEvent] = None) -> None:
        """Let time pass until the target, and on while the device owes something that had come by then."""
        self._read(0)
        while self._dut.now_us < target:
            self._read(target - self._dut.now_us)
        latest = self._dut.now_us + self._patience
        while self._owes(call) and self._dut.now_us < latest:
            self._read(max(1, min(latest - self._dut.now_us, self._patience // _STEPS)))

    def _read(self, us: int) -> None:
        self._dut.advance(us)
        while self._dut.inbox:
            note = self._dut.inbox.popleft()
            if note.method.startswith("stream."):
                self._hear(note)
            elif note.method in ("completion", "error", "state"):
                key = self._calls.note_key(note.method, note.params, False)
                self._notes.setdefault(key, []).append(note.params)
        for call, reply in [o for o in self._open if o[1].done]:
            recorded = self._returns.get(call.call)
            if recorded is not None:
                self._answered += 1
                if reply.error is None:
                    self._calls.learn(call, recorded, reply.result)
                found = self._calls.compare_return(call, recorded, reply)
                self._differ(*(d for d in found if not _same_on_the_wire(d)))
            elif reply.error is None:
                self._differ(Difference("call", call.method, "no answer", str(reply.result.get("return"))))
        self._open = [o for o in self._open if not o[1].done]

    def _differ(self, *differences: Difference) -> None:
        for one in differences:
            if one.field.lower() not in self._ignore and len(self.outcome.differences) < _MOST:
                self.outcome.differences.append(one)

    # ---- what the device says ----

    def _hear(self, note: Notification) -> None:
        try:
            pdus = self._now.hear(note.method, note.params)
        except (KeyError, TypeError, ValueError) as error:
            raise DutError(f"{note.method} broke the DUT protocol: {damage(error)}") from error
        self._draw("dut", note.method, note.params, note.time_us)
        for pdu in pdus:
            self.outcome.compared += 1
            for finding in codec.first(pdu.raw, self._profile).findings:
                if finding.cls != "notice":
                    found = Difference("finding", finding.requirement, str(finding.required), str(finding.seen),
                                       frame=len(self.outcome.frames), iu=finding.message, byte=finding.byte, bits=finding.bits)
                    self._differ(found)

    def _draw(self, sender: str, method: str, params: Mapping[str, Any], time_us: int) -> None:
        """Into the new capture."""
        name, event = str(params["stream"]), method.partition(".")[2]
        if event == "window":
            return
        if event == "open":
            ends = (_address(params["from"]), _address(params["to"]))
            self._ends[name] = ends if sender == "tester" else (ends[1], ends[0])
        data = bytes.fromhex(params["hex"]) if event == "data" else b""
        begin = self._begins.get((name, sender), 0)
        self._begins[name, sender] = begin + len(data)
        tester, device = self._ends.get(name, ((bytes(16), 0), (bytes(16), 0)))
        source, target = (tester, device) if sender == "tester" else (device, tester)
        self.outcome.frames.append(TraceUnit(
            time_us, sender, data, 0, 0, stream=name, event=str(params["how"]) if event == "close" else event, begin=begin,
            source=source, target=target, numbers=self._numbers,
        ))  # fmt: skip

    # ---- what the tester does ----

    def _call(self, event: CallEvent) -> None:
        self._open.append((event, self._dut.request(event.method, self._calls.params(event.params))))
        self.outcome.calls += 1
        self._read(0)

    def _send(self, event: StreamEvent) -> None:
        name = str(event.params["stream"])
        params: dict[str, Any] = {**event.params, "stream": self._now.named(self._then, name)}
        if event.method == "stream.open":
            params |= {end: self._calls.params(event.params[end]) for end in ("from", "to")}
            params["to"] = {**params["to"], "port": self._config["port"]}
        if event.method == "stream.data":
            data = self._outgoing(name, event.begin, bytes.fromhex(event.params["hex"]))
            params["hex"] = data.hex()
            self.outcome.sent += 1
        if params["stream"] is not None:
            self._draw("tester", event.method, params, self._dut.now_us)
            self._dut.notify(event.method, params)

    def _outgoing(self, name: str, begin: int, piece: bytes) -> bytes:
        """The piece with every number that the device chose as it chose it now."""
        whole, at, out = self._recording.sent[name], 0, bytearray(piece)
        while len(whole) - at >= _SHORTEST and at < begin + len(piece):
            _, kind, length = self._numbers.header(whole[at:])
            if kind not in wire.NAMES or length < wire.least_length(kind) or len(whole) - at < length:
                break
            if at + length > begin:
                key = (name, at)
                if key not in self._plain:
                    self._plain[key] = self._translated(name, whole[at : at + length], kind)
                first, last = max(at, begin), min(at + length, begin + len(piece))
                out[first - begin : last - begin] = self._plain[key][first - at : last - at]
            at += length
        return bytes(out)

    def _translated(self, name: str, data: bytes, kind: int) -> bytes:
        live = self._now.named(self._then, name)
        then, now = self._then.voice(name).messages(), self._now.voice(live or name).messages()
        made = bytearray(data)
        ack = int.from_bytes(data[16:20], "big")
        made[16:20] = shifted(ack, then, now).to_bytes(4, "big")
        if kind == READ_RESPONSE:
            made[12:16] = shifted(int.from_bytes(data[12:16], "big"), then, now).to_bytes(4, "big")
        if kind in (WRITE, READ_REQUEST) and len(data) >= wire.HEADER + wire.RDMA_HEADER:
            address = self._ids.virtual_address(int.from_bytes(data[24:32], "big"))
            made[24:32] = (address % wire.TOP64).to_bytes(8, "big")
            made[32:36] = self._ids.live("memory", bytes(data[32:36]))
        return bytes(made)

    # ---- the comparison ----

    def _compare(self) -> None:
        for call, _ in self._open:
            if call.call in self._returns:
                self._differ(Difference("call", call.method, "an answer", "none"))
        self._compare_streams()
        self._compare_notes()

    def _compare_streams(self) -> None:
        theirs, ours = self._then.names, self._now.names
        if len(theirs) != len(ours):
            words = (f"{len(theirs)} TCP connections", f"{len(ours)}")
            self._differ(Difference("missing" if len(ours) < len(theirs) else "additional", "", *words, iu="TCP connections"))
        for name in self._recording.streams():
            live = self._now.named(self._then, name)
            if live is not None:
                self._compare_voice(name, self._then.voice(name), self._now.voice(live))

    def _compare_voice(self, name: str, then: Voice, now: Voice) -> None:
        for before, after in zip(then.items, now.items):
            self._differ(*self._item(name, before, after))
        for missed in then.items[len(now.items) :]:
            self._differ(Difference("missing", "", f"{missed.name} on {name}", "none", iu=missed.name))
        for more in now.items[len(then.items) :]:
            self._differ(Difference("additional", "", "none", f"{more.name} on {name}", iu=more.name))
        if bool(then.rubbish) != bool(now.rubbish):
            self._differ(Difference("field", "PDU", "PDUs", "bytes that are none" if now.rubbish else "PDUs", iu=name))
        if then.ended != now.ended:
            words = ("open", "closed")
            self._differ(Difference("field", "end of TCP", words[then.ended], words[now.ended], iu=name))
        if then.last is not None and now.last is not None:
            pairs = (
                ("Rx Descriptors Posted", then.last.rx, now.last.rx), ("VI Error Type", then.last.error, now.last.error),
                ("IS Error Code", then.last.is_code, now.last.is_code),
            )  # fmt: skip
            last = f"the last PDU on {name}"
            self._differ(*(Difference("field", what, str(a), str(b), iu=last) for what, a, b in pairs if a != b))

    def _item(self, name: str, before: Item, after: Item) -> list[Difference]:
        if before.kind != after.kind:
            return [Difference("field", "Type", before.name, after.name, iu=f"PDU on {name}")]
        found = []
        for what in {**before.fields, **after.fields}:
            recorded, seen = before.fields.get(what), after.fields.get(what)
            if recorded != seen:
                found.append(Difference("field", what, str(recorded), str(seen), iu=before.name, structure=name))
        if before.payload != after.payload:
            apart = _where_apart(before.payload, after.payload)
            found.append(Difference("field", "payload", *apart, iu=before.name, structure=name))
        if before.whole != after.whole:
            found.append(Difference("field", "End of Message", str(before.whole), str(after.whole), iu=before.name, structure=name))
        return found

    def _compare_notes(self) -> None:
        states = any(key[0] == "state" for key in self._notes)
        for event in self._recording.events:
            if not isinstance(event, NoteEvent) or (event.method == "state" and not states):
                continue
            left = self._notes.get(self._calls.note_key(event.method, event.params, True))
            if not left:
                self._differ(Difference("note", event.method, str(event.params)[:120], "none"))
                continue
            self._differ(*self._calls.compare_note(event, left.pop(0)))
        known = any(isinstance(e, NoteEvent) and e.method == "state" for e in self._recording.events)
        for key, left in self._notes.items():
            if key[0] != "state" or known:
                self._differ(*(Difference("note", str(key[0]), "none", str(params)[:120]) for params in left))


class _Side:
    """The streams of a run as the device has had them."""

    def __init__(self, numbers: Numbers) -> None:
        self.names: list[str] = []  # of those that the device has opened, in their order
        self._numbers = numbers
        self._voices: dict[str, Voice] = {}

    def voice(self, name: str) -> Voice:
        """What the device says on this stream."""
        return self._voices.setdefault(name, Voice(self._numbers))

    def named(self, then: _Side, name: str) -> Optional[str]:
        """What a stream of the recording is called now; None when the device has not opened it."""
        if name not in then.names:
            return name
        index = then.names.index(name)
        return self.names[index] if index < len(self.names) else None

    def hear(self, method: str, params: Mapping[str, Any]) -> list[wire.Pdu]:
        """A notification of the device; the PDUs that are whole now."""
        name = str(params["stream"])
        if method == "stream.open":
            self.names.append(name)
        elif method == "stream.data":
            return self.voice(name).hear(bytes.fromhex(params["hex"]))
        elif method in ("stream.close", "stream.refused"):
            self.voice(name).ended = True
        return []

    def behind(self, then: _Side) -> bool:
        """Whether the device has said less than it had by now in the recording."""
        if len(self.names) < len(then.names):
            return True
        for name, before in then._voices.items():
            live = self.named(then, name)
            now = self.voice(live) if live is not None else None
            if now is not None and (now.count() < before.count() or (before.ended and not now.ended)):
                return True
        return False


_RELIABLE = {"VIP_SERVICE_RELIABLE_DELIVERY", "VIP_SERVICE_RELIABLE_RECEPTION"}


def _same_on_the_wire(difference: Difference) -> bool:
    """The Reliable flag of Calling Attributes does not tell Delivery from Reception (3.2), so a device may take either."""
    return difference.field.endswith("RemoteViAttribs.ReliabilityLevel") and {difference.recorded, difference.seen} <= _RELIABLE


def _address(end: Mapping[str, Any]) -> Address:
    return bytes.fromhex(end["host"]), int(end["port"])


def _translation(recorded: Mapping[str, Any], live: Mapping[str, Any]) -> Translation:
    ids = Translation()
    for before, now in ((recorded, live), (recorded["peer"], live["peer"])):
        for host, host_now in zip(before["host"], now["host"]):
            ids.bind(bytes.fromhex(host_now), "host", bytes.fromhex(host))
    return ids
