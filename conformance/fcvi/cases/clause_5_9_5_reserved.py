"""Clause 5.9.5: a device ignores every Reserved bit of every IU that it receives, each alone and all together.

Where the bits are comes from the codec's field table (steps/reserved.py); the cases bring the device into the state in which
the IU is legal. Each variant has the IU with zeros first, so that what goes wrong after that is due to the bits.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call
from fcvi.fc.message import Message

from conformance.fcvi.steps.connection import (
    CLIENT,
    CONNECT_REJECT,
    CONNECT_TIMEOUT,
    DISCONNECT_ACCEPT,
    DOES_NOT_EXIST,
    REGISTRY,
    SERVER,
    Setup,
    accept_request,
    check_resp2,
    check_resp3,
    check_state,
    create_vi,
    disconnect_and_answer,
    expect_accept,
    expect_disconnect_resp,
    finish_accept,
    finish_wait,
    send_disconnect_resp,
    send_disconnect_rqst,
    send_resp1,
    send_resp2,
    send_resp3,
    send_rqst,
    start_request,
    start_wait,
    TRANSPORT_ERROR,
)
from conformance.fcvi.steps.message_checks import respond, respond_with, take_request
from conformance.fcvi.steps.messages import (
    deliver,
    expect_good,
    memory,
    open_connection,
    post,
    prepare,
    register,
    transmit,
    variants,
)
from conformance.fcvi.steps.reserved import PLAIN, STATUS, Place, fields_of, places, reserved_set, together

from .clause_6_responses import take_read_response

_REQUIREMENTS = ["FCVI-5.9.5-02", "FCVI-5.9.8-02", "FCVI-5.9.9-02"]
_WALKING = (0xFF, *(1 << bit for bit in range(8)))
_ALL = "together"
_SIZE = 40
_AT_ONCE = 8  # connections that wait together for what must not happen


class _Vis:
    """VIs for one connection each, as many as the DUT has; then the oldest again, after R_A_TOV: until then a provider may
    discard frames for the handle that it had (Annex B rule 1, C.5.9)."""

    def __init__(self, t: Scenario) -> None:
        self._t, self._most = t, max(1, int(t.pics["max_vis"]))
        self._vis: list[int] = []
        self._used = 0

    def next(self) -> int:
        """The VI of the next connection."""
        if len(self._vis) < self._most:
            self._vis.append(create_vi(self._t))
        elif self._used % self._most == 0:
            self._t.wait(self._t.r_a_tov_us + self._t.pixit.late_us)
        self._used += 1
        return self._vis[(self._used - 1) % self._most]


def _choices(iu: str) -> list[tuple[str, dict[str, Any]]]:
    """A variant for each Reserved field of the IU, one for all of them at once."""
    name = iu.lower().replace("_", "-")
    made: list[tuple[str, dict[str, Any]]] = []
    for form in (PLAIN, STATUS):
        made += [(f"{name}/{f.lower().replace('_', '-')}", {"iu": iu, "form": form, "field": f}) for f in fields_of(iu, form)]
    return [*made, (f"{name}/{_ALL}", {"iu": iu, "form": PLAIN, "field": _ALL})]


def _stimuli(t: Scenario) -> Iterator[list[Place]]:
    """What is set, one after the other; nothing first."""
    yield []
    if t.params["field"] == _ALL:
        yield from (together(t.params["iu"], pattern) for pattern in _WALKING)
    else:
        yield from ([p] for p in places(t.params["iu"], t.params["form"]) if p.field == t.params["field"])


def _roles(ius: dict[str, tuple[str, ...]]) -> list[Variant]:
    return [
        Variant(f"{role}/{name}", {"role": role, **params}, role.removeprefix("dut-"))
        for iu, roles in ius.items() for role in roles for name, params in _choices(iu)
    ]  # fmt: skip


# ---- Connection Setup ----


@case(
    REGISTRY,
    "5.9.5.setup",
    "Reserved bits of Connection Setup IUs are ignored",
    clause="5.9.5",
    requirements=[*_REQUIREMENTS, "FCVI-T07-7..5", "FCVI-T09-7..3", "FCVI-T11-b0", "FCVI-T13-w77", "FCVI-T17-7..2"],
    errata=["E10", "E112"],
    tags=["setup"],
    applies="client or server",
    variants=_roles({
        "CONNECT_RQST": (SERVER,), "CONNECT_RESP1": (CLIENT,), "CONNECT_RESP2": (SERVER,), "CONNECT_RESP3": (CLIENT,),
    }),
)  # fmt: skip
def setup_ignores(t: Scenario) -> None:
    """Each Reserved bit or byte of one IU alone, or all together: the setup goes on, or ends, as it does with zeros.

    With a status the IUs of a refused setup are in use: then Table 11 gives Word 3 a Reserved byte.
    """
    refused = t.params["form"] == STATUS
    if t.params["iu"] == "CONNECT_RESP3":
        _exchanges_end(t, refused)
        return
    flow = _setups[t.params["role"], refused]
    vis = _Vis(t)
    for chosen in _stimuli(t):
        vi = vis.next()
        with reserved_set(t, chosen):
            flow(t, vi)
        if not chosen:
            t.control("the setup went as it should with zeros in the Reserved fields")


def _as_client(t: Scenario, vi: int) -> None:
    disconnect_and_answer(t, _connected_client(t, vi))


def _connected_client(t: Scenario, vi: int) -> Setup:
    setup = start_request(t, vi=vi)
    accept_request(t, setup)
    send_resp3(t, setup)
    t.settle()
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    return setup


def _as_server(t: Scenario, vi: int) -> None:
    disconnect_and_answer(t, _connected_server(t, vi))


def _accepting(t: Scenario, vi: int) -> Setup:
    wait: Call = start_wait(t)
    setup = send_rqst(t)
    setup.vi = vi
    setup.call = t.start("VipConnectAccept", conn=finish_wait(t, wait), vi=vi)
    expect_accept(t, setup)
    return setup


def _connected_server(t: Scenario, vi: int) -> Setup:
    setup = _accepting(t, vi)
    finish_accept(t, setup)
    check_state(t, vi, "connected", "FCVI-8.2-b1")
    return setup


def _refused_client(t: Scenario, vi: int) -> Setup:
    setup = start_request(t, vi=vi)
    handle = send_resp1(t, setup, reason=CONNECT_REJECT)
    resp2 = t.expect("CONNECT_RESP2", "FCVI-6.10.1-01", exchange=setup.exchange, why="after a refusing RESP1")
    check_resp2(t, resp2, setup, handle)
    return setup


def _refused_by_tester(t: Scenario, vi: int) -> None:
    setup = _refused_client(t, vi)
    send_resp3(t, setup)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b3", returns="VIP_REJECT")
    check_state(t, vi, "idle", "FCVI-8.2-b3")


def _given_up_by_tester(t: Scenario, vi: int) -> None:
    setup = _accepting(t, vi)
    send_resp2(t, setup, reason=CONNECT_TIMEOUT)
    resp3 = t.expect("CONNECT_RESP3", "FCVI-6.11.1-01", exchange=setup.exchange, why="after RESP2 with status")
    check_resp3(t, resp3, setup, refused=True)
    assert setup.call is not None
    code = t.finish(setup.call, "FCVI-8.2-b3")
    t.require(code != "VIP_SUCCESS", "FCVI-8.2-b3", "VipConnectAccept succeeded without a connection", code, "no success")
    check_state(t, vi, "idle", "FCVI-8.2-b3")


_setups: dict[tuple[str, bool], Callable[[Scenario, int], None]] = {
    (CLIENT, False): _as_client,
    (CLIENT, True): _refused_by_tester,
    (SERVER, False): _as_server,
    (SERVER, True): _given_up_by_tester,
}


def _exchanges_end(t: Scenario, refused: bool) -> None:
    """FCVI_CONNECT_RESP3 ends the Exchange whatever its Reserved bits: nothing is aborted after FCVI_ULP_TIMEOUT.

    As many setups as the DUT has VIs wait together.
    """
    most = max(1, min(_AT_ONCE, int(t.pics["max_vis"])))
    pool = _Vis(t)
    stimuli = list(_stimuli(t))
    for first in range(0, len(stimuli), most):
        setups: list[Setup] = []
        for chosen in stimuli[first : first + most]:
            vi = pool.next()
            setup = start_request(t, vi=vi) if not refused else _refused_client(t, vi)
            if not refused:
                accept_request(t, setup)
            with reserved_set(t, chosen):
                _send_resp3(t, setup, refused)
                if not refused:
                    check_state(t, vi, "connected", "FCVI-8.2-b1")
            setups.append(setup)
        t.wait(t.r_a_tov_us + t.pixit.late_us)
        for setup, chosen in zip(setups, stimuli[first : first + most]):
            with reserved_set(t, chosen):
                t.expect_nothing(["ABTS"], 0, "FCVI-8.5.3-a", "although FCVI_CONNECT_RESP3 ended the Exchange", setup.exchange)
        for setup in setups:
            if not refused:
                disconnect_and_answer(t, setup)
        t.control("the Exchanges ended with FCVI_CONNECT_RESP3")


def _send_resp3(t: Scenario, setup: Setup, refused: bool) -> None:
    if not refused:
        send_resp3(t, setup)
        t.settle()
        return
    dh = {
        "FCVI_HANDLE": setup.dut_handle, "FCVI_CONNECTION_ID": setup.connection_id, "CONN_STS": 1, "Reason_Code": CONNECT_REJECT,
    }  # fmt: skip
    t.send("CONNECT_RESP3", setup.exchange, dh)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b3", returns="VIP_REJECT")
    check_state(t, setup.vi, "idle", "FCVI-8.2-b3")


# ---- Disconnect ----


@case(
    REGISTRY,
    "5.9.5.disconnect",
    "Reserved bits of Disconnect IUs are ignored",
    clause="5.9.5",
    requirements=[*_REQUIREMENTS, "FCVI-T10-7..3", "FCVI-T11-b0"],
    errata=["E112"],
    tags=["disconnect"],
    applies="client or server",
    variants=_roles({"DISCONNECT_RQST": (CLIENT, SERVER), "DISCONNECT_RESP": (CLIENT, SERVER)}),
)
def disconnect_ignores(t: Scenario) -> None:
    """Each Reserved bit or byte of FCVI_DISCONNECT_RQST or FCVI_DISCONNECT_RESP alone, or all together: it is as with zeros.

    The request is answered and the connection is over; the response lets VipDisconnect return with VIP_SUCCESS.
    """
    vis = _Vis(t)
    connected = _connected_client if t.params["role"] == CLIENT else _connected_server
    request = t.params["iu"] == "DISCONNECT_RQST"
    status = t.params["form"] == STATUS
    for chosen in _stimuli(t):
        setup = connected(t, vis.next())
        with reserved_set(t, chosen):
            if request:
                _is_disconnected(t, setup, TRANSPORT_ERROR if status else None)
            else:
                _disconnects(t, setup, DISCONNECT_ACCEPT if status else None)
        if request:
            disconnect_and_answer(t, setup, reasons=tuple(range(0x40, 0x4C)), resp_reason=DOES_NOT_EXIST)
        if not chosen:
            t.control("the Disconnect went as it should with zeros in the Reserved fields")


def _is_disconnected(t: Scenario, setup: Setup, reason: Optional[int]) -> None:
    app = int(reason is None)
    exchange = send_disconnect_rqst(t, handle=setup.dut_handle, connection_id=0, abort=0, app=app, reason=reason)
    expect_disconnect_resp(t, exchange, connection_id=0, abort=0, app=app, handle=setup.tester_handle)
    check_state(t, setup.vi, "error", "FCVI-8.2-d3")


def _disconnects(t: Scenario, setup: Setup, reason: Optional[int]) -> None:
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    send_disconnect_resp(t, rqst, setup.dut_handle, reason)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    check_state(t, setup.vi, "idle", "FCVI-8.2-d2")


# ---- Messages ----


def _message_variants() -> list[Variant]:
    made: list[Variant] = []
    for iu, op, level in (
        ("SEND_RQST", "send", "unreliable"), ("WRITE_RQST", "rdma-write", "unreliable"),
        ("READ_RQST", "rdma-read", "reliable-delivery"), ("SEND_RESP", "send", "reliable-reception"),
        ("WRITE_RESP", "rdma-write", "reliable-reception"), ("READ_RESP", "rdma-read", "reliable-delivery"),
    ):  # fmt: skip
        made += variants(levels=(level,), ops=(op,), choices=_choices(iu))
    return made


@case(
    REGISTRY,
    "5.9.5.message",
    "Reserved bits of Message IUs are ignored",
    clause="5.9.5",
    requirements=[*_REQUIREMENTS, "FCVI-5.9.4.2-02", "FCVI-T05-7..1", "FCVI-T06-7..4"],
    errata=["E112"],
    tags=["message"],
    applies="client or server",
    variants=_message_variants(),
)
def messages_ignore(t: Scenario) -> None:
    """Each Reserved bit or byte of a Message Request or Response alone, or all together: the Message is as with zeros.

    A request is carried out and, where the level wants it, answered; a response completes the Descriptor without error.
    """
    setup = open_connection(t)
    request = t.params["iu"].endswith("_RQST")
    flow = (_HEARD if request else _SAID)[t.params["op"]]
    for number, chosen in enumerate(_stimuli(t), 1):
        with reserved_set(t, chosen):
            flow(t, setup, number)
        if not chosen:
            t.control("a Message passed with zeros in the Reserved fields")


def _hears_send(t: Scenario, setup: Setup, number: int) -> None:
    data = t.rng.randbytes(_SIZE)
    buffer = register(t, _SIZE)
    post(t, setup.vi, "recv", buffer)
    deliver(t, setup, Message("send", number, data))
    expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", length=_SIZE)
    _same(t, "FCVI-6.2.1-01", memory(t, buffer), data)


def _hears_write(t: Scenario, setup: Setup, number: int) -> None:
    data = t.rng.randbytes(_SIZE)
    target = register(t, _SIZE, write=True)
    deliver(t, setup, Message("rdma-write", number, data, None, target.va, target.handle))
    t.owed(lambda: memory(t, target) == data)
    _same(t, "FCVI-6.4.1-02", memory(t, target), data)


def _hears_read(t: Scenario, setup: Setup, number: int) -> None:
    data = t.rng.randbytes(_SIZE)
    source = register(t, _SIZE, read=True, data=data)
    sent = prepare(t, setup, Message("rdma-read", number, va=source.va, region=source.handle, total=_SIZE))
    transmit(t, sent.frames)
    _same(t, "FCVI-6.7.1-02", b"".join(iu.payload for iu in take_read_response(t, setup, sent)), data)


def _same(t: Scenario, requirement: str, seen: bytes, wanted: bytes) -> None:
    t.require(seen == wanted, requirement, "the data are not those of the Message", seen[:12].hex(), wanted[:12].hex())


_REMOTE = (0x1122334455660000, 0x1234)


def _says(t: Scenario, setup: Setup, number: int) -> None:
    """A Send or an RDMA Write of the DUT and its response."""
    op, data = t.params["op"], t.rng.randbytes(_SIZE)
    remote = _REMOTE if op == "rdma-write" else None
    post(t, setup.vi, op, register(t, _SIZE, data=data), remote=remote)
    va, region = remote or (0, 0)
    respond(t, setup, take_request(t, setup, Message(op, number, data, va=va, region=region)))
    expect_good(t, setup.vi, "send", "FCVI-6.3.1-01" if op == "send" else "FCVI-6.5.1-01")


def _says_read(t: Scenario, setup: Setup, number: int) -> None:
    data = t.rng.randbytes(_SIZE)
    target = register(t, _SIZE)
    post(t, setup.vi, "rdma-read", target, remote=_REMOTE)
    message = Message("rdma-read", number, va=_REMOTE[0], region=_REMOTE[1], total=_SIZE)
    respond_with(t, setup, take_request(t, setup, message), data)
    expect_good(t, setup.vi, "send", "FCVI-6.7.1-01", length=_SIZE)
    _same(t, "FCVI-6.7.1-02", memory(t, target), data)


_HEARD = {"send": _hears_send, "rdma-write": _hears_write, "rdma-read": _hears_read}
_SAID = {"send": _says, "rdma-write": _says, "rdma-read": _says_read}
