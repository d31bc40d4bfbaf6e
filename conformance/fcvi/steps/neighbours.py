"""Holds what the cases on addresses, logins and link events share: the ports around the DUT (clause 7)."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.attachment import Unavailable
from fcvi.fc import els
from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Scenario

FABRIC, PUBLIC_LOOP, PRIVATE_LOOP, POINT_TO_POINT = "fabric", "public-loop", "private-loop", "point-to-point"
UNKNOWN_HOST = "20010db8000000000000000000000c5a"  # of the tester too, but not among those that reset names
FC_VI = (
    "CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3", "DISCONNECT_RQST", "DISCONNECT_RESP", "SEND_RQST",
    "SEND_RESP", "WRITE_RQST", "WRITE_RESP", "READ_RQST", "READ_RESP",
)  # fmt: skip

#: Members of reset for each topology; an NL_Port's identifier ends with a valid AL_PA (FC-AL).
TOPOLOGIES: dict[str, dict[str, Any]] = {
    POINT_TO_POINT: {"topology": POINT_TO_POINT},
    PRIVATE_LOOP: {"topology": PRIVATE_LOOP, "n_port_id": "0000e8", "peer": {"n_port_id": "0000e4"}},
    PUBLIC_LOOP: {"topology": PUBLIC_LOOP, "n_port_id": "0102e8", "peer": {"n_port_id": "0102e4"}},
    FABRIC: {"topology": FABRIC},
}
#: PICS items that a topology needs. The DUT protocol has none for a Fabric: these two are claimed at Fabrics only.
NEEDS = {
    POINT_TO_POINT: "", PRIVATE_LOOP: "loop", PUBLIC_LOOP: "loop", FABRIC: "(name_server or out_of_order_fabric)",
}  # fmt: skip
#: Timers of the DUT for cases that keep it waiting for many acknowledgements or responses, also in real time.
UNHURRIED = {"r_a_tov_us": 60_000_000, "e_d_tov_us": 20_000_000}
_JOINED_US = 5_000_000  # for a second port to be announced; VN2VN takes 0.9 s
_PATIENCE, _LOGICAL_BUSY = 4, 5  # PLOGIs that may be refused, and the reason code of LS_RJT
_LEAST, _MOST = 128, 2112  # bytes of a Data_Field that a port may tell as the longest (FC-FS)
_A_LOGIN = 116  # bytes of a PLOGI and of the LS_ACC to it
SECOND = {
    "port_name": "10000000c90000f1", "node_name": "20000000c90000f1", "host": ["fe8000000000000000000000000000f1"],
}  # fmt: skip


def second_id(t: Scenario) -> int:
    """An N_Port Identifier for another port of the tester, next to the first one's, and not the DUT's."""
    first, taken = t.tester.n_port_id, int(str(t.config["n_port_id"]), 16)
    near = first - 2 if first & 0xFF else first + 1
    # VN2VN numbers its ports from 000001: what lies before that is no identifier of a port
    return near if near > 0 else next(n for n in (first + 1, first + 2) if n != taken)


def add_second_port(t: Scenario) -> int:
    """Another port of the tester, which answers as the first does. Returns its N_Port Identifier."""
    n_port_id = second_id(t)
    t.tester.services.add_port(n_port_id, SECOND)
    port: dict[str, Any] = {**SECOND, "n_port_id": f"{n_port_id:06x}"}
    # a VN2VN device need not send to, or take from, a port that has not claimed its identifier (FC-BB)
    if not t.dut.joined(port) and not t.until(lambda: t.dut.joined(port), _JOINED_US):
        raise Unavailable(f"the link does not take in a second port of the tester, {n_port_id:06X}h")
    return n_port_id


def need_broadcast(t: Scenario) -> None:
    """The case needs a link on which a broadcast reaches everybody. A switch need not forward one (FC-SW)."""
    t.dut.joined({**t.tester.services.fabric_names, "n_port_id": f"{els.BROADCAST:06x}"})


def login(t: Scenario, port: Optional[int] = None) -> None:
    """The tester's PLOGI and the DUT's LS_ACC (5.6)."""
    names = t.tester.services.ports[t.tester.n_port_id if port is None else port]
    expect_accept(t, ask_login(t, els.login(names, t.tester.receive_size), port), "FCVI-4.1-04", "to PLOGI")


def check_service_parameters(t: Scenario, frame: Received) -> None:
    """A PLOGI of the DUT, or its LS_ACC to one, has the names of the port, and a Receive Data_Field Size that FC-FS has."""
    for name, wanted in (("Port_Name", t.config["port_name"]), ("Node_Name", t.config["node_name"])):
        seen = f"{frame.number('LOGIN', name):016x}"
        t.require(seen == wanted, "FCVI-5.8.1-01", f"{frame.kind}: another {name}", seen, wanted, at=frame)
    size = frame.number("LOGIN", "Receive_Data_Field_Size")
    t.require(size in range(_LEAST, _MOST + 1, 4), "FCVI-5.8.1-01", f"{frame.kind}: the Receive Data_Field Size", size,
              "a multiple of 4 from 128 to 2112", at=frame)  # fmt: skip


def takes_sequences_at_once(t: Scenario) -> bool:
    """Whether no login of the DUT has told that it takes one Sequence at a time (FC-FS, service parameters)."""
    for told in (frame for frame in t.tester.inbox if frame.kind in ("PLOGI", "LS_ACC") and len(frame.payload) >= _A_LOGIN):
        total = told.number("LOGIN", "Word_2") >> 16
        if 1 in (total, told.number("LOGIN", f"Class_{t.config['class']}.Concurrent_Sequences")):
            return False
    return True


def login_anew(t: Scenario) -> None:
    """The tester's PLOGI while it is logged in. A DUT may refuse it: then the tester logs out first."""
    names = t.tester.services.ports[t.tester.n_port_id]
    exchange = ask_login(t, els.login(names, t.tester.receive_size))
    refusal = t.peek(["LS_RJT"], exchange)
    if refusal is None:
        expect_accept(t, exchange, "FCVI-4.1-04", "to PLOGI")
        return
    refusal.taken = True
    logo(t)
    login(t)


