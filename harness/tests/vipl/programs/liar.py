"""Peers that lie, for processes of VIPL: streams that are damaged on their way, and frames that nobody sent.

liar.py tcp FROM TO PORT SEED, or liar.py fc INTERFACE SECONDS SEED. It says `ready`; a stream's liar ends with its input."""

from __future__ import annotations

import random
import selectors
import socket
import sys
import time

_FCOE = 0x8906
_WHOLE = 1 << 16


def damaged(data: bytes, chance: random.Random) -> list[bytes]:
    """One of: whole, bits changed, cut, said twice, with something foreign in it."""
    kind = chance.randrange(6)
    at = chance.randrange(len(data))
    if kind == 1:
        return [data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]]
    if kind == 2:
        return [data[:at]]
    if kind == 3:
        return [data, data]
    if kind == 4:
        return [data[:at] + chance.randbytes(chance.randrange(1, 200)) + data[at:]]
    if kind == 5:
        return [data[:at] + b"\xff" * min(8, len(data) - at) + data[at + 8 :]]
    return [data]


def carry(one: socket.socket, other: socket.socket, chance: random.Random) -> None:
    """Both ways, until a side ends or a second has passed; the first bytes of a stream are the ones that matter."""
    with selectors.DefaultSelector() as ready:
        ready.register(one, selectors.EVENT_READ, other)
        ready.register(other, selectors.EVENT_READ, one)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            for key, _ in ready.select(0.1):
                data = key.fileobj.recv(_WHOLE)  # type: ignore[union-attr]
                if not data:
                    return
                for piece in damaged(data, chance):
                    key.data.sendall(piece)


def between(own: str, there: str, port: int, chance: random.Random) -> None:
    """Who connects to `own` gets what is `there`, and lies on the way."""
    with socket.create_server((own, port)) as listener:
        print("ready", flush=True)
        with selectors.DefaultSelector() as ready:
            ready.register(listener, selectors.EVENT_READ)
            ready.register(sys.stdin, selectors.EVENT_READ)
            while True:
                if any(key.fileobj is sys.stdin for key, _ in ready.select()):
                    return
                near, _ = listener.accept()
                with near, socket.create_connection((there, port), source_address=(own, 0)) as far:
                    try:
                        carry(near, far, chance)
                    except OSError:
                        pass


def frames(interface: str, seconds: float, chance: random.Random) -> None:
    """Each frame that goes out here is followed by damaged ones, and frames of chance fill the pauses."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_FCOE)) as wire:
        wire.bind((interface, _FCOE))
        wire.settimeout(0.002)
        print("ready", flush=True)
        seen: list[bytes] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                seen.append(wire.recv(4096))
            except socket.timeout:
                pass
            for frame in chance.sample(seen, min(len(seen), 8)):
                for piece in damaged(frame[14:], chance):
                    wire.send((frame[:14] + piece)[:2200].ljust(60, b"\0"))
            wire.send(b"\xff" * 6 + b"\x0e\xfc\0\1\2\3" + _FCOE.to_bytes(2, "big") + chance.randbytes(chance.randrange(46, 2100)))


def main() -> None:
    """By the words of the command line."""
    kind, where, *rest = sys.argv[1:]
    if kind == "tcp":
        between(where, rest[0], int(rest[1]), random.Random(int(rest[2])))
    else:
        frames(where, float(rest[0]), random.Random(int(rest[1])))


if __name__ == "__main__":
    main()
