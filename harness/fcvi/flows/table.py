"""The table of Connections: how each was set up, what became of it, and which frames show it."""

from __future__ import annotations

from struct import Struct

from _fcvi import ffi, lib

from fcvi.capture.limits import Limits

from . import edition, fip, notices, words
from . import scan as why
from .names import FC_VI, IU
from .scan import NONE, Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional

    from fcvi.capture.scan import Order

_ODD = why.FAILED | why.GAP | why.LATE | why.AGAIN | why.SKIP | why.LATE_MSG | why.UNASKED
_CONTROL = why.CONTROL | why.DAMAGED
MOST_STEPS = 400  # control frames and odd Messages that are kept of a Connection
_MOST_EVENTS = 4000  # of all ports together
_PARTS = 4096  # connect IUs under way at once
_REORDERED_US = 1_000_000  # frames of an IU are no farther apart
_RACE_US = 1000  # two directions of a tap, each of a core of its own, may change places so near
_RECENT, _RECENT_US = 256, 200_000  # control frames that are known again, and for how long
_ELS = {
    0x01: "LS_RJT", 0x02: "LS_ACC", 0x03: "PLOGI", 0x04: "FLOGI", 0x05: "LOGO", 0x12: "RRQ", 0x50: "PDISC", 0x51: "FDISC",
    0x52: "ADISC", 0x54: "FARP-REQ", 0x55: "FARP-REPLY", 0x60: "FAN", 0x61: "RSCN", 0x62: "SCR", 0x20: "PRLI", 0x21: "PRLO",
    0x13: "REC", 0x16: "FPIN", 0x18: "RDP",
}  # fmt: skip
_PORT_NAMES = {"PLOGI": (44, 8), "LOGO": (32, 8)}  # where they have that of their sender
_BLS = {0x80: "NOP", 0x81: "ABTS", 0x82: "RMC", 0x84: "BA_ACC", 0x85: "BA_RJT", 0x86: "PRMT"}
_LINK = {
    0xC0: "ACK_1", 0xC1: "ACK_0", 0xC2: "P_RJT", 0xC3: "F_RJT", 0xC4: "P_BSY", 0xC5: "F_BSY", 0xC6: "F_BSY", 0xC7: "LCR",
}  # fmt: skip
_ACKS = (0xC0, 0xC1)
_LOGINS = frozenset(("LOGO", "PRLO", "PLOGI", "LS_ACC", "LS_RJT"))
_WITH_STATUS, _CONNECT_RQST, _DISCONNECT_RQST = frozenset((0x18, 0x19, 0x1A, 0x12, 0x1B)), 0x10, 0x12
_WITH_PAYLOAD = frozenset((0x10, 0x18))
_CONNECT_RESPS = frozenset(("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3"))
_BEFORE = {"CONNECT_RESP2": "CONNECT_RESP1", "CONNECT_RESP3": "CONNECT_RESP2"}
_RETRY_BIT = {0x10: 4, 0x18: 2, 0x19: 2, 0x1A: 2}  # of FCVI_FLAGS, by opcode
_SENT, _ANSWERED = 2, 3  # enum fcvi_flow_state
_MOST_STRANGE = 16  # frames with another revision that are kept
_DH16 = 1  # DF_CTL: the Device_Header has 16 bytes, as Rev 1.0 has it in all IUs that are no Messages
_LEVELS = {1: "Unreliable Delivery", 2: "Reliable Delivery", 3: "Reliable Reception"}
_F_PORT, _ELS_TYPE = 0xFFFFFE, 0x01
_FC_MAP = 0x0EFC00  # the first bytes of an address that the Fabric provides (FC-BB)
_WORD = Struct(">I").unpack_from
_HEADER, _ID = Struct(">II8xHH").unpack_from, 0xFFFFFF  # of a Frame_Header: D_ID, S_ID, OX_ID, RX_ID
_FIXED = 336  # bytes of a Connect payload that are read: addresses and attributes


def number(data: bytes, at: int, size: int) -> int:
    """A field of a frame."""
    return int.from_bytes(data[at : at + size], "big")


class Step:
    """A frame that the table keeps. sender, target: N_Port_ID; what: the fields that the name does not say.

    by_responder: its sender is the Exchange Responder; without that an OX_ID names two Exchanges, one of each port. ox_id NONE:
    not known.
    """

    __slots__ = ("number", "time_us", "sender", "target", "name", "ox_id", "rx_id", "what", "by_responder")

    def __init__(
        self, number: int, time_us: int, sender: int, target: int, name: str, ox_id: int, rx_id: int,
        what: Optional[dict[str, Any]] = None, by_responder: bool = False,
    ) -> None:  # fmt: skip
        self.number, self.time_us, self.sender, self.target = number, time_us, sender, target
        self.name, self.ox_id, self.rx_id = name, ox_id, rx_id
        self.what: dict[str, Any] = {} if what is None else what
        self.by_responder = by_responder

    @property
    def originator(self) -> int:
        """N_Port_ID of who began the Exchange."""
        return self.target if self.by_responder else self.sender

    def is_of(self, other: Step) -> bool:
        """Whether both are of one Exchange."""
        return self.ox_id == other.ox_id and self.originator == other.originator and self.ports == other.ports

    @property
    def ports(self) -> set[int]:
        """The N_Port_IDs of both."""
        return {self.sender, self.target}

    def words(self) -> str:
        """One line, with numbers and names as `fcvi decode` has them."""
        return words.line(self)


