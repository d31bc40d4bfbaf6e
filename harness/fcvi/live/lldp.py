"""LLDP, as far as an operator has to know of it: who is at the other end, and whether it expects DCBX (IEEE 802.1AB, 802.1Q).

The suite sends neither. A switch that keeps FCoE off a port until DCBX has agreed has to be told to do without.
"""

from __future__ import annotations

from fcvi.engine.words import printable

_END, _SYSTEM_NAME, _ORGANIZATION = 0, 5, 127
_HEADER, _LONGEST_NAME = 2, 60
#: OUI of DCBX by IEEE 802.1 (subtypes 9 to 12), and of the version before it (CEE) with its subtype.
_IEEE, _IEEE_SUBTYPES = b"\x00\x80\xc2", range(9, 13)
_CEE = b"\x00\x1b\x21\x02"


def told(data: bytes) -> str:
    """What the other end says of itself, in words; "" when it is no LLDP. data: what follows the EtherType."""
    name, dcbx, at = "", False, 0
    while at + _HEADER <= len(data):
        kind, length = data[at] >> 1, (data[at] & 1) << 8 | data[at + 1]
        value = data[at + _HEADER : at + _HEADER + length]
        if len(value) < length:
            return ""
        at += _HEADER + length
        if kind == _END:
            break
        if kind == _SYSTEM_NAME:
            name = printable(value.decode("utf-8", "replace")[:_LONGEST_NAME])
        if kind == _ORGANIZATION:
            dcbx |= value[:4] == _CEE or (value[:3] == _IEEE and len(value) > 3 and value[3] in _IEEE_SUBTYPES)
    else:
        return ""  # without its end
    who = f"the other end says by LLDP that it is {name}" if name else "the other end sends LLDP"
    return who + (" and offers DCBX, which the suite does not answer: its port has to carry FCoE without it" if dcbx else "")
