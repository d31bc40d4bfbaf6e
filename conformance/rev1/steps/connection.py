"""The tester's side of a Connection Setup and a Disconnect of Rev 1.0, and the checks on each connection IU.

Fields have the draft's names (codec/include/fcvi/fields_rev1.def); REASON is the Reason Code of Table 10. What does not differ
between the editions (VIPL calls, states, addresses of the variant) comes from the steps of 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Optional, Sequence

from fcvi.engine.case import Registry, Variant
from fcvi.engine.scenario import Failed
from fcvi.engine.upper_tester import Call
from fcvi.fc.build import UNASSIGNED, structure
from fcvi.fc.received import Exchange, Received
from fcvi.fc.rev1_scenario import Rev1Scenario as Scenario

from conformance.fcvi.steps.connection import (
    CLIENT, SERVER, STATE, attributes_of, check_size, check_state, create_vi, discriminator_of, dut_address, dut_host, in_time,
    new_handle, tester_address, tester_host,
)  # fmt: skip
from conformance.fcvi.steps.neighbours import login

REGISTRY = Registry("FC-VI Rev 1.0")

REJECT, NO_MATCH, TIMEOUT, NO_WAITING, CONCURRENT, DUPLICATE_READ, DUPLICATE = range(1, 8)  # Table 10; 06h as R05 reads it
CLIENT_SERVER, PEER_TO_PEER, BY_KERNEL, BY_APPLICATION = 1, 2, 4, 5  # Table 7
UD, RD, RR = 1, 2, 4  # RELIABILITY_LVL (7.2)
LEVELS = {"unreliable": (UD, 1), "reliable-delivery": (RD, 2), "reliable-reception": (RR, 3)}
LEVEL_PICS = {"unreliable": "unreliable_delivery", "reliable-delivery": "reliable_delivery",
              "reliable-reception": "reliable_reception"}
ROLE_PICS = {CLIENT: "client", SERVER: "server", "any": "(client or server)"}
PAYLOAD = 332
SMALL = 352  # bytes of a Data_Field: a connect IU still has one frame (6.7, 6.8)

#: R_CTL by opcode, where the rows of 2007 hold (Table 1).
_R_CTL_ROWS = {
    0x01: (0x01, "FCVI-T01-WRITE_RQST-enc"), 0x02: (0x06, "FCVI-T01-READ_RQST-enc"), 0x08: (0x07, "FCVI-T01-SEND_RESP-enc"),
    0x09: (0x07, "FCVI-T01-WRITE_RESP-enc"),
}  # fmt: skip
#: Bits of VI_FLAGS that an IU may set (Tables 5 to 8).
_FLAGS = {0x00: 0x80, 0x01: 0x80, 0x02: 0, 0x08: 0x0F, 0x09: 0x0F, 0x0A: 0x0F, 0x10: 7, 0x12: 7, 0x18: 1, 0x19: 1, 0x1A: 1}


# ---- variants ----


def variants(
    *,
    roles: Sequence[str] = (CLIENT, SERVER),
    levels: Sequence[str] = ("unreliable",),
    classes: Sequence[int] = (3,),
    choices: Sequence[tuple[str, dict[str, Any]]] = (("", {}),),
    pics: str = "",
    config: Optional[Mapping[str, Any]] = None,
) -> list[Variant]:
    """Every combination; what has one value only is not in the suffix. A choice may have "applies", "config" and "only" (a
    role, or a level) beside parameters of the case. RDMA is enabled as far as the PICS of the device has it.
    """
    made = []
    for role in roles:
        for level in levels:
            for service_class in classes:
                for name, choice in choices:
                    only = choice.get("only")
                    if only is not None and not {role, level} & ({only} if isinstance(only, str) else set(only)):
                        continue
                    parts = [
                        role if len(roles) > 1 else "", level if len(levels) > 1 else "",
                        f"class{service_class}" if len(classes) > 1 else "", name,
                    ]  # fmt: skip
                    params = {"role": role, "level": level, "attributes": {"FCVI_RELIABILITY_LVL": LEVELS[level][1]}}
                    params.update({k: v for k, v in choice.items() if k not in ("applies", "config", "only")})
                    needed = [ROLE_PICS[role], LEVEL_PICS[level], f"class{service_class}", pics, choice.get("applies", "")]
                    changes = {"class": service_class, **(config or {}), **choice.get("config", {})}
                    made.append(Variant("/".join(p for p in parts if p), params, " and ".join(n for n in needed if n), changes))
    return made


def level_of(t: Scenario) -> int:
    """RELIABILITY_LVL of this variant."""
    return LEVELS[str(t.params.get("level", "unreliable"))][0]


def with_rdma(t: Scenario) -> None:
    """From here on VIs permit the RDMA operations that the PICS has; Reads at the reliable levels only (R14)."""
    chosen = {**t.params.get("attributes", {}), "EnRdmaWr": int(t.pics["rdma_write"])}
    chosen["EnRdmaRd"] = int(t.pics["rdma_read"] and level_of(t) != UD)
    t.params = {**t.params, "attributes": chosen}


# ---- addresses, attributes and payloads ----


def net_address(host: str, discriminator: bytes) -> bytes:
    """FCVI_NET_ADDRESS (7.1, Table 13)."""
    return structure(
        "ADDR_REV1",
        {"HOST_ADDR_LEN": 16, "DISCRIM_LEN": len(discriminator), "HOST_IP_ADDR": bytes.fromhex(host),
         "DISCRIM": discriminator.ljust(128, b"\0")},
    )  # fmt: skip


def attributes(t: Scenario, **fields: Any) -> bytes:
    """FCVI_ATTRIBUTES of the tester's end (7.2, Table 14), equal to those of the DUT's VI but for fields."""
    chosen = attributes_of(t)
    qos = bytes([int(bool(t.params.get("preference")))]) + bytes(15)
    values: dict[str, Any] = {
        "RELIABILITY_LVL": level_of(t), "MAX_TRANS_SIZE": chosen["FCVI_MAX_TRANS_SIZE"], "VIP_QOS": qos,
        "EnRdmaWr": chosen["EnRdmaWr"], "EnRdmaRd": chosen["EnRdmaRd"],
    }  # fmt: skip
    return structure("ATTRS_REV1", {**values, **fields})


def payload(t: Scenario, handle: int, **fields: Any) -> bytes:
    """Payload of the tester's CONNECT_RQST or RESP1 (Tables 11 and 12)."""
    values: dict[str, Any] = {
        "VI_REVISION": 1,
        "VI_RQST_HANDLE": handle,
        "VI_LOC_ADDR": net_address(tester_host(t), discriminator_of(t)),
        "VI_REM_ADDR": net_address(dut_host(t), discriminator_of(t)),
        "VI_LOC_ATTRS": attributes(t),
    }
    return structure("CONN_REV1", {**values, **fields})


