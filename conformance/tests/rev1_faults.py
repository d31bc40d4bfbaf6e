"""The faults of Rev 1.0, by clause (rev1_faulty.py says what they are made of)."""

from __future__ import annotations

from typing import Any

from fcvi.fc import codec

from conformance.fcvi.steps.connection import OTHER_DISCRIMINATOR

from .rev1_faulty import (
    BrokenDut, Fault, HEADER, accepting, both, cut, drop, later_frame, longer_header, no_rx_id, only, payload_byte, put, refuses,
    refusing, says_when_it_goes_on, shorter_header, state, swap_addresses, twice, with_payload,
)  # fmt: skip

_CLIENT, _SERVER = "R1.5.3.a/unreliable/class3", "R1.5.3.b/unreliable/class3"
_IU_C, _IU_RR = "R1.5.1.a/dut-client/unreliable/class3/dut-ends", "R1.5.1.a/dut-client/reliable-reception/class3/dut-ends"
_ERROR, _CONNECTED = "VIP_STATE_ERROR", "VIP_STATE_CONNECTED"
_MESSAGE = ("SEND_RQST", "WRITE_RQST")
_LATE, _HIGHER, _LOWER = "R1.5.3.3.a/dut-late/nobody-waits", "R1.5.3.4.a/dut-higher/last-byte", "R1.5.3.4.a/dut-lower/last-byte"
_DISCONNECT = "R1.5.3.5.a/dut-client/unreliable/dut/after-3"
_BY_TESTER = "R1.5.3.5.a/dut-server/unreliable/tester/application"
_WRITES = "R1.6.3.a/unreliable/class3/dut-writes/2000-bytes"
_TESTER_WRITES = "R1.6.3.a/unreliable/tester-writes/one-iu"
_READ = "R1.6.5.a/dut-client/reliable-delivery/request"
_READ_RESP = "R1.6.5.a/dut-client/reliable-delivery/response"


