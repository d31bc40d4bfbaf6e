"""Broken devices: the reference port with one rule broken on the way out, or in.

Nothing of this is in the normal build. Each fault says which case variant has to fail, and for which requirement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from fcvi.fc import codec
from fcvi.fc.build import UNASSIGNED
from fcvi.engine.attachment import Notification, Reply
from fcvi.dut.ref import RefDut
from fcvi.fc.received import kind_of

FrameEdit = Callable[["FaultyDut", codec.Frame, bytearray], Optional[list[bytes]]]
ParamsEdit = Callable[[dict[str, Any]], dict[str, Any]]
ResultEdit = Callable[["FaultyDut", dict[str, Any]], dict[str, Any]]


@dataclass
class Fault:
    """One broken device."""

    name: str
    case: str  # the variant that has to fail
    requirement: str  # and the requirement that has to be named
    out: dict[str, FrameEdit] = field(default_factory=dict)  # by kind of frame that the DUT sends
    into: set[str] = field(default_factory=set)  # kinds of frames that the DUT does not hear
    results: dict[str, ResultEdit] = field(default_factory=dict)  # by method
    config: dict[str, Any] = field(default_factory=dict)  # of reset: members, or what to make of the value asked for
    hears: Optional[Callable[[FaultyDut, codec.Frame], Optional[bytes]]] = None  # takes note of each frame, or hears another
    completions: Optional[Callable[[Any, dict[str, Any]], dict[str, Any]]] = None  # edits of completions
    mute: set[str] = field(default_factory=set)  # notifications that are not sent
    ignore_calls: set[str] = field(default_factory=set)  # calls answered with VIP_SUCCESS and nothing done
    params: dict[str, ParamsEdit] = field(default_factory=dict)  # by method: what the device makes of a call


class FaultyDut(RefDut):
    """The reference port with a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.counts: dict[str, int] = {}
        self.memory: dict[str, Any] = {}
        self.receive_size = 2112  # longest Data_Field that the other side takes
        self.tester_id = 0  # N_Port_ID of the tester, as reset told it
        super().__init__("faulty:" + fault.name)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method in self.fault.mute:
            return
        if method == "completion" and self.fault.completions is not None:
            params = self.fault.completions(self, params)
        if method != "frame":
            super()._emit(method, params)
            return
        data = bytes.fromhex(params["hex"])
        view = codec.decode(data)
        kind = kind_of(view)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        edit = self.fault.out.get(kind) or self.fault.out.get("*")
        frames: Optional[list[bytes]] = None
        buf = bytearray(data)
        if edit is not None:
            frames = edit(self, view, buf)
        for sent in [bytes(buf)] if frames is None else frames:
            super()._emit("frame", {**params, "hex": sent.hex()})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            view = codec.decode(bytes.fromhex(params["hex"]))
            if kind_of(view) in self.fault.into:
                return
            heard = self.fault.hears(self, view) if self.fault.hears is not None else None
            params = params if heard is None else {**params, "hex": heard.hex()}
        super().notify(method, params)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        if method in self.fault.ignore_calls:
            return Reply(method, True, {"return": "VIP_SUCCESS"})
        params = self.fault.params.get(method, lambda p: p)(params)
        if method == "reset":
            members = self.fault.config.items()
            params = {**params, **{name: value(params[name]) if callable(value) else value for name, value in members}}
        reply = super().request(method, params)
        if reply.done:
            self._edit_result(reply)
        return reply

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        reply = self._replies[token]
        super()._answer(token, result, error)
        self._edit_result(reply)

    def _edit_result(self, reply: Reply) -> None:
        edit = self.fault.results.get(reply.method)
        if edit is not None and reply.error is None and {"return", "hex"} & reply.result.keys() and "edited" not in reply.result:
            reply.result = {**edit(self, dict(reply.result)), "edited": True}

    def reset(self, config: dict[str, Any]) -> None:
        self.counts.clear()
        self.memory.clear()
        self.receive_size = int(config["receive_size"])
        self.tester_id = int(config["peer"]["n_port_id"], 16)
        super().reset(config)

    def late(self, params: dict[str, Any]) -> None:
        """Send a notification that the fault invents."""
        self.inbox.append(Notification("frame", params, self.now_us, self.now_us))


# ---- edits ----


def put(structure: str, name: str, value: int | Callable[[int], int], nth: int = 0) -> FrameEdit:
    """Set a field (of the nth frame of its kind only, when nth is given)."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        if nth and dut.counts[kind_of(view)] != nth:
            return
        offset = {"FC": 0, "DH": view.dh_offset}.get(structure, view.payload_offset)
        old = codec.get(structure, name, bytes(buf), offset)
        assert isinstance(old, int)
        codec.put(structure, name, buf, value(old) if callable(value) else value, offset)

    return edit


def drop(nth: int = 0) -> FrameEdit:
    """Do not send it (the nth only, when nth is given)."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
        return [] if not nth or dut.counts[kind_of(view)] == nth else None

    return edit


