"""Whole lives of two endpoints of Rev 1.0, in every situation that a fault or a choice may show in."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from .two_ports import (
    A_HOST,
    B_HOST,
    DISCONNECT,
    DISCRIMINATOR,
    LEVELS,
    R_A_TOV,
    READ_RESP,
    RESP1,
    RESP2,
    RQST,
    SEND,
    SEND_RESP,
    WRITE_RESP,
    Drop,
    Two,
)

Life = Callable[[Two], None]
NOTHING: Drop = lambda code, nth: False
LOST: Dict[str, Drop] = {
    "rqst": lambda code, nth: code == RQST, "resp1": lambda code, nth: code == RESP1, "resp2": lambda code, nth: code == RESP2,
    "response": lambda code, nth: code in (SEND_RESP, WRITE_RESP, READ_RESP), "disconnect": lambda code, nth: code == DISCONNECT,
    "message": lambda code, nth: code == SEND and nth == 1, "frame": lambda code, nth: code == SEND and nth == 4,
}
UNKNOWN = "fe80000000000000000000000000cafe"


def decide(two: Two, method: str = "VipConnectAccept") -> None:
    """What the server's application does with a request, once it has one."""
    if two.conn is not None:
        more = {"vi": two.svi} if method == "VipConnectAccept" else {}
        two.server.call(method, conn=two.conn, **more)
        two.pump()


def setup(two: Two) -> None:
    """A request that is accepted; a Message is posted before RESP2 has come."""
    two.listen()
    two.request()
    if two.conn is not None:
        two.server.call("VipConnectAccept", conn=two.conn, vi=two.svi)
        two.post(two.server, "send", b"early")
    two.advance(1000)


def traffic(two: Two) -> None:
    """All operations, both ways."""
    for node, other in ((two.client, two.server), (two.server, two.client)):
        target = two.memory(other, bytes(range(200)) * 4, rdma_write=True, rdma_read=True)
        for length, number in ((0, None), (5, 0x1234), (700, None), (2, 9)):
            mem = two.receive_buffer(other, 1000)
            two.post(node, "send", bytes(range(1, length % 250 + 1)) * 3, immediate=number)
            two.bytes_of(other, mem, 1000)
        two.receive_buffer(other, 4)
        two.post(node, "rdma-write", b"w" * 700, target, immediate=7)
        two.post(node, "rdma-write", b"v" * 6, target)
        two.post(node, "rdma-read", bytes(700), target)
        two.post(node, "rdma-read", bytes(0), target)
        two.receive_buffer(other, 4)
        two.post(node, "send", b"")
        two.bytes_of(other, target["mem"], 800)
        two.advance(10)


def middle(two: Two) -> None:
    """A Send of several frames, of which one from the middle is lost."""
    setup(two)
    mem = two.receive_buffer(two.server, 1500)
    two.post(two.client, "send", bytes(range(1, 251)) * 5)
    two.bytes_of(two.server, mem, 1500)
    farewell(two)


def farewell(two: Two) -> None:
    """VipDisconnect on both sides, and all the time that anything could take."""
    for node in (two.client, two.server):
        two.disconnect(node)
        two.advance(3 * R_A_TOV)
        two.states()


def good(two: Two) -> None:
    setup(two)
    traffic(two)
    farewell(two)


def refused(two: Two) -> None:
    two.listen()
    two.request()
    decide(two, "VipConnectReject")
    farewell(two)


def elsewhere(two: Two) -> None:
    two.listen("00" * 16)
    two.request()
    decide(two)
    farewell(two)


def nobody(two: Two) -> None:
    two.request()
    farewell(two)


def late(two: Two) -> None:
    two.listen()
    two.request(1_000_000)
    two.advance(2_000_000)
    decide(two)
    two.advance(3 * R_A_TOV)
    farewell(two)


