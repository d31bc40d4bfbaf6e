"""Checks on the Messages that the DUT originates: every Device_Header, the data, and how the Exchange ends (5.2, 6.2 to 6.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator, Mapping, Optional

from fcvi.fc import codec
from fcvi.fc.build import FC_VI
from fcvi.fc.message import Message, frames_of, send_frames, Cut
from fcvi.fc.received import Exchange, Received, kind_of
from fcvi.fc.scenario import Scenario

from .connection import Setup, check_size
from .messages import answered

_DEVICE_HEADER = 2  # the code of its Device_Header in DF_CTL (5.8.5)
_ACKS = ("ACK_1", "ACK_0")
_CLAUSE = {"send": "6.2", "rdma-write": "6.4", "rdma-read": "6.6"}
_HANDLE = {"send": "FCVI-6.2.2-02", "rdma-write": "FCVI-6.4.2-02", "rdma-read": "FCVI-6.6.2-02"}
_NUMBER = {"send": "FCVI-6.2.2-08", "rdma-write": "FCVI-6.4.2-08", "rdma-read": "FCVI-6.6.2-06"}
_TOTAL = {"send": "FCVI-6.2.2-10", "rdma-write": "FCVI-6.4.2-13", "rdma-read": "FCVI-6.6.2-09"}
_VA = {"rdma-write": "FCVI-6.4.2-09", "rdma-read": "FCVI-6.6.2-07"}
_REGION = {"rdma-write": "FCVI-6.4.2-11", "rdma-read": "FCVI-6.6.2-08"}
_INITIATIVE = {"send": "FCVI-6.2.1-05", "rdma-write": "FCVI-6.4.1-06", "rdma-read": "FCVI-6.6.1-05"}
_LAST = {"send": "FCVI-6.2.1-04", "rdma-write": "FCVI-6.4.1-05"}
_IMMEDIATE = {"send": ("FCVI-6.2.2-05", "FCVI-6.2.2-06"), "rdma-write": ("FCVI-6.4.2-05", "FCVI-6.4.2-06")}
_NO_IMMEDIATE = {"send": "FCVI-6.2.2-07", "rdma-write": "FCVI-6.4.2-07", "rdma-read": "FCVI-6.6.2-04"}


@dataclass
class Taken:
    """A Message Request of the DUT."""

    message: Message
    exchange: Exchange
    ius: list[Received]

    @property
    def last(self) -> Received:
        """The IU that ended it."""
        return self.ius[-1]


def each_frame(iu: Received) -> Iterator[Received]:
    """The frames of an IU one by one, so that a finding names the right one."""
    if len(iu.frames) == 1:
        yield iu
        return
    for number, frame in zip(iu.numbers, iu.frames):
        yield replace(iu, numbers=[number], frames=[frame])


def in_all(
    t: Scenario, ius: list[Received], name: str, wanted: int, requirement: str,
    tolerated: Optional[Mapping[int, str]] = None,
) -> bool:
    """The field has this value in every frame (E43); the first that differs is reported."""  # fmt: skip
    return all(t.equal(frame, name, wanted, requirement, tolerated) for iu in ius for frame in each_frame(iu))


def take_request(t: Scenario, setup: Setup, message: Message, within_us: Optional[int] = None) -> Taken:
    """Take a Message Request and compare all of it with what was posted."""
    ius: list[Received] = []
    got = 0
    while True:
        on = ius[0].exchange if ius else None
        requirement = f"FCVI-{_CLAUSE[message.op]}.1-01"
        limit = t.owed_us() if within_us is None else within_us
        t.until(lambda: t.peek([message.iu], on) is not None or _foreign(t, message) is not None, limit)
        if t.peek([message.iu], on) is None and (frame := _foreign(t, message)) is not None:
            seen_type = f"{frame.header('TYPE'):02X}h"
            t.fail("FCVI-5.8.3-01", f"TYPE of a frame of Message {message.number}", seen_type, "58h")
        iu = t.expect(message.iu, requirement, exchange=on, within_us=within_us, why=f"of Message {message.number}")
        ius.append(iu)
        got += len(iu.payload)
        if iu.fc("Last_Sequence") or iu.fc("Sequence_Initiative") or got >= len(message.data):
            break
    taken = Taken(message, ius[0].exchange, ius)
    _check_headers(t, setup, taken)
    _check_sequences(t, taken)
    _check_end(t, taken)
    seen = b"".join(i.payload for i in ius)
    t.require(seen == message.data, f"FCVI-{_CLAUSE[message.op]}.1-01", "the Message Data differ from what was posted",
              _excerpt(seen), _excerpt(message.data), at=iu)  # fmt: skip
    return taken


def _foreign(t: Scenario, message: Message) -> Optional[codec.Frame]:
    """A frame of the DUT that has the R_CTL of the Message and the header of FC-VI, but another TYPE."""
    r_ctl = codec.IUS[message.iu].r_ctl
    names = ("R_CTL", "Device_Header")
    for _, _, frame in t.crossed("dut"):
        if frame.kind == "malformed" or frame.header("TYPE") == FC_VI:
            continue
        if [frame.header(name) for name in names] == [r_ctl, _DEVICE_HEADER]:
            return frame
    return None


def _excerpt(data: bytes) -> str:
    return f"{len(data)} bytes {data[:12].hex()}"


def _check_headers(t: Scenario, setup: Setup, taken: Taken) -> None:
    m, ius = taken.message, taken.ius
    for iu in ius:
        check_size(t, iu)
    in_all(t, ius, "FCVI_HANDLE", setup.tester_handle, _HANDLE[m.op])
    in_all(t, ius, "FCVI_MSG_ID", m.number, "FCVI-5.9.6-03" if m.number == 1 else _NUMBER[m.op])
    total = len(m.data) if m.total is None else m.total
    in_all(t, ius, "FCVI_TOT_LEN", total, _TOTAL[m.op])
    if m.op != "send":
        in_all(t, ius, "FCVI_RMT_VA", m.va, _VA[m.op])
        in_all(t, ius, "FCVI_RMT_VA_HANDLE", m.region, _REGION[m.op])
    if m.immediate is None or m.op == "rdma-read":
        in_all(t, ius, "FCVI_FLAGS", 0, _NO_IMMEDIATE[m.op])
        in_all(t, ius, "MSG_PARAMETER", 0, "FCVI-5.9.7.1-02")
        return
    flag, value = _IMMEDIATE[m.op]
    t.equal(taken.last, "IMM_DATA", 1, flag)  # the last frame has to have it, the others may (E43)
    swapped = int.from_bytes(m.immediate.to_bytes(4, "big"), "little")
    t.equal(taken.last, "MSG_PARAMETER", m.immediate, value, {swapped: "E43"})


def _check_sequences(t: Scenario, taken: Taken) -> None:
    t.equal(next(each_frame(taken.ius[0])), "SEQ_CNT", 0, "FCVI-B.2.2-05")
    for before, iu in zip(taken.ius, taken.ius[1:]):
        if _closed(t, before, iu):
            continue  # 5.5: a Sequence that is closed has given its SEQ_ID back
        t.require(iu.fc("SEQ_ID") != before.fc("SEQ_ID"), "FCVI-5.5-03", "consecutive Sequences have the same SEQ_ID",
                  f"{iu.fc('SEQ_ID'):02X}h", "another SEQ_ID", at=iu)  # fmt: skip
    for index, iu in enumerate(taken.ius):
        for frame in each_frame(iu):
            t.equal(frame, "First_Sequence", int(index == 0), "FCVI-5.4-02")
    for iu in taken.ius[:-1]:
        t.equal(iu, "Last_Sequence", 0, "FCVI-5.2.1-05")
        t.equal(iu, "Sequence_Initiative", 0, "FCVI-5.2.1-04")


def _closed(t: Scenario, before: Received, after: Received) -> bool:
    """Class 2: the ACK of the last frame of a Sequence was sent before the next Sequence began (5.5)."""
    first, end = before.numbers[-1], after.numbers[0]
    acks = [f for n, _, f in t.crossed("tester", first) if n < end and kind_of(f) in _ACKS]
    last = before.last.header("SEQ_CNT")
    mine = [ack for ack in acks if ack.header("OX_ID") == before.exchange.ox_id]
    return any(kind_of(ack) == "ACK_0" or ack.header("SEQ_CNT") == last for ack in mine)


def _check_end(t: Scenario, taken: Taken) -> None:
    op = taken.message.op
    if answered(t, op):
        t.equal(taken.last, "Last_Sequence", 0, "FCVI-5.2.1-04")
        t.equal(taken.last, "Sequence_Initiative", 1, _INITIATIVE[op])
    else:
        t.equal(taken.last, "Last_Sequence", 1, _LAST[op])
    if op == "rdma-read":
        t.require(len(taken.last.frames) == 1, "FCVI-6.6.1-04",
                  "FCVI_READ_RQST has several frames", len(taken.last.frames), 1, at=taken.last)  # fmt: skip


# ---- the tester's answers ----


def respond(t: Scenario, setup: Setup, taken: Taken, flags: int = 0) -> None:
    """FCVI_SEND_RESP or FCVI_WRITE_RESP of the tester."""
    name = "SEND_RESP" if taken.message.op == "send" else "WRITE_RESP"
    _answering(t, taken)
    t.send(name, taken.exchange, response_header(setup, taken, flags))
    t.settle()


def respond_with(t: Scenario, setup: Setup, taken: Taken, data: bytes, cut: Cut = Cut(), flags: int = 0) -> None:
    """FCVI_READ_RESP of the tester: all of the data in these IUs and frames."""
    _answering(t, taken)
    dh = read_header(setup, taken, flags)
    send_frames(t.tester, frames_of(t.tester, taken.exchange, "READ_RESP", dh, data, answered=False, cut=cut))
    t.settle()


def answer(t: Scenario, setup: Setup, taken: Taken) -> None:
    """The response to a Message, with the data of a Read."""
    if taken.message.op == "rdma-read":
        respond_with(t, setup, taken, t.rng.randbytes(taken.message.total or 0))
    else:
        respond(t, setup, taken)


def response_header(setup: Setup, taken: Taken, flags: int = 0) -> dict[str, int]:
    """Device_Header of a Message Response."""
    return {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": taken.message.number, "FCVI_FLAGS": flags}


def read_header(setup: Setup, taken: Taken, flags: int = 0) -> dict[str, int]:
    """Device_Header of FCVI_READ_RESP: words 4 to 7 of the request again (6.7.2)."""
    m = taken.message
    return {
        **response_header(setup, taken, flags), "FCVI_RMT_VA": m.va, "FCVI_RMT_VA_HANDLE": m.region,
        "FCVI_TOT_LEN": m.total or 0,
    }  # fmt: skip


def _answering(t: Scenario, taken: Taken) -> None:
    if taken.exchange.rx_id == 0xFFFF:
        t.tester.assign_rx_id(taken.exchange)
