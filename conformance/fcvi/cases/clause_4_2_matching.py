"""Clauses 4.2 and 7.2: which request meets which VipConnectWait."""

from __future__ import annotations

from fcvi.fc.build import net_address
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call

from .clause_7_7_1 import wait_from

from conformance.fcvi.steps.connection import (
    CLIENT,
    NO_MATCH,
    NO_WAITING,
    OTHER_DISCRIMINATOR,
    REGISTRY,
    SERVER,
    Setup,
    another_host,
    accept_request,
    check_resp1,
    check_resp3,
    check_state,
    create_vi,
    discriminator_of,
    dut_address,
    dut_host,
    finish_accept,
    finish_wait,
    send_resp2,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    take_resp3,
    tester_address,
    tester_host,
    takes,
)

PART_OF_REPORT = 3


_FOREIGN, _SECOND_OWN = "20010db80000000000000000000000ee", "20010db80000000000000000000000b2"
_TWO_HOSTS = ["fe8000000000000000000000000000b2", _SECOND_OWN]


@case(
    REGISTRY,
    "4.2.34",
    "What a client's request has to match",
    clause="4.2",
    requirements=["FCVI-4.2-34", "FCVI-4.2-33", "FCVI-4.2-35", "FCVI-4.2-29"],
    errata=["E78", "E120"],
    tags=["setup", "matching"],
    applies="server",
    variants=[
        Variant("other-local-discriminator", {"role": SERVER, "local": "discriminator"}),
        Variant("other-local-host", {"role": SERVER, "local": "host"}),
        Variant("other-remote-discriminator", {"role": SERVER, "local": None}),
        Variant("foreign-remote-host", {"role": SERVER, "local": None, "host": _FOREIGN}),
        Variant("other-own-remote-host", {"role": SERVER, "local": None, "host": _SECOND_OWN}, "", {"host": _TWO_HOSTS}),
    ],
)
def server_matches(t: Scenario) -> None:
    """The Discriminator of the request's RemoteAddr decides; the client's own address takes no part and is handed on.

    So does its Host Address: one that is not the DUT's matches nothing, by a refusal or by silence. Whether another of the
    DUT's own addresses matches the VipConnectWait is open (E78).
    """
    wait = start_wait(t)
    usual = discriminator_of(t)
    if "host" in t.params:
        setup = _other_host(t, wait, str(t.params["host"]))
    elif t.params["local"] is None:
        refused = send_rqst(t, FCVI_REM_ADDR=net_address(dut_host(t), OTHER_DISCRIMINATOR))
        _refused(t, refused, "FCVI-4.2-34")
        t.require(not wait.done, "FCVI-4.2-34", "VipConnectWait returned for another Discriminator", "returned", "blocked")
        setup = send_rqst(t)
        start_accept(t, setup, finish_wait(t, wait))
    else:
        host = another_host(t) if t.params["local"] == "host" else tester_host(t)
        discriminator = usual if t.params["local"] == "host" else OTHER_DISCRIMINATOR
        setup = send_rqst(t, FCVI_LOC_ADDR=net_address(host, discriminator))
        t.finish(wait, "FCVI-4.2-34", returns="VIP_SUCCESS")
        seen, given = wait.table("RemoteAddr"), {"host": host, "discriminator": discriminator.hex()}
        t.require(seen == given, "FCVI-4.2-35", "VipConnectWait returned another RemoteAddr", seen, given)
        setup.vi = create_vi(t)
        setup.call = t.start("VipConnectAccept", conn=wait.integer("conn"), vi=setup.vi)
        resp1 = t.expect("CONNECT_RESP1", "FCVI-4.2-34", exchange=setup.exchange, why="after VipConnectAccept")
        t.equal(resp1, "CONN_STS", 0, "FCVI-4.2-34")
        setup.dut_handle = resp1.conn_int("FCVI_RESP_HANDLE")
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("a matching request was connected")


