"""Deliberate mistakes against Rev 1.0: each breaks one sentence of the draft, and the suite must find it.

Every row has the clause whose sentence it breaks. The requirements of the catalogue stand in `labels.py`: they were looked up when
everything else was written. Mistakes in what an IU or a frame looks like are made here, just before it leaves; mistakes in
behaviour are made where the behaviour is, by asking `is_on`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ..faults import ATTACHMENT, Faults, clear_flags, flip, poke, put
from ..wire import FIRST, TYPE_FCVI, Frame
from .labels import LABELS
from .wire import (
    BY_APPLICATION,
    CONN_ERR,
    CONNECT_RQST,
    DESC_ERR,
    DISCONNECT_RESP,
    DISCONNECT_RQST,
    IMM_DATA,
    MESSAGE_RESP,
    MESSAGE_RQST,
    PROT_ERR,
    READ,
    READ_RESP,
    RESP1,
    RESP2,
    RESP_ERR,
    SEND,
    SEND_RESP,
    WRITE,
    WRITE_RESP,
    Iu,
)

Edit = Callable[[Any], None]
ANY: Tuple[int, ...] = ()


class IuFault(NamedTuple):
    """A mistake in some IUs."""

    opcodes: Tuple[int, ...]
    edit: Edit
    clause: str
    what: str


def refused(edit: Edit) -> Edit:
    """Only in a response that says CONN_ERR."""
    return lambda iu: edit(iu) if iu.flags & CONN_ERR else None


def accepted(edit: Edit) -> Edit:
    """Only in a response that does not."""
    return lambda iu: None if iu.flags & CONN_ERR else edit(iu)


def immediate(edit: Edit) -> Edit:
    """Only with Immediate Data."""
    return lambda iu: edit(iu) if iu.flags & IMM_DATA else None


def plain(edit: Edit) -> Edit:
    """Only without Immediate Data."""
    return lambda iu: None if iu.flags & IMM_DATA else edit(iu)


def _swap_addresses(iu: Iu) -> None:
    iu.payload = iu.payload[:8] + iu.payload[156:304] + iu.payload[8:156] + iu.payload[304:]


def _reverse_hosts(iu: Iu) -> None:
    for at in (12, 160):
        iu.payload = iu.payload[:at] + iu.payload[at:at + 16][::-1] + iu.payload[at + 16:]


def _level(code: Callable[[int], int]) -> Edit:
    def edit(iu: Iu) -> None:
        iu.payload = iu.payload[:304] + bytes([code(iu.payload[304])]) + iu.payload[305:]
    return edit


def _swap_rdma_flags(iu: Iu) -> None:
    flags = iu.payload[328]
    iu.payload = iu.payload[:328] + bytes([(flags & 1) << 1 | flags >> 1 & 1]) + iu.payload[329:]


def _attributes_of_2007(iu: Iu) -> None:
    """Level and flags share the first word, and VIP_QOS has 20 bytes."""
    raw = iu.payload[304:332]
    iu.payload = iu.payload[:304] + bytes([0, 0, raw[0], raw[24]]) + raw[4:24] + bytes(4)


def _longer(iu: Iu) -> None:
    iu.payload += bytes(8)


def _shorter(iu: Iu) -> None:
    iu.payload = iu.payload[:-4]


def _reason_at(byte: int) -> Edit:
    def edit(iu: Iu) -> None:
        iu.param = (iu.param >> 16 & 0xFF) << (24 - 8 * byte)
    return edit


def _bit_0(iu: Iu) -> None:
    iu.flags = iu.flags & ~IMM_DATA | 1


def _swap_remote_words(iu: Iu) -> None:
    iu.rmt_va = iu.rmt_va >> 32 | (iu.rmt_va & 0xFFFFFFFF) << 32


def _move_handle(iu: Iu) -> None:
    iu.rmt_va, iu.rmt_handle = iu.rmt_handle << 32 | iu.rmt_va >> 32, iu.rmt_va & 0xFFFFFFFF


def _length_up(iu: Iu) -> None:
    iu.word7 += 1


def _swap_immediate(iu: Iu) -> None:
    iu.param = int.from_bytes(iu.param.to_bytes(4, "little"), "big")


def _no_kind(iu: Iu) -> None:
    iu.flags = RESP_ERR if iu.flags & RESP_ERR else iu.flags


def _other_kind(iu: Iu) -> None:
    if iu.flags & RESP_ERR:
        iu.flags = RESP_ERR | (PROT_ERR if iu.flags & DESC_ERR else DESC_ERR)


def _end_in_rr(iu: Iu) -> None:
    iu.last, iu.initiative = iu.last or iu.initiative, False


SETUP_PAYLOAD = (CONNECT_RQST, RESP1)

IU_FAULTS: Dict[str, IuFault] = {
    # CONNECT_RQST
    "rqst-handle": IuFault((CONNECT_RQST,), put(handle=0), "6.7", "VI_HANDLE of CONNECT_RQST is 0"),
    "rqst-msg-id": IuFault((CONNECT_RQST,), put(msg_id=1), "6.7", "VI_MSG_ID of CONNECT_RQST is 1"),
    "rqst-parameter": IuFault((CONNECT_RQST,), put(param=1), "6.7", "VI_PARAMETER of CONNECT_RQST is not zero"),
    "rqst-no-mode": IuFault((CONNECT_RQST,), put(flags=0), "6.7", "the Connection Mode of CONNECT_RQST is 0"),
    "rqst-mode-three": IuFault((CONNECT_RQST,), put(flags=3), "5.7.2", "the Connection Mode of CONNECT_RQST is 3, reserved"),
    "rqst-other-mode": IuFault((CONNECT_RQST,), flip(flags=3), "6.7", "Client-Server and Peer-to-Peer are confused"),
    "rqst-reserved-flag": IuFault((CONNECT_RQST,), flip(flags=0x08), "Table 7", "bit 3 of VI_FLAGS of CONNECT_RQST is 1"),
    "rqst-no-initiative": IuFault((CONNECT_RQST,), put(initiative=False), "5.3", "CONNECT_RQST keeps the Sequence Initiative"),
    "rqst-last": IuFault((CONNECT_RQST,), put(last=True), "5.3", "CONNECT_RQST ends the Exchange"),
    "rqst-revision": IuFault((CONNECT_RQST,), poke(0, "00000002"), "6.7", "VI_REVISION of CONNECT_RQST is 2"),
    "rqst-revision-high": IuFault((CONNECT_RQST,), poke(0, "00010000"), "6.7", "VI_REVISION stands in the wrong half"),
    "rqst-handle-unassigned": IuFault((CONNECT_RQST,), poke(4, "ffffffff"), "5.7.4", "VI_RQST_HANDLE is FFFFFFFFh"),
    "rqst-longer": IuFault((CONNECT_RQST,), _longer, "Table 11", "the payload of CONNECT_RQST has 340 bytes"),
    "rqst-shorter": IuFault((CONNECT_RQST,), _shorter, "Table 11", "the payload of CONNECT_RQST has 328 bytes"),
    "rqst-addresses-swapped": IuFault((CONNECT_RQST,), _swap_addresses, "6.7", "VI_LOC_ADDR and VI_REM_ADDR are swapped"),
    "rqst-header-32": IuFault((CONNECT_RQST,), put(df_ctl=2), "Table 1", "CONNECT_RQST has a Device_Header of 32 bytes"),
    "rqst-request-as-response": IuFault((CONNECT_RQST,), put(r_ctl=3), "Table 1", "CONNECT_RQST goes out as Solicited Control"),
    # FCVI_NET_ADDRESS and FCVI_ATTRIBUTES
    "host-length-4": IuFault(SETUP_PAYLOAD, poke(8, "0004"), "7.1", "HOST_ADDR_LEN is 4"),
    "lengths-of-one-byte": IuFault(SETUP_PAYLOAD, poke(8, "00001010"), "Table 13", "the lengths have one byte each"),
    "discriminator-length-200": IuFault(SETUP_PAYLOAD, poke(10, "00c8"), "7.1", "DISCRIM_LEN is 200"),
    "hosts-reversed": IuFault(SETUP_PAYLOAD, _reverse_hosts, "7.1", "Host Addresses have their least significant byte first"),
    "level-of-2007": IuFault(SETUP_PAYLOAD, _level(lambda level: 3 if level == 4 else level), "7.2",
                             "Reliable Reception has the code 3"),
    "level-from-zero": IuFault(SETUP_PAYLOAD, _level(lambda level: level // 2), "7.2", "the Reliability Levels are 0, 1 and 2"),
    "attributes-of-2007": IuFault(SETUP_PAYLOAD, _attributes_of_2007, "Table 14", "VI_LOC_ATTRS has the layout of 2007"),
    "attributes-reserved": IuFault(SETUP_PAYLOAD, poke(305, "01"), "Table 14", "byte 1 of VI_LOC_ATTRS is not zero"),
    "attribute-flags-reserved": IuFault(SETUP_PAYLOAD, poke(328, "83"), "Table 15", "bit 7 of ViAttributeFlags is 1"),
    "attribute-flags-swapped": IuFault(SETUP_PAYLOAD, _swap_rdma_flags, "Table 15", "EnRdmaWr and EnRdmaRd are confused"),
    "size-reversed": IuFault(SETUP_PAYLOAD, poke(308, "00000100"), "7.2", "MaxTransferSize has its least significant byte first"),
    "qos-bandwidth": IuFault(SETUP_PAYLOAD, poke(316, "00000001"), "Annex B", "MaxBandwidth is not zero"),
    "qos-delay": IuFault(SETUP_PAYLOAD, poke(324, "00000001"), "Annex B", "MaxDelay is not zero"),
    "qos-precedence-2": IuFault(SETUP_PAYLOAD, poke(312, "02"), "Annex B", "Precedence is 010b, reserved"),
    "qos-reserved-bits": IuFault(SETUP_PAYLOAD, poke(313, "01"), "Annex B", "Reserved2 is not zero"),
    # RESP1
    "resp1-handle": IuFault((RESP1,), put(handle=0x1234), "5.7.4", "VI_HANDLE of RESP1 is nobody's"),
    "resp1-msg-id": IuFault((RESP1,), flip(msg_id=1), "6.8", "RESP1 does not repeat VI_MSG_ID"),
    "resp1-reason-byte-0": IuFault((RESP1,), refused(_reason_at(0)), "Table 9", "the Reason Code stands in byte 0"),
    "resp1-reason-byte-3": IuFault((RESP1,), refused(_reason_at(3)), "Table 9", "the Reason Code stands in byte 3"),
    "resp1-no-reason": IuFault((RESP1,), refused(put(param=0)), "5.7.2", "a refusing RESP1 has no Reason Code"),
    "resp1-refuses-without-flag": IuFault((RESP1,), clear_flags(CONN_ERR), "5.7.2", "a refusing RESP1 has CONN_ERR 0"),
    "resp1-accept-parameter": IuFault((RESP1,), accepted(put(param=0x00010000)), "3.5", "an accepting RESP1 has a Reason Code"),
    "resp1-reserved-flag": IuFault((RESP1,), flip(flags=0x04), "Table 8", "bit 2 of VI_FLAGS of RESP1 is 1"),
    "resp1-no-initiative": IuFault((RESP1,), put(initiative=False), "5.3", "RESP1 keeps the Sequence Initiative"),
    "resp1-last": IuFault((RESP1,), put(last=True), "5.3", "RESP1 ends the Exchange"),
    "resp1-handle-unassigned": IuFault((RESP1,), accepted(poke(4, "ffffffff")), "5.7.4", "RESP1 accepts without a handle"),
    "resp1-empty": IuFault((RESP1,), put(payload=b""), "Table 12", "RESP1 has no payload"),
    "resp1-longer": IuFault((RESP1,), _longer, "Table 12", "the payload of RESP1 has 340 bytes"),
    "resp1-addresses-swapped": IuFault((RESP1,), _swap_addresses, "6.8", "VI_LOC_ADDR and VI_REM_ADDR of RESP1 are swapped"),
    "resp1-header-32": IuFault((RESP1,), put(df_ctl=2), "Table 1", "RESP1 has a Device_Header of 32 bytes"),
    "resp1-response-as-request": IuFault((RESP1,), put(r_ctl=2), "Table 1", "RESP1 goes out as Unsolicited Control"),
    # RESP2
    "resp2-handle": IuFault((RESP2,), put(handle=0x1234), "5.7.4", "VI_HANDLE of RESP2 is nobody's"),
    "resp2-msg-id": IuFault((RESP2,), flip(msg_id=1), "6.9", "RESP2 does not repeat VI_MSG_ID"),
    "resp2-payload": IuFault((RESP2,), put(payload=bytes(4)), "6.9", "RESP2 has a payload"),
    "resp2-no-last": IuFault((RESP2,), put(last=False), "6.9", "RESP2 does not end the Exchange"),
    "resp2-opcode-1a": IuFault((RESP2,), put(opcode=0x1A), "6.9", "RESP2 has the opcode 1Ah"),
    "resp2-reserved-flag": IuFault((RESP2,), flip(flags=0x80), "Table 8", "bit 7 of VI_FLAGS of RESP2 is 1"),
    "resp2-parameter": IuFault((RESP2,), accepted(put(param=0x00010000)), "3.5", "a confirming RESP2 has a Reason Code"),
    "resp2-error": IuFault((RESP2,), accepted(put(flags=CONN_ERR)), "5.3.2", "RESP2 of a connection has CONN_ERR 1"),
    # Disconnect
    "disconnect-handle": IuFault((DISCONNECT_RQST,), flip(handle=1), "5.7.4", "VI_HANDLE of DISCONNECT_RQST is wrong"),
    "disconnect-mode-of-setup": IuFault((DISCONNECT_RQST,), put(flags=1), "5.7.2", "the mode of DISCONNECT_RQST is Client-Server"),
    "disconnect-no-mode": IuFault((DISCONNECT_RQST,), put(flags=0), "5.7.2", "the mode of DISCONNECT_RQST is 0"),
    "disconnect-reserved-flag": IuFault((DISCONNECT_RQST,), flip(flags=0x10), "Table 7", "bit 4 of VI_FLAGS is 1"),
    "disconnect-msg-id": IuFault((DISCONNECT_RQST,), flip(msg_id=0x100), "6.10", "VI_MSG_ID of DISCONNECT_RQST is no next one"),
    "disconnect-parameter": IuFault((DISCONNECT_RQST,), put(param=0x00010000), "5.7.6", "DISCONNECT_RQST has a Reason Code"),
    "disconnect-payload": IuFault((DISCONNECT_RQST,), put(payload=bytes(4)), "6.10", "DISCONNECT_RQST has a payload"),
    "disconnect-no-initiative": IuFault((DISCONNECT_RQST,), put(initiative=False), "6.10", "it keeps the Sequence Initiative"),
    "disconnect-header-32": IuFault((DISCONNECT_RQST,), put(df_ctl=2), "Table 1", "DISCONNECT_RQST has 32 bytes of header"),
    "disconnect-resp-opcode-1b": IuFault((DISCONNECT_RESP,), put(opcode=0x1B), "6.11", "DISCONNECT_RESP has the opcode 1Bh"),
    "disconnect-resp-msg-id": IuFault((DISCONNECT_RESP,), flip(msg_id=1), "6.11", "DISCONNECT_RESP does not repeat VI_MSG_ID"),
    "disconnect-resp-payload": IuFault((DISCONNECT_RESP,), put(payload=bytes(4)), "6.11", "DISCONNECT_RESP has a payload"),
    "disconnect-resp-no-last": IuFault((DISCONNECT_RESP,), put(last=False), "6.11", "DISCONNECT_RESP does not end the Exchange"),
    "disconnect-resp-flags": IuFault((DISCONNECT_RESP,), put(flags=BY_APPLICATION), "Table 8", "it repeats the mode"),
    "disconnect-resp-parameter": IuFault((DISCONNECT_RESP,), accepted(put(param=1)), "3.5", "VI_PARAMETER without CONN_ERR"),
    "disconnect-resp-handle": IuFault((DISCONNECT_RESP,), flip(handle=1), "5.7.4", "VI_HANDLE of DISCONNECT_RESP is wrong"),
    "disconnect-resp-as-request": IuFault((DISCONNECT_RESP,), put(r_ctl=2), "Table 1", "it goes out as Unsolicited Control"),
    # Message Requests
    "send-r-ctl": IuFault((SEND,), put(r_ctl=4), "Table 1", "SEND_RQST goes out as Unsolicited Data"),
    "send-header-32": IuFault((SEND,), put(df_ctl=2), "Table 1", "SEND_RQST has a Device_Header of 32 bytes"),
    "message-handle": IuFault((SEND, WRITE, READ), flip(handle=1), "5.7.4", "VI_HANDLE of Message Requests is wrong"),
    "message-reserved-flag": IuFault((SEND, WRITE), flip(flags=0x40), "Table 5", "bit 6 of VI_FLAGS is 1"),
    "immediate-bit-0": IuFault((SEND, WRITE), immediate(_bit_0), "Table 5", "bit 0 announces Immediate Data"),
    "immediate-without-flag": IuFault((SEND, WRITE), clear_flags(IMM_DATA), "6.1", "Immediate Data is sent without IMM_DATA"),
    "immediate-lost": IuFault((SEND, WRITE), immediate(put(param=0)), "5.7.6", "IMM_DATA is 1, VI_PARAMETER is 0"),
    "immediate-always": IuFault((SEND, WRITE), lambda iu: setattr(iu, "flags", iu.flags | IMM_DATA), "6.1",
                                "IMM_DATA is 1 without Immediate Data"),
    "message-parameter": IuFault((SEND, WRITE, READ), plain(put(param=9)), "5.7.6", "VI_PARAMETER without Immediate Data"),
    "message-no-last": IuFault((SEND, WRITE), put(last=False), "5.2", "a Message without Response does not end its Exchange"),
    "message-keeps-initiative": IuFault((SEND, WRITE), _end_in_rr, "6.2", "no Sequence Initiative for the Response"),
    "write-header-16": IuFault((WRITE,), put(df_ctl=1), "5.7", "WRITE_RQST has a Device_Header of 16 bytes"),
    "write-r-ctl": IuFault((WRITE,), put(r_ctl=6), "Table 1", "WRITE_RQST goes out as Unsolicited Command"),
    "remote-address": IuFault((WRITE, READ), flip(rmt_va=1 << 20), "5.7.7", "VI_RMT_VA is not the address of the Descriptor"),
    "remote-words-swapped": IuFault((WRITE, READ), _swap_remote_words, "Table 3", "the words of VI_RMT_VA are swapped"),
    "remote-handle-first": IuFault((WRITE, READ), _move_handle, "Table 3", "VI_RMT_VA_HANDLE stands before VI_RMT_VA"),
    "remote-handle": IuFault((WRITE, READ), flip(rmt_handle=1), "5.7.8", "VI_RMT_VA_HANDLE is not that of the Descriptor"),
    "read-length": IuFault((READ,), _length_up, "5.7.9", "VI_RMT_TOT_LEN of READ_RQST is one more"),
    "read-header-16": IuFault((READ,), put(df_ctl=1), "5.7", "READ_RQST has a Device_Header of 16 bytes"),
    "read-r-ctl": IuFault((READ,), put(r_ctl=1), "Table 1", "READ_RQST goes out as Solicited Data"),
    "read-immediate": IuFault((READ,), put(flags=IMM_DATA), "6.5", "READ_RQST has IMM_DATA"),
    "read-payload": IuFault((READ,), put(payload=bytes(4)), "6.5", "READ_RQST has a payload"),
    "read-no-initiative": IuFault((READ,), put(initiative=False), "6.5", "READ_RQST keeps the Sequence Initiative"),
    "read-last": IuFault((READ,), put(last=True), "5.2", "READ_RQST ends the Exchange"),
    # Message Responses
    "response-msg-id": IuFault(MESSAGE_RESP, flip(msg_id=1), "5.7.5", "a Response does not repeat VI_MSG_ID"),
    "response-handle": IuFault(MESSAGE_RESP, flip(handle=1), "5.7.4", "VI_HANDLE of a Response is wrong"),
    "response-payload": IuFault((SEND_RESP, WRITE_RESP), put(payload=bytes(4)), "6.2", "SEND_RESP and WRITE_RESP have a payload"),
    "response-no-last": IuFault(MESSAGE_RESP, put(last=False), "6.2", "a Response does not end the Exchange"),
    "response-reserved-flag": IuFault(MESSAGE_RESP, flip(flags=0x80), "Table 6", "bit 7 of VI_FLAGS of a Response is 1"),
    "response-error": IuFault(MESSAGE_RESP, flip(flags=RESP_ERR), "5.7.2", "RESP_ERR says the contrary"),
    "response-parameter": IuFault(MESSAGE_RESP, put(param=1), "5.7.6", "VI_PARAMETER of a Response is not zero"),
    "response-r-ctl": IuFault((SEND_RESP, WRITE_RESP), put(r_ctl=3), "Table 1", "SEND_RESP and WRITE_RESP are Solicited Control"),
    "send-resp-as-write": IuFault((SEND_RESP,), put(opcode=WRITE_RESP), "6.2", "SEND_RESP has the opcode of WRITE_RESP"),
    "write-resp-as-send": IuFault((WRITE_RESP,), put(opcode=SEND_RESP), "6.4", "WRITE_RESP has the opcode of SEND_RESP"),
    "read-resp-r-ctl": IuFault((READ_RESP,), put(r_ctl=7), "Table 1", "READ_RESP goes out as Command Status"),
    "read-resp-header-32": IuFault((READ_RESP,), put(df_ctl=2), "5.7", "READ_RESP has a Device_Header of 32 bytes"),
    "immediate-swapped": IuFault((SEND, WRITE), immediate(_swap_immediate), "5.7.6", "Immediate Data has its last byte first"),
    "error-without-kind": IuFault(MESSAGE_RESP, _no_kind, "Table 6", "RESP_ERR stands alone"),
    "error-of-another-kind": IuFault(MESSAGE_RESP, _other_kind, "Table 6", "PROT_ERR and DESC_ERR are confused"),
    # All IUs
    "reserved-field": IuFault(ANY, put(reserved=1), "5.7.3", "VI_RSVD is not zero"),
    "type": IuFault(ANY, put(type=TYPE_FCVI ^ 1), "5.6.3", "TYPE is not 58h"),
    "exchange-context": IuFault(ANY, put(context_flip=True), "5.6", "Exchange Context says the other side"),
    "pref-missing": IuFault(MESSAGE_RQST + MESSAGE_RESP, put(cs_ctl=0), "5.6.2", "Messages of a preferring connection have PREF 0"),
    "pref-unasked": IuFault(MESSAGE_RQST + MESSAGE_RESP, put(cs_ctl=0x80), "5.6.2", "Messages of another connection have PREF 1"),
}

FRAME_FAULTS: Dict[str, Tuple[str, str]] = {
    "crc-bad": ("5.6", "every frame has a wrong CRC"),
    "sof-wrong": ("5.6", "the first frame of a Sequence has SOFn"),
    "eof-wrong": ("5.6", "the last frame of a Sequence has EOFn (class 3)"),
    "first-sequence": ("5.6", "First_Sequence is inverted"),
    "s-id-zero": ("5.6", "S_ID is 000000"),
    "rltv-off-zero": ("5.6.6", "RLTV_OFF is 0 in every frame"),
    "rltv-off-with-header": ("5.6.6", "RLTV_OFF counts the Device_Headers too"),
    "rltv-off-in-words": ("5.6.6", "RLTV_OFF counts words"),
    "reserved-in-later-frames": ("5.7.3", "VI_RSVD is not zero in frames behind the first of an IU"),
    "pref-first-frame": ("5.6.2", "only the first frame of a Sequence has PREF"),
}

# A byte of a FARP payload, what is put there, the item of 7.4; the command says of which
FARP_FAULTS: Dict[str, Tuple[int, int, str, str, str]] = {
    "farp-match": (0x54, 4, "01", "7.4", "FARP-REQ matches the Port_Name (item 1)"),
    "farp-action": (0x54, 8, "01", "7.4", "FARP-REQ asks for Login (item 2)"),
    "farp-own-id": (0x54, 5, "000000", "7.4", "FARP-REQ has no Requesting N_Port Identifier (item 3)"),
    "farp-reserved": (0x54, 9, "000001", "7.4", "the reserved bytes of FARP-REQ are not zero (item 4)"),
    "farp-own-port-name": (0x54, 12, "00" * 8, "7.4", "FARP-REQ has no Requesting Port_Name (item 5)"),
    "farp-other-port-name": (0x54, 28, "10000000c9000001", "7.4", "FARP-REQ has a Responding Port_Name (item 6)"),
    "farp-own-node-name": (0x54, 20, "00" * 8, "7.4", "FARP-REQ has no Requesting Node_Name (item 7)"),
    "farp-other-node-name": (0x54, 36, "20000000c9000001", "7.4", "FARP-REQ has a Responding Node_Name (item 8)"),
    "farp-own-ip": (0x54, 44, "00" * 16, "7.4", "FARP-REQ has no Requesting IP Address (item 9)"),
    "farp-other-ip": (0x54, 60, "00" * 16, "7.4", "FARP-REQ has no Responding IP Address (item 10)"),
    "farp-reply-match": (0x55, 4, "01", "7.4", "FARP-REPLY has other Match Address Code Points (item 1)"),
    "farp-reply-asker": (0x55, 5, "000000", "7.4", "FARP-REPLY has no Requesting N_Port Identifier (item 2)"),
    "farp-reply-action": (0x55, 8, "00", "7.4", "FARP-REPLY has another Responder Action (item 3)"),
    "farp-reply-own-id": (0x55, 9, "000000", "7.4", "FARP-REPLY has no Responding N_Port Identifier (item 4)"),
    "farp-reply-asker-name": (0x55, 12, "00" * 8, "7.4", "FARP-REPLY has no Requesting Port_Name (item 5)"),
    "farp-reply-asker-node": (0x55, 20, "00" * 8, "7.4", "FARP-REPLY has no Requesting Node_Name (item 7)"),
    "farp-reply-own-node": (0x55, 36, "00" * 8, "7.4", "FARP-REPLY has no Responding Node_Name (item 8)"),
    "farp-reply-asker-ip": (0x55, 44, "00" * 16, "7.4", "FARP-REPLY has no Requesting IP Address (item 9)"),
    "farp-reply-own-ip": (0x55, 60, "00" * 16, "7.4", "FARP-REPLY has no Responding IP Address (item 10)"),
}

BEHAVIOUR: Dict[str, Tuple[str, str]] = {
    # Frames and Exchanges
    "seq-cnt-restarts": ("5.6.5", "SEQ_CNT begins again in each Sequence of an Exchange"),
    "seq-cnt-from-one": ("5.4", "SEQ_CNT is one at the start of an Exchange"),
    "seq-cnt-jumps": ("5.6.5", "SEQ_CNT leaves a number out behind each frame of an IU"),
    "header-in-first-frame": ("5.6.4", "only the first frame of an IU has the Device_Header"),
    "device-header-changes": ("6.1", "the frames of an IU have different Device_Headers"),
    "rqst-two-frames": ("6.7", "CONNECT_RQST has two frames"),
    "resp1-two-frames": ("6.8", "RESP1 has two frames"),
    "resp1-own-exchange": ("5.3", "RESP1 is sent in an Exchange of its own"),
    "one-exchange-for-all": ("5.2", "all Sends of a connection share one Exchange"),
    "two-exchanges-for-one": ("5.2", "a Message is sent in two Exchanges"),
    # Clause 8
    "no-ulp-timeout": ("8", "a response is awaited for ever"),
    "no-abts": ("8", "no ABTS is ever sent"),
    "abts-other-ox-id": ("8", "ABTS names another Exchange"),
    "no-ba-acc": ("5.6", "ABTS is not answered"),
    # Connection Setup
    "one-handle-for-all": ("5.7.4", "all VIs have the same VI_HANDLE"),
    "t1-never": ("VI-DG 3.3", "the application's Timeout is ignored"),
    "accepts-refusal": ("5.7.2", "a refusing RESP1 is taken for an accept"),
    "no-resp2-after-refusal": ("8", "a refusing RESP1 gets neither RESP2 nor ABTS"),
    "error-after-refusal": ("VI-DG 2.1", "Error in place of Idle after a refusal"),
    "no-resp2-after-timeout": ("8", "a RESP1 after the application's Timeout gets neither RESP2 nor ABTS"),
    "resp2-hides-timeout": ("5.3.2", "RESP2 after the application's Timeout confirms the connection"),
    "no-resp1": ("8", "CONNECT_RQST gets no RESP1"),
    "wrong-reason": ("Table 10", "03h where no Connection Point matches or waits"),
    "reject-as-no-match": ("Table 10", "VipConnectReject sends 02h"),
    "accepts-any-attributes": ("4.2", "VIs with other VI_ATTRIBUTES are connected"),
    "accepts-any-discriminator": ("4.2", "any Discriminator matches"),
    "connected-before-resp2": ("5.3.2", "VipConnectAccept succeeds before RESP2"),
    "ignores-resp2-error": ("5.7.2", "a RESP2 with CONN_ERR makes a connection"),
    "accept-succeeds-without-resp2": ("8", "VipConnectAccept succeeds although RESP2 never came"),
    "peer-sends-no-request": ("5.3", "a peer waits for the request of the other"),
    "peer-gives-up": ("5.3.3", "a peer request ends with the first 04h"),
    "arbitrates-backwards": ("5.3.4", "the lower Host Address accepts"),
    "arbitrates-by-first-bytes": ("5.3.4", "only the first eight bytes of the Host Addresses are compared"),
    "arbitrates-from-the-end": ("5.3.4", "the last byte of a Host Address counts most"),
    "discriminator-length-ignored": ("VI-DG 6.7", "Discriminators are compared with the zeros behind them"),
    "sixteen-bytes-match": ("VI-DG 6.7", "only 16 bytes of a Discriminator are compared"),
    "host-not-compared": ("4.2", "a request to another Host Address reaches the Connection Point"),
    "arbitrates-by-low-half": ("5.3.4", "only the last four bytes of the Host Addresses are compared"),
    "both-accept": ("5.3.4", "concurrent requests are always accepted"),
    "concurrent-as-no-waiting": ("5.3.4", "04h in place of 05h for concurrent requests"),
    "duplicate-as-concurrent": ("5.3.4", "05h for equal Host Addresses"),
    # Disconnect
    "application-as-kernel": ("5.7.2", "VipDisconnect sends the mode kernel initiated"),
    "no-disconnect-rqst": ("5.3.5", "VipDisconnect sends nothing"),
    "disconnect-without-response": ("8", "VipDisconnect does not wait for DISCONNECT_RESP"),
    "disconnect-resp-ignored": ("8", "DISCONNECT_RESP does not complete VipDisconnect"),
    "no-disconnect-abts": ("8", "no ABTS for an unanswered DISCONNECT_RQST"),
    "no-disconnect-resp": ("5.3.5", "DISCONNECT_RQST gets no answer"),
    "survives-disconnect": ("6.10", "DISCONNECT_RQST is answered, the VI stays Connected"),
    "idle-after-disconnect": ("VI-DG 3.3", "DISCONNECT_RQST takes the VI to Idle"),
    # Messages
    "msg-id-starts-at-one": ("5.7.5", "the first VI_MSG_ID is 1"),
    "msg-id-goes-on": ("5.7.5", "VI_MSG_ID goes on in the next connection of a VI"),
    "handle-of-before": ("5.7.4", "Messages have the VI_HANDLE of the connection before"),
    "kernel-as-application": ("5.7.2", "the provider's own DISCONNECT_RQST has the mode application initiated"),
    "responds-to-the-first-iu": ("6.2", "the Response comes before the Message is whole"),
    "writes-past-the-end": ("VI-ARCH 3.2", "an RDMA Write may go one byte beyond its region"),
    "fill-is-data": ("FC-PH", "fill bytes count as bytes of a Message"),
    "immediate-zero-is-none": ("5.7.6", "Immediate Data of zero is not given to the application"),
    "completes-before-response": ("5.1", "Reliable Reception completes Descriptors without their Response"),
    "read-enable-ignored": ("Table 15", "RDMA Reads from a VI that is not enabled for them"),
    "write-enable-ignored": ("Table 15", "RDMA Writes to a VI that is not enabled for them"),
    "unanswered-is-survived": ("8", "a Message without its Response leaves the VI Connected"),
    "error-heals": ("VI-ARCH 2.1", "a VI in Error can be connected again without VipDisconnect"),
    "read-length-of-16-bits": ("5.7.9", "only the lower half of VI_RMT_TOT_LEN is looked at"),
    "msg-id-step": ("5.7.5", "VI_MSG_ID rises by two"),
    "msg-id-stays": ("5.7.5", "VI_MSG_ID does not rise"),
    "msg-id-skips-reads": ("6.5", "an RDMA Read does not consume a VI_MSG_ID"),
    "resp2-behind-messages": ("4.2", "a client is connected by RESP1, and its RESP2 comes five seconds later"),
    "sends-before-resp2": ("4.2", "a Message is sent before RESP2"),
    "response-error-ignored": ("5.7.2", "RESP_ERR completes the Descriptor without error"),
    "sends-one-byte-less": ("6.1", "the last byte of a Message is not sent"),
    "ignores-lost-messages": ("5.7.5", "Reliable Delivery goes on after a lost Message"),
    "responds-beyond-a-gap": ("5.1", "Reliable Reception responds to a Message whose predecessor was lost"),
    "delivers-partial": ("5.2", "a Message without its end is delivered as good"),
    "delivers-wrong-data": ("6.1", "the first byte of a delivered Message is wrong"),
    "loses-immediate": ("5.7.6", "received Immediate Data is not given to the application"),
    "ignores-rltv-off": ("5.6.6", "RDMA Writes are placed at VI_RMT_VA whatever RLTV_OFF says"),
    "writes-anywhere": ("VI-ARCH 3.2", "RDMA Writes into memory that does not allow them"),
    "reads-anywhere": ("VI-ARCH 3.2", "RDMA Reads from memory that does not allow them"),
    "read-error-as-transport": ("5.7.2", "TRANS_ERR in place of PROT_ERR for a refused RDMA Read"),
    "reads-one-byte-less": ("5.7.9", "READ_RESP lacks the last byte"),
    "aborted-message-stays": ("VI-ARCH 2.5", "Reliable Delivery goes on behind a Message that ABTS has ended"),
    "one-response-timed": ("8", "of several Requests only the first has a timer for its Response"),
    "response-to-the-oldest": ("5.7.5", "a Response completes the oldest Send, whichever it answers"),
    "empty-write-brings-none": ("5.7.6", "an RDMA Write of no bytes brings no Immediate Data"),
    "empty-read-unanswered": ("6.6", "an RDMA Read of no bytes is not answered"),
    "read-length-is-signed": ("5.7.9", "VI_RMT_TOT_LEN is taken for a number with a sign"),
    "kinds-told-as-transport": ("5.7.2", "PROT_ERR and DESC_ERR become VIP_STATUS_TRANSPORT_ERROR"),
    "largest-refused": ("7.2", "a Send of MaxTransferSize is too long"),
    "largest-not-taken": ("7.2", "a Send of MaxTransferSize that comes is too long"),
    "unreliable-ends-on-errors": ("VI-ARCH 2.5.1", "an error of a Message breaks an unreliable connection"),
    "unreliable-ends-at-a-gap": ("VI-ARCH 2.5.1", "a lost Message breaks an unreliable connection"),
    "gathers-to-the-first-empty": ("VI-DG 5.2", "what stands behind an empty segment of a Descriptor is sent as zeros"),
    "no-response": ("5.2.1", "Reliable Reception without Responses"),
    "responds-unasked": ("5.2.1", "Responses at Unreliable and Reliable Delivery"),
    "responds-twice": ("6.2", "two Responses to a Message"),
    "hides-errors": ("5.7.2", "a failed Message is answered as good"),
    "survives-errors": ("VI-ARCH 2.5", "an error does not break a reliable connection"),
    # Addresses and login
    "no-farp-req": ("7.3", "no FARP-REQ for an unknown Host Address"),
    "no-farp-reply": ("7.3", "no FARP-REPLY"),
    "answers-any-farp": ("7.4", "FARP-REPLY although a test fails"),
    "order-not-checked": ("5.4", "frames are put together in the order of their arrival, gaps and all"),
    "order-of-ius-not-checked": ("5.4", "the IUs of a Message are put together in the order of their arrival"),
    "ends-at-the-last-frame": ("5.4", "a Message is whole when its last frame has come, whatever has not"),
    "read-order-not-checked": ("5.4", "the frames of READ_RESP are put together in the order of their arrival"),
    "short-read-is-good": ("5.7.9", "an RDMA Read completes well with fewer bytes than it asked for"),
    "long-read-overflows": ("5.7.9", "an RDMA Read writes all that READ_RESP brings, behind what was posted"),
    "held-message-first": ("VI-ARCH 2.5", "a Message that came before its turn is delivered before the one it waited for"),
    "answers-other-code-points": ("7.4", "FARP-REPLY although Match on IP Address is not set (test 2)"),
    "farp-by-low-half": ("7.4", "FARP-REPLY where only the last four bytes are its own (test 1)"),
    "answers-other-actions": ("7.4", "FARP-REPLY although another Responder Action is set (test 3)"),
    "farp-in-a-fabric": ("7.3", "FARP where there is a Name Server"),
    "resp1-timer-goes-on": ("8", "the time for RESP1 goes on when it has come, and ABTS follows"),
    "resp2-timer-goes-on": ("8", "the time for RESP2 goes on when it has come, and ABTS follows"),
    "disconnect-timer-goes-on": ("8", "the time for DISCONNECT_RESP goes on when it has come, and ABTS follows"),
    "abts-once": ("8", "only the first Exchange without a response is aborted"),
    "t1-ends-a-connection": ("VI-DG 3.3", "the time of VipConnectRequest ends the connection that it has made"),
    "early-receives-lost": ("VI-ARCH 2.2", "receive Descriptors that were posted before the connection take no Message"),
    "msg-id-of-8-bits": ("5.7.5", "VI_MSG_ID has 8 bits"),
    "any-right-will-do": ("VI-ARCH 3.2", "an RDMA Write into memory that may be read alone"),
    "reads-pass-writes": ("VI-ARCH 6.3", "an RDMA Write is placed a moment later, and RDMA Reads do not wait for it"),
    "farp-req-to-the-peer": ("A.4", "FARP-REQ goes to the peer alone"),
    "oldest-wait-matches": ("4.2", "a request that matches any Connection Point reaches the oldest"),
    "fills-the-first-vi": ("5.7.4", "a Send fills a Descriptor of another VI"),
    "connections-survive-logout": ("FC-PH", "a logout leaves the connections standing"),
    "no-plogi-after-logo": ("FC-PH", "a setup after a logout goes without PLOGI"),
}


class Rev1Faults(Faults):
    """The one mistake in force, if any."""

    def __init__(self, name: Optional[str] = None) -> None:
        super().__init__(None)
        self.name = name or ""
        if self.name and self.name not in listing():
            raise ValueError(f"--fault {name}: no such fault, see --list-faults")

    def spoil_iu(self, iu: Any) -> None:
        """Mistakes in the Device_Header, the payload or the Sequence."""
        fault = IU_FAULTS.get(self.name)
        if fault and (not fault.opcodes or iu.opcode in fault.opcodes):
            fault.edit(iu)

    def spoil_frame(self, frame: Frame) -> None:
        """Mistakes in the frame header or the delimiters."""
        fcvi = frame.type == TYPE_FCVI
        if self.name == "crc-bad":
            frame.crc = "bad"
        elif self.name == "sof-wrong":
            frame.sof = "n" + (frame.sof or "i3")[1:]
        elif self.name == "eof-wrong":
            frame.eof = "n"
        elif self.name == "first-sequence":
            frame.f_ctl ^= FIRST
        elif self.name == "s-id-zero":
            frame.s_id = 0
        elif self.name == "rltv-off-zero" and fcvi:
            frame.param = 0
        elif self.name == "rltv-off-with-header" and fcvi and frame.param:
            frame.param += 16 * frame.df_ctl * frame.seq_cnt
        elif self.name == "rltv-off-in-words" and fcvi:
            frame.param //= 4
        elif self.name == "reserved-in-later-frames" and fcvi and (frame.sof or "").startswith("n"):
            frame.data = frame.data[:7] + b"\1" + frame.data[8:]
        elif self.name == "pref-first-frame" and fcvi and (frame.sof or "").startswith("n"):
            frame.cs_ctl = 0

    def spoil_farp(self, command: int, payload: bytes) -> bytes:
        """Mistakes in FARP-REQ and FARP-REPLY."""
        of, at, data, _, _ = FARP_FAULTS.get(self.name, (-1, 0, "", "", ""))
        raw = bytes.fromhex(data)
        return payload[:at] + raw + payload[at + len(raw):] if of == command else payload


def clauses() -> Dict[str, Tuple[str, str]]:
    """Every fault against the draft: the clause whose sentence it breaks, and what it does."""
    farp = {name: (clause, what) for name, (_, _, _, clause, what) in FARP_FAULTS.items()}
    ius = {name: (fault.clause, fault.what) for name, fault in IU_FAULTS.items()}
    return {**BEHAVIOUR, **ius, **FRAME_FAULTS, **farp}


def listing() -> Dict[str, Tuple[str, str]]:
    """Every fault: the requirement ids it breaks, and the clause with what it does."""
    found = {name: (LABELS.get(name, "unlabelled"), f"{clause}: {what}") for name, (clause, what) in clauses().items()}
    return {**found, **{name: ("dut-protocol", what) for name, what in ATTACHMENT.items()}}


def names() -> List[str]:
    """The faults against the draft."""
    return list(clauses())