class Flow:
    """One Connection. Side 0 asked for it, or sent the first frame seen."""

    def __init__(self, index: int, network: int, ids: tuple[int, int]) -> None:
        self.index, self.network, self.ids = index, network, ids
        self.mode = "not known"  # client-server, peer
        self.addresses: list[Optional[tuple[str, bytes]]] = [None, None]
        self.level = 0
        self.sizes: list[Optional[int]] = [None, None]
        self.connection_ids: list[int] = []
        self.state = "open"  # asked, answered, confirmed, open, closing, closed
        self.ended = ""  # how, in a word of ENDS; empty: not at all
        self.ended_by: Optional[int] = None  # N_Port_ID of who asked for the end, where a frame says so
        self.reason: Optional[int] = None  # Table 12
        self.setup_seen = False
        self.setup_us: Optional[int] = None  # from the latest request to FCVI_CONNECT_RESP3
        self.asked_us = self.first_us = self.first = self.last_us = self.last = self.retries = 0
        self.steps: list[Step] = []
        self.steps_left_off = 0
        self.unanswered: list[dict[str, int]] = []  # number, id, time_us, ox_id, side, iu, whole
        self.unanswered_count = 0
        self.in_part: list[dict[str, int]] = []  # likewise: the latest request of a side, a Read of whose data the end is missing
        self.findings: dict[tuple[str, str, str], int] = {}
        self.yielded = False  # refused, and the setup of the other Peer took its place (5.3.3)
        self.final = False  # the C table has forgotten what is under way
        self.port_names: tuple[int, int] = (0, 0)  # of both, as logins before it showed them
        self.is_1999 = False  # of Rev 1.0
        self.said: Optional[int] = None  # the reason as Rev 1.0 numbers it (its Table 10)

    @property
    def confirmation(self) -> str:
        """The IU that ends its setup."""
        return "CONNECT_RESP2" if self.is_1999 else "CONNECT_RESP3"

    def is_of(self, ident: int, port_name: int) -> bool:
        """Whether the port with this N_Port_ID may be one of its own: another Port_Name is that of another port, as in captures of
        several Fabrics."""
        if ident not in self.ids:
            return False
        known = self.port_names[self.ids.index(ident)]
        return not known or not port_name or known == port_name

    def add(self, step: Step) -> None:
        """Keep a frame, which belongs to it."""
        if len(self.steps) < MOST_STEPS:
            self.steps.append(step)
        else:
            self.steps_left_off += 1
        if not self.first:
            self.first, self.first_us = step.number, step.time_us
        self.last, self.last_us = step.number, step.time_us

    def named(self, *names: str) -> list[Step]:
        """The frames of these names."""
        return [s for s in self.steps if s.name in names]


#: How a Connection can end. The word "open" stands for one that was there when the capture ended.
ENDS = (
    "open", "disconnected", "refused", "timed out", "aborted", "lost by logout", "lost by link event", "setup not finished",
    "failed",
)  # fmt: skip


class File:
    """A file that was read. clock: records that are late, by how much at most, the longest pause; orphans: answers before or
    without their questions; answers: the others; span: when its first and its latest record came, none without a record."""

    def __init__(self, path: str, is_file: bool, clock: tuple[int, int, int], orphans: int, answers: int) -> None:
        self.path, self.is_file, self.clock, self.orphans, self.answers = path, is_file, clock, orphans, answers
        self.span: Optional[tuple[int, int]] = None


