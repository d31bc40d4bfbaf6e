"""Frames of FC-VI Rev 1.0 (1999), written by hand from the draft's tables; no code of the suite takes part.

As a program it writes ``pcaps/rev1/session.pcap``: ``python3 -m harness.tests.fc.rev1_bytes FILE``.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

A, B = "010200", "010100"  # the client's and the server's N_Port Identifier
CLIENT, SERVER = "0000beef", "0000cafe"  # the handles that they gave
SIZES = {16: "01", 32: "02"}  # DF_CTL for so many bytes of Device_Header
# Table 13: HOST_ADDR_LEN, DISCRIM_LEN, an IPv4 address behind 96 zero bits, a Discriminator of four bytes and 124 more
ADDRESS = "00100004" + "00" * 12 + "0a000001" + "61626364" + "00" * 124
# Tables 14, 15 and Annex B: Reliable Reception, 64 KB, Priority, both RDMA enables
ATTRIBUTES = "04000000000100000100000000000000000000000000000003000000"


def frame(r_ctl: str, f_ctl: str, ox_id: int, words: str, payload: str = "", ours: bool = True, cnt: int = 0) -> bytes:
    """A frame between the two with PREF, as one of a Connection of Priority (5.6.2). words: the Device_Header. ours: it is the
    client's. cnt: SEQ_CNT, which each side counts in an Exchange."""
    to, by = (B, A) if ours else (A, B)
    df_ctl = SIZES[len(words) // 2]
    return bytes.fromhex(f"{r_ctl}{to}80{by}58{f_ctl}00{df_ctl}{cnt:04x}{ox_id:04x}ffff00000000{words}{payload}")


def connect(handle: str) -> str:
    """The payload of Tables 11 and 12: VI_REVISION 1, a handle, two addresses and the attributes; 332 bytes."""
    return "00000001" + handle + ADDRESS + ADDRESS + ATTRIBUTES


def session() -> list[bytes]:
    """A Connection from its setup in three phases (5.3.2) to its Disconnect; each Message is answered (Reliable Reception).
    The first Message has VI_MSG_ID 0 (5.7.5), the Disconnect one more than the last (6.10)."""
    # F_CTL: the first Sequence, which passes the Initiative, without a payload and with one (RLTV_OFF is there); the last
    first, data, last = "290000", "290008", "980000"
    return [
        frame("02", data, 1, "ffffffff" "10010000" "00000000" "00000000", connect(CLIENT)),
        frame("03", "890008", 1, CLIENT + "18000000" "00000000" "00000000", connect(SERVER), ours=False),
        frame("03", "180000", 1, SERVER + "19000000" "00000000" "00000000", cnt=1),
        frame("01", data, 2, SERVER + "00800000" "00000000" "deadbeef", "68656c6c6f212121"),
        frame("07", last, 2, CLIENT + "08000000" "00000000" "00000000", ours=False),
        frame("01", data, 3, SERVER + "01000000" "00000001" "00000000" + "0000000012345000" "00000077" "00000000", "00" * 64),
        frame("07", last, 3, CLIENT + "09000000" "00000001" "00000000", ours=False),
        frame("02", first, 4, SERVER + "12050000" "00000002" "00000000"),
        frame("03", last, 4, CLIENT + "1a000000" "00000002" "00000000", ours=False),
    ]


def capture(frames: list[bytes]) -> bytes:
    """A capture of linktype 224, a frame each millisecond."""
    out = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 224)]
    for number, data in enumerate(frames):
        out.append(struct.pack("<IIII", number // 1000, number % 1000 * 1000, len(data), len(data)) + data)
    return b"".join(out)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(capture(session()))
