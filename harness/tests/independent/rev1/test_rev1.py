"""Two endpoints of Rev 1.0 back to back, and bytes written out from the tables of the draft."""

from __future__ import annotations

import random
from typing import Any, Optional

import pytest

from ..editions import OF_2007
from ..rpc import Server
from ..vipl import Vipl
from .two_ports import (
    A_HOST,
    ABTS,
    B_HOST,
    BA_ACC,
    DISCONNECT,
    DISCONNECT_RESP,
    DISCRIMINATOR,
    R_A_TOV,
    READ,
    READ_RESP,
    RESP1,
    RESP2,
    RQST,
    SEND,
    SEND_RESP,
    WRITE_RESP,
    Two,
)


def compact(*text: str) -> str:
    """Without the blanks."""
    return "".join(text).replace(" ", "")


# By hand: FC-PH header; Table 4; Tables 11 and 12; Table 13 (lengths of 2 bytes); Tables 14 and 15 with Annex B.
ADDRESS_A = "0010 0010" + A_HOST + DISCRIMINATOR + "00" * 112
ADDRESS_B = "0010 0010" + B_HOST + DISCRIMINATOR + "00" * 112
# level 2, three bytes, Maximum Transfer Size, VIP_QOS of 16 bytes, EnRdmaWr and EnRdmaRd, three bytes
ATTRIBUTES = "02 000000" "00010000" "00000000 00000000 00000000 00000000" "03 000000"
CONNECT_RQST_FRAME = compact(
    "02 010200" "00 010100" "58 290008" "00 01 0000" "0100 ffff" "00000000",
    "ffffffff" "10 01 0000" "00000000" "00000000",
    "00000001" "00001000", ADDRESS_A, ADDRESS_B, ATTRIBUTES)
RESP1_FRAME = compact(
    "03 010100" "00 010200" "58 890008" "00 01 0000" "0100 8000" "00000000",
    "ffffffff" "18 00 0000" "00000000" "00000000",
    "00000001" "00001000", ADDRESS_B, ADDRESS_A, ATTRIBUTES)
RESP2_FRAME = compact(
    "03 010200" "00 010100" "58 180000" "01 01 0001" "0100 8000" "00000000",
    "00001000" "19 00 0000" "00000000" "00000000")
DISCONNECT_RQST_FRAME = compact(
    "02 010200" "00 010100" "58 290000" "02 01 0000" "0101 ffff" "00000000",
    "00001000" "12 05 0000" "00000000" "00000000")
DISCONNECT_RESP_FRAME = compact(
    "03 010100" "00 010200" "58 980000" "01 01 0000" "0101 8001" "00000000",
    "00001000" "1a 00 0000" "00000000" "00000000")


def test_bytes_of_setup_and_disconnect() -> None:
    two = Two()
    two.connect()
    assert two.disconnect(two.client) == {"return": "VIP_SUCCESS"}
    client, server = ([frame["hex"] for frame in node.sent] for node in (two.client, two.server))
    assert client == [CONNECT_RQST_FRAME, RESP2_FRAME, DISCONNECT_RQST_FRAME]
    assert server == [RESP1_FRAME, DISCONNECT_RESP_FRAME]
    delimiters = [(f["sof"], f["eof"], f["crc"]) for f in two.client.sent + two.server.sent]
    assert delimiters == [("i3", "t", "ok")] * 5
    assert len(client[0]) == 2 * (24 + 16 + 332)
    assert two.states() == ("idle", "error") and two.server.codes() == ["VIP_ERROR_CONN_LOST"]


@pytest.mark.parametrize("level", ["ud", "rd", "rr"])
def test_send_both_ways(level: str) -> None:
    two = Two(level)
    two.connect()
    for here, there in ((two.client, two.server), (two.server, two.client)):
        for length in (0, 1, 2096, 2097, 30_001):
            data = bytes(i * 7 & 0xFF for i in range(length))
            mem = two.receive_buffer(there, 65536)
            two.post(here, "send", data, immediate=0xC0FFEE)
            done = here.now("VipSendDone", vi=two.cvi)
            assert done["return"] == "VIP_SUCCESS" and done["DescriptorPtr"]["length"] == length
            got = there.now("VipRecvDone", vi=two.svi)["DescriptorPtr"]
            assert got["length"] == length and got["immediate"] == 0xC0FFEE
            assert set(got["status"]) == {"VIP_STATUS_DONE", "VIP_STATUS_OP_RECEIVE", "VIP_STATUS_IMMEDIATE"}
            assert two.bytes_of(there, mem, length) == data
    assert [raw[32:36].hex() for raw in two.client.raw(SEND)[:2]] == ["00000000", "00000001"]
    assert (SEND_RESP in two.server.opcodes()) == (level == "rr")
    assert two.disconnect(two.server) == {"return": "VIP_SUCCESS"} and two.states() == ("error", "idle")


