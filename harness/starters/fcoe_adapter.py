#!/usr/bin/env python3
"""A frame adapter over FCoE, point-to-point: frames of the suite on an Ethernet interface. See ../docs/frame-adapter.md.

Usage: fcoe_adapter.py IFACE. It needs CAP_NET_RAW, and gives it up. Addresses: FPMA (FC-BB), 0E-FC-00 and the N_Port Identifier.
"""

import ctypes
import json
import selectors
import socket
import struct
import sys
import time
import zlib

FCOE = 0x8906
SOF = {"i3": 0x2E, "n3": 0x36, "i2": 0x2D, "n2": 0x35}
EOF = {"n": 0x41, "t": 0x42, "ni": 0x49, "a": 0x50}
NAMES = ({code: name for name, code in SOF.items()}, {code: name for name, code in EOF.items()})
CAPABILITIES = {"classes": [2, 3], "sof": list(SOF), "eof": list(EOF), "bad_crc": True, "longest": 24 + 2112}


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def address(n_port_id):
    return bytes.fromhex("0efc00") + n_port_id


def packed(params):
    """FCoE (FC-BB): version and reserved bytes, SOF; the frame with its CRC; EOF and three reserved bytes."""
    frame = bytes.fromhex(params["hex"])
    check = zlib.crc32(frame) ^ (params["crc"] == "bad")
    body = bytes(13) + bytes([SOF[params["sof"]]]) + frame + struct.pack("<I", check) + bytes([EOF[params["eof"]], 0, 0, 0])
    return (address(frame[1:4]) + address(frame[5:8]) + struct.pack(">H", FCOE) + body).ljust(60, b"\0")


def unpacked(data, device):
    """The params of a frame of the device; None for others. Data_Fields are whole words, so padding shows by the EOF's place."""
    body = data[14:]
    if len(body) < 14 + 24 + 8 or body[0] >> 4 or data[6:12] != device and any(body[14 + 5 : 14 + 8]):
        return None  # who asks for an N_Port Identifier has the address of the interface
    end = len(body) - 4
    while end > 14 + 28 and body[end] not in NAMES[1]:  # Ethernet pads to 60 bytes
        end -= 4
    frame, check = body[14 : end - 4], body[end - 4 : end]
    params = {"hex": frame.hex(), "crc": "ok" if struct.pack("<I", zlib.crc32(frame)) == check else "bad"}
    for member, names, code in (("sof", NAMES[0], body[13]), ("eof", NAMES[1], body[end])):
        if code in names:
            params[member] = names[code]
    return params


def answer(line, wire):
    message = json.loads(line)
    method, ident = message.get("method"), message.get("id")
    if method == "frame":
        wire.send(packed(message["params"]))
    elif method == "hello":
        say({"id": ident, "result": {"frames": 1, "implementation": "FCoE", "version": "1", "capabilities": CAPABILITIES}})
    elif method == "open":
        time.sleep(0.01)  # what is still on its way belongs to the case before
        wire.setblocking(False)
        try:
            while wire.recv(4096):
                pass
        except BlockingIOError:
            wire.setblocking(True)
        say({"id": ident, "result": {}})
        return address(bytes.fromhex(message["params"]["n_port_id"]))
    elif ident is not None:
        say({"id": ident, "error": {"code": -32601, "message": "no such method"}})


def main(interface):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(FCOE))
    wire.bind((interface, FCOE))
    ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())  # what is open needs none
    own, pending, device = selectors.DefaultSelector(), b"", None
    own.register(wire, selectors.EVENT_READ)
    own.register(sys.stdin.buffer.raw, selectors.EVENT_READ)
    while True:
        for key, _ in own.select():
            if key.fileobj is wire:
                data, where = wire.recvfrom(4096)
                params = unpacked(data, device) if where[2] != socket.PACKET_OUTGOING else None
                if params is not None:
                    say({"method": "frame", "params": {**params, "at_us": time.monotonic_ns() // 1000}})
                continue
            read = sys.stdin.buffer.raw.read(65536)
            if not read:
                return
            *lines, pending = (pending + read).split(b"\n")
            for line in lines:
                device = answer(line, wire) or device


main(sys.argv[1])
