"""Broken devices for connections that end while a Message is under way, by a Disconnect or a logout (8.1, 7.7.1, 7.7.2)."""

from __future__ import annotations

from typing import Any, Callable

from fcvi.engine.attachment import Notification
from fcvi.fc import codec
from fcvi.fc.received import kind_of

from conformance.fcvi.steps.deliveries import GUARD
from conformance.fcvi.steps.lossy_line import PIECE

from .bank.frames import iu_after
from .faulty import _CONNECTED, _ERROR, Fault, FaultyDut

Act = Callable[[FaultyDut, codec.Frame], None]
_UD, _RD, _RR = "unreliable", "reliable-delivery", "reliable-reception"


def over(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """From this frame of the device on its connection is over."""
    dut.memory.update(over=True, handle=view.get("DH", "FCVI_HANDLE"))


def after(kind: str, act: Act, *ends: str) -> Callable[[FaultyDut, codec.Frame], None]:
    """What the device does with frames of a kind when its connection is over; ends: frames of the tester that end it."""

    def hears(dut: FaultyDut, view: codec.Frame) -> None:
        seen = kind_of(view)
        if seen in ends:
            dut.memory["over"] = True
        elif seen == kind and dut.memory.get("over"):
            act(dut, view)

    return hears


def completes(queue: str) -> Act:
    """A Descriptor of VI 0 completes, and all is well."""

    def act(dut: FaultyDut, view: codec.Frame) -> None:
        done = {"vi": 0, "queue": queue, "status": ["VIP_STATUS_DONE"], "length": 16, "immediate": None}
        dut.inbox.append(Notification("completion", done, dut.now_us, dut.now_us))

    return act


def posts_when_over(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """Note that a receive Descriptor was posted to a VI whose connection is over."""
    dut.memory["posted"] = dut.memory.get("over", False)
    return result


def completes_what_is_posted(dut: FaultyDut, view: codec.Frame) -> None:
    """The first Descriptor that was posted since the connection is over completes; without one the frame is left alone."""
    if dut.memory.pop("posted", False):
        completes("recv")(dut, view)


def writes(dut: FaultyDut, view: codec.Frame) -> None:
    """The data are placed in the first region."""
    offset = view.header("Parameter")
    dut.request("mem.write", {"mem": 0, "offset": offset, "hex": view.payload.hex()})


def answers(kind: str, nth: int = 1, **dh: int) -> Act:
    """An IU of this kind answers the nth frame."""

    def act(dut: FaultyDut, view: codec.Frame) -> None:
        dut.memory["heard"] = dut.memory.get("heard", 0) + 1
        if dut.memory["heard"] != nth:
            return
        made = bytearray(iu_after(kind, view, view.data, True))
        made[1:4], made[5:8] = made[5:8], made[1:4]
        for name, value in (("Exchange_Context", 1), ("Last_Sequence", int(kind.startswith("SEND"))), ("SEQ_CNT", 0),
                            ("Sequence_Initiative", int(kind.startswith("CONNECT"))), ("RX_ID", 0x7FF0)):  # fmt: skip
            codec.put("FC", name, made, value)
        for name, number in {"FCVI_HANDLE": dut.memory.get("handle", 0), **dh}.items():
            codec.put("DH", name, made, number, 24)
        dut.late({"hex": made.hex(), "crc": "ok"})

    return act


def every_good(queue: str) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    """Say of every Descriptor of the queue that all is well."""

    def edit(dut: Any, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "status": ["VIP_STATUS_DONE"]} if params["queue"] == queue else params

    return edit


def places_at_once(dut: FaultyDut, view: codec.Frame) -> None:
    """The Message that waits is placed in the second buffer, where the one before it belongs."""
    if view.iu == "SEND_RQST" and view.get("DH", "FCVI_MSG_ID") == 3:
        dut.memory["placed"] = dut.request("mem.write", {"mem": 0, "offset": 4 * PIECE + GUARD, "hex": view.payload.hex()})


def first_flushed_is_good(dut: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The Disconnect delivers what was placed, though the Message before it is missing."""
    if dut.memory.pop("placed", None) is None:
        return params
    return {**params, "status": ["VIP_STATUS_DONE"], "length": PIECE}


def in_error_once_over(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """The VI is in Error when something has ended the connection."""
    return {**result, "State": _ERROR} if dut.memory.get("over") and result["State"] == _CONNECTED else result


_OVER: dict[str, Any] = {"out": {"DISCONNECT_RQST": over}}

FAULTS = [
    Fault("half-a-message-is-good", f"8.1.inbound/{_RD}/send/half/by-dut", "FCVI-5.2.1-10", completions=every_good("recv")),
    Fault("delivers-what-waits", f"8.1.inbound/{_RD}/waits/by-dut", "FCVI-8.1-03", completions=first_flushed_is_good,
          hears=places_at_once),
    Fault("completes-when-idle", f"8.1.inbound/{_UD}/send/half/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("SEND_RQST", completes("recv"))),
    Fault("completes-what-is-posted-when-idle", f"8.1.inbound/{_UD}/send/half/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("SEND_RQST", completes_what_is_posted), results={"VipPostRecv": posts_when_over}),
    Fault("waiting-message-in-error", f"8.1.inbound/{_RD}/waits/by-tester", "FCVI-8.1-01",
          hears=after("SEND_RQST", completes("recv"), "DISCONNECT_RQST")),
    Fault("writes-when-idle", f"8.1.inbound/{_RD}/rdma-write/half/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("WRITE_RQST", writes)),
    Fault("answers-when-idle", f"8.1.inbound/{_RR}/send/half/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("SEND_RQST", answers("SEND_RESP", 2))),
    Fault("open-message-is-good", "8.1.outbound/send/by-dut", "FCVI-8.1-03", completions=every_good("send")),
    Fault("response-completes-when-idle", "8.1.outbound/rdma-write/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("WRITE_RESP", completes("send"))),
    Fault("response-completes-in-error", "8.1.outbound/send/by-tester", "FCVI-8.1-01",
          hears=after("SEND_RESP", completes("send"), "DISCONNECT_RQST")),
    Fault("places-a-read-when-idle", f"8.1.outbound/{_RD}/rdma-read/by-dut", "FCVI-8.1-03", **_OVER,
          hears=after("READ_RESP", lambda dut, view: dut.memory.update(region=dut.request(
              "mem.write", {"mem": 1, "offset": view.header("Parameter"), "hex": view.payload.hex()})))),
    Fault("delivers-after-logout", f"7.7.1.inbound/{_RD}/by-tester", "FCVI-7.7.1-05",
          hears=after("SEND_RQST", completes("recv"), "LOGO")),
    Fault("delivers-after-a-second-login", f"7.7.1.inbound/{_UD}/relogin", "FCVI-7.7.1-05",
          hears=after("SEND_RQST", completes("recv"), "PLOGI")),
    Fault("silent-to-a-disconnect-after-login", f"7.7.1.inbound/{_UD}/by-dut", "FCVI-6.13.1-01", into={"DISCONNECT_RQST"}),
    Fault("reads-for-who-logged-out", f"7.7.1.read/{_RD}/by-tester", "FCVI-7.7.1-05",
          hears=after("READ_RQST", answers("READ_RESP"), "LOGO")),
    Fault("accepts-before-login", "7.7.2.request/class3", "FCVI-7.7.2-02", out={"CONNECT_RESP3": over},
          hears=after("CONNECT_RQST", answers("CONNECT_RESP1", CONN_MODE=1))),
    Fault("prlo-ends-connections", "7.7.1.process/another-fc-4", "FCVI-8.2-d1", results={"VipQueryVi": in_error_once_over},
          hears=after("", lambda dut, view: None, "PRLO")),
]  # fmt: skip