SEND_FRAMES = [compact(  # 25 bytes in frames of 12: DF_CTL 01h, RLTV_OFF 0, 12, 24, three fill bytes
    "01 010200" "00 010100" f"58 {f_ctl}" f"02 01 {count}" "0101 ffff" f"{offset}",
    "00001000" "00 80 0000" "00000000" "00c0ffee", payload)
    for f_ctl, count, offset, payload in (
        ("200008", "0000", "00000000", "0102030405060708090a0b0c"),
        ("200008", "0001", "0000000c", "0d0e0f101112131415161718"),
        ("38000b", "0002", "00000018", "19000000"))]


def test_bytes_of_a_send() -> None:
    two = Two(size=28, level="ud")
    two.connect()
    two.receive_buffer(two.server, 64)
    two.client.sent.clear()
    two.post(two.client, "send", bytes(range(1, 26)), immediate=0xC0FFEE)
    assert [frame["hex"][26:28] for frame in two.client.sent] == ["01"] * 3
    assert two.client.sent[0]["hex"][:16] == SEND_FRAMES[0][:16]
    assert [without_seq_id(frame["hex"]) for frame in two.client.sent] == [without_seq_id(one) for one in SEND_FRAMES]


def without_seq_id(text: str) -> str:
    """A frame with SEQ_ID 00."""
    return text[:24] + "00" + text[26:]


WRITE_FRAME = compact(
    "01 010200" "00 010100" "58 29000a" "02 02 0000" "0101 ffff" "00000000",
    "00001000" "01 00 0000" "00000000" "00000000", "{va}" "{handle}" "00000000", "aabb" "0000")
WRITE_RESP_FRAME = compact(
    "07 010100" "00 010200" "58 980000" "01 01 0000" "0101 8001" "00000000",
    "00001000" "09 00 0000" "00000000" "00000000")
READ_FRAME = compact(
    "06 010200" "00 010100" "58 290000" "03 02 0000" "0102 ffff" "00000000",
    "00001000" "02 00 0000" "00000001" "00000000", "{va}" "{handle}" "00000002")
READ_RESP_FRAME = compact(
    "01 010100" "00 010200" "58 98000a" "02 01 0000" "0102 8002" "00000000",
    "00001000" "0a 00 0000" "00000001" "00000000", "aabb" "0000")


def test_bytes_of_rdma_with_reception() -> None:
    two = Two("rr")
    two.connect()
    target = two.memory(two.server, bytes(2), rdma_write=True, rdma_read=True)
    for node in (two.client, two.server):
        node.sent.clear()
    two.post(two.client, "rdma-write", b"\xaa\xbb", target)
    two.post(two.client, "rdma-read", bytes(2), target)
    where = {"va": target["va"], "handle": f"{target['handle']:08x}"}
    assert [frame["hex"] for frame in two.client.sent] == [WRITE_FRAME.format(**where), READ_FRAME.format(**where)]
    assert [frame["hex"] for frame in two.server.sent] == [WRITE_RESP_FRAME, READ_RESP_FRAME]


