"""Our codec against the independent decoder on mutated frames.

``python -m harness.tests.capture.differential [FRAMES] [SEED]`` compares so many (default 1,000,000) and says where they differ.
"""

from __future__ import annotations

import sys
from typing import Dict, Iterator, List, Tuple

from fcvi.fc import codec
from fcvi.attack.mutator import mutate

from ..independent import wire
from ..independent.decoder import Decoded, Leaves, decode

_STEPS = 6  # mutations on top of each other before a frame of the beginning is taken again


def seeds() -> List[bytes]:
    """Each IU once, as the independent endpoint packs it, and frames of other kinds."""
    address = wire.NetAddress(bytes(range(16)), b"discriminator 16")
    frames = []
    for opcode in wire.R_CTL:
        info = opcode == wire.CONNECT_RQST
        payload = wire.ConnectPayload(7, address, address, info=bytes(256) if info else b"").pack()
        short = opcode in (wire.SEND_RESP, wire.WRITE_RESP)
        iu = wire.Iu(opcode, 0x12, wire.RQST_INFO if info else 0, 1, df_ctl=1 if short else 2)
        data = iu.device_header() + (payload if opcode in wire.WITH_PAYLOAD else bytes(8))
        f_ctl = wire.END | wire.FIRST | wire.INITIATIVE
        frames.append(wire.Frame(iu.r_ctl, 0x010200, 0x010100, 0x58, f_ctl, 1, 0, 2, 3, iu.df_ctl, data=data).pack())
    for r_ctl, type_, data in ((0x22, 1, bytes([3]) + bytes(115)), (0x81, 0, b""), (0xC0, 0, b""), (0x02, 0x20, bytes(32))):
        frames.append(wire.Frame(r_ctl, 0x010200, 0x010100, type_, wire.END, 1, 0, 2, 3, data=data).pack())
    return frames


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Mutated frames, the same for the same seed."""
    begin = seeds()
    frame = b""
    for n in range(count):
        if n % _STEPS == 0:
            frame = begin[n // _STEPS % len(begin)]
        frame = mutate(frame, seed * 1_000_003 + n)
        yield frame


def ours(frame: codec.Frame) -> Tuple[Leaves, Dict[str, object]]:
    """What our codec prints, as leaves."""
    printed = frame.json()
    leaves: Leaves = {}
    for f in printed["fields"]:
        value = f["value"]
        if f["bits"] is None:
            leaves[f["byte"] * 8, f["size"] * 8] = f["name"], int(value, 16)
            continue
        high, low = (int(bit) for bit in f["bits"].split("-"))
        number = int(value, 16) if isinstance(value, str) else value
        leaves[(f["byte"] + f["size"]) * 8 - high - 1, high - low + 1] = f["name"], number
    return leaves, printed


def _part(leaves: Leaves, limit: int) -> Leaves:
    return {place: leaf for place, leaf in leaves.items() if place[0] < limit}


def difference(raw: bytes) -> str:
    """In words where the two decoders differ about a frame; "" when they do not."""
    theirs = decode(raw)
    frame = codec.decode(raw)
    leaves, printed = ours(frame)
    expected = theirs.leaves
    if (frame.kind, printed["iu"]) != (theirs.kind, theirs.iu):
        return f"ours is {frame.kind} {printed['iu']}, the other {theirs.kind} {theirs.iu}"
    if theirs.iu is None:  # what is no IU has a header that both know
        leaves, expected = _part(leaves, 192), _part(expected, 192)
    elif (frame.payload_offset, len(frame.payload)) != theirs.payload:
        return f"the payload is {frame.payload_offset}+{len(frame.payload)}, {theirs.payload}"
    elif raw[13] & 0x30:  # behind a Network_Header or Association_Header ours prints nothing
        words = _accessors(frame, theirs.leaves)
        leaves, expected = _part(leaves, 192), _part(expected, 192)
        if words:
            return words
    for place in sorted({*leaves, *expected}):
        if leaves.get(place) != expected.get(place):
            return f"bit {place[0]}, width {place[1]}: ours {leaves.get(place)}, the other {expected.get(place)}"
    lengths = any(f.requirement in ("FCVI-6.8.1-04", "FCVI-6.9.1-04") for f in frame.findings)
    if theirs.wrong_length is not None and lengths != theirs.wrong_length:
        return f"the length of the payload is {'' if lengths else 'not '}found wrong"
    return _reserved(raw, frame, theirs)


def _accessors(frame: codec.Frame, leaves: Leaves) -> str:
    """The Device_Header by the accessors."""
    for (bit, _), (name, value) in leaves.items():
        behind = frame.dh_offset * 8 <= bit < (frame.dh_offset + frame.dh_length) * 8
        if behind and name in ("FCVI_HANDLE", "FCVI_OPCODE", "FCVI_MSG_ID", "FCVI_RMT_VA", "FCVI_RMT_VA_HANDLE"):
            if frame.get("DH", name) != value:
                return f"{name} is {frame.get('DH', name)}, {value}"
    return ""


def _judged(raw: bytes, theirs: Decoded, bit: int) -> bool:
    """Whether a reserved bit counts: not in a payload that is cut off, nor in what a refusal need not fill in (E40)."""
    body, length = theirs.payload
    at = bit // 8 - body
    if at < 0:
        return True
    refusal = theirs.iu == "FCVI_CONNECT_RESP1" and theirs.leaves[(body - 27) * 8 + 7, 1][1] == 1
    return length >= 340 and not (refusal and 12 <= at < 336)


def _reserved(raw: bytes, frame: codec.Frame, theirs: Decoded) -> str:
    """Reserved bits behind the frame header that are set are found, and no others (5.9.5)."""
    places = [place[0] for place, (name, value) in theirs.leaves.items() if name == "Reserved" and value and place[0] >= 192]
    found = [f.byte * 8 for f in frame.findings if f.byte and f.byte >= 24 and f.message == "Reserved: reserved bits are not zero"]
    missing = [bit for bit in places if _judged(raw, theirs, bit) and not any(at <= bit < at + 32 for at in found)]
    wrong = [at for at in found if theirs.leaves and not any(at <= bit < at + 32 for bit in places)]
    if len(frame.findings) < 64 and (missing or (wrong and theirs.wrong_length is not None)):
        return f"reserved bits at {missing} are not found, those at {wrong} are not set"
    return ""


def main(arguments: List[str]) -> int:
    """Compare and count."""
    count = int(arguments[0]) if arguments else 1_000_000
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    kinds: Dict[str, int] = {}
    differences = 0
    for raw in mutants(count, seed):
        words = difference(raw)
        kind = decode(raw).iu or decode(raw).kind
        kinds[kind] = kinds.get(kind, 0) + 1
        if words:
            differences += 1
            if differences <= 20:
                print(f"{raw.hex()}\n    {words}")
    print(f"{count} frames, seed {seed}, {differences} differences; {kinds}")
    return differences != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