# ---- checks on every IU ----


def check_header(t: Scenario, iu: Received) -> None:
    """R_CTL of each frame by its opcode (Table 1), and the reserved bits of VI_FLAGS. An IU whose Device_Header has another size is
    none to the codec, which says so."""
    check_size(t, iu)
    for number, frame in zip(iu.numbers, iu.frames):
        one = replace(iu, numbers=[number], frames=[frame])
        opcode, flags = one.dh("VI_OPCODE"), one.dh("VI_FLAGS")
        if opcode not in _FLAGS:
            t.report("REV1-5.1-09", f"opcode of frame {number}", f"{opcode:02X}h", "one of Table 1", at=one,
                     **t.place(one, "VI_OPCODE"))  # fmt: skip
            continue
        if opcode in _R_CTL_ROWS:
            r_ctl, of_r_ctl = _R_CTL_ROWS[opcode]
            t.equal(one, "R_CTL", r_ctl, of_r_ctl)
        t.require(not flags & ~_FLAGS[opcode], "REV1-5.7.2-01", f"reserved bits of VI_FLAGS in frame {number}", f"{flags:02X}h",
                  f"only {_FLAGS[opcode]:02X}h", at=one, **t.place(one, "VI_FLAGS"))  # fmt: skip


def one_frame(t: Scenario, iu: Received, requirement: str, ends: bool) -> None:
    """The IU is one frame; it ends the Exchange, or passes Sequence Initiative."""
    check_header(t, iu)
    t.require(len(iu.frames) == 1, requirement, f"{iu.kind} has several frames", len(iu.frames), 1, at=iu)
    if ends:
        t.equal(iu, "Last_Sequence", 1, requirement)
    else:
        t.equal(iu, "Sequence_Initiative", 1, requirement)
        t.equal(iu, "Last_Sequence", 0, requirement)