@pytest.mark.parametrize("level", ["ud", "rd", "rr"])
@pytest.mark.parametrize("immediate", [None, 7])
def test_rdma_write(level: str, immediate: Optional[int]) -> None:
    two = Two(level, client=["message_ius=3"], size=256)
    two.connect()
    target = two.memory(two.server, bytes(5000), rdma_write=True)
    if immediate is not None:
        two.receive_buffer(two.server, 4)
    inside = {"va": f"{int(target['va'], 16) + 10:016x}", "handle": target["handle"]}
    two.post(two.client, "rdma-write", b"x" * 1999, inside, immediate)
    assert two.bytes_of(two.server, target["mem"], 2020) == bytes(10) + b"x" * 1999 + bytes(11)
    assert two.client.now("VipSendDone", vi=two.cvi)["DescriptorPtr"]["length"] == 1999
    got = two.server.now("VipRecvDone", vi=two.svi)
    if immediate is not None:
        assert got["DescriptorPtr"]["immediate"] == 7 and got["DescriptorPtr"]["length"] == 1999
        assert "VIP_STATUS_OP_REMOTE_RDMA_WRITE" in got["DescriptorPtr"]["status"]
    assert (WRITE_RESP in two.server.opcodes()) == (level == "rr") and two.states() == ("connected", "connected")


@pytest.mark.parametrize("level", ["rd", "rr"])
def test_rdma_read(level: str) -> None:
    two = Two(level, server=["read_ius=3"], size=256)
    two.connect()
    source = two.memory(two.server, bytes(range(250)) * 8, rdma_read=True)
    mem = two.post(two.client, "rdma-read", bytes(2000), source)
    assert two.bytes_of(two.client, mem, 2000) == bytes(range(250)) * 8
    two.post(two.client, "send", b"")
    assert two.client.raw(READ)[0][32:36] == bytes(4) and two.client.raw(SEND)[0][32:36].hex() == "00000001"
    assert {raw[32:36] for raw in two.server.raw(READ_RESP)} == {bytes(4)}
    assert len({raw[12] for raw in two.server.raw(READ_RESP)}) == 3


def codes(two: Two) -> Any:
    """VipErrorCallbacks of both."""
    return two.client.codes(), two.server.codes()


LOST, RDMAW, RDMAR, EMPTY = "VIP_ERROR_CONN_LOST", "VIP_ERROR_RDMAW_PROT", "VIP_ERROR_RDMAR_PROT", "VIP_ERROR_RECVQ_EMPTY"


@pytest.mark.parametrize("op, level, sender, told", [
    ("send", "ud", [[]], ([], [])), ("send", "rd", [[]], ([LOST], [EMPTY])),
    ("send", "rr", [["REMOTE_DESC_ERROR"]], ([], [EMPTY])),
    ("rdma-write", "ud", [[]], ([], [])), ("rdma-write", "rd", [[]], ([LOST], [RDMAW])),
    ("rdma-write", "rr", [["RDMA_PROT_ERROR"]], ([], [RDMAW])),
    ("rdma-read", "rd", [["RDMA_PROT_ERROR"]], ([], [RDMAR])),
])
def test_errors_at_the_responder(op: str, level: str, sender: Any, told: Any) -> None:
    two = Two(level)
    two.connect()
    two.post(two.client, op, b"1234", {"va": "0000000000000000", "handle": 99} if op != "send" else None)
    two.advance(1000)
    assert two.client.completions("send") == sender and codes(two) == told
    state = "connected" if level == "ud" else "error"
    assert two.states() == (state, state)
    assert DISCONNECT not in two.client.opcodes() or level == "rr" or op == "rdma-read"


@pytest.mark.parametrize("lost", ["first", "frame"])
@pytest.mark.parametrize("level", ["ud", "rd", "rr"])
def test_lost_message(level: str, lost: str) -> None:
    two = Two(level, size=256)
    two.connect()
    for _ in range(2):
        two.receive_buffer(two.server, 1000)
    two.drop = lambda code, nth: code == SEND and nth == (1 if lost == "first" else 2)
    two.post(two.client, "send", bytes(10 if lost == "first" else 500))
    two.post(two.client, "send", bytes(5))
    if level == "ud":
        assert two.server.completions("recv") == ([[]] if lost == "first" else [["TRANSPORT_ERROR"], []])
        assert two.states() == ("connected", "connected")
    else:
        two.advance(R_A_TOV)
        assert two.states() == ("error", "error") and LOST in two.client.codes()
        assert (LOST in two.server.codes()) == (lost == "first") and ["TRANSPORT_ERROR"] in (
            two.server.completions("recv") + [["TRANSPORT_ERROR"]] * (lost == "first"))
        assert SEND_RESP not in two.server.opcodes()


