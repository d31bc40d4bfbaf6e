"""Holds what the cases share: the tester's side of a Connection Setup and the checks on each connection IU.

A check names the requirement it enforces. What the codec finds by itself in every frame (reserved bits, R_CTL,
F_CTL, fixed values) is not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Optional

from fcvi.fc.build import UNASSIGNED, X_ID_UNASSIGNED, net_address, structure
from fcvi.engine.case import Registry, Variant
from fcvi.fc.received import Exchange, Received, kind_of
from fcvi.engine.scenario import Inconclusive
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call
from .neighbours import login

REGISTRY = Registry("FC-VI")

MAX_TRANSFER_SIZE = 32768  # the least that every VI NIC has to offer (VI-ARCH 6.1.1.2)
DISCRIMINATOR = bytes.fromhex("46432d564920636f6e666f726d616e63")
OTHER_DISCRIMINATOR = bytes.fromhex("00ff00ff00ff00ff00ff00ff00ff00ff")

NO_MATCH, CONNECT_TIMEOUT, NO_WAITING, CONNECT_REJECT = 0x01, 0x02, 0x03, 0x04  # Table 12
TRANSPORT_ERROR, PROTOCOL_ERROR, SETUP_TIMEOUT, DOES_NOT_EXIST, DISCONNECT_ACCEPT = 0x40, 0x48, 0x49, 0x4A, 0x4B

CLIENT, SERVER = "dut-client", "dut-server"
BOTH_ROLES = [Variant(CLIENT, {"role": CLIENT}, "client"), Variant(SERVER, {"role": SERVER}, "server")]
STATE = {
    "idle": "VIP_STATE_IDLE",
    "pending": "VIP_STATE_CONNECT_PENDING",
    "connected": "VIP_STATE_CONNECTED",
    "error": "VIP_STATE_ERROR",
}


@dataclass
class Setup:
    """A Connection Setup between tester and DUT, from the tester's side."""

    role: str  # of the DUT
    vi: int
    exchange: Exchange
    connection_id: int
    dut_handle: int = UNASSIGNED
    tester_handle: int = UNASSIGNED
    call: Optional[Call] = None  # the DUT's VipConnectRequest or VipConnectAccept
    rqst: Optional[Received] = None
    retry: int = 0
    mode: int = 1  # CONN_MODE
    disconnected: bool = False  # by the DUT's provider, of its own accord (5.3.5)


# ---- addresses, attributes and payloads ----


def discriminator_of(t: Scenario) -> bytes:
    """The Discriminator of this variant; the same on both sides, so that every reading of 4.2 agrees (E78)."""
    value = t.params.get("discriminator", DISCRIMINATOR)
    assert isinstance(value, bytes)
    return value


def takes(discriminator: bytes) -> str:
    """The PICS expression of a case that uses this Discriminator: the device has to take one so long (MaxDiscriminatorLen)."""
    return f"max_discriminator_len >= {len(discriminator)}" if len(discriminator) > _ALWAYS_TAKEN else ""


_ALWAYS_TAKEN = 16  # bytes: the least MaxDiscriminatorLen (VI-DG, NIC attributes)


def dut_host(t: Scenario) -> str:
    """The DUT's Host Address in this variant: one of those that it has."""
    return str(t.config["host"][int(t.params.get("host_index", 0))])


def tester_host(t: Scenario) -> str:
    """The tester's Host Address in this variant: the one that the DUT was told, or one that it has to resolve."""
    return str(t.params.get("tester_host", t.config["peer"]["host"][0]))


def another_host(t: Scenario) -> str:
    """A Host Address that is not the tester's, whatever that one is."""
    usual = tester_host(t)
    return f"{usual[:-2]}{int(usual[-2:], 16) ^ 0x5A:02x}"


def dut_address(t: Scenario, discriminator: Optional[bytes] = None) -> dict[str, str]:
    """The DUT's address as VIPL calls take it."""
    value = discriminator_of(t) if discriminator is None else discriminator
    return {"host": dut_host(t), "discriminator": value.hex()}


def tester_address(t: Scenario, discriminator: Optional[bytes] = None) -> dict[str, str]:
    """The tester's address as VIPL calls take it."""
    value = discriminator_of(t) if discriminator is None else discriminator
    return {"host": tester_host(t), "discriminator": value.hex()}


def transfer_size(t: Scenario) -> int:
    """MaxTransferSize of all VIs; both sides have to agree (VI-DG 6.7)."""
    return min(MAX_TRANSFER_SIZE, int(t.pics["max_transfer_size"]) or MAX_TRANSFER_SIZE)


def vi_attributes(t: Scenario) -> dict[str, Any]:
    """Attributes of the DUT's VIs: Unreliable Delivery, which every NIC offers (E111), unless the case says otherwise."""
    chosen = attributes_of(t)
    return {
        "ReliabilityLevel": _LEVEL_NAME[chosen["FCVI_RELIABILITY_LVL"]],
        "MaxTransferSize": chosen["FCVI_MAX_TRANS_SIZE"],
        "EnableRdmaWrite": bool(chosen["EnRdmaWr"]),
        "EnableRdmaRead": bool(chosen["EnRdmaRd"]),
        "QoS": {"PipelineDepth": chosen["FCVI_PIPELINE_DEPTH"], "Preference": bool(t.params.get("preference"))},
    }


_LEVEL_NAME = {1: "VIP_SERVICE_UNRELIABLE", 2: "VIP_SERVICE_RELIABLE_DELIVERY", 3: "VIP_SERVICE_RELIABLE_RECEPTION"}


