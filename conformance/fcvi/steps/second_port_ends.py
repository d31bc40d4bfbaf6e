"""The second arrangement: a VI of the DUT and one of the reference port on the far side, and Messages between them."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.dut.ref import DirectDut
from fcvi.engine.results import TraceFrame
from fcvi.engine.scenario import Inconclusive
from fcvi.fc import codec
from fcvi.fc.build import SOF
from fcvi.fc.received import kind_of
from fcvi.fc.second_port import SecondPort
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call, Completion

from .connection import CLIENT, STATE, check_state, check_told, create_vi, dut_address, tester_address, vi_attributes


_ANSWERS = ("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3")
_LINK_CONTROL = 0xC  # R_CTL of ACK, BSY and RJT (FC-FS)


def _exchange(entry: TraceFrame) -> tuple[int, bool]:
    """OX_ID, and whether the tester has opened it."""
    of_responder = bool(codec.get("FC", "Exchange_Context", entry.data))
    return int(codec.get("FC", "OX_ID", entry.data)), (entry.sender == "tester") != of_responder


class Ends:
    """A connection between a VI of the DUT and one of the far side, driven at both ends."""

    def __init__(self, t: Scenario, hosts: Optional[list[str]] = None) -> None:
        self.t = t
        self.second: SecondPort = t.second_port(DirectDut("second port"), hosts)
        self.vi = create_vi(t)
        self.second_vi = self.call("VipCreateVi", ViAttribs=vi_attributes(t)).integer("vi")
        self.request: Optional[Call] = None
        self.since = 0  # the first frame of the setup that is under way

    def call(self, method: str, **params: Any) -> Call:
        """A VIPL call on the second port that returns at once."""
        call = self.second.start(method, **params)
        self.t.settle()
        return call

    def disconnect_second(self) -> None:
        """VipDisconnect on the second port; the DUT has its time to answer (8.3)."""
        call = self.call("VipDisconnect", vi=self.second_vi)
        self.t.owed(lambda: call.done)

    def setup(self) -> tuple[Call, Call]:
        """Both calls of a Client-Server setup: the DUT's, which has its role of the variant, and the far side's."""
        t, own, other = self.t, dut_address(self.t), tester_address(self.t)
        self.since = len(t.tester.trace)
        if t.params["role"] == CLIENT:
            wait = self.call("VipConnectWait", LocalAddr=other, Timeout=None)
            call = t.start("VipConnectRequest", vi=self.vi, LocalAddr=own, RemoteAddr=other, Timeout=None)
            t.owed(lambda: wait.done or call.done, 3)
            if not wait.done and self._answered_in_class_3():
                raise Inconclusive("the far side answers FARP in class 3 alone: a device of class 2 need not take its answer")
            t.demand(wait.done, "FCVI-6.8.1-01", "no request reached the far side", "nothing", "FCVI_CONNECT_RQST")
            return call, self.call("VipConnectAccept", conn=wait.integer("conn"), vi=self.second_vi)
        wait = t.start("VipConnectWait", LocalAddr=own, Timeout=None)
        request = self.call("VipConnectRequest", vi=self.second_vi, LocalAddr=other, RemoteAddr=own, Timeout=None)
        t.finish(wait, "FCVI-4.2-33", within_us=t.owed_us(3), returns="VIP_SUCCESS")
        return t.start("VipConnectAccept", conn=wait.integer("conn"), vi=self.vi), request

    def _answered_in_class_3(self) -> bool:
        """Whether the far side has answered a FARP-REQ of a DUT in class 2; its FARP-REPLY is of class 3, as the request was."""
        t = self.t
        replies = (e for _, e, frame in t.crossed("tester") if kind_of(frame) == "FARP_REPLY")
        return int(t.config["class"]) == 2 and any(e.sof in SOF[3] for e in replies)

    def login_renewed(self) -> bool:
        """Whether the DUT logged in or out after the far side had begun a setup: that ends what the far side has begun (7.7.1)."""
        asked = [number for number, _, frame in self.t.crossed("tester", self.since) if kind_of(frame) == "CONNECT_RQST"]
        own = self.t.crossed("dut", self.since)
        return any(kind_of(frame) in ("PLOGI", "LOGO") and number > asked[0] for number, _, frame in own) if asked else False

    def connect(self) -> None:
        """A setup without errors: both ends are Connected."""
        own, other = self.setup()
        self.settled(own, other)
        self.t.finish(own, "FCVI-8.2-b1", returns="VIP_SUCCESS")
        if own.method == "VipConnectRequest":
            check_told(self.t, own, "FCVI-6.9.3-06")
        self.both_connected(other)

    def settled(self, *calls: Call, answers: int = 2) -> None:
        """Wait for these calls. A far side that lost its patience with a slow DUT leaves nothing to judge.

        Each answer of the DUT may take its time; the far side's FCVI_ULP_TIMEOUT counts them together (8.3, E123).
        """
        t, trace = self.t, self.t.tester.trace
        t.owed(lambda: all(call.done for call in calls), answers)
        aborts = [number - 1 for number, _, frame in t.crossed("tester", self.since) if kind_of(frame) == "ABTS"]
        if not aborts:
            return
        late = "the far side's FCVI_ULP_TIMEOUT may have ended a setup that the DUT was still answering"
        for number in aborts:  # the DUT may have had time left for what it owed; an ACK answers nothing
            setup = _exchange(trace[number])
            others = (e for e in reversed(trace[:number])
                      if _exchange(e) == setup and int(codec.get("FC", "R_CTL", e.data)) >> 4 != _LINK_CONTROL)  # fmt: skip
            last = next(others, trace[number])
            begun = [c.started_us for c in calls if last.time_us + t.pixit.early_us < c.started_us < trace[number].time_us]
            if last.sender == "tester" and 0 < trace[number].time_us - max([last.time_us, *begun]) < t.ulp_timeout_us:
                raise Inconclusive(late)
        for iu in (iu for iu in t.tester.inbox if iu.numbers[0] > self.since):
            before = next((e for e in reversed(trace[: iu.numbers[0] - 1]) if e.sender == "tester"), None)
            if iu.kind in _ANSWERS and before is not None and iu.time_us - before.time_us > t.r_a_tov_us // 4:
                raise Inconclusive(late)

    def both_connected(self, other: Call) -> None:
        """The far side's call succeeded as well, and both VIs are Connected."""
        t = self.t
        t.owed(lambda: other.done)
        code = other.returned() if other.done else "still blocked"
        t.require(code == "VIP_SUCCESS", "FCVI-8.2-b1", f"{other.method} of the far side", code, "VIP_SUCCESS")
        check_state(t, self.vi, "connected", "FCVI-8.2-b1")
        seen = self.second_state()
        t.require(seen == STATE["connected"], "FCVI-8.2-b1", "the VI of the far side", seen, STATE["connected"])

    def second_state(self) -> str:
        """VipQueryVi, for the state of the far side's VI."""
        return self.call("VipQueryVi", vi=self.second_vi).text("State")


