"""The cases of VI/TCP against the reference port, and what that port says to a client that does not keep to the DUT protocol."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

import conformance
from conformance.vitcp.book import PROTOCOL
from fcvi.dut import attach
from fcvi.dut.ref import StreamDut
from fcvi.dut.refstreams import StreamServer
from fcvi.dut.rpc import RpcDut
from fcvi.engine.attachment import DutError, Unavailable
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, protocol_of
from fcvi.engine.results import Result
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.engine.target import parse
from fcvi.vitcp.configuration import DUT_HOST, PORT, TESTER_HOST, configuration

from ..conftest import FCVI

conformance.register_all()
CONFIG = configuration(pixit_for("virtual"), 1, {})


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """VI/TCP judges in these tests."""
    with judging_by(PROTOCOL):
        yield


#: Kernel sockets alone tell of the options of TCP.
SOCKETS = "TCP.2.2.2.2.4.a/"


def run_all(seed: int) -> list[Result]:
    """Every variant that the PICS of the port does not rule out."""
    dut = attach(parse("ref:vitcp"))
    pics, pixit, levels = complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels
    results = [
        run_variant(dut, case, variant, pics, pixit, levels, seed)
        for case in protocol_of("VI/TCP").cases()
        for variant in case.variants
        if not_applicable(case, variant, pics) is None
    ]
    dut.close()
    return results


def told(results: list[Result]) -> list[Any]:
    """What a run found, without its own times."""
    return [(r.id, r.verdict, r.reason, r.qualifier, [(f.time_us, f.sender, bytes(f.data)) for f in r.frames]) for r in results]


def test_it_passes_and_does_the_same_again() -> None:
    first = run_all(1)
    wrong = [f"{r.id}: {r.reason}" for r in first if r.verdict.value != "pass" and not r.id.startswith(SOCKETS)]
    assert wrong == [] and len(first) > 440
    # of the readings that are open it has one: it conveys the count when credits run out, not whenever it changes (V20, V21)
    assert {r.id.partition("/")[0] for r in first if r.qualifier is not None} == {"TCP.3.1.h"}
    assert told(run_all(1)) == told(first)


@pytest.mark.parametrize("seed", (2, 3))
def test_it_passes_with_other_seeds(seed: int) -> None:
    assert [r.id for r in run_all(seed) if r.verdict.value != "pass" and not r.id.startswith(SOCKETS)] == []


def test_it_is_a_device_of_its_own() -> None:
    """`fcvi endpoint --wire tcp`, in a process and through the protocol's lines."""
    dut = RpcDut(f"exec:{FCVI} endpoint --wire tcp", rpc_timeout_s=10.0, log=None)
    try:
        pics, pixit, levels = complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels
        cases = [case for case in protocol_of("VI/TCP").cases() if case.id in ("TCP.4.1.a", "TCP.3.1.g", "TCP.4.a")]
        results = [run_variant(dut, c, v, pics, pixit, levels, 1) for c in cases for v in c.variants]
    finally:
        dut.close()
    assert [f"{r.id}: {r.reason}" for r in results if r.verdict.value != "pass"] == [] and len(results) > 5


# ---- the DUT protocol ----


