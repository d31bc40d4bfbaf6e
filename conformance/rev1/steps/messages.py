"""VI Messages of Rev 1.0 in both directions, and the checks on each frame of the DUT's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Optional, Sequence

from fcvi.engine.scenario import Failed
from fcvi.engine.upper_tester import Completion
from fcvi.fc.build import SOF, RawFrame
from fcvi.fc.message import Cut, frames_of, send_frames
from fcvi.fc.received import Exchange, Received

from conformance.fcvi.steps.messages import (
    Region, expect_good, in_error, memory, next_completion, post, register, state_of, written_otherwise,
)  # fmt: skip

from .connection import (
    BY_KERNEL, RR, STATE, Scenario, Setup, answer_disconnect, check_disconnect, check_header, check_state, level_of,
)  # fmt: skip

IU = {"send": "SEND_RQST", "rdma-write": "WRITE_RQST", "rdma-read": "READ_RQST"}
OP_PICS = {"send": "send", "rdma-write": "rdma_write", "rdma-read": "rdma_read"}
_NEXT = {"SEND_RQST": "REV1-6.1-02", "WRITE_RQST": "FCVI-6.4.2-08", "READ_RQST": "FCVI-6.6.2-06"}
_PRESENT = {"SEND_RQST": "FCVI-6.2.1-01", "WRITE_RQST": "FCVI-6.4.1-01", "READ_RQST": "FCVI-6.6.1-01"}
_DATA = {"SEND_RQST": "FCVI-6.2.1-01", "WRITE_RQST": "FCVI-6.4.1-01", "READ_RESP": "FCVI-6.7.1-02"}
_RESPONSE = {"SEND_RESP": "FCVI-6.3.1-01", "WRITE_RESP": "FCVI-6.5.1-01"}
_REQUIRED = {"SEND_RESP": "FCVI-5.2.2-04", "WRITE_RESP": "FCVI-5.2.3-04"}
_OPCODE = {"SEND_RESP": "FCVI-6.3.2-03", "WRITE_RESP": "FCVI-6.5.2-03"}
_WRAP = 0xFFFFFFFF
FILL = b"\xa5"


def pattern(length: int, seed: int = 0) -> bytes:
    """Bytes in which no displaced piece looks right."""
    return bytes((i * 7 + i // 251 + seed * 31) & 0xFF for i in range(length))


def answered(t: Scenario, op: str = "send") -> bool:
    """Whether a Message of this operation gets a response (5.2)."""
    return op == "rdma-read" or level_of(t) == RR


# ---- Messages of the tester ----


@dataclass
class Sent:
    """A Message of the tester."""

    exchange: Exchange
    number: int
    op: str
    frames: list[RawFrame]


def build(
    t: Scenario,
    setup: Setup,
    data: bytes = b"",
    op: str = "send",
    *,
    number: Optional[int] = None,
    va: int = 0,
    region: int = 0,
    immediate: Optional[int] = None,
    cut: Cut = Cut(),
    **dh: int,
) -> Sent:
    """A Message, not sent yet; number None: the next one. dh: fields of the Device_Header that are to be otherwise."""
    if number is None:
        number = setup.sent
        setup.sent = (setup.sent + 1) & _WRAP
    exchange = t.tester.open_exchange()
    fields = {"VI_HANDLE": setup.dut_handle, "VI_MSG_ID": number}
    if immediate is not None:
        fields.update({"VI_FLAGS": 0x80, "NUMBER": immediate})
    if op != "send":
        fields.update({"VI_RMT_VA": va, "VI_RMT_VA_HANDLE": region})
    fields.update(dh)
    frames = frames_of(t.tester, exchange, IU[op], fields, data, answered=answered(t, op), cut=cut)
    return Sent(exchange, number, op, frames)


def transmit(t: Scenario, *sent: Sent) -> None:
    """Send Messages, one behind the other, and let the DUT take them in."""
    for one in sent:
        send_frames(t.tester, one.frames)
    t.settle()


def expect_response(t: Scenario, setup: Setup, sent: Sent, flags: Optional[int] = 0) -> Received:
    """The DUT's SEND_RESP or WRITE_RESP; flags None: any that says RESP_ERR."""
    kind = "SEND_RESP" if sent.op == "send" else "WRITE_RESP"
    row = _RESPONSE[kind]
    try:
        resp = t.expect(kind, row, exchange=sent.exchange, why="after the Message")
    except Failed:
        other = t.peek(["SEND_RESP", "WRITE_RESP", "READ_RESP"], sent.exchange)
        if other is not None:
            t.report(_OPCODE[kind], "a response of another operation", str(other), kind, at=other,
                     **t.place(other, "VI_OPCODE"))  # fmt: skip
        t.report(_REQUIRED[kind], f"no {kind} to a Message of Reliable Reception", "nothing", "one")
        raise
    check_header(t, resp)
    t.require(len(resp.frames) == 1, row, "the response has several frames", len(resp.frames), 1, at=resp)
    t.equal(resp, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
    t.equal(resp, "VI_MSG_ID", sent.number, "REV1-5.7.5-03")
    t.equal(resp, "NUMBER", 0, "REV1-5.7.6-02")
    t.equal(resp, "Last_Sequence", 1, "FCVI-5.2.1-06")
    if flags is None:
        t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    else:
        t.equal(resp, "VI_FLAGS", flags, "FCVI-T06-0")
    return resp


def deliver(
    t: Scenario, setup: Setup, data: bytes, *, cut: Cut = Cut(), immediate: Optional[int] = None, otherwise: str = ""
) -> Completion:
    """A Send of the tester arrives: response, completion and bytes. otherwise: what of its frames another port writes so."""
    region = register(t, max(len(data), 4))
    post(t, setup.vi, "recv", region)
    sent = build(t, setup, data, cut=cut, immediate=immediate)
    sent.frames = written_otherwise(t, otherwise, sent.frames)
    transmit(t, sent)
    if answered(t):
        expect_response(t, setup, sent)
    done = expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", len(data))
    seen = memory(t, region, len(data))
    t.require(seen == data, "FCVI-6.2.1-01", "a Send arrived with other bytes", seen[:16].hex(), data[:16].hex())
    return done


def written(t: Scenario, region: Region, data: bytes, offset: int = 0) -> bool:
    """Wait for the bytes of an RDMA Write."""
    return t.owed(lambda: memory(t, region, len(data), offset) == data)


def take_read(t: Scenario, sent: Sent, length: int, requirement: str = "FCVI-6.7.1-02") -> list[Received]:
    """Every FCVI_READ_RESP of the DUT to this RDMA Read."""
    ius: list[Received] = []
    while True:
        ius.append(t.expect("READ_RESP", requirement, exchange=sent.exchange, why="after FCVI_READ_RQST"))
        if ius[-1].fc("Last_Sequence") or sum(len(iu.payload) for iu in ius) >= length:
            return ius


# ---- Messages of the DUT ----


@dataclass
class Taken:
    """A Message Request of the DUT."""

    exchange: Exchange
    ius: list[Received]
    data: bytes

    @property
    def last(self) -> Received:
        """The IU that ended it."""
        return self.ius[-1]


def take(t: Scenario, setup: Setup, op: str, data: Optional[bytes], *, within_us: Optional[int] = None) -> Taken:
    """Take a Message Request of the DUT and compare all of it; data None: whatever it carries."""
    kind = IU[op]
    ius: list[Received] = []
    length = 0
    while True:
        on = ius[0].exchange if ius else None
        try:
            iu = t.expect(kind, _PRESENT[kind], exchange=on, within_us=within_us, why=f"number {setup.got}")
        except Failed:
            _one_exchange(t, kind, on, setup.got)
            raise
        ius.append(iu)
        length += len(iu.payload)
        if iu.fc("Last_Sequence") or iu.fc("Sequence_Initiative") or (data is not None and length >= len(data) > 0):
            break
    taken = Taken(ius[0].exchange, ius, b"".join(i.payload for i in ius))
    for iu in ius:
        check_header(t, iu)
    in_all(t, ius, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
    in_all(t, ius, "VI_MSG_ID", setup.got, "REV1-5.7.5-01" if setup.got == 0 else _NEXT[kind])
    same_in_each(t, ius, "REV1-6.1-01" if op == "send" else _PRESENT[kind])
    if op != "rdma-read":
        check_offsets(t, ius)
    check_counts(t, ius)
    if data is not None and op != "rdma-read":
        t.require(taken.data == data, _DATA[kind], "the Message Data differ from what was posted",
                  f"{len(taken.data)} bytes {taken.data[:12].hex()}", f"{len(data)} bytes {data[:12].hex()}", at=iu)  # fmt: skip
    _check_end(t, taken, op)
    setup.got = (setup.got + 1) & _WRAP
    return taken


def _one_exchange(t: Scenario, kind: str, on: Optional[Exchange], number: int) -> None:
    """The rest of a Message came on another Exchange than that which the Message began with (4.2, 5.2)."""
    other = t.peek([kind])
    if on is not None and other is not None and other.dh("VI_MSG_ID") == number:
        t.report("FCVI-4.2-02", "a Message in two Exchanges", str(other.exchange), str(on), at=other)


def _check_end(t: Scenario, taken: Taken, op: str) -> None:
    if op == "rdma-read":
        t.equal(taken.last, "Sequence_Initiative", 1, "REV1-6.5-02")
    elif answered(t, op):
        t.equal(taken.last, "Last_Sequence", 0, "FCVI-5.2.1-04")
        t.equal(taken.last, "Sequence_Initiative", 1, "FCVI-6.2.1-05" if op == "send" else "FCVI-6.4.1-06")
    else:
        t.equal(taken.last, "Last_Sequence", 1, "FCVI-6.2.1-04" if op == "send" else "FCVI-6.4.1-05")


def each_frame(iu: Received) -> list[Received]:
    """The frames of an IU one by one, so that a finding names the right one."""
    if len(iu.frames) == 1:
        return [iu]
    return [replace(iu, numbers=[n], frames=[f]) for n, f in zip(iu.numbers, iu.frames)]


def in_all(t: Scenario, ius: Sequence[Received], name: str, wanted: int, requirement: str) -> bool:
    """The field has this value in every frame; the first that differs is reported."""
    frames = [frame for iu in ius for frame in each_frame(iu)]
    wrong = next((frame for frame in frames if frame.dh(name) != wanted), frames[0])
    return t.equal(wrong, name, wanted, requirement)


def same_in_each(t: Scenario, ius: Sequence[Received], requirement: str) -> None:
    """Every frame of an IU has the same Device_Header (6.1, 6.3, 6.6)."""
    for iu in ius:
        headers = [f.device_header for f in iu.frames]
        for number, header in zip(iu.numbers, headers):
            if header != headers[0]:
                t.report(requirement, f"the Device_Header of frame {number} is not that of the first", header.hex(),
                         headers[0].hex(),
                         at=iu)  # fmt: skip
                return


def check_counts(t: Scenario, ius: Sequence[Received], starts: bool = True) -> None:
    """SEQ_CNT: 0 in the first frame of the Exchange, one more each, no wrap within an IU."""
    frames = [frame for iu in ius for frame in each_frame(iu)]
    seen = [frame.fc("SEQ_CNT") for frame in frames]
    if starts:
        t.equal(frames[0], "SEQ_CNT", 0, "REV1-5.4-02")
        t.equal(frames[0], "First_Sequence", 1, "FCVI-5.8.1-01")
    check_delimiters(t, ius)
    wanted = [(seen[0] + i) & 0xFFFF for i in range(len(seen))]
    t.require(seen == wanted, "REV1-5.6.5-01", "SEQ_CNT", seen[:20], wanted[:20], at=frames[-1])
    for iu in ius:
        counts = [frame.fc("SEQ_CNT") for frame in each_frame(iu)]
        t.require(counts == sorted(counts), "REV1-5.4-03", "SEQ_CNT wraps within an IU", counts[:20], "no wrap", at=iu)


def check_delimiters(t: Scenario, ius: Sequence[Received]) -> None:
    """SOFi begins each Sequence, and SOFn each further frame of it (FC-PH); a link that does not tell is not judged."""
    first = {begins for begins, _ in SOF.values()}
    for iu in ius:
        for at, (number, frame) in enumerate(zip(iu.numbers, each_frame(iu))):
            sof = t.tester.trace[number - 1].sof
            if sof and (sof in first) != (at == 0):
                t.report("FCVI-5.8.1-01", f"SOF of frame {number}, the {at + 1}. of its Sequence", f"{sof:02X}h",
                         "SOFi" if at == 0 else "SOFn", at=frame)  # fmt: skip
                return


def check_offsets(t: Scenario, ius: Sequence[Received], requirement: str = "REV1-5.6.6-01") -> None:
    """RLTV_OFF: the displacement of the payload, from 0; over several IUs it goes on or begins again (R02). It is word 5 also
    where F_CTL says that no Relative Offset is present, which is the other reading of R22.
    """
    start = 0  # of the IU in the Message
    denied = False
    for iu in ius:
        at = 0
        restarted = False
        for frame in each_frame(iu):
            if not frame.last.payload:
                continue
            if not frame.fc("Relative_Offset_Present") and not denied:
                denied = True
                t.report(requirement, "Relative Offset Present in a frame with payload", "0", "1", at=frame, erratum="R22",
                         **t.place(frame, "Relative_Offset_Present"))  # fmt: skip
            seen = frame.fc("Parameter")
            if at == 0 and start and seen == 0:
                restarted = True
            wanted = at if restarted else start + at
            if seen != wanted:
                t.report(requirement, "RLTV_OFF", f"{seen:X}h", f"{wanted:X}h", at=frame, **t.place(frame, "Parameter"))
                return
            at += len(frame.last.payload)
        if restarted and not _va_goes_on(ius, iu, start):
            t.report(requirement, "RLTV_OFF begins again in the next IU", "0", f"{start:X}h", at=iu, erratum="R02")
        start += at


def _va_goes_on(ius: Sequence[Received], iu: Received, start: int) -> bool:
    return iu.kind == "WRITE_RQST" and iu.dh("VI_RMT_VA") == ius[0].dh("VI_RMT_VA") + start


def check_target(t: Scenario, taken: Taken, va: int, region: int) -> None:
    """VI_RMT_VA and VI_RMT_VA_HANDLE of an RDMA Message: with RLTV_OFF each frame goes where the Descriptor said (R02)."""
    in_all(t, taken.ius, "VI_RMT_VA_HANDLE", region, "REV1-5.7.8-01")
    check_words(t, taken.ius[0], va, region)
    placed = 0
    for iu in taken.ius:
        for frame in each_frame(iu):
            if not frame.last.payload:
                continue
            seen = (frame.dh("VI_RMT_VA") + frame.fc("Parameter")) & (2**64 - 1)
            t.require(seen == va + placed, "REV1-5.7.7-01", "VI_RMT_VA and RLTV_OFF", f"{seen:016X}h", f"{va + placed:016X}h",
                      at=frame)
            placed += len(frame.last.payload)


def check_words(t: Scenario, iu: Received, va: int, region: int) -> None:
    """Table 3: the address takes words 4 and 5, most significant byte first, and its handle word 6."""
    seen, handle = iu.dh("VI_RMT_VA"), iu.dh("VI_RMT_VA_HANDLE")
    swapped = (va & 0xFFFFFFFF) << 32 | va >> 32
    for row in ("FCVI-5.9.8-03", "FCVI-T04-w4"):
        t.require(seen != swapped or seen == va, row, "the words of VI_RMT_VA are exchanged", f"{seen:016X}h", f"{va:016X}h", at=iu,
                  **t.place(iu, "VI_RMT_VA"))  # fmt: skip
    moved = region << 32 | va >> 32
    t.require(seen != moved or handle != va & 0xFFFFFFFF, "FCVI-T04-w4", "the handle stands before VI_RMT_VA", f"{seen:016X}h",
              f"{va:016X}h", at=iu, **t.place(iu, "VI_RMT_VA"))  # fmt: skip


def check_immediate(t: Scenario, taken: Taken, immediate: Optional[int], requirement: str = "REV1-5.7.2-02") -> None:
    """IMM_DATA is bit 7, and VI_PARAMETER has the value; without Immediate Data both are zero. Of several IUs the first or the last
    alone may carry it, which is the other reading of R42.
    """
    ius, clause = taken.ius, "6.4.2" if taken.ius[0].kind == "WRITE_RQST" else "6.2.2"
    value_row, none_row = (f"FCVI-{clause}-0{n}" for n in (6, 7))
    carry = [iu for iu in ius if all(frame.dh("VI_FLAGS") == 0x80 for frame in each_frame(iu))]
    if immediate is not None and len(ius) > 1 and len(carry) == 1 and (carry[0] is ius[0] or carry[0] is ius[-1]):
        t.report(requirement, "one IU of several carries the Immediate Data", str(carry[0]), "each", at=carry[0], erratum="R42")
        rest = [iu for iu in ius if iu is not carry[0]]
        in_all(t, rest, "VI_FLAGS", 0, none_row)
        in_all(t, rest, "NUMBER", 0, none_row)
        ius = carry
    in_all(t, ius, "VI_FLAGS", 0 if immediate is None else 0x80, none_row if immediate is None else requirement)
    in_all(t, ius, "NUMBER", immediate or 0, none_row if immediate is None else value_row)


def originate(
    t: Scenario, setup: Setup, data: bytes, op: str = "send", *, remote: Optional[tuple[int, int]] = None,
    immediate: Optional[int] = None, region: Optional[Region] = None,
) -> Region:  # fmt: skip
    """Post a Send, or an RDMA operation to this remote address and handle. Returns its memory."""
    if region is None:
        region = register(t, max(len(data), 4), data=data if data else None)
    code = post(t, setup.vi, op, region, length=len(data), remote=remote, immediate=immediate)
    t.require(code == "VIP_SUCCESS", "FCVI-4.2-01", f"VipPostSend returned {code}", code, "VIP_SUCCESS")
    return region


def respond(t: Scenario, setup: Setup, taken: Taken, flags: int = 0) -> None:
    """SEND_RESP or WRITE_RESP of the tester."""
    name = "SEND_RESP" if taken.ius[0].kind == "SEND_RQST" else "WRITE_RESP"
    t.tester.assign_rx_id(taken.exchange)
    t.send(name, taken.exchange, {"VI_HANDLE": setup.dut_handle, "VI_FLAGS": flags})
    t.settle()


def respond_with(t: Scenario, setup: Setup, taken: Taken, data: bytes, *, flags: int = 0, cut: Cut = Cut(), **dh: int) -> None:
    """READ_RESP of the tester."""
    send_frames(t.tester, response_of(t, setup, taken, data, flags=flags, cut=cut, **dh))
    t.settle()


def response_of(
    t: Scenario, setup: Setup, taken: Taken, data: bytes, *, flags: int = 0, cut: Cut = Cut(), **dh: int
) -> list[RawFrame]:
    """The frames of a READ_RESP of the tester, not sent yet."""
    t.tester.assign_rx_id(taken.exchange)
    fields = {"VI_HANDLE": setup.dut_handle, "VI_MSG_ID": taken.exchange.asked, "VI_FLAGS": flags, **dh}
    return frames_of(t.tester, taken.exchange, "READ_RESP", fields, data, answered=False, cut=cut)


def exchange_a_send(t: Scenario, setup: Setup, length: int = 40) -> None:
    """A Send of the DUT and one of the tester arrive: the positive control of a Connection."""
    data = pattern(length, setup.got)
    originate(t, setup, data)
    taken = take(t, setup, "send", data)
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    deliver(t, setup, pattern(length, 100 + setup.sent))


def broken(t: Scenario, setup: Setup, requirement: str, why: str) -> None:
    """The VI is in Error; when it goes there is the implementation's (clause 8)."""
    t.owed(lambda: state_of(t, setup.vi) == STATE["error"])
    seen = state_of(t, setup.vi)
    t.require(seen == STATE["error"], requirement, f"the state of the VI {why}", seen, STATE["error"])


def provider(t: Scenario, setup: Setup) -> None:
    """A provider may end the Connection by itself (5.3.5, 5.7.2)."""
    t.wait(t.ulp_timeout_us // 10)
    rqst = t.peek(["DISCONNECT_RQST"])
    if rqst is not None:
        rqst.taken = True
        check_disconnect(t, rqst, setup, BY_KERNEL)
        answer_disconnect(t, rqst, setup)


def untouched(t: Scenario, setup: Setup, requirement: str, why: str) -> None:
    """Another VI is as it was: Connected, and Messages pass."""
    seen = state_of(t, setup.vi)
    if t.require(seen == STATE["connected"], requirement, f"another VI left Connected {why}", seen, STATE["connected"]):
        deliver(t, setup, pattern(24, 3))


def completed(t: Scenario, vi: int, queue: str = "recv") -> Optional[Completion]:
    """A completion of this queue that has come, if there is one; it is taken."""
    found = next((c for c in t.completions if c.vi == vi and c.queue == queue), None)
    if found is not None:
        t.completions.remove(found)
    return found


def until_completed(t: Scenario, vi: int, queue: str) -> Optional[Completion]:
    """Wait for a completion of this queue."""
    t.owed(lambda: any(c.vi == vi and c.queue == queue for c in t.completions))
    return completed(t, vi, queue)


Check = Callable[[Scenario, Setup, Mapping[str, Any]], None]

__all__ = [
    "Cut", "FILL", "IU", "OP_PICS", "Region", "Sent", "Taken", "answered", "broken", "build", "check_counts", "check_immediate",
    "check_offsets", "check_state", "check_target", "check_words", "completed", "deliver", "each_frame", "exchange_a_send",
    "expect_good", "expect_response", "in_all", "in_error", "memory", "next_completion", "originate", "pattern", "post", "provider",
    "register", "respond", "respond_with", "response_of", "same_in_each", "state_of", "take", "take_read", "transmit",
    "until_completed", "untouched", "written",
]  # fmt: skip