def twice(nth: int = 0) -> FrameEdit:
    """Send it twice, on another Exchange the second time."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
        if nth and dut.counts[kind_of(view)] != nth:
            return None
        again = bytearray(buf)
        codec.put("FC", "OX_ID", again, 0x7FFE)
        return [bytes(buf), bytes(again)]

    return edit


def returns(code: str, instead_of: Optional[str] = None) -> ResultEdit:
    """Return another VIPL code."""

    def edit(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
        if instead_of is not None and result["return"] != instead_of:
            return result
        return {**result, "return": code}

    return edit


def state(name: str, instead_of: str) -> ResultEdit:
    """Report the state `name` where it is `instead_of`."""

    def edit(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "State": name} if result.get("State") == instead_of else result

    return edit


def flip(name: str) -> FrameEdit:
    """Invert a one-bit field of the Device_Header."""
    return put("DH", name, lambda old: old ^ 1)


def first_id_again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """The retry with the FCVI_CONNECTION_ID of the first attempt."""
    seen = view.get("DH", "FCVI_CONNECTION_ID")
    codec.put("DH", "FCVI_CONNECTION_ID", buf, dut.memory.setdefault("id", seen), 24)


_IDLE, _CONNECTED, _ERROR = "VIP_STATE_IDLE", "VIP_STATE_CONNECTED", "VIP_STATE_ERROR"
_SUCCESS = "VIP_SUCCESS"
_HALF: dict[str, Any] = {"r_a_tov_us": lambda us: us // 2}
_DOUBLE: dict[str, Any] = {"r_a_tov_us": lambda us: us * 2}
TEN_SECONDS = {"r_a_tov_us": 10_000_000}  # built in, whatever R_A_TOV is (8.3)
_C, _S = "dut-client", "dut-server"


def good_recv(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Say of every receive Descriptor that all is well."""
    return {**params, "status": ["VIP_STATUS_DONE", "VIP_STATUS_OP_RECEIVE"]}


