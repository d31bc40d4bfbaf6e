"""The lower tester's ELS and Name Server frames, byte for byte as FC-FS, RFC 2625 and FC-GS lay them out."""

from __future__ import annotations

from fcvi.fc import els
from fcvi.fc.build import Envelope

_HOST, _OTHER_HOST = "fe8000000000000000000000000000a1", "fe8000000000000000000000000000b2"
_NAMES = {"port_name": "10000000c9000001", "node_name": "20000000c9000001", "host": [_HOST]}
_OTHER = {"port_name": "10000000c9000002", "node_name": "20000000c9000002", "host": [_OTHER_HOST]}
_ASKED = "04010100" "02000000" "10000000c9000001" "20000000c9000001" + "00" * 16 + _HOST + _OTHER_HOST


def test_a_farp_request() -> None:
    assert els.farp_request(_NAMES, 0x010100, _OTHER_HOST).hex() == _ASKED


def test_a_farp_reply_repeats_the_request_and_names_the_replier() -> None:
    reply = els.farp_reply(bytes.fromhex(_ASKED), 0x010200, _OTHER).hex()
    names = "10000000c9000001" "20000000c9000001" "10000000c9000002" "20000000c9000002"
    assert reply == "04010100" "02010200" + names + _HOST + _OTHER_HOST


def test_a_farp_request_ends_its_exchange_and_a_plogi_passes_initiative() -> None:
    envelope = Envelope(0xFFFFFF, 0x010100, 0x1234, seq_id=7)
    farp = els.announcement(envelope, els.FARP_REQ, bytes(72))
    assert farp.data[:32].hex() == "22ffffff" "00010100" "01380000" "07000000" "1234ffff" "00000000" "54000000" "00000000"
    assert els.request(envelope, els.PLOGI).data[8:12].hex() == "01290000"
    assert els.reply(envelope, els.LS_ACC).data[8:12].hex() == "01980000"


def test_service_parameters_have_c_and_s() -> None:
    body = els.login(_NAMES, 2112)
    assert body[:12].hex() == "20200010" "80020840" "00ff00ce" and body[16:32].hex() == "10000000c900000120000000c9000001"
    assert els.fabric_login(_NAMES, 2112, 10_000_000, 2_000_000)[4:16].hex() == "90020840" "00002710" "000007d0"


def test_an_rscn_says_its_lengths() -> None:
    frame = els.request(Envelope(0x010200, 0xFFFFFD, 1), els.RSCN, els.rscn([0x010100]))
    assert frame.data[24:].hex() == "61040008" "00010100"


def test_a_list_of_port_identifiers_marks_the_last() -> None:
    listed = els.port_identifiers([0x010100, 0x010101]).hex()
    assert listed == "01000000" "fc020000" "80020000" "00000000" "00010100" "80010101"