def attributes_of(t: Scenario) -> dict[str, int]:
    """FCVI_ATTRIBUTES that both sides have in this variant: its parameter "attributes" over the plainest ones."""
    base = {
        "FCVI_RELIABILITY_LVL": 1, "EnRdmaWr": 0, "EnRdmaRd": 0, "FCVI_MAX_TRANS_SIZE": transfer_size(t),
        "FCVI_PIPELINE_DEPTH": 0,
    }  # fmt: skip
    return {**base, **t.params.get("attributes", {})}


def connection_attributes(t: Scenario) -> dict[str, Any]:
    """FCVI_ATTRIBUTES of the tester's Endpoints, equal to those of the DUT's VIs but for "tester_attributes"."""
    chosen: dict[str, Any] = {**attributes_of(t), **t.params.get("tester_attributes", {})}
    depth = chosen.pop("FCVI_PIPELINE_DEPTH")
    pref = 0x80 if t.params.get("tester_preference") else 0
    return {**chosen, "FCVI_QOS": structure("QOS", {"FCVI_PIPELINE_DEPTH": depth, "FCVI_PREF": pref})}


def connect_payload(t: Scenario, name: str, handle: int, info: bytes = b"", **fields: Any) -> bytes:
    """Payload of the tester's FCVI_CONNECT_RQST or FCVI_CONNECT_RESP1 (Tables 13 and 14)."""
    attributes = structure("ATTRS", connection_attributes(t))
    handle_field = "FCVI_RQST_HANDLE" if name == "CONNECT_RQST" else "FCVI_RESP_HANDLE"
    values: dict[str, Any] = {
        "FCVI_REVISION": 1,
        handle_field: handle,
        "FCVI_LOC_ADDR": net_address(tester_host(t), discriminator_of(t)),
        "FCVI_REM_ADDR": net_address(dut_host(t), discriminator_of(t)),
        "FCVI_LOC_ATTRS": attributes,
        **fields,
    }
    return structure("CONN", values) + info


def new_handle(t: Scenario) -> int:
    """An FCVI_HANDLE of the tester's; any value but FFFFFFFFh is right (5.9.2, E12)."""
    chosen = t.params.get("handle")
    return int(chosen) if chosen is not None else t.rng.randrange(1, UNASSIGNED)


# ---- the control plane ----


def create_vi(t: Scenario) -> int:
    """VipCreateVi with the base attributes; the VI is Idle (8.2 a).

    A DUT has no more VIs than it says (max_vis): then one that the case has done with makes room (E150).
    """
    call = t.call("VipCreateVi", ViAttribs=vi_attributes(t))
    code = call.returned()
    if code == "VIP_ERROR_RESOURCE" and len(t.vis) >= int(t.pics["max_vis"]):
        _make_room(t)
        call = t.call("VipCreateVi", ViAttribs=vi_attributes(t))
        code = call.returned()
    t.demand(code == "VIP_SUCCESS", "FCVI-8.2-a1", f"VipCreateVi returned {code}", code, "VIP_SUCCESS")
    t.vis.append(call.integer("vi"))
    return t.vis[-1]


def _make_room(t: Scenario) -> None:
    """Destroy a VI that is Idle; where the case uses all of them nothing can be said about the next one."""
    for vi in [vi for vi in t.vis if vi in t.used]:  # one that was never used is still to be
        idle = t.call("VipQueryVi", vi=vi).text("State") == STATE["idle"]
        if idle and (_destroyed(t, vi) or _emptied(t, vi) and _destroyed(t, vi)):
            t.vis.remove(vi)
            t.used.remove(vi)
            return
    raise Inconclusive("the case needs more VIs than the DUT has (max_vis)")


def _destroyed(t: Scenario, vi: int) -> bool:
    return t.call("VipDestroyVi", vi=vi).returned() == "VIP_SUCCESS"


_MOST_DONE = 256  # no case has so many Descriptors on a queue


def _emptied(t: Scenario, vi: int) -> bool:
    """Take what is done from both queues: a VI with Descriptors is not destroyed (VI-ARCH 5.1). Whether there was any."""
    taken = 0
    for method in ("VipSendDone", "VipRecvDone"):
        for _ in range(_MOST_DONE):
            if t.call(method, vi=vi).returned() not in ("VIP_SUCCESS", "VIP_DESCRIPTOR_ERROR"):
                break
            taken += 1
    return taken > 0


def check_state(
    t: Scenario, vi: int, state: str, requirement: str, tolerated: Optional[Mapping[str, str]] = None, stays: bool = False
) -> None:
    """VipQueryVi reports this state. tolerated: other states, with the errata that allow them.

    No clause says what comes first, an IU or the state that goes with it: the state has the time of an answer to follow (E123).
    stays: it is that from before, which nothing has to follow.
    """
    shown: list[str] = []

    def reached() -> bool:
        call = t.call("VipQueryVi", vi=vi)
        code = call.returned()
        t.demand(code == "VIP_SUCCESS", requirement, f"VipQueryVi returned {code}", code, "VIP_SUCCESS")
        shown[:] = [call.text("State")]
        return shown[0] == STATE[state]

    t.until(reached, 0 if stays else t.owed_us())
    seen = shown[0]
    also = {STATE[other]: erratum for other, erratum in (tolerated or {}).items()}
    t.require(seen == STATE[state], requirement, "the VI is in the wrong state", seen, STATE[state], tolerated=also)


def connection_lost(t: Scenario, vi: int, requirement: str) -> None:
    """VipErrorCallback with VIP_ERROR_CONN_LOST was raised for the VI."""
    t.owed(lambda: (vi, "VIP_ERROR_CONN_LOST") in t.errors)
    t.require(
        (vi, "VIP_ERROR_CONN_LOST") in t.errors, requirement, "no VipErrorCallback with VIP_ERROR_CONN_LOST",
        [code for v, code in t.errors if v == vi] or "no callback", "VIP_ERROR_CONN_LOST",
    )  # fmt: skip


