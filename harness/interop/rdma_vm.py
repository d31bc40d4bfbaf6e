"""A Debian kernel with an RDMA device in QEMU, and the agent in it behind a Unix socket of this machine.

The guest has one serial port (virtio). `init-rdma` runs what this side asks for, one program after the other, with the port as
its input and output. `Relay` listens on a Unix socket and gives each client an agent of its own: `--agent unix:PATH`.
"""

from __future__ import annotations

import selectors
import socket
import subprocess
import threading
import time
from pathlib import Path

READY = b"fcvi-guest ready "
QEMU = "qemu-system-x86_64"
_MEMORY_MB = 256
_BOOT_S = 300  # under emulation, on a loaded machine; usually ten
_EXIT_S = 20  # for an agent to end, when it is told to
_PIECE = 65536
_LEAVE = b'\n{"jsonrpc":"2.0","id":"relay","method":"agent.exit"}\n'


class GuestError(Exception):
    """The guest does not do what it has to."""


class Guest:
    """One guest. `end` is its place on a link of two, which a relay may be; alone it is on a network of its own."""

    def __init__(self, images: Path, where: Path, kind: str, end: int | None = None, memory_mb: int = _MEMORY_MB,
                 overlay: str = "programs.gz", relayed: bool = False) -> None:  # fmt: skip
        self.where = where
        self.name = f"guest{end or 0}"
        self.address = f"10.9.0.{(end or 0) + 1}"
        initrd = where / f"{self.name}.initrd"
        initrd.write_bytes((images / "base.gz").read_bytes() + (images / overlay).read_bytes())
        net = "user,id=n0,restrict=on"
        if end is not None:
            other = f"relay{end}" if relayed else f"net{1 - end}"
            net = f"dgram,id=n0,local.type=unix,local.path={where}/net{end},remote.type=unix,remote.path={where}/{other}"
        command = [
            QEMU, "-accel", "tcg", "-m", str(memory_mb), "-smp", "1", "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-kernel", str(images / "vmlinuz"), "-initrd", str(initrd),
            # without no_timer_check the kernel gives up on a host that is too busy to give it its ticks
            "-append", f"console=ttyS0 quiet no_timer_check oops=panic panic=-1 fcvi.kind={kind} fcvi.address={self.address}"
            # siw gives its peer up after 13 s, and an attempt to connect after 7 s: not after 15 minutes and two
            + " sysctl.net.ipv4.tcp_retries2=5 sysctl.net.ipv4.tcp_syn_retries=2" * relayed,
            "-netdev", net, "-device", f"virtio-net-pci,netdev=n0,mac=52:54:00:fc:01:0{end or 0}",
            "-object", f"filter-dump,id=f0,netdev=n0,file={where}/{self.name}.pcap,maxlen=65535",
            "-chardev", f"file,id=c0,path={where}/{self.name}.log", "-serial", "chardev:c0",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=c1,path={where}/{self.name}.port,server=on,wait=off",
            "-device", "virtserialport,chardev=c1,name=fcvi",
        ]  # fmt: skip
        with open(where / f"{self.name}.qemu", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._port = self._connect(time.monotonic() + _BOOT_S)
        self._rest = b""
        self.status = 0

    def _connect(self, until: float) -> socket.socket:
        while True:
            port = socket.socket(socket.AF_UNIX)
            try:
                port.connect(str(self.where / f"{self.name}.port"))
                return port
            except OSError:
                port.close()
                if self.process.poll() is not None or time.monotonic() > until:
                    self.end()
                    raise GuestError(f"{self.name}: QEMU did not start: {self._said('qemu')}") from None
                time.sleep(0.05)

    def _said(self, what: str) -> str:
        file = self.where / f"{self.name}.{what}"
        return file.read_text(errors="replace")[-600:].strip() if file.exists() else ""

    def wait_ready(self, seconds: float = _BOOT_S, text: list[bytes] | None = None) -> int:
        """Until the program has ended, or the guest is up; what was said before goes into `text`. The program's status."""
        until = time.monotonic() + seconds
        while (at := self._rest.find(READY)) < 0 or b"\n" not in self._rest[at:]:
            left = until - time.monotonic()
            self._port.settimeout(max(left, 0.01))
            try:
                piece = self._port.recv(_PIECE)
            except TimeoutError:
                piece = b""
            if not piece:
                raise GuestError(f"{self.name}: no answer within {seconds:.0f} s: {self._said('log')} {self._said('qemu')}")
            self._rest += piece
        before, _, after = self._rest.partition(READY)
        status, _, self._rest = after.partition(b"\n")
        if text is not None:
            text.append(before)
        self.status = int(status)
        return self.status

    def run(self, command: str, seconds: float = 60) -> tuple[int, str]:
        """A program in the guest: its status and what it said."""
        text: list[bytes] = []
        self._port.sendall(f"run {command}\n".encode())
        status = self.wait_ready(seconds, text)
        return status, text[0].decode(errors="replace")

    def carry(self, command: str, client: socket.socket) -> None:
        """Run a program whose input and output are the client's, until one of the two has gone."""
        self._port.sendall(f"run {command}\n".encode())
        held = [b""]
        try:
            ended = self._carry(client, held)
        except OSError:  # the client's: it has gone
            ended = False
        if not ended:
            self._rest = held[0]
            self._port.sendall(_LEAVE)
        self.wait_ready(_EXIT_S)

    def _carry(self, client: socket.socket, held: list[bytes]) -> bool:
        """Whether the program has ended; otherwise the client has."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(client, selectors.EVENT_READ)
            waiting.register(self._port, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    piece = key.fileobj.recv(_PIECE)  # type: ignore[union-attr]
                    if key.fileobj is client:
                        if not piece:
                            return False
                        self._port.sendall(piece)
                        continue
                    if not piece:
                        raise GuestError(f"{self.name}: the guest is gone: {self._said('log')}")
                    held[0] += piece
                    lines, found, _ = held[0].partition(READY)
                    if found:
                        self._rest = held[0][len(lines) :]
                        client.sendall(lines)
                        return True
                    whole = held[0].rfind(b"\n") + 1
                    lines, held[0] = held[0][:whole], held[0][whole:]
                    client.sendall(lines)

    def console(self) -> str:
        """What the kernel said."""
        return self._said("log")

    def has_ended(self, seconds: float = _EXIT_S) -> bool:
        """Whether QEMU ends by itself in time, as it does when the kernel cannot go on (panic=-1, -no-reboot)."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """No guest any more."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Relay(threading.Thread):
    """An agent of its own in the guest for each client of a Unix socket, one client after the other."""

    def __init__(self, guest: Guest, path: Path, command: str = "fcvi-verbs-agent") -> None:
        super().__init__(daemon=True)
        self.guest = guest
        self.command = command
        self.failed = ""
        self.statuses: list[int] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(4)
        self.start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client:
                try:
                    self.guest.carry(self.command, client)
                    self.statuses.append(self.guest.status)
                except (GuestError, OSError) as error:
                    self.failed = str(error)
                    if isinstance(error, GuestError):
                        return

    def close(self) -> None:
        """No clients any more."""
        self._listening.close()
