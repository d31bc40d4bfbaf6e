"""Frames as the DUT protocol writes them: the params of a ``frame`` notification."""

from __future__ import annotations

from typing import Any, Mapping

from fcvi.engine.words import as_json

from . import build
from .delimiters import EOF_BY_NAME, NAME_BY_EOF, NAME_BY_SOF, SOF_BY_NAME

LONGEST_FRAME = 24 + 2112


def to_params(frame: build.RawFrame) -> dict[str, Any]:
    """The params; delimiters that have no name are left out."""
    params: dict[str, Any] = {"hex": frame.data.hex(), "crc": "ok" if frame.crc_ok else "bad"}
    if frame.sof in NAME_BY_SOF:
        params["sof"] = NAME_BY_SOF[frame.sof]
    if frame.eof in NAME_BY_EOF:
        params["eof"] = NAME_BY_EOF[frame.eof]
    return params


def has_words(frame: build.RawFrame) -> bool:
    """Whether the params say all that the frame is, and may be sent."""
    return frame.sof in NAME_BY_SOF and frame.eof in NAME_BY_EOF and len(frame.data) <= LONGEST_FRAME


_CRC = {"ok": True, "bad": False}


def _wrong(params: Mapping[str, Any]) -> str:
    """Which member of a frame is wrong, and what it may be."""
    for name, names in (("sof", list(SOF_BY_NAME)), ("eof", list(EOF_BY_NAME)), ("crc", list(_CRC))):
        value = params.get(name)
        if name in params and not (isinstance(value, str) and value in names):
            return f"{name} is {as_json(value)}, and must be one of {', '.join(names)}"
    if "hex" not in params:
        return "hex is missing"
    return f"hex is {as_json(params['hex'])}, and must be the bytes of a frame as hexadecimal digits"


def from_params(params: Mapping[str, Any]) -> build.RawFrame:
    """The frame. Raises ValueError."""
    try:
        data = bytes.fromhex(params["hex"])
        sof = SOF_BY_NAME[params["sof"]] if "sof" in params else 0
        eof = EOF_BY_NAME[params["eof"]] if "eof" in params else 0
        crc_ok = _CRC[params.get("crc", "ok")]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(_wrong(params)) from error
    if len(data) > LONGEST_FRAME:
        raise ValueError(f"{len(data)} bytes: an FC-2 frame has at most {LONGEST_FRAME}")
    return build.RawFrame(data, sof, eof, crc_ok)