# ---- checks on the DUT's connection IUs ----


CLIENT_SERVER, PEER_TO_PEER = 1, 2  # CONN_MODE (Table 8)


def check_size(t: Scenario, iu: Received) -> None:
    """No frame of the IU has a longer Data_Field than the tester said at login that it can receive (FC-FS)."""
    longest = max(frame.data_field for frame in iu.frames)
    t.require(longest <= t.tester.receive_size, "FCVI-5.8.1-01", f"a frame of {iu.kind} is longer than the tester can receive",
              f"{longest} bytes", f"at most {t.tester.receive_size}", at=iu)  # fmt: skip


def check_connect_rqst(t: Scenario, rqst: Received, retry: int, mode: int = CLIENT_SERVER) -> None:
    """FCVI_CONNECT_RQST: mode, RETRY, addresses and attributes (5.9.4.4, 6.8.3)."""
    check_size(t, rqst)
    t.equal(rqst, "CONN_MODE", mode, "FCVI-T08-001" if mode == CLIENT_SERVER else "FCVI-T08-010")
    t.equal(rqst, "RQST_RETRY", retry, "FCVI-5.9.4.4-04" if retry else "FCVI-5.9.4.4-03")
    _check_addresses(t, rqst, "FCVI-6.8.3-04", "FCVI-6.8.3-05")
    _check_attributes(t, rqst, "FCVI-6.8.3-06")


def _check_addresses(t: Scenario, iu: Received, local: str, remote: str) -> None:
    pairs = (("FCVI_LOC_ADDR", dut_host(t), local), ("FCVI_REM_ADDR", tester_host(t), remote))
    for name, host, requirement in pairs:
        seen, required = iu.address(name), (16, bytes.fromhex(host), discriminator_of(t))
        t.require(
            seen == required, requirement, f"{name} is not the address of the call", _address_words(*seen),
            _address_words(*required), at=iu, byte=None if iu.last.edition else iu.byte_of("CONN", name),
        )  # fmt: skip


def _address_words(length: int, host: bytes, discriminator: bytes) -> str:
    return f"HOST_ADD_LEN {length}, HOST_ADD {host.hex()}, DISCRIM {discriminator.hex()}"


def _attribute_words(values: Iterable[int | bytes]) -> str:
    return "FCVI_RELIABILITY_LVL {}, EnRdmaWr {}, EnRdmaRd {}, FCVI_MAX_TRANS_SIZE {}".format(*values)


def _check_attributes(t: Scenario, iu: Received, requirement: str) -> None:
    names = ("FCVI_RELIABILITY_LVL", "EnRdmaWr", "EnRdmaRd", "FCVI_MAX_TRANS_SIZE")
    seen, chosen = iu.attributes(names), attributes_of(t)
    required = tuple(chosen[name] for name in names)
    t.require(
        seen == required, requirement, "FCVI_LOC_ATTRS differs from the attributes of the VI",
        _attribute_words(seen), _attribute_words(required), at=iu,
        byte=None if iu.last.edition else iu.byte_of("CONN", "FCVI_LOC_ATTRS"),
    )  # fmt: skip


def check_resp1(t: Scenario, resp1: Received, setup: Setup, refused: Optional[list[int]] = None) -> None:
    """FCVI_CONNECT_RESP1: accepting, or refusing with one of these reason codes (6.9, 5.9.7.2)."""
    check_size(t, resp1)
    t.equal(resp1, "FCVI_CONNECTION_ID", setup.connection_id, "FCVI-6.9.2-09")
    t.equal(resp1, "RESP_RETRY", setup.retry, "FCVI-5.9.4.5-06")
    if refused is not None:
        refusing = t.equal(resp1, "CONN_STS", 1, "FCVI-5.9.4.5-02")
        if refusing:
            seen = resp1.dh("Reason_Code")
            t.require(
                seen in refused, _REASON_REQUIREMENT[refused[0]], "Reason Code of FCVI_CONNECT_RESP1 is wrong", f"{seen:X}h",
                f"{refused[0]:X}h", at=resp1, **t.place(resp1, "Reason_Code"),
            )  # fmt: skip
        return
    if not t.equal(resp1, "CONN_STS", 0, "FCVI-5.3.2-01"):  # what follows makes no sense
        t.fail("FCVI-5.3.2-01", "the DUT refused a matching request", f"{resp1.dh('Reason_Code'):02X}h", "accept", resp1)
    _check_addresses(t, resp1, "FCVI-6.9.3-04", "FCVI-6.9.3-05")
    _check_attributes(t, resp1, "FCVI-6.9.3-06")


_REASON_REQUIREMENT = {
    NO_MATCH: "FCVI-5.9.7.2.1-01",
    NO_WAITING: "FCVI-5.9.7.2.1-03",
    CONNECT_REJECT: "FCVI-5.9.7.2.1-04",
    0x20: "FCVI-5.9.7.2.2-01",
    0x21: "FCVI-5.9.7.2.2-02",
}


def check_resp2(t: Scenario, resp2: Received, setup: Setup, handle: int, reason: Optional[int] = None) -> None:
    """FCVI_CONNECT_RESP2: handle of RESP1, id and RETRY of the request; a status only when one is due (6.10)."""
    t.equal(resp2, "FCVI_HANDLE", handle, "FCVI-6.10.2-02")
    t.equal(resp2, "RX_ID", setup.exchange.rx_id, "FCVI-5.8.1-01")  # once the responder has assigned one it is used (FC-FS)
    t.equal(resp2, "FCVI_CONNECTION_ID", setup.connection_id, "FCVI-6.10.2-09")
    t.equal(resp2, "RESP_RETRY", setup.retry, "FCVI-5.9.4.5-07")
    if reason is not None:
        if t.equal(resp2, "CONN_STS", 1, "FCVI-5.9.7.2.1-02"):
            t.equal(resp2, "Reason_Code", reason, "FCVI-5.9.7.2.1-02")