def mismatched(two: Two) -> None:
    two.svi = two.server.now("VipCreateVi", ViAttribs={"MaxTransferSize": 4096, "ReliabilityLevel": LEVELS["rd"]})["vi"]
    setup(two)
    farewell(two)


def wrong_response(two: Two) -> None:
    """Responses arrive with another VI_MSG_ID, which is bytes 8 to 11 of the Device_Header."""
    two.change = lambda code, text: text[:64] + "00000077" + text[72:] if code in (SEND_RESP, WRITE_RESP, READ_RESP) else text
    good(two)


def otherwise(change: Callable[[int, str], str]) -> Life:
    """Frames arrive changed: their opcode and their hex text are given, with the Frame_Header as its first 48 digits."""
    def life(two: Two) -> None:
        two.change = change
        good(two)
    return life


def counted(text: str) -> str:
    """The frame with a SEQ_CNT that is five more."""
    return f"{text[:28]}{int(text[28:32], 16) + 5:04x}{text[32:]}"


def of_reads(change: Callable[[str], str]) -> Life:
    """Read Responses arrive changed."""
    return otherwise(lambda code, text: change(text) if code == READ_RESP else text)


def of_last(change: Callable[[str], str]) -> Callable[[str], str]:
    """The frame that ends its Sequence (F_CTL bit 19) arrives changed."""
    return lambda text: change(text) if int(text[18:20], 16) & 0x08 else text


def later_ius(two: Two) -> None:
    """The frames of a Message's later IUs, which have other SEQ_IDs, are not counted on from its first."""
    first: Dict[str, str] = {}

    def change(code: int, text: str) -> str:
        exchange, sequence = text[32:36], text[24:26]
        return counted(text) if code == SEND and sequence != first.setdefault(exchange, sequence) else text
    otherwise(change)(two)


def denied(op: str) -> Life:
    """An RDMA operation that the memory does not allow, a Send without a Descriptor, an RDMA Read that is no operation."""
    def life(two: Two) -> None:
        setup(two)
        closed = two.memory(two.server, bytes(8))
        two.post(two.client, op, b"12345678", closed)
        two.bytes_of(two.server, closed["mem"], 8)
        two.post(two.client, "send", b"after")
        farewell(two)
    return life


def peers(first: Optional[bool]) -> Life:
    """One peer after the other, or both at once."""
    def life(two: Two) -> None:
        two.ask_peer(two.client, 60_000_000)
        if first:
            two.pump()
        two.ask_peer(two.server, 60_000_000)
        two.advance(2 * R_A_TOV)
        for node, vi in ((two.client, two.cvi), (two.server, two.svi)):
            node.now("VipConnectPeerDone", vi=vi)
        two.post(two.client, "send", b"x")
        two.post(two.server, "send", b"x")
        farewell(two)
    return life


def unknown_host(two: Two) -> None:
    two.server.config["host"] = [B_HOST, UNKNOWN]
    two.server.now("reset", **two.server.config)
    two.svi = two.server.now("VipCreateVi", ViAttribs={"ReliabilityLevel": LEVELS["rd"]})["vi"]
    two.waiting = two.server.call("VipConnectWait", Timeout=None, LocalAddr={"host": UNKNOWN, "discriminator": "00" * 16})
    two.request(RemoteAddr={"host": UNKNOWN, "discriminator": "00" * 16})
    two.advance(R_A_TOV)
    decide(two)
    two.client.call("VipConnectRequest", vi=two.client.now("VipCreateVi", ViAttribs={})["vi"], Timeout=None,
                    **{**two.addresses(two.client), "RemoteAddr": {"host": "ab" * 16, "discriminator": "00" * 16}})
    two.advance(2 * R_A_TOV)


def asked_otherwise(byte: int, value: int) -> Life:
    """The FARP-REQ of the client has another byte when it arrives."""
    def change(code: int, text: str) -> str:
        raw = bytearray.fromhex(text)
        if raw[0] == 0x22 and raw[24] == 0x54:
            raw[24 + byte] = value
        return raw.hex()

    def life(two: Two) -> None:
        two.change = change
        unknown_host(two)

    return life


