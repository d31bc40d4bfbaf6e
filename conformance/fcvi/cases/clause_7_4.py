"""Clauses 7.4 and 7.5: from a Host Address to an N_Port Identifier by FARP."""

from __future__ import annotations

from typing import Any

from fcvi.fc import els
from fcvi.engine.case import Variant, case
from fcvi.fc import codec
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    Setup,
    accept_request,
    check_state,
    create_vi,
    dut_address,
    dut_host,
    originated,
    send_resp3,
    tester_address,
    tester_host,
)
from conformance.fcvi.steps.neighbours import (
    FABRIC,
    NEEDS,
    POINT_TO_POINT,
    PRIVATE_LOOP,
    PUBLIC_LOOP,
    TOPOLOGIES,
    UNKNOWN_HOST,
    add_second_port,
    need_broadcast,
    taken,
)

PART_OF_REPORT = 4

_ANOTHER_HOST = bytes.fromhex("20010db8000000000000000000007e57")

#: The fields of FARP that cases compare, by the words of RFC 2625.
_FARP = {
    "code points": "Match_Code_Points", "Requesting N_Port Identifier": "Requesting_N_Port_Identifier",
    "Responder Action": "Responder_Action", "Responding N_Port Identifier": "Responding_N_Port_Identifier",
    "Requesting Port_Name": "Requesting_Port_Name", "Requesting Node_Name": "Requesting_Node_Name",
    "Responding Port_Name": "Responding_Port_Name", "Responding Node_Name": "Responding_Node_Name",
    "Requesting IP address": "Requesting_IP_Address", "Responding IP address": "Responding_IP_Address",
}  # fmt: skip