def check_resp3(t: Scenario, resp3: Received, setup: Setup, refused: bool = False) -> None:
    """FCVI_CONNECT_RESP3: handle of the request, id and RETRY of the request (6.11); E14 after a refusal."""
    t.equal(
        resp3, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.11.2-02", {UNASSIGNED: "E14"} if refused else None
    )
    t.equal(resp3, "FCVI_CONNECTION_ID", setup.connection_id, "FCVI-6.11.2-09")
    t.equal(resp3, "RESP_RETRY", setup.retry, "FCVI-5.9.4.5-06")
    if not refused:
        t.equal(resp3, "CONN_STS", 0, "FCVI-5.3.2-03")


def take_resp3(t: Scenario, setup: Setup, why: str) -> Optional[Received]:
    """The DUT's FCVI_CONNECT_RESP3. None in an edition where FCVI_CONNECT_RESP2 ends the setup."""
    if t.phases == 3:
        t.settle()
        return None
    return t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why=why)


# ---- the tester as server: the DUT is the client ----


def start_request(t: Scenario, timeout_us: Optional[int] = None, vi: Optional[int] = None) -> Setup:
    """VipConnectRequest on the DUT, and its FCVI_CONNECT_RQST."""
    if vi is None:
        vi = create_vi(t)
    call = t.start(
        "VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=timeout_us
    )
    in_time(t, call, timeout_us)
    rqst = t.expect("CONNECT_RQST", "FCVI-6.8.1-01", why="after VipConnectRequest")
    check_connect_rqst(t, rqst, retry=0)
    return originated(t, vi, call, rqst)


def in_time(t: Scenario, call: Call, timeout_us: Optional[int]) -> None:
    """A request that the application bounds. A device whose FCVI_CONNECT_RQST would have come later sends none: nothing bounds the
    time that it takes.
    """
    if timeout_us is None:
        return
    t.until(lambda: call.done or t.peek(["CONNECT_RQST"]) is not None, timeout_us + t.pixit.late_us)
    if call.done and t.peek(["CONNECT_RQST"]) is None and call.returned() == "VIP_TIMEOUT":
        raise Inconclusive("the Timeout of the call passed before the DUT had sent its FCVI_CONNECT_RQST")


def originated(t: Scenario, vi: int, call: Call, rqst: Received) -> Setup:
    """The setup that a FCVI_CONNECT_RQST of the DUT begins."""
    t.tester.assign_rx_id(rqst.exchange)
    return Setup(
        CLIENT, vi, rqst.exchange, rqst.dh("FCVI_CONNECTION_ID"), rqst.conn_int("FCVI_RQST_HANDLE"),
        new_handle(t), call, rqst, rqst.dh("RQST_RETRY"), rqst.dh("CONN_MODE"),
    )  # fmt: skip


def expect_retry(t: Scenario, first: Setup, within_us: Optional[int] = None) -> Setup:
    """The one retry: new Exchange, new FCVI_CONNECTION_ID, same FCVI_RQST_HANDLE, RETRY one (8.5.4 a)."""
    rqst = t.expect("CONNECT_RQST", "FCVI-8.5.4-01", within_us=within_us, why="as the retry")
    check_connect_rqst(t, rqst, retry=1, mode=first.mode)
    assert first.call is not None
    retry = originated(t, first.vi, first.call, rqst)
    t.require(
        rqst.exchange is not first.exchange, "FCVI-8.5.4-a1", "the retry is on the Exchange of the first attempt",
        rqst.exchange, "a new Exchange", at=rqst,
    )  # fmt: skip
    t.require(
        retry.exchange.ox_id != first.exchange.ox_id or _rested(t, first.exchange, rqst), "FCVI-8.5.4-a1",
        "the retry uses the OX_ID of the aborted Exchange again within R_A_TOV", f"{retry.exchange.ox_id:04X}h",
        "another OX_ID", at=rqst, erratum="E82" if _accepted(t, first.exchange) else None,
    )  # fmt: skip
    t.require(
        retry.connection_id != first.connection_id, "FCVI-8.5.4-a1", "the retry has the old FCVI_CONNECTION_ID",
        f"{retry.connection_id:08X}h", "a new value", at=rqst, **t.place(rqst, "FCVI_CONNECTION_ID"),
    )  # fmt: skip
    t.require(
        retry.dut_handle == first.dut_handle, "FCVI-8.5.4-a1", "the retry has another FCVI_RQST_HANDLE",
        f"{retry.dut_handle:08X}h", f"{first.dut_handle:08X}h", at=rqst,
        byte=None if rqst.last.edition else rqst.byte_of("CONN", "FCVI_RQST_HANDLE"),
    )  # fmt: skip
    retry.tester_handle = first.tester_handle
    return retry


def _rested(t: Scenario, exchange: Exchange, rqst: Received) -> bool:
    """Whether R_A_TOV has passed since the DUT aborted its Exchange: then its OX_ID is free, answered or not (FC-FS)."""
    aborted = _link_service(t, "dut", "ABTS", exchange)
    return bool(aborted) and rqst.time_us >= aborted[0] + t.r_a_tov_us - t.pixit.early_us


def _accepted(t: Scenario, exchange: Exchange) -> bool:
    """Whether the DUT had a BA_ACC for its Exchange; without one the Exchange, and its OX_ID, are not free (FC-FS)."""
    return bool(_link_service(t, "tester", "BA_ACC", exchange))


def _link_service(t: Scenario, sender: str, kind: str, exchange: Exchange) -> list[int]:
    """When the Basic Link Services of this kind for the Exchange crossed the link."""
    crossed = t.crossed(sender)
    return [e.time_us for _, e, frame in crossed if kind_of(frame) == kind and frame.header("OX_ID") == exchange.ox_id]