class Table:
    """All Connections of the captures that are taken in."""

    def __init__(self, r_a_tov_us: int = 0, monitor: bool = True, limits: Optional[Limits] = None, edition: str = "auto",
                 dumps: Optional[dict[str, str | Exception]] = None) -> None:  # fmt: skip
        self.scan, self.limits = Scan(r_a_tov_us, monitor, limits, edition, dumps), limits or Limits()
        self.flows: dict[int, Flow] = {}
        self.names: dict[tuple[int, int], int] = {}  # Port_Name of an N_Port_ID of a network
        self._idents: dict[tuple[int, int], int] = {}  # and the other way
        self._moves: list[tuple[Step, int]] = []  # where a Port_Name got another N_Port_ID, and which it had
        self._moved: list[tuple[Flow, str, Step]] = []  # what that ended, in which state it was
        self.events: list[Step] = []  # frames of no Connection alone: logins, busy, reject, damage
        self.heard: set[int] = set()  # ports of which any frame is here, once causes are asked for
        self.counts: dict[str, int] = {}  # of such frames, by name
        self.r_a_tov_us: Optional[int] = r_a_tov_us or None
        self.e_d_tov_us: Optional[int] = None
        self.strange: list[Step] = []  # IUs of another revision than their ports speak; the first ones
        self.speak_old: set[tuple[int, int]] = set()  # sender and target of IUs of Rev 1.0 of 1999 that are no Messages
        self.speak_new: set[int] = set()  # senders of such IUs of 2007
        self.first_us: Optional[int] = None
        self.last_us = 0
        self.begin_us = -1  # of the first record that is looked at
        self._setups: dict[tuple[int, int, int, int], Flow] = {}  # network, originator, responder, OX_ID
        self._asked: dict[tuple[int, int, int, int], Flow] = {}  # network, originator, responder, its FCVI_HANDLE
        self._parts: dict[tuple[int, ...], tuple[Step, bytes]] = {}  # connect IUs under way
        self._ends: dict[tuple[int, ...], tuple[Step, bytes]] = {}  # parts of such IUs whose beginning was not seen
        self._els: dict[tuple[int, int, int], str] = {}  # request of an Exchange: originator, responder, OX_ID
        self._flogi: dict[tuple[int, int, int], int] = {}  # Port_Name of a FLOGI: network, target, OX_ID
        self._recent: dict[tuple[int, bytes], int] = {}  # control frames and when they came
        self._older: dict[tuple[int, bytes], int] = {}  # those before, of which there are as many
        self._doubles = 0
        self.unasked: list[Step] = []  # answers to link services that were not seen, though the capture had begun long before
        self.blur_us = 0  # by how much two clocks of the capture differed
        self.is_sorted = False  # a file was not in the order of its times, in which its records are taken
        self.lacking: Any = None  # what explain found that the capture lacks
        self.clears: list[tuple[int, Step]] = []  # FIP Clear Virtual Links of a network
        self.alive = fip.Alive()
        self.stations: dict[int, set[int]] = {}  # N_Port_IDs of the Ethernet address that logged in by FIP
        self._asked_by: dict[int, int] = {}  # Ethernet address of a login by FIP, by its OX_ID
        self.files: list[File] = []
        self.times: dict[str, list[tuple[int, Optional[set[int]]]]] = {}  # of files that were looked at for a standstill
        self.said: list[str] = []  # of the clocks and the order of the files, a sentence each
        self.orphans = self.pairs = 0  # answers without a question before them, and others, of control frames
        self.findings: dict[tuple[str, str, str], int] = {}

    @property
    def has_times(self) -> bool:
        """Whether the records have times of their own: a text has none, and what converts it counts them by microseconds."""
        return not self.files or self.scan.tally.records < 4 or any(file.clock[2] > 1 for file in self.files)

    # ---- taking in ----

    def take(self, path: str, order: Optional[Order] = None) -> None:
        """One more file. Raises ScanError."""
        record, before = self._record, (self.orphans, self._answers())
        so_far, self.last_us, self.begin_us = (self.last_us, self.begin_us), 0, -1
        try:
            for _ in self.scan.take(path, order):
                record()
        finally:
            scan = self.scan
            self.last_us = max(self.last_us, scan.heard_us)
            file = File(path, scan.is_file, scan.clock, self.orphans - before[0], self._answers() - before[1])
            file.span = (self.begin_us, self.last_us) if self.begin_us >= 0 else None
            self.files.append(file)
            self.last_us = max(self.last_us, so_far[0])
            self.begin_us = so_far[1] if so_far[1] >= 0 else self.begin_us

    def _answers(self) -> int:
        return sum(int(way.latencies) for index in self.flows for way in self.scan.at(index).way) + self.pairs

    def _record(self) -> None:
        scan = self.scan
        bits, time_us, step, flow = scan.why & ~why.REV1, scan.time_us, None, None
        if self.begin_us < 0:
            self.begin_us = time_us
        if bits & why.FIP:
            self._fip(scan.data(), *scan.ends)
            bits = 0
        if bits & _CONTROL:
            data = scan.data()
            if bits & why.DAMAGED or not self._was_there(data, time_us):
                step = self._control(data)
        if bits and bits != why.CONTROL:
            flow = self._flow_of(scan.flow) if scan.flow != NONE else None
            if bits & why.MERGED:
                gone = self.flows.pop(scan.other, None)
                if gone is not None and flow is not None:
                    self._inherit(flow, gone)
            if flow is not None and scan.why & why.REV1:
                flow.is_1999 = True
            if flow is not None and bits & _ODD:
                flow.add(self._odd())
        self.orphans += bits & why.UNASKED != 0
        if bits & why.FOUND:
            self._found(flow if flow is not None else self._of_step(step))
        if time_us > self.last_us:
            self.last_us = time_us

    def _was_there(self, data: bytes, time_us: int) -> bool:
        """Whether a control frame repeats one byte by byte that came just before, which no port does: it was captured twice."""
        key, recent = (self.scan.network, data), self._recent
        before = recent.get(key)
        if before is None and self._older:
            before = self._older.get(key)
        if before is not None and abs(time_us - before) <= _RECENT_US:
            self._doubles += 1
            return True
        if len(recent) >= _RECENT:
            self._older, recent = recent, {}
            self._recent = recent
        recent[key] = time_us
        return False

    def doubles(self) -> int:
        """Frames that repeat earlier ones. No Connection counts them."""
        ways = (self.scan.at(index).way[side] for index in self.flows for side in (0, 1))
        return self._doubles + sum(int(way.again) for way in ways)

    def _flow_of(self, index: int) -> Flow:
        flow = self.flows.get(index)
        if flow is None:
            c = self.scan.at(index)
            flow = self.flows[index] = Flow(int(index), int(c.network), (int(c.id[0]), int(c.id[1])))
            flow.port_names = (self.names.get((flow.network, flow.ids[0]), 0), self.names.get((flow.network, flow.ids[1]), 0))
        return flow

    @staticmethod
    def _inherit(flow: Flow, gone: Flow) -> None:
        flow.steps = sorted(flow.steps + gone.steps, key=lambda s: s.number)
        for key, count in gone.findings.items():
            flow.findings[key] = flow.findings.get(key, 0) + count

    def _found(self, flow: Optional[Flow]) -> None:
        into = self.findings if flow is None else flow.findings
        for found in self.scan.findings():
            if found in into or len(into) < 256:
                into[found] = into.get(found, 0) + 1

    def _of_step(self, step: Optional[Step]) -> Optional[Flow]:
        return None if step is None else self._setup_of(self.scan.network, step)

    def _step(self, name: str, data: bytes, what: Optional[dict[str, Any]] = None) -> Step:
        d_id, s_id, ox_id, rx_id = _HEADER(data)
        return Step(self.scan.number, self.scan.time_us, s_id & _ID, d_id & _ID, name, ox_id, rx_id, what, data[9] >= 0x80)

    def _odd(self) -> Step:
        scan = self.scan
        data, at = scan.data(), scan.device_header()
        assert at is not None
        what: dict[str, Any] = {"why": scan.why, "id": number(data, at + 8, 4), "offset": number(data, 20, 4)}
        if scan.missing:
            what["missing"] = scan.missing
        if scan.earlier:
            what["earlier"] = scan.earlier
        if scan.why & why.FAILED:
            what["flags"] = data[at + 5] & 15
        return self._step(IU.get(data[at + 4], f"opcode {data[at + 4]:02X}h"), data, what)

    # ---- frames that are no Messages ----

    def _control(self, data: bytes) -> Step:
        network = self.scan.network
        at = self.scan.device_header()
        r_ctl, kind = data[0], data[8]
        if self.scan.why & why.DAMAGED:
            step = self._step("damaged frame", data, {"R_CTL": f"{r_ctl:02X}h", "TYPE": f"{kind:02X}h"})
            self._event(step)
            return step
        if kind == FC_VI and at is not None and r_ctl < 0x40:
            if self.scan.why & why.REV1 and data[13] & 3 == _DH16 and len(data) >= at + edition.HEADER:
                return self._iu_of_1999(network, data, at)
            return self._iu(network, data, at)
        if r_ctl in _BLS and kind == 0:
            step = self._step(_BLS[r_ctl], data, self._of_bls(r_ctl, data))
            flow = self._setup_of(network, step) or self._message_of(network, step)
            if flow is not None:
                self._bls(flow, step)
            else:
                if step.name == "ABTS":
                    self._told(network, step)
                self._event(step)
            return step
        if r_ctl in _LINK:
            what = {"abort": data[11] >> 4 & 3} if r_ctl in _ACKS else {"reason": data[20], "code": data[21]}
            step = self._step(_LINK[r_ctl], data, what)
            if kind == _ELS_TYPE and step.by_responder and step.name in ("P_RJT", "F_RJT"):
                self._count_answer((step.target, step.sender, step.ox_id) in self._els)
            flow = self._setup_of(network, step) or self._message_of(network, step)
            if flow is not None:
                flow.add(step)
            self._event(step)
            return step
        return self._link_service(network, data)

    @staticmethod
    def _of_bls(r_ctl: int, data: bytes) -> dict[str, Any]:
        if r_ctl == 0x84 and len(data) >= 36:
            return {"acc_rx_id": number(data, 30, 2)}
        return {"reason": data[25], "explanation": data[26]} if r_ctl == 0x85 and len(data) >= 28 else {}

    def _event(self, step: Step) -> None:
        self.counts[step.name] = self.counts.get(step.name, 0) + 1
        if len(self.events) < _MOST_EVENTS:
            self.events.append(step)

    def _setup_of(self, network: int, step: Step) -> Optional[Flow]:
        ends = (step.target, step.sender) if step.by_responder else (step.sender, step.target)
        return self._setups.get((network, *ends, step.ox_id))

    def between(self, network: int, a: int, b: int) -> Iterator[Flow]:
        """Connections of two ports that are not over, the latest first."""
        for flow in reversed(self.flows.values()):
            if flow.network == network and not flow.final and {a, b} == set(flow.ids):
                yield flow

    def _message_of(self, network: int, step: Step) -> Optional[Flow]:
        for tried, flow in enumerate(self.between(network, step.sender, step.target)):
            if tried == 256:
                break
            for side in (0, 1):
                slot = self.scan.exchange(flow.index, side, step.ox_id) if flow.ids[side] == step.originator else None
                if slot is not None:
                    step.what["of"], step.what["side"] = int(slot.number), side
                    step.what["behind_us"] = step.time_us - int(slot.time_us)
                    step.what["answered"], step.what["ends"] = int(slot.state == _ANSWERED and not slot.ends), int(slot.ends)
                    step.what["in_part"] = int(slot.state == _ANSWERED and slot.answer_got < slot.answer_total)
                    later = self.scan.at(flow.index).way[side].last_answered
                    step.what["answered_later"] = int(later > slot.number)
                    return flow
        return None

    def _latest_us(self, flow: Flow, side: int) -> int:
        """When a side sent what was seen last of it before its next Message, 0 when not known."""
        if self.scan.at(flow.index).way[side].messages:
            return self.scan.latest_us(flow.index, side)
        return max((s.time_us for s in flow.named("CONNECT_RESP2", "CONNECT_RESP3")), default=0)

    def _told(self, network: int, step: Step) -> None:
        """An ABTS of what was not seen: how long after the sender's latest Message it came, at most."""
        times = [self._latest_us(flow, flow.ids.index(step.sender))
                 for flow, _ in zip(self.between(network, step.sender, step.target), range(256))]  # fmt: skip
        if times and all(times):
            step.what["after_us"] = step.time_us - min(times)

    def _bls(self, flow: Flow, step: Step) -> None:
        flow.add(step)
        if step.name == "ABTS" and flow.state in ("asked", "answered", "confirmed"):
            flow.ended = "timed out"

    def _count_answer(self, is_asked: bool) -> None:
        """Of a link service."""
        self.orphans, self.pairs = self.orphans + (not is_asked), self.pairs + is_asked

    def _link_service(self, network: int, data: bytes) -> Step:
        command = data[24] if len(data) > 24 else 0
        name = _ELS.get(command, f"ELS {command:02X}h")
        step = self._step(name, data, {})
        key = (step.sender, step.target, step.ox_id)
        if name in ("LS_ACC", "LS_RJT"):
            asked = self._els.get((step.target, step.sender, step.ox_id), "")
            if not asked and step.sender == _F_PORT:  # the answer to a FLOGI goes to the N_Port_ID that it gives
                asked = self._els.get((0, step.sender, step.ox_id), "")
            step.what["of"] = asked
            self._count_answer(bool(asked))
            if not asked and step.time_us - self.begin_us > (self.r_a_tov_us or 10_000_000) and len(self.unasked) < 4096:
                self.unasked.append(step)
            if name == "LS_RJT" and len(data) >= 32:
                step.what["reason"], step.what["explanation"] = data[29], data[30]
            if name == "LS_ACC" and asked == "PRLI" and len(data) > 30 and data[28] == FC_VI:
                step.what["response"] = data[30] & 15
            if name == "LS_ACC" and asked in ("PLOGI", "PDISC", "FLOGI", "FDISC"):
                self._login(network, step, data, asked)
        else:
            if len(self._els) > 4096:
                self._els.clear()
                self._flogi.clear()
            self._els[key] = name
            if name in ("PLOGI", "PDISC", "FLOGI", "FDISC"):
                self._login(network, step, data, name)
        if name == "FPIN":
            step.what["says"] = notices.of_fpin(data[24:])
        elif name == "LS_ACC" and step.what["of"] == "RDP":
            step.what["says"] = notices.of_rdp(data[24:])
        if name == "PRLI" and len(data) > 28:
            step.what["type"] = data[28]
        elif name == "FARP-REQ" and len(data) >= 36 and data[28] & 4 and data[32] == 2:
            step.what["asks"] = address(data[84:100]) if len(data) >= 100 else "a Host Address"
        if name == "RSCN":
            step.what["pages"] = [(data[i] & 3, number(data, i + 1, 3)) for i in range(28, len(data) - 3, 4)]
        self._event(step)
        port_name = number(data, *_PORT_NAMES[name]) if name in _PORT_NAMES and len(data) >= sum(_PORT_NAMES[name]) else 0
        if name in ("LOGO", "PRLO") or (name == "PLOGI" and self._is_new_login(network, step, port_name)):
            self._logout(network, step, port_name)
        return step

    def _login(self, network: int, step: Step, data: bytes, asked: str) -> None:
        if len(data) < 52:
            return
        if asked in ("PLOGI", "PDISC"):
            step.what["ciro"], step.what["seq_cnt_s"] = data[32] >> 7, data[33] >> 1 & 1
        if asked == "FLOGI" and step.name == "FLOGI":
            self._flogi[(network, step.target, step.ox_id)] = number(data, 44, 8)
            step.what["Port_Name"] = f"{number(data, 44, 8):016X}"
        if asked in ("FLOGI", "FDISC") and step.name == "LS_ACC":
            self.r_a_tov_us = self.r_a_tov_us or number(data, 36, 4) * 1000
            if step.target:
                self._named(network, step, step.target, self._flogi.pop((network, step.sender, step.ox_id), 0))
                return
        elif asked == "PLOGI" and number(data, 40, 4) and not data[32] & 4:
            self.e_d_tov_us = number(data, 40, 4) * 1000
        if step.sender:
            self._named(network, step, step.sender, number(data, 44, 8))

    def _named(self, network: int, step: Step, ident: int, port_name: int) -> None:
        """A login shows the Port_Name of an N_Port_ID. Where the port had another one, whatever stood on its logins is over
        (7.7.5)."""
        if port_name == 0 or ident >= 0xFFFFF0:
            return
        before = self._idents.get((network, port_name), ident)
        self.names[(network, ident)], self._idents[(network, port_name)] = port_name, ident
        if before != ident:
            step.what["Port_Name"], step.what["before"] = f"{port_name:016X}", f"{before:06X}"
            self.names.pop((network, before), None)
            if len(self._moves) < _MOST_EVENTS:
                self._moves.append((step, before))
            found = [flow for flow in self.flows.values() if flow.network == network and before in flow.ids]
            self._moved += [(flow, flow.state, step) for flow in found if not flow.final and not flow.ended]
            self._end(step, found)

    def _is_new_login(self, network: int, step: Step, port_name: int) -> bool:
        """A PLOGI between ports that have a Connection open ends it (FC-FS: it logs out first)."""
        ends = (step.sender, step.target)
        return any(flow.state == "open" and flow.is_of(step.sender, port_name) for flow in self.between(network, *ends))

    def _logout(self, network: int, step: Step, port_name: int) -> None:
        found = []
        for flow in self.flows.values():
            both = {step.sender, step.target} == set(flow.ids)
            fabric = step.target >= 0xFFFFF0 and step.sender in flow.ids
            if flow.network == network and (both or fabric) and flow.is_of(step.sender, port_name):
                found.append(flow)
        self._end(step, found, step.sender)

    def _end(self, step: Step, flows: list[Flow], by: Optional[int] = None) -> None:
        """The login of these Connections ended with a frame; by: N_Port_ID of who asked for that."""
        for flow in flows:
            if not flow.final and flow.state != "closed":
                flow.add(step)
                flow.ended = flow.ended or "lost by logout"
                flow.ended_by = by
                self._close(flow)

    def _fip(self, data: bytes, source: int, to: int) -> None:
        """A frame of FIP: the login services in it are read as any other, and what ends a virtual link is kept."""
        network, told = self.scan.network, fip.read(data)
        if told is None:
            return
        for frame in told.frames:
            if frame[0] == 0x22:
                self._asked_by[number(frame, 16, 2)] = source
            step = self._link_service(network, frame)
            if frame[0] == 0x23 and step.what.get("of") in ("FLOGI", "FDISC") and step.target:
                self.stations.setdefault(self._asked_by.pop(step.ox_id, 0), set()).add(step.target)
        if told.is_clear:
            ports = told.ports or sorted(self.at_station(to))  # those of the ENode that it is sent to
            what = {"ports": ports, "words": ", ".join(f"{port:06X}" for port in ports)}
            target = ports[0] if ports else 0
            step = Step(self.scan.number, self.scan.time_us, _F_PORT, target, "FIP Clear Virtual Links", NONE, NONE, what)
            self._event(step)
            self.clears.append((network, step))
        elif told.is_keep_alive:
            port = told.ports[0] if told.ports else None
            self.alive.heard(network, source, port, (self.scan.number, self.scan.time_us))
        elif told.period_us:
            self.alive.period_us = told.period_us

    def at_station(self, address: int) -> set[int]:
        """The N_Port_IDs of an Ethernet address: those that logged in from there, or the one that its last bytes are (FPMA)."""
        return self.stations.get(address) or ({address & _ID} if address >> 24 == _FC_MAP else set())

    # ---- setup and Disconnect ----

    def _is_strange(self, step: Step) -> None:
        if len(self.strange) < _MOST_STRANGE:
            self.strange.append(step)

    def _iu(self, network: int, data: bytes, at: int) -> Step:
        if len(data) < at + 16:
            return self._step("FC-VI frame without a whole Device_Header", data)
        opcode, flags = data[at + 4], data[at + 5]
        if data[13] & 3 == _DH16 and opcode in edition.NAMES:  # of ports that speak the edition of 2007
            step = self._step(f"{edition.NAMES[opcode]} of Rev 1.0", data)
            self._is_strange(step)
            self._event(step)
            return step
        self.speak_new.add(_WORD(data, 4)[0] & _ID)
        name = IU.get(opcode) or f"opcode {opcode:02X}h"
        what: dict[str, Any] = {"connection_id": _WORD(data, at + 28)[0] if len(data) >= at + 32 else NONE}
        if opcode in _WITH_STATUS:
            what["refused"], what["reason"] = flags & 1, data[at + 13]
            if opcode == _DISCONNECT_RQST:
                what["setup_abort"], what["by_application"] = flags >> 2 & 1, flags >> 1 & 1
                what["by_provider"] = int(flags & 7 == 0)  # of an established Connection, and without a status (Table 10)
        what["retry"] = flags >> _RETRY_BIT[opcode] & 1 if opcode in _RETRY_BIT else 0
        step = self._step(name, data, what)
        if opcode in _WITH_PAYLOAD:
            step, body = self._joined(network, step, data, data[at + 32 :])
            if body is None:
                return step
            if len(body) >= 8 and number(body, 6, 2) != 1:
                step.what["revision"] = number(body, 6, 2)
                self._is_strange(step)
            if opcode == _CONNECT_RQST:
                self._request(network, step, body, flags & 7)
                return step
        elif opcode not in IU:
            self._event(step)
            return step
        else:
            body = b""
        return self._add_to_flow(network, step, body, _WORD(data, at)[0])

    def _add_to_flow(self, network: int, step: Step, body: bytes, handle: int, is_1999: bool = False) -> Step:
        """An IU of a setup or a Disconnect, but for what begins a setup."""
        flow = self._setup_of(network, step) or self._given_up(network, step)
        if flow is None:
            place = self.scan.find(network, step.target, handle)
            flow = self._flow_of(place[0]) if place is not None else self._unknown(network, step)
        flow.is_1999 = flow.is_1999 or is_1999
        before = _BEFORE.get(step.name)
        self.pairs += bool(flow.steps)
        self.orphans += before is not None and not flow.named(before)
        flow.add(step)
        self._answer(network, flow, step, body, handle)
        return step

    def _iu_of_1999(self, network: int, data: bytes, at: int) -> Step:
        """One of Rev 1.0 of 1999 that is no Message."""
        opcode, handle = data[at + 4], _WORD(data, at)[0]
        name = edition.NAMES.get(opcode)
        if name is None:
            step = self._step(f"opcode {opcode:02X}h of Rev 1.0", data)
            self._event(step)
            return step
        step = self._step(name, data, edition.fields(opcode, data[at + 5], data[at + 13]))
        self.speak_old.add((step.sender, step.target))
        body = edition.as_of_2007(data[at + edition.HEADER :]) if opcode in _WITH_PAYLOAD else b""
        if opcode == _CONNECT_RQST:
            self._request(network, step, body, data[at + 5] & 7).is_1999 = True
            return step
        self._add_to_flow(network, step, body, handle, True)
        if opcode == _DISCONNECT_RQST:
            self._count_disconnect(network, step, number(data, at + 8, 4))
        return step

    def _count_disconnect(self, network: int, step: Step, ident: int) -> None:
        """A Disconnect of Rev 1.0 takes the VI_MSG_ID of the next Message (6.10): that one is not missing."""
        flow = self._setups.get((network, step.sender, step.target, step.ox_id))
        way = None if flow is None else self.scan.at(flow.index).way[flow.ids.index(step.sender)]
        if way is not None and way.has_next and way.next_id == ident:
            way.next_id = (ident + 1) & NONE

    def _joined(self, network: int, step: Step, data: bytes, body: bytes) -> tuple[Step, Optional[bytes]]:
        """The payload of a connect IU that may come in several frames (E44), with the first of them; None: it is not whole."""
        offset, ends = number(data, 20, 4), data[9] & 8
        if offset == 0 and ends:
            return step, body
        step.what["offset"] = offset
        key = (network, step.sender, step.target, step.ox_id, data[12])
        is_begun = key in self._parts
        first, so_far = self._parts.pop(key, (step, b""))
        if offset != len(so_far):
            if not is_begun and len(self._ends) < _PARTS:
                self._ends[key] = (step, body)
            return step, None
        if ends:
            return first, so_far + body
        end = self._ends.get(key)  # of one time, or of a Fabric out of order
        if end is not None and end[0].what["offset"] == len(so_far + body) and step.time_us - end[0].time_us < _REORDERED_US:
            del self._ends[key]
            return first, so_far + body + end[1]
        if len(self._parts) < _PARTS and offset + len(body) <= lib.FCVI_ASSEMBLY_ROOM:
            self._parts[key] = (first, so_far + body)
        return first, None

    def _given_up(self, network: int, step: Step) -> Optional[Flow]:
        """The setup that a Disconnect aborts (6.12.2), which names it by its FCVI_CONNECTION_ID."""
        if not step.what.get("setup_abort"):
            return None
        ident = step.what["connection_id"]
        return next((flow for flow in self.between(network, step.sender, step.target) if ident in flow.connection_ids), None)

    def _unknown(self, network: int, step: Step) -> Flow:
        """A setup or Disconnect whose beginning was not seen."""
        answer = step.name in ("CONNECT_RESP1", "CONNECT_RESP3", "DISCONNECT_RESP")
        self.orphans += answer
        ids = (step.target, step.sender) if answer else (step.sender, step.target)
        flow = self._flow_of(self.scan.add(network, *ids))
        flow.state = "asked" if step.name.startswith("CONNECT") else "closing"
        self._setups[(network, *ids, step.ox_id)] = flow
        return flow

    def _answered_before(self, network: int, step: Step) -> Optional[Flow]:
        """The setup of which the answer stands just before its request, as taps write it that see each direction for itself."""
        flow = self._setup_of(network, step)
        if flow is None or flow.setup_seen or not flow.steps or flow.steps[-1].name != "CONNECT_RESP1":
            return None
        is_near = step.time_us - flow.steps[-1].time_us <= _RACE_US and len(flow.steps) == 1
        self.orphans -= is_near
        return flow if is_near else None

    def _request(self, network: int, step: Step, body: bytes, mode: int) -> Flow:
        handle = number(body, 8, 4) if len(body) >= 12 else NONE
        step.what["handle"] = handle
        key = (network, step.sender, step.target, handle)
        flow = self._asked.get(key) if step.what["retry"] else None
        early = self._answered_before(network, step)
        if early is not None:
            flow = self._asked[key] = early
        elif flow is None or flow.final or (handle == NONE and flow.ended != "timed out"):
            flow = self._flow_of(self.scan.add(network, step.sender, step.target))
            self._asked[key] = flow
        flow.retries += step.what["retry"]
        flow.mode = {1: "client-server", 2: "peer"}.get(mode, "not known")
        flow.setup_seen, flow.asked_us = True, step.time_us
        if early is None:
            flow.state, flow.ended = "asked", ""
        flow.connection_ids.append(step.what["connection_id"])
        self._setups[(network, step.sender, step.target, step.ox_id)] = flow
        flow.add(step)
        if handle != NONE:
            self.scan.bind(flow.index, 0, handle)  # Messages to it show that the setup went on, whatever the capture lacks of it
        if len(body) >= _FIXED:
            flow.addresses = [_address(body[12:160]), _address(body[160:308])]
            flow.level, flow.sizes[0] = body[310], number(body, 312, 4)
        return flow

    def _answer(self, network: int, flow: Flow, step: Step, body: bytes, handle: int) -> None:
        if step.name == "CONNECT_RESP1" and len(body) >= _FIXED:
            flow.addresses[1] = flow.addresses[1] or _address(body[12:160])
        if step.name in _CONNECT_RESPS:
            if step.what["refused"]:
                if flow.ended != "refused":  # else it repeats what the other side said (E40)
                    flow.ended, flow.reason, flow.ended_by = "refused", step.what["reason"], step.sender
                    flow.said = step.what.get("said")
                self._close(flow)
            elif step.name == "CONNECT_RESP1":
                self._accepted(flow, step, body)
            elif flow.ended == "refused":
                return  # the four IUs of a refusal
            elif step.name != flow.confirmation:
                flow.state = "confirmed"
                self._bind_from_header(flow, step, handle)
            else:
                flow.state = "open"
                self._bind_from_header(flow, step, handle)
                flow.setup_us = step.time_us - flow.asked_us if flow.setup_seen else None
        elif step.name == "DISCONNECT_RQST":
            flow.ended = flow.ended if flow.ended == "timed out" else "disconnected"
            flow.ended_by = flow.ended_by if flow.ended_by is not None else step.sender
            flow.reason = flow.reason or step.what["reason"] or None
            flow.state = "closing"
            self._setups[(network, step.sender, step.target, step.ox_id)] = flow
            if len(self._setups) > 65536:  # Exchanges of long ago
                for key in list(self._setups)[:32768]:
                    del self._setups[key]
        elif step.name == "DISCONNECT_RESP":
            flow.ended = flow.ended or "disconnected"  # its request is not in the capture
            self._close(flow)

    def _accepted(self, flow: Flow, step: Step, body: bytes) -> None:
        flow.state = "answered"
        if len(body) >= 12:
            self.scan.bind(flow.index, flow.ids.index(step.sender), _WORD(body, 8)[0])
        if len(body) >= _FIXED:
            flow.sizes[1] = number(body, 312, 4)

    def _bind_from_header(self, flow: Flow, step: Step, handle: int) -> None:
        """The receiver's handle is in the Device_Header too (5.3.2), where the payload that told it is cut off."""
        side = flow.ids.index(step.target)
        if handle != NONE and self.scan.at(flow.index).handle[side] == NONE:
            self.scan.bind(flow.index, side, handle)

    def _close(self, flow: Flow) -> None:
        flow.state = "closed"
        self._finish(flow)

    def _finish(self, flow: Flow) -> None:
        """What was under way at the end is kept; the C table may forget it."""
        if flow.final:
            return
        flow.final = True
        for side in (0, 1):
            count, slots = self.scan.unanswered(flow.index, side)
            flow.unanswered_count += count
            flow.unanswered += [_request_at(side, s) for s in slots]
            latest = self.scan.latest(flow.index, side)
            if latest is not None and latest.state == _ANSWERED and latest.answer_got < latest.answer_total:
                flow.in_part.append(_request_at(side, latest))
        self.scan.end(flow.index)

    def so_far(self) -> list[Flow]:
        """All Connections as they are now, in the order of their first frames. What goes on is not changed by it."""
        import copy

        found = []
        for flow in self.flows.values():
            now, c = copy.copy(flow), self.scan.at(flow.index)
            if c.first:
                now.first, now.first_us = min((flow.first or c.first, flow.first_us or c.first_us), (c.first, c.first_us))
                now.last, now.last_us = max((flow.last, flow.last_us), self.scan.last(flow.index))
            if not flow.final:
                now.unanswered_count += sum(self.scan.unanswered(flow.index, side)[0] for side in (0, 1))
            now.ended = flow.ended or ("open" if flow.state == "open" else "being set up")
            found.append(now)
        return sorted(found, key=lambda flow: flow.first)

    def last_of(self, flow: Flow, *sides: int) -> tuple[int, int]:
        """The last frame of a Connection, or of sides of it, and when it came; those that end a login, and what they are answered,
        are not counted."""
        ports = {flow.ids[side] for side in sides} if sides else {*flow.ids}
        steps = [(s.number, s.time_us) for s in flow.steps if s.name not in _LOGINS and s.sender in ports]
        return max([self.scan.last(flow.index, *sides), *steps])

    def _is_cleared(self, flow: Flow) -> bool:
        """A Clear Virtual Links names one of its ports, and nothing of that one follows. The other port is not told."""
        for network, step in self.clears:
            last, last_us = self.last_of(flow, *(side for side in (0, 1) if flow.ids[side] in step.what["ports"]))
            if network in (flow.network, 0) and set(flow.ids) & set(step.what["ports"]) and (
                    flow.first < step.number or flow.first_us <= step.time_us + self.blur_us) and (
                    last <= step.number or last_us <= step.time_us + self.blur_us):  # fmt: skip
                flow.add(step)
                return True
        return False

    def _take_parts(self) -> None:
        """Connect IUs of which the rest never came are of the setup that they begin, or that a retry begins anew."""
        for key, (first, so_far) in (self._ends | self._parts).items():
            network, sender, target = key[:3]
            flow = self._setup_of(network, first)
            if flow is None and first.name != "CONNECT_RQST":
                continue
            if flow is None:
                retried = (f for f in self.flows.values() if f.network == network and f.ids == (sender, target) and f.retries
                           and f.first > first.number)  # fmt: skip
                flow = next(retried, None) or self._flow_of(self.scan.add(network, sender, target))
                flow.state = "asked" if not flow.steps else flow.state
            first.name, first.what["bytes"] = f"{first.name} in part", len(so_far)
            flow.steps = sorted([*flow.steps, first], key=lambda s: s.number)
            here = (first.number, first.time_us)
            flow.first, flow.first_us = min((flow.first, flow.first_us) if flow.first else here, here)
            flow.last, flow.last_us = max((flow.last, flow.last_us), here)
        self._parts.clear()
        self._ends.clear()

    def _shared_names(self) -> set[str]:
        """Port_Names under which several N_Port_IDs send at one time, which tell no port from another."""
        last: dict[int, tuple[int, int]] = {}
        sent = [(s.sender, s.number, s.time_us) for s in self.events]
        for flow in self.flows.values():
            sent += [(s.sender, s.number, s.time_us) for s in flow.steps]
            sent += [(flow.ids[side], *self.scan.last(flow.index, side)) for side in (0, 1)]
        for port, *when in sent:
            last[port] = max(last.get(port, (0, 0)), (when[0], when[1]))
        return {step.what["Port_Name"] for step, before in self._moves
                if (found := last.get(before, (0, 0)))[0] > step.number and found[1] > step.time_us + self.blur_us}  # fmt: skip

    def _take_back(self) -> None:
        """What was ended by another port with the same Port_Name goes on."""
        shared = self._shared_names() if self._moved else set()
        for flow, state, step in self._moved:
            if step.what["Port_Name"] in shared and flow.ended == "lost by logout":
                flow.steps.remove(step)
                flow.ended, flow.ended_by, flow.state = "", None, state
                flow.last, flow.last_us = max(((s.number, s.time_us) for s in flow.steps), default=(0, 0))

    def _take_raced(self, flow: Flow) -> None:
        """Message Responses that stand just before their request, as taps write them that see each direction for itself."""
        for step in flow.steps:
            if step.name not in ("SEND_RESP", "WRITE_RESP") or not step.what.get("why", 0) & why.UNASKED:
                continue
            asked = next((u for u in flow.unanswered if u["id"] == step.what["id"] and flow.ids[u["side"]] == step.target
                          and u["number"] > step.number and 0 <= u["time_us"] - step.time_us <= _RACE_US), None)  # fmt: skip
            if asked is not None:
                flow.unanswered.remove(asked)
                flow.unanswered_count -= 1
                self.orphans -= 1
                step.what["why"] &= ~why.UNASKED

    def finish(self) -> list[Flow]:
        """The captures are over: all Connections, in the order of their first frames."""
        self._take_parts()
        self._take_back()
        for flow in self.flows.values():
            self._finish(flow)
            self._take_raced(flow)
            c = self.scan.at(flow.index)
            if c.first:
                flow.first, flow.first_us = min((flow.first or c.first, flow.first_us or c.first_us), (c.first, c.first_us))
                flow.last, flow.last_us = max((flow.last, flow.last_us), self.scan.last(flow.index))
            if flow.ended in ("", "lost by logout") and self._is_cleared(flow):
                flow.ended = "lost by link event"
            if not flow.ended:
                flow.ended = "open" if flow.state == "open" else "setup not finished"
            if flow.ended == "disconnected" and flow.named("ABTS") and flow.unanswered_count:
                flow.ended = "aborted"
            if flow.ended == "disconnected" and len(given_up(flow)) == len(flow.named("DISCONNECT_RQST")) != 0:
                flow.ended = "timed out"
        return sorted(self.flows.values(), key=lambda flow: flow.first)


