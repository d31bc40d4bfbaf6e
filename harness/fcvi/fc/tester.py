"""The lower tester: a port of ours on the wire that sends what a case says and takes in what the DUT sends.

It misbehaves when told to; nothing here decides whether the DUT is right except the codec's strict decoding and
the monitor, which follows every frame of both sides and whose findings about the DUT's frames count.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from random import Random
from typing import Any, Callable, Collection, Mapping, Optional

from . import build, class2, codec, els, notation, rev1
from fcvi.engine.attachment import Dut, DutError, Notification
from fcvi.engine.own_part import OwnPart
from .device_timers import DeviceTimers
from .second_port import SecondPort
from .faults import Link
from .monitor import WHOLE, Monitor
from fcvi.engine.pixit import Pixit
from .received import Exchange, Received, check_addresses, kind_of
from fcvi.engine.results import Finding, TraceFrame
from .services import Services

_END_SEQUENCE = 0x08  # F_CTL bit 19, in byte 9 of the header


class Tester:
    """One port of the tester, connected to the DUT by a link that a case can make faulty."""

    def __init__(
        self, dut: Dut, pixit: Pixit, config: Mapping[str, Any], rng: Random, own: Optional[OwnPart] = None
    ) -> None:
        """own: measures what the suite itself takes of the device's time; None: it is told afterwards, if at all."""
        self.dut = dut
        self._timers = DeviceTimers(own, config) if own is not None else None
        self.link = Link()
        self.trace: list[TraceFrame] = []
        self.inbox: list[Received] = []
        self.findings: list[Finding] = []
        self.far_findings: list[Finding] = []  # about the frames of a second device, which is not the judged one
        self.after_a_breach: list[Finding] = []  # of the findings those that hold between frames, once a second device broke a rule
        self._far_sent: set[bytes] = set()  # frames of a second device
        self._far_repeats = False  # it has sent one of them twice, which may be answered twice
        self.monitor = Monitor(WHOLE, exchanges=256, endpoints=128, r_a_tov_us=pixit.r_a_tov_us)
        self.receive_size = int(config["receive_size"])
        self.service_class = int(config["class"])
        self.edition = codec.EDITION[str(config.get("revision", "2007"))]
        self._delimiters = class2.Delimiters(self.service_class)
        self._counts: dict[int, int] = {}  # of Rev 1.0: by the DUT's handle, how many Messages went there (6.10)
        self.r_a_tov_us = pixit.r_a_tov_us
        #: What acknowledges a class 2 frame; a case may send something else, or nothing (None).
        self.acknowledge: Callable[[codec.Frame, Exchange], Optional[build.RawFrame]] = _ack_1
        self.judged: dict[str, int] = {}  # how many frames of the DUT the codec judged, by IU
        self.answered = 0  # frames of the DUT that the tester answered by itself: ACK, ELS or CT reply
        #: Alters what the tester sends, as the last thing before the wire: a case sets it.
        self.rewrite: Optional[Callable[[build.RawFrame], build.RawFrame]] = None
        self.meaningless: Mapping[str, int] = {}  # header fields of IUs without payload that nobody may look at (3.4)
        self.n_port_id = int(config["peer"]["n_port_id"], 16)
        #: N_Port Identifiers on the tester's side to which the DUT may send: a case adds and removes ports.
        self.ports = {self.n_port_id}
        self.dut_id = int(config["n_port_id"], 16)
        self.monitor.name(self.n_port_id, self.dut_id, int(config["peer"]["port_name"], 16))
        self.monitor.name(self.dut_id, self.n_port_id, int(config["port_name"], 16))
        self.services = Services(self, config)
        self.second_port: Optional[SecondPort] = None  # the second arrangement: it answers instead of the tester
        self.uses_rx_ids = True  # without, a responder leaves FFFFh, and OX_ID names its Exchanges (FC-FS)
        self._exchanges: dict[tuple[str, int], Exchange] = {}
        self._sequences: dict[tuple[str, int, int], list[tuple[int, codec.Frame]]] = {}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._event_number = 0
        self._held: dict[str, list[Callable[[], None]]] = {"dut": [], "tester": []}
        self.next_ox_id = rng.randrange(0x1000, 0x7000)
        self.next_rx_id = rng.randrange(0x8000, 0xF000)
        self._next_seq_id = rng.randrange(0, 0x80)

    # ---- sending ----

    def open_exchange(self, ox_id: Optional[int] = None, port: Optional[int] = None) -> Exchange:
        """A new Exchange that the tester originates, from another of its ports when one is given."""
        if ox_id is None:
            ox_id, self.next_ox_id = self.next_ox_id, (self.next_ox_id + 1) % build.X_ID_UNASSIGNED
        exchange = Exchange("tester", ox_id, port=self.n_port_id if port is None else port)
        self._exchanges[("tester", ox_id)] = exchange
        return exchange

    def assign_rx_id(self, exchange: Exchange) -> None:
        """As responder, give the Exchange an RX_ID of the tester's, unless it has one."""
        if exchange.rx_id != build.X_ID_UNASSIGNED or not self.uses_rx_ids:
            return
        exchange.rx_id, self.next_rx_id = self.next_rx_id, (self.next_rx_id + 1) % build.X_ID_UNASSIGNED

    def envelope(self, exchange: Exchange, fc: Optional[Mapping[str, int]] = None) -> build.Envelope:
        """The next Sequence of the tester on this Exchange."""
        self._next_seq_id = (self._next_seq_id + 1) & 0xFF
        return build.Envelope(
            d_id=self.dut_id,
            s_id=exchange.port,
            ox_id=exchange.ox_id,
            rx_id=exchange.rx_id,
            seq_id=self._next_seq_id,
            seq_cnt=exchange.tester_cnt,
            offset=exchange.tester_offset,
            service_class=self.service_class,
            receive_size=self.receive_size,
            fc=fc or {},
        )

    def send_iu(
        self,
        name: str,
        exchange: Exchange,
        dh: Mapping[str, int],
        payload: bytes = b"",
        fc: Optional[Mapping[str, int]] = None,
        note: str = "",
    ) -> None:
        """Send one IU on the Exchange; fc sets header fields differently from what is right."""
        if self.meaningless and not payload:
            fc = {**self.meaningless, **(fc or {})}
        frames = self.frames_of(name, exchange, self.envelope(exchange, fc), dh, payload)
        exchange.tester_cnt = (exchange.tester_cnt + len(frames)) & 0xFFFF
        exchange.tester_offset = (exchange.tester_offset + len(payload)) & 0xFFFFFFFF
        for frame in frames:
            self.send_frame(frame, note)

    def frames_of(
        self, name: str, exchange: Exchange, envelope: build.Envelope, dh: Mapping[str, int], payload: bytes
    ) -> list[build.RawFrame]:
        """The frames of one IU in the edition of the run. Rev 1.0 takes the fields of 2007 as well (rev1.py)."""
        if self.edition:
            payload = rev1.payload(name, payload) if "FCVI_HANDLE" in dh else payload
            dh = rev1.device_header(name, dh)
            dh = rev1.with_message_id(name, dh, exchange.asked, self._counts)
        return build.iu_frames(name, envelope, dh, payload, self.edition)

    def send_abts(self, exchange: Exchange) -> None:
        """Abort the Exchange."""
        self.send_frame(build.abts(self.envelope(exchange), responder=exchange.originator == "dut"))

    def send_ba_acc(self, abts: Received) -> None:
        """Accept the DUT's ABTS, whichever Exchange it names."""
        envelope = self.envelope(abts.exchange)
        envelope.seq_cnt, envelope.ox_id, envelope.rx_id = 0, abts.fc("OX_ID"), abts.fc("RX_ID")
        self.send_frame(build.ba_acc(envelope, responder=not abts.fc("Exchange_Context")))

    def send_els(
        self,
        command: int,
        body: bytes = b"",
        fc: Optional[Mapping[str, int]] = None,
        port: Optional[int] = None,
        service_class: Optional[int] = None,
    ) -> Exchange:
        """An ELS of one of the tester's ports in an Exchange of its own; fc sets header fields differently."""
        exchange = self.open_exchange(port=port)
        envelope = self.envelope(exchange, fc)
        envelope.service_class = service_class or self.service_class
        make = els.announcement if command == els.FARP_REQ else els.request
        self.send_frame(make(envelope, command, body))
        return exchange

    def in_class_2(self, received: Received) -> bool:
        """Whether the DUT sent this in class 2."""
        return class2.is_class2(self.trace[received.numbers[0] - 1].sof, self.service_class)

    def send_frame(self, frame: build.RawFrame, note: str = "") -> None:
        """Send any frame, through the link's rules."""
        if self.rewrite is not None:
            frame = self.rewrite(frame)
        # what it is matters to the link's rules only
        kind = kind_of(self.decoded(frame)) if self.link.watches("tester") else ""
        entry = self._record("tester", frame, note)
        if self.second_port is not None and self.second_port.lent:
            self._judge_far(frame, entry)
        elif self.edition:
            self.monitor.frame(self.decoded(frame, checksum=True), len(self.trace), entry.time_us)
        else:
            self.monitor.follow(frame.data, (frame.sof, frame.eof, frame.crc_ok), len(self.trace), entry.time_us)
        self._through_link("tester", kind, entry, lambda: self._deliver(frame))

    def _judge_far(self, frame: build.RawFrame, entry: TraceFrame) -> None:
        """A frame of the second device. It is judged, so that what the DUT does next is not taken for the DUT's own breach."""
        view, number = self.decoded(frame, checksum=True), len(self.trace)
        breaches = self.monitor.frame(view, number, entry.time_us)
        entry.findings = [replace(f, frame=number, time_us=entry.time_us) for f in (*view.findings, *(b.finding for b in breaches))]
        self.far_findings += [f for f in entry.findings if f.cls != "notice"]
        self._far_repeats |= frame.data in self._far_sent
        self._far_sent.add(frame.data)

    def _deliver(self, frame: build.RawFrame) -> None:
        self.dut.send_frame(frame)
        if self._timers is not None and len(frame.data) >= build.HEADER:
            view = self.decoded(frame)
            originator = "dut" if view.header("Exchange_Context") else "tester"
            self._timers.sent(view, (originator, view.header("OX_ID")), self.dut.now_us)

    def retell(self, timers: DeviceTimers) -> None:
        """Tell these timers of all frames that were not lost."""
        for entry in self.trace:
            if entry.lost or len(entry.data) < build.HEADER:
                continue
            view = codec.decode(entry.data, entry.sof, entry.eof, edition=self.edition)
            originator = entry.sender if not view.header("Exchange_Context") else "dut" if entry.sender == "tester" else "tester"
            key = (originator, view.header("OX_ID"))
            if entry.sender == "tester":
                timers.sent(view, key, entry.time_us)
            else:
                timers.came(view, key, entry.time_us, class2.is_class2(entry.sof, self.service_class))

    def relay(self, frame: build.RawFrame) -> None:
        """A frame of the second port: what the DUT answers to it is followed as if the tester had sent it."""
        view = self.decoded(frame)
        ox_id = view.header("OX_ID")
        opens = not view.header("Exchange_Context") and view.header("First_Sequence")
        if opens and view.kind != "link_control" and view.header("SEQ_CNT") == 0:
            self.open_exchange(ox_id)
        self.answered += 1
        self.send_frame(frame)

    # ---- receiving ----

    def decoded(self, frame: build.RawFrame, checksum: bool = False) -> codec.Frame:
        """A frame, read by the tables of the edition of the run."""
        crc = (codec.CRC_OK if frame.crc_ok else codec.CRC_BAD) if checksum else codec.CRC_ABSENT
        return codec.decode(frame.data, frame.sof, frame.eof, crc, edition=self.edition)

    def take_in(self, notification: Notification) -> None:
        """A ``frame`` notification of the DUT."""
        raw = notification.frame or self._parse(notification.params)
        view = self.decoded(raw, checksum=True)
        entry = self._record("dut", raw, "")
        if len(raw.data) >= build.HEADER:
            sof, eof = self._delimiters.of(raw.data)  # of each frame: a device may tell some, and a later one follows from those
            entry.sof, entry.eof = raw.sof or sof, raw.eof or eof
        entry.time_us = notification.time_us
        number = len(self.trace)
        breaches = self.monitor.frame(view, number, notification.time_us)
        if view.findings or breaches:
            entry.findings = [replace(f, frame=number, time_us=notification.time_us) for f in view.findings]
            between = [replace(b.finding, time_us=notification.time_us) for b in breaches]
            self._note_between(between)
            entry.findings += between
            self.findings.extend(entry.findings)
        if view.iu is not None:
            self.judged[view.iu] = self.judged.get(view.iu, 0) + 1
        kind = kind_of(view)
        if kind == "MALFORMED":
            return
        exchange = self._exchange_of(view, kind)
        self._note_exchange(view, exchange, entry, number)
        if self._timers is not None:
            key = (exchange.originator, exchange.ox_id)
            self._timers.came(view, key, notification.time_us, class2.is_class2(entry.sof, self.service_class))

        def arrive() -> None:
            self._assemble(view, exchange, number, kind, notification)
            if self.second_port is not None:
                self.second_port.receive(raw)

        self._through_link("dut", kind, entry, arrive)

    @property
    def waits(self) -> bool:
        """Whether the link holds a frame back, or a second port may send one by itself."""
        return bool(self._events) or self.second_port is not None

    def run_events(self, now_us: int) -> bool:
        """Deliver what the link delayed until now; true when something was delivered."""
        ran = False
        while self._events and self._events[0][0] <= now_us:
            heapq.heappop(self._events)[2]()
            ran = True
        return (self.second_port is not None and self.second_port.run_until(now_us)) or ran

    def next_event_us(self) -> Optional[int]:
        """When the link delivers its next delayed frame, or a timer of the second port fires."""
        times = [self._events[0][0]] if self._events else []
        due = self.second_port.next_us() if self.second_port is not None else None
        return min([*times, due] if due is not None else times, default=None)

    def flush(self) -> None:
        """Deliver frames held for reordering that no later frame has released."""
        for held in self._held.values():
            while held:
                held.pop(0)()

    def close(self) -> None:
        """The case is over; what is left is what it saw. What refers to each other in circles lets go."""
        self.monitor.close()
        self.acknowledge = _ack_1
        self.rewrite = None
        self.services.handlers.clear()
        del self.services
        if self.second_port is not None:
            self.second_port.close()
            self.second_port = None

    # ---- inside ----

    def _record(self, sender: str, frame: build.RawFrame, note: str) -> TraceFrame:
        entry = TraceFrame(self.dut.now_us, sender, frame.data, frame.sof, frame.eof, frame.crc_ok, False, note)
        self.trace.append(entry)
        return entry

    def _through_link(
        self, sender: str, kind: str, entry: TraceFrame, deliver: Callable[[], None]
    ) -> None:
        rule = None
        if self.link.has_rules:
            rule = self.link.judge(sender, kind, ends=bool(entry.data[9] & _END_SEQUENCE))
        if rule is None:
            deliver()
            if self._held[sender]:
                held, self._held[sender] = self._held[sender], []
                for release in held:
                    release()
        elif rule.action == "drop":
            entry.lost = True
            entry.note = "lost on the way"
        elif rule.action == "delay":
            entry.note = f"delivered {rule.delay_us} us late"
            self._event_number += 1
            due = self.dut.now_us + rule.delay_us
            heapq.heappush(self._events, (due, self._event_number, deliver))
        else:
            entry.note = "delivered after the next frame"
            self._held[sender].append(deliver)

    def _parse(self, params: dict[str, Any]) -> build.RawFrame:
        try:
            return notation.from_params(params)
        except ValueError as error:
            raise DutError(f"frame notification broke the DUT protocol: {error}") from error

    def _exchange_of(self, view: codec.Frame, kind: str) -> Exchange:
        """The Exchange a DUT frame belongs to; F_CTL bit 23 says who originated it."""
        ox_id = view.header("OX_ID")
        originator = "tester" if view.header("Exchange_Context") else "dut"
        key = (originator, ox_id)
        known = self._exchanges.get(key)
        first = view.header("First_Sequence") or (self.edition and kind == "DISCONNECT_RQST")  # R23 of 1999
        starts = originator == "dut" and first and kind in codec.IUS
        # without payload the Parameter field says nothing of where the frame belongs (E19)
        starts = starts and view.header("SEQ_CNT") == 0 and (not view.payload or view.header("Parameter") == 0)
        starts = starts and (known is None or 0 not in known.refused)
        port = view.header("D_ID")
        # an Exchange of a link service may have had the OX_ID before, with another port
        elsewhere = known is not None and known.dut_cnt is None and port in self.ports and port != known.port
        if known is None or (starts and (elsewhere or known.dut_cnt not in (None, 0))):
            known = self._exchanges[key] = Exchange(originator, ox_id, port=port if port in self.ports else self.n_port_id)
        return known

    def _note_exchange(self, view: codec.Frame, exchange: Exchange, entry: TraceFrame, number: int) -> None:
        rx_id = view.header("RX_ID")
        if exchange.originator == "tester" and rx_id != build.X_ID_UNASSIGNED:
            exchange.rx_id = rx_id
        found = []
        if view.kind in ("iu", "bls"):
            found = check_addresses(view, number, self.dut_id, exchange.port, entry.time_us)
        if view.kind == "iu":
            exchange.count(view)
        if found:
            self._note_between(found)
            entry.findings.extend(found)
            self.findings.extend(found)

    def _note_between(self, found: list[Finding]) -> None:
        """What was found holds between this frame and others: those of a second device that broke a rule may be its cause."""
        if self.far_findings or self._far_repeats:
            self.after_a_breach += found

    def _assemble(
        self, view: codec.Frame, exchange: Exchange, number: int, kind: str, arrived: Notification
    ) -> None:
        if not self._intact(number):
            return
        if not self._acknowledge(view, exchange, number):
            return
        seq_id = view.header("SEQ_ID")
        numbers, frames, payload = [number], [view], view.payload
        if view.kind == "iu":
            key = (exchange.originator, exchange.ox_id, seq_id)
            if not view.header("End_Sequence"):
                self._sequences.setdefault(key, []).append((number, view))
                return
            before = self._sequences.pop(key, None)
            if before is not None:
                numbers, frames = [*(n for n, _ in before), number], [*(v for _, v in before), view]
                payload = b"".join(v.payload for v in frames)
        began = min(arrived.earliest_us, self.trace[numbers[0] - 1].time_us)
        received = Received(kind, numbers, frames, exchange, arrived.time_us, arrived.earliest_us, payload, began_us=began)
        connects = kind in ("CONNECT_RQST", "CONNECT_RESP1") and not self.edition  # Rev 1.0 has them in one frame (6.7)
        if len(frames) > 1 and connects and all(part.iu == kind for part in frames):
            self._check_connect(received)
        if self.edition and view.kind == "iu" and view.iu is not None:
            exchange.asked = received.dh("VI_MSG_ID")
        self.inbox.append(received)
        if self.second_port is None:
            self.services.answer(received)

    def last_part(self, kinds: Collection[str], exchange: Optional[Exchange]) -> int:
        """When the last frame came of an IU of these kinds whose last frame has not come yet; -1: none is under way."""
        parts = [p for key, p in self._sequences.items() if exchange is None or key[:2] == (exchange.originator, exchange.ox_id)]
        return max((self.trace[p[-1][0] - 1].time_us for p in parts if kind_of(p[-1][1]) in kinds), default=-1)

    def _acknowledge(self, view: codec.Frame, exchange: Exchange, number: int) -> bool:
        """Answer a class 2 frame; false when the answer says that the frame was not taken (busy, reject)."""
        if self.second_port is not None or view.kind == "link_control":
            return True
        if not class2.is_class2(self.trace[number - 1].sof, self.service_class):
            return True
        if exchange.originator == "dut" and exchange.rx_id == build.X_ID_UNASSIGNED:
            self.assign_rx_id(exchange)
        ack = self.acknowledge(view, exchange)
        if ack is None:
            return True
        self.answered += 1
        self.send_frame(ack)
        if not class2.refuses(ack):
            return True
        exchange.refused.add(view.header("SEQ_CNT"))
        return False

    def _intact(self, number: int) -> bool:
        """FC-2 drops a frame with a bad CRC or an EOF that says it is invalid."""
        entry = self.trace[number - 1]
        return entry.crc_ok and entry.eof in (0, build.EOF_N, build.EOF_T)

    def _check_connect(self, received: Received) -> None:
        """A connect payload that came in several frames (E44) is checked when it is whole."""
        whole = codec.Assembly()
        for part in received.frames:
            whole.add(part)
        found = whole.check()
        entry = self.trace[received.numbers[-1] - 1]
        located = [replace(f, frame=received.numbers[-1], time_us=received.time_us) for f in found]
        entry.findings.extend(located)
        self.findings.extend(located)


def _ack_1(view: codec.Frame, exchange: Exchange) -> build.RawFrame:
    return class2.ack_1(view, exchange.rx_id)
