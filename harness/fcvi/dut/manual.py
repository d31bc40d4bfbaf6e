"""``--agent manual``: an operator is told what to do, does it, and says what came of it.

The operator reads prompts on standard error and answers on standard input, so a script can be the operator as well. Each
prompt has a number, the call and its parameters as JSON. Answers are lines:

    ok vi=3                     VIP_SUCCESS, with the out parameters (JSON or plain words)
    VIP_REJECT                  another return code
    started                     the call blocks; later: "2 ok", with the number of its prompt
    no                          this device cannot do that: the case ends inconclusive
    error vi=3 code=VIP_ERROR_CONN_LOST            what the device said by itself; also completion, state and notify

An answer without a number is for the last prompt. People are slow: give a long --r-a-tov.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any, Optional, TextIO

from .base import DutError, Reply, Unavailable
from .planes import Control, monotonic_us

_NOTES = ("completion", "error", "state", "notify")
_LONGEST_LINE = 64 * 1024
_REFUSED, _RESET = -32601, -32001
#: What an answer has to say beside VIP_SUCCESS.
_NEEDED = {
    "VipCreateVi": ("vi",),
    "VipQueryVi": ("State",),
    "VipConnectWait": ("conn", "RemoteAddr", "RemoteViAttribs"),
    "VipConnectRequest": ("RemoteViAttribs",),
    "VipConnectPeerDone": ("RemoteViAttribs",),
    "VipConnectPeerWait": ("RemoteViAttribs",),
    "VipRegisterMem": ("mem", "va", "handle"),
    "VipSendDone": ("DescriptorPtr",),
    "VipRecvDone": ("DescriptorPtr",),
    "mem.read": ("hex",),
    # calls alone (dut-protocol-calls.md)
    "VipOpenNic": ("nic",),
    "VipQueryNic": ("NicAttribs",),
    "VipCreatePtag": ("ptag",),
    "VipCreateCQ": ("cq",),
    "VipCQDone": ("vi", "RecvQueue"),
    "VipCQWait": ("vi", "RecvQueue"),
    "VipQueryMem": ("MemAttribs",),
    "VipSendWait": ("DescriptorPtr",),
    "VipRecvWait": ("DescriptorPtr",),
    "VipNSGetHostByName": ("Address",),
    "VipNSGetHostByAddr": ("Name", "NameLen"),
    "VipQuerySystemManagementInfo": ("NumAdAddrs", "Addresses"),
    "inject": ("done",),
}
_WORDS = {
    "VipQueryVi": "look up the VI's state", "VipDisconnect": "disconnect the VI", "mem.read": "read the memory",
    "mem.write": "write the memory", "reset": "set the device up anew: no VIs, no connections, and this configuration",
    "link": "cause this link event at the device",
    "inject": "make this fault between the two ends (dut-protocol-calls.md, 5), for the next message of the end that is named",
}  # fmt: skip


class _Wrong(Exception):
    """An answer that cannot be taken: the operator is told and asked again."""


class ManualControl(Control):
    """An operator as the upper tester."""

    implementation, version = "a device with an operator", ""

    def __init__(self, source: Optional[int] = None, prompts: Optional[TextIO] = None) -> None:
        super().__init__()
        self.pics = {}
        self._source = sys.stdin.fileno() if source is None else source
        self._prompts = sys.stderr if prompts is None else prompts
        self._received = bytearray()
        self._open: dict[int, Reply] = {}
        self._asked: list[int] = []
        self._number = 0

    def fileno(self) -> Optional[int]:
        return self._source

    # ---- asking ----

    def _say(self, words: str) -> None:
        try:
            print(words, file=self._prompts, flush=True)
        except OSError as error:
            raise DutError(f"the operator cannot be told anything: {error.strerror}") from error

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        words = _WORDS.get(method, "make this VIPL call")
        self._say(f"operator: {words}\n#{self._number} {method} {json.dumps(params)}")
        return self._number

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        """Ask, and wait until the operator did it or says that it is under way."""
        number = self._ask(method, params)
        reply = self._open[number] = Reply(method)
        self._asked.append(number)
        while number in self._asked:
            self._line(self._next_line())
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._confirmed(method, params)

    def _confirmed(self, method: str, params: dict[str, Any]) -> None:
        self._ask(method, params)
        while True:
            word = self._next_line().strip()
            if word == "ok":
                return
            if word == "no":
                raise Unavailable(f"the operator cannot do this: {method}")
            self._say("operator: answer ok or no")

    def reset(self, config: dict[str, Any]) -> None:
        for reply in self._open.values():
            reply.done, reply.error = True, (_RESET, "reset")
        self._open.clear()
        self._asked.clear()
        self._confirmed("reset", config)
        self.inbox.clear()

    # ---- answers ----

    def pump(self) -> None:
        while (line := self._line_there()) is not None or self._fill():
            if line is not None:
                self._line(line)

    def _line_there(self) -> Optional[str]:
        end = self._received.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._received[:end]).decode("utf-8", "replace")
        del self._received[: end + 1]
        return line

    def _fill(self, wait: bool = False) -> bool:
        """Read what there is; false when there is nothing now."""
        os.set_blocking(self._source, wait)
        try:
            data = os.read(self._source, 1 << 14)
        except BlockingIOError:
            return False
        except OSError as error:
            raise DutError(f"the operator cannot be heard: {error.strerror}") from error
        finally:
            os.set_blocking(self._source, True)
        if not data:
            raise DutError("the operator has gone: end of input")
        self._received += data
        if len(self._received) > _LONGEST_LINE and b"\n" not in self._received:
            raise DutError(f"the operator's answer is a line of over {_LONGEST_LINE} bytes")
        return True

    def _next_line(self) -> str:
        while (line := self._line_there()) is None:
            self._fill(wait=True)
        return line

    def _line(self, line: str) -> None:
        try:
            words = shlex.split(line)
            if words:
                self._take(words)
        except (_Wrong, ValueError) as error:
            self._say(f"operator: not understood: {str(error)[:200]}; answer again")

    def _take(self, words: list[str]) -> None:
        if words[0] in _NOTES:
            self.inbox.append((monotonic_us(), words[0], _members(words[1:])))
            return
        number = int(words.pop(0).lstrip("#")) if words[0].lstrip("#").isdecimal() else self._last()
        reply = self._open.get(number)
        if reply is None or not words:
            raise _Wrong(f"nothing is asked under number {number}" if words else "no answer after the number")
        if words == ["started"]:
            self._asked.remove(number)
            return
        self._answer(reply, words)
        del self._open[number]
        if number in self._asked:
            self._asked.remove(number)

    def _last(self) -> int:
        if not self._asked:
            raise _Wrong("nothing is asked; begin with the number of a call that blocks")
        return self._asked[-1]

    @staticmethod
    def _answer(reply: Reply, words: list[str]) -> None:
        if words == ["no"]:
            reply.done, reply.error = True, (_REFUSED, "the operator cannot do this")
            return
        code = "VIP_SUCCESS" if words[0] == "ok" else words[0]
        if not code.startswith("VIP_"):
            raise _Wrong(f"{words[0]!r} is none of ok, no, started and the VIPL return codes")
        members = _members(words[1:])
        missing = [name for name in _NEEDED.get(reply.method, ()) if name not in members]
        if code == "VIP_SUCCESS" and missing:
            raise _Wrong(f"{reply.method} also gives {', '.join(missing)}: ok {missing[0]}=...")
        reply.result = members if reply.method.startswith("mem.") else {"return": code, **members}
        reply.done = True

    def restart(self) -> None:
        """The operator is still there."""

    def close(self) -> None:
        """Standard input is not ours to close."""


def _members(words: list[str]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise _Wrong(f"{word!r} is not NAME=VALUE")
        try:
            members[name] = value if name in ("va", "hex") else json.loads(value)
        except (ValueError, RecursionError):
            members[name] = value
    return members