def early_message(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A Message behind FCVI_CONNECT_RQST, before there is a connection."""
    message = bytearray(buf[:56])
    for structure, name, value in (("FC", "R_CTL", 1), ("FC", "OX_ID", 0x6666), ("FC", "Last_Sequence", 1),
                                   ("FC", "Sequence_Initiative", 0), ("DH", "FCVI_OPCODE", 0), ("DH", "FCVI_FLAGS", 0),
                                   ("DH", "FCVI_HANDLE", 5), ("DH", "FCVI_MSG_ID", 1)):  # fmt: skip
        codec.put(structure, name, message, value, 0 if structure == "FC" else 24)
    return [bytes(buf), bytes(message)]


FAULTS = [
    # 4.2, 5.2.1
    Fault("message-before-resp2", "4.2.25/pending", "FCVI-5.9.3-03", out={"CONNECT_RQST": early_message}),
    Fault("unequal-levels-connected", "4.2.39/reliability", "FCVI-4.2-39",
          results={"VipConnectAccept": returns(_SUCCESS)}),
    Fault("gap-delivered", "5.2.1/dut-client/middle", "FCVI-5.2.1-10", completions=good_recv),
    Fault("s-id-zero", "5.3.2/dut-client", "FCVI-5.8.1-01", out={"*": put("FC", "S_ID", 0)}),
    # 5.2.2
    Fault("data-corrupted", "5.2.2.sends/dut-client/481-bytes", "FCVI-6.2.1-01",
          out={"SEND_RQST": lambda d, v, b: b.__setitem__(56, b[56] ^ 1)}),
    Fault("offset-of-each-frame-zero", "5.2.2.sends/dut-client/2403-bytes", "FCVI-5.8.7-02",
          out={"SEND_RQST": put("FC", "Parameter", 0)}),
    Fault("seq-cnt-stands-still", "5.2.2.sends/dut-server/2403-bytes", "FCVI-5.8.6-01",
          out={"SEND_RQST": put("FC", "SEQ_CNT", 0)}),
    Fault("no-last-sequence", "5.2.2.sends/dut-client/1-bytes", "FCVI-5.8.4-01",
          out={"SEND_RQST": put("FC", "Last_Sequence", 0)}),
    Fault("messages-not-received", "5.2.2.receives/dut-server/1-bytes", "FCVI-6.2.1-01", into={"SEND_RQST"}),
    Fault("wrong-bytes-received", "5.2.2.receives/dut-client/480-bytes", "FCVI-6.2.1-01",
          results={}, config={}, ignore_calls={"VipPostRecv"}),
    # 5.3.2
    Fault("rqst-handle-assigned", "5.3.2/dut-client", "FCVI-5.3.2-04",
          out={"CONNECT_RQST": put("DH", "FCVI_HANDLE", 0)}),
    Fault("rqst-revision-2", "5.3.2/dut-client", "FCVI-6.8.3-01", out={"CONNECT_RQST": put("CONN", "FCVI_REVISION", 2)}),
    Fault("rqst-peer-mode", "5.3.2/dut-client", "FCVI-T08-001", out={"CONNECT_RQST": put("DH", "CONN_MODE", 2)}),
    Fault("rqst-reserved-bit", "5.3.2/dut-client", "FCVI-T07-7..5",
          out={"CONNECT_RQST": put("DH", "FLAGS7_7_5", 1)}),
    Fault("rqst-r-ctl", "5.3.2/dut-client", "FCVI-T01-CONNECT_RQST-enc", out={"CONNECT_RQST": put("FC", "R_CTL", 6)}),
    Fault("rqst-keeps-initiative", "5.3.2/dut-client", "FCVI-5.8.4-04",
          out={"CONNECT_RQST": put("FC", "Sequence_Initiative", 0)}),
    Fault("resp2-handle", "5.3.2/dut-client", "FCVI-6.10.2-02",
          out={"CONNECT_RESP2": put("DH", "FCVI_HANDLE", lambda n: n ^ 1)}),
    Fault("resp2-restarts-seq-cnt", "5.3.2/dut-client", "FCVI-5.8.6-01", out={"CONNECT_RESP2": put("FC", "SEQ_CNT", 0)}),
    Fault("resp2-missing", "5.3.2/dut-client", "FCVI-6.10.1-01", out={"CONNECT_RESP2": drop()}),
    Fault("flags-nonzero-is-no-accept", "5.3.2/dut-client/connect-info", "FCVI-6.10.1-01", into={"CONNECT_RESP1"}),
    Fault("resp1-handle-assigned", "5.3.2/dut-server", "FCVI-5.3.2-07", out={"CONNECT_RESP1": put("DH", "FCVI_HANDLE", 7)}),
    Fault("resp1-other-id", "5.3.2/dut-server", "FCVI-6.9.2-09",
          out={"CONNECT_RESP1": put("DH", "FCVI_CONNECTION_ID", lambda n: n ^ 1)}),
    Fault("resp1-reliability-vipl-code", "5.3.2/dut-server", "FCVI-7.3-02",
          out={"CONNECT_RESP1": lambda d, v, b: b.__setitem__(56 + 310, 4)}),
    Fault("resp3-not-last", "5.3.2/dut-server", "FCVI-5.8.4-05", out={"CONNECT_RESP3": put("FC", "Last_Sequence", 0)}),
    Fault("resp3-handle", "5.3.2/dut-server", "FCVI-6.11.2-02",
          out={"CONNECT_RESP3": put("DH", "FCVI_HANDLE", UNASSIGNED)}),
    Fault("resp3-parameter", "5.3.2/dut-server", "FCVI-6.11.2-05",
          out={"CONNECT_RESP3": put("DH", "FCVI_PARAMETER", 0x10000)}),
    # 5.9.5, 5.9.7.2.1, 8.2
    Fault("reserved-bits-upset", "5.9.5/dut-server", "FCVI-4.2-33", into={"CONNECT_RQST"}),
    Fault("reject-says-no-match", "5.9.7.2.1/rejected", "FCVI-5.9.7.2.1-04",
          out={"CONNECT_RESP1": put("DH", "Reason_Code", 1)}),
    Fault("no-resp2-after-refusal", "8.2.b/01", "FCVI-6.10.1-01", out={"CONNECT_RESP2": drop()}),
    # C.5.6
    Fault("no-timeout-code-in-resp2", "C.5.6/dut-client", "FCVI-5.9.7.2.1-02",
          out={"CONNECT_RESP2": put("DH", "CONN_STS", 0)}),
    # C.5.7.1
    Fault("no-abts", "C.5.7.1/dut-client", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("t3-early", "C.5.7.1/dut-client", "FCVI-8.5.2-b", config=_HALF),
    Fault("t3-of-10-s", "C.5.7.1/dut-client", "FCVI-8.5.2-b", config=TEN_SECONDS),
    Fault("t3-late", "C.5.7.1/dut-client", "FCVI-8.5.2-b", config=_DOUBLE),
    Fault("retry-after-t1", "C.5.7.1/dut-client", "FCVI-8.5.4-01",
          out={"ABTS": lambda d, v, b: [bytes(b), d.memory["rqst"]],
               "CONNECT_RQST": lambda d, v, b: d.memory.__setitem__("rqst", bytes(b))}),
    # C.5.7.2
    Fault("no-retry", "C.5.7.2/dut-client/succeeds", "FCVI-8.5.4-01", out={"CONNECT_RQST": drop(2)}),
    Fault("two-retries", "C.5.7.2/dut-client/fails", "FCVI-8.5.4-01", out={"CONNECT_RQST": twice(2)}),
    Fault("retry-with-old-id", "C.5.7.2/dut-client/succeeds", "FCVI-8.5.4-a1", out={"CONNECT_RQST": first_id_again}),
    Fault("idle-after-failed-retry", "C.5.7.2/dut-client/fails", "FCVI-8.5.3-a1",
          results={"VipQueryVi": state(_IDLE, _ERROR)}),
    Fault("resp1-without-retry", "C.5.7.2/dut-server/first-seen-as-retry", "FCVI-5.9.4.5-06",
          out={"CONNECT_RESP1": put("DH", "RESP_RETRY", 0)}),
    Fault("unknown-setup-accepted", "C.5.7.2/dut-server/fails", "FCVI-5.9.7.3.2-11",
          out={"DISCONNECT_RESP": put("DH", "Reason_Code", 0x4B)}),
    # C.5.8
    Fault("no-abts-after-lost-resp1", "C.5.8/dut-client", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("open-setup-denied", "C.5.8/dut-server/disconnect", "FCVI-5.9.7.3.2-11",
          out={"DISCONNECT_RESP": lambda d, v, b: (b.__setitem__(29, b[29] | 1), b.__setitem__(37, 0x4A))[2:] or None}),
    Fault("resp3-without-retry", "C.5.8/dut-server/retry", "FCVI-5.9.4.5-06",
          out={"CONNECT_RESP3": put("DH", "RESP_RETRY", 0)}),
    # C.5.9
    Fault("disconnects-as-setup", "C.5.9.1/dut-client/disconnect", "FCVI-6.12.2-07",
          out={"DISCONNECT_RQST": flip("CONN_SETUP_ABORT")}),
    Fault("t2-early", "C.5.9.2/dut-server/t2", "FCVI-8.3-03", config=_HALF),
    Fault("t2-never", "C.5.9.2/dut-server/t2", "FCVI-8.5.2-c", config={"r_a_tov_us": 10**9}),
    Fault("t2-of-10-s", "C.5.9.2/dut-server/resp2-just-before-t2", "FCVI-8.3-03", config=TEN_SECONDS),
    Fault("resp2-before-t2-too-late", "C.5.9.2/dut-server/resp2-just-before-t2", "FCVI-8.3-03", config=_HALF),
    Fault("no-answer-before-t2", "C.5.9.2/dut-server/disconnect-before-t2", "FCVI-6.13.1-01",
          out={"DISCONNECT_RESP": drop()}),
    # C.5.10
    Fault("connected-without-resp3", "C.5.10/dut-client", "FCVI-8.5.3-a3",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    Fault("connected-after-disconnect", "C.5.10/dut-server", "FCVI-8.2-d3",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    # D.1
    Fault("disconnect-with-id", "D.R1/dut-client/answered", "FCVI-6.12.2-15",
          out={"DISCONNECT_RQST": put("DH", "FCVI_CONNECTION_ID", 1)}),
    Fault("disconnect-not-sent", "D.R1/dut-server/disconnect-accept", "FCVI-8.1-03", ignore_calls={"VipDisconnect"}),
    Fault("disconnect-timer-of-10-s", "D.R1/dut-client/unanswered", "FCVI-8.6.2-b", config=TEN_SECONDS),
    Fault("disconnect-timer-early", "D.R1/dut-client/unanswered", "FCVI-8.6.2-b", config=_HALF),
    Fault("abort-with-random-handle", "D.R2/answered", "FCVI-6.12.2-03",
          out={"DISCONNECT_RQST": put("DH", "FCVI_HANDLE", 0x1234)}),
    Fault("abort-with-other-id", "D.R2/answered", "FCVI-6.12.2-14",
          out={"DISCONNECT_RQST": put("DH", "FCVI_CONNECTION_ID", lambda n: n ^ 4)}),
    Fault("flags-not-repeated", "D.R3/dut-server/by-provider", "FCVI-5.9.4.6-04",
          out={"DISCONNECT_RESP": flip("VI_APP_DISCON")}),
    Fault("abort-flag-not-repeated", "D.R6/dut-server/by-provider", "FCVI-5.9.4.6-06",
          out={"DISCONNECT_RESP": flip("CONN_SETUP_ABORT")}),
    # D.2
    Fault("idle-does-not-answer", "D.2/dut-client/dut-first", "FCVI-6.13.1-01", into={"DISCONNECT_RQST"}),
    Fault("told-but-connected", "D.2/dut-server/tester-first", "FCVI-8.2-d3",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    Fault("crossing-unanswered", "D.2/dut-client/crossing", "FCVI-6.13.1-01", out={"DISCONNECT_RESP": drop()}),
]  # fmt: skip