def _gives(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The port remembers each VI_HANDLE that it gives."""
    dut.memory.setdefault("given", []).append(bytes(view.payload[4:8]))


def _lower_half(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """A VI_HANDLE is compared in its lower half alone."""
    at = view.dh_offset
    found = [given for given in dut.memory.get("given", []) if given[2:] == buf[at + 2 : at + 4]]
    buf[at : at + 4] = found[0] if found else buf[at : at + 4]


def _after_resp1(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A fourth IU on the Exchange of the setup, as 2007 has, in front of whatever comes next of the port."""
    again = bytearray(buf[: HEADER + 16])
    for structure, name, value in (("FC", "R_CTL", 3), ("FC", "SEQ_CNT", 1), ("DH_REV1", "VI_OPCODE", 0x1A),
                                   ("FC", "Last_Sequence", 1),
                                   ("FC", "Relative_Offset_Present", 0), ("FC", "Sequence_Initiative", 0)):
        codec.put(structure, name, again, value, 0 if structure == "FC" else HEADER)
    dut.memory["later"] = bytes(again)
    return [bytes(buf)]


def _the_fourth(dut: BrokenDut, result: dict[str, Any]) -> dict[str, Any]:
    dut.invent(dut.memory["later"])
    return result


def _and_abts(dut: BrokenDut, result: dict[str, Any]) -> dict[str, Any]:
    """ABTS for the Exchange of the setup, in front of whatever comes next."""
    abts = bytearray(dut.memory["rqst"][:HEADER])
    for name, value in (("R_CTL", 0x81), ("TYPE", 0), ("Device_Header", 0), ("First_Sequence", 0), ("Relative_Offset_Present", 0)):
        codec.put("FC", name, abts, value)
    dut.invent(bytes(abts))
    return result


def _elsewhere(params: dict[str, Any]) -> dict[str, Any]:
    """A Descriptor is one byte shorter than it was posted, at its beginning."""
    descriptor = params["descriptor"]
    moved = [{**one, "offset": one["offset"] + 1, "length": one["length"] - 1} for one in descriptor["segments"]]
    return {**params, "descriptor": {**descriptor, "segments": moved}}


def _to_the_other_wait(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Whoever is asked for, the one that waits longest is meant."""
    at = view.payload_offset + 156 + 20
    buf[at : at + len(OTHER_DISCRIMINATOR)] = OTHER_DISCRIMINATOR


def _of_the_first(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Each Read has the bytes of the first one."""
    kept = dut.memory.setdefault(("read", view.header("Parameter")), bytes(view.payload))
    buf[view.payload_offset : view.payload_offset + len(kept)] = kept


def and_logo(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A LOGO on an Exchange of its own behind the frame."""
    logo = bytearray(buf[: HEADER + 16])
    logo[HEADER : HEADER + 8] = bytes([5, 0, 0, 0, 0]) + logo[9:12]  # the command; the N_Port Identifier is S_ID
    codec.put("FC", "OX_ID", logo, int(codec.get("FC", "OX_ID", bytes(buf))) + 1)
    return [bytes(buf), bytes(logo)]


def _as_rev1(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A Send of 2007 is read as if it were of the draft: the header is cut."""
    data = bytearray(buf)
    if data[13] & 3 == 2 and data[HEADER + 4] == 0:
        del data[HEADER + 16 : HEADER + 32]
        codec.put("FC", "Device_Header", data, 1)
    return [bytes(data)]


def _other_lost(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A bad request takes all VIs along."""
    if buf[8] == 0x58 and buf[HEADER + 4] == 0x10 and len(buf) != HEADER + 16 + 332:
        dut.memory["bad"] = True
    return [bytes(buf)]


def _all_in_error(dut: BrokenDut, result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "State": _ERROR} if dut.memory.get("bad") else result


def _mode_upsets(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    dut.memory["bad"] = dut.memory.get("bad") or view.get("DH", "MODE") not in (1, 2)
    return [bytes(buf)]


def _short_offset(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Of RLTV_OFF the port looks at 16 bits."""
    buf[20:22] = bytes(2)


def _another_name(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """A PLOGI whose Port_Name is not that of the port."""
    buf[HEADER + 27] ^= 1


def _low_half_of_ids(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Of VI_MSG_ID the port looks at 16 bits, and it answers with what it got."""
    dut.memory["high"] = bytes(buf[HEADER + 8 : HEADER + 10])
    buf[HEADER + 8 : HEADER + 10] = bytes(2)
    return [bytes(buf)]


def _high_half_again(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    buf[HEADER + 8 : HEADER + 10] = dut.memory["high"]
    return [bytes(buf)]


def _renumbered(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A gap in VI_MSG_ID is not noticed."""
    wanted = dut.memory.get("next", 0)
    seen = int(codec.get("DH_REV1", "VI_MSG_ID", bytes(buf), HEADER))
    dut.memory["shift"] = seen - wanted
    if view.get("FC", "End_Sequence"):
        dut.memory["next"] = wanted + 1
    codec.put("DH_REV1", "VI_MSG_ID", buf, wanted, HEADER)
    return [bytes(buf)]


def _shifted_back(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    codec.put("DH_REV1", "VI_MSG_ID", buf, int(codec.get("DH_REV1", "VI_MSG_ID", bytes(buf), HEADER)) + dut.memory["shift"], HEADER)


def _not_the_wrap(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    last = dut.memory.get("last")
    dut.memory["last"] = seen = view.get("DH", "VI_MSG_ID")
    return [] if last == 0xFFFFFFFF and seen == 0 else [bytes(buf)]


def _immediate_by_bit_0(dut: BrokenDut, params: dict[str, Any]) -> dict[str, Any]:
    return {**params, "immediate": 0} if params["queue"] == "recv" and dut.memory.get("bit 0") else params


def _see_bit_0(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Bit 0 of a request is noted, and taken away."""
    dut.memory["bit 0"] = bool(view.get("DH", "VI_FLAGS") == 1)
    codec.put("DH_REV1", "VI_FLAGS", buf, int(codec.get("DH_REV1", "VI_FLAGS", bytes(buf), HEADER)) & 0xFE, HEADER)
    return [bytes(buf)]


def _no_immediate(dut: BrokenDut, params: dict[str, Any]) -> dict[str, Any]:
    return {**params, "immediate": None} if params["queue"] == "recv" else params


def _all_good(dut: BrokenDut, params: dict[str, Any]) -> dict[str, Any]:
    status = [s for s in params["status"] if not s.endswith("_ERROR")]
    return {**params, "status": [*status, "VIP_STATUS_DONE"] if "VIP_STATUS_DONE" not in status else status}


def _failed(view: codec.Frame) -> bool:
    """A response with RESP_ERR."""
    return bool(view.get("DH", "VI_FLAGS"))


def _kept(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    dut.memory["sent"] = bytes(buf)
    return [bytes(buf)]


def _sent_again(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Behind LOGO another Send, in an Exchange of its own."""
    again = bytearray(dut.memory["sent"])
    codec.put("FC", "OX_ID", again, 0x7ABC)
    codec.put("DH_REV1", "VI_MSG_ID", again, int(codec.get("DH_REV1", "VI_MSG_ID", bytes(again), HEADER)) + 1, HEADER)
    return [bytes(buf), bytes(again)]


def _in_two(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Each Message goes out in a second Exchange as well."""
    again = bytearray(buf)
    codec.put("FC", "OX_ID", again, int(view.get("FC", "OX_ID")) ^ 0x4000)
    return [bytes(buf), bytes(again)]


def _host_backwards(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The host address of VI_LOC_ADDR begins with its last byte."""
    begin = view.payload_offset + 8 + 4
    buf[begin : begin + 16] = buf[begin : begin + 16][::-1]


def _first_handle(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Each VI tells the handle of the first one."""
    own = codec.get("CONN_REV1", "VI_RQST_HANDLE", bytes(buf), view.payload_offset)
    dut.memory["own"] = own
    codec.put("CONN_REV1", "VI_RQST_HANDLE", buf, dut.memory.setdefault("first", own), view.payload_offset)


def _own_handle(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """What comes for the VI that is being connected reaches it."""
    codec.put("DH_REV1", "VI_HANDLE", buf, dut.memory["own"], HEADER)


def _handle_first(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Word 4 has the memory handle, and the address stands behind it."""
    va, handle = (int(view.get("DH", name)) for name in ("VI_RMT_VA", "VI_RMT_VA_HANDLE"))
    codec.put("DH_REV1", "VI_RMT_VA", buf, handle << 32 | va >> 32, HEADER)
    codec.put("DH_REV1", "VI_RMT_VA_HANDLE", buf, va & 0xFFFFFFFF, HEADER)


def _first_seq_id(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The 200th Message has the SEQ_ID of the first one, whether that is closed or not."""
    first, number = dut.memory.get("first", view.get("FC", "SEQ_ID")), dut.memory.get("number", 0) + 1
    dut.memory.update(first=first, number=number)
    if number == 200:
        codec.put("FC", "SEQ_ID", buf, first)


def _late_numbers(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """SEQ_CNT begins so high that it wraps in the first IU."""
    codec.put("FC", "SEQ_CNT", buf, int(codec.get("FC", "SEQ_CNT", bytes(buf))) + 0xFFFE)


def _invented_response(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A FCVI_SEND_RESP at a level that has none."""
    if view.get("FC", "End_Sequence"):
        answer = bytearray(bytes(buf[: HEADER + 16]))
        answer[1:4], answer[5:8] = buf[5:8], buf[1:4]
        for structure, name, value in (
            ("FC", "R_CTL", 7), ("FC", "Exchange_Context", 1), ("FC", "First_Sequence", 0), ("FC", "Last_Sequence", 1),
            ("FC", "SEQ_CNT", 0), ("FC", "Parameter", 0), ("FC", "Relative_Offset_Present", 0), ("FC", "RX_ID", 0x77),
            ("FC", "Fill_Bytes", 0), ("DH_REV1", "VI_OPCODE", 8), ("DH_REV1", "VI_HANDLE", dut.memory.get("handle", 0)),
        ):
            codec.put(structure, name, answer, value, 0 if structure == "FC" else HEADER)
        dut.invent(bytes(answer))
    return [bytes(buf)]


def _note_handle(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    dut.memory["handle"] = int(codec.get("CONN_REV1", "VI_RQST_HANDLE", bytes(buf), view.payload_offset))
    return [bytes(buf)]


def _gives_up(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A Message behind a lost one: the provider disconnects, and says that the application did."""
    if view.get("DH", "VI_MSG_ID") != dut.memory.get("next", 0):
        rqst = bytearray(bytes(buf[: HEADER + 16]))
        rqst[1:4], rqst[5:8] = buf[5:8], buf[1:4]
        for structure, name, value in (
            ("FC", "R_CTL", 2), ("FC", "First_Sequence", 1), ("FC", "Last_Sequence", 0), ("FC", "Sequence_Initiative", 1),
            ("FC", "Parameter", 0), ("FC", "Relative_Offset_Present", 0), ("FC", "OX_ID", 0x7ABC), ("FC", "RX_ID", 0xFFFF),
            ("FC", "Fill_Bytes", 0), ("DH_REV1", "VI_OPCODE", 0x12), ("DH_REV1", "VI_FLAGS", 5),
            ("DH_REV1", "VI_HANDLE", dut.memory["handle"]), ("DH_REV1", "VI_MSG_ID", 1),
        ):
            codec.put(structure, name, rqst, value, 0 if structure == "FC" else HEADER)
        dut.invent(bytes(rqst))
    dut.memory["next"] = dut.memory.get("next", 0) + 1
    return [bytes(buf)]


def _refuse_later(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    refusing(1)(dut, view, buf)


def _discriminator_cut(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A DISCRIM_LEN beyond 128 is taken for that of the call."""
    at = view.payload_offset + 156
    if int.from_bytes(buf[at + 2 : at + 4], "big") > 128:
        buf[at + 2 : at + 4] = (16).to_bytes(2, "big")
    return [bytes(buf)]


def _mapped_is_v4(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    at = view.payload_offset + 156 + 4
    if buf[at + 10 : at + 12] == b"\xff\xff":
        buf[at + 10 : at + 12] = b"\0\0"
    return [bytes(buf)]


def _any_level(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """The level of a request is taken for that of the VI."""
    buf[view.payload_offset + 304] = dut.memory.setdefault("level", {1: 1}.get(1, 1))
    return [bytes(buf)]


def _another_each_time(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A reserved Precedence is an error at first, and nothing special the second time."""
    at = view.payload_offset + 312
    if buf[at] > 1:
        dut.memory["precedence"] = dut.memory.get("precedence", 0) + 1
        if dut.memory["precedence"] % 2 == 0:
            return []
    return [bytes(buf)]


def _flags_of_2007(view: codec.Frame) -> bool:
    return view.get("DH", "VI_FLAGS") == 0x80


def _ones(view: codec.Frame) -> bool:
    return bool(view.get("DH", "VI_RSVD"))


def _by_count(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Every frame goes as far behind the first as if all were as long as that one."""
    if not view.get("FC", "SEQ_CNT"):
        dut.memory["length"] = len(view.payload)
    codec.put("FC", "Parameter", buf, view.header("SEQ_CNT") * int(dut.memory["length"]))


def _pref_of_the_port(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Once a Connection has used PREF all frames of the port have it."""
    dut.memory["pref"] = bool(dut.memory.get("pref") or view.get("FC", "PREF"))
    codec.put("FC", "PREF", buf, int(dut.memory["pref"]))


def _note_attributes(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    dut.memory["attributes"] = bytes(buf[view.payload_offset + 304 : view.payload_offset + 332])


def _attributes_of_the_request(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """VI_LOC_ATTRS of RESP1 is copied from the request."""
    buf[view.payload_offset + 304 : view.payload_offset + 332] = dut.memory["attributes"]


def _another_point(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """VipConnectWait has ended with that of another: nothing is there any more of the Discriminator of the elder one."""
    at = view.payload_offset + 156 + 20
    if buf[at : at + 16] == OTHER_DISCRIMINATOR[::-1]:
        buf[at] ^= 1


def _stops(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    dut.memory["bad"] = dut.memory.get("bad") or bool(view.get("DH", "VI_FLAGS"))


def _note_asker(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Who asked by FARP first is who asks ever after."""
    begin, end = view.payload_offset + 44, view.payload_offset + 60
    buf[begin:end] = dut.memory.setdefault("asker", bytes(buf[begin:end]))


def _tells_own(dut: BrokenDut, result: dict[str, Any]) -> dict[str, Any]:
    told = result.get("RemoteViAttribs")
    return {**result, "RemoteViAttribs": {**told, "EnableRdmaWrite": True}} if told else result


def _port_name_decides(name: str, higher: bool) -> Fault:
    """A device of 2007 in the arbitration."""
    edit = refusing(5) if higher else accepting
    side = "higher" if higher else "lower"
    return Fault(f"port-name-decides/{side}/{name}", f"R1.5.3.4.a/dut-{side}/{name}", "REV1-5.3.4-04", out={"CONNECT_RESP1": edit})


FAULTS = [
    # 4.1, 4.2
    Fault("another-host", _CLIENT, "REV1-4.2-01", out={"CONNECT_RQST": payload_byte(8 + 19, lambda b: b ^ 1)}),
    Fault("any-level-accepted", "R1.7.2.a/unreliable/other-level", "REV1-4.2-02", into={"CONNECT_RQST": _any_level}),
    # 5.1
    Fault("offsets-of-16-bits", "R1.6.3.a/tester-writes/70000-bytes", "REV1-5.6.6-02", into={"WRITE_RQST": _short_offset}),
    Fault("own-offsets-of-16-bits", "R1.6.3.a/dut-writes/70000-bytes", "REV1-5.6.6-01", out={"WRITE_RQST": _short_offset}),
    Fault("login-of-another-name", "R1.4.1.a/dut-client/tester-logs-out", "FCVI-5.8.1-01", out={"PLOGI": _another_name}),
    Fault("msg-ids-of-16-bits", "R1.5.1.c/dut-server/reliable-reception/far-ahead", "REV1-5.1-04",
          into={"SEND_RQST": _low_half_of_ids}, out={"SEND_RESP": _high_half_again}),
    Fault("answers-behind-a-gap", "R1.5.1.c/dut-server/reliable-reception/skipped", "REV1-5.1-04", into={"SEND_RQST": _renumbered},
          out={"SEND_RESP": _shifted_back}),
    Fault("send-with-32-bytes", _IU_C, "REV1-5.1-05", out={"SEND_RQST": longer_header}),
    Fault("read-resp-with-32-bytes", _IU_RR, "REV1-5.1-06", out={"READ_RESP": longer_header}),
    Fault("rqst-with-32-bytes", _CLIENT, "REV1-5.1-07", out={"CONNECT_RQST": longer_header}),
    Fault("resp1-with-32-bytes", _SERVER, "REV1-5.1-07", out={"CONNECT_RESP1": longer_header}),
    Fault("resp2-with-32-bytes", _CLIENT, "REV1-5.1-07", out={"CONNECT_RESP2": longer_header}),
    Fault("disconnect-rqst-with-32-bytes", _DISCONNECT, "REV1-5.1-07", out={"DISCONNECT_RQST": longer_header}),
    Fault("disconnect-resp-1b", _BY_TESTER, "REV1-5.1-08", out={"DISCONNECT_RESP": put("DH", "VI_OPCODE", 0x1B)}),
    Fault("a-fourth-iu", _SERVER, "REV1-5.1-09", out={"CONNECT_RESP1": _after_resp1}, results={"VipConnectAccept": _the_fourth}),
    Fault("sends-of-2007-taken", "R1.5.1.b/dut-client/unreliable/send-of-2007", "REV1-5.1-10", into={"*": _as_rev1}),
    Fault("write-with-16-bytes", _IU_C, "REV1-5.7-01", out={"WRITE_RQST": shorter_header}),
    Fault("send-resp-with-32-bytes", _IU_RR, "REV1-5.7-01", out={"SEND_RESP": longer_header}),
    # 5.2, 5.3
    Fault("unreliable-read-succeeds", "R1.6.5.a/dut-client/unreliable", "REV1-5.2.3-01", completions=_all_good),
    Fault("rqst-keeps-initiative", _CLIENT, "REV1-5.3-01", out={"CONNECT_RQST": put("FC", "Sequence_Initiative", 0)}),
    Fault("accept-refuses", _SERVER, "REV1-5.3.2-01", out={"CONNECT_RESP1": refusing(1)}),
    Fault("no-resp1", _SERVER, "FCVI-6.9.1-01", out={"CONNECT_RESP1": drop()}),
    Fault("resp2-with-an-error", _CLIENT, "REV1-5.3.2-02", out={"CONNECT_RESP2": refusing(3)}),
    Fault("no-resp2", _CLIENT, "REV1-5.3.2-02", out={"CONNECT_RESP2": drop()}),
    Fault("resp2-not-heard", _SERVER, "REV1-5.3.2-03", into={"CONNECT_RESP2": drop()}),
    Fault("late-peer-says-03", _LATE, "REV1-5.3.3-01", out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 3))}),
    Fault("late-peer-accepts", _LATE, "REV1-5.3.3-01", out={"CONNECT_RESP1": only(refuses, accepting)}),
    Fault("late-peer-says-no-match", _LATE, "REV1-5.3.3-01", out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 2))}),
    Fault("refused-peer-refuses", "R1.5.3.3.a/tester-late/no-waiting", "REV1-5.3.3-02", out={"CONNECT_RESP1": _refuse_later}),
    Fault("higher-refuses", _HIGHER, "REV1-5.3.4-01", out={"CONNECT_RESP1": refusing(5)}),
    Fault("lower-accepts", _LOWER, "REV1-5.3.4-02", out={"CONNECT_RESP1": accepting}),
    Fault("lower-says-reject", _LOWER, "REV1-5.3.4-02", out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 1))}),
    Fault("lower-says-duplicate", _LOWER, "REV1-5.3.4-03", out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 7))}),
    _port_name_decides("top-bit", True), _port_name_decides("high-word", False), _port_name_decides("ipv4-top-byte", True),
    Fault("disconnect-not-told", _BY_TESTER, "REV1-5.3.5-01", mute=frozenset({"error"})),
    # 4.1: FC-PH; 5.2, 5.7.2: Messages that fail, or have no end
    Fault("message-after-a-logout", "R1.4.1.a/dut-client/dut-logs-out", "FCVI-5.8.1-01",
          out={"SEND_RQST": _kept, "LOGO": _sent_again}),
    Fault("protection-as-transport", "R1.5.7.2.c/reliable-reception/rdma-write/handle", "FCVI-T06-2",
          out={"WRITE_RESP": only(_failed, put("DH", "VI_FLAGS", 9))}),
    Fault("read-protection-as-transport", "R1.5.7.2.c/reliable-delivery/rdma-read/not-enabled", "FCVI-5.9.4.3-02",
          out={"READ_RESP": only(_failed, put("DH", "VI_FLAGS", 9))}),
    Fault("failure-as-good", "R1.5.7.2.c/reliable-reception/send/none-posted", "FCVI-5.9.4.3-01",
          out={"SEND_RESP": only(_failed, put("DH", "VI_FLAGS", 0))}),
    Fault("survives-an-error", "R1.5.7.2.c/reliable-delivery/send/too-short", "FCVI-8.2-d3",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    Fault("too-long-is-good", "R1.5.5.a/reliable-delivery/32768-bytes", "REV1-7.2-02", completions=_all_good),
    Fault("partial-is-good", "R1.6.1.a/unreliable/send/last-frame", "FCVI-6.2.1-01", completions=_all_good),
    Fault("partial-is-good/reliable", "R1.6.1.a/reliable-reception/send/last-iu", "FCVI-6.2.1-01", completions=_all_good),
    Fault("torn-read-is-good", "R1.6.6.a/reliable-delivery/middle-frame", "FCVI-6.7.1-02", completions=_all_good),
    Fault("an-error-ends-all", "R1.5.7.2.c/reliable-reception/rdma-write/handle", "FCVI-8.2-d3", out={"WRITE_RESP": _stops},
          results={"VipQueryVi": _all_in_error}),
    Fault("a-write-takes-a-receive", "R1.6.3.a/unreliable/tester-writes/one-iu", "FCVI-6.4.1-01",
          into={"WRITE_RQST": put("DH", "VI_FLAGS", 0x80)}),
    Fault("ba-acc-of-another", "R1.8.a/class3/tester-aborts", "FCVI-4.1-04",
          out={"BA_ACC": lambda dut, view, buf: buf.__setitem__(HEADER + 5, buf[HEADER + 5] ^ 1)}),
    # 5.4, 5.6
    Fault("one-handle-for-two", "R1.5.7.4.a/dut-client/unreliable/00000000-00000001", "FCVI-4.2-09",
          out={"CONNECT_RQST": _first_handle}, into={"CONNECT_RESP1": _own_handle, "CONNECT_RESP3": _own_handle}),
    Fault("words-of-the-address-exchanged", "R1.6.3.a/unreliable/class3/dut-writes/1-bytes", "FCVI-5.9.8-03",
          out={"WRITE_RQST": put("DH", "VI_RMT_VA", lambda va: (va & 0xFFFFFFFF) << 32 | va >> 32)}),
    Fault("handle-before-the-address", "R1.6.3.a/unreliable/class3/dut-writes/1-bytes", "FCVI-T04-w4",
          out={"WRITE_RQST": _handle_first}),
    Fault("seq-id-used-again", "R1.5.4.a/class2/acks-held-back", "REV1-5.4-01", out={"SEND_RQST": put("FC", "SEQ_ID", 7)}),
    Fault("seq-id-of-an-open-sequence", "R1.5.4.a/class2/one-ack-held-back", "REV1-5.4-01", out={"SEND_RQST": _first_seq_id}),
    Fault("more-sequences-than-seq-ids", "R1.5.4.a/class2/every-ack-held-back", "REV1-4.1-01", out={"SEND_RQST": _in_two}),
    Fault("needs-rx-id", "R1.5.4.a/class3/send/no-rx-id", "FCVI-6.2.1-01", into={"SEND_RESP": only(no_rx_id, drop())}),
    Fault("needs-rx-id-of-a-read", "R1.5.4.a/class2/rdma-read/no-rx-id", "FCVI-6.7.1-02",
          into={"READ_RESP": only(no_rx_id, drop())}),
    Fault("continue-condition-checked", "R1.5.4.a/unreliable/tester-writes/continue", "FCVI-6.2.1-01",
          into={"SEND_RQST": only(says_when_it_goes_on, drop())}),
    Fault("seq-cnt-from-one", "R1.5.4.a/unreliable/class3/send/1-bytes", "REV1-5.4-02",
          out={"SEND_RQST": put("FC", "SEQ_CNT", lambda n: n + 1)}),
    Fault("seq-cnt-wraps", "R1.5.4.a/unreliable/class3/send/3001-bytes", "REV1-5.4-03", out={"SEND_RQST": _late_numbers}),
    Fault("seq-cnt-stands", "R1.5.4.a/unreliable/class3/rdma-write/3001-bytes", "REV1-5.6.5-01",
          out={"WRITE_RQST": put("FC", "SEQ_CNT", 0)}),
    Fault("messages-with-pref-lost", "R1.5.6.2.a/dut-client/unreliable/class3/on", "FCVI-6.2.1-01",
          into={"SEND_RQST": lambda dut, view, buf: [] if view.get("FC", "PREF") else None}),
    Fault("no-pref-in-a-message", "R1.5.6.2.a/dut-client/unreliable/class3/on", "REV1-5.6.2-01",
          out={"WRITE_RQST": put("FC", "PREF", 0)}),
    Fault("no-pref-in-the-disconnect", "R1.5.6.2.a/dut-server/unreliable/class3/on", "REV1-5.6.2-01",
          out={"DISCONNECT_RQST": put("FC", "PREF", 0)}),
    Fault("pref-in-a-message", "R1.5.6.2.a/dut-client/unreliable/class3/off", "REV1-5.6.2-02",
          out={"SEND_RQST": put("FC", "PREF", 1)}),
    Fault("pref-in-the-setup", "R1.5.6.2.a/dut-server/unreliable/class3/off", "REV1-5.6.2-02",
          out={"CONNECT_RESP1": put("FC", "PREF", 1)}),
    Fault("offset-stands", "R1.5.4.a/unreliable/class3/send/3001-bytes", "REV1-5.6.6-01",
          out={"SEND_RQST": put("FC", "Parameter", 0)}),
    Fault("offset-from-four", "R1.5.4.a/unreliable/class3/send/1-bytes", "REV1-5.6.6-01",
          out={"SEND_RQST": put("FC", "Parameter", 4)}),
    Fault("offset-not-added", _TESTER_WRITES, "REV1-5.6.6-02", into={"WRITE_RQST": only(later_frame, put("FC", "Parameter", 0))}),
    Fault("a-byte-too-early", _TESTER_WRITES, "REV1-5.6.6-02", into={"WRITE_RQST": put("DH", "VI_RMT_VA", lambda va: va - 1)}),
    Fault("writes-placed-by-count", "R1.6.3.a/unreliable/tester-writes/uneven-frames", "REV1-5.6.6-02",
          into={"WRITE_RQST": _by_count}),
    Fault("sends-placed-by-count", "R1.5.4.a/unreliable/tester-cuts/uneven-frames", "FCVI-6.2.1-01", into={"SEND_RQST": _by_count}),
    Fault("reads-placed-by-count", "R1.6.5.a/reliable-delivery/uneven-frames", "FCVI-6.7.1-02", into={"READ_RESP": _by_count}),
    Fault("pref-of-the-port", "R1.5.6.2.a/dut-client/unreliable/one-of-two", "REV1-5.6.2-02", out={"*": _pref_of_the_port}),
    # 5.7.2, 5.7.3
    Fault("reserved-flag-of-a-send", _IU_C, "REV1-5.7.2-01", out={"SEND_RQST": put("DH", "VI_FLAGS", lambda f: f | 0x10)}),
    Fault("reserved-flag-of-a-request", _CLIENT, "REV1-5.7.2-01", out={"CONNECT_RQST": put("DH", "VI_FLAGS", lambda f: f | 0x08)}),
    Fault("reserved-flag-of-a-response", _IU_RR, "REV1-5.7.2-01", out={"SEND_RESP": put("DH", "VI_FLAGS", 0x10)}),
    Fault("immediate-by-bit-0", "R1.5.7.2.a/unreliable/send", "REV1-5.7.2-02",
          out={"SEND_RQST": only(_flags_of_2007, put("DH", "VI_FLAGS", 1))}),
    Fault("immediate-not-told", "R1.5.7.2.a/reliable-delivery/send", "REV1-5.7.2-02", completions=_no_immediate),
    Fault("bit-0-is-immediate", "R1.5.7.2.a/unreliable/bit-0", "REV1-5.7.2-03", into={"SEND_RQST": _see_bit_0},
          completions=_immediate_by_bit_0),
    Fault("provider-says-application", "R1.5.3.5.a/dut-server/reliable-delivery/provider", "REV1-5.7.2-05",
          into={"SEND_RQST": _gives_up, "CONNECT_RQST": _note_handle}),
    Fault("reserved-mode-upsets", "R1.5.7.2.b/mode-03", "REV1-5.7.2-06", into={"CONNECT_RQST": _mode_upsets},
          results={"VipQueryVi": _all_in_error}),
    Fault("reserved-flag-of-resp1", _SERVER, "REV1-5.7.2-07", out={"CONNECT_RESP1": put("DH", "VI_FLAGS", 2)}),
    Fault("reserved-flag-of-resp2", _CLIENT, "REV1-5.7.2-07", out={"CONNECT_RESP2": put("DH", "VI_FLAGS", 0x40)}),
    Fault("a-reserved-reason", "R1.5.7.6.a/dut-server/rejected", "REV1-5.7.2-09",
          out={"CONNECT_RESP1": only(refuses, refusing(0x20))}),
    Fault("no-reason", "R1.5.7.6.a/dut-server/no-match", "REV1-5.7.2-09", out={"CONNECT_RESP1": only(refuses, refusing(0))}),
    Fault("reserved-bytes-refused", "R1.5.7.2.b/dut-server/unreliable/reserved-bytes", "REV1-5.7.3-01",
          into={"CONNECT_RQST": only(lambda v: bool(v.get("DH", "VI_RSVD")), drop())}),
    Fault("reserved-bytes-of-a-send", "R1.5.7.2.b/dut-client/unreliable/reserved-bytes", "REV1-5.7.3-01",
          into={"SEND_RQST": only(lambda v: bool(v.get("DH", "VI_RSVD")), drop())}),
    *(Fault(f"reserved-bytes-of-a-{name}", f"R1.5.7.2.b/{level}/reserved-bytes/rdma", "REV1-5.7.3-01",
            into={kind: only(_ones, drop())})
      for name, kind, level in (("write", "WRITE_RQST", "unreliable"), ("read", "READ_RQST", "reliable-delivery"),
                                ("read-resp", "READ_RESP", "reliable-delivery"), ("write-resp", "WRITE_RESP", "reliable-reception"),
                                ("disconnect-resp", "DISCONNECT_RESP", "unreliable"))),
    # 5.7.4 to 5.7.6
    Fault("rqst-with-a-handle", _CLIENT, "REV1-5.7.4-01", out={"CONNECT_RQST": put("DH", "VI_HANDLE", 0)}),
    Fault("resp1-with-another-handle", _SERVER, "REV1-5.7.4-01", out={"CONNECT_RESP1": put("DH", "VI_HANDLE", 0x4711)}),
    Fault("vi-handle-of-16-bits", "R1.5.7.4.a/dut-server/unreliable/00000000-00000001", "FCVI-4.2-07",
          out={"CONNECT_RESP1": _gives}, into={"SEND_RQST": _lower_half}),
    Fault("message-with-another-handle", "R1.5.7.4.a/dut-client/unreliable/00000000-00000001", "REV1-5.7.4-02",
          out={"SEND_RQST": put("DH", "VI_HANDLE", lambda h: h ^ 1)}),
    Fault("disconnect-with-another-handle", "R1.5.7.4.a/dut-server/unreliable/00000000-00000001", "REV1-5.7.4-02",
          out={"DISCONNECT_RQST": put("DH", "VI_HANDLE", lambda h: h ^ 4)}),
    Fault("ids-from-one", "R1.5.7.5.a/dut-client/unreliable/count", "REV1-5.7.5-01",
          out={k: put("DH", "VI_MSG_ID", lambda n: n + 1) for k in _MESSAGE}),
    Fault("the-wrap-is-lost", "R1.5.7.5.a/wrap", "REV1-5.7.5-02", into={"SEND_RQST": _not_the_wrap}),
    Fault("resp1-with-an-id", _SERVER, "REV1-5.7.5-03", out={"CONNECT_RESP1": put("DH", "VI_MSG_ID", 1)}),
    Fault("rqst-with-a-parameter", _CLIENT, "REV1-5.7.6-01", out={"CONNECT_RQST": put("DH", "NUMBER", 1)}),
    Fault("response-with-a-parameter", "R1.6.2.a/dut-client/reliable-reception/class3/dut-answers", "REV1-5.7.6-02",
          out={"SEND_RESP": put("DH", "NUMBER", 9)}),
    Fault("accept-with-a-parameter", _SERVER, "REV1-5.7.6-03", out={"CONNECT_RESP1": put("DH", "NUMBER", 1)}),
    Fault("reason-in-byte-3", "R1.5.7.6.a/dut-server/rejected", "REV1-5.7.6-03",
          out={"CONNECT_RESP1": only(refuses, put("DH", "NUMBER", 1))}),
    Fault("reason-in-byte-0", "R1.5.7.6.a/dut-server/rejected", "REV1-5.7.6-03",
          out={"CONNECT_RESP1": only(refuses, put("DH", "NUMBER", 0x01010000))}),
    Fault("reject-says-no-match", "R1.5.7.6.a/dut-server/rejected", "REV1-5.7.6-04",
          out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 2))}),
    Fault("no-match-says-reject", "R1.5.7.6.a/dut-server/no-match", "REV1-5.7.6-05",
          out={"CONNECT_RESP1": only(refuses, put("DH", "Reason_Code", 1))}),
    Fault("an-ended-wait-matches", "R1.5.7.6.a/dut-server/no-match", "REV1-5.7.6-05", out={"CONNECT_RESP1": drop(2)}),
    Fault("a-wait-ends-with-another", "R1.5.7.6.a/dut-server/no-match", "FCVI-4.2-33", into={"CONNECT_RQST": _another_point}),
    Fault("connected-by-a-refusal", "R1.5.7.6.a/received-ff", "REV1-5.7.6-07",
          results={"VipQueryVi": lambda d, r: {**r, "State": _CONNECTED}}),
    # 5.7.7 to 5.7.9, 6.1 to 6.6
    Fault("address-advances-twice", _WRITES, "REV1-5.7.7-01",
          out={"WRITE_RQST": only(later_frame, put("DH", "VI_RMT_VA", lambda va: va + 320))}),
    Fault("header-changes", _IU_C, "REV1-6.1-01",
          out={"SEND_RQST": only(later_frame, put("DH", "VI_RSVD", 1))}),
    Fault("ids-by-two", "R1.5.7.5.a/dut-client/unreliable/count", "REV1-6.1-02",
          out={"SEND_RQST": put("DH", "VI_MSG_ID", lambda n: 2 * n)}),
    Fault("a-gap-is-delivered", "R1.5.7.5.a/reliable-delivery/lost", "FCVI-8.4.1-01", into={"SEND_RQST": _renumbered}),
    Fault("two-responses", "R1.6.2.a/dut-server/reliable-reception/class3/dut-answers", "REV1-6.2-01", out={"SEND_RESP": twice}),
    Fault("a-response-at-reliable-delivery", "R1.6.2.a/dut-server/reliable-delivery/class3/dut-answers", "REV1-6.2-01",
          into={"SEND_RQST": _invented_response, "CONNECT_RQST": _note_handle}),
    Fault("word-7-of-a-write", _IU_C, "REV1-6.3-01", out={"WRITE_RQST": put("DH", "VI_RMT_TOT_LEN", 0xDEAD)}),
    Fault("read-keeps-initiative", _READ, "REV1-6.5-02", out={"READ_RQST": put("FC", "Sequence_Initiative", 0)}),
    Fault("read-with-a-payload", _READ, "REV1-6.5-02", out={"READ_RQST": with_payload(b"\0" * 4)}),
    Fault("read-resp-header-changes", _READ_RESP, "REV1-6.6-03", out={"READ_RESP": only(later_frame, put("DH", "VI_MSG_ID", 99))}),
    # 6.7 to 6.11
    Fault("rqst-does-not-end", _CLIENT, "REV1-6.7-01", out={"CONNECT_RQST": put("FC", "End_Sequence", 0)}),
    Fault("rqst-handle-not-unassigned", _CLIENT, "REV1-6.7-02", out={"CONNECT_RQST": put("DH", "VI_HANDLE", 0x0FFFFFFF)}),
    Fault("rqst-with-an-id", _CLIENT, "REV1-6.7-03", out={"CONNECT_RQST": put("DH", "VI_MSG_ID", 1)}),
    Fault("rqst-of-340-bytes", _CLIENT, "REV1-6.7-04", out={"CONNECT_RQST": with_payload(bytes(8))}),
    Fault("rqst-of-328-bytes", _CLIENT, "REV1-6.7-04", out={"CONNECT_RQST": cut(4)}),
    Fault("revision-2", _CLIENT, "REV1-6.7-05", out={"CONNECT_RQST": put("CONN_REV1", "VI_REVISION", 2)}),
    Fault("revision-in-two-bytes", _CLIENT, "REV1-6.7-05", out={"CONNECT_RQST": put("CONN_REV1", "VI_REVISION", 0x10000)}),
    Fault("addresses-exchanged", _CLIENT, "REV1-6.7-07", out={"CONNECT_RQST": swap_addresses}),
    Fault("host-backwards", _CLIENT, "FCVI-7.2-12", out={"CONNECT_RQST": _host_backwards}),
    Fault("another-discriminator", _CLIENT, "REV1-6.7-07", out={"CONNECT_RQST": payload_byte(8 + 20, lambda b: b ^ 1)}),
    Fault("a-bad-request-upsets", "R1.5.1.b/request/340-bytes", "REV1-6.7-08", into={"*": _other_lost},
          results={"VipQueryVi": _all_in_error}),
    Fault("resp1-does-not-end", _SERVER, "REV1-6.8-01", out={"CONNECT_RESP1": put("FC", "End_Sequence", 0)}),
    Fault("resp1-of-340-bytes", _SERVER, "REV1-6.8-02", out={"CONNECT_RESP1": with_payload(bytes(8))}),
    Fault("resp1-repeats-the-request", _SERVER, "REV1-6.8-03", out={"CONNECT_RESP1": swap_addresses}),
    Fault("resp2-with-a-payload", _CLIENT, "REV1-6.9-01", out={"CONNECT_RESP2": with_payload(b"\0\0\0\1")}),
    Fault("disconnect-with-a-payload", _DISCONNECT, "REV1-6.10-02", out={"DISCONNECT_RQST": with_payload(b"\0" * 4)}),
    # 7, Annex B
    Fault("ipv4-mapped", "R1.7.1.a/dut-client/ipv4", "REV1-7.1-01",
          out={"CONNECT_RQST": both(payload_byte(8 + 14, 0xFF), payload_byte(8 + 15, 0xFF))}),
    Fault("mapped-meets-ipv4", "R1.7.1.a/ipv4-mapped", "REV1-7.1-01", into={"CONNECT_RQST": _mapped_is_v4}),
    Fault("lengths-of-2007", _CLIENT, "REV1-7.1-02", out={"CONNECT_RQST": both(payload_byte(9, 0), payload_byte(10, 16))}),
    Fault("length-129-matches", "R1.7.1.a/length-129", "REV1-7.1-03", into={"CONNECT_RQST": _discriminator_cut}),
    Fault("takes-129-bytes", "R1.7.1.a/most", "REV1-7.1-04",
          results={"VipConnectWait": lambda d, r: {**r, "return": "VIP_TIMEOUT"} if r["return"] == "VIP_INVALID_PARAMETER" else r}),
    Fault("another-discrim-len", _SERVER, "REV1-7.1-05", out={"CONNECT_RESP1": payload_byte(8 + 3, lambda n: n - 1)}),
    Fault("level-03", "R1.7.2.a/dut-client/reliable-reception/plain", "REV1-7.2-01",
          out={"CONNECT_RQST": put("ATTRS_REV1", "RELIABILITY_LVL", 3)}),
    Fault("another-size", "R1.7.2.a/dut-server/unreliable/plain", "REV1-7.2-02",
          out={"CONNECT_RESP1": put("ATTRS_REV1", "MAX_TRANS_SIZE", 512)}),
    Fault("flags-in-byte-3", "R1.7.2.a/dut-client/unreliable/rdma", "REV1-7.2-04",
          out={"CONNECT_RQST": both(put("ATTRS_REV1", "EnRdmaWr", 0), payload_byte(304 + 3, 2))}),
    Fault("attributes-of-the-request", "R1.7.2.a/other-rdma", "REV1-7.2-04", into={"CONNECT_RQST": _note_attributes},
          out={"CONNECT_RESP1": _attributes_of_the_request}),
    Fault("own-attributes-told", "R1.7.2.a/told", "REV1-7.2-04", results={"VipConnectRequest": _tells_own}),
    Fault("priority-not-told", "R1.7.2.a/dut-client/unreliable/priority", "REV1-B-01", out={"CONNECT_RQST": payload_byte(312, 0)}),
    Fault("priority-told-without-cause", "R1.7.2.a/dut-server/unreliable/plain", "REV1-B-01",
          out={"CONNECT_RESP1": payload_byte(312, 1)}),
    Fault("a-bandwidth", "R1.7.2.a/dut-client/unreliable/plain", "REV1-B-02", out={"CONNECT_RQST": payload_byte(312 + 7, 1)}),
    Fault("a-pipeline-depth", "R1.7.2.a/dut-server/unreliable/plain", "REV1-B-02",
          out={"CONNECT_RESP1": payload_byte(312 + 15, 4)}),
    Fault("another-answer-each-time", "R1.7.2.a/precedence-3", "REV1-B-03", into={"CONNECT_RQST": _another_each_time}),
    Fault("farp-in-a-fabric", "R1.7.3.a/fabric/name-server", "REV1-7.3-01", config={"topology": "point-to-point"}),
    Fault("farp-reply-then-logo", "R1.A.4.a/dut-replies", "REV1-A.4-01", out={"FARP_REPLY": and_logo}),
    Fault("farp-without-action", "R1.7.3.a/farp", "REV1-7.4-01", out={"FARP_REQ": payload_byte(8, 0)}),
    Fault("farp-with-a-name", "R1.7.3.a/farp", "REV1-7.4-01", out={"FARP_REQ": payload_byte(28, 1)}),
    Fault("farp-reply-of-the-first-asker", "R1.A.4.a/dut-replies", "REV1-7.4-01", out={"FARP_REPLY": _note_asker}),
    # 8
    Fault("abts-early", "R1.8.a/dut-client/no-resp1", "REV1-8-01", config={"r_a_tov_us": 5_000_000}),
    Fault("abts-late", "R1.8.a/dut-client/no-disconnect-resp", "REV1-8-01", config={"r_a_tov_us": 20_000_000}),
    Fault("abts-of-a-message-late", "R1.8.a/reliable-reception/no-send-resp", "REV1-8-01", config={"r_a_tov_us": 20_000_000}),
    Fault("no-abts", "R1.8.a/dut-client/no-resp1", "REV1-8-03", out={"ABTS": drop()}),
    Fault("no-acks", "R1.5.4.a/unreliable/class2/send/1-bytes", "FCVI-5.8.1-01", out={"ACK_1": drop()}),
    Fault("the-last-frame-alone-has-an-ack", "R1.5.4.a/unreliable/class2/send/3001-bytes", "FCVI-5.8.1-01",
          out={"ACK_1": only(lambda view: not view.get("FC", "End_Sequence"), drop())}),
    Fault("server-waits-twice-as-long", "R1.8.a/dut-server/no-resp2", "REV1-8-04", config={"r_a_tov_us": 20_000_000}),
    Fault("aborts-what-is-answered", "R1.8.b/dut-client/unreliable/setup", "REV1-8-03", results={"VipConnectRequest": _and_abts},
          out={"CONNECT_RQST": lambda d, v, b: d.memory.__setitem__("rqst", bytes(b))}),
    # what is there at the same time, or was there first
    Fault("first-receive-elsewhere", "R1.4.2.a/dut-client/unreliable", "FCVI-6.2.1-01", params={"VipPostRecv": _elsewhere}),
    Fault("all-waits-alike", "R1.4.2.b", "FCVI-4.2-34", into={"CONNECT_RQST": _to_the_other_wait}),
    Fault("descriptors-overlap", "R1.5.7.4.b/unreliable", "FCVI-6.2.1-01", params={"VipPostRecv": _elsewhere}),
    Fault("read-of-before", "R1.6.5.b/reliable-delivery/one-frame", "FCVI-8.4.1-01", out={"READ_RESP": _of_the_first}),
]  # fmt: skip

#: The late answer of a client needs a port that answers it with RESP2 and not with ABTS (R28): these are tried where it does.
OF_RESP2 = [
    Fault("late-answer-accepted", "R1.5.7.6.a/dut-client/late-answer", "REV1-5.7.6-06",
          out={"CONNECT_RESP2": put("DH", "VI_FLAGS", 0)}),
    Fault("late-answer-says-reject", "R1.5.7.6.a/dut-client/late-answer", "REV1-5.7.6-06",
          out={"CONNECT_RESP2": only(refuses, put("DH", "Reason_Code", 1))}),
]  # fmt: skip

__all__ = ["FAULTS", "OF_RESP2", "state"]
