"""What the draft leaves to an implementation: every choice, its values and why they are legal."""

from __future__ import annotations

from typing import Dict, Iterable, Tuple

N = "NUMBER"  # a value written as a number: NUMBER:lowest:highest:default

#: name: (values, the default first; why each is legal). "other reading": the suite marks a run with it `interpretation`.
CHOICES: Dict[str, Tuple[str, str]] = {
    # Segments
    "segment": (f"{N}:1:65495:1400", "payload bytes of a segment (2.2.2.2.3: any division)"),
    "first_number": (f"{N}:0:4294967295:4096", "the first Message Number (3.1)"),
    "refusal_header": ("full|short", "Connect Reject and Connect No Match with a CE Header or without (V08)"),
    "rdma_header": ("every|first", "RDMA Header in each segment or in the first (V10; first is the other reading)"),
    "rdma_address": ("constant|advancing", "RDMA Address of later segments (V10; advancing is the other reading)"),
    "response_header": ("echo|zero|arbitrary", "address and handle of a Read Response (V11)"),
    "request_end": ("set|clear", "End of Message on a Read Request (V12; clear draws a notice)"),
    "filler": ("previous|zero|arbitrary", "Message ACK before anything was received (V16)"),
    "nop_number": ("free|counted", "a NOP takes no Message Number, or takes one (V17; counted is the other reading)"),
    "ce_number": ("free|counted", "a CE PDU takes no Message Number, or takes one (V17; counted is the other reading)"),
    "count": ("one|each-type", "one count of Message Numbers or one for each type (V18; the second is the other reading)"),
    "immediate": ("all|last|first", "segments that carry Immediate Data (V19; first is the other reading)"),
    "end_of_nop": ("set|clear", "End of Message on NOP and CE PDUs (V60)"),
    "interleave": ("no|yes", "segments of a Read Response between those of a message (2.2.2.2.3)"),
    # Credits and acknowledgements
    "flow_control": ("yes|no", "Descriptor Flow Control Enabled (3.2)"),
    "nop": ("eager|needed", "a changed count is told at once, or when the other side has no credit left (V20; may draw a notice)"),
    "nop_delay": (f"{N}:0:900000:0", "microseconds until a NOP is sent (V20: within the bound)"),
    "first_count": ("setup|after", "the count in CE PDUs, or only after them (V23; after is the other reading)"),
    "early_posts": ("counted|left-out", "Descriptors posted before the connection count (V55; left-out draws a notice)"),
    "read_ack": ("validated|answered|later", "when a Read Request is acknowledged (V64)"),
    "delivery_completes": ("acknowledged|sent", "when Sends complete at Reliable Delivery (V15)"),
    "send_behind_read": ("passes|waits", "a Send behind a read at Reliable Reception (V77)"),
    "is_code": (f"{N}:0:255:0", "IS Error Code beside a VI error (V49)"),
    "read_window": (f"{N}:0:65535:4", "RDMA Read Window that is offered (V24)"),
    "surplus": ("served|closed", "what happens to Read Requests beyond it (V24)"),
    "no_window": ("hold|error", "a read towards a peer whose window is 0 (V69)"),
    # Setup
    "bad_version": ("close|reject|no-match", "answer to another Version (V02)"),
    "failed_state": ("idle|error", "the VI after VIP_NOT_REACHABLE: Idle (4.2), or Error (VI-DG 3.3.4, V57)"),
    "gone_in_pending": ("refused|connects", "VipConnectAccept when TCP has gone (V59; connects is the other reading)"),
    "long_discriminator": ("VIP_INVALID_PARAMETER|VIP_ERROR_RESOURCE", "what 17 bytes get (V46)"),
    "overlong": ("error|lost", "a Send that is too long at Unreliable Delivery (VI-ARCH 2.5.1)"),
    "greater_mtu": ("own|close", "an Accept with more than was proposed (V26)"),
    "zero_mtu": ("accept|reject|close", "a proposal of 0 (V27)"),
    "compare": ("bytes|text", "how peers compare addresses (V28; text may be the other reading)"),
    "higher_peer": ("close|reject|no-match", "what the higher peer does with the other's request (V30)"),
    "lower_peer": ("close|wait", "what the lower peer does with its own (V30)"),
    "peer_match": ("remote|crosswise", "which Discriminators of peers are compared (V62)"),
    "peer_refused": ("retry|end", "a refused SYN of a peer (V63)"),
    "retry_us": (f"{N}:10000:20000000:250000", "interval of a peer's attempts (V33)"),
    "accept_values": ("acceptor|swapped",
                      "Discriminators in an Accept echo the request, or are the acceptor's (V47; other reading)"),
    "reestablish": ("yes|no", "a new attempt when TCP closes in Pending Accept (V32; no is the other reading)"),
    "listen": ("create|wait", "listening begins with VipCreateVi or with VipConnectWait (V35; wait is the other reading)"),
    "mismatch": ("stay|reject",
                 "attributes differ: the request stays, or Connect Reject at once (V36; reject is the other reading)"),
    "extra_in_pending": ("later|at-once", "a PDU in Pending Accept is looked at after the Accept, or at once (V72)"),
    "tcp_failure": ("VIP_NOT_REACHABLE|VIP_TIMEOUT|VIP_NO_MATCH", "the VIPL result of a TCP failure (V57)"),
    # Errors and ends
    "close": ("fin|reset", "how a stream is closed (V43)"),
    "swapped": ("error|taken", "segments of a message in another order (V41)"),
    "breach": ("close|report", "a rule breach on a reliable connection is reported first, or not (V67)"),
    "conn_lost": ("told|silent", "VIP_ERROR_CONN_LOST where the other end closes (V78; silent is the other reading)"),
    "behind_discriminator": ("zeros|rubbish", "what stands behind a Discriminator (V46; rubbish is the other reading)"),
    "ack_at_delivery": ("number|arbitrary", "Message ACK at Reliable Delivery (V14; arbitrary is the other reading)"),
    "completion_order": ("queue|processing", "a Send completes before the read that it has passed, or behind it (VI-ARCH 6.3.1.1)"),
    "one_at_a_time": ("no|yes", "a message waits for the ACK of the one before it, at the reliable levels (V79)"),
    "response_delay": (f"{N}:0:900000:0", "microseconds until a Read Response begins"),
    "send_delay": (f"{N}:0:900000:0", "microseconds from VipPostSend until it is taken up (2.1: asynchronously)"),
    "pace": (f"{N}:0:100000:0", "microseconds between two stream.data (2.2.2.2.3: TCP decides)"),
    "police": ("no|yes", "a NOP inside a message or a Send without credit ends the connection (2.2.2.2.3, V60, 3.1)"),
    "lost": ("specific|both|both-later", "VIP_ERROR_CONN_LOST beside a specific code (V75)"),
    "after_failure": ("keep|flush", "receives after a failed connect (V76)"),
    # The DUT protocol
    "state_events": ("yes|no", "state notifications"),
    "cut": (f"{N}:1:30000:30000", "bytes in a stream.data (any cut)"),
    "clock_next": ("yes|no", "the clock.next method and next_us"),
}