@pytest.mark.parametrize("op", ["send", "rdma-write", "rdma-read"])
def test_no_response(op: str) -> None:
    two = Two("rr")
    two.connect()
    target = two.memory(two.server, bytes(4), rdma_write=True, rdma_read=True)
    two.receive_buffer(two.server, 4)
    two.drop = lambda code, nth: code in (SEND_RESP, WRITE_RESP, READ_RESP)
    two.post(two.client, op, b"1234", target if op != "send" else None)
    two.advance(R_A_TOV - 1)
    assert two.client.completions("send") == []
    two.advance(1)
    assert two.client.completions("send") == [["TRANSPORT_ERROR"]] and two.client.state(two.cvi) == "error"
    assert ABTS in two.client.opcodes() and BA_ACC in two.server.opcodes()


# Setup

@pytest.mark.parametrize("listening, code, result", [
    (False, 4, "VIP_NO_MATCH"), (True, 1, "VIP_REJECT"), (None, 2, "VIP_NO_MATCH")])
@pytest.mark.parametrize("after", ["zero", "repeat", "abts"])
def test_refusals(listening: Optional[bool], code: int, result: str, after: str) -> None:
    two = Two(client=[f"resp2_after_refusal={after}"])
    if listening is not False:
        two.listen(DISCRIMINATOR if listening else "00" * 16)
    asked = two.request()
    if listening:
        two.server.now("VipConnectReject", conn=two.conn)
        two.pump()
    assert two.client.results[asked]["return"] == result and two.client.state(two.cvi) == "idle"
    resp1 = two.server.raw(RESP1)[0]
    # flags CONN_ERR, Reason Code in byte 1 of the parameter, and still 332 bytes of payload
    assert resp1[29] == 1 and resp1[36:40] == bytes([0, code, 0, 0]) and len(resp1) == 24 + 16 + 332
    two.advance(R_A_TOV)
    assert two.client.opcodes()[:2] == [RQST, ABTS if after == "abts" else RESP2]


def test_application_timeout() -> None:
    for how in ("resp2", "abts"):
        two = Two(client=[f"give_up={how}"])
        two.listen()
        asked = two.request(1_000_000)
        two.advance(1_000_000)
        assert two.client.results[asked]["return"] == "VIP_TIMEOUT" and two.client.state(two.cvi) == "idle"
        answered = two.accept()
        assert two.server.results[answered]["return"] == "VIP_TIMEOUT" and two.server.state(two.svi) == "idle"
        assert two.client.opcodes() == [RQST, RESP2 if how == "resp2" else ABTS]
        if how == "resp2":
            assert two.client.raw(RESP2)[0][28:40].hex() == "19010000" "00000000" "00030000"


@pytest.mark.parametrize("lost", [RQST, RESP1, RESP2])
def test_lost_setup_iu(lost: int) -> None:
    two = Two()
    two.drop = lambda code, nth: code == lost
    two.listen()
    asked = two.request()
    answered = two.accept() if lost != RQST else -1
    two.advance(R_A_TOV)
    if lost == RESP2:
        assert two.client.results[asked]["return"] == "VIP_SUCCESS" and two.server.opcodes() == [RESP1, ABTS]
        assert two.server.raw(ABTS)[0][9] == 0x89 and BA_ACC in two.client.opcodes()
        assert two.states() == ("error", "error") and codes(two) == ([LOST], [LOST])
    else:
        assert two.client.results[asked]["return"] == "VIP_NOT_REACHABLE" and two.client.opcodes()[:2] == [RQST, ABTS]
    if lost != RQST:
        assert two.server.results[answered]["return"] == "VIP_TIMEOUT"


def test_attributes_do_not_match() -> None:
    two = Two()
    other = two.server.now("VipCreateVi", ViAttribs={"ReliabilityLevel": "VIP_SERVICE_UNRELIABLE"})["vi"]
    two.listen()
    asked = two.request()
    assert two.server.now("VipConnectAccept", conn=two.conn, vi=other)["return"] == "VIP_INVALID_RELIABILITY_LEVEL"
    two.accept()
    assert two.client.results[asked]["return"] == "VIP_SUCCESS"


