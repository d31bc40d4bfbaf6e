"""A device that is honest until it is in the middle of a case, and then says one thing that no device may say.

``hostile_between.py KIND SEEN COMMAND...`` stands before COMMAND, a device that behaves, and passes lines both ways. Every
second case takes the next mode of KIND, and between two modes it stays honest; SEEN is a file that tells the cases over restarts.
So one run meets every mode, one a case, and shows that the cases behind it are judged as ever.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

HOST = "00000000000000000000ffffc0a80a0a"

Say = Callable[[Any], None]


def _answers(ident: int) -> dict[str, Any]:
    """What stands in the place of an answer; bytes are a line as it is."""
    start = b'{"jsonrpc":"2.0","id":%d,"result":' % ident
    deep = b"[" * 900 + b"]" * 900
    ok = {"jsonrpc": "2.0", "id": ident}
    return {
        "nan": start + b'{"a":NaN}}', "infinity": start + b'{"a":-Infinity}}', "huge": start + b'{"a":1e999}}',
        "digits": start + b'{"a":' + b"9" * 5000 + b"}}", "deep": start + b'{"a":' + deep + b"}}",
        "deeper": b"[" * 60000, "twice": start + b'{"a":1,"a":2}}', "utf8": start + b'{"a":"\xff"}}',
        "long": start + b'{"a":"' + b"x" * 70000 + b'"}}', "zeros": bytes(65536), "array": b"[1]",
        "result-list": {**ok, "result": []}, "result-text": {**ok, "result": "VIP_SUCCESS"},
        "error-escape": {**ok, "error": {"code": 1, "message": "a\n\x1b[2J\u202e" * 9}}, "error-text": {**ok, "error": "x"},
        "other-id": {**ok, "id": ident + 1000, "result": {}}, "text-id": {**ok, "id": str(ident), "result": {}},
        "bool-id": {**ok, "id": True, "result": {}}, "float-id": b'{"jsonrpc":"2.0","id":%d.0,"result":{}}' % ident,
        "request": {**ok, "method": "log", "params": {}},
        "unknown-note": {"jsonrpc": "2.0", "method": "birthday", "params": {}},
        "note-list": {"jsonrpc": "2.0", "method": "completion", "params": []}, "http": b"HTTP/1.1 200 OK\r\n\r",
    }  # fmt: skip


def _stream(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"stream.{method}", "params": params}


def _opening(name: str, port: Any = 4000, host: Any = HOST) -> dict[str, Any]:
    return _stream("open", stream=name, **{"from": {"host": host, "port": port}, "to": {"host": host, "port": port}})


#: Notifications about streams, of which one (t1) is open.
STREAMS: dict[str, list[Any]] = {
    "unopened": [_stream("data", stream="t99", hex="00")], "of-nobody": [_stream("close", stream="d7", how="fin")],
    "no-name": [_stream("data", hex="00")], "name-number": [_stream("data", stream=1, hex="00")],
    "name-list": [_stream("data", stream=["t1"], hex="00")], "name-long": [_opening("d" * 60_000)],
    "name-escape": [_stream("data", stream="d\n\x1b[31m\u202e", hex="00")], "name-ours": [_opening("t1")],
    "open-twice": [_opening("d1"), _opening("d1")], "host-short": [_opening("d1", host="00")],
    "host-number": [_opening("d1", host=7)], "host-none": [_opening("d1", host=None)],
    "port-huge": [_opening("d1", port=10**30)], "port-bool": [_opening("d1", port=True)], "port-below": [_opening("d1", port=-1)],
    "open-bare": [_stream("open", stream="d1")], "from-list": [_stream("open", stream="d1", **{"from": [], "to": []})],
    "opened-twice": [_stream("opened", stream="t1")], "refused-late": [_stream("refused", stream="t1")],
    "data-empty": [_stream("data", stream="t1", hex="")], "data-odd": [_stream("data", stream="t1", hex="000")],
    "data-number": [_stream("data", stream="t1", hex=0)], "data-none": [_stream("data", stream="t1")],
    "data-long": [_stream("data", stream="t1", hex="00" * 30_001)], "data-spaces": [_stream("data", stream="t1", hex=" " * 50_000)],
    "window-below": [_stream("window", stream="t1", bytes=-1)], "window-huge": [_stream("window", stream="t1", bytes=10**30)],
    "window-bool": [_stream("window", stream="t1", bytes=True)], "window-text": [_stream("window", stream="t1", bytes="1")],
    "window-float": [_stream("window", stream="t1", bytes=0.5)], "close-how": [_stream("close", stream="t1", how="\x1b[2J")],
    "close-list": [_stream("close", stream="t1", how=["fin"])],
    "close-twice": [_stream("close", stream="t1", how="fin"), _stream("close", stream="t1", how="fin")],
    "data-after": [_stream("close", stream="t1", how="reset"), _stream("data", stream="t1", hex="00")],
    "params-list": [{"jsonrpc": "2.0", "method": "stream.data", "params": []}],
}  # fmt: skip
#: A stream in the midst of which these come without end.
FLOODS: dict[str, Any] = {
    "flood-data": _stream("data", stream="t1", hex="ff" * 30_000), "flood-window": _stream("window", stream="t1", bytes=1),
    "flood-pdu": _stream("data", stream="t1", hex="010aff00" + "00" * 29_000),
    "flood-log": {"jsonrpc": "2.0", "method": "log", "params": {}},
    "flood-notes": {"jsonrpc": "2.0", "method": "completion", "params": {"vi": 1}},
}  # fmt: skip
_FRAME = {"hex": "00" * 2024, "sof": "i3", "eof": "n"}


def _frame(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "frame", "params": params}


#: Notifications about frames.
FRAMES: dict[str, list[Any]] = {
    "frame-bad": [_frame(**{**_FRAME, "hex": "zz"})], "frame-none": [_frame()],
    "frame-huge": [_frame(**{**_FRAME, "hex": "00" * 30_000})],
    "frame-numbers": [_frame(**{**_FRAME, "sof": 10**30})], "frames-step": [_frame(**_FRAME)] * 3000,
    "completion-bad": [{"jsonrpc": "2.0", "method": "completion", "params": {"vi": -1}}],
}  # fmt: skip
#: Members of the answer to clock.advance, which replace what the device said.
CLOCK: dict[str, dict[str, Any]] = {
    "back": {"now_us": -1}, "now-float": {"now_us": 0.5}, "now-text": {"now_us": "7"}, "next-negative": {"next_us": -1},
}  # fmt: skip
#: Of a device whose wire are frames: bytes without end.
FRAME_FLOODS: dict[str, bytes] = {
    "flood": json.dumps(_frame(**_FRAME)).encode() + b"\n", "flood-tiny": b"{}\n", "flood-empty": b"\n",
    "flood-spaces": b" " * 65536,
    "flood-line": b"x" * 65536, "flood-zero": bytes(65536),
}  # fmt: skip
#: What a process can do beside these, which is the same for each wire.
PROCESS = ["closed", "closed-in", "stop", "slow"]
FALLS = ["die", "kill", "silent", "trickle", "errors", "both", "half"]
#: Members of the answer to a call, which replace what the provider said.
CALLS: dict[str, dict[str, Any]] = {
    "return-none": {"return": None}, "return-number": {"return": 0}, "return-strange": {"return": "VIP_\x1b[31m\u202e"},
    "return-long": {"return": "VIP_" + "X" * 50_000}, "return-list": {"return": ["VIP_SUCCESS"]},
    "handles-text": {"vi": "x", "cq": "x", "mem": "x", "nic": "x", "conn": "x", "ptag": "x"},
    "handles-huge": {"vi": 10**30, "cq": 10**30, "mem": 10**30, "conn": 10**30},
    "handles-below": {"vi": -1, "cq": -1, "mem": -1, "conn": -1}, "tables": {"NicAttribs": [], "DescriptorPtr": 7},
    "hosts": {"NicAttribs": {"LocalNicAddress": "zz"}, "DescriptorPtr": {"status": 7, "length": "x"}},
    "error-code": {"return": "VIP_ERROR_RESOURCE"},
}  # fmt: skip


def modes(kind: str) -> list[str]:
    """The modes of a kind, in the order in which they come: "fc", "tcp" or "api". Answers that are none, and falls, are the same
    for every wire: fc has half of them, tcp and api a few. "fc-whole", "tcp-whole" and "api-whole" have all modes."""
    answers = list(_answers(0))
    if kind == "fc":
        return [*answers[::2], *FRAMES, *CLOCK, "flood", "flood-line", "flood-log", *FALLS, *PROCESS[:1]]
    if kind == "fc-whole":
        return [*answers, *FRAMES, *CLOCK, *FRAME_FLOODS, "flood-log", "flood-notes", *FALLS, *PROCESS]
    tcp, whole = kind.startswith("tcp"), kind.endswith("-whole")
    floods = [name for name in FLOODS if tcp or "log" in name or "notes" in name]
    shared = [*answers, *floods, *FALLS] if whole else ["nan", "deep", "result-list", "other-id", *floods, "die", "silent", "half"]
    return (list(STREAMS)[:: 1 if whole else 2] if tcp else list(CALLS)) + shared


class Between:
    """The lines of both sides."""

    def __init__(self, kind: str, seen: str, command: list[str]) -> None:
        self._kind, self._seen, self._mode, self._open, self._calls = kind, seen, "", False, 0
        self._asked: dict[int, str] = {}
        self._done = False
        self._device = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self) -> None:
        """Until the suite, or the device, ends."""
        threading.Thread(target=self._in, daemon=True).start()
        assert self._device.stdout is not None
        for line in self._device.stdout:
            self._out(line)

    def _in(self) -> None:
        assert self._device.stdin is not None
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message["method"] == "reset":
                count = self._number_of(message["params"]["seed"])
                known = modes(self._kind)
                self._mode = known[count // 2] if count % 2 == 0 and count < 2 * len(known) else ""
                self._open, self._calls, self._done = False, 0, False
            self._asked[message.get("id", 0)] = message["method"]
            self._device.stdin.write(line)
            self._device.stdin.flush()
        self._device.stdin.close()

    def _number_of(self, seed: int) -> int:
        """Which case of the run this is: each has a seed of its own, and a case that is tried again has the same."""
        with open(self._seen, "a+", encoding="ascii") as file:
            file.seek(0)
            seeds = file.read().split()
            if str(seed) not in seeds:
                seeds.append(str(seed))
                file.write(f"{seed}\n")
        return seeds.index(str(seed))

    def _say(self, value: Any) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        view = memoryview(data + b"\n")
        while view:
            view = view[os.write(1, view) :]

    def _out(self, line: bytes) -> None:
        message = json.loads(line)
        self._open = self._open or message.get("method") == "stream.opened"
        method = self._asked.get(message.get("id", 0), "")
        if method.startswith("Vip"):
            self._calls += 1
        middle = {
            "tcp": self._open, "api": self._calls > 4 and method.startswith("Vip"), "fc": method == "clock.advance",
        }[self._kind.removesuffix("-whole")]  # fmt: skip
        if self._mode in CALLS:
            if method.startswith("Vip") and "result" in message:
                message["result"].update({k: v for k, v in CALLS[self._mode].items() if k in message["result"]})
            self._say(message)
        elif not self._mode or not middle or self._done or "id" not in message:
            self._say(line.rstrip(b"\n"))
        else:
            self._done = True
            self._harm(message)

    def _harm(self, message: dict[str, Any]) -> None:
        ident, mode = message["id"], self._mode
        if mode in STREAMS:
            for note in STREAMS[mode]:
                self._say(note)
        elif mode in FRAMES:
            for note in FRAMES[mode]:
                self._say(note)
        elif mode in CLOCK:
            message["result"].update(CLOCK[mode])
        elif mode in FRAME_FLOODS:
            while True:
                os.write(1, FRAME_FLOODS[mode])
        elif mode in FLOODS:
            data = json.dumps(FLOODS[mode]).encode()
            while True:
                self._say(data)
        elif mode in (*FALLS, *PROCESS):
            self._fall(mode, message)
        else:
            self._say(_answers(ident)[mode])
        if mode not in _answers(ident) or mode in ("unknown-note", "note-list", "request", "http"):
            self._say(message)

    def _fall(self, mode: str, message: dict[str, Any]) -> None:
        if mode == "die":
            os._exit(7)
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if mode.startswith("closed"):
            os.close(1 if mode == "closed" else 0)
        if mode in ("silent", "closed", "closed-in"):
            time.sleep(600)
        if mode == "slow":
            time.sleep(8)
        if mode == "trickle":
            for byte in json.dumps(message).encode():
                os.write(1, bytes([byte]))
                time.sleep(0.1)
        if mode == "half":
            os.write(1, b'{"jsonrpc"')
            os._exit(0)
        while mode == "errors":
            os.write(2, b"x" * 65536)
        self._say(message)


if __name__ == "__main__":
    Between(sys.argv[1], sys.argv[2], sys.argv[3:]).run()
