"""Deliberate mistakes: each breaks one rule, and the suite must find it and say which.

Mistakes in what a PDU looks like are made here, just before it leaves; mistakes in behaviour are made where the behaviour
is, by asking `is_on`. The rows are those of the catalogue (without VITCP-) that a suite may name for it, the one that says it
best first.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from .wire import (
    ACCEPT, CE, DATA, END, IMMEDIATE, NO_ERROR, NO_MATCH, NOP, READ_REQUEST, READ_RESPONSE, REJECT, REQUEST, SEND, TRANSMIT_ERROR,
    WRITE, Segment,
)

Edit = Callable[[Segment], None]
ALL = (*DATA, NOP, *CE)
MESSAGES = (SEND, WRITE, READ_RESPONSE)


def put(**fields: object) -> Edit:
    """Overwrite fields."""
    def edit(segment: Segment) -> None:
        for name, value in fields.items():
            setattr(segment, name, value)
    return edit


def add(**fields: int) -> Edit:
    """Add to fields."""
    def edit(segment: Segment) -> None:
        for name, value in fields.items():
            setattr(segment, name, (getattr(segment, name) or 0) + value)
    return edit


def flags(on: int = 0, off: int = 0, flip: int = 0) -> Edit:
    """Change flags."""
    def edit(segment: Segment) -> None:
        segment.flags = ((segment.flags | on) & ~off) ^ flip
    return edit


def of_setup(**fields: object) -> Edit:
    """Overwrite fields of the CE Header."""
    def edit(segment: Segment) -> None:
        for name, value in fields.items():
            if segment.setup is not None:
                setattr(segment.setup, name, value)
    return edit


def attribute(mask: int) -> Edit:
    """Invert a flag of Calling Attributes."""
    def edit(segment: Segment) -> None:
        if segment.setup is not None:
            segment.setup.attributes ^= mask
    return edit


def later(edit: Edit) -> Edit:
    """Only in segments that are not the first of their message."""
    def act(segment: Segment) -> None:
        if segment.offset:
            edit(segment)
    return act


def _swap(segment: Segment) -> None:
    if segment.setup is not None:
        segment.setup.calling, segment.setup.called = segment.setup.called, segment.setup.calling


def _headers_in_offset(segment: Segment) -> None:
    if segment.offset:
        segment.offset += 24 * (1 + segment.offset // 1400)


def _only_last_size(segment: Segment) -> None:
    segment.offset = min(segment.offset, 1400)


def _length_of_segment(segment: Segment) -> None:
    segment.length = len(segment.payload)


def _no_rdma_header(segment: Segment) -> None:
    segment.address = None


def _payload_first(segment: Segment) -> None:
    if segment.address is not None and len(segment.payload) >= 16:
        whole = segment.address.to_bytes(8, "big") + segment.handle.to_bytes(4, "big") + segment.length.to_bytes(4, "big")
        segment.payload, segment.address = segment.payload + whole, None


def _swapped_immediate(segment: Segment) -> None:
    segment.immediate = int.from_bytes(segment.immediate.to_bytes(4, "big"), "little")


def _little_offset(segment: Segment) -> None:
    segment.offset = int.from_bytes(segment.offset.to_bytes(4, "big"), "little")


def _exchanged(segment: Segment) -> None:
    segment.offset, segment.number = segment.number, segment.offset


def _handle_before_address(segment: Segment) -> None:
    address, handle = segment.address or 0, segment.handle
    segment.address, segment.handle = handle << 32 | address >> 32, address & 0xFFFFFFFF


def _code_names_next(segment: Segment) -> None:
    if segment.error != NO_ERROR:
        segment.is_code, segment.ack = 7, segment.ack + 1


def _little_length(segment: Segment) -> None:
    segment.length = int.from_bytes(segment.length.to_bytes(4, "big"), "little")


def _cut_offset(segment: Segment) -> None:
    segment.offset &= 0xFFFF


def _cut_offset_late(segment: Segment) -> None:
    segment.offset &= 0xFFFFF


def _cut_length(segment: Segment) -> None:
    segment.length &= 0xFFFF


def _cut_address(segment: Segment) -> None:
    if segment.address is not None:
        segment.address &= 0xFFFFFFFF


def _cut_handle(segment: Segment) -> None:
    segment.handle &= 0xFFFF


def _short_ce(segment: Segment) -> None:
    segment.setup = None


def _calling_length_16(segment: Segment) -> None:
    if segment.setup is not None:
        segment.setup.calling_length = 16


def _called_length_16(segment: Segment) -> None:
    if segment.setup is not None:
        segment.setup.called_length = 16


def _double_mtu(segment: Segment) -> None:
    if segment.setup is not None:
        segment.setup.mtu *= 2


#: name: (PDUs, what is done to each, rows, what it is)
WIRE: Dict[str, Tuple[Tuple[int, ...], Edit, str, str]] = {
    "version-2": (ALL, put(version=2), "3.1-02", "Version 2 (T0: a notice)"),
    "length-of-payload": (MESSAGES, add(adjust=-24), "3.1-11 3-02", "Segment Length leaves the header out"),
    "length-one-more": (MESSAGES, add(adjust=1), "3.1-11 3-02", "Segment Length is one too long"),
    "length-little-endian": ((*MESSAGES, REQUEST, ACCEPT), put(little=True), "3-01 3.1-11 3-02", "Segment Length little-endian"),
    "offset-little-endian": (MESSAGES, _little_offset, "3-01 3.1-14 2.2.2.2.3-03", "Data Offset little-endian"),
    "rdma-length-little-endian": ((WRITE, READ_REQUEST), _little_length, "3-01 3.2.1-04", "RDMA Length little-endian"),
    "offset-and-number-exchanged": (MESSAGES, _exchanged, "3.1-01 3.1-13 3.1-14 3.1-09",
                                    "Data Offset stands where Message Number is, and the other way round"),
    "handle-before-address": ((WRITE, READ_REQUEST), _handle_before_address, "3.2.1-01 3.2.1-02 3.2.1-03",
                              "the memory handle stands before the RDMA Address"),
    "send-with-rdma-header": ((SEND,), put(address=0), "3-04 3.1-11 3.1-07", "a Send has an RDMA Header"),
    "code-names-next": (ALL, _code_names_next, "3.1-50 3.1-35", "a report has an IS Error Code, and names the message behind"),
    "offset-from-one": (MESSAGES, add(offset=1), "3.1-13", "Data Offset begins at 1"),
    "offset-of-send-from-header": ((SEND,), add(offset=24), "3.1-13", "Data Offset of a Send begins at 24"),
    "offset-of-response-from-one": ((READ_RESPONSE,), add(offset=1), "3.1-13", "Data Offset of a Read Response begins at 1"),
    "offset-of-last": (MESSAGES, _only_last_size, "3.1-14 2.2.2.2.3-03", "Data Offset is the size of the segment before"),
    "offset-zero": (MESSAGES, put(offset=0), "3.1-14 2.2.2.2.3-03", "Data Offset is always 0"),
    "offset-with-headers": (MESSAGES, _headers_in_offset, "3.1-15 3.1-14", "Data Offset counts headers"),
    "no-end": ((SEND,), flags(off=END), "3.1-07", "End of Message is never set on a Send"),
    "no-end-of-write": ((WRITE,), flags(off=END), "3.1-07", "End of Message is never set on an RDMA Write"),
    "no-end-of-response": ((READ_RESPONSE,), flags(off=END), "3.1-07", "End of Message is never set on a Read Response"),
    "end-on-each": (MESSAGES, flags(on=END), "3.1-07", "End of Message on every segment"),
    "transmit-error-always": (MESSAGES, flags(on=TRANSMIT_ERROR), "3.1-08", "Transmit Error without an error"),
    "transmit-error-on-nop": ((NOP,), flags(on=TRANSMIT_ERROR), "3.1-08", "Transmit Error on a NOP"),
    "transmit-error-on-accept": ((ACCEPT,), flags(on=TRANSMIT_ERROR), "3.1-08", "Transmit Error on Connect Accept"),
    "immediate-inverted": ((SEND,), flags(flip=IMMEDIATE), "3.1-06", "the Immediate Data flag of Sends is inverted"),
    "immediate-missing": ((SEND, WRITE), flags(off=IMMEDIATE), "3.1-06", "the Immediate Data flag is missing"),
    "immediate-on-writes": ((WRITE,), flags(on=IMMEDIATE), "3.1-06", "Immediate Data on every RDMA Write"),
    "immediate-on-nop": ((NOP,), flags(on=IMMEDIATE), "3.1-06", "Immediate Data on a NOP"),
    "immediate-on-read": ((READ_REQUEST, READ_RESPONSE), flags(on=IMMEDIATE), "3.1-06", "Immediate Data on RDMA Read types"),
    "immediate-on-setup": ((REQUEST, ACCEPT), flags(on=IMMEDIATE), "3.1-06", "Immediate Data on CE PDUs"),
    "immediate-swapped": ((SEND, WRITE), _swapped_immediate, "3.1-16 3.1-06 3-01", "Immediate Data little-endian"),
    "number-in-segments": ((SEND, WRITE), later(add(number=1)), "3.1-09 3.1-07 2.2.2.2.3-08",
                           "each segment has a Message Number of its own"),
    "response-number-next": ((READ_RESPONSE,), add(number=1), "3.1-17", "a Read Response has the number of the next request"),
    "response-number-later": ((READ_RESPONSE,), later(add(number=1)), "3.1-17", "later segments of a response have another number"),
    "ack-zero": (ALL, put(ack=0), "3.1-34 3.1-25 3.1-39 3.1-32", "Message ACK is always 0"),
    "ack-nonsense": (ALL, put(ack=0x5A5A5A5A), "3.1-34 3.1-25 3.1-39 3.1-32", "Message ACK is a constant"),
    "ack-not-in-data": ((SEND, WRITE, READ_REQUEST, READ_RESPONSE), put(ack=0x5A5A5A5A), "3.1-39 3.1-34 3.1-32",
                        "Message ACK is valid in NOPs only"),
    "rx-zero": (ALL, put(rx=0), "3.1-21 3.1-26", "Rx Descriptors Posted is always 0"),
    "rx-only-in-nop": (DATA, put(rx=0), "3.1-26 3.1-21", "Rx Descriptors Posted is 0 in data segments"),
    "rx-high": (ALL, add(rx=1), "3.1-21", "Rx Descriptors Posted is one too high"),
    "error-always": ((SEND, NOP), put(error=2), "3.1-55 3.1-34 3.1-35", "VI Descriptor Error in every segment"),
    "error-type-7": ((NOP,), put(error=7), "3.1-52", "VI Error Type 7 (T0: a notice)"),
    "no-rdma-header-in-write": ((WRITE,), _no_rdma_header, "3-05", "no RDMA Header in an RDMA Write"),
    "no-rdma-header-in-request": ((READ_REQUEST,), _no_rdma_header, "3-05", "no RDMA Header in a Read Request"),
    "no-rdma-header-in-response": ((READ_RESPONSE,), _no_rdma_header, "3-05", "no RDMA Header in a Read Response"),
    "rdma-header-last": ((WRITE,), _payload_first, "3-07 3-05 3.2.1-02", "the RDMA Header stands behind the data"),
    "rdma-address-local": ((WRITE,), put(address=0x0001000000001000), "3.2.1-02", "RDMA Address is not the remote one"),
    "rdma-address-of-read": ((READ_REQUEST,), add(address=8), "3.2.1-02", "RDMA Address of a Read Request is 8 too high"),
    "rdma-handle-zero": ((WRITE,), put(handle=0), "3.2.1-03", "the handle of an RDMA Write is 0"),
    "rdma-handle-of-read": ((READ_REQUEST,), put(handle=1), "3.2.1-03", "the handle of a Read Request is 1"),
    "rdma-length-of-segment": ((WRITE,), _length_of_segment, "3.2.1-04", "RDMA Length is that of the segment"),
    "rdma-length-of-read": ((READ_REQUEST,), add(length=1), "3.2.1-04", "a Read Request asks for one byte more"),
    "write-address-of-32-bits": ((WRITE,), _cut_address, "3.2.1-02", "the address of an RDMA Write has 32 bits"),
    "write-handle-of-16-bits": ((WRITE,), _cut_handle, "3.2.1-03 3.2.1-02", "the handle of an RDMA Write has 16 bits"),
    "response-length-one-more": ((READ_RESPONSE,), add(length=1), "3.2.1-06", "RDMA Length of a Read Response is one too high"),
    "rx-old-in-requests": ((READ_REQUEST,), put(rx=0), "3.1-26 3.1-21", "Rx Descriptors Posted is 0 in a Read Request"),
    "rx-old-in-responses": ((READ_RESPONSE,), put(rx=0), "3.1-26 3.1-21", "Rx Descriptors Posted is 0 in a Read Response"),
    "rx-old-in-writes": ((WRITE,), put(rx=0), "3.1-26 3.1-21", "Rx Descriptors Posted is 0 in an RDMA Write"),
    "rx-old-in-later-segments": (MESSAGES, later(put(rx=0)), "3.1-26 3.1-21", "Rx Descriptors Posted is 0 in later segments"),
    "ack-old-in-responses": ((READ_RESPONSE,), put(ack=0x5A5A5A5A), "3.1-39 3.1-34", "Message ACK of a Read Response is invalid"),
    "ack-old-in-requests": ((READ_REQUEST,), put(ack=0x5A5A5A5A), "3.1-39 3.1-34", "Message ACK of a Read Request is invalid"),
    "ack-old-in-writes": ((WRITE,), put(ack=0x5A5A5A5A), "3.1-39 3.1-34", "Message ACK of an RDMA Write is invalid"),
    "read-request-with-offset": ((READ_REQUEST,), put(offset=64), "3.1-13", "Data Offset of a Read Request is not 0"),
    "short-request": ((REQUEST,), _short_ce, "3-06 3.2-01", "no CE Header in Connect Request"),
    "short-accept": ((ACCEPT,), _short_ce, "3-06 3.2-19", "no CE Header in Connect Accept"),
    "calling-empty": ((REQUEST,), of_setup(calling=b""), "3.2-07 2.2.2.2.1-02", "Calling Discriminator left out"),
    "called-empty": ((REQUEST,), of_setup(called=b""), "3.2-08 2.2.2.2.1-02", "Called Discriminator left out"),
    "calling-length-16": ((REQUEST,), _calling_length_16, "3.2-07 2.2.2.2.1-02", "Calling Discriminator Length is always 16"),
    "called-length-16": ((REQUEST,), _called_length_16, "3.2-08 2.2.2.2.1-02", "Called Discriminator Length is always 16"),
    "discriminators-swapped": ((REQUEST,), _swap, "3.2-08 3.2-07 2.2.2.2.1-02", "the Discriminators have changed places"),
    "proposes-its-most": ((REQUEST,), of_setup(mtu=65536), "3.2-13", "MTU proposed is not that of the VI"),
    "proposes-double": ((REQUEST,), _double_mtu, "3.2-13", "MTU proposed is double that of the VI"),
    "accepts-double": ((ACCEPT,), _double_mtu, "3.2-15", "MTU agreed is double the lesser"),
    "no-reliable-flag": ((REQUEST, ACCEPT), attribute(1), "3.2-02", "the Reliable flag is inverted (T0: a notice)"),
    "no-write-flag": ((REQUEST,), attribute(2), "3.2-03", "RDMA Write Enable is inverted (T0: a notice)"),
    "no-read-flag": ((REQUEST,), attribute(4), "3.2-04", "RDMA Read Enable is inverted (T0: a notice)"),
    "no-flow-flag": ((REQUEST,), attribute(8), "3.2-05", "the flow control flag is inverted (T0: a notice)"),
    "peer-flag": ((REQUEST,), attribute(16), "3.2-06", "the peer flag is inverted (T0: a notice)"),
    "offset-of-16-bits": (MESSAGES, _cut_offset, "3.1-14", "Data Offset has 16 bits"),
    "offset-of-20-bits": (MESSAGES, _cut_offset_late, "3.1-14", "Data Offset has 20 bits"),
    "rdma-length-of-16-bits": ((WRITE, READ_REQUEST), _cut_length, "3.2.1-04", "RDMA Length has 16 bits"),
    "reject-without-end-of-header": ((REJECT, NO_MATCH), add(adjust=-20), "3.1-11 3-02 4.3-06 4.3-08",
                                     "Segment Length of a refusal is too short"),
}

#: name: (rows, what it is)
BEHAVIOUR: Dict[str, Tuple[str, str]] = {
    # setup, active
    "no-timestamps": ("2.2.2.2.4-01", "TCP without the timestamp option (a should: a notice)"),
    "connects-by-itself": ("2.2.2.1-03", "VipCreateVi opens a TCP connection"),
    "any-state": ("2.2.2.1-05", "connect calls work with a VI that is not Idle"),
    "connects-to-another-port": ("4.2-01 2.2.2.2.2-12 2.2.2.2.1-03", "TCP goes to a port that is not the reserved one"),
    "connects-elsewhere": ("2.2.2.2.1-01", "TCP goes to another host"),
    "one-source-port": ("2.2.2.2.1-06", "two connections have one source port"),
    "nop-before-request": ("2.2.2.2.2-06 2.2.2.2.2-01", "a NOP comes before the Connect Request"),
    "never-requests": ("2.2.2.2.2-12 4.2-03 4.1-01 2.2.2.2.2-06", "no Connect Request once TCP is established"),
    "requests-twice": ("4.2-03", "two Connect Requests on one TCP connection"),
    "retries-refused": ("4.2-02", "tries again after a refused SYN"),
    "stays-pending": ("2.2.2.2.2-13 4.2-02 4.2-05 4.2-06", "the VI stays in Pending Connect after a failure"),
    "failure-told-as-success": ("2.2.2.2.2-13 4.1-04 4.2-05", "a failed attempt returns VIP_SUCCESS"),
    "no-new-attempt": ("4.2-04", "no new attempt when TCP closes in Pending Accept"),
    "tcp-stays-open-after-reject": ("4.2-05", "TCP stays open after a Connect Reject"),
    "tries-again-after-reject": ("4.2-05", "tries again after a Connect Reject"),
    "reject-told-as-no-match": ("4.1-04", "VIP_NO_MATCH after a Connect Reject"),
    "no-match-told-as-reject": ("4.1-04", "VIP_REJECT after a Connect No Match"),
    "peer-wait-does-not-wait": ("4-05", "VipConnectPeerWait returns while the outcome is open"),
    "timeout-late": ("4.2-06 4-05", "VIP_TIMEOUT comes four seconds late"),
    "tcp-stays-open-after-timeout": ("4.2-06", "TCP stays open after the timeout"),
    "attempts-after-timeout": ("4.2-06", "a new attempt after the timeout"),
    "accept-ignored": ("4.2-07 4.1-04 4.1-01", "VipConnectRequest does not return on a Connect Accept"),
    "agreed-mtu-ignored": ("3.2-16 3.2-14", "the caller sends more than the agreed MTU"),
    "greater-mtu-taken": ("3.2-16", "an agreed value above the proposal is used"),
    "discriminator-of-15": ("2.2.2.2.1-02", "a Discriminator of 16 bytes is refused"),
    "discriminator-of-17": ("2.2.2.2.1-02", "a Discriminator of 17 bytes is taken"),
    "empty-discriminator-refused": ("2.2.2.2.1-02", "an empty Discriminator is refused"),
    "sends-in-pending": ("2.2.2.1-04", "a Send leaves in Pending Connect"),
    "idle-send-succeeds": ("2.2.2.1-04", "a Send posted in Idle completes well"),
    # setup, passive
    "listens-never": ("2.2.2.2.1-03 4.3-01 4.3-02", "the port accepts no TCP connection"),
    "one-connection-at-a-time": ("2.2.2.2.1-04 2.2.2.2.2-03", "only one TCP connection is accepted"),
    "one-wait-only": ("2.2.2.2.1-05", "a second VipConnectWait replaces the first"),
    "matches-anything": ("3.2-09 2.2.2.2.1-05", "any Discriminator matches"),
    "matches-a-prefix": ("3.2-09", "a prefix of a Discriminator matches"),
    "matches-by-length": ("3.2-09", "a Discriminator of the same length matches"),
    "any-length": ("3.2-10", "a Discriminator Length above 16 is taken as 16"),
    "greets": ("4.3-02", "a PDU is sent before the Connect Request"),
    "forty-incoming": ("4.3-04 2.2.2.2.1-03", "behind forty TCP connections that were closed no other is served"),
    "incoming-for-ever": ("4.3-03", "a TCP connection without a request stays open"),
    "incoming-end-not-noticed": ("4.3-11", "the end of TCP in Pending Accept is not noticed"),
    "other-pdu-ignored": ("4.3-05", "a PDU in place of the Connect Request is passed over"),
    "silent-no-match": ("4.3-06 4.3-01", "no Connect No Match, TCP is closed"),
    "reject-as-no-match": ("4.3-06 4.3-01", "Connect Reject where nothing matches"),
    "mute-without-match": ("4.3-06 4.3-01", "no answer where nothing matches"),
    "accept-before-application": ("4.1-02", "Connect Accept before VipConnectAccept"),
    "never-accepts": ("4.3-09 4.1-01", "VipConnectAccept sends nothing"),
    "accepts-twice": ("4.3-09", "two Connect Accepts"),
    "accept-fails": ("4.3-09 4.1-01", "VipConnectAccept does nothing and says VIP_SUCCESS"),
    "accepted-stays-idle": ("4.3-09", "the VI is Idle after VipConnectAccept"),
    "reject-not-sent": ("4.3-08", "VipConnectReject closes TCP without a Connect Reject"),
    "no-match-as-reject": ("4.3-08", "VipConnectReject sends Connect No Match"),
    "tcp-stays-open-after-refusal": ("4.3-06 4.3-08", "TCP stays open after a refusal"),
    "nop-behind-refusal": ("4.3-06 4.3-08", "a NOP behind the refusal"),
    "accepts-with-own-mtu": ("3.2-15", "the agreed MTU is the acceptor's"),
    "accepts-what-is-proposed": ("3.2-15", "the agreed MTU is what was proposed"),
    "tells-called-as-calling": ("3.2-11", "RemoteAddr has the Called Discriminator"),
    "tells-own-host": ("3.2-11", "RemoteAddr has the DUT's own host"),
    "tells-no-attributes": ("3.2-12", "RemoteViAttribs are constant"),
    "tells-own-mtu": ("3.2-12", "RemoteViAttribs have the DUT's own size"),
    "any-attributes": ("2.2.1-06", "a request with another Reliable flag is accepted"),
    "any-version": ("3.1-02", "a Connect Request of another Version is accepted"),
    # peers
    "both-accept": ("4-01 4-02", "the higher peer accepts the other's request too"),
    "nobody-concedes": ("4-01 4-02", "the lower peer refuses the other's request"),
    "lower-wins": ("4-01 4-02", "the lower address wins"),
    "no-match-ends-peer": ("4-04", "a Connect No Match ends a peer's attempts"),
    # connected
    "setup-pdu-ignored": ("2.2.2.2.2-03", "CE PDUs on a connected stream are passed over"),
    "disconnect-leaves-tcp": ("2.2.2.2.2-04 4.2-08 4.3-10", "VipDisconnect leaves TCP open"),
    "tcp-stays-open-after-error": ("2.2.2.2.2-04 2.2.2.2.2-05", "TCP stays open when the VI goes to Error"),
    "end-not-noticed": ("2.2.2.2.2-05", "the end of TCP is not noticed"),
    "reset-not-noticed": ("2.2.2.2.2-05", "a reset of TCP is not noticed"),
    "fin-not-answered": ("2.2.2.2.2-05 4.2-08 4.3-10", "TCP stays half open after the other side's FIN"),
    "stays-connected": ("2.2.2.2.2-05", "the VI stays Connected when TCP is gone"),
    "no-flush": ("2.2.2.2.2-05", "Descriptors stay when TCP is gone"),
    "done-not-marked": ("2.1-02 1-01", "completed Descriptors are not marked done"),
    "second-request-accepted": ("2.2.2.2.2-03", "a second Connect Request is accepted on a connected stream"),
    "sends-flush-receives": ("1-01 2.1-02", "posting a Send flushes the receive queue"),
    # memory
    "source-not-checked": ("2.2.2.1-01", "a deregistered region is sent"),
    "handle-not-checked": ("2.2.2.2.2-09", "an unknown handle reaches some region"),
    "handles-live-on": ("2.2.2.2.2-09 2.2.2.1-01", "a deregistered region can still be reached"),
    "address-not-checked-with-handle": ("2.2.2.2.2-10 2.2.2.1-02", "the address of one region with the handle of another"),
    "end-not-checked": ("2.2.2.2.2-08", "the end of the range is not checked"),
    "one-byte-too-far": ("2.2.2.2.2-08", "one byte beyond the region is taken"),
    "below-not-checked": ("2.2.2.2.2-08", "an address below the region is taken"),
    "read-length-is-signed": ("2.2.2.2.2-08", "the length of a read is taken for one with a sign"),
    "address-wraps": ("2.2.2.2.2-08", "an address wraps at 2^64"),
    "write-without-right": ("2.2.2.2.2-09 2.2.2.2.2-08", "a region without the right is written"),
    "read-without-right": ("2.2.2.2.2-09 2.2.2.2.2-08", "a region without the right is read"),
    # stream and messages
    "half-a-header-lost": ("2.2.2.2.3-07", "a part of a header that stands behind a segment in a piece is lost"),
    "one-segment-a-piece": ("2.2.2.2.3-07", "what stands behind a segment in a piece is lost"),
    "length-not-followed": ("3.1-12", "a Segment Length below the header's size is passed over"),
    "responses-interleaved": ("2.2.2.2.3-10", "two Read Responses are interleaved"),
    "padding-not-told": ("2.2.2.2.5-08", "padding without Transmit Error (a should: a notice)"),
    "transmit-error-ignored": ("3.1-08", "a message with Transmit Error is good"),
    "reads-what-is-gone": ("2.2.2.2.6-01", "a Read Response with bytes of memory that is gone"),
    "surplus-read-dropped": ("2.2.2.2.6-03 2.2.2.2.6-02", "a Read Request beyond the window is dropped in silence"),
    "bad-read-dropped": ("2.2.2.2.2-08 2.2.2.2.2-09 3.1-53", "a Read Request out of bounds is dropped in silence"),
    "read-served-twice": ("2.2.2.2.6-02 3.1-17", "every read is answered twice"),
    "read-window-ignored": ("2.2.2.2.6-04 2.2.2.2.6-05", "more reads than the window (informative: a notice)"),
    "rubbish-ignored": ("3.1-12", "a stream that cannot be parsed stays open"),
    "response-own-number": ("3.1-17", "a Read Response has a number of its own"),
    "read-at-unreliable": ("1-01 2.2.2.2.2-09", "a read at Unreliable Delivery is served"),
    "completes-twice": ("3.1-20 1-01", "a receive Descriptor completes twice"),
    "number-by-two": ("3.1-09", "Message Numbers rise by two"),
    "number-constant": ("3.1-09", "Message Numbers stand still"),
    "number-down": ("3.1-09", "Message Numbers fall"),
    "number-by-three-after-write": ("3.1-09", "two numbers are skipped after an RDMA Write"),
    "number-not-for-reads": ("3.1-09", "the message behind a Read Request has its number"),
    "numbers-unsigned": ("3.1-10", "FFFFFFFFh is not followed by 0"),
    "numbers-not-checked": ("3.1-20", "a repeated number is delivered"),
    "first-number-is-one": ("3.1-10", "the first number has to be 1"),
    "same-number-same-message": ("3.1-18", "a number alone tells the message"),
    "lifo": ("3.1-20 3.1-40", "the newest Descriptor is sent first"),
    "offset-ignored": ("3.1-19", "segments are not checked for gaps"),
    "immediate-not-taken": ("3.1-16 3.1-06", "Immediate Data does not reach the Descriptor"),
    "payload-corrupted": ("2.2.2.1-06 2.2.2.2.3-07", "a byte of each Send received is changed"),
    "no-payload": ("2.2.2.1-06 2.1-01", "Sends carry zeros"),
    "overlong-overflows": ("3.1-53", "a Send that is too long goes on behind its Descriptor"),
    "overlong-is-cut": ("3.1-53 3.2-14", "an overlong Send is cut and good"),
    "mtu-not-kept": ("3.2-14 3.2-16", "more than the agreed MTU is sent and taken"),
    "offset-not-added": ("3.2.1-05", "RDMA Write data all go to RDMA Address"),
    "write-one-further": ("3.2.1-05", "RDMA Write data go one byte further"),
    "rdma-length-ignored": ("3.2.1-07", "RDMA Length is not compared with the payloads"),
    "read-one-further": ("3.2.1-06", "a Read Response begins one byte further"),
    "response-short": ("3.2.1-06", "a Read Response lacks its last byte"),
    "response-length-ignored": ("3.2.1-07", "a Read Response of another length is good"),
    "unknown-response-taken": ("3.1-17", "a response with an unknown number completes a read"),
    "segments-too-long": ("3.1-11 3-02 3.1-14 2.2.2.1-06", "a segment of more bytes than Segment Length can say"),
    "takes-offset-of-16-bits": ("2.2.2.1-06", "Data Offset is taken modulo 2^16"),
    "gathers-backwards": ("2.2.2.1-06", "the segments of a send Descriptor are taken last first"),
    "scatters-into-the-first": ("2.2.2.1-06", "what is received goes on behind the first segment of its Descriptor"),
    "skips-single-bytes": ("2.2.2.1-06 3.1-07", "segments of one byte of a Descriptor are left out"),
    "rdma-beyond-mtu": ("3.2-14 3.2-16", "an RDMA Write or Read beyond the agreed MTU is sent"),
    "written-beyond-mtu": ("3.2-14", "an RDMA Write beyond the agreed MTU is taken"),
    "mixes-what-waits": ("2.2.2.2.3-08", "segments of two messages that wait are sent by turns"),
    "nop-inside": ("2.2.2.2.3-08", "a NOP stands behind each segment of a message (V80: the other reading)"),
    "rx-goes-on": ("3.1-21", "Rx Descriptors Posted of a second connection goes on from the first"),
    "credits-go-on": ("2.2.1-03 3.1-23", "a second connection has used the credits of the first"),
    "credit-only-in-nop": ("2.2.1-03 3.1-26", "a count in a data segment brings no credit"),
    "credit-not-in-responses": ("2.2.1-03", "a count in a Read Response brings no credit"),
    "answer-tells-own": ("1-01", "RemoteViAttribs of VipConnectRequest are the caller's own"),
    "answer-tells-proposal": ("1-01", "MaxTransferSize of these is what was proposed"),
    "no-ipv6-server": ("2.2.2.2.1-03 4.3-02", "no TCP is accepted over IPv6"),
    "immediate-always": ("3.1-06", "what is received always has Immediate Data"),
    "asks-at-unreliable": ("1-01", "an RDMA Read is asked for at Unreliable Delivery"),
    "keeps-in-error": ("1-01", "a Descriptor posted in the Error state stays"),
    "eight-bytes-match": ("3.2-09", "only eight bytes of a Discriminator are compared"),
    "stops-at-is-code": ("3.1-51", "an IS Error Code with No Error breaks the connection"),
    "immediate-zero-is-none": ("3.1-06 3.1-16", "Immediate Data of value 0 is sent as none"),
    "immediate-zero-not-taken": ("3.1-06 3.1-16", "Immediate Data of value 0 does not reach the Descriptor"),
    "immediate-of-16-bits": ("3.1-06 3.1-16", "Immediate Data has 16 bits"),
    "immediate-of-writes-not-taken": ("3.1-06 3.1-16", "Immediate Data of an RDMA Write does not reach a Descriptor"),
    "writes-not-acked": ("3.1-25 3.1-34", "an RDMA Write is never acknowledged"),
    "agreed-size-refused": ("3.2-16 3.2-14 2.2.2.1-06", "a message of just the agreed size is refused"),
    "empty-send-stays": ("2.2.2.1-06", "a Send without data completes and is not sent"),
    "empty-rdma-write-stays": ("2.2.2.1-06", "an RDMA Write without data completes and is not sent, though it has Immediate Data"),
    "send-passes-write": ("3.1-20", "a Send goes before an RDMA Write that was posted first"),
    "window-never-freed": ("2.2.2.1-06 2.2.2.2.6-04 3.1-24", "Read Requests are counted, not those under way"),
    "window-of-its-own": ("2.2.2.2.6-04 2.2.2.2.6-05", "the requester keeps to its own RDMA Read Window (informative: a notice)"),
    "size-of-the-first-connection": ("3.2-14 3.2-16 2.2.2.1-06", "a second connection has the agreed size of the first"),
    "numbers-of-all-vis": ("3.1-09", "all VIs share one count of Message Numbers"),
    "credits-of-all-vis": ("3.1-23 2.2.1-03 3.1-24", "a Send of one VI takes the credit of another"),
    "ack-in-sends-and-nops-only": ("3.1-38 3.1-40", "an ACK in an RDMA PDU completes nothing"),
    "rights-of-the-first-vi": ("2.2.2.2.2-09 2.2.2.2.2-08", "RDMA Write Enable of another VI decides"),
    "read-address-of-32-bits": ("3.2.1-02", "the address of a Read Request has 32 bits"),
    "read-handle-of-16-bits": ("3.2.1-03 3.2.1-02", "the handle of a Read Request has 16 bits"),
    "full-buffer-is-overlong": ("2.2.2.1-06 3.1-53", "a Send that fills its receive buffer is too long"),
    "newest-receive-first": ("3.1-20 2.2.2.1-06 1-01", "the newest receive Descriptor is filled first"),
    "empty-queue-told-otherwise": ("1-01", "VipErrorCallback has another code where a Send finds no Descriptor"),
    "no-error-callback": ("2.2.2.2.2-05 1-01", "the application is not told of an error"),
    "matches-whatever-the-case": ("3.2-09", "Discriminators are compared as text of either case"),
    "matches-up-to-a-zero": ("3.2-09", "Discriminators are compared up to a zero byte"),
    "timeout-ends-a-connection": ("4.2-08 4.2-06 2.2.2.2.2-04 4.2-07",
                                  "the time of VipConnectRequest ends the connection that it has made"),
    "ended-wait-matches": ("4.3-06", "a VipConnectWait that has timed out still matches"),
    "deaf-after-a-close": ("4.3-01", "the port does not listen once a connection was closed"),
    "empty-wait-matches-anything": ("3.2-09", "a VipConnectWait with an empty Discriminator matches any"),
    "write-error-told-as-read-error": ("1-01", "VIP_ERROR_RDMAR_PROT for an RDMA Write"),
    "unreliable-ends-on-errors": ("1-01", "a message that is too long, or finds no Descriptor, ends an unreliable connection"),
    "unreliable-ends-on-bad-writes": ("1-01", "an RDMA Write that is not allowed ends an unreliable connection"),
    "wait-for-ever": ("1-01", "VipConnectWait does not end with its time"),
    # what one message, VI or connection leaves to the next
    "offset-goes-on": ("3.1-13", "Data Offset of a message begins where the one before ended"),
    "half-a-segment-stays": ("2.2.2.2.2-03 4.2-07 4.3-07", "a second connection begins with what the first left unread"),
    "half-a-message-stays": ("2.2.2.1-06 2.2.2.2.2-03", "a second connection goes on with the message that the first left open"),
    "reads-of-the-first-connection": ("2.2.2.1-06 2.2.2.2.6-06 3.1-24", "reads of a first connection stay in the window"),
    "disconnect-keeps-receives": ("1-01", "VipDisconnect leaves receive Descriptors posted"),
    "disconnect-keeps-sends": ("1-01 2.2.2.1-04", "VipDisconnect leaves send Descriptors posted"),
    "error-sticks": ("1-01 2.2.2.2.2-04", "VipDisconnect leaves a VI in Error that has reported one"),
    "window-of-all-vis": ("2.2.2.2.6-05 2.2.2.1-06 3.1-24", "reads of all VIs count against the window of each"),
    "error-ends-all-vis": ("2.2.2.2.2-03", "an error of one VI ends the connections of all"),
    "disconnect-ends-all-vis": ("2.2.2.2.2-03", "VipDisconnect of one VI ends the connections of all"),
    "half-read-is-good": ("2.2.2.2.2-05 1-01", "a read that has some of its data completes well when TCP is gone"),
    "flushed-as-good": ("2.2.2.2.2-05", "what is posted completes well when TCP is gone"),
    # what completes when, and as what
    "response-ends-what-is-around": ("2.2.2.2.3-09 3.1-18", "the end of a Read Response ends the message that it stands in"),
    "ends-by-count": ("3.1-07", "an RDMA message ends with its last byte, and not with End of Message"),
    "full-buffer-ends": ("3.1-07 3.1-34", "a Send ends when its Descriptor is full, and not with End of Message"),
    "responses-only-between": ("2.2.2.2.3-09 3.1-18", "a Read Response inside a message ends the connection"),
    "empty-read-not-answered": ("3.2.1-06", "a read of no bytes is not answered"),
    "empty-response-not-taken": ("3.1-41", "a response of no bytes completes nothing"),
    "immediate-counts-in-length": ("2.2.2.1-06 3.1-06", "the length received counts Immediate Data"),
    "told-length-of-16-bits": ("2.2.2.1-06", "the length received has 16 bits"),
    "writes-consume-receives": ("2.2.2.1-06 3.1-06", "an RDMA Write without Immediate Data takes a receive Descriptor"),
    "write-completes-early": ("3.1-07", "an RDMA Write with Immediate Data completes its Descriptor at the first segment"),
    "send-completes-early": ("3.1-07", "a Send completes its Descriptor at the first segment"),
    "read-completes-early": ("3.1-41", "a read completes at the first segment of its response"),
    "unreliable-waits-for-ack": ("3.1-45", "at Unreliable Delivery a Send completes when it is acknowledged"),
    "acks-responses": ("3.1-34", "a Read Response is acknowledged by its number"),
    "reads-consume-credit": ("3.1-24", "a Read Request waits for credit"),
    "bad-read-reported-as-descriptor": ("3.1-53", "a read that is not allowed is reported as a Descriptor error"),
    "one-byte-over-descriptor": ("3.1-53 2.2.2.1-06", "a Send of one byte more than its Descriptor is good"),
    "one-byte-over-mtu": ("3.2-14 3.2-16", "a Send of one byte more than the MTU is taken"),
    "gathers-from-the-beginning": ("2.2.2.1-06", "the offset of a segment of a send Descriptor is passed over"),
    "scatters-from-the-beginning": ("2.2.2.1-06", "the offset of a segment of a receive Descriptor is passed over"),
    "segments-beyond-16-lost": ("2.2.2.1-06 3.1-07 3.1-11", "a Descriptor has 16 segments at most, the others are lost"),
    # peers again
    "peers-compare-backwards": ("4-02 4-01", "addresses are compared from their last byte"),
    "peer-gives-up": ("4-05 4-04", "a peer tries three times"),
    "peer-takes-any-size": ("3.2-15", "a peer agrees to what is proposed"),
    # credits
    "rx-by-two": ("3.1-21", "a receive Descriptor counts twice"),
    "rx-saturates": ("3.1-22", "the count stops at 65 535"),
    "rx-wraps-at-256": ("3.1-22 3.1-21", "the count wraps at 256"),
    "one-credit-too-many": ("3.1-23 2.2.1-03", "one message more than the credits"),
    "credit-ignored": ("3.1-23 2.2.1-03", "no flow control although agreed"),
    "write-with-immediate-free": ("3.1-23", "an RDMA Write with Immediate Data needs no credit"),
    "everything-consumes": ("3.1-24", "an RDMA Write without Immediate Data waits for credit"),
    "flow-control-by-one-flag": ("3.1-24 3.1-23", "one flag alone turns flow control on"),
    "no-count-nop": ("3.1-28 3.1-27", "no NOP tells the count"),
    "no-count-nop-when-empty": ("3.1-28 3.1-27", "no NOP tells the count when the other side has no credit"),
    "nop-too-late": ("3.1-28 3.1-25", "NOPs come later than the bound"),
    # acknowledgements
    "no-ack-while-a-send-waits": ("3.1-25", "no NOP brings an ACK while a Send waits for credit"),
    "no-ack-while-unacknowledged": ("3.1-25", "no NOP brings an ACK while an own message has none"),
    "no-ack-nop": ("3.1-25", "no NOP brings an ACK"),
    "ack-lags": ("3.1-34 3.1-25", "Message ACK is one too low"),
    "ack-ahead": ("3.1-34", "Message ACK is one too high"),
    "ack-before-whole": ("3.1-34 3.1-36", "Message ACK at the first segment"),
    "ack-before-completion": ("3.1-37", "ACK before the completion (a should: a notice)"),
    "acks-every-other": ("3.1-25 3.1-34", "only every other message is acknowledged"),
    "ack-only-in-nop": ("3.1-38 3.1-40", "an ACK in a data segment completes nothing"),
    "ack-not-in-nop": ("3.1-38 3.1-40", "an ACK in a NOP completes nothing"),
    "ack-not-cumulative": ("3.1-40", "an ACK completes just its own message"),
    "acks-of-16-bits": ("3.1-40", "an ACK is compared in 16 bits"),
    "any-ack-completes": ("3.1-40", "any ACK completes a Send"),
    "completes-when-sent": ("3.1-40", "Sends complete before the ACK at Reliable Reception"),
    "read-completes-by-ack": ("3.1-41", "an ACK completes a read"),
    "read-completes-when-sent": ("3.1-41", "a read completes when it is sent"),
    # errors
    "errors-not-reported": ("3.1-53 3.1-42 3.1-33", "errors are not reported"),
    "report-names-next": ("3.1-35 3.1-48", "a report names the message behind"),
    "report-names-last-good": ("3.1-35 3.1-48", "a report names the message before"),
    "report-without-type": ("3.1-53 3.1-43", "a report has no VI Error Type"),
    "protection-reported-as-descriptor": ("3.1-53", "a protection error is reported as a Descriptor error"),
    "erroneous-is-good": ("3.1-53", "an overlong Send completes well"),
    "survives-errors": ("2.2.2.2.2-04", "the connection goes on after an error"),
    "error-is-ignored": ("3.1-54", "an error report is taken for an ACK"),
    "reports-only-in-nops": ("3.1-54", "an error report in a Send is passed over"),
    "report-of-a-read-ignored": ("3.1-54", "an error report that names a read is passed over"),
    "error-types-swapped": ("3.1-54", "the two VI errors are exchanged"),
    "error-becomes-transport": ("3.1-54", "a VI error becomes VIP_STATUS_TRANSPORT_ERROR"),
    "reported-is-flushed": ("3.1-54", "the Descriptor of a report is flushed only"),
    "behind-the-error-is-good": ("3.1-44 3.1-54", "what stands behind an error completes well"),
    "is-code-is-error": ("3.1-51", "an IS Error Code is taken for an error"),
    "goes-on-after-report": ("3.1-54 3.1-44", "the VI stays Connected after an error report"),
    "unreliable-minds-errors": ("3.1-56", "an error report ends an unreliable connection"),
    # what another end may do
    "immediate-by-value": ("3.1-06", "the field of Immediate Data counts without its flag"),
    "security-refused": ("3.2-18 2.2.1-04 4.3-07", "a request with Security Information is refused"),
    "whole-field-matched": ("3.2-09", "what stands behind a Discriminator is matched as well (V46)"),
    "short-refusal-is-rubbish": ("4.1-04 4.2-05", "a refusal without CE Header is not understood (V08)"),
    "responds-with-the-first-read": ("3.2.1-06", "every read is answered from the address of the first"),
    "peer-count-no-wrap": ("2.2.1-03 3.1-22", "the other end's count does not wrap"),
    "peer-count-of-8-bits": ("2.2.1-03 3.1-22", "the other end's count has 8 bits"),
    "sends-the-last-immediate": ("3.1-06", "Immediate Data are sent again with the next message"),
    "tells-the-last-immediate": ("3.1-06", "Immediate Data are told again with the next message"),
    "boundary-byte-lost": ("2.2.2.1-06", "the last byte before the end of a segment of a receive Descriptor is lost"),
    "role-sticks": ("4.2-01", "a VI that was called cannot call"),
    "cancel-leaves-tcp": ("4.2-05 2.2.2.2.2-04", "VipDisconnect in Pending Accept leaves TCP open"),
    "responses-consume-credit": ("3.1-24", "a Read Response waits for credit"),
    "ack-before-placed": ("3.1-36 3.1-07", "ACK at the last segment, and the bytes are placed later"),
    "second-read-lost": ("2.2.2.2.6-03 3.2.1-06", "a read that comes while another is answered is lost"),
    "rest-of-writes-lost": ("3.2.1-05", "of an RDMA Write only the first segment is placed"),
    "close-without-flush": ("2.2.2.2.2-05", "receives stay posted when the other end closes"),
    "ends-on-empty-segment": ("2.2.2.1-06 3.1-34 3.2.1-05", "a segment without data ends a message"),
    # what is under way when a connection begins or ends, or when nothing can be sent
    "waiting-sends-hold-tcp": ("2.2.2.2.2-04", "VipDisconnect leaves TCP open while a Send waits for credit"),
    "reads-hold-tcp": ("2.2.2.2.2-04", "VipDisconnect leaves TCP open while a read has no answer"),
    "unacked-hold-tcp": ("2.2.2.2.2-04", "VipDisconnect leaves TCP open while a message is not acknowledged"),
    "half-sent-holds-tcp": ("2.2.2.2.2-04", "VipDisconnect leaves TCP open while a message is half sent"),
    "fin-with-reads-not-noticed": ("2.2.2.2.2-05", "the other end's FIN is not noticed while a read has no answer"),
    "fin-in-message-not-noticed": ("2.2.2.2.2-05", "the other end's FIN is not noticed inside a message"),
    "fin-with-sends-not-noticed": ("2.2.2.2.2-05", "the other end's FIN is not noticed while a Send is posted"),
    "responses-not-while-sending": ("3.1-41", "a Read Response that comes inside a message of its own is lost"),
    "behind-accept-lost": ("2.2.2.2.3-07", "what comes behind a Connect Accept in one piece is lost"),
    # of the Guide, and of numbers
    "write-told-as-read": ("1-01", "an RDMA Write that completes names the operation of a read"),
    "address-checked-in-32-bits": ("2.2.2.2.2-08", "the upper half of an RDMA Address is not looked at"),
    "handle-checked-in-16-bits": ("2.2.2.2.2-09", "the upper half of a memory handle is not looked at"),
    "response-length-of-the-rest": ("3.2.1-06", "RDMA Length of a Read Response falls with each segment"),
    "read-told-as-send": ("1-01", "an RDMA Read that completes is called a Send, which has no name"),
    "send-told-as-write": ("1-01", "a Send that completes names the operation of an RDMA Write"),
    "receive-told-as-write": ("1-01", "a receive that completes names the operation of an RDMA Write"),
    "error-told-of-the-first-vi": ("1-01", "VipErrorCallback names the first VI"),
    "numbers-of-16-bits": ("3.1-09", "Message Numbers rise in their lower 16 bits only"),
    "proposal-is-signed": ("3.2-15", "a proposal of 2^31 or more is taken for less than the own size"),
    # setup
    "new-tcp-new-time": ("4.2-06", "the time of VipConnectRequest begins anew with each TCP connection"),
    "peer-matches-anything": ("3.2-09", "a peer takes a request with any Discriminator"),
    "peer-takes-any-attributes": ("2.2.1-06", "a peer takes a request of another reliability"),
    # later segments
    "later-writes-not-checked": ("2.2.2.2.2-09 2.2.2.2.2-10", "the RDMA Header of a later segment of an RDMA Write is not checked"),
    "later-errors-only-close": ("3.1-53", "an error in a later segment closes TCP without a report"),
    "write-without-receive-is-good": ("3.1-53", "an RDMA Write with Immediate Data that finds no Descriptor is good"),
    # more of what goes to the wrong place, or not at all
    "answers-the-oldest": ("4.3-09 2.2.2.2.1-04", "VipConnectAccept and VipConnectReject answer the oldest request"),
    "sends-on-the-first-vi": ("2.2.2.2.3-04 2.2.2.2.2-03", "a Send leaves on the connection of another VI"),
    "fills-the-first-vi": ("2.2.2.2.2-03", "a Send fills a Descriptor of another VI"),
    "rx-counts-sends": ("3.1-21", "Rx Descriptors Posted counts send Descriptors as well"),
    "empty-send-lost": ("2.2.2.1-06", "a Send without data completes no Descriptor"),
    "empty-not-acked": ("3.1-25 3.1-34", "a message without data is not acknowledged"),
    "many-segments-not-acked": ("3.1-25 3.1-34", "a Send of several segments is not acknowledged"),
    "told-length-is-zero": ("2.2.2.1-06", "the length received is 0"),
    "size-of-the-last-connection": ("3.2-16", "the size agreed last is that of every VI"),
    "memory-goes-with-the-connection": ("2.2.2.2.2-09", "a second connection of a VI does not know memory of before"),
    "no-ack-behind-a-read": ("3.1-25 3.1-34", "no NOP brings an ACK once a read was served"),
    "nothing-behind-an-error": ("1-01", "at Unreliable Delivery nothing is received behind a message in error"),
    "gathers-by-offset": ("2.2.2.1-06", "the segments of a send Descriptor are taken in the order of their offsets"),
    "wait-ends-the-next": ("1-01", "the time of a VipConnectWait that has returned ends the next one"),
    "oldest-wait-matches": ("4.3-07 2.2.2.2.1-05", "a request that matches any VipConnectWait reaches the oldest"),
    "number-zero-refused": ("3.1-10 3.1-09", "a message with the number 0 is a breach"),
    "timeout-early": ("4.2-06", "VIP_TIMEOUT comes in half of the time"),
    "wait-ends-early": ("1-01", "VipConnectWait ends in half of its time"),
    "rejected-stays-pending": ("4.2-05", "the VI stays in Pending Connect after a Connect Reject"),
    "no-ipv6-client": ("2.2.2.2.1-02 4.2-01", "no TCP is asked for over IPv6"),
    # what is left of one attempt, or of one VI's agreement, for the next
    "wait-ends-the-oldest": ("4.3-06", "the time of a VipConnectWait ends the one that came first"),
    "asks-behind-a-cancel": ("4.2-08 2.2.2.2.2-04", "a Connect Request on TCP that comes behind VipDisconnect"),
    "half-an-answer-stays": ("4.2-04", "what came of an answer on one TCP connection counts on the next"),
    "flow-control-of-the-first-connection": ("3.1-23 3.1-24 2.2.1-03", "a second connection has the flow control of the first"),
    "peer-opens-another": ("4-01", "the lower peer goes on asking for TCP though it is connected"),
    "peer-told-own-size": ("1-01", "RemoteViAttribs of VipConnectPeerWait are the peer's own"),
    "accept-lengths-16": ("3.2-19", "both Discriminator Lengths of Connect Accept are 16"),
    "reads-pass-a-send": ("3.1-20", "a read goes before a Send that waits for credit"),
    "empty-receive-refused": ("2.2.2.1-06", "a receive Descriptor without segments is an error"),
    "any-right-will-do": ("2.2.2.2.2-09", "memory that may be read can be written, and the other way round"),
    "write-not-enabled-taken": ("2.2.2.2.2-09 2.2.2.2.2-08", "an RDMA Write to a VI without RDMA Write Enable is taken"),
    "read-not-enabled-taken": ("2.2.2.2.2-09 2.2.2.2.2-08", "a read from a VI without RDMA Read Enable is served"),
}

#: What is no VI/TCP at all.
DEGENERATE: Dict[str, Tuple[str, str]] = {
    "mute-wire": ("dut-protocol", "nothing leaves, nothing is heard"),
    "closes-at-once": ("dut-protocol", "every stream is accepted and closed"),
    "echoes": ("dut-protocol", "every stream comes back"),
    "nops-for-ever": ("dut-protocol", "every stream brings NOPs, nothing else"),
    "same-answer": ("dut-protocol", "every call succeeds, nothing is done"),
}


class Faults:
    """The mistake in force, if there is one."""

    def __init__(self, name: Optional[str] = None) -> None:
        if name is not None and name not in listing():
            raise ValueError(f"--fault {name}: no such fault, see --list-faults")
        self.name = name

    def is_on(self, name: str) -> bool:
        """Whether this mistake is made."""
        return self.name == name

    def bytes_of(self, segment: Segment) -> bytes:
        """The bytes of a segment, with the mistake in them."""
        if self.name in WIRE:
            kinds, edit, _, _ = WIRE[self.name]
            if segment.kind in kinds:
                edit(segment)
        return segment.pack()

    def plain_send(self) -> Segment:
        """A Send out of place."""
        return Segment(SEND, flags=END)


def listing() -> Dict[str, Tuple[str, str]]:
    """Every fault: its rows and what it is."""
    def full(rows: str) -> str:
        return " ".join(row if row == "dut-protocol" else f"VITCP-{row}" for row in rows.split())

    found = {name: (rows, words) for name, (_, _, rows, words) in WIRE.items()}
    return {name: (full(rows), words) for name, (rows, words) in {**found, **BEHAVIOUR, **DEGENERATE}.items()}
