#!/usr/bin/env python3
"""A frame adapter over two streams of pcap: what a tool that captures and injects speaks. See ../docs/frame-adapter.md.

Usage: pcap_adapter.py TO-DEVICE FROM-DEVICE. Both are files, mostly FIFOs. Frames go and come with linktype 225: SOF, frame, CRC,
EOF; from the device 224 is taken as well, which has no delimiters and no CRC.
"""

import json
import struct
import sys
import threading
import time
import zlib

SOF = {"i3": "bcb55656", "n3": "bcb53636", "i2": "bcb55555", "n2": "bcb53535"}
EOF = {"n": "bc95d5d5", "t": "bc957575", "ni": "bc8ad5d5", "a": "bc95f5f5"}
SAME = {"bcb5d5d5": "n", "bcb57575": "t", "bcaad5d5": "ni", "bcb5f5f5": "a"}  # the other running disparity
SOF_NAMES = {code: name for name, code in SOF.items()}
EOF_NAMES = {**SAME, **{code: name for name, code in EOF.items()}}
CAPABILITIES = {"classes": [2, 3], "sof": list(SOF), "eof": list(EOF), "bad_crc": True, "longest": 24 + 2112}
speaking = threading.Lock()


def say(message):
    with speaking:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def crc(frame):
    return zlib.crc32(frame).to_bytes(4, "little")  # FC-FS: the first bit on the wire is the coefficient of x^31


def packed(params):
    """A record of a frame that the suite sends."""
    frame, now = bytes.fromhex(params["hex"]), time.time_ns() // 1000
    check = crc(frame)
    if params["crc"] == "bad":
        check = bytes([check[0] ^ 1]) + check[1:]
    data = bytes.fromhex(SOF[params["sof"]]) + frame + check + bytes.fromhex(EOF[params["eof"]])
    return struct.pack("<IIII", now // 10**6, now % 10**6, len(data), len(data)) + data


def unpacked(data, linktype):
    """The params of a frame of the device; a CRC that is not there is taken as right."""
    if linktype == 224:
        return {"hex": data.hex(), "crc": "ok"}
    frame, check = data[4:-8], data[-8:-4]
    params = {"hex": frame.hex(), "crc": "ok" if crc(frame) == check else "bad"}
    for member, names, code in (("sof", SOF_NAMES, data[:4].hex()), ("eof", EOF_NAMES, data[-4:].hex())):
        if code in names:
            params[member] = names[code]
    return params


def listen(path):
    with open(path, "rb") as stream:
        head = stream.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        unit = 1000 if head[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1
        linktype = struct.unpack(order + "I", head[20:24])[0] & 0xFFFF
        while len(record := stream.read(16)) == 16:
            seconds, part, length, _ = struct.unpack(order + "IIII", record)
            params = unpacked(stream.read(length), linktype)
            say({"method": "frame", "params": {**params, "at_us": seconds * 10**6 + part // unit}})
    say({"method": "link", "params": {"event": "down"}})


def main(to_device, from_device):
    threading.Thread(target=listen, args=(from_device,), daemon=True).start()
    out = open(to_device, "wb")
    out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 225))
    out.flush()
    for line in sys.stdin:
        message = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        if method == "frame":
            out.write(packed(message["params"]))
            out.flush()
        elif method == "hello":
            result = {"frames": 1, "implementation": "pcap streams", "version": "1", "capabilities": CAPABILITIES}
            say({"id": ident, "result": result})
        elif method == "open":
            time.sleep(0.05)  # what is still on its way belongs to the case before
            say({"id": ident, "result": {}})
        elif ident is not None:
            say({"id": ident, "error": {"code": -32601, "message": "no such method"}})


main(*sys.argv[1:3])