def send_resp1(
    t: Scenario, setup: Setup, reason: Optional[int] = None, handle: Optional[int] = None, flags: Optional[int] = None,
    reserved: int = 0, vendor: int = 0,
) -> int:  # fmt: skip
    """The tester's answer: accept, or refuse with a reason code and a Vendor Unique byte. Returns the FCVI_RESP_HANDLE sent."""
    if handle is None:
        handle = setup.tester_handle if reason is None else UNASSIGNED
    info = bytes(256) if flags is not None and flags & 2 else b""
    dh = {
        "FCVI_HANDLE": UNASSIGNED,
        "FCVI_CONNECTION_ID": setup.connection_id,
        "RESP_RETRY": setup.retry,
        "CONN_STS": int(reason is not None),
        "Reason_Code": reason or 0,
        "Vendor_Unique": vendor,
        "DH_RSVD": reserved,
    }
    if flags is not None:
        dh["FCVI_FLAGS"] = flags | setup.retry << 2
    t.send("CONNECT_RESP1", setup.exchange, dh, connect_payload(t, "CONNECT_RESP1", handle, info))
    return handle


def send_resp3(t: Scenario, setup: Setup, handle: Optional[int] = None) -> None:
    """The tester ends the setup Exchange."""
    dh = {
        "FCVI_HANDLE": setup.dut_handle if handle is None else handle,
        "FCVI_CONNECTION_ID": setup.connection_id,
        "RESP_RETRY": setup.retry,
    }
    t.send("CONNECT_RESP3", setup.exchange, dh)


def not_timed_out(t: Scenario, setup: Setup, before: str) -> None:
    """The DUT's own T3 (8.3) has not ended the setup that it asked for; else nothing can be said, as the tester was slow."""
    assert setup.rqst is not None
    first = t.peek(["ABTS"], setup.exchange)
    if first is not None and first.time_us >= setup.rqst.began_us + t.ulp_timeout_us - t.pixit.early_us:
        raise Inconclusive(f"the DUT's FCVI_ULP_TIMEOUT for FCVI_CONNECT_RESP3 ended the setup before {before}; "
                           "for an adapter that needs longer raise --r-a-tov")  # fmt: skip


def take_resp2(t: Scenario, setup: Setup, why: str) -> Received:
    """The DUT's FCVI_CONNECT_RESP2.

    A DUT may be slow (E123), but its own T3 runs from its FCVI_CONNECT_RQST on (8.3). Where the tester has used up part of
    that time, an ABTS at T3 in place of FCVI_CONNECT_RESP2 is no breach: then nothing can be said.
    """
    assert setup.rqst is not None
    late = t.now_us - setup.rqst.began_us > t.pixit.early_us
    wanted = ["CONNECT_RESP2", "ABTS"] if late else ["CONNECT_RESP2"]
    t.owed(lambda: t.peek(wanted, setup.exchange) is not None)
    if late and t.peek(["CONNECT_RESP2"], setup.exchange) is None:
        not_timed_out(t, setup, "its FCVI_CONNECT_RESP2")
    return t.expect("CONNECT_RESP2", "FCVI-6.10.1-01", exchange=setup.exchange, within_us=0, why=why)


def before_t3(t: Scenario, setup: Setup, wanted_us: int) -> int:
    """As much of the wanted time as leaves the DUT's T3 alone (8.3)."""
    assert setup.rqst is not None
    return max(0, min(wanted_us, setup.rqst.began_us + t.ulp_timeout_us - 2 * t.pixit.early_us - t.now_us))


def accept_request(t: Scenario, setup: Setup, flags: Optional[int] = None, reserved: int = 0) -> None:
    """RESP1 accept up to the DUT's RESP2 and the return of VipConnectRequest; RESP3 is still to be sent."""
    finish_request(t, setup, send_resp1(t, setup, flags=flags, reserved=reserved))


def finish_request(t: Scenario, setup: Setup, handle: int) -> None:
    """The DUT's FCVI_CONNECT_RESP2 to an accept with this FCVI_RESP_HANDLE, and the return of VipConnectRequest."""
    resp2 = take_resp2(t, setup, "after an accepting RESP1")
    check_resp2(t, resp2, setup, handle)
    t.equal(resp2, "CONN_STS", 0, "FCVI-5.3.2-02")
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")


def connect_dut_client(t: Scenario) -> Setup:
    """A complete setup with the DUT as client."""
    setup = start_request(t)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    return setup


# ---- the tester as client: the DUT is the server ----


def start_wait(t: Scenario, timeout_us: Optional[int] = None, discriminator: Optional[bytes] = None) -> Call:
    """VipConnectWait on the DUT."""
    return t.start("VipConnectWait", LocalAddr=dut_address(t, discriminator), Timeout=timeout_us)


def send_rqst(
    t: Scenario,
    *,
    retry_of: Optional[Setup] = None,
    flags: int = 1,
    info: bytes = b"",
    connection_id: Optional[int] = None,
    port: Optional[int] = None,
    reserved: int = 0,
    **fields: Any,
) -> Setup:
    """The tester's FCVI_CONNECT_RQST in a new Exchange. As a retry of an earlier one when that is given.

    Where the DUT has logged out by itself, the tester logs in first (7.7.1).
    port: N_Port Identifier of another port of the tester. reserved: bytes 2 and 3 of Device_Header Word 1.
    """
    if retry_of is None and port is None and t.tester.services.logged_out:
        login(t)
    exchange = t.tester.open_exchange(port=port)
    if connection_id is None:
        connection_id = t.rng.randrange(1, UNASSIGNED)
    handle = new_handle(t) if retry_of is None else retry_of.tester_handle
    setup = Setup(SERVER, -1, exchange, connection_id, tester_handle=handle, retry=int(retry_of is not None))
    setup.mode = flags & 7
    dh = {
        "FCVI_HANDLE": UNASSIGNED,
        "FCVI_FLAGS": flags | setup.retry << 4 | (8 if info else 0),
        "FCVI_CONNECTION_ID": connection_id,
        "DH_RSVD": reserved,
    }
    t.send("CONNECT_RQST", exchange, dh, connect_payload(t, "CONNECT_RQST", handle, info, **fields))
    t.settle()
    return setup