class Choices:
    """The values in force; a wrong name or value is a ValueError that says what is right."""

    def __init__(self, settings: Iterable[str] = ()) -> None:
        self._values = {name: _default(values) for name, (values, _) in CHOICES.items()}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if name not in CHOICES or not equals:
                raise ValueError(f"--choose {setting}: no such choice, see --list-choices")
            if not _legal(CHOICES[name][0], value):
                raise ValueError(f"--choose {setting}: {name} takes {shown(CHOICES[name][0])}")
            self._values[name] = value

    def __call__(self, name: str) -> str:
        return self._values[name]

    def number(self, name: str) -> int:
        """The value of a choice that is a number."""
        return int(self._values[name])

    def yes(self, name: str) -> bool:
        """Whether a yes/no choice is yes."""
        return self._values[name] == "yes"


def shown(values: str) -> str:
    """The values of a choice for people: the default first."""
    if not values.startswith(N):
        return values
    _, low, high, default = values.split(":")
    return f"{default}|{low}..{high}"


def _default(values: str) -> str:
    return values.rsplit(":", 1)[1] if values.startswith(N) else values.split("|")[0]


def _legal(values: str, value: str) -> bool:
    if not values.startswith(N):
        return value in values.split("|")
    _, low, high, _ = values.split(":")
    return value.isascii() and value.isdigit() and int(low) <= int(value) <= int(high)