def logout(two: Two) -> None:
    setup(two)
    two.client.server.line(b'{"jsonrpc":"2.0","method":"link","params":{"event":"logo"}}')
    two.advance(10)
    farewell(two)
    setup(two)


def two_vis(two: Two) -> None:
    setup(two)
    two.cvi, two.svi = (node.now("VipCreateVi", ViAttribs={"ReliabilityLevel": LEVELS["rd"]})["vi"]
                        for node in (two.client, two.server))
    good(two)


def nearly(waiting: str, asked: str) -> Life:
    """A request whose Discriminator is not quite that of the Connection Point."""
    def life(two: Two) -> None:
        two.listen(waiting)
        two.request(60_000_000, RemoteAddr={"host": B_HOST, "discriminator": asked})
        decide(two)
        farewell(two)
    return life


def other_host(two: Two) -> None:
    """A request to the second Host Address of a port that waits with its first."""
    two.server.config["host"] = [B_HOST, UNKNOWN]
    two.server.now("reset", **two.server.config)
    two.svi = two.server.now("VipCreateVi", ViAttribs={"ReliabilityLevel": LEVELS["rd"]})["vi"]
    two.listen()
    two.request(60_000_000, RemoteAddr={"host": UNKNOWN, "discriminator": DISCRIMINATOR})
    two.advance(R_A_TOV)
    decide(two)
    farewell(two)


def again(two: Two) -> None:
    """The same VIs are connected twice."""
    good(two)
    good(two)


def edges(two: Two) -> None:
    """Operations at the ends of what is allowed, and a VI in Error that is to be connected again."""
    setup(two)
    two.receive_buffer(two.server, 8)
    two.post(two.client, "send", b"zero", immediate=0)
    source = two.memory(two.server, bytes(0x10000), rdma_read=True, rdma_write=True)
    two.post(two.client, "rdma-read", bytes(0x10000), source)
    beyond = {"va": f"{int(source['va'], 16) + 1:016x}", "handle": source["handle"]}
    two.post(two.client, "rdma-write", bytes(0x10000), beyond)
    two.listen()
    two.request()
    decide(two)
    farewell(two)


def unanswered(two: Two) -> None:
    """A Send that arrives, and whose Response is lost."""
    two.connect()
    two.receive_buffer(two.server, 8)
    two.post(two.client, "send", b"lost")
    two.advance(2 * R_A_TOV)
    two.states()


def hosts(first: str, second: str) -> Dict[str, Any]:
    """The configuration of both, with these Host Addresses."""
    return {"hosts": (first, second)}