def check_told(t: Scenario, call: Call, requirement: str) -> None:
    """RemoteViAttribs are those that the other end has put on the wire; both ends of the variant have the same ones."""
    told = call.table("RemoteViAttribs") if isinstance(call.result().get("RemoteViAttribs"), dict) else {}
    required = vi_attributes(t)
    for name in ("ReliabilityLevel", "MaxTransferSize", "EnableRdmaWrite", "EnableRdmaRead"):
        seen = told.get(name)
        if seen is not None:
            t.require(seen == required[name], requirement, f"{name} in RemoteViAttribs", seen, required[name])


def finish_wait(t: Scenario, wait: Call, alike: bool = True) -> int:
    """VipConnectWait returns the client's address as the client gave it, and its attributes (4.2, VI-DG 3.3.1). Returns conn.
    alike: the tester has asked with those of the variant.

    A device that has logged out owes nothing to a request without a login (7.7.1, FC-FS).
    """
    if t.tester.services.logged_out and not t.owed(lambda: wait.reply.done):
        raise Inconclusive("the DUT logged out by itself while the tester's request was on its way")
    t.finish(wait, "FCVI-4.2-33", returns="VIP_SUCCESS")
    address = wait.table("RemoteAddr")
    t.require(
        address == tester_address(t), "FCVI-4.2-35", "VipConnectWait returned another RemoteAddr", address,
        tester_address(t),
    )  # fmt: skip
    if alike and "tester_attributes" not in t.params:
        check_told(t, wait, "FCVI-6.8.3-06")
    return wait.integer("conn")


def start_accept(t: Scenario, setup: Setup, conn: int) -> Received:
    """VipCreateVi and VipConnectAccept on the DUT, and its accepting RESP1."""
    setup.vi = create_vi(t)
    setup.call = t.start("VipConnectAccept", conn=conn, vi=setup.vi)
    return expect_accept(t, setup)


def expect_accept(t: Scenario, setup: Setup) -> Received:
    """The DUT's accepting RESP1 on the setup's Exchange."""
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", exchange=setup.exchange, why="after VipConnectAccept")
    check_resp1(t, resp1, setup)
    setup.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
    return resp1


def send_resp2(t: Scenario, setup: Setup, reason: Optional[int] = None, handle: Optional[int] = None) -> None:
    """The tester's acknowledgement of RESP1."""
    dh = {
        "FCVI_HANDLE": setup.dut_handle if handle is None else handle,
        "FCVI_CONNECTION_ID": setup.connection_id,
        "RESP_RETRY": setup.retry,
        "CONN_STS": int(reason is not None),
        "Reason_Code": reason or 0,
    }
    t.send("CONNECT_RESP2", setup.exchange, dh)


def finish_accept(t: Scenario, setup: Setup) -> None:
    """RESP2 up to RESP3 and the return of VipConnectAccept."""
    send_resp2(t, setup)
    resp3 = take_resp3(t, setup, "after RESP2")
    if resp3 is not None:
        check_resp3(t, resp3, setup)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b1", returns="VIP_SUCCESS")


def connect_dut_server(t: Scenario) -> Setup:
    """A complete setup with the DUT as server."""
    wait = start_wait(t)
    setup = send_rqst(t)
    conn = finish_wait(t, wait)
    start_accept(t, setup, conn)
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    return setup


def connect(t: Scenario) -> Setup:
    """A complete setup with the DUT in the role of this variant; it is the positive control as well."""
    setup = connect_dut_client(t) if t.params["role"] == CLIENT else connect_dut_server(t)
    t.control("a Connection Setup completed and the VI is Connected")
    return setup


def accept_retry(t: Scenario, first: Setup, retry: Setup) -> Received:
    """The accepting RESP1 to a retry whose first Exchange the tester has aborted.

    A DUT may have ended the setup with that ABTS (8.5.2 a, 8.5.3 d): then it has nothing to accept with (E153).
    """
    assert first.call is not None
    call: Call = first.call
    t.owed(lambda: t.peek(["CONNECT_RESP1"], retry.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], retry.exchange)
    if resp1 is not None and resp1.dh("CONN_STS") and t.owed(lambda: call.done) and call.returned() != "VIP_SUCCESS":
        raise Inconclusive("the DUT ended the setup when its first Exchange was aborted, and refused the retry")
    return expect_accept(t, retry)


def control_setup(t: Scenario) -> None:
    """Positive control after the case proper: a further setup succeeds with this DUT."""
    if t.params["role"] == CLIENT:
        connect_dut_client(t)
    else:
        connect_dut_server(t)
    t.control("a further Connection Setup completed")


# ---- aborting an Exchange ----