def test_disconnect_from_both_sides_and_without_an_answer() -> None:
    two = Two()
    two.connect()
    calls = two.client.call("VipDisconnect", vi=two.cvi), two.server.call("VipDisconnect", vi=two.svi)
    two.pump()
    assert [two.client.results[calls[0]], two.server.results[calls[1]]] == [{"return": "VIP_SUCCESS"}] * 2
    assert two.states() == ("idle", "idle") and codes(two) == ([], [])
    assert two.server.opcodes().count(DISCONNECT_RESP) == two.client.opcodes().count(DISCONNECT_RESP) == 1
    two = Two()
    two.connect()
    two.receive_buffer(two.server, 4)
    two.post(two.client, "send", b"")
    two.drop = lambda code, nth: code == DISCONNECT
    gone = two.client.call("VipDisconnect", vi=two.cvi)
    two.advance(R_A_TOV)
    assert two.client.results[gone]["return"] == "VIP_NOT_REACHABLE" and two.client.opcodes()[-2:] == [DISCONNECT, ABTS]
    assert two.client.raw(DISCONNECT)[0][32:36].hex() == "00000001"


# Peers: the client has the lower Host Address

def peer_result(two: Two, first: bool) -> Any:
    """VipConnectPeerDone."""
    node, vi = (two.client, two.cvi) if first else (two.server, two.svi)
    return node.now("VipConnectPeerDone", vi=vi)["return"]


def test_peers_one_after_the_other() -> None:
    two = Two()
    two.ask_peer(two.client)
    two.pump()
    assert two.server.raw(RESP1)[0][29:30] + two.server.raw(RESP1)[0][36:40] == b"\1\0\4\0\0"
    assert peer_result(two, True) == "VIP_NOT_DONE"
    waits = two.client.call("VipConnectPeerWait", vi=two.cvi)
    two.ask_peer(two.server)
    two.pump()
    assert two.client.results[waits]["return"] == peer_result(two, False) == "VIP_SUCCESS"
    assert two.states() == ("connected", "connected")
    assert two.client.opcodes() == [RQST, RESP2, RESP1] and two.server.opcodes() == [RESP1, RQST, RESP2]
    assert two.client.raw(RQST)[0][29] == 2
    two.receive_buffer(two.server, 10)
    two.post(two.client, "send", b"hello")
    assert two.server.completions("recv") == [[]]


def test_concurrent_peers() -> None:
    two = Two()
    two.ask_peer(two.client)
    two.ask_peer(two.server)
    two.advance(R_A_TOV)
    assert peer_result(two, True) == peer_result(two, False) == "VIP_SUCCESS" and two.states() == ("connected", "connected")
    lower, higher = two.client.raw(RESP1)[0], two.server.raw(RESP1)[0]
    assert (lower[29], lower[37]) == (1, 5) and (higher[29], higher[37]) == (0, 0)
    assert len(two.client.raw(RESP2)) == len(two.server.raw(RESP2)) == 1
    assert ABTS not in two.client.opcodes() + two.server.opcodes()


@pytest.mark.parametrize("code", [7, 6])
def test_peers_with_one_address(code: int) -> None:
    names = {"port_name": "10000000c9000009", "node_name": "20000000c9000009"}
    same: Any = {"host": [A_HOST], "peer": {**names, "n_port_id": "010200", "host": [A_HOST]}}
    two = Two(client=[f"duplicate_code={code:02d}"], server=["duplicate=fails"], config={})
    for node, other in ((two.client, "010200"), (two.server, "010100")):
        config = {**node.config, **same, "peer": {**same["peer"], "n_port_id": other}}
        node.now("reset", **config)
        node.config.update(config)
    two.cvi, two.svi = (node.now("VipCreateVi", ViAttribs={})["vi"] for node in (two.client, two.server))
    two.ask_peer(two.client, 1_000_000)
    two.ask_peer(two.server, 1_000_000)
    two.advance(1_000_000)
    assert two.client.raw(RESP1)[0][37] == code and two.server.raw(RESP1)[0][37] == 7
    assert (peer_result(two, True), peer_result(two, False)) == ("VIP_TIMEOUT", "VIP_ERROR_RESOURCE")


