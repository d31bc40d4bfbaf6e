"""Between the numbers of the tester, which are those of profile T0, and those of the profile of a run.

The draft gives Version, the types, the flags, the error codes and the attributes no numbers (V02 to V06). Cases are written with
T0's. Here they become the profile's on their way out, and T0's again on their way in. A number that T0 does not know becomes one
that the profile does not know: a case that sends an unknown Type sends one under every profile.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Callable, Sequence

from . import codec, wire

_TYPES, _BYTES, _WORDS = 32, 256, 1 << 16
_FLAGS = {"SEG_Immediate_Data_Valid": wire.IMMEDIATE, "SEG_End_of_Message": wire.END, "SEG_Transmit_Error": wire.TRANSMIT_ERROR}
_ATTRIBUTES = {
    "CE_Reliable": wire.RELIABLE, "CE_RDMA_Write_Enable": wire.WRITE_ENABLE, "CE_RDMA_Read_Enable": wire.READ_ENABLE,
    "CE_Flow_Control": wire.FLOW_CONTROL, "CE_Peer_to_Peer": wire.PEER,
}  # fmt: skip
_TYPE, _ERROR, _CODE = "SEG_Type", "SEG_VI_Error_Type", "SEG_IS_Error_Code"
#: Where a number of T0 lies: byte of the PDU and bits in it.
_PLACES = {
    (1, "7-3"): _TYPE, (1, "2-2"): "SEG_Transmit_Error", (1, "1-1"): "SEG_End_of_Message", (1, "0-0"): "SEG_Immediate_Data_Valid",
    (22, "7-0"): _ERROR, (23, "7-0"): _CODE,
}  # fmt: skip


def _low(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _moved(size: int, known: Sequence[tuple[int, int]]) -> list[int]:
    """A permutation of the numbers below size that takes each known one where it belongs, and moves few others."""
    to = dict(known)
    taken = set(to.values())
    free = iter(sorted(set(to) - taken))
    return [to[n] if n in to else (n if n not in taken else next(free)) for n in range(size)]


class Numbers:
    """The numbers of one profile.

    profile: the codec's. name: its name, for reports.
    """

    def __init__(self, profile: codec.Profile) -> None:
        self.profile, self.name = profile, profile.name
        self._text = "" if profile is codec.T0 else profile.text()
        struct = profile.struct
        self._masks: dict[str, int] = dict(zip(codec.PLACES, struct.bits))
        self._version = _moved(_BYTES, [(wire.VERSION, struct.version)])
        types = _moved(_TYPES, [(kind, struct.types[codec.PDUS.index(name)]) for kind, name in wire.NAMES.items()])
        self._byte = [
            types[b >> 3] << _low(self._masks[_TYPE]) | sum(self._masks[n] for n, bit in _FLAGS.items() if b & bit)
            for b in range(_BYTES)
        ]
        self._most_error = self._masks[_ERROR] >> _low(self._masks[_ERROR])
        self._errors = _moved(max(_BYTES, self._most_error + 1), list(enumerate(struct.errors)))
        self._unknown_error = next(e for e in range(self._most_error, -1, -1) if e not in tuple(struct.errors))
        self._bits = self._attribute_bits()
        self._back_version, self._back_byte = _inverse(self._version), _inverse(self._byte)
        self._back_errors = _inverse(self._errors)
        plain = profile.numbers == codec.T0.numbers  # nothing to do: PDUs are packed and read as they are
        self.plain = plain  # its numbers are T0's
        self._pack, self._parse = (wire.Pdu.pack, wire.parse) if plain else (self._packed, self._parsed)

    def __reduce__(self) -> tuple[Callable[[str], Numbers], tuple[str]]:
        """For another process, by what the profile says: the struct of the codec stays in this one."""
        return numbers_of, (self._text,)

    def _attribute_bits(self) -> list[int]:
        """For each bit of T0's Calling Attributes the profile's."""
        found = {_low(bit): _low(self._masks[name]) for name, bit in _ATTRIBUTES.items()}
        rest = iter(sorted(set(range(16)) - set(found.values())))
        return [found[n] if n in found else next(rest) for n in range(16)]

    # ---- single numbers ----

    @property
    def version(self) -> int:
        """Version of the profile."""
        return int(self.profile.struct.version)

    @property
    def types(self) -> str:
        """The numbers of the types, in words."""
        numbers = sorted(self.profile.struct.types)
        whole = numbers == list(range(numbers[0], numbers[-1] + 1))
        return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(str(n) for n in numbers)

    @property
    def errors(self) -> str:
        """The VI Error Types, in words."""
        first, second, third = sorted(self.profile.struct.errors)
        return f"{first}, {second} or {third}"

    def type_of(self, kind: int) -> int:
        """A type of T0 as the profile numbers it."""
        return (self._byte[kind << 3] & self._masks[_TYPE]) >> _low(self._masks[_TYPE])

    def error_of(self, error: int) -> int:
        """A VI Error Type of T0 as the profile numbers it."""
        number = self._errors[error]
        return number if number <= self._most_error else self._unknown_error

    def place(self, byte: int, bits: str) -> tuple[int, str]:
        """Where the profile has what T0 has at these bits of this byte."""
        name = _PLACES.get((byte, bits))
        if name is None:
            return byte, bits
        mask, low, high = self._masks[name], _low(self._masks[name]), self._masks[name].bit_length() - 1
        if byte == 1:
            return byte, f"{high}-{low}"
        if mask & 0xFF == 0:
            return 22, f"{high - 8}-{low - 8}"
        return (23, f"{high}-{low}") if mask < _BYTES else (22, f"{high}-{low}")

    # ---- PDUs ----

    def pack(self, pdu: wire.Pdu) -> bytes:
        """The bytes of a PDU under the profile."""
        return self._pack(pdu)

    def _packed(self, pdu: wire.Pdu) -> bytes:
        data = bytearray(pdu.pack())
        data[0], data[1] = self._version[data[0]], self._byte[data[1]]
        code = self._masks[_CODE]
        value = self.error_of(data[22]) << _low(self._masks[_ERROR]) | (data[23] << _low(code) & code)
        data[22:24] = value.to_bytes(2, "big")
        if pdu.ce is not None:
            attributes = int.from_bytes(data[24:26], "big")
            data[24:26] = sum(1 << to for n, to in enumerate(self._bits) if attributes >> n & 1).to_bytes(2, "big")
        return bytes(data)

    def outward(self, data: bytes) -> bytes:
        """The bytes of a stream with T0's numbers as the profile has them: what is PDUs, and what is none as it is."""
        made, at = b"", 0
        while not self.plain and len(data) - at >= wire.HEADER:
            _, kind, length = wire.header(data[at:])
            if length < max(wire.HEADER, wire.least_length(kind)):
                break
            piece = data[at : at + length]
            made += self.pack(wire.parse(piece).but(length=length)) if len(piece) == length else piece
            at += length
        return made + data[at:]

    def header(self, data: bytes) -> tuple[int, int, int]:
        """Version, type and Segment Length of at least four bytes; Version and type as T0 numbers them."""
        return self._back_version[data[0]], self._back_byte[data[1]] >> 3, data[2] << 8 | data[3]

    def parse(self, data: bytes) -> wire.Pdu:
        """A PDU whose Segment Length is right for its type, with the numbers of T0. raw: the bytes as they came."""
        return self._parse(data)

    def _parsed(self, data: bytes) -> wire.Pdu:
        inner = bytearray(data)
        inner[0], inner[1] = self._back_version[data[0]], self._back_byte[data[1]]
        pdu = wire.parse(bytes(inner))
        value, error, code = data[22] << 8 | data[23], self._masks[_ERROR], self._masks[_CODE]
        changes: dict[str, Any] = {
            "error": self._back_errors[(value & error) >> _low(error)], "is_code": (value & code) >> _low(code), "raw": bytes(data)
        }  # fmt: skip
        if pdu.ce is not None:
            attributes = sum(1 << n for n, to in enumerate(self._bits) if pdu.ce.attributes >> to & 1)
            changes["ce"] = replace(pdu.ce, attributes=attributes)
        return pdu.but(**changes)


def _inverse(permutation: Sequence[int]) -> list[int]:
    found = [0] * len(permutation)
    for index, value in enumerate(permutation):
        found[value] = index
    return found


@lru_cache(maxsize=8)
def numbers_of(text: str) -> Numbers:
    """The numbers of the profile that this text says; of T0 for "". Raises ProfileError."""
    return Numbers(codec.of_text(text) if text else codec.T0)