def expect_abts(
    t: Scenario, exchange: Exchange, begin: Received, requirement: str, *, accept: bool = True, what: str = "T3"
) -> Received:
    """The DUT aborts the Exchange one FCVI_ULP_TIMEOUT after the IU that began it (8.3), and the tester accepts the ABTS."""
    nominal = begin.time_us + t.r_a_tov_us
    limit = nominal + 2 * t.r_a_tov_us - t.now_us
    abts = t.expect("ABTS", requirement, exchange=exchange, within_us=max(limit, 0), why=f"after {what}")
    timing = "FCVI-8.6.2-b" if requirement.startswith("FCVI-8.6") else "FCVI-8.5.2-b"
    t.expect_time(abts, nominal, timing, f"ABTS at {what}", since=begin)
    own = [f for _, _, f in t.crossed("dut", begin.numbers[-1]) if f.kind == "iu" and f.header("OX_ID") == exchange.ox_id]
    known = {f.header("RX_ID") for f in own if not f.header("Exchange_Context")} - {X_ID_UNASSIGNED}
    if exchange.originator == "dut" and known:  # the DUT has used the RX_ID that the responder assigned (FC-FS)
        t.equal(abts, "RX_ID", known.pop(), "FCVI-5.8.1-01")
    if accept:
        t.tester.send_ba_acc(abts)
        t.settle()
    return abts


def accept_abts(t: Scenario, setup: Setup) -> None:
    """Accept an ABTS of the DUT for this setup, if one has come: recovery that is neither required nor forbidden."""
    abts = t.peek(["ABTS"], setup.exchange)
    if abts is not None:
        abts.taken = True
        t.tester.send_ba_acc(abts)


def tester_abts(t: Scenario, exchange: Exchange) -> None:
    """The tester aborts an Exchange of its own; FC-FS wants an answer, and C.5.7.1 a BA_ACC."""
    t.tester.send_abts(exchange)
    answer = t.expect(["BA_ACC", "BA_RJT"], "FCVI-4.1-04", exchange=exchange, why="after ABTS")
    t.require(
        answer.kind == "BA_ACC", "FCVI-C.5.7.1-03", "the DUT rejected the ABTS", "BA_RJT", "BA_ACC", at=answer
    )


# ---- Disconnect ----


def check_disconnect_rqst(
    t: Scenario, rqst: Received, setup: Setup, *, abort: int, reasons: tuple[int, ...], handle: int
) -> None:
    """FCVI_DISCONNECT_RQST after VipDisconnect (6.12.2); the status is optional (5.9.4.6)."""
    t.require(
        rqst.exchange is not setup.exchange and rqst.exchange.originator == "dut", "FCVI-T01-DISCONNECT_RQST-pos",
        "FCVI_DISCONNECT_RQST is not on an Exchange of its own", rqst.exchange, "a new Exchange", at=rqst,
    )  # fmt: skip
    t.equal(rqst, "VI_APP_DISCON", 1, "FCVI-6.12.2-08")
    t.equal(rqst, "CONN_SETUP_ABORT", abort, "FCVI-6.12.2-06" if abort else "FCVI-6.12.2-07")
    if abort:
        tolerated = {setup.dut_handle: "E04"} if handle == UNASSIGNED else None
        t.equal(rqst, "FCVI_HANDLE", handle, "FCVI-6.12.2-03", tolerated)
        t.equal(rqst, "FCVI_CONNECTION_ID", setup.connection_id, "FCVI-6.12.2-14")
    else:  # FCVI_CONNECTION_ID is zero: the codec looks at that (E03)
        t.equal(rqst, "FCVI_HANDLE", handle, "FCVI-6.12.2-02")
    if rqst.dh("DISC_CONN_STS") and rqst.dh("Reason_Code") not in reasons and rqst.dh("Reason_Code") < 0xF0:
        t.equal(rqst, "Reason_Code", reasons[0], "FCVI-5.9.4.6-02")


def send_disconnect_resp(t: Scenario, rqst: Received, handle: int, reason: Optional[int] = None) -> None:
    """The tester's answer to a FCVI_DISCONNECT_RQST."""
    dh = {
        "FCVI_HANDLE": handle,
        "FCVI_FLAGS": rqst.dh("FCVI_FLAGS") & 6 | int(reason is not None),
        "Reason_Code": reason or 0,
        "FCVI_CONNECTION_ID": rqst.dh("FCVI_CONNECTION_ID"),
    }
    t.tester.assign_rx_id(rqst.exchange)
    t.send("DISCONNECT_RESP", rqst.exchange, dh)


def send_disconnect_rqst(
    t: Scenario, *, handle: int, connection_id: int, abort: int, app: int = 1, reason: Optional[int] = None
) -> Exchange:
    """The tester's FCVI_DISCONNECT_RQST on a new Exchange."""
    exchange = t.tester.open_exchange()
    dh = {
        "FCVI_HANDLE": handle,
        "CONN_SETUP_ABORT": abort,
        "VI_APP_DISCON": app,
        "DISC_CONN_STS": int(reason is not None),
        "Reason_Code": reason or 0,
        "FCVI_CONNECTION_ID": connection_id,
    }
    t.send("DISCONNECT_RQST", exchange, dh)
    return exchange


_VENDOR_UNIQUE = range(0xF0, 0x100)  # Table 12


def expect_disconnect_resp(
    t: Scenario, exchange: Exchange, *, connection_id: int, abort: int, app: int = 1, handle: Optional[int] = None
) -> Received:
    """FCVI_DISCONNECT_RESP: flags and FCVI_CONNECTION_ID repeated (6.13.2, 5.9.4.6). A handle that is None is not checked."""
    resp = t.expect("DISCONNECT_RESP", "FCVI-6.13.1-01", exchange=exchange, why="after FCVI_DISCONNECT_RQST")
    t.equal(resp, "CONN_SETUP_ABORT", abort, "FCVI-5.9.4.6-06")
    t.equal(resp, "VI_APP_DISCON", app, "FCVI-5.9.4.6-04")
    said = resp.dh("Reason_Code") if resp.dh("DISC_CONN_STS") else None
    silent = said is None or said in _VENDOR_UNIQUE  # E170: then only FCVI_HANDLE tells that nothing is known of it
    does_not_exist = said == DOES_NOT_EXIST or silent and resp.dh("FCVI_HANDLE") == UNASSIGNED
    t.equal(
        resp, "FCVI_CONNECTION_ID", connection_id, "FCVI-6.13.2-11", {UNASSIGNED: "E05"} if does_not_exist else None
    )
    if handle is not None:
        t.equal(resp, "FCVI_HANDLE", handle, "FCVI-6.13.2-03" if handle == UNASSIGNED else "FCVI-6.13.2-02")
    return resp