def test_peer_timeout_and_attributes() -> None:
    two = Two()
    two.ask_peer(two.client, 500_000)
    two.advance(500_000)
    assert peer_result(two, True) == "VIP_TIMEOUT" and two.client.state(two.cvi) == "idle"
    assert two.client.now("VipConnectPeerDone", vi=two.cvi)["return"] == "VIP_INVALID_STATE"
    two.svi = two.server.now("VipCreateVi", ViAttribs={"ReliabilityLevel": "VIP_SERVICE_UNRELIABLE"})["vi"]
    two.ask_peer(two.client)
    two.pump()
    two.ask_peer(two.server)
    two.pump()
    assert peer_result(two, True) == peer_result(two, False) == "VIP_INVALID_RELIABILITY_LEVEL"


# Addresses, login, class 2

# Annex A.4, Table x1: item by item, with the Host Address that the client looks for at the end
FARP_REQ_DATA = compact("54000000" "04" "010100" "02" "000000" "10000000c9000001" "20000000c9000001" "0000000000000000"
                        "0000000000000000", A_HOST, "fe80000000000000000000000000cafe")
FARP_REPLY_DATA = compact("55000000" "04" "010100" "02" "010200" "10000000c9000001" "20000000c9000001" "10000000c9000002"
                          "20000000c9000002", A_HOST, "fe80000000000000000000000000cafe")


def test_farp_finds_an_unknown_host() -> None:
    two = Two()
    two.server.config["host"] = [B_HOST, "fe80000000000000000000000000cafe"]
    two.server.now("reset", **two.server.config)
    wanted = {"host": "fe80000000000000000000000000cafe", "discriminator": DISCRIMINATOR}
    two.waiting = two.server.call("VipConnectWait", LocalAddr=wanted, Timeout=None)
    two.request(RemoteAddr=wanted)
    request, reply = (bytes.fromhex(node.sent[0]["hex"]) for node in (two.client, two.server))
    assert request[:24].hex() == compact("22 ffffff" "00 010100" "01 380000" "00 00 0000" "0100 ffff" "00000000")
    assert request[24:].hex() == FARP_REQ_DATA and reply[24:].hex() == FARP_REPLY_DATA
    assert reply[:12].hex() == compact("22 010100" "00 010200" "01 290000")
    assert two.client.opcodes() == [-0x22, -0x23, RQST] and two.conn is not None
    other = {"host": "ab" * 16, "discriminator": DISCRIMINATOR}
    vi = two.client.now("VipCreateVi", ViAttribs={})["vi"]
    asked = two.client.call("VipConnectRequest", vi=vi, Timeout=None, **{**two.addresses(two.client), "RemoteAddr": other})
    two.advance(R_A_TOV)
    assert two.client.results[asked]["return"] == "VIP_NOT_REACHABLE" and two.client.state(vi) == "idle"


def test_name_server_in_lieu_of_farp() -> None:
    two = Two(client=["resolve=always"], config={"topology": "fabric"})
    two.request()
    query = bytes.fromhex(two.client.sent[0]["hex"])
    assert query[:12].hex() == compact("02 fffffc" "00 010100" "20 290000")
    assert query[24:].hex() == compact("01 000000 fc 02 00 00" "01b1 0000 00 000000", B_HOST)
    header = compact("03 010100" "00 fffffc" "20 990000" "00 00 0000", query[16:18].hex(), "ffff" "00000000")
    two.client.give({"hex": header + compact("01 000000 fc 02 00 00" "8002 0000 00 000000" "80 010200")})
    two.pump()
    assert two.client.opcodes() == [-0x02, RQST, RESP2]


def test_explicit_login_and_logout() -> None:
    two = Two(config={"login": "explicit"})
    two.connect()
    plogi = bytes.fromhex(two.client.sent[0]["hex"])
    assert plogi[0] == 0x22 and plogi[24] == 3 and plogi[24 + 69] & 0x40  # Annex A.3: bit 22 of word 0 of class 3
    two.client.server.line(b'{"jsonrpc":"2.0","method":"link","params":{"event":"logo"}}')
    two.pump()
    assert two.states() == ("error", "error") and codes(two) == ([LOST], [LOST])