def empty(t: Scenario, iu: Received, requirement: str) -> None:
    """The IU has no payload."""
    t.require(not iu.payload, requirement, f"{iu.kind} has a payload", f"{len(iu.payload)} bytes", "none", at=iu)


def check_reason(t: Scenario, iu: Received, repeats: Optional[int] = None) -> None:
    """VI_PARAMETER of a response to a connection request: zero, or with CONN_ERR as Tables 9 and 10 have it. repeats: the code that
    RESP2 may repeat, whatever it is (R08).
    """
    if not iu.dh("CONN_ERR"):
        t.equal(iu, "NUMBER", 0, "REV1-5.7.6-03")
        return
    t.require(iu.dh("NUMBER") >> 24 == 0, "REV1-5.7.6-03", "byte 0 of VI_PARAMETER", f"{iu.dh('NUMBER'):08X}h", "00h", at=iu)
    code = iu.dh("REASON")
    moved = not code and iu.dh("NUMBER") & 0xFFFF
    t.require(not moved, "REV1-5.7.6-03", "byte 1 of VI_PARAMETER is empty, and others are not", f"{iu.dh('NUMBER'):08X}h",
              "a Reason Code in byte 1", at=iu)  # fmt: skip
    known = REJECT <= code <= DUPLICATE or code == repeats
    t.require(known, "REV1-5.7.2-09", "the Reason Code", f"{code:02X}h", "one of Table 10", at=iu)


def _check_address(t: Scenario, iu: Received, name: str, host: str, requirement: str) -> None:
    discriminator, wanted = discriminator_of(t), bytes.fromhex(host)
    length, used = (iu.number("CONN_REV1", f"{name}.{field}") for field in ("HOST_ADDR_LEN", "DISCRIM_LEN"))
    seen, text = (iu.blob("CONN_REV1", f"{name}.{field}") for field in ("HOST_IP_ADDR", "DISCRIM"))
    text = text[: len(discriminator)]
    t.require(length == 16, "REV1-7.1-02", f"HOST_ADDR_LEN in {name}", length, 16, at=iu)
    t.require(used == len(discriminator), "REV1-7.1-05", f"DISCRIM_LEN in {name}", used, len(discriminator), at=iu)
    backwards = seen == wanted[::-1] != wanted
    t.require(not backwards, "FCVI-7.2-12", f"HOST_IP_ADDR in {name} is backwards", seen.hex(), wanted.hex(), at=iu)
    t.require(seen == wanted, "REV1-4.2-01", f"HOST_IP_ADDR in {name}", seen.hex(), wanted.hex(), at=iu)
    same = (length, used, seen, text) == (16, len(discriminator), wanted, discriminator)
    t.require(same, requirement, f"{name} is not the address of the call", f"{length}, {used}, {seen.hex()}, {text.hex()}",
              f"16, {len(discriminator)}, {wanted.hex()}, {discriminator.hex()}", at=iu)  # fmt: skip