SITUATIONS: Dict[str, Any] = {
    # level, what is lost, attributes, configuration, what happens
    "good ud": ("ud", NOTHING, {}, {}, good), "good rd": ("rd", NOTHING, {}, {}, good), "good rr": ("rr", NOTHING, {}, {}, good),
    "middle": ("ud", lambda code, nth: code == SEND and nth == 3, {}, {}, middle),
    "preferred": ("rd", NOTHING, {"QoS": {"Preference": True}}, {}, good),
    "refused": ("rd", NOTHING, {}, {}, refused), "elsewhere": ("rd", NOTHING, {}, {}, elsewhere),
    "nobody": ("rd", NOTHING, {}, {}, nobody), "late": ("rd", NOTHING, {}, {}, late),
    "mismatched": ("rd", NOTHING, {}, {}, mismatched), "two VIs": ("rd", NOTHING, {}, {}, two_vis),
    "lost rqst": ("rd", LOST["rqst"], {}, {}, good), "lost resp1": ("rd", LOST["resp1"], {}, {}, good),
    "lost resp2": ("rd", LOST["resp2"], {}, {}, good), "lost disconnect": ("rd", LOST["disconnect"], {}, {}, good),
    "lost response": ("rr", LOST["response"], {}, {}, good), "wrong response": ("rr", NOTHING, {}, {}, wrong_response),
    "short read": ("rr", NOTHING, {}, {}, of_reads(of_last(lambda text: text[:-8]))),
    "long read": ("rr", NOTHING, {}, {}, of_reads(of_last(lambda text: text + "aabbccdd"))),
    "read out of place": ("rr", NOTHING, {}, {}, of_reads(counted)),
    "later IUs out of place": ("rr", NOTHING, {}, {"choices": ["message_ius=3"]}, later_ius),
    **{f"lost {what} {level}": (level, LOST[what], {}, {}, good) for what in ("message", "frame") for level in LEVELS},
    **{f"denied {op} {level}": (level, NOTHING, {}, {}, denied(op))
       for op in ("send", "rdma-write", "rdma-read") for level in LEVELS},
    "peers": ("rd", NOTHING, {}, {}, peers(True)), "concurrent peers": ("rd", NOTHING, {}, {}, peers(False)),
    "peers of one address": ("rd", NOTHING, {}, hosts(A_HOST, A_HOST), peers(False)),
    "peers far apart": (
        "rd", NOTHING, {}, hosts("fe80000000000000000000000000ffff", "fe800000000000010000000000000001"), peers(False)),
    "farp by name": ("rd", NOTHING, {}, {}, asked_otherwise(4, 1)), "farp to login": ("rd", NOTHING, {}, {}, asked_otherwise(8, 1)),
    "farp": ("rd", NOTHING, {}, {}, unknown_host), "name server": ("rd", NOTHING, {}, {"topology": "fabric"}, unknown_host),
    "farp to another": ("rd", NOTHING, {}, {}, asked_otherwise(60, 1)), "other host": ("rd", NOTHING, {}, {}, other_host),
    "longer by a zero": ("rd", NOTHING, {}, {}, nearly(DISCRIMINATOR, DISCRIMINATOR + "00")),
    "same beginning": ("rd", NOTHING, {}, {}, nearly(DISCRIMINATOR + "aa", DISCRIMINATOR + "bb")),
    "again": ("rd", NOTHING, {}, {}, again), "edges": ("rr", NOTHING, {}, {}, edges),
    "several IUs": ("rr", NOTHING, {}, {"choices": ["message_ius=3"]}, good),
    "not enabled": ("rr", NOTHING, {"EnableRdmaWrite": False, "EnableRdmaRead": False}, {}, good),
    "not enabled to read": ("rr", NOTHING, {"EnableRdmaRead": False}, {}, good),
    "unanswered": ("rr", LOST["response"], {}, {}, unanswered),
    "logout": ("rd", NOTHING, {}, {}, logout), "class 2": ("rd", NOTHING, {}, {"class": 2}, good),
    "explicit": ("rd", NOTHING, {}, {"login": "explicit"}, good),
}


def configure(two: Two, config: Dict[str, Any], level: str) -> None:
    """Other Host Addresses, on both sides."""
    if "hosts" not in config:
        return
    own, other = config["hosts"]
    for node, mine, theirs in ((two.client, own, other), (two.server, other, own)):
        node.config.update(host=[mine], peer={**node.config["peer"], "host": [theirs]})
        node.now("reset", **node.config)
    two.cvi, two.svi = (node.now("VipCreateVi", ViAttribs={"ReliabilityLevel": LEVELS[level]})["vi"]
                        for node in (two.client, two.server))


def live(situation: str, fault: Optional[str] = None, settings: List[str] = []) -> List[Any]:
    """All that both say, with its time; both make the mistake."""
    level, drop, attributes, config, life = SITUATIONS[situation]
    plain = {name: value for name, value in config.items() if name not in ("hosts", "choices")}
    chosen = [*config.get("choices", []), *settings]
    two = Two(level, chosen, chosen, fault, 400, plain, attributes)
    configure(two, config, level)
    two.drop = drop
    life(two)
    return [two.client.history, two.server.history]