def _in_hex(name: str, value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else f"{value:0{2 * _size(name)}x}"


def _size(name: str) -> int:
    return codec.FIELDS["FARP"][_FARP[name]].size


UNKNOWN_TARGET = {"role": CLIENT, "tester_host": UNKNOWN_HOST}


def _check_farp(
    t: Scenario, frame: Received, wanted: dict[str, tuple[str, str]], tolerated: dict[str, dict[str, str]] | None = None
) -> None:
    """Fields of a FARP-REQ or FARP-REPLY: name, requirement and value in hexadecimal."""
    for name, (requirement, required) in wanted.items():
        seen = _in_hex(name, frame.part("FARP", _FARP[name]))
        erratum = (tolerated or {}).get(name, {}).get(seen)
        t.require(
            seen == required, requirement, f"{name} of {frame.kind}", seen, required, at=frame,
            byte=frame.byte_of("FARP", _FARP[name]),
            erratum=erratum,
        )  # fmt: skip


def request_unknown(t: Scenario, timeout_us: int | None = None) -> tuple[int, Any]:
    """VipConnectRequest to a Host Address that the DUT has to resolve."""
    vi = create_vi(t)
    call = t.start(
        "VipConnectRequest", vi=vi, LocalAddr=dut_address(t), RemoteAddr=tester_address(t), Timeout=timeout_us
    )
    return vi, call


def expect_resolved(t: Scenario, vi: int, call: Any, ports: set[int]) -> Setup:
    """FCVI_CONNECT_RQST to one of the ports that have the Host Address; the setup then completes."""
    rqst = t.expect("CONNECT_RQST", "FCVI-7.4-01", why="after the Host Address was resolved")
    d_id = rqst.fc("D_ID")
    wanted = " or ".join(f"{port:06X}h" for port in sorted(ports))
    t.require(d_id in ports, "FCVI-7.4-01", "D_ID is not that of the Host Address", f"{d_id:06X}h", wanted, at=rqst,
              **t.place(rqst, "D_ID"))  # fmt: skip
    setup = originated(t, vi, call, rqst)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    return setup


def _answer_for_another(t: Scenario, asked: Received) -> None:
    """A FARP-REPLY that says where another Host Address is: the DUT answers it as it likes, and connects nowhere."""
    body = bytearray(els.farp_reply(asked.payload[4:], t.tester.n_port_id, t.tester.services.ports[t.tester.n_port_id]))
    codec.put("FARP", "Responding_IP_Address", body, _ANOTHER_HOST)
    t.tester.answered += 1
    t.tester.send_els(els.FARP_REPLY, bytes(body), service_class=3)
    t.tolerate("LS_ACC", "LS_RJT")
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us // 20, "FCVI-7.4-01", "after a FARP-REPLY for another Host Address")


@case(
    REGISTRY,
    "7.5.request",
    "The DUT resolves a Host Address by FARP",
    clause="7.4, 7.5",
    requirements=[*(f"FCVI-7.5-{n:02d}" for n in range(1, 11)), "FCVI-7.4-01", "FCVI-7.4-03", "FCVI-7.2-02"],
    errata=["E35", "E36"],
    tags=["address", "farp"],
    applies="client and farp",
    variants=[
        Variant(f"{topology}/known-port", {**UNKNOWN_TARGET, "where": "known-port"}, NEEDS[topology], TOPOLOGIES[topology])
        for topology in (POINT_TO_POINT, PRIVATE_LOOP)
    ]
    + [  # a link of two ports has no third (FC-FS)
        Variant(f"{PRIVATE_LOOP}/{where}{f'/{needs}' if needs else ''}", {**UNKNOWN_TARGET, "where": where},
                " and ".join(e for e in (NEEDS[PRIVATE_LOOP], needs) if e),
                {**TOPOLOGIES[PRIVATE_LOOP], "class": 2 if needs else 3})
        for where in ("other-port", "two-ports")
        for needs in ("", "class2")
    ]
    + [
        Variant("unanswered", {**UNKNOWN_TARGET, "where": "nowhere"}),
        Variant("of-another-host", {**UNKNOWN_TARGET, "where": "another-host"}),
        Variant("class2", {**UNKNOWN_TARGET, "where": "known-port"}, "class2", {"class": 2}),
        Variant("explicit-login", {**UNKNOWN_TARGET, "where": "known-port"}, "explicit_login", {"login": "explicit"}),
        Variant("second-own-address", {**UNKNOWN_TARGET, "where": "known-port", "host_index": 1}, "",
                {"host": ["fe8000000000000000000000000000b2", "20010db80000000000000000000000b2"]}),
    ],  # fmt: skip
)
def dut_asks(t: Scenario) -> None:
    """The FARP-REQ has every field of steps 1 to 10; FCVI_CONNECT_RQST goes to the port that answered, to nobody before.

    The answer may name a port that the DUT has not logged in with yet, and two ports may answer (4.2).
    A FARP-REPLY for another Host Address answers nothing.
    """
    need_broadcast(t)
    where = t.params["where"]
    services, ports = t.tester.services, {t.tester.n_port_id}
    if where in ("other-port", "two-ports"):
        other = add_second_port(t)
        ports = {other} if where == "other-port" else {other, *ports}
    unanswered = where in ("nowhere", "another-host")
    services.directory[UNKNOWN_HOST] = [] if unanswered else sorted(ports)
    del services.handlers["FARP_REQ"]
    vi, call = request_unknown(t, t.r_a_tov_us // 2 if unanswered else None)
    asked = t.expect("FARP_REQ", "FCVI-7.4-03", why="for a Host Address that is not known")
    _check_request(t, asked)
    t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us // 20, "FCVI-7.4-01", "before the Host Address was resolved")
    services.farp_reply(asked)
    if where == "another-host":
        _answer_for_another(t, asked)
    if unanswered:
        code = t.finish(call, "FCVI-7.4-01", within_us=3 * t.r_a_tov_us)
        t.require(code != "VIP_SUCCESS", "FCVI-7.4-01", "connected with nobody", code, "no success")
        t.expect_nothing(["CONNECT_RQST"], t.r_a_tov_us, "FCVI-7.4-01", "though nobody answered FARP")
        services.handlers["FARP_REQ"] = services.farp_reply
        services.directory[UNKNOWN_HOST] = [t.tester.n_port_id]
        vi, call = request_unknown(t)
        expect_resolved(t, vi, call, ports)
    else:
        expect_resolved(t, vi, call, ports)
    t.control("the port that answered was connected")


def _check_request(t: Scenario, asked: Received) -> None:
    own, zero8 = t.config, "00" * 8
    asker = asked.blob("FARP", "Requesting_IP_Address").hex()  # any address of the port is that of the originator (E36)
    _check_farp(
        t, asked,
        {
            "code points": ("FCVI-7.5-01", "04"),
            "Responder Action": ("FCVI-7.5-02", "02"),
            "Requesting N_Port Identifier": ("FCVI-7.5-03", str(own["n_port_id"])),
            "Responding N_Port Identifier": ("FCVI-7.5-04", "000000"),
            "Requesting Port_Name": ("FCVI-7.5-05", str(own["port_name"])),
            "Responding Port_Name": ("FCVI-7.5-06", zero8),
            "Requesting Node_Name": ("FCVI-7.5-07", str(own["node_name"])),
            "Responding Node_Name": ("FCVI-7.5-08", zero8),
            "Requesting IP address": ("FCVI-7.5-09", asker if asker in own["host"] else dut_host(t)),
            "Responding IP address": ("FCVI-7.5-10", tester_host(t)),
        },
    )  # fmt: skip


# ---- the DUT is asked ----

_SAME_END = "same end"  # a Host Address whose last twelve bytes are those of the DUT's
_ASKS: list[tuple[str, dict[str, Any], bool | None]] = [
    ("right", {}, True),
    ("foreign-address", {"host": UNKNOWN_HOST}, False),
    ("address-with-the-same-end", {"host": _SAME_END}, False),
    ("address-of-the-asker", {"host": None}, False),
    *((f"code-point-{n:03b}", {"Match_Code_Points": n}, False) for n in (0, 1, 2, 3)),
    *((f"code-point-{n:03b}", {"Match_Code_Points": n}, None) for n in (5, 6, 7)),
    *((f"action-{n:02x}", {"Responder_Action": n}, False) for n in (0, 1)),
    ("action-03", {"Responder_Action": 3}, None),
]


_TESTS = {"Match_Code_Points": "FCVI-7.5-12", "Responder_Action": "FCVI-7.5-13"}
_ACTIONS = ["FARP_REPLY", "PLOGI", "LOGO"]


@case(
    REGISTRY,
    "7.5.reply",
    "The DUT is asked by FARP",
    clause="7.4, 7.5",
    requirements=["FCVI-7.4-02", "FCVI-7.4-04", *(f"FCVI-7.5-{n}" for n in (11, 12, 13, 14, *range(16, 27)))],
    errata=["E35", "E36", "E125"],
    tags=["address", "farp"],
    applies="farp",
    variants=[Variant(name, {"fields": fields, "reply": reply}) for name, fields, reply in _ASKS]
    + [
        Variant(f"{topology}/right", {"fields": {}, "reply": True}, NEEDS[topology], TOPOLOGIES[topology])
        for topology in (PRIVATE_LOOP, PUBLIC_LOOP, FABRIC)
    ]
    + [
        Variant("second-address", {"fields": {}, "reply": True, "host_index": 1}, "",
                {"host": ["fe8000000000000000000000000000b2", "20010db80000000000000000000000b2"]}),
        Variant("class2", {"fields": {}, "reply": True}, "class2", {"class": 2}),
    ],  # fmt: skip
)
def dut_is_asked(t: Scenario) -> None:
    """One FARP-REPLY for each own Host Address when all three tests hold; no action when one does not.

    Combined code points and action 03h are open (E36).
    """
    reply = t.params["reply"]
    if reply is False:
        _ask(t, **t.params["fields"])
        t.owed(lambda: t.peek(_ACTIONS) is not None)
        action = t.peek(_ACTIONS)
        kind = "nothing" if action is None else action.kind
        for requirement in ["FCVI-7.5-14", *(r for name, r in _TESTS.items() if name in t.params["fields"])]:
            # steps 12 and 13 leave the answer to another ULP of the port, such as an IP stack (E125)
            t.require(action is None, requirement, f"{kind} though a test of steps 11 to 13 fails", action, "none", at=action,
                      erratum=None if "host" in t.params["fields"] else "E125")  # fmt: skip
        if action is not None:
            action.taken = True
    elif reply is None:
        _ask(t, **t.params["fields"])
        t.wait(t.owed_us())  # a late FARP-REPLY is not taken for that of the next FARP-REQ
        t.log.append(f"{len(taken(t, 'FARP_REPLY'))} FARP-REPLY; the standard leaves it open (E36)")
    asked = _ask(t)
    answer = t.expect("FARP_REPLY", "FCVI-7.5-16", why="to a FARP-REQ that matches")
    _check_reply(t, answer, asked)
    t.expect_nothing(["FARP_REPLY"], t.r_a_tov_us // 10, "FCVI-7.5-16", "as a second answer")
    t.control("a FARP-REQ that matches was answered")


def _ask(t: Scenario, **fields: Any) -> bytes:
    asker = {**t.tester.services.ports[t.tester.n_port_id]}
    own = dut_host(t)
    host = fields.pop("host", own) or asker["host"][0]
    if host == _SAME_END:
        host = f"{int(own[:8], 16) ^ 0x01000000:08x}{own[8:]}"
    body = els.farp_request(asker, t.tester.n_port_id, host, **fields)
    t.tester.send_els(els.FARP_REQ, body, {"D_ID": els.BROADCAST}, service_class=3)
    t.settle()
    return body


def _check_reply(t: Scenario, answer: Received, asked: bytes) -> None:
    def same(name: str) -> str:
        return _in_hex(name, codec.get("FARP", _FARP[name], asked))

    d_id = answer.fc("D_ID")
    t.require(d_id == t.tester.n_port_id, "FCVI-7.5-16", "FARP-REPLY does not go to who asked", f"{d_id:06X}h",
              f"{t.tester.n_port_id:06X}h", at=answer, **t.place(answer, "D_ID"))  # fmt: skip
    own_port, own_node = str(t.config["port_name"]), str(t.config["node_name"])
    _check_farp(
        t, answer,
        {
            "code points": ("FCVI-7.5-17", same("code points")),
            "Requesting N_Port Identifier": ("FCVI-7.5-18", same("Requesting N_Port Identifier")),
            "Responder Action": ("FCVI-7.5-19", same("Responder Action")),
            "Responding N_Port Identifier": ("FCVI-7.5-20", str(t.config["n_port_id"])),
            "Requesting Port_Name": ("FCVI-7.5-21", same("Requesting Port_Name")),
            "Responding Port_Name": ("FCVI-7.5-22", own_port),
            "Requesting Node_Name": ("FCVI-7.5-23", same("Requesting Node_Name")),
            "Responding Node_Name": ("FCVI-7.5-24", own_node),
            "Requesting IP address": ("FCVI-7.5-25", same("Requesting IP address")),
            "Responding IP address": ("FCVI-7.5-26", dut_host(t)),
        },
        {"Responding Port_Name": {"00" * 8: "E35"}, "Responding Node_Name": {own_port: "E35"}},
    )  # fmt: skip