def check_attributes(t: Scenario, iu: Received) -> None:
    """VI_LOC_ATTRS: those of the DUT's VI (7.2, Annex B)."""

    def attribute(name: str) -> int:
        return iu.number("CONN_REV1", f"VI_LOC_ATTRS.{name}")

    chosen, level = attributes_of(t), attribute("RELIABILITY_LVL")
    t.require(level == level_of(t), "REV1-7.2-01", "RELIABILITY_LVL", f"{level:02X}h", f"{level_of(t):02X}h", at=iu)
    size = attribute("MAX_TRANS_SIZE")
    t.require(size == chosen["FCVI_MAX_TRANS_SIZE"], "REV1-7.2-02", "MAX_TRANS_SIZE", size, chosen["FCVI_MAX_TRANS_SIZE"], at=iu)
    flags = chosen["EnRdmaWr"] << 1 | chosen["EnRdmaRd"]
    seen = attribute("FLAGS")
    t.require(seen == flags, "REV1-7.2-04", "FLAGS", f"{seen:02X}h", f"{flags:02X}h", at=iu)
    rest = [attribute("ATTRS_1_3"), attribute("ATTRS_25_27")]
    t.require(not any(rest), "REV1-7.2-04", "reserved bytes of FCVI_ATTRIBUTES", rest, "zeros", at=iu)
    priority = bool(t.params.get("preference"))
    wanted = 1 if priority else 0
    orders = {0x20: "R13", 0x80: "R13"} if priority else {}
    precedence = attribute("VIP_QOS.QOS_7_3") << 3 | attribute("VIP_QOS.Precedence")
    t.require(precedence == wanted, "REV1-B-01", "Precedence", f"{precedence:02X}h", f"{wanted:02X}h", at=iu,
              erratum=orders.get(precedence))  # fmt: skip
    rest = [attribute(f"VIP_QOS.{name}") for name in ("QOS_1_3", "MaxBandwidth", "MinBandwidth", "MaxDelay")]
    t.require(not any(rest), "REV1-B-02", "bytes 9 to 23 of FCVI_ATTRIBUTES", rest, "zeros", at=iu)


def check_rqst(t: Scenario, rqst: Received, mode: int = CLIENT_SERVER) -> None:
    """FCVI_CONNECT_RQST (6.7)."""
    one_frame(t, rqst, "REV1-6.7-01", ends=False)
    t.equal(rqst, "Sequence_Initiative", 1, "REV1-5.3-01")
    t.equal(rqst, "First_Sequence", 1, "REV1-5.3-01")
    t.equal(rqst, "VI_FLAGS", mode, "REV1-5.7.2-04")
    t.equal(rqst, "VI_HANDLE", UNASSIGNED, "REV1-6.7-02")
    t.equal(rqst, "VI_HANDLE", UNASSIGNED, "REV1-5.7.4-01")
    t.equal(rqst, "VI_MSG_ID", 0, "REV1-6.7-03")
    t.equal(rqst, "NUMBER", 0, "REV1-5.7.6-01")
    t.require(len(rqst.payload) == PAYLOAD, "REV1-6.7-04", "length of the payload", len(rqst.payload), PAYLOAD, at=rqst)
    revision = rqst.conn_int("VI_REVISION")
    t.require(revision == 1, "REV1-6.7-05", "VI_REVISION", f"{revision:08X}h", "00000001h", at=rqst)
    handle = rqst.conn_int("VI_RQST_HANDLE")
    t.require(handle != UNASSIGNED, "REV1-6.7-06", "VI_RQST_HANDLE", f"{handle:08X}h", "a handle", at=rqst)
    _check_address(t, rqst, "VI_LOC_ADDR", dut_host(t), "REV1-6.7-07")
    _check_address(t, rqst, "VI_REM_ADDR", tester_host(t), "REV1-6.7-07")
    check_attributes(t, rqst)


def check_resp1(t: Scenario, resp1: Received, setup: Setup) -> None:
    """An accepting FCVI_CONNECT_RESP1 (6.8). The case ends where it refuses."""
    _of_resp1(t, resp1, setup)
    if not t.equal(resp1, "VI_FLAGS", 0, "REV1-5.3.2-01"):
        t.fail("REV1-5.3.2-01", "the DUT refused a matching request", f"{resp1.dh('REASON'):02X}h", "accept", resp1)
    t.require(len(resp1.payload) == PAYLOAD, "REV1-6.8-02", "length of the payload", len(resp1.payload), PAYLOAD, at=resp1)
    revision = resp1.conn_int("VI_REVISION")
    t.require(revision == 1, "REV1-6.8-02", "VI_REVISION", f"{revision:08X}h", "00000001h", at=resp1, erratum="R30")
    handle = resp1.conn_int("VI_RQST_HANDLE")
    t.require(handle != UNASSIGNED, "REV1-6.8-02", "the handle of the responder", f"{handle:08X}h", "one assigned", at=resp1)
    _check_address(t, resp1, "VI_LOC_ADDR", dut_host(t), "REV1-6.8-03")
    if not _as_asked(t, resp1):
        _check_address(t, resp1, "VI_REM_ADDR", tester_host(t), "REV1-6.8-03")
    check_attributes(t, resp1)


