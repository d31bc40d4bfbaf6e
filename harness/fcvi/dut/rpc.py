"""``exec:``, ``unix:`` and ``tcp:``: the DUT protocol over a stream (JSON-RPC 2.0, one object per line).

What comes from the other end is hostile: lines are bounded, memory is bounded, every wait is bounded, and whatever
breaks the protocol becomes one DutError that names the first offending byte.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import shlex
import socket
import time
from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine import strict
from fcvi.engine.budget import Budget, Limits
from fcvi.engine.files import FileError, read_file
from fcvi.engine.words import as_json, port_number, why
from fcvi.engine.attachment import closed
from .base import AttachError, Dut, DutError, NotReached, Notification, Reply, Unavailable
from .keeper import Keeper

LONGEST_LINE = 64 * 1024
MOST_NOTIFICATIONS = 100_000  # that one step may bring; more is a flood
QUIET_US = 1_000  # after something came, what belongs to it follows within this time
ASKED_US = 700  # a device that has answered sends within this time what it still has to say
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
_MESSAGE_COST = 1_000  # bytes of memory that any message takes beside those it has on the wire
_MOST_FORGOTTEN = 4_096
NEWEST = 2  # of the versions of the DUT protocol
_STREAMS = ("stream.open", "stream.opened", "stream.refused", "stream.data", "stream.window", "stream.close")
_OF_VERBS = ("async", "cm", "connect-request")
_NOTIFICATIONS = ("frame", "completion", "error", "state", "notify", "log")


class Stream:
    """Lines to and from a process or socket, never blocking for longer than told."""

    def __init__(self, spec: str, log: Optional[int], budget: Optional[Budget] = None, option: str = "--dut") -> None:
        self._keeper: Optional[Keeper] = None
        self._socket: Optional[socket.socket] = None
        self._budget = budget or Budget(Limits())
        self._option = option
        kind, _, rest = spec.partition(":")
        if kind == "exec":
            self._start(rest, log)
        else:
            self._connect(spec, kind, rest)
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._received = bytearray()
        self._pending = bytearray()

    def _start(self, command: str, log: Optional[int]) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise AttachError(f"{self._option} exec:{command}: cannot split the command: {error}") from error
        if not words:
            raise AttachError(f"{self._option} exec: names no command")
        try:
            self._keeper = Keeper(words, log, self._budget.limits.log_mb * 1_000_000)
        except OSError as error:
            raise NotReached(f"{self._option} exec:{command}: cannot start it: {why(error)}") from error
        self._in, self._out = self._keeper.source, self._keeper.sink

    def _connect(self, spec: str, kind: str, rest: str) -> None:
        try:
            if kind == "unix":
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._socket.settimeout(10)
                self._socket.connect(rest)
            else:
                host, _, port = rest.rpartition(":")
                if host.startswith("[") != host.endswith("]"):
                    raise ValueError("a bracket of the address is missing; write [ADDR]:PORT")
                if "/" in host:
                    raise ValueError(f"{host[:20]!r} is no host; write HOST:PORT without slashes")
                if host.strip("[]") == "":
                    raise ValueError("names no host; write HOST:PORT")
                number = port_number(port)
                if number == 0:
                    raise ValueError("port 0 is no port that can be called")
                self._socket = socket.create_connection((host.strip("[]"), number), timeout=10)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except UnicodeError as error:
            raise AttachError(f"{self._option} {spec}: cannot connect: no host has such a name") from error
        except (ValueError, OverflowError) as error:
            raise AttachError(f"{self._option} {spec}: cannot connect: {why(error)}") from error
        except OSError as error:
            raise NotReached(f"{self._option} {spec}: cannot connect: {why(error)}") from error
        self._in = self._out = self._socket.fileno()

    def fileno(self) -> int:
        """Readable when a line may have arrived."""
        return self._in

    def send(self, line: bytes, deadline: float) -> None:
        """Send a line. While the other end does not read, what it writes is taken in, so that none waits for ever."""
        self._pending += line
        while self._pending:
            self._turn(deadline, writing=True)

    def receive(self, deadline: float, beside: Optional[int] = None) -> Optional[bytes]:
        """The next line; None when the deadline (time.monotonic) passes first, or beside, a descriptor, is readable."""
        while True:
            end = self._received.find(b"\n")
            if end >= 0:
                if end >= LONGEST_LINE:
                    raise DutError(f"the DUT sent a line of {end + 1} bytes: byte {LONGEST_LINE} is one too many")
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                return line
            if len(self._received) >= LONGEST_LINE:
                raise DutError(f"the DUT sent a line of over {LONGEST_LINE} bytes: byte {LONGEST_LINE} is one too many")
            if not self._turn(deadline, writing=False, beside=beside):
                return None

    def _turn(self, deadline: float, writing: bool, beside: Optional[int] = None) -> bool:
        """Wait for something to happen; False when the deadline passed, or something came beside it alone. A writer that gets no
        further raises."""
        self._budget.check_time()
        with selectors.DefaultSelector() as selector:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing and self._in == self._out else 0)
            selector.register(self._in, events)
            if writing and self._in != self._out:
                selector.register(self._out, selectors.EVENT_WRITE)
            if beside is not None:
                selector.register(beside, selectors.EVENT_READ)
            ready = selector.select(max(0.0, deadline - time.monotonic()))
        if not ready:
            if writing:
                raise DutError("the DUT does not read what it is sent")
            return False
        for key, mask in ready:
            if mask & selectors.EVENT_READ and key.fd == self._in:
                self._read()
            if mask & selectors.EVENT_WRITE:
                self._write()
        return any(key.fd != beside for key, _ in ready)

    def _read(self) -> None:
        try:
            data = os.read(self._in, 1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            raise DutError(f"the DUT closed the connection: {why(error)}") from error
        if not data:
            raise closed(self._how_it_ended())
        self._received += data
        self._budget.took(len(data))
        if len(self._received) > 64 * LONGEST_LINE and self._pending:
            raise DutError("the DUT floods and does not read what it is sent")

    def _write(self) -> None:
        try:
            sent = os.write(self._out, self._pending)
        except BlockingIOError:
            return
        except OSError as error:
            raise closed(self._how_it_ended()) from error
        del self._pending[:sent]

    def _how_it_ended(self) -> str:
        return self._keeper.how_it_ended() if self._keeper is not None else ""

    def close(self) -> None:
        """Close, and end the device that was started, with all that it started."""
        if self._socket is not None:
            self._socket.close()
        if self._keeper is not None:
            self._keeper.close()


def _offending(line: bytes, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at byte {len(line.decode('utf-8')[: error.pos].encode())}: {error.msg}"
    return f"not JSON that can be used: {error}"


#: A device answers its first request so many times as late as any other: it may have to be loaded and started first.
_PATIENCE = 4


def spoken(hello: Mapping[str, Any]) -> tuple[int, tuple[str, ...], str]:
    """The version of the DUT protocol, the wires and the edition of FC-VI of a device, from its hello. Raises DutError.

    A device of version 1 says nothing of them: its wire is FC, its edition that of 2007.
    """
    version, wires, revision = hello.get("protocol", 1), hello.get("wires", ["fc"]), hello.get("revision", "2007")
    if isinstance(version, bool) or version not in (1, NEWEST):
        raise DutError(f"hello: protocol must be 1 or {NEWEST}, not {as_json(version)}")
    if not isinstance(wires, list) or not wires or not all(isinstance(w, str) for w in wires):
        raise DutError(f"hello: wires must be an array of names, not {as_json(wires)}")
    if not isinstance(revision, str):
        raise DutError(f"hello: revision must be a string, not {as_json(revision)}")
    return version, tuple(wires), revision


def token_of(spec: str) -> tuple[str, Optional[str]]:
    """unix: and tcp: may name a file with the token that the other end asks for: tcp:HOST:PORT,token=FILE. Raises AttachError."""
    plain, found, name = spec.rpartition(",token=")
    if not found or not spec.startswith(("unix:", "tcp:")):
        return spec, None
    try:
        return plain, read_file(Path(name)).split(b"\n")[0].strip().decode()
    except (FileError, UnicodeDecodeError) as error:
        raise AttachError(f"--dut {spec}: {error}") from error


class RpcDut(Dut):
    """A DUT behind a stream."""

    option = "--dut"  # that names it on the command line
    _token: Optional[str] = None
    _beside: Optional[int] = None  # the descriptor of another device at the link

    def __init__(self, spec: str, *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits()) -> None:
        super().__init__()
        self.spec, self._timeout_s, self._log = spec, rpc_timeout_s, log
        self._budget = Budget(limits)
        self._forgotten: dict[int, str] = {}
        self._configured = False  # whether a reset was done
        self._attach()

    # ---- attaching ----

    def _attach(self) -> None:
        self._stream = self._open()
        self._replies: dict[int, Reply] = {}
        self._next_id = 0
        self._earliest_us: Optional[int] = 0  # nothing that comes now came before it; None: it comes just now
        self._has_next = True
        self._stirred = True
        self._since = time.monotonic()
        self.inbox.clear()
        self.now_us = 0
        self.clock = "virtual"
        self.wires: tuple[str, ...] = ()  # as long as hello has named none
        self._forgotten.clear()
        try:
            self._hello()
            self._probe()
        except BaseException:  # an interrupt as well: what was started ends with us
            self._stream.close()
            raise

    def _open(self) -> Stream:
        spec, self._token = token_of(self.spec)
        return Stream(spec, self._log, self._budget, self.option)

    def _hello(self) -> None:
        token = {} if self._token is None else {"token": self._token}
        reply = self.request("hello", {"protocol": NEWEST, **token})
        self._wait(reply, self._timeout_s * _PATIENCE)
        # A device of version 1 refuses any other number, with whatever error it likes.
        answer = reply.result if reply.error is None else self._hello_1(token, str(reply.error[1]))
        self.protocol, self.wires, self.revision = spoken(answer)
        for name in ("implementation", "version", "clock"):
            if not isinstance(answer.get(name), str):
                raise DutError(f"hello: the result has no string member {name!r}")
        if answer["clock"] not in ("virtual", "real"):
            raise DutError(f"hello: clock must be \"virtual\" or \"real\", not {as_json(answer['clock'])}")
        if not isinstance(answer.get("pics"), dict):
            raise DutError("hello: the result has no object member 'pics'")
        self.implementation, self.version, self.clock = answer["implementation"], answer["version"], answer["clock"]
        self.pics = answer["pics"] if "revision" not in answer else {"revision": self.revision, **answer["pics"]}
        if self.pics.get("revision", self.revision) != self.revision and "revision" in answer:
            raise DutError(f"hello: revision is {self.revision!r}, and {str(self.pics['revision'])[:30]!r} in pics")
        devices = answer.get("devices", [])
        if not isinstance(devices, list) or not all(isinstance(name, str) for name in devices):
            raise DutError("hello: devices must be a list of names")
        #: The names for VipOpenNic, in the order of the ends (dut-protocol-calls.md).
        self.devices: list[str] = devices
        addresses = answer.get("addresses", [])
        if not isinstance(addresses, list) or not all(isinstance(name, str) for name in addresses):
            raise DutError("hello: addresses must be a list of texts")
        #: Of a provider of RDMA verbs: where each of the devices is reached.
        self.addresses: list[str] = addresses

    def _hello_1(self, token: dict[str, str], refused: str) -> Any:
        try:
            return self._call("hello", {"protocol": 1, **token})
        except DutError as error:  # it may have closed the connection when it refused the first one
            if "closed" not in str(error):
                raise
            raise DutError(f"{error}, after it refused hello: {refused}"[:300]) from error

    def _probe(self) -> None:
        """A method that cannot exist: who answers it with a result would answer anything."""
        name = f"probe.{random.Random(os.urandom(8)).randrange(2**64):016x}"
        reply = self.request(name, {})
        self._wait(reply)
        if reply.error is None or reply.error[0] != METHOD_NOT_FOUND:
            raise DutError(f"not attached honestly: method {name} was not answered with error {METHOD_NOT_FOUND}")

    def restart(self) -> None:
        self._stream.close()
        try:
            self._attach()
        except AttachError as error:
            raise DutError(str(error)) from error

    def close(self) -> None:
        self._stream.close()

    def descriptor(self) -> Optional[int]:
        return self._stream.fileno()

    def look_at(self, far: Dut) -> None:
        self._beside = far.descriptor() if far.clock == "real" else None

    # ---- requests ----

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._next_id += 1
        self._stirred = True
        self._budget.next_step()
        reply = self._replies[self._next_id] = Reply(method)
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._stirred = True
        self._budget.next_note()
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def sync(self) -> None:
        """One round trip: a method that does not exist is answered after what came before it was taken."""
        self._wait(self.request("sync", {}))

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self._stream.send(line, time.monotonic() + self._timeout_s)
        if self.clock == "real":
            self.now_us = self._clock_us()

    def _wait(self, reply: Reply, timeout_s: Optional[float] = None) -> None:
        timeout_s = timeout_s or self._timeout_s
        deadline = time.monotonic() + timeout_s
        while not reply.done:
            line = self._stream.receive(deadline)
            if line is None:
                raise DutError(f"the DUT did not answer {reply.method} within {timeout_s:g} s")
            self._take(line)

    def _call(self, method: str, params: dict[str, Any], timeout_s: Optional[float] = None) -> dict[str, Any]:
        reply = self.request(method, params)
        self._wait(reply, timeout_s)
        if reply.error is not None:
            raise DutError(f"{method} was answered with error {reply.error[0]} ({reply.error[1]})")
        return reply.result

    # ---- what arrives ----

    def _forget(self) -> None:
        """A reset was refused: what is open the device answers later, at the latest when the next reset succeeds."""
        self._forgotten.update((ident, reply.method) for ident, reply in self._replies.items())
        while len(self._forgotten) > _MOST_FORGOTTEN:
            self._forgotten.pop(next(iter(self._forgotten)))
        self._replies.clear()

    def _take(self, line: bytes) -> None:
        self._budget.took(_MESSAGE_COST)
        try:
            message = strict.loads(line.decode("utf-8"))
        except ValueError as error:  # of bytes, of JSON, of endless numbers
            raise DutError(f"the DUT sent a line that is {_offending(line, error)}: {line[:60]!r}") from error
        if not isinstance(message, dict):
            raise DutError(f"the DUT sent something other than an object at byte 0: {line[:60]!r}")
        if "method" in message:
            self._take_notification(message)
        else:
            self._take_reply(message)

    def _take_notification(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        if message.get("id") is not None:
            raise DutError(f"the DUT sent a request ({str(method)[:40]}); it may only send notifications")
        known = _NOTIFICATIONS + (_STREAMS if "tcp" in self.wires else ()) + (_OF_VERBS if "verbs" in self.wires else ())
        if not isinstance(method, str) or method not in known:
            raise DutError(f"the DUT sent an unknown notification {str(method)[:40]!r}")
        if not isinstance(params, dict):
            raise DutError(f"the params of the notification {method} are no object")
        if len(self.inbox) >= MOST_NOTIFICATIONS:
            raise DutError(f"the DUT floods: over {MOST_NOTIFICATIONS} notifications in one step")
        now = self._clock_us()
        earliest = now if self._earliest_us is None else self._earliest_us
        self.inbox.append(Notification(method, params, earliest, now))

    def _take_reply(self, message: dict[str, Any]) -> None:
        ident = message.get("id")
        number = ident if isinstance(ident, int) and not isinstance(ident, bool) else 0
        reply = self._replies.pop(number, None)
        if reply is None and self._forgotten.pop(number, None) is not None:
            return  # of a call that was open when a reset was refused: it is over, whatever the answer says
        if reply is None:
            raise DutError(f"the DUT answered id {str(ident)[:40]}, which no request is waiting for")
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict) and isinstance(error.get("code"), int):
            reply.error = (error["code"], str(error.get("message", ""))[:200])
        elif isinstance(result, dict):
            reply.result = result
        else:
            raise DutError(f"the answer to {reply.method} has neither a result object nor an error with a code")
        reply.done, reply.time_us = True, self._clock_us()

    def _clock_us(self) -> int:
        if self.clock == "virtual":
            return self._target_us
        return int((time.monotonic() - self._since) * 1_000_000)

    _target_us = 0

    # ---- time ----

    def advance(self, us: int) -> None:
        if self.clock == "real":
            self._wait_real(us)
            return
        self._earliest_us, self._target_us = self.now_us, self.now_us + us
        answer = self._call("clock.advance", {"us": us})
        if answer.get("now_us") != self._target_us:
            said = as_json(answer["now_us"]) if "now_us" in answer else "missing"
            raise DutError(f"clock.advance: now_us is {said}, not {self._target_us}")
        self.now_us = self._earliest_us = self._target_us
        self._learn_next(answer)

    def _learn_next(self, answer: dict[str, Any]) -> None:
        if "next_us" not in answer and self._has_next:
            reply = self.request("clock.next", {})
            self._wait(reply)
            self._has_next = reply.error is None
            answer = {"next_us": reply.result.get("us")} if reply.error is None else {}
        self.knows_next = "next_us" in answer
        value = answer.get("next_us")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise DutError(f"the time until the next timer is {str(value)[:30]}, not a number or null")
        self.next_us = value

    def _wait_real(self, us: int) -> None:
        """Wait up to us, or until something arrives and what belongs to it has followed.

        With 0 a device that was told something, or that said something, is asked for a sign; nobody waits for one that was quiet.
        """
        if us == 0 and self._stirred:
            self.sync()
            self._listen(ASKED_US)
            self._stirred = False
        elif self._listen(us):
            self._stirred = True
        self.now_us = self._clock_us()

    def _listen(self, us: int) -> bool:
        """Take in what arrives within us; true when something did."""
        heard = False
        line = self._stream.receive(time.monotonic())  # it may have waited since we last looked
        if line is None:
            self._earliest_us = None
            line = self._stream.receive(time.monotonic() + us / 1_000_000, self._beside)
        while line is not None and len(self.inbox) < MOST_NOTIFICATIONS:
            self._take(line)
            heard = True
            line = self._stream.receive(time.monotonic() + min(us, QUIET_US) / 1_000_000)
        self._earliest_us = self._clock_us()
        return heard

    def _check_wire(self, config: dict[str, Any]) -> None:
        """Version 1 has one wire and one edition: what it has never heard of, it would take for these."""
        wire, revision = config.get("wire", "fc"), config.get("revision", "2007")
        if wire not in self.wires:
            frames = "; its frames are attached apart: --dut fcoe:IFACE --agent SPEC" if self.wires == ("api",) else ""
            raise Unavailable(f"the DUT has no wire {wire!r}; hello names {', '.join(self.wires)}"[:200] + frames)
        if revision != "2007" and self.protocol < NEWEST:
            raise Unavailable(f"the DUT speaks version {self.protocol} of the DUT protocol, which has no edition {revision!r}")

    def reset(self, config: dict[str, Any]) -> None:
        self.inbox.clear()
        self._budget.next_case()
        self._check_wire(config)
        reply = self.request("reset", config)
        self._wait(reply)
        if reply.error is not None and reply.error[0] == INVALID_PARAMS and self._configured:
            self._forget()
            raise Unavailable(f"the device cannot be configured so: {reply.error[1]}")
        if reply.error is not None:
            raise DutError(f"reset was answered with error {reply.error[0]} ({reply.error[1]})")
        self._configured = True
        self.inbox.clear()
        self._replies.clear()
        self._since = time.monotonic()
        self.now_us = self._earliest_us = self._target_us = 0
        self.next_us, self.knows_next = None, False