def check_reason(t: Scenario, resp: Received, code: int, requirement: str, also: Iterable[int] = ()) -> None:
    """What FCVI_DISCONNECT_RESP says of a request for something unknown: annex D gives a code, the body lets it say nothing."""
    if t.equal(resp, "DISC_CONN_STS", 1, requirement, {0: "E170"}) and resp.dh("DISC_CONN_STS"):
        t.equal(resp, "Reason_Code", code, requirement, {other: "E170" for other in (*also, *_VENDOR_UNIQUE)})


def answer_provider(t: Scenario, setup: Setup, look: Callable[[Received], None] = lambda rqst: None) -> bool:
    """Answer what the DUT's provider asked for by itself, as it may after an error (5.3.5, E151); whether it has.

    It may have given an attempt up and tried again while the case waited for something else (8.6.3 a). look: at each request.
    """
    return _is_in_error(t, setup) and _answer_provider(t, setup, look)


def _is_in_error(t: Scenario, setup: Setup) -> bool:
    return STATE["error"] == t.call("VipQueryVi", vi=setup.vi).text("State")


def _answer_provider(t: Scenario, setup: Setup, look: Callable[[Received], None]) -> bool:
    t.settle()
    while (rqst := _of_provider(t)) is not None:
        rqst.taken = True
        look(rqst)
        t.equal(rqst, "FCVI_HANDLE", setup.tester_handle, "FCVI-6.12.2-02")
        abts = t.peek(["ABTS"], rqst.exchange)
        if abts is not None:
            abts.taken = True
            t.tester.send_ba_acc(abts)
        else:
            send_disconnect_resp(t, rqst, setup.dut_handle)
            setup.disconnected = True
        t.settle()
    return setup.disconnected


def _of_provider(t: Scenario) -> Optional[Received]:
    """The oldest FCVI_DISCONNECT_RQST, when it is the provider's, of a Connection that was set up."""
    rqst = t.peek(["DISCONNECT_RQST"])
    return None if rqst is None or rqst.dh("VI_APP_DISCON") or rqst.dh("CONN_SETUP_ABORT") else rqst


def ask_to_disconnect(
    t: Scenario, setup: Setup, look: Callable[[Received], None] = lambda rqst: None
) -> Call:
    """VipDisconnect on the DUT, until it returns or its FCVI_DISCONNECT_RQST is here.

    What the provider asked for before may still be under way: it is answered (5.3.5). look: at each request of the provider.
    """
    in_error = _is_in_error(t, setup)
    if in_error:
        _answer_provider(t, setup, look)
    call = t.start("VipDisconnect", vi=setup.vi)
    while t.owed(lambda: call.done or t.peek(["DISCONNECT_RQST"]) is not None):
        rqst = _of_provider(t) if in_error else None
        if rqst is None:
            break
        rqst.taken = True
        look(rqst)
        send_disconnect_resp(t, rqst, setup.dut_handle)
        t.settle()
        setup.disconnected = True
    return call


def disconnect_and_answer(
    t: Scenario, setup: Setup, *, abort: int = 0, reasons: tuple[int, ...] = (), handle: Optional[int] = None,
    resp_reason: Optional[int] = None,
) -> None:
    """VipDisconnect on the DUT, answered by the tester: VIP_SUCCESS and Idle (8.1, 8.2 d and e).

    Where the provider has disconnected a VI in Error by itself, VipDisconnect may find nothing left to ask for (E151).
    """  # fmt: skip
    call = ask_to_disconnect(t, setup)
    if setup.disconnected and t.peek(["DISCONNECT_RQST"]) is None:
        t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
        check_state(t, setup.vi, "idle", "FCVI-8.2-e1")
        return
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", within_us=0, why="after VipDisconnect")
    wanted = setup.tester_handle if handle is None else handle
    allowed = reasons or (TRANSPORT_ERROR, *range(0x41, 0x4C))
    check_disconnect_rqst(t, rqst, setup, abort=abort, reasons=allowed, handle=wanted)
    t.require(not call.done, "FCVI-8.3-04", "VipDisconnect returned before FCVI_DISCONNECT_RESP", "returned", "blocked")
    send_disconnect_resp(t, rqst, setup.dut_handle if resp_reason != DOES_NOT_EXIST else UNASSIGNED, resp_reason)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-e1" if abort or reasons else "FCVI-8.2-d2")


def disconnect_unanswered(t: Scenario, setup: Setup) -> None:
    """VipDisconnect on the DUT, never answered: ABTS, VIP_NOT_REACHABLE and Error (8.6.3 a, C.5.7.2)."""
    call = ask_to_disconnect(t, setup)
    if setup.disconnected and call.done:
        t.step("the provider had disconnected before: VipDisconnect had nothing left to ask for (E151)")
        return
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", within_us=0, why="after VipDisconnect")
    expect_abts(t, rqst.exchange, rqst, "FCVI-8.6.3-a1", what="the timeout of FCVI_DISCONNECT_RESP")
    t.tolerate("DISCONNECT_RQST", "ABTS")  # one or more retries are permitted (E59)
    t.finish(call, "FCVI-8.6.3-a3", within_us=6 * t.r_a_tov_us, returns="VIP_NOT_REACHABLE")
    check_state(t, setup.vi, "error", "FCVI-8.6.3-a2")