def test_class_2_is_acknowledged() -> None:
    two = Two(config={"class": 2})
    two.connect()
    two.receive_buffer(two.server, 4)
    two.post(two.client, "send", b"abcd")
    acks = [bytes.fromhex(frame["hex"]) for frame in two.server.sent if frame["hex"].startswith("c0")]
    assert len(acks) == 3 and all(raw[20:24] == bytes([0, 0, 0, 1]) and len(raw) == 24 for raw in acks)
    assert {(frame["sof"], frame["eof"]) for frame in two.client.sent if not frame["hex"].startswith("c0")} == {("i2", "n")}


def test_preference_is_in_every_frame() -> None:
    two = Two("rr", attributes={"QoS": {"Preference": True}}, size=400)
    two.connect()
    two.post(two.client, "send", bytes(600))
    two.disconnect(two.client)
    frames = [bytes.fromhex(frame["hex"]) for frame in two.client.sent + two.server.sent]
    assert {raw[4] for raw in frames} == {0x80}
    assert two.client.raw(RQST)[0][24 + 16 + 304 + 8] == 1  # VIP_QOS begins at byte 8 of the attributes: Precedence 001b


# What is not to be believed

@pytest.mark.parametrize("how, answer", [("silence", []), ("refuse", [RESP1]), ("abts", [ABTS])])
def test_malformed_request(how: str, answer: Any) -> None:
    two = Two(server=[f"malformed={how}"])
    two.listen()
    two.change = lambda code, text: text[:80] + "00000002" + text[88:] if code == RQST else text  # VI_REVISION
    asked = two.request()
    assert two.server.opcodes() == answer and two.conn is None
    two.advance(R_A_TOV)
    assert two.client.results[asked]["return"] == ("VIP_REJECT" if how == "refuse" else "VIP_NOT_REACHABLE")


def test_reserved_bits_mean_nothing() -> None:
    two = Two("rr", size=400)
    two.connect()
    mem = two.receive_buffer(two.server, 1000)
    seen: Any = []
    # VI_RSVD, other in each frame
    two.change = lambda code, text: seen.append(0) or text[:60] + f"{len(seen):04x}" + text[64:] if code >= 0 else text
    two.post(two.client, "send", bytes(range(200)) * 5)
    assert two.bytes_of(two.server, mem, 1000) == bytes(range(200)) * 5 and two.client.completions("send") == [[]]


def test_other_device_header() -> None:
    for settings, ends in (([], "c0"), (["unreadable=reject"], "c2")):
        two = Two(server=settings, config={"class": 2})
        two.connect()
        two.change = lambda code, text: text[:26] + "02" + text[28:] if code == SEND else text  # DF_CTL
        two.post(two.client, "send", bytes(32))
        assert two.server.sent[-1]["hex"].startswith(ends) and two.server.completions("recv") == []
        assert two.states() == ("connected", "connected")


def test_bad_frames_change_nothing() -> None:
    two = Two("rr")
    two.connect()
    two.receive_buffer(two.server, 100)
    chance = random.Random(1)
    seen = [bytes.fromhex(frame["hex"]) for frame in two.client.sent]
    seen.append(bytes.fromhex("22010200" "00010100" "01290000" "00000000" "0555ffff" "00000000" + FARP_REPLY_DATA))
    for _ in range(3000):
        raw = bytearray(chance.choice(seen))
        for _ in range(chance.randrange(1, 6)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        two.server.give({"hex": bytes(raw[:chance.randrange(0, len(raw) + 1) & ~3]).hex()})
        two.server.frames.clear()
    assert two.server.now("VipQueryVi", vi=two.svi)["return"] == "VIP_SUCCESS"
    two.server.now("clock.advance", us=3 * R_A_TOV)


def test_reset_chooses_the_edition() -> None:
    node = Two().client
    server = Server(OF_2007.choose(), OF_2007.faults(None), node._line)
    node.server = server
    assert node.now("hello", protocol=1).get("revision") is None
    assert node.now("VipConnectPeerDone", vi=1)["code"] == -32601
    assert node.now("reset", **node.config) == {}
    assert node.now("VipConnectPeerDone", vi=1)["return"] == "VIP_INVALID_PARAMETER"
    assert node.now("reset", **{**node.config, "revision": "2007"}) == {} and isinstance(server.vipl, Vipl)
    rev1 = Two().client
    assert rev1.now("hello", protocol=2)["revision"] == "rev1"
    assert rev1.now("reset", **{**rev1.config, "revision": "2007"})["code"] == -32602
