"""Frames as the DUT protocol's ``frame`` has them, and as they cross a wire."""

from __future__ import annotations

from typing import Any

from fcvi.fc.build import EOF_N, EOF_T, SOF, RawFrame

SOF_CODES = {"i2": 0x2D, "n2": 0x35, "i3": 0x2E, "n3": 0x36}
EOF_CODES = {"n": EOF_N, "t": EOF_T, "ni": 0x49, "a": 0x50}
_SOF_NAMES = {code: name for name, code in SOF_CODES.items()}
_EOF_NAMES = {code: name for name, code in EOF_CODES.items()}


def from_params(params: dict[str, Any], service_class: int) -> RawFrame:
    """The frame; a SOF that is left out follows from the class and the header."""
    data = bytes.fromhex(params["hex"])
    first, other = SOF.get(service_class, SOF[3])
    derived = other if len(data) >= 24 and data[14:16] != b"\0\0" else first
    sof = SOF_CODES[params["sof"]] if "sof" in params else derived
    ends = len(data) < 10 or bool(data[9] & 0x08)  # End_Sequence, bit 19 of F_CTL
    eof = EOF_CODES[params["eof"]] if "eof" in params else (EOF_T if ends else EOF_N)
    return RawFrame(data, sof, eof, params.get("crc", "ok") == "ok")


def to_params(frame: RawFrame) -> dict[str, Any]:
    """The params. Delimiters that have no name in the protocol are those of no valid frame: EOFa, and no SOF."""
    params = {"hex": frame.data.hex(), "crc": "ok" if frame.crc_ok else "bad"}
    if frame.sof in _SOF_NAMES:
        params["sof"] = _SOF_NAMES[frame.sof]
    params["eof"] = _EOF_NAMES.get(frame.eof, "a")
    return params