def ask_login(t: Scenario, body: bytes, port: Optional[int] = None) -> Exchange:
    """The tester's PLOGI, of which the answer has come. A DUT that is busy may say so, and is asked again (FC-FS)."""
    t.tester.services.logged_out = False
    for _ in range(_PATIENCE):
        exchange = t.tester.send_els(els.PLOGI, body, port=port)
        t.owed(lambda: t.peek(["LS_ACC", "LS_RJT"], exchange) is not None)
        refusal = t.peek(["LS_RJT"], exchange)
        if refusal is None or refusal.part("LS_RJT", "LS_Reason") != _LOGICAL_BUSY:
            break
        refusal.taken = True
        t.wait(t.pixit.e_d_tov_us)
    return exchange


def expect_accept(t: Scenario, exchange: Exchange, requirement: str, why: str) -> Received:
    """LS_ACC of the DUT on an Exchange of the tester's."""
    return t.expect("LS_ACC", requirement, exchange=exchange, why=why)


def logo(t: Scenario, port: Optional[int] = None) -> None:
    """The tester's LOGO, which the DUT accepts."""
    sender = t.tester.n_port_id if port is None else port
    exchange = t.tester.send_els(els.LOGO, els.logo(t.tester.services.ports[sender], sender), port=port)
    expect_accept(t, exchange, "FCVI-7.7.1-05", "to LOGO")


def taken(t: Scenario, kind: str) -> list[Received]:
    """The frames of this kind that have come and that nothing has taken, in order; they are taken now."""
    found = [r for r in t.tester.inbox if r.kind == kind and not r.taken]
    for received in found:
        received.taken = True
    return found


def count(t: Scenario, kind: str) -> int:
    """How many frames of this kind have come so far."""
    return sum(r.kind == kind for r in t.tester.inbox)


def no_fc_vi(t: Scenario, for_us: int, requirement: str, why: str) -> None:
    """No frame of FC-VI comes for a time."""
    t.expect_nothing(FC_VI, for_us, requirement, why)
