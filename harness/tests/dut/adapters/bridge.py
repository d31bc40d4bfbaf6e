"""A device between pcap streams: the reference endpoint, whose frames come and go as records of linktype 225.

Usage: bridge.py TO-DEVICE FROM-DEVICE CONTROL. It stands for a device behind a capture-and-inject tool: its frames are in the two
FIFOs, and its upper tester serves the rest of the DUT protocol on the UNIX socket CONTROL. The records are made and read here
without the starter's code.
"""

from __future__ import annotations

import binascii
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[4]
_SOF = {"i3": 0xBCB55656, "n3": 0xBCB53636, "i2": 0xBCB55555, "n2": 0xBCB53535}
_EOF = {"n": 0xBC95D5D5, "t": 0xBC957575, "ni": 0xBC8AD5D5, "a": 0xBC95F5F5}
_HEAD = struct.Struct(">IHHiIII")  # big-endian on purpose: a reader has to look at the magic number
_RECORD = struct.Struct(">IIII")


def record(params: dict[str, Any], at_us: int) -> bytes:
    """A record of a frame of the device."""
    frame = bytes.fromhex(params["hex"])
    check = binascii.crc32(frame) ^ (0x10 if params["crc"] == "bad" else 0)
    first = b"\0\0" == frame[14:16]
    sof = _SOF[params.get("sof", "i3" if first else "n3")]
    eof = _EOF[params.get("eof", "t" if frame[9] & 8 else "n")]
    data = struct.pack(">I", sof) + frame + struct.pack("<I", check) + struct.pack(">I", eof)
    return _RECORD.pack(at_us // 1_000_000, at_us % 1_000_000, len(data), len(data)) + data


def frames_of(stream: IO[bytes]) -> Any:
    """The params of the frames that the tester puts on the wire."""
    order = "<" if stream.read(24)[:1] == b"\xd4" else ">"
    while len(head := stream.read(16)) == 16:
        data = stream.read(struct.unpack(order + "IIII", head)[2])
        sof, eof = struct.unpack(">I", data[:4])[0], struct.unpack(">I", data[-4:])[0]
        right = struct.unpack("<I", data[-8:-4])[0] == binascii.crc32(data[4:-8])
        yield {
            "hex": data[4:-8].hex(), "sof": next(n for n, c in _SOF.items() if c == sof),
            "eof": next(n for n, c in _EOF.items() if c == eof), "crc": "ok" if right else "bad",
        }  # fmt: skip


class Bridge:
    """The endpoint, two FIFOs and a socket."""

    def __init__(self, to_device: str, from_device: str, control: str) -> None:
        self._endpoint = subprocess.Popen(
            [ROOT / "build/fcvi", "endpoint", "--clock", "real"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        self._writing = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(control)
        self._listener.listen(1)
        self._to, self._from = to_device, from_device

    def _tell(self, line: bytes) -> None:
        assert self._endpoint.stdin is not None
        with self._writing:
            self._endpoint.stdin.write(line)
            self._endpoint.stdin.flush()

    def _frames(self) -> None:
        with open(self._to, "rb") as stream:
            for params in frames_of(stream):
                self._tell(json.dumps({"jsonrpc": "2.0", "method": "frame", "params": params}).encode() + b"\n")
        os._exit(0)  # the tester is gone

    def run(self) -> None:
        """Bridge until the tester leaves."""
        threading.Thread(target=self._frames, daemon=True).start()
        wire = open(self._from, "wb")  # pylint: disable=consider-using-with
        wire.write(_HEAD.pack(0xA1B2C3D4, 2, 4, 0, 0, 65535, 225))
        wire.flush()
        agent, _ = self._listener.accept()
        threading.Thread(target=self._orders, args=(agent,), daemon=True).start()
        assert self._endpoint.stdout is not None
        for line in self._endpoint.stdout:
            message = json.loads(line)
            if message.get("method") == "frame":
                params = message["params"]
                wire.write(record(params, time.time_ns() // 1000))
                wire.flush()
            else:
                agent.sendall(line)

    def _orders(self, agent: socket.socket) -> None:
        with agent.makefile("rb") as orders:
            for line in orders:
                self._tell(line)
        os._exit(0)


if __name__ == "__main__":
    Bridge(*sys.argv[1:4]).run()
