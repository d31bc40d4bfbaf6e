"""Choices that the standard leaves open, made by the reference port: the same words as in the bank of broken devices.

Where an erratum tolerates two readings, both are here. The independent endpoint has choices of its own
(harness/tests/independent/choices.py), but no RDMA, no reliable levels and no class 2.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from .bank.device import BankDut
from .bank.language import understand
from .odd import LateDut

_OURS, _THEIRS = ":if(Exchange_Context=0)", ":if(Exchange_Context=1)"
_KNOWN, _ASSIGNED = ":if(FCVI_HANDLE!=0xffffffff)", ":if(RX_ID!=0xffff)"
_TO_US = "SEND_RQST,WRITE_RQST,READ_RQST,SEND_RESP,WRITE_RESP,READ_RESP,CONNECT_RESP2,CONNECT_RESP3,DISCONNECT_RQST,DISCONNECT_RESP"

_IUS = "@rqst,@resp,@setup,@disc"


def _delays(delay_us: int, kinds: str) -> dict[str, int]:
    return dict.fromkeys(kinds.split(), delay_us)


@dataclass
class Choice:
    """One legal choice: the clause or erratum that leaves it open, what the device does, what its PICS says then."""

    clause: str
    how: str = ""
    pics: dict[str, Any] = field(default_factory=dict)
    delay_us: dict[str, int] = field(default_factory=dict)
    port: dict[str, Any] = field(default_factory=dict)  # members of struct fcvi_port_config
    whole_payload: bool = False  # edits the connect payload beyond its first 256 bytes: not for small frames


CHOICES: dict[str, Choice] = {
    # frames and Sequences
    "frames-256": Choice("E44", "config receive_size=256"),
    "frames-1024": Choice("5.8.7", "config receive_size=1024"),
    "one-iu-a-frame": Choice("6.2.1", "out @data ius"),
    "offset-in-empty": Choice("E19", "out READ_RQST,@ack,CONNECT_RESP2,CONNECT_RESP3,@disc Relative_Offset_Present=1 Parameter=0"),
    "resp3-initiative": Choice("E16", "out CONNECT_RESP3 Sequence_Initiative=1"),
    "seq-id": Choice("5.5", "out @rqst,@resp,@setup,@disc SEQ_ID=^0xc0"),
    "ox-id": Choice("5.4", f"out *{_OURS} OX_ID=^0xa00; in *{_THEIRS} OX_ID=^0xa00; in BA_ACC{_THEIRS} BA_ACC.BA_OX_ID=^0xa00"),
    "no-rx-id": Choice("FC-FS", "out SEND_RESP,WRITE_RESP,READ_RESP RX_ID=0xffff"),
    "ius-of-100-bytes": Choice("5.2.1", port={"iu_size": 100}),
    "network-header": Choice("5.8.5", f"config receive_size=1024; in PLOGI told-size; out {_IUS} network"),
    "network-header-first": Choice("5.8.5", f"config receive_size=1024; in PLOGI told-size; out {_IUS}:first network"),
    "priority": Choice("FC-FS", f"out {_IUS} Priority_Enable=1 PREF=1 CS_CTL_OTHER=0x24"),
    "ack-0": Choice("FC-FS", port={"ack_0": True}),
    "one-frame-of-credit": Choice("FC-FS", port={"end_to_end_credit": 1}),
    # values of its own
    "handle": Choice("5.9.2", "out CONNECT_RQST:first CONN.FCVI_RQST_HANDLE=^0x5a0000; "
                     "out CONNECT_RESP1:first:if(FCVI_RESP_HANDLE!=0xffffffff) CONN.FCVI_RESP_HANDLE=^0x5a0000; "
                     f"in {_TO_US}{_KNOWN} FCVI_HANDLE=^0x5a0000"),
    # Connection IUs
    "connect-info": Choice("5.9.4.4", pics={"connect_info": True}, port={"connect_info": True}),
    "resp3-is-message-0": Choice("F", port={"resp3_is_message_0": True}),
    "word-84": Choice("E10", "out CONNECT_RQST,CONNECT_RESP1 ATTRS_WORD_84=7", whole_payload=True),
    "vendor-byte": Choice("5.9.7.1", "out @reply:if(CONN_STS=1) Vendor_Unique=0x5a; "
                          "out @disc:if(DISC_CONN_STS=1) Vendor_Unique=0xa5"),
    "disconnect-accept": Choice("E41", "out DISCONNECT_RESP:if(DISC_CONN_STS=0) DISC_CONN_STS=1 Reason_Code=0x4b"),
    "disconnect-vendor-code": Choice("E11", "out DISCONNECT_RQST:if(DISC_CONN_STS=0) DISC_CONN_STS=1 Reason_Code=0xf1"),
    "disconnect-no-status": Choice("5.9.4.6", "out DISCONNECT_RQST:if(DISC_CONN_STS=1) "
                                   "DISC_CONN_STS=0 Reason_Code=0 Vendor_Unique=0"),
    "nothing-said-of-unknown": Choice("E170", "out DISCONNECT_RESP:if(DISC_CONN_STS=1) "
                                      "DISC_CONN_STS=0 Reason_Code=0 Vendor_Unique=0"),
    # delays
    "slow-responses": Choice("8.3", delay_us=_delays(9_500_000, "SEND_RESP WRITE_RESP") | _delays(200_000, "READ_RESP")),
    "slow-completions": Choice("VI-ARCH 6.3", delay_us=_delays(9_000_000, "completion")),
    "slow-requests": Choice("5.2.1", delay_us=_delays(50_000, "SEND_RQST WRITE_RQST READ_RQST")),
    "slow-resp1": Choice("8.3", delay_us=_delays(100_000, "CONNECT_RESP1")),
    "slow-disconnect": Choice("8.3", delay_us=_delays(9_500_000, "DISCONNECT_RESP")),
}  # fmt: skip


class VariantDut(BankDut, LateDut):
    """The reference port with these choices."""

    def __init__(self, names: list[str]) -> None:
        self._delay_us: dict[str, int] = {}
        for name in names:
            self._delay_us |= CHOICES[name].delay_us
        super().__init__(understand("variant", "; ".join(CHOICES[name].how for name in names)))
        self._receive_size = self.fault.config.get("receive_size")
        self.spec = "ref with " + (", ".join(names) or "nothing special")
        for name in names:
            self.pics |= CHOICES[name].pics
            self.port |= CHOICES[name].port

    def reset(self, config: dict[str, Any]) -> None:
        """A port may send shorter frames than the other one takes, never longer ones."""
        if self._receive_size is not None:
            self.fault.config["receive_size"] = min(self._receive_size, config.get("receive_size", self._receive_size))
        super().reset(config)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            super()._emit(method, params)
        else:
            self.emit_after(self._delay_us.get(method, 0), method, params)

    def send(self, kind: str, params: dict[str, Any]) -> None:
        self.emit_after(self._delay_us.get(kind, 0), "frame", params)


def pick(rng: random.Random) -> VariantDut:
    """The reference port with about every third choice."""
    names = [name for name in CHOICES if rng.random() < 0.3]
    if "frames-256" in names:
        names = [name for name in names if name != "frames-1024" and not CHOICES[name].whole_payload]
    if "network-header" in names:  # a frame has one Network_Header
        names = [name for name in names if name != "network-header-first"]
    names = sorted(names, key=lambda name: name.startswith("network-header"))  # what moves the fields comes last
    return VariantDut(names)
