"""Clause 7 and Annex B: net addresses, attributes, and how addresses are resolved."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import Inconclusive
from fcvi.engine.upper_tester import Unimplemented
from fcvi.fc import els
from fcvi.fc.received import Received

from conformance.fcvi.steps.connection import attributes_of
from conformance.fcvi.steps.neighbours import (
    FABRIC, NEEDS, POINT_TO_POINT, PUBLIC_LOOP, TOPOLOGIES, UNKNOWN_HOST, count, need_broadcast,
)  # fmt: skip
from conformance.rev1.steps.connection import (
    CLIENT, REGISTRY, REJECT, SERVER, Scenario, Setup, attributes, check_refusal, connect, connect_server, create_vi, dut_address,
    dut_host, finish_accept, finish_request, finish_wait, level_of, make_room, net_address, originated, send_resp1, send_resp2,
    send_rqst, start_accept, start_request, start_wait, tester_address, tester_host, variants, check_attributes, check_rqst,
)  # fmt: skip
from conformance.rev1.steps.messages import exchange_a_send

_LENGTHS = (0, 1, 15, 16, 128)
_V4 = {"host": ["0000000000000000000000000a000002"], "peer": {"host": ["0000000000000000000000000a000001"]}}
_REPLIES = 3  # as many as one login of the port's own accord cannot follow
_ANOTHER = "fd000000000000000000000000a57e21"  # another Host Address of the tester's port
_MAPPED = "00000000000000000000ffff0a000002"


@case(
    REGISTRY,
    "R1.7.1.a",
    "Net addresses",
    clause="4.2, 7.1",
    requirements=["REV1-4.2-01", "REV1-7.1-01", "REV1-7.1-02", "REV1-7.1-03", "REV1-7.1-04", "REV1-7.1-05",
                  "FCVI-7.2-12"],
    tags=["setup", "address"],
    applies="(client or server) and send",
    variants=variants(choices=[(f"discriminator-{n}", {"discriminator": bytes(range(n))}) for n in _LENGTHS])
    + variants(choices=[("ipv4", {"config": _V4})])
    + variants(roles=(SERVER,), choices=[
        ("ipv4-mapped", {"what": "foreign", "config": _V4, "asked_host": _MAPPED}),
        ("length-129", {"what": "foreign", "length": 129}), ("length-ffff", {"what": "foreign", "length": 0xFFFF}),
        ("shorter-discriminator", {"what": "foreign", "cut": 8})])
    + variants(roles=("any",), choices=[("most", {"what": "most"})]),
)  # fmt: skip
def net_addresses(t: Scenario) -> None:
    """Both lengths have two bytes, Discriminators of 0 to 128 bytes are carried and matched, IPv4 is ::a.b.c.d and no other form
    matches it. A length that cannot be matches nothing, and nothing beyond the field is read.
    """
    what = t.params.get("what")
    if what == "most":
        _most(t)
        return
    if what == "foreign":
        _foreign(t)
        return
    length = len(t.params["discriminator"]) if "discriminator" in t.params else None
    if length is not None and not _takes(t, length):
        raise Inconclusive(f"the control plane of the DUT takes no Discriminator of {length} bytes")
    setup = connect(t)
    if dut_host(t).startswith("0" * 24):
        _check_ipv4(t)
    exchange_a_send(t, setup)
    t.control("the Connection Setup completed, and Messages passed")


def _check_ipv4(t: Scenario) -> None:
    """An IPv4 address has 96 zeros before it."""
    for iu in t.tester.inbox:
        if iu.kind in ("CONNECT_RQST", "CONNECT_RESP1"):
            for name, host in (("VI_LOC_ADDR", dut_host(t)), ("VI_REM_ADDR", tester_host(t))):
                seen = iu.conn(name)
                assert isinstance(seen, bytes)
                t.require(seen[4:20].hex() == host, "REV1-7.1-01", f"the IPv4 address in {name}", seen[4:20].hex(), host, at=iu)


def _takes(t: Scenario, length: int) -> bool:
    """Whether VipConnectWait takes a Discriminator of this length."""
    probe = start_wait(t, timeout_us=1, discriminator=bytes(length))
    if t.owed(lambda: probe.done, answers=2) and probe.returned() == "VIP_INVALID_PARAMETER":
        return False
    t.finish(probe, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    return True


def _most(t: Scenario) -> None:
    """MaxDiscriminatorLen as VipQueryNic tells it, or by what VipConnectWait takes where there is no such call."""
    try:
        with t.looking_at_errors():
            asked = t.call("VipQueryNic")
        told = asked.table("NicAttribs").get("MaxDiscriminatorLen")
        t.require(isinstance(told, int) and told <= 128, "REV1-7.1-04", "MaxDiscriminatorLen", told, "128 at most")
    except Unimplemented:
        t.step("the device serves no VipQueryNic: what VipConnectWait takes shows the limit")
    t.require(not _takes(t, 129), "REV1-7.1-04", "a Discriminator of 129 bytes is taken", "taken", "VIP_INVALID_PARAMETER")
    setup = connect(t)
    exchange_a_send(t, setup)
    t.control("the Connection Setup completed")


def _foreign(t: Scenario) -> None:
    """A request whose remote address is not the one that waits."""
    wait = start_wait(t)
    discriminator = bytes(t.params.get("discriminator", b"")) or bytes.fromhex(dut_address(t)["discriminator"])
    remote = bytearray(net_address(str(t.params.get("asked_host", dut_host(t))), discriminator))
    if "length" in t.params:
        remote[2:4] = int(t.params["length"]).to_bytes(2, "big")
    if "cut" in t.params:
        remote[2:4] = int(t.params["cut"]).to_bytes(2, "big")
    t.tolerate("CONNECT_RESP1")
    asked = send_rqst(t, VI_REM_ADDR=bytes(remote))
    t.owed(lambda: wait.done)
    row = "REV1-7.1-01" if "asked_host" in t.params else "REV1-7.1-03"
    t.require(not wait.done, row, "a request for another address met VipConnectWait", "a connection request", "none")
    resp1 = t.peek(["CONNECT_RESP1"], asked.exchange)
    if resp1 is not None:
        resp1.taken = True
        t.equal(resp1, "CONN_ERR", 1, row)
        send_resp2(t, asked)
    if wait.done:
        wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    t.control("a request for the right address connected")


# ---- attributes ----

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_OTHER_LEVEL = {1: 2, 2: 4, 4: 1}


@case(
    REGISTRY,
    "R1.7.2.a",
    "Attributes and quality of service",
    clause="4.2, 7.2, Annex B",
    requirements=["REV1-4.2-02", "REV1-7.2-01", "REV1-7.2-02", "REV1-7.2-03", "REV1-7.2-04", "REV1-B-01", "REV1-B-02", "REV1-B-03"],
    errata=["R13", "R16", "R29"],
    tags=["setup", "fields"],
    applies="client or server",
    variants=variants(levels=_ALL, choices=[
        ("plain", {}), ("small", {"attributes_more": {"FCVI_MAX_TRANS_SIZE": 1000}}),
        ("rdma", {"rdma": True, "applies": "rdma_write"}), ("priority", {"preference": True, "applies": "preference"})])
    + variants(roles=(SERVER,), levels=_ALL, choices=[("other-level", {"differs": "level"})])
    + variants(roles=(SERVER,), choices=[("other-size", {"differs": "size"}), ("other-precedence", {"differs": "precedence"})])
    + variants(roles=(SERVER,), choices=[("other-rdma", {"differs": "rdma", "applies": "rdma_write"})])
    + variants(roles=(SERVER,), choices=[(f"precedence-{n}", {"differs": n}) for n in range(2, 8)])
    + variants(roles=(CLIENT,), choices=[("told", {"rdma": True, "differs": "told", "applies": "rdma_write"})]),
)  # fmt: skip
def attributes_of_ends(t: Scenario) -> None:
    """Level, size, QOS and flags of the DUT's VI stand where Table 14 has them, whatever flags the request has. Another level
    is not accepted; another size or Precedence may be (R29). A reserved Precedence is handled alike each time. VipConnectRequest
    tells those of the answer.
    """
    differs = t.params.get("differs")
    if differs is not None and differs != "told":
        _differing(t, differs)
        return
    more = dict(t.params.get("attributes_more", {}))
    if t.params.get("rdma"):
        more.update({"EnRdmaWr": 1, "EnRdmaRd": int(t.pics["rdma_read"] and level_of(t) != 1)})
    t.params = {**t.params, "attributes": {**t.params["attributes"], **more}}
    if differs is not None:
        _told(t)
        return
    connect(t)
    t.control("the Connection Setup completed")


def _told(t: Scenario) -> None:
    """The answer has other flags of RDMA than the DUT's VI: VI-DG compares none of them, and tells the application those of the
    remote VI. A device may take no such answer (R29), and a control plane need not give all members.
    """
    setup = start_request(t)
    send_resp1(t, setup, attrs=attributes(t, EnRdmaWr=0, EnRdmaRd=0))
    call = setup.call
    assert call is not None
    t.owed(lambda: bool(call and call.done))
    t.control("the DUT asked")
    if not call.done or call.returned() != "VIP_SUCCESS":
        t.tolerate("CONNECT_RESP2", "ABTS")
        t.report("REV1-7.2-04", "an answer with other flags of RDMA is not taken", call.returned() if call.done else "blocked",
                 "VIP_SUCCESS", erratum="R29")  # fmt: skip
        return
    finish_request(t, setup)
    told = call.result().get("RemoteViAttribs")
    seen = told.get("EnableRdmaWrite") if isinstance(told, dict) else None
    t.require(not seen, "REV1-7.2-04", "EnableRdmaWrite in RemoteViAttribs", seen, False)


def _differing(t: Scenario, differs: Any) -> None:
    seen = [_ask(t, differs) for _ in range(2 if isinstance(differs, int) else 1)]
    if isinstance(differs, int):
        t.require(seen[0] == seen[-1], "REV1-B-03", f"Precedence {differs} twice", str(seen), "the same each time")
    connect_server(t)
    t.control("a setup with equal attributes completed")


def _ask(t: Scenario, differs: Any) -> str:
    """What becomes of a request with other attributes: "accepted", or how it is not."""
    wait = start_wait(t)
    fields: dict[str, Any] = {}
    if differs == "level":
        fields["RELIABILITY_LVL"] = _OTHER_LEVEL[level_of(t)]
    elif differs == "size":
        fields["MAX_TRANS_SIZE"] = attributes_of(t)["FCVI_MAX_TRANS_SIZE"] // 2
    elif differs == "rdma":
        fields["EnRdmaWr"] = 1
    else:
        fields["VIP_QOS"] = bytes([1 if differs == "precedence" else int(differs)]) + bytes(15)
    setup = send_rqst(t, VI_LOC_ATTRS=attributes(t, **fields))
    t.owed(lambda: wait.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    row = "REV1-4.2-02" if isinstance(differs, str) else "REV1-B-03"
    early = t.peek(["CONNECT_RESP1"], setup.exchange)
    if early is not None:
        return _refused_at_once(t, setup, early, wait, row)
    if not wait.done:
        _match_the_call(t)
        return "ignored"
    conn = finish_wait(t, wait)
    vi = create_vi(t)
    call = t.start("VipConnectAccept", conn=conn, vi=vi)
    t.owed(lambda: call.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None and not resp1.dh("CONN_ERR"):
        return _accepted(t, setup, resp1, call, vi, differs, row)
    if resp1 is not None:
        _refusal_at_the_accept(t, setup, resp1, row)
    t.owed(lambda: call.done)
    code = call.returned() if call.done else "still blocked"
    t.require(code != "VIP_SUCCESS", row, "VipConnectAccept with other attributes", code, "an error")
    if resp1 is None:
        t.call("VipConnectReject", conn=conn)
        t.owed(lambda: t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    left = t.peek(["CONNECT_RESP1"], setup.exchange)
    if left is not None:  # the request had stayed (R16, E77)
        left.taken = True
        t.equal(left, "CONN_ERR", 1, "REV1-5.7.6-04")
        send_resp2(t, setup)
    return code


def _refusal_at_the_accept(t: Scenario, setup: Setup, resp1: Received, row: str) -> None:
    """The request does not stay when VipConnectAccept fails: the other reading of R16."""
    resp1.taken = True
    check_refusal(t, resp1, setup, REJECT, row, {c: "R16" for c in range(2, 8)})
    t.report(row, "the request does not stay for another VipConnectAccept", str(resp1), "an error of the call alone", at=resp1,
             erratum="R16")  # fmt: skip
    send_resp2(t, setup)


def _match_the_call(t: Scenario) -> None:
    """The VipConnectWait of a request that was ignored is there yet: a right request takes it."""
    good = send_rqst(t)
    resp1 = t.peek(["CONNECT_RESP1"], good.exchange)
    if resp1 is not None:
        resp1.taken = True


def _refused_at_once(t: Scenario, setup: Setup, resp1: Received, wait: Any, row: str) -> str:
    """Without a call of the application: the other reading of R16."""
    resp1.taken = True
    check_refusal(t, resp1, setup, REJECT, row, {c: "R16" for c in range(2, 8)})
    t.report(row, "the provider refuses without asking its application", str(resp1), "an error of VipConnectAccept", at=resp1,
             erratum="R16" if row == "REV1-4.2-02" else "R29")  # fmt: skip
    send_resp2(t, setup)
    good = send_rqst(t)
    start_accept(t, good, finish_wait(t, wait))
    finish_accept(t, good)
    return "refused at once"


def _accepted(t: Scenario, setup: Setup, resp1: Received, call: Any, vi: int, differs: Any, row: str) -> str:
    resp1.taken = True
    if differs == "level":
        t.report(row, "a request of another Reliability Level is accepted", str(resp1), "no acceptance", at=resp1)
    elif differs == "rdma":
        check_attributes(t, resp1)  # those of its own VI, not of the request
    elif isinstance(differs, str):
        t.report(row, f"a request with another {differs} is accepted", str(resp1), "no acceptance", at=resp1, erratum="R29")
    setup.vi, setup.call, setup.dut_handle = vi, call, resp1.conn_int("VI_RQST_HANDLE")
    send_resp2(t, setup)
    t.owed(lambda: bool(call.done))
    if call.done and call.returned() == "VIP_SUCCESS":
        make_room(t, setup)
    return "accepted"


# ---- resolution ----


@case(
    REGISTRY,
    "R1.7.3.a",
    "The Name Server in the place of FARP",
    clause="7.3, 7.4",
    requirements=["REV1-7.3-01", "REV1-7.4-01", "FCVI-7.4-01"],
    errata=["R15", "R19"],
    tags=["address", "name-server", "farp"],
    applies="client",
    variants=[
        Variant(f"{topology}/name-server", {"role": CLIENT, "level": "unreliable", "tester_host": UNKNOWN_HOST, "server": True},
                f"name_server and {NEEDS[topology]}" if NEEDS[topology] else "name_server", TOPOLOGIES[topology])
        for topology in (FABRIC, PUBLIC_LOOP)
    ]
    + [
        Variant("farp", {"role": CLIENT, "level": "unreliable", "tester_host": UNKNOWN_HOST},
                f"farp and {NEEDS[POINT_TO_POINT]}" if NEEDS[POINT_TO_POINT] else "farp", TOPOLOGIES[POINT_TO_POINT]),
        Variant("farp-class2", {"role": CLIENT, "level": "unreliable", "tester_host": UNKNOWN_HOST},
                "farp and class2", {**TOPOLOGIES[POINT_TO_POINT], "class": 2}),
    ],
)  # fmt: skip
def resolution(t: Scenario) -> None:
    """Where a Fabric's Name Server knows the address no FARP-REQ goes out; which query asks it is open. Without one FARP-REQ
    asks, and its fields are those of 7.4.
    """
    server = bool(t.params.get("server"))
    if not server:
        need_broadcast(t)
    t.tester.services.directory[UNKNOWN_HOST] = [t.tester.n_port_id]
    vi = create_vi(t)
    call = t.start("VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=None)
    rqst = t.expect("CONNECT_RQST", "FCVI-7.4-01", why="after the Host Address was resolved")
    check_rqst(t, rqst)
    t.require(rqst.fc("D_ID") == t.tester.n_port_id, "FCVI-7.4-01", "D_ID of the request", f"{rqst.fc('D_ID'):06X}h",
              f"{t.tester.n_port_id:06X}h", at=rqst)  # fmt: skip
    asked = count(t, "FARP_REQ")
    if server:
        t.require(asked == 0, "REV1-7.3-01", "FARP-REQ though a Name Server is there", asked, 0)
    else:
        _check_farp(t, next((r for r in t.tester.inbox if r.kind == "FARP_REQ"), None))
    setup = originated(t, vi, call, rqst)
    send_resp1(t, setup)
    finish_request(t, setup)
    t.control("the port with the address was connected")


def _check_farp(t: Scenario, asked: Optional[Received]) -> None:
    if asked is None:
        t.report("REV1-7.4-01", "no FARP-REQ where there is no Name Server", "nothing", "FARP-REQ")
        return
    own, d_id = t.config, asked.fc("D_ID")
    t.require(d_id == els.BROADCAST, "REV1-7.4-01", "D_ID of FARP-REQ", f"{d_id:06X}h", f"{els.BROADCAST:06X}h", at=asked,
              **t.place(asked, "D_ID"))  # fmt: skip
    fields = {
        "Match_Code_Points": 4, "Requesting_N_Port_Identifier": int(own["n_port_id"], 16), "Responder_Action": 2,
        "Responding_N_Port_Identifier": 0, "Requesting_Port_Name": int(own["port_name"], 16),
        "Requesting_Node_Name": int(own["node_name"], 16), "Responding_Port_Name": 0, "Responding_Node_Name": 0,
    }  # fmt: skip
    for name, wanted in fields.items():
        seen = asked.number("FARP", name)
        t.require(seen == wanted, "REV1-7.4-01", f"{name} of FARP-REQ", f"{seen:X}h", f"{wanted:X}h", at=asked,
                  byte=asked.byte_of("FARP", name))  # fmt: skip
    sought, asker = (asked.blob("FARP", f"{whose}_IP_Address").hex() for whose in ("Responding", "Requesting"))
    t.require(sought == tester_host(t), "REV1-7.4-01", "Responding IP Address of FARP-REQ", sought, tester_host(t), at=asked)
    t.require(asker in own["host"], "REV1-7.4-01", "Requesting IP Address of FARP-REQ", asker, own["host"][0], at=asked)


def _asked_by_farp(t: Scenario, body: bytes) -> None:
    """Ask until a FARP-REPLY brings neither Login nor Logout with it, three times at most; each time the port is quiet before."""
    brought: list[Received] = []
    for _ in range(_REPLIES):
        if _logins(t, len(t.tester.inbox)):
            t.control("the port logs in or out without being asked")
            return
        before = len(t.tester.inbox)
        t.tester.send_els(els.FARP_REQ, body, {"D_ID": els.BROADCAST}, service_class=3)
        t.expect("FARP_REPLY", "REV1-7.4-01", why="to a FARP-REQ that matches")
        logins = _logins(t, before)
        if not logins:
            break
        brought += logins[:1]
    last = brought[-1] if brought else None
    t.require(len(brought) < _REPLIES, "REV1-A.4-01", "a Login or Logout behind each FARP-REPLY to Responder Action 02h", str(last),
              "none", at=last)
    t.control("a FARP-REQ that matches was answered")


def _asked_by_another(t: Scenario, body: bytes) -> None:
    """A FARP-REQ of another Host Address of the same port: the FARP-REPLY repeats that of the FARP-REQ that it answers."""
    t.tester.send_els(els.FARP_REQ, body, {"D_ID": els.BROADCAST}, service_class=3)
    reply = t.expect("FARP_REPLY", "REV1-7.4-01", why="to a FARP-REQ that matches")
    seen = reply.blob("FARP", "Requesting_IP_Address").hex()
    t.require(seen == _ANOTHER, "REV1-7.4-01", "Requesting IP Address of FARP-REPLY", seen, _ANOTHER, at=reply)
    _logins(t, len(t.tester.inbox))


def _logins(t: Scenario, before: int) -> list[Received]:
    """PLOGI and LOGO towards the tester, from this place in its inbox to the end of the time that an answer may take."""
    t.wait(t.owed_us())
    found = [r for r in t.tester.inbox[before:] if r.kind in ("PLOGI", "LOGO") and r.fc("D_ID") == t.tester.n_port_id]
    for one in found:
        one.taken = True
    return found


@case(
    REGISTRY,
    "R1.A.4.a",
    "What a FARP-REPLY brings with it",
    clause="A.4",
    requirements=["REV1-7.4-01", "REV1-A.4-01", "REV1-A.4-02"],
    errata=["R15"],
    tags=["address", "farp"],
    applies="farp",
    variants=[
        Variant("dut-replies", {"role": SERVER, "level": "unreliable"}),
        Variant("dut-asks", {"role": CLIENT, "level": "unreliable", "tester_host": UNKNOWN_HOST}, "client"),
    ],
)  # fmt: skip
def what_comes_with_it(t: Scenario) -> None:
    """Who answers Responder Action 02h with FARP-REPLY neither logs in nor out; who gets a FARP-REPLY accepts or rejects it.
    A device may log in or out for reasons of its own, so only what comes behind each of three replies is a breach. A FARP-REPLY
    repeats who asked.
    """
    need_broadcast(t)
    asker = t.tester.services.ports[t.tester.n_port_id]
    if t.params["role"] == SERVER:
        _asked_by_farp(t, els.farp_request(asker, t.tester.n_port_id, dut_host(t)))
        _asked_by_another(t, els.farp_request({**asker, "host": [_ANOTHER]}, t.tester.n_port_id, dut_host(t)))
        return
    del t.tester.services.handlers["FARP_REQ"]
    vi = create_vi(t)
    t.start("VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=None)
    asked = t.expect("FARP_REQ", "REV1-7.4-01", why="for a Host Address that is not known")
    reply = els.farp_reply(asked.payload[4:], t.tester.n_port_id, asker)
    exchange = t.tester.send_els(els.FARP_REPLY, reply, service_class=t.tester.service_class)
    t.expect(["LS_ACC", "LS_RJT"], "REV1-A.4-02", exchange=exchange, why="to a FARP-REPLY")
    t.control("the DUT asked by FARP")