def _as_asked(t: Scenario, resp1: Received) -> bool:
    """VI_REM_ADDR is that of the request, whose Discriminator the DUT's own call does not have: R36 permits it."""
    other, seen = t.params.get("tester_discriminator"), resp1.conn("VI_REM_ADDR")
    if not (isinstance(other, bytes) and isinstance(seen, bytes)):
        return False
    used = 20 + len(other)  # what stands behind DISCRIM_LEN means nothing
    return seen[:used] == net_address(tester_host(t), other)[:used]


def _of_resp1(t: Scenario, resp1: Received, setup: Setup) -> None:
    one_frame(t, resp1, "REV1-6.8-01", ends=False)
    t.equal(resp1, "Sequence_Initiative", 1, "REV1-5.3-02")
    t.equal(resp1, "Last_Sequence", 0, "REV1-5.3-02")
    t.equal(resp1, "VI_MSG_ID", 0, "REV1-5.7.5-03")
    if resp1.dh("VI_HANDLE") != UNASSIGNED:  # R03
        t.equal(resp1, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-01")
    check_reason(t, resp1)


def check_refusal(
    t: Scenario, resp1: Received, setup: Setup, code: int, requirement: str, tolerated: Optional[Mapping[int, str]] = None
) -> None:
    """A refusing FCVI_CONNECT_RESP1 with this Reason Code, or one that an erratum tolerates; its payload means nothing (R11)."""
    _of_resp1(t, resp1, setup)
    t.require(len(resp1.payload) == PAYLOAD, "REV1-6.8-02", "length of the payload of a refusal", len(resp1.payload), PAYLOAD,
              at=resp1, erratum="R11")  # fmt: skip
    t.equal(resp1, "CONN_ERR", 1, "REV1-5.7.2-09")
    if t.equal(resp1, "CONN_ERR", 1, requirement):
        t.equal(resp1, "REASON", code, requirement, tolerated)


def check_resp2(t: Scenario, resp2: Received, setup: Setup) -> None:
    """FCVI_CONNECT_RESP2 (6.9) after an accept. Its Sequence Initiative is not judged (5.3)."""
    check_header(t, resp2)
    t.require(len(resp2.frames) == 1, "REV1-6.9-01", "RESP2 has several frames", len(resp2.frames), 1, at=resp2)
    empty(t, resp2, "REV1-6.9-01")
    t.equal(resp2, "Last_Sequence", 1, "REV1-6.9-01")
    t.equal(resp2, "Last_Sequence", 1, "REV1-5.3-03")
    t.equal(resp2, "VI_MSG_ID", 0, "REV1-5.7.5-03")
    if resp2.dh("VI_HANDLE") != UNASSIGNED:  # R03
        t.equal(resp2, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
    check_reason(t, resp2)


# ---- a Connection Setup ----


@dataclass
class Setup:
    """A Connection Setup between tester and DUT, and the Connection that comes of it, from the tester's side."""

    role: str  # of the DUT
    vi: int
    exchange: Exchange
    tester_handle: int
    dut_handle: int = UNASSIGNED
    call: Optional[Call] = None  # the DUT's VipConnectRequest, VipConnectAccept or VipConnectPeerWait
    rqst: Optional[Received] = None
    sent: int = 0  # VI_MSG_ID of the tester's next Message
    got: int = 0  # VI_MSG_ID of the DUT's next Message
    more: dict[str, Any] = field(default_factory=dict)


def start_request(t: Scenario, timeout_us: Optional[int] = None, vi: Optional[int] = None) -> Setup:
    """VipConnectRequest on the DUT, and its FCVI_CONNECT_RQST. vi None: a new one."""
    vi = create_vi(t) if vi is None else vi
    call = t.start("VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=timeout_us)
    in_time(t, call, timeout_us)
    rqst = t.expect("CONNECT_RQST", "FCVI-6.8.1-01", why="after VipConnectRequest")
    check_rqst(t, rqst)
    return originated(t, vi, call, rqst)


def originated(t: Scenario, vi: int, call: Optional[Call], rqst: Received) -> Setup:
    """The setup that a FCVI_CONNECT_RQST of the DUT begins."""
    t.tester.assign_rx_id(rqst.exchange)
    return Setup(CLIENT, vi, rqst.exchange, new_handle(t), rqst.conn_int("VI_RQST_HANDLE"), call, rqst)


def send_resp1(t: Scenario, setup: Setup, reason: Optional[int] = None, attrs: Optional[bytes] = None, **dh: int) -> None:
    """The tester's answer: accept, or refuse. VI_HANDLE is either that R03 permits. attrs: other VI_LOC_ATTRS than the DUT's."""
    named = t.params.get("resp1_handle") == "requester"
    fields = {"VI_HANDLE": setup.dut_handle if named else UNASSIGNED, "CONN_ERR": int(reason is not None), "REASON": reason or 0}
    more = {} if attrs is None else {"VI_LOC_ATTRS": attrs}
    body = payload(t, UNASSIGNED if reason is not None else setup.tester_handle, **more)
    t.send("CONNECT_RESP1", setup.exchange, {**fields, **dh}, body)


def finish_request(t: Scenario, setup: Setup) -> None:
    """After an accept: RESP2 and VIP_SUCCESS; the client is Connected (R01)."""
    try:
        resp2 = t.expect("CONNECT_RESP2", "REV1-5.3.2-02", exchange=setup.exchange, why="after an accepting RESP1")
    except Failed:
        _check_opcode(t, setup)
        raise
    check_resp2(t, resp2, setup)
    t.equal(resp2, "VI_FLAGS", 0, "REV1-5.3.2-02")
    assert setup.call is not None
    t.finish(setup.call, "REV1-5.3.2-02", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")


def _check_opcode(t: Scenario, setup: Setup) -> None:
    """What came in the place of FCVI_CONNECT_RESP2 has another opcode than 19h."""
    seen = t.peek(["DISCONNECT_RESP", "UNKNOWN_IU"], setup.exchange)
    if seen is not None:
        t.report("REV1-6.9-01", "opcode of the answer to FCVI_CONNECT_RESP1", f"{seen.dh('VI_OPCODE'):02X}h", "19h", at=seen,
                 **t.place(seen, "VI_OPCODE"))  # fmt: skip


def start_wait(t: Scenario, timeout_us: Optional[int] = None, discriminator: Optional[bytes] = None) -> Call:
    """VipConnectWait on the DUT; where logins cross the wire the tester logs in first."""
    if t.config["login"] == "explicit":
        login(t)
    return t.start("VipConnectWait", LocalAddr=dut_address(t, discriminator), Timeout=timeout_us)


def send_rqst(t: Scenario, mode: int = CLIENT_SERVER, handle: Optional[int] = None, **fields: Any) -> Setup:
    """The tester's FCVI_CONNECT_RQST. Fields in capitals with "dh_" before them are of the Device_Header."""
    exchange = t.tester.open_exchange()
    handle = new_handle(t) if handle is None else handle
    dh: dict[str, int] = {"VI_HANDLE": UNASSIGNED, "VI_FLAGS": mode}
    dh.update({name[3:]: fields.pop(name) for name in list(fields) if name.startswith("dh_")})
    t.send("CONNECT_RQST", exchange, dh, payload(t, handle, **fields))
    t.settle()
    return Setup(SERVER, -1, exchange, handle)


def finish_wait(t: Scenario, wait: Call) -> int:
    """VipConnectWait returns the client's address as the client gave it. Returns conn."""
    t.finish(wait, "FCVI-4.2-33", returns="VIP_SUCCESS")
    seen = wait.table("RemoteAddr")
    t.require(seen == tester_address(t), "FCVI-4.2-35", "VipConnectWait returned another RemoteAddr", seen, tester_address(t))
    return wait.integer("conn")


def start_accept(t: Scenario, setup: Setup, conn: int, vi: Optional[int] = None) -> Received:
    """VipCreateVi and VipConnectAccept on the DUT, and its accepting RESP1."""
    setup.vi = create_vi(t) if vi is None else vi
    setup.call = t.start("VipConnectAccept", conn=conn, vi=setup.vi)
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=setup.exchange, why="after VipConnectAccept")
    check_resp1(t, resp1, setup)
    setup.dut_handle = resp1.conn_int("VI_RQST_HANDLE")
    return resp1


def send_resp2(t: Scenario, setup: Setup, reason: Optional[int] = None, **dh: int) -> None:
    """The tester's acknowledgement of RESP1. VI_HANDLE is either that R03 permits."""
    open_handle = t.params.get("resp2_handle") == "unassigned"
    fields = {"VI_HANDLE": UNASSIGNED if open_handle else setup.dut_handle, "CONN_ERR": int(reason is not None),
              "REASON": reason or 0}  # fmt: skip
    t.send("CONNECT_RESP2", setup.exchange, {**fields, **dh})
    t.settle()


def finish_accept(t: Scenario, setup: Setup) -> None:
    """RESP2, and VipConnectAccept returns without a further IU; the server is Connected (R01)."""
    call = setup.call
    assert call is not None
    t.settle()
    t.require(not call.done, "REV1-5.3.2-03", "VipConnectAccept returned before FCVI_CONNECT_RESP2", "returned", "blocked",
              erratum="R01")  # fmt: skip
    send_resp2(t, setup)
    t.finish(call, "REV1-5.3.2-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "connected", "REV1-5.3.2-03")
    t.expect_nothing(["UNKNOWN_IU", "CONNECT_RESP2", "CONNECT_RESP1"], 0, "REV1-5.1-09", "after FCVI_CONNECT_RESP2", setup.exchange)


def connect_client(t: Scenario) -> Setup:
    """A complete setup with the DUT as client."""
    setup = start_request(t)
    send_resp1(t, setup)
    finish_request(t, setup)
    return setup


def connect_server(t: Scenario) -> Setup:
    """A complete setup with the DUT as server."""
    wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    return setup


def connect(t: Scenario) -> Setup:
    """A complete setup with the DUT in the role of this variant."""
    role = str(t.params.get("role", "any"))
    if role == "any":
        role = CLIENT if t.pics["client"] else SERVER
    return connect_client(t) if role == CLIENT else connect_server(t)


def finish_refused(t: Scenario, setup: Setup, code: int) -> None:
    """What follows the tester's refusing RESP1: RESP2 with flags 0 or with the same code, or ABTS after FCVI_ULP_TIMEOUT (R08).
    The Exchange has to end.
    """
    took = t.until(lambda: t.peek(["CONNECT_RESP2", "ABTS"], setup.exchange) is not None, patience(t))
    t.require(took, "REV1-5.3-03", "the Exchange of a refused request does not end", "nothing", "FCVI_CONNECT_RESP2 or ABTS")
    if not took:
        return
    end = t.peek(["CONNECT_RESP2", "ABTS"], setup.exchange)
    assert end is not None
    end.taken = True
    if end.kind == "ABTS":
        t.tester.send_ba_acc(end)
        t.settle()
        return
    one_frame(t, end, "REV1-6.9-01", ends=True)
    check_reason(t, end, code)
    if end.dh("CONN_ERR"):
        t.equal(end, "REASON", code, "REV1-5.7.2-09", {c: "R08" for c in range(REJECT, DUPLICATE + 1)})


def expect_end_of_abts(t: Scenario, exchange: Exchange) -> None:
    """The answer to an ABTS of the tester; BA_ACC names the Exchange of its originator (FC-PH)."""
    answer = t.expect(["BA_ACC", "BA_RJT"], "FCVI-4.1-04", exchange=exchange, why="after ABTS")
    if answer.kind == "BA_ACC":
        seen = answer.number("BA_ACC", "BA_OX_ID")
        t.require(seen == exchange.ox_id, "FCVI-4.1-04", "OX_ID in BA_ACC", f"{seen:04X}h", f"{exchange.ox_id:04X}h", at=answer)


def patience(t: Scenario) -> int:
    """How long the tester waits for what a device does after its FCVI_ULP_TIMEOUT, which is the implementation's (clause 8)."""
    return (t.ulp_us or 10 * t.ulp_timeout_us) + t.ulp_timeout_us + t.pixit.late_us


# ---- Disconnect ----


def check_disconnect(t: Scenario, rqst: Received, setup: Setup, mode: int = BY_APPLICATION) -> None:
    """FCVI_DISCONNECT_RQST (6.10)."""
    one_frame(t, rqst, "REV1-6.10-02", ends=False)
    empty(t, rqst, "REV1-6.10-02")
    t.equal(rqst, "VI_FLAGS", mode, "REV1-5.7.2-05")
    t.equal(rqst, "VI_FLAGS", mode, "REV1-5.3.5-02")
    t.equal(rqst, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
    t.equal(rqst, "VI_MSG_ID", setup.got, "REV1-6.10-01")
    t.equal(rqst, "NUMBER", 0, "REV1-5.7.6-01")


def disconnect(t: Scenario, setup: Setup) -> None:
    """VipDisconnect on the DUT, answered by the tester."""
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect(t, rqst, setup)
    answer_disconnect(t, rqst, setup)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-d2")


def make_room(t: Scenario, setup: Setup) -> None:
    """A Connection that the case has done with ends where the DUT has no VI left for the next one (max_vis)."""
    if len(t.vis) >= int(t.pics["max_vis"]):
        disconnect(t, setup)


def answer_disconnect(t: Scenario, rqst: Received, setup: Setup) -> None:
    """The tester's FCVI_DISCONNECT_RESP."""
    t.tester.assign_rx_id(rqst.exchange)
    t.send("DISCONNECT_RESP", rqst.exchange, {"VI_HANDLE": setup.dut_handle})
    t.settle()


def send_disconnect(t: Scenario, handle: int, mode: int = BY_APPLICATION, **dh: int) -> Exchange:
    """The tester's FCVI_DISCONNECT_RQST on an Exchange of its own."""
    exchange = t.tester.open_exchange()
    t.send("DISCONNECT_RQST", exchange, {"VI_HANDLE": handle, "VI_FLAGS": mode, **dh})
    t.settle()
    return exchange


def expect_disconnect_resp(t: Scenario, setup: Setup, exchange: Exchange, number: int, known: bool = True) -> Received:
    """FCVI_DISCONNECT_RESP (6.11). known: the DUT had the Connection, so there is no cause for CONN_ERR (R07)."""
    kinds = ["DISCONNECT_RESP", "UNKNOWN_IU"]
    resp = t.expect(kinds, "REV1-5.3.5-01", exchange=exchange, why="after FCVI_DISCONNECT_RQST")
    opcode = resp.dh("VI_OPCODE")
    t.require(opcode == 0x1A, "REV1-5.1-08", "opcode of the answer to a Disconnect", f"{opcode:02X}h", "1Ah", at=resp,
              **t.place(resp, "VI_OPCODE"))  # fmt: skip
    if resp.kind != "DISCONNECT_RESP":
        return resp
    one_frame(t, resp, "REV1-6.11-01", ends=True)
    empty(t, resp, "REV1-6.11-01")
    t.equal(resp, "VI_MSG_ID", number, "REV1-6.11-01")
    t.equal(resp, "VI_MSG_ID", number, "REV1-5.7.5-03")
    check_reason(t, resp)
    if known:
        t.equal(resp, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
        t.equal(resp, "CONN_ERR", 0, "REV1-5.7.2-08")
    return resp


__all__ = [
    "BY_APPLICATION", "BY_KERNEL", "CLIENT", "CLIENT_SERVER", "CONCURRENT", "DUPLICATE", "DUPLICATE_READ", "LEVELS", "NO_MATCH",
    "NO_WAITING", "PAYLOAD", "PEER_TO_PEER", "RD", "REGISTRY", "REJECT", "RR", "SERVER", "SMALL", "STATE", "Scenario", "Setup",
    "TIMEOUT", "UD", "UNASSIGNED", "Variant", "answer_disconnect", "attributes", "check_attributes", "check_disconnect",
    "check_header", "check_reason", "check_refusal", "check_resp1", "check_resp2", "check_rqst", "check_state", "connect",
    "connect_client", "connect_server", "create_vi", "disconnect", "dut_address", "dut_host", "expect_disconnect_resp",
    "expect_end_of_abts",
    "finish_accept", "finish_refused", "finish_request", "finish_wait", "level_of", "make_room", "net_address", "new_handle",
    "one_frame", "originated", "patience", "payload", "send_disconnect", "send_resp1", "send_resp2", "send_rqst", "start_accept",
    "start_request", "start_wait", "tester_address", "tester_host", "variants", "with_rdma",
]  # fmt: skip