class Client:
    """One client of a server, and what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.answers: list[Any] = []
        self.server = StreamServer(
            lambda method, params: self.told.append((method, params)),
            lambda token, result, error: self.answers.append(result if error is None else error),
        )

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """A request, and its answer."""
        self.server.request(1, method, params)
        return self.answers.pop()

    def open(self, name: str = "t1", host: str = DUT_HOST, port: int = PORT) -> list[str]:
        """Ask for a stream; the methods that come back."""
        self.told.clear()
        where = {"from": {"host": TESTER_HOST, "port": 1}, "to": {"host": host, "port": port}}
        self.server.notification("stream.open", {"stream": name, **where})
        return [method for method, _ in self.told]


@pytest.fixture
def client() -> Client:
    """With a port and a VI."""
    made = Client()
    assert made.ask("reset", CONFIG) == {}
    assert made.ask("VipCreateVi", {"ViAttribs": {}})["return"] == "VIP_SUCCESS"
    return made


def test_hello_names_the_wire() -> None:
    hello = Client().ask("hello", {"protocol": 2})
    assert hello["wires"] == ["tcp"] and hello["pics"]["tcp"] is True
    assert Client().ask("hello", {"protocol": 1})[0] == -32602


@pytest.mark.parametrize(
    "change", [{"wire": "fc"}, {"wire": None}, {"host": []}, {"port": 0}, {"peer": 1}, {"seed": -1}, {"incoming_timeout_us": 0}]
)
def test_a_wrong_configuration_is_refused(change: dict[str, Any]) -> None:
    client = Client()
    code, words = client.ask("reset", {**CONFIG, **change})
    assert code == -32602 and next(iter(change)) in words
    client.server.notification("stream.open", {})  # nothing before the first reset
    assert client.told == []


def test_streams_are_refused_where_nobody_listens(client: Client) -> None:
    assert client.open() == ["stream.opened", "stream.window"]
    assert client.open("t2", host=TESTER_HOST) == ["stream.refused"]
    assert client.open("t3", port=PORT + 1) == ["stream.refused"]
    assert client.open("t1") == ["stream.refused"]  # the name is taken
    before = Client()
    before.ask("reset", CONFIG)
    assert before.open() == ["stream.refused"]  # no VI yet (4.3)


@pytest.mark.parametrize(
    "method, params",
    [
        ("stream.data", {"stream": "t1", "hex": ""}),
        ("stream.data", {"stream": "t1", "hex": "00" * 30_001}),
        ("stream.data", {"stream": "", "hex": "00"}),
        ("stream.data", {"hex": "00"}),
        ("stream.window", {"stream": "t1", "bytes": -1}),
        ("stream.close", {"stream": "t1", "how": "slowly"}),
        ("stream.open", {"stream": "t9", "from": 3, "to": {}}),
    ],
)
def test_what_is_wrong_is_said_and_ignored(client: Client, method: str, params: dict[str, Any]) -> None:
    client.open()
    client.told.clear()
    client.server.notification(method, params)
    assert [m for m, _ in client.told] == ["log"] and method in client.told[0][1]["text"]


def test_what_is_about_no_stream_is_ignored(client: Client) -> None:
    for method in ("stream.data", "stream.opened", "stream.close", "frame", "link"):
        client.server.notification(method, {"stream": "t7", "hex": "00", "how": "fin"})
    assert client.told == []


@pytest.mark.parametrize("length, there", [(0, True), (16, True), (17, False)])
def test_discriminators_have_up_to_16_bytes(client: Client, length: int, there: bool) -> None:
    client.server.request(2, "VipConnectWait", {"LocalAddr": {"host": DUT_HOST, "discriminator": "aa" * length}, "Timeout": 1000})
    client.server.run_until(1000)
    assert client.answers == [{"return": "VIP_TIMEOUT" if there else "VIP_INVALID_PARAMETER"}]


def _calling(client: Client) -> None:
    local, remote = ({"host": host, "discriminator": "aa"} for host in (DUT_HOST, TESTER_HOST))
    client.server.request(2, "VipConnectRequest", {"vi": 0, "LocalAddr": local, "RemoteAddr": remote, "Timeout": 1000})
    assert [m for m, _ in client.told] == ["state", "stream.open"]
    client.told.clear()


@pytest.mark.parametrize("late", ("stream.opened", "stream.refused", "stream.close"))
def test_an_answer_that_comes_too_late(client: Client, late: str) -> None:
    _calling(client)
    client.server.run_until(1000)
    assert client.answers == [{"return": "VIP_TIMEOUT"}] and client.told[-1][0] == "state"
    client.told.clear()
    client.server.notification(late, {"stream": "d1", "how": "reset"})
    expected = [("stream.close", {"stream": "d1", "how": "reset"})] if late == "stream.opened" else []
    assert client.told == expected
    client.server.notification(late, {"stream": "d1", "how": "reset"})
    assert client.told == expected


def test_the_reference_has_one_wire_at_a_time() -> None:
    with pytest.raises(Unavailable, match="VI/TCP; the case needs the wire 'fc'"):
        attach(parse("ref:vitcp")).reset({"wire": "fc"})
    with pytest.raises(Unavailable, match="Fibre Channel; the case needs the wire 'tcp'"):
        attach(parse("ref")).reset(CONFIG)
    dut = StreamDut()
    dut.reset(CONFIG)
    with pytest.raises(DutError, match="port"):
        dut.reset({**CONFIG, "port": "no"})
    dut.restart()
    dut.reset(CONFIG)