def _other_host(t: Scenario, wait: Call, host: str) -> Setup:
    """A request to that Host Address makes no connection; then a right one is accepted."""
    open_to_it = "E78" if host == _SECOND_OWN else None
    other = send_rqst(t, FCVI_REM_ADDR=net_address(host, discriminator_of(t)))
    t.owed(lambda: wait.done or t.peek(["CONNECT_RESP1"], other.exchange) is not None)
    if not t.require(not wait.done, "FCVI-4.2-33", "VipConnectWait returned for another Host Address", host, "blocked",
                     erratum=open_to_it):  # fmt: skip
        start_accept(t, other, wait_from(t, wait))
        return other
    resp1 = t.peek(["CONNECT_RESP1"], other.exchange)
    if resp1 is not None:
        resp1.taken = True
        t.equal(resp1, "CONN_STS", 1, "FCVI-4.2-29")
        send_resp2(t, other, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
        take_resp3(t, other, "after the refused setup's RESP2")
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    return setup


def _refused(t: Scenario, setup: Setup, requirement: str) -> None:
    resp1 = t.expect("CONNECT_RESP1", "FCVI-4.2-28", exchange=setup.exchange, why="to a request that matches nothing")
    t.equal(resp1, "CONN_STS", 1, requirement)
    check_resp1(t, resp1, setup, refused=[NO_MATCH, NO_WAITING])
    send_resp2(t, setup, handle=resp1.conn_int("FCVI_RESP_HANDLE"))
    resp3 = take_resp3(t, setup, "after the refused setup's RESP2")
    if resp3 is not None:
        check_resp3(t, resp3, setup, refused=True)


_ZEROS = bytes(16)
_LONGEST = 128  # bytes of a Discriminator (7.2)
_PAIRS: list[tuple[str, bytes, bytes]] = [
    ("last-byte", _ZEROS, bytes(15) + b"\x01"),
    ("first-byte", b"\xff" * 16, b"\x00" + b"\xff" * 15),
    ("longer-by-a-zero", _ZEROS, bytes(17)),
    ("shorter-by-a-zero", bytes(17), _ZEROS),
    ("byte-behind-a-zero", b"AB\x00" + b"C" * 13, b"AB\x00" + b"D" * 13),
    ("last-of-128", bytes(range(128)), bytes(range(127)) + b"\x00"),
    ("letter-case", b"abcdefghijklmnop", b"Abcdefghijklmnop"),
]


@case(
    REGISTRY,
    "7.2",
    "Discriminators are byte strings",
    clause="7.2",
    requirements=["FCVI-4.2-34", "FCVI-4.2-28"],
    errata=["E30", "E31", "E78"],
    tags=["setup", "matching", "address"],
    applies="server",
    variants=[
        Variant(name, {"role": SERVER, "discriminator": waiting, "asked": asked}, takes(max(waiting, asked, key=len)))
        for name, waiting, asked in _PAIRS
    ],
)
def discriminators_differ(t: Scenario) -> None:
    """Two Discriminators that differ in one byte, or in their length only, do not match; zero bytes count like others."""
    wait = start_wait(t)
    asked = t.params["asked"]
    assert isinstance(asked, bytes)
    _refused(t, send_rqst(t, FCVI_REM_ADDR=net_address(dut_host(t), asked)), "FCVI-4.2-34")
    t.require(not wait.done, "FCVI-4.2-34", "VipConnectWait returned for another Discriminator", "returned", "blocked")
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    finish_accept(t, setup)
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the equal Discriminator was connected")


@case(
    REGISTRY,
    "7.2.6",
    "A Discriminator has at most 128 bytes",
    clause="7.2",
    requirements=["FCVI-7.2-06", "FCVI-7.2-15"],
    errata=["E30"],
    tags=["setup", "address"],
    applies="client",
    variants=[
        Variant("of-the-dut", {"role": CLIENT, "whose": "LocalAddr"}),
        Variant("of-the-tester", {"role": CLIENT, "whose": "RemoteAddr"}),
    ],
)
def discriminator_too_long(t: Scenario) -> None:
    """129 bytes are refused by the call and never reach the wire; 128 bytes are connected, or as many as the device takes."""
    whole = bytes(range(_LONGEST + 1))
    longest = whole[: min(_LONGEST, int(t.pics["max_discriminator_len"]))]
    t.params = {**t.params, "discriminator": longest}
    vi = create_vi(t)
    addresses = {"LocalAddr": dut_address(t), "RemoteAddr": tester_address(t)}
    address = addresses[str(t.params["whose"])]
    addresses[str(t.params["whose"])] = {**address, "discriminator": whole.hex()}
    call = t.start("VipConnectRequest", vi=vi, Timeout=t.r_a_tov_us // 2, **addresses)
    t.owed(lambda: call.done, 2)
    t.require(t.peek(["CONNECT_RQST"]) is None, "FCVI-7.2-06", "FCVI_CONNECT_RQST with a Discriminator of 129 bytes",
              "CONNECT_RQST", "none")  # fmt: skip
    code = call.returned() if call.done else "nothing"
    t.require(code == "VIP_INVALID_PARAMETER", "FCVI-7.2-06", f"VipConnectRequest returned {code}", code,
              "VIP_INVALID_PARAMETER")  # fmt: skip
    setup = start_request(t, vi=vi)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    t.control("the longest Discriminator was connected")


@case(
    REGISTRY,
    "4.2.30",
    "Two Connectionpoints with one Discriminator",
    clause="4.2",
    requirements=["FCVI-4.2-30", "FCVI-4.2-33"],
    tags=["setup", "matching"],
    applies="server",
    variants=[Variant("", {"role": SERVER}), Variant("requests-first-answered-last", {"role": SERVER, "late": True})],
)
def same_discriminator_twice(t: Scenario) -> None:
    """Two VipConnectWait with the same LocalAddr take one request each, and both are connected."""
    waits = [start_wait(t), start_wait(t)]
    setups = [send_rqst(t), send_rqst(t)]
    t.owed(lambda: all(w.done for w in waits), 2)
    t.require(all(w.done for w in waits), "FCVI-4.2-33", "a VipConnectWait did not return for its request",
              [w.done for w in waits], "both returned")  # fmt: skip
    conns = [finish_wait(t, wait) for wait in waits]
    t.require(conns[0] != conns[1], "FCVI-4.2-33", "one request was handed out twice", conns, "two conns")
    pairs = list(zip(setups, conns))
    for setup, conn in reversed(pairs) if t.params.get("late") else pairs:
        _accept_whichever(t, setups, conn)
    for setup in setups:
        finish_accept(t, setup)
        check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("both requests were connected")


def _accept_whichever(t: Scenario, setups: list[Setup], conn: int) -> None:
    """VipConnectAccept; RESP1 shows which of the requests this conn stands for."""
    vi = create_vi(t)
    call = t.start("VipConnectAccept", conn=conn, vi=vi)
    resp1 = t.expect("CONNECT_RESP1", "FCVI-6.9.1-01", why="after VipConnectAccept")
    setup = next((s for s in setups if s.exchange is resp1.exchange), None)
    t.demand(setup is not None, "FCVI-6.9.1-01", "RESP1 on another Exchange", resp1.exchange, "that of a request", resp1)
    assert setup is not None
    check_resp1(t, resp1, setup)
    setup.vi, setup.call, setup.dut_handle = vi, call, resp1.conn_int("FCVI_RESP_HANDLE")
