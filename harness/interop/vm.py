"""A Debian kernel with libfc and fcoe in QEMU, and its Ethernet port on an interface of a namespace.

QEMU gives and takes one Ethernet frame a datagram on a private Unix socket, without privileges or a network. A relay in
the namespace carries them between that socket and one end of a veth pair: what we test with is our live attachment.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import time
from pathlib import Path

FCOE, FIP = b"\x89\x06", b"\x89\x14"
MAC = "52:54:00:fc:00:01"
_LONGEST = 65536
_SHORTEST = 60
_ETH_P_ALL = 3
_MEMORY_MB = 192


def start(images: Path, where: Path, mode: str) -> subprocess.Popen[bytes]:
    """Boot the guest; its link is where/vm.sock against where/host.sock, its console where/console.log."""
    link = f"dgram,id=n0,local.type=unix,local.path={where}/vm.sock,remote.type=unix,remote.path={where}/host.sock"
    command = [
        "qemu-system-x86_64", "-accel", "tcg", "-m", str(_MEMORY_MB), "-smp", "1", "-nodefaults", "-no-user-config",
        "-display", "none", "-no-reboot", "-kernel", str(images / "vmlinuz"), "-initrd", str(images / "initrd.gz"),
        "-append", f"console=ttyS0 quiet no_timer_check panic=-1 fc.mode={mode}", "-netdev", link,
        "-device", f"virtio-net-pci,netdev=n0,mac={MAC}", "-chardev", f"file,id=c0,path={where}/console.log",
        "-serial", "chardev:c0", "-chardev", f"socket,id=c1,path={where}/shell.sock,server=on,wait=off",
        "-serial", "chardev:c1",
    ]  # fmt: skip
    with open(where / "qemu.log", "wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def relay(interface: str, where: Path) -> None:
    """Carry frames both ways for as long as this process lives; tell of the first FIP frame of the guest."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    wire.bind((interface, _ETH_P_ALL))
    guest = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    guest.bind(str(where / "host.sock"))
    guest.setblocking(False)
    told = False
    while True:
        for ready in select.select([wire, guest], [], [])[0]:
            if ready is guest:
                frame = guest.recv(_LONGEST)
                if frame[12:14] in (FCOE, FIP):
                    wire.send(frame)
                if frame[12:14] == FIP and not told:
                    print("the guest is up", flush=True)
                    told = True
                continue
            frame, (_, _, kind, *_) = wire.recvfrom(_LONGEST)
            if kind != socket.PACKET_OUTGOING and frame[12:14] in (FCOE, FIP):
                try:
                    guest.sendto(frame.ljust(_SHORTEST, b"\0"), str(where / "vm.sock"))
                except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
                    pass  # a link that is not there yet loses frames


def ask(where: Path, command: str, seconds: float = 20) -> str:
    """What a command says in the guest."""
    said, end = b"", time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX) as shell:
        shell.connect(str(where / "shell.sock"))
        shell.sendall(f'{command}\necho "@@"END\n'.encode())
        while b"@@END" not in said and time.monotonic() < end:
            shell.settimeout(max(0.1, end - time.monotonic()))
            try:
                said += shell.recv(_LONGEST)
            except TimeoutError:
                break
    return said.decode("latin-1").replace("@@END", "").replace("\r", "").strip()


if __name__ == "__main__":
    try:
        relay(sys.argv[1], Path(sys.argv[2]))
    except KeyboardInterrupt:
        pass