# ---- memory at both ends ----


def _register(ends: Ends, far: bool, size: int, **access: bool) -> Call:
    flags = {"rdma_write": False, "rdma_read": False, **access}
    make = ends.call if far else ends.t.call
    return make("VipRegisterMem", length=size, fill="a5", **flags)


def _write(ends: Ends, far: bool, mem: int, data: bytes) -> None:
    (ends.call if far else ends.t.call)("mem.write", mem=mem, offset=0, hex=data.hex())


def _read(ends: Ends, far: bool, mem: int, size: int) -> bytes:
    return bytes.fromhex((ends.call if far else ends.t.call)("mem.read", mem=mem, offset=0, length=size).text("hex"))


_SCATTERED = 1000  # bytes from which on a Descriptor has two segments, and one without bytes between them


def _post(ends: Ends, far: bool, op: str, mem: int, size: int, remote: Optional[dict[str, Any]] = None) -> None:
    cuts = (0, size // 3, size // 3, size) if size >= _SCATTERED else (0, size)
    segments = [{"mem": mem, "offset": start, "length": end - start} for start, end in zip(cuts, cuts[1:])]
    descriptor = {"op": op, "segments": segments, "remote": remote, "immediate": None}
    method = "VipPostRecv" if op == "recv" else "VipPostSend"
    (ends.call if far else ends.t.call)(method, vi=ends.second_vi if far else ends.vi, descriptor=descriptor)


def _done(ends: Ends, far: bool, queue: str) -> Optional[Completion]:
    vi, found = (ends.second_vi, ends.second.completions) if far else (ends.vi, ends.t.completions)
    return next((c for c in found if c.vi == vi and c.queue == queue), None)


def _unplaceable(t: Scenario, since: int) -> str:
    """Why the reference port of Rev 1.0 cannot place the DUT's frames where some overtake others; empty when it can."""
    first: set[int] = set()
    for _, _, frame in t.crossed("dut", since):
        exchange = frame.header("OX_ID") if frame.kind == "iu" else -1
        if exchange in first and not frame.payload:
            return "the last frame of the DUT has no payload: the far side cannot tell the length while it overtakes others"
        if exchange >= 0 and frame.payload and frame.header("Parameter") == 0:
            if exchange in first:
                return "RLTV_OFF of the DUT begins again in each IU (R02): the far side cannot place what overtakes"
            first.add(exchange)
    return ""


class Decided(Inconclusive):
    """The far side could not tell what came of a Message. The frames of the DUT have told it, where the case asks for no more."""


def _decide(t: Scenario, since: int, data: bytes, va: int, why: str) -> None:
    """What the frames of the DUT bring, in the order of their SEQ_CNT, an RDMA Write by VI_RMT_VA and RLTV_OFF (R02). The far side
    may have ended the connection before the last of them was sent: then nothing is decided.
    """
    frames = [frame for _, _, frame in t.crossed("dut", since) if kind_of(frame) in ("SEND_RQST", "WRITE_RQST", "READ_RESP")]
    frames.sort(key=lambda frame: frame.header("SEQ_CNT"))
    at = 0
    for number, frame in enumerate(frames):
        if frame.header("SEQ_CNT") != frames[0].header("SEQ_CNT") + number:
            raise Inconclusive(why)
        place = at
        if kind_of(frame) == "WRITE_RQST":
            place = int(codec.get("DH_REV1", "VI_RMT_VA", frame.data, frame.dh_offset)) + frame.header("Parameter") - va
        wanted = data[place : place + len(frame.payload)] if place >= 0 else b""
        t.demand(wanted == frame.payload, "FCVI-4.2-16", f"bytes of frame {number} of a Message of the DUT's",
                 frame.payload[:24].hex(), wanted[:24].hex())  # fmt: skip
        at += len(frame.payload)
    if at != len(data):
        raise Inconclusive(why)
    raise Decided(why)


def _agree(t: Scenario, since: int, good: bool, seen: Any, what: str, required: str, data: bytes, va: int) -> None:
    """What a transfer has to end with. The far side places frames by RLTV_OFF alone where they may overtake each other."""
    placed = t.config.get("revision") != "rev1" or t.config["fabric"] != "out-of-order"
    why = "" if good or placed else _unplaceable(t, since)
    if why:
        _decide(t, since, data, va, why)
    t.require(good, "FCVI-4.2-16", what, seen, required)


def transfer(ends: Ends, op: str, from_dut: bool, size: int) -> None:
    """One Message from the end that posts it; its bytes are at the other end, both Descriptors completed well."""
    t, here, there = ends.t, not from_dut, from_dut  # whether an end is the far one
    since = len(t.tester.trace)
    data = t.rng.randbytes(size)
    source = _register(ends, here, size)
    target = _register(ends, there, size, rdma_write=op == "rdma-write", rdma_read=op == "rdma-read")
    remote = {"va": target.text("va"), "handle": target.integer("handle")} if op != "send" else None
    reads = op == "rdma-read"
    _write(ends, there if reads else here, (target if reads else source).integer("mem"), data)
    if op == "send":
        _post(ends, there, "recv", target.integer("mem"), size)
    _post(ends, here, op, source.integer("mem"), size, remote)

    def complete() -> bool:
        return _done(ends, here, "send") is not None and (op != "send" or _done(ends, there, "recv") is not None)

    if reads and from_dut:
        t.settle()
        asked = [iu for iu in t.tester.inbox if iu.kind == "READ_RQST" and iu.last.edition]
        if any(not iu.dh("VI_RMT_TOT_LEN") for iu in asked):
            raise Inconclusive("the DUT gives no length with an RDMA Read (R04): the far side gives it nothing")
    t.owed(complete)  # as long as a response is awaited (8.3), in however many frames it comes
    for far, queue in ((here, "send"), *(((there, "recv"),) if op == "send" else ())):
        done = _done(ends, far, queue)
        where = "far side" if far else "DUT"
        _agree(t, since, done is not None and done.good, done or "not completed", f"{queue} Descriptor of the {where} for {op}",
               "completed", data, int(target.text("va"), 16))  # fmt: skip
        if done is not None:
            (ends.second.completions if far else t.completions).remove(done)
    where_it_ends = here if reads else there, (source if reads else target).integer("mem"), size
    t.owed(lambda: _read(ends, *where_it_ends) == data)  # a Write may complete before it arrives
    seen = _read(ends, *where_it_ends)
    at = next((n for n, (a, b) in enumerate(zip(seen, data)) if a != b), 0)
    _agree(t, since, seen == data, seen[at : at + 24].hex(), f"bytes of the {op} from byte {at} on", data[at : at + 24].hex(),
           data, int(target.text("va"), 16))  # fmt: skip
