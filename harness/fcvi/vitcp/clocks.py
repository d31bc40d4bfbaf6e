"""Say by how much the clocks of two taps of TCP differ, each of which sees what one end sends.

An acknowledgement comes behind what it acknowledges. Where the time stamps of one end have it first, two clocks stamped the
file. One file of one clock is in the order of its times, whatever the network does.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple, Optional

from _fcvi import lib

from fcvi.capture.limits import Limits
from fcvi.capture.reader import CaptureError, Reader
from fcvi.capture.scan import Order, Shift, source_of
from fcvi.capture.skew import Entry, Pair, lagging, put_right
from fcvi.capture.units import duration

_MOST = 200_000  # records that are looked at
_TCP = 6
_ACK, _FINAL = 0x10, 0x03  # FIN and SYN take a number each


class _Segment(NamedTuple):
    ends: tuple[bytes, bytes, bytes]  # both addresses, both ports
    behind: int  # the number behind its data
    acknowledged: Optional[int]
    says: int  # bytes, with SYN and FIN


def _segment(packet: bytes, whole: int) -> Optional[_Segment]:
    """A segment of TCP in an IP packet; None where it has extension headers, or headers that are not whole."""
    if len(packet) < 40 or packet[0] >> 4 not in (4, 6):
        return None
    is_4 = packet[0] >> 4 == 4
    head = (packet[0] & 15) * 4 if is_4 else 40
    total = int.from_bytes(packet[2:4] if is_4 else packet[4:6], "big") + (0 if is_4 else 40)
    if packet[9 if is_4 else 6] != _TCP or len(packet) < head + 20:
        return None
    tcp = packet[head : head + 20]
    says = (total if total > head else whole) - head - (tcp[12] >> 4) * 4 + (tcp[13] & _FINAL).bit_count()
    if tcp[13] & 4 or says < 0:  # nothing answers a reset
        return None
    addresses = (packet[12:16], packet[16:20]) if is_4 else (packet[8:24], packet[24:40])
    sequence = int.from_bytes(tcp[4:8], "big")
    acknowledged = int.from_bytes(tcp[8:12], "big") if tcp[13] & _ACK else None
    return _Segment((*addresses, tcp[:4]), sequence + says & 0xFFFFFFFF, acknowledged, says)


def _pairs(path: str, limits: Limits) -> tuple[list[Pair], list[Entry], dict[int, bytes]]:
    """What was sent first behind each number, with the first segment that acknowledges just that; all segments; the addresses."""
    sent: dict[tuple[int, tuple[bytes, bytes, bytes], int], Entry] = {}
    answers: dict[tuple[int, tuple[bytes, bytes, bytes], int], Entry] = {}
    entries: list[Entry] = []
    names: dict[int, bytes] = {}
    with Reader(path, limits) as reader:
        for place, record in enumerate(reader):
            if place >= _MOST:
                break
            segment = _segment(record.data, record.whole) if record.kind == "foreign" and record.whole else None
            if segment is None:
                continue
            one, other, ports = segment.ends
            sender = int(lib.fcvi_capture_tcp_sender(one, len(one)))
            names[sender] = one
            entry = Entry(place, record.number, record.time_us, sender, (record.network, 0, 0, 0, 0, 0), 0)
            entries.append(entry)
            if segment.says:
                sent.setdefault((record.network, segment.ends, segment.behind), entry)
            if segment.acknowledged is not None:
                answers.setdefault((record.network, (other, one, ports[2:] + ports[:2]), segment.acknowledged), entry)
    return [Pair(asked, answers[key]) for key, asked in sent.items() if key in answers], entries, names


def look(path: str, limits: Limits, dumps: dict[str, str | Exception]) -> tuple[Order, list[str]]:
    """How to read a file that is in the order of its times, and what there is to say of that. Nothing is said where nothing is
    wrong."""
    order, said = Order(), []
    try:
        pairs, entries, names = _pairs(source_of(path, dumps), limits)
    except CaptureError:
        return order, []  # the first pass told of it
    ends: dict[int, int] = {}
    found = lagging(pairs, ends)
    found = {port: us for port, us in found.items() if _is_consistent(pairs, port, ends[port])}
    ends = {port: ends[port] for port in found}
    shifts = put_right(found, ends, entries)
    for port, us in found.items():
        one, other = ip_address(names[port]), ip_address(names[ends[port]])
        moved, how = (one, "later") if port in shifts else (other, "earlier")
        said.append(f"{one} acknowledges what {other} sends before it was sent: the two directions have two clocks, about "
                    f"{duration(us)} apart. What {moved} sends is read as that much {how}.")  # fmt: skip
    order.shifts = [Shift(port, 0, us) for port, us in shifts.items()]
    order.window_us = max((abs(us) + 1 for us in shifts.values()), default=0)
    return order, said


def _is_consistent(pairs: list[Pair], one: int, other: int) -> bool:
    """Whether one difference explains both ways: there and back take no less than nothing. A clock that was set does not."""
    least: dict[int, int] = {}
    for pair in pairs:
        if {pair.asked.sender, pair.answered.sender} == {one, other}:
            least[pair.asked.sender] = min(least.get(pair.asked.sender, pair.took_us), pair.took_us)
    return len(least) == 2 and sum(least.values()) >= 0