def _request_at(side: int, slot: Any) -> dict[str, int]:
    """What is kept of a request (struct fcvi_flow_slot) of a side."""
    return {"number": int(slot.number), "id": int(slot.id), "time_us": int(slot.time_us), "ox_id": int(slot.ox_id), "side": side,
            "iu": int(slot.iu), "whole": int(slot.state == _SENT)}  # fmt: skip


def given_up(flow: Flow) -> list[Step]:
    """The FCVI_DISCONNECT_RQSTs whose Exchange was aborted without a response (8.6.2 b)."""
    answers, aborts = flow.named("DISCONNECT_RESP"), flow.named("ABTS")
    return [s for s in flow.named("DISCONNECT_RQST") if any(a.is_of(s) for a in aborts) and not any(a.is_of(s) for a in answers)]


def address(raw: bytes) -> str:
    """A Host Address as IPv6."""
    words = ffi.new("char[]", lib.CALLS_ADDRESS)  # the module socket takes 10 ms to load
    lib.calls_address(raw.ljust(16, b"\0"), words)
    return str(ffi.string(words), "ascii")


def _address(raw: bytes) -> Optional[tuple[str, bytes]]:
    """FCVI_NET_ADDRESS (7.2): Host Address as IPv6, Discriminator."""
    return address(raw[4:20]), raw[20 : 20 + min(raw[3], 128)]


def discriminator(raw: bytes) -> str:
    """As text where it is text, else in hexadecimal."""
    bare = raw.rstrip(b"\0")
    if bare and all(32 <= byte < 127 for byte in bare):
        return bare.decode("ascii")
    return f"{raw.hex()}h" if raw else ""


def level(value: int) -> str:
    """VI Reliability Level (7.3)."""
    return _LEVELS.get(value, "not known")
