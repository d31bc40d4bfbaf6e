"""Deliberate mistakes: each breaks one rule, and the suite must find it.

Mistakes in what an IU or a frame looks like are made here, just before it leaves; mistakes in behaviour are
made where the behaviour is, by asking `is_on`.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from .wire import (
    CONN_STS,
    CONNECT_RQST,
    DISCONNECT_RESP,
    DISCONNECT_RQST,
    FIRST,
    RESP1,
    RESP2,
    RESP3,
    RESP_RETRY,
    RQST_RETRY,
    SEND,
    SETUP_ABORT,
    TYPE_FCVI,
    UNASSIGNED,
    Frame,
    Iu,
)

Edit = Callable[[Iu], None]


def put(**fields: object) -> Edit:
    """Overwrite fields of the IU."""
    def edit(iu: Iu) -> None:
        for name, value in fields.items():
            setattr(iu, name, value)
    return edit


def flip(**bits: int) -> Edit:
    """Invert bits of fields of the IU."""
    def edit(iu: Iu) -> None:
        for name, mask in bits.items():
            setattr(iu, name, getattr(iu, name) ^ mask)
    return edit


def clear_flags(mask: int) -> Edit:
    """Clear bits of FCVI_FLAGS."""
    def edit(iu: Iu) -> None:
        iu.flags &= ~mask
    return edit


def poke(offset: int, data: str) -> Edit:
    """Overwrite payload bytes."""
    raw = bytes.fromhex(data)

    def edit(iu: Iu) -> None:
        iu.payload = iu.payload[:offset] + raw + iu.payload[offset + len(raw):]
    return edit


def _swap_addresses(iu: Iu) -> None:
    iu.payload = iu.payload[:12] + iu.payload[160:308] + iu.payload[12:160] + iu.payload[308:]


def _without_word_84(iu: Iu) -> None:
    iu.payload = iu.payload[:336] + iu.payload[340:]


def _wrong_disconnect_code(iu: Iu) -> None:
    iu.flags, iu.param = iu.flags | CONN_STS, 0x04 << 16


def _refusal_without_code(iu: Iu) -> None:
    iu.param = 0 if iu.flags & CONN_STS else iu.param


def _accept_with_parameter(iu: Iu) -> None:
    iu.param = iu.param if iu.flags & CONN_STS else 0x00040000


def _accept_without_handle(iu: Iu) -> None:
    if not iu.flags & CONN_STS:
        poke(8, "ffffffff")(iu)


ANY: Tuple[int, ...] = ()

# name: (opcodes, edit, requirement ids, what)
IU_FAULTS: Dict[str, Tuple[Tuple[int, ...], Edit, str, str]] = {
    # CONNECT_RQST
    "rqst-handle": (
        (CONNECT_RQST,), put(handle=0),
        "FCVI-5.3.2-04 FCVI-6.8.2-02", "FCVI_HANDLE of CONNECT_RQST is 0"),
    "rqst-parameter": (
        (CONNECT_RQST,), put(param=1),
        "FCVI-6.8.2-05 FCVI-5.9.7.1-04", "FCVI_PARAMETER of CONNECT_RQST is not zero"),
    "rqst-msg-id": (
        (CONNECT_RQST,), put(msg_id=1), "FCVI-6.8.2-04", "FCVI_MSG_ID of CONNECT_RQST is 1"),
    "rqst-rmt-va": (
        (CONNECT_RQST,), put(rmt_va=0x1000),
        "FCVI-6.8.2-06", "FCVI_RMT_VA of CONNECT_RQST is not zero"),
    "rqst-rmt-va-handle": (
        (CONNECT_RQST,), put(rmt_handle=1),
        "FCVI-6.8.2-07", "FCVI_RMT_VA_HANDLE of CONNECT_RQST is not zero"),
    "rqst-no-initiative": (
        (CONNECT_RQST,), put(initiative=False),
        "FCVI-5.8.4-04 FCVI-6.8.1-03", "CONNECT_RQST keeps Sequence Initiative"),
    "rqst-payload-336": (
        (CONNECT_RQST,), _without_word_84,
        "FCVI-6.8.1-04", "CONNECT_RQST ends after payload Word 83"),
    "rqst-revision": (
        (CONNECT_RQST,), poke(6, "0002"),
        "FCVI-6.8.3-01", "FCVI_REVISION of CONNECT_RQST is 2"),
    "rqst-handle-unassigned": (
        (CONNECT_RQST,), poke(8, "ffffffff"),
        "FCVI-6.8.3-02 FCVI-5.9.2-03", "FCVI_RQST_HANDLE is FFFFFFFFh"),
    "connection-id-unassigned": (
        (CONNECT_RQST,), put(word7=UNASSIGNED),
        "FCVI-5.9.10-07", "FCVI_CONNECTION_ID of CONNECT_RQST is FFFFFFFFh"),
    "rqst-no-mode": (
        (CONNECT_RQST,), clear_flags(7),
        "FCVI-6.8.2-03 FCVI-T08-rsvd", "CONN_MODE of CONNECT_RQST is 000b"),
    "rqst-level-4": (
        (CONNECT_RQST,), poke(310, "04"),
        "FCVI-7.3-02", "FCVI_RELIABILITY_LVL is a code of VIPL"),
    "rqst-host-len": (
        (CONNECT_RQST,), poke(14, "04"), "FCVI-7.2-13 FCVI-7.2-08", "HOST_ADD_LEN is 4"),
    "rqst-discrim-len": (
        (CONNECT_RQST,), poke(15, "08"), "FCVI-7.2-15 FCVI-7.2-09", "DISCRIM_LEN is 8"),
    "rqst-bandwidth": (
        (CONNECT_RQST,), poke(320, "00000001"),
        "FCVI-7.3-10", "FCVI_MAX_BANDWIDTH is not zero"),
    "rqst-addresses-swapped": (
        (CONNECT_RQST,), _swap_addresses,
        "FCVI-6.8.3-04 FCVI-6.8.3-05", "FCVI_LOC_ADDR and FCVI_REM_ADDR of CONNECT_RQST are swapped"),
    "rqst-pref": (
        (CONNECT_RQST,), put(cs_ctl=0x80), "FCVI-5.8.2-06", "CONNECT_RQST asks for Preference"),
    "retry-without-bit": (
        (CONNECT_RQST,), clear_flags(RQST_RETRY),
        "FCVI-8.5.4-a1 FCVI-5.9.4.4-04", "the retried CONNECT_RQST has RETRY 0"),
    "retry-always": (
        (CONNECT_RQST,), flip(flags=RQST_RETRY),
        "FCVI-5.9.4.4-03", "RETRY is inverted in CONNECT_RQST"),
    # RESP1
    "resp1-handle": (
        (RESP1,), put(handle=0x1234),
        "FCVI-5.3.2-07 FCVI-6.9.2-02", "FCVI_HANDLE of RESP1 is assigned"),
    "resp1-connection-id": (
        (RESP1,), flip(word7=1),
        "FCVI-6.9.2-09 FCVI-5.9.10-04", "RESP1 does not repeat FCVI_CONNECTION_ID"),
    "resp1-no-retry-bit": (
        (RESP1,), clear_flags(RESP_RETRY),
        "FCVI-5.9.4.5-06 FCVI-8.5.4-b2", "RESP1 does not repeat RETRY"),
    "resp1-parameter": (
        (RESP1,), _accept_with_parameter,
        "FCVI-6.9.2-05", "FCVI_PARAMETER of an accepting RESP1 is not zero"),
    "resp1-no-code": (
        (RESP1,), _refusal_without_code,
        "FCVI-6.9.2-06 FCVI-T12-00h", "a refusing RESP1 has Reason Code 00h"),
    "resp1-msg-id": (
        (RESP1,), put(msg_id=1), "FCVI-6.9.2-04", "FCVI_MSG_ID of RESP1 is 1"),
    "resp1-no-initiative": (
        (RESP1,), put(initiative=False),
        "FCVI-5.8.4-04 FCVI-6.9.1-03", "RESP1 keeps Sequence Initiative"),
    "resp1-payload-336": (
        (RESP1,), _without_word_84, "FCVI-6.9.1-04", "RESP1 ends after payload Word 83"),
    "resp1-revision": (
        (RESP1,), poke(6, "0000"), "FCVI-6.9.3-01", "FCVI_REVISION of RESP1 is 0"),
    "resp1-resp-handle": (
        (RESP1,), _accept_without_handle,
        "FCVI-6.9.3-02 FCVI-5.3.2-08 FCVI-5.9.2-03", "an accepting RESP1 has FCVI_RESP_HANDLE FFFFFFFFh"),
    "resp1-addresses": (
        (RESP1,), _swap_addresses,
        "FCVI-6.9.3-04 FCVI-6.9.3-05", "RESP1 repeats the addresses as the client sent them"),
    "resp1-context": (
        (RESP1,), put(context_flip=True),
        "FCVI-5.8.1-01", "RESP1 claims to come from the originator"),
    "resp1-last": (
        (RESP1,), put(last=True),
        "FCVI-5.3.1-05 FCVI-T01-CONNECT_RESP1-pos", "RESP1 ends the Exchange"),
    # RESP2
    "resp2-handle": (
        (RESP2,), flip(handle=1),
        "FCVI-6.10.2-02 FCVI-5.3.2-09", "FCVI_HANDLE of RESP2 is not FCVI_RESP_HANDLE"),
    "resp2-connection-id": (
        (RESP2,), flip(word7=1),
        "FCVI-6.10.2-09", "RESP2 does not repeat FCVI_CONNECTION_ID"),
    "resp2-no-retry-bit": (
        (RESP2,), clear_flags(RESP_RETRY),
        "FCVI-5.9.4.5-07 FCVI-8.5.4-a2", "RESP2 of a retried setup has RETRY 0"),
    "resp2-no-initiative": (
        (RESP2,), put(initiative=False),
        "FCVI-5.8.4-04 FCVI-6.10.1-03", "RESP2 keeps Sequence Initiative"),
    "resp2-last": (
        (RESP2,), put(last=True),
        "FCVI-5.3.1-05 FCVI-T01-CONNECT_RESP2-pos", "RESP2 ends the Exchange"),
    "resp2-payload": (
        (RESP2,), put(payload=bytes(4)), "FCVI-6.10.1-02", "RESP2 has a payload"),
    "resp2-conn-info": (
        (RESP2,), flip(flags=2),
        "FCVI-6.10.2-03 FCVI-T09-1", "RESP2 claims to carry FCVI_CONNECT_INFO"),
    # RESP3
    "resp3-no-last": (
        (RESP3,), put(last=False),
        "FCVI-5.8.4-05 FCVI-6.11.1-03", "RESP3 does not end the Exchange"),
    "resp3-handle": (
        (RESP3,), flip(handle=1),
        "FCVI-6.11.2-02 FCVI-5.3.2-06", "FCVI_HANDLE of RESP3 is not FCVI_RQST_HANDLE"),
    "resp3-connection-id": (
        (RESP3,), flip(word7=1),
        "FCVI-6.11.2-09", "RESP3 does not repeat FCVI_CONNECTION_ID"),
    "resp3-no-retry-bit": (
        (RESP3,), clear_flags(RESP_RETRY),
        "FCVI-5.9.4.5-06 FCVI-8.5.4-b2", "RESP3 does not repeat RETRY"),
    # Disconnect
    "disconnect-handle": (
        (DISCONNECT_RQST,), flip(handle=1),
        "FCVI-6.12.2-02", "FCVI_HANDLE of DISCONNECT_RQST is wrong"),
    "disconnect-abort-bit": (
        (DISCONNECT_RQST,), flip(flags=SETUP_ABORT),
        "FCVI-6.12.2-07 FCVI-6.12.2-06", "CONN_SETUP_ABORT of DISCONNECT_RQST is inverted"),
    "abort-connection-id": (
        (DISCONNECT_RQST,), flip(word7=1),
        "FCVI-6.12.2-14 FCVI-5.9.10-05", "FCVI_CONNECTION_ID of DISCONNECT_RQST is off by one bit"),
    "disconnect-code": (
        (DISCONNECT_RQST,), _wrong_disconnect_code,
        "FCVI-5.9.7.1-07", "DISCONNECT_RQST gives a Reason Code of Connect Responses"),
    "disconnect-payload": (
        (DISCONNECT_RQST,), put(payload=bytes(4)),
        "FCVI-6.12.1-02", "DISCONNECT_RQST has a payload"),
    "disconnect-no-initiative": (
        (DISCONNECT_RQST,), put(initiative=False),
        "FCVI-5.8.4-06 FCVI-6.12.1-03", "DISCONNECT_RQST keeps Sequence Initiative"),
    "disconnect-resp-flags": (
        (DISCONNECT_RESP,), clear_flags(6),
        "FCVI-6.13.2-05 FCVI-5.9.4.6-04 FCVI-5.9.4.6-06", "DISCONNECT_RESP does not repeat the flags"),
    "disconnect-resp-connection-id": (
        (DISCONNECT_RESP,), flip(word7=2),
        "FCVI-6.13.2-11 FCVI-5.9.10-06", "DISCONNECT_RESP does not repeat FCVI_CONNECTION_ID"),
    "disconnect-resp-no-last": (
        (DISCONNECT_RESP,), put(last=False),
        "FCVI-5.8.4-07 FCVI-6.13.1-03", "DISCONNECT_RESP does not end the Exchange"),
    "disconnect-resp-payload": (
        (DISCONNECT_RESP,), put(payload=bytes(4)),
        "FCVI-6.13.1-02", "DISCONNECT_RESP has a payload"),
    # Messages
    "message-handle": (
        (SEND,), flip(handle=1),
        "FCVI-6.2.2-02 FCVI-5.9.2-01 FCVI-4.2-07", "FCVI_HANDLE of SEND_RQST is wrong"),
    "message-tot-len": (
        (SEND,), flip(word7=4),
        "FCVI-6.2.2-10 FCVI-5.9.10-01", "FCVI_TOT_LEN of SEND_RQST is wrong"),
    "message-no-last": (
        (SEND,), put(last=False),
        "FCVI-5.8.4-01 FCVI-6.2.1-04", "SEND_RQST does not end the Exchange"),
    "message-rmt-va": (
        (SEND,), put(rmt_va=8), "FCVI-6.2.2-09", "FCVI_RMT_VA of SEND_RQST is not zero"),
    "immediate-without-flag": (
        (SEND,), clear_flags(1),
        "FCVI-6.2.2-05 FCVI-5.9.4.2-01", "Immediate Data is sent without IMM_DATA"),
    "message-parameter": (
        (SEND,), flip(param=1),
        "FCVI-6.2.2-06 FCVI-6.2.2-07", "FCVI_PARAMETER of SEND_RQST is wrong"),
    "message-r-ctl": (
        (SEND,), put(r_ctl=4),
        "FCVI-T01-SEND_RQST-enc", "SEND_RQST goes out as Unsolicited Data"),
    # All IUs
    "reserved-flag": (
        ANY, flip(flags=0x80),
        "FCVI-5.9.4.1-01 FCVI-T05-7..1 FCVI-T07-7..5 FCVI-T09-7..3 FCVI-T10-7..3",
        "a Reserved bit of FCVI_FLAGS is set"),
    "reserved-field": (
        ANY, put(reserved=1),
        "FCVI-5.9.5-01", "the Reserved half of Device_Header Word 1 is not zero"),
    "type": (
        ANY, put(type=TYPE_FCVI ^ 1), "FCVI-5.8.3-01", "TYPE is not 58h"),
    "r-ctl": (
        (CONNECT_RQST, RESP1, RESP2, RESP3, DISCONNECT_RQST, DISCONNECT_RESP), put(r_ctl=6),
        "FCVI-5.1-02 FCVI-T01-CONNECT_RQST-enc FCVI-T01-CONNECT_RESP1-enc FCVI-T01-CONNECT_RESP2-enc "
        "FCVI-T01-CONNECT_RESP3-enc FCVI-T01-DISCONNECT_RQST-enc FCVI-T01-DISCONNECT_RESP-enc",
        "connection IUs go out as Unsolicited Command"),
    "header-16": (
        ANY, put(df_ctl=1), "FCVI-5.8.5-01 FCVI-5.9.1-02", "the Device_Header has 16 bytes"),
}

FRAME_FAULTS: Dict[str, Tuple[str, str]] = {
    "crc-bad": ("FCVI-5.8.1-01", "every frame has a wrong CRC"),
    "sof-wrong": (
        "FCVI-5.8.1-01 FCVI-6.10.1-04 FCVI-6.11.1-04 FCVI-6.13.1-03",
        "the first frame of a Sequence has SOFn3"),
    "eof-wrong": ("FCVI-5.8.1-01", "the last frame of a Sequence has EOFn"),
    "first-sequence": (
        "FCVI-5.8.1-01 FCVI-T01-CONNECT_RQST-pos FCVI-T01-CONNECT_RESP1-pos FCVI-T01-DISCONNECT_RESP-pos",
        "First_Sequence is inverted"),
    "s-id-zero": ("FCVI-5.8.1-01", "S_ID is 000000"),
    "relative-offset": ("FCVI-5.8.7-01 FCVI-5.6-07 FCVI-5.8.7-02", "Relative Offset is 0 in every frame"),
}

BEHAVIOUR: Dict[str, Tuple[str, str]] = {
    # The client
    "no-retry": ("FCVI-8.5.4-01 FCVI-8.5.3-a2b", "a failed setup is not retried"),
    "two-retries": ("FCVI-8.5.4-01 FCVI-8.5.4-02", "a failed setup is retried twice"),
    "retry-same-connection-id": ("FCVI-8.5.4-a1", "the retry uses the same FCVI_CONNECTION_ID"),
    "retry-same-ox-id": ("FCVI-8.5.4-a1", "the retry uses the same OX_ID"),
    "retry-other-handle": ("FCVI-8.5.4-a1", "the retry uses another FCVI_RQST_HANDLE"),
    "no-abts": ("FCVI-8.5.3-a FCVI-C-R2-a FCVI-C-R3-a", "no ABTS is ever sent"),
    "t3-early": ("FCVI-8.5.2-b FCVI-8.3-02", "T3 is half of FCVI_ULP_TIMEOUT"),
    "t3-late": ("FCVI-8.5.2-b FCVI-8.3-02", "T3 is twice FCVI_ULP_TIMEOUT"),
    "t1-never": ("FCVI-8.2-b2 FCVI-C.5.1-01", "VipConnectRequest ignores its Timeout"),
    "error-after-t1": ("FCVI-8.2-b2", "Error instead of Idle after T1"),
    "retry-after-t1": ("FCVI-C.5.2-09 FCVI-C.5.7.1-04 FCVI-8.5.4-01", "the setup is retried after T1"),
    "no-timeout-status": ("FCVI-5.9.7.2.1-02 FCVI-C.5.2-05", "RESP2 after T1 lacks 02h"),
    "no-resp2-after-refusal": ("FCVI-6.10.1-01", "a refusing RESP1 gets no RESP2"),
    "error-after-refusal": ("FCVI-8.2-b3", "Error instead of Idle after a non-error refusal"),
    "accepts-refusal": (
        "FCVI-5.9.4.5-02 FCVI-5.9.7.2.1-04 FCVI-8.2-b3",
        "a refusing RESP1 is taken for an accept"),
    "strict-flags": (
        "FCVI-5.9.4.5-03 FCVI-5.9.4.5-04 FCVI-8.2-b1 FCVI-5.3.2-01",
        "an accepting RESP1 with RETRY or FCVI_CONN_INFO is taken for a refusal (E07)"),
    "resp2-seq-cnt-restarts": ("FCVI-5.8.6-01 FCVI-5.6-01", "SEQ_CNT starts again in RESP2"),
    "resp3-ignored": ("FCVI-8.5.2-b FCVI-C.5.2-07", "RESP3 does not stop T3"),
    "stays-connected": ("FCVI-8.5.3-a3 FCVI-C-R5-a", "the client stays Connected when RESP3 never comes"),
    "no-conn-lost": ("FCVI-C-R5-e FCVI-D.2-02", "VIP_ERROR_CONN_LOST is never signalled"),
    "timeout-not-unreachable": (
        "FCVI-C-R4-e FCVI-8.5.4-02",
        "VIP_TIMEOUT instead of VIP_NOT_REACHABLE after the retry"),
    "idle-after-failed-retry": ("FCVI-8.5.3-a1 FCVI-8.5.4-02", "Idle instead of Error after the retry"),
    "no-flush": ("FCVI-C-R4-d FCVI-C-R5-d FCVI-C-R6-b3", "Descriptors stay posted in the Error state"),
    "sends-early": ("FCVI-5.9.3-03 FCVI-4.2-25", "a Message is sent before RESP2"),
    # The server
    "t2-early": ("FCVI-8.5.2-c FCVI-8.3-03", "T2 is FCVI_ULP_TIMEOUT"),
    "t2-late": ("FCVI-8.5.2-c FCVI-8.3-03", "T2 is four times FCVI_ULP_TIMEOUT"),
    "t2-never": ("FCVI-8.5.2-c FCVI-8.5.3-d", "RESP2 is awaited for ever"),
    "t2-success": ("FCVI-C.5.2-04", "VipConnectAccept succeeds when T2 expires"),
    "t2-no-conn-lost": ("FCVI-C.5.2-04", "no VIP_ERROR_CONN_LOST when T2 expires"),
    "no-ba-acc": ("FCVI-C.5.7.1-03 FCVI-4.1-04", "ABTS of an unknown Exchange gets no BA_ACC"),
    "wrong-reason": ("FCVI-5.9.7.2.1-01 FCVI-5.9.7.2.1-03", "04h where no Connectionpoint matches or waits"),
    "reject-as-no-match": ("FCVI-5.9.7.2.1-04", "VipConnectReject sends 01h"),
    "accepts-any-discriminator": ("FCVI-4.2-34", "any Discriminator matches"),
    "refuses-retry": (
        "FCVI-8.5.4-b1 FCVI-C-R8-a FCVI-C-R11 FCVI-5.3.2-01 FCVI-4.2-33",
        "a CONNECT_RQST with RETRY is refused"),
    "no-resp3": ("FCVI-6.11.1-01", "RESP2 gets no RESP3"),
    "connected-before-resp2": (
        "FCVI-C.5.1-05 FCVI-C.5.4-01 FCVI-8.5.3-d FCVI-8.3-03",
        "VipConnectAccept succeeds before RESP2"),
    "ignores-timeout-status": ("FCVI-C.5.2-06 FCVI-C.5.6-01", "RESP2 with 02h makes a connection"),
    "accepts-any-level": ("FCVI-4.2-39", "VIs with unequal attributes are connected"),
    # Disconnect
    "no-app-discon": ("FCVI-6.12.2-08", "VI_APP_DISCON is 0 although the application asked"),
    "no-disconnect-resp": ("FCVI-5.3.5-02 FCVI-6.13.1-01", "DISCONNECT_RQST gets no answer"),
    "no-4a": ("FCVI-D-R3-a1 FCVI-5.9.7.3.2-11", "an unknown connection gets a code that says something else"),
    "no-48": (
        "FCVI-D-R6-a1 FCVI-5.9.7.3.2-09",
        "a setup abort for a known handle and an unknown identifier gets a code that says something else"),
    "r6-closes": (
        "FCVI-D-R6-a1 FCVI-6.12.2-14",
        "a setup abort with an unknown identifier closes the connection"),
    "disconnect-without-response": (
        "FCVI-D.2-03 FCVI-8.3-04",
        "VipDisconnect does not wait for DISCONNECT_RESP"),
    "disconnect-resp-ignored": (
        "FCVI-D.2-03 FCVI-8.2-d2 FCVI-8.1-03",
        "DISCONNECT_RESP does not complete VipDisconnect"),
    "disconnect-timeout-early": ("FCVI-8.6.2-b FCVI-8.3-04", "DISCONNECT_RESP is awaited for half the time"),
    "disconnect-timeout-late": ("FCVI-8.6.2-b FCVI-8.3-04", "DISCONNECT_RESP is awaited for twice the time"),
    "disconnect-timeout-never": (
        "FCVI-8.6.2-b FCVI-8.6.3-a3 FCVI-8.6.3-a1",
        "DISCONNECT_RESP is awaited for ever"),
    "no-disconnect-abts": ("FCVI-8.6.3-a1 FCVI-D-R1-b1", "no ABTS for an unanswered DISCONNECT_RQST"),
    "success-after-no-response": (
        "FCVI-8.6.3-a3 FCVI-D-R1-c1",
        "VIP_SUCCESS although no DISCONNECT_RESP came"),
    "idle-after-no-response": ("FCVI-8.6.3-a2 FCVI-D.2-04", "Idle although no DISCONNECT_RESP came"),
    "connected-after-no-response": ("FCVI-8.6.3-a2", "Connected although no DISCONNECT_RESP came"),
    "survives-disconnect": (
        "FCVI-D.2-02 FCVI-C.5.10-05",
        "DISCONNECT_RQST is answered, the VI stays Connected"),
    "idle-after-disconnect": (
        "FCVI-D.2-02 FCVI-8.2-e1",
        "DISCONNECT_RQST takes the VI to Idle instead of Error"),
    "quiet-disconnect": ("FCVI-D.2-02", "DISCONNECT_RQST causes no VIP_ERROR_CONN_LOST"),
    "callback-when-idle": ("FCVI-D.2-06", "DISCONNECT_RQST at an Idle Endpoint causes VIP_ERROR_CONN_LOST"),
    # Messages
    "msg-id-zero": ("FCVI-5.9.6-03 FCVI-4.2-10", "the first FCVI_MSG_ID is 0"),
    "msg-id-step": ("FCVI-5.9.6-04 FCVI-4.2-12", "FCVI_MSG_ID rises by two"),
    "delivers-corrupt": ("FCVI-8.4.1-b FCVI-5.2.1-10", "a Message with missing frames is delivered as good"),
    "delivers-wrong-data": ("FCVI-6.2.1-01", "the first byte of a delivered Message is wrong"),
    "header-in-first-frame": (
        "FCVI-5.8.5-02 FCVI-5.9.1-01",
        "only the first frame of an IU has the Device_Header"),
    # Logout
    "connections-survive-logout": ("FCVI-7.7.1-05", "a logout leaves the connections standing"),
    "no-plogi-after-logo": ("FCVI-7.7.1-05", "a setup after a logout goes without PLOGI"),
}

ATTACHMENT: Dict[str, str] = {
    "same-answer": "every request, unknown methods included, gets the same result",
    "answers-unknown": "unknown methods get an empty result",
    "echo": "every frame comes straight back",
    "mute": "says hello and then nothing",
    "silent-wire": "answers everything, sends no frame",
    "closes": "closes the stream after the first reset",
    "exits": "exits with status 3 at the first frame",
    "not-json": "the answer to the first reset is no JSON",
    "long-line": "the answer to the first reset is longer than 64 KiB",
    "wrong-id": "answers carry another id",
}


class Faults:
    """The one mistake in force, if any."""

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name or ""
        if self.name and self.name not in listing():
            raise ValueError(f"--fault {name}: no such fault, see --list-faults")

    def is_on(self, name: str) -> bool:
        """Whether this mistake is to be made."""
        return self.name == name

    def scaled(self, timer: str, us: int) -> int:
        """The length of a timer, halved or doubled when that is the mistake."""
        return {f"{timer}-early": us // 2, f"{timer}-late": us * 2}.get(self.name, us)

    @property
    def spoils_delimiters(self) -> bool:
        """The mistake shows in sof, eof or crc only."""
        return self.name in ("crc-bad", "sof-wrong", "eof-wrong")

    def spoil_iu(self, iu: Iu) -> None:
        """Mistakes in the Device_Header, the payload or the Sequence."""
        opcodes, edit, _, _ = IU_FAULTS.get(self.name, ((-1,), None, "", ""))
        if edit and (not opcodes or iu.opcode in opcodes):
            edit(iu)

    def spoil_frame(self, frame: Frame) -> None:
        """Mistakes in the frame header or the delimiters."""
        if self.name == "crc-bad":
            frame.crc = "bad"
        elif self.name == "sof-wrong":
            frame.sof = "n3"
        elif self.name == "eof-wrong":
            frame.eof = "n"
        elif self.name == "first-sequence":
            frame.f_ctl ^= FIRST
        elif self.name == "s-id-zero":
            frame.s_id = 0
        elif self.name == "relative-offset" and frame.type == TYPE_FCVI:
            frame.param = 0


def listing() -> Dict[str, Tuple[str, str]]:
    """Every fault: the requirement ids it breaks and what it does."""
    looks = {name: (ids, what) for name, (_, _, ids, what) in IU_FAULTS.items()}
    attachment = {name: ("dut-protocol", what) for name, what in ATTACHMENT.items()}
    return {**BEHAVIOUR, **looks, **FRAME_FAULTS, **attachment}
