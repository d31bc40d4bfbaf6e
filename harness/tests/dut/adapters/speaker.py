"""A frame adapter that a test tells how to behave. Usage: speaker.py CAPABILITIES [MODE]; it reaches no device."""

import json
import sys
import time

capabilities, mode = json.loads(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
FRAME = {"hex": "00" * 24, "sof": "i3", "eof": "t", "crc": "ok"}


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def frame(**more):
    say(method="frame", params={**FRAME, **more})


def misbehave(ident):
    """What the adapter does when a case begins."""
    if mode == "dies":
        sys.exit("the jammer is on fire")
    if mode == "no json":
        print("opened the port", flush=True)
    if mode == "refuses":
        say(id=ident, error={"code": -32602, "message": "no room for another port"})
        return
    if mode == "fails":
        say(id=ident, error={"code": -32000, "message": "no link"})
        return
    say(id=ident, result={})
    if mode == "floods":
        while True:
            frame()
    if mode == "lost":
        say(method="lost", params={"frames": 3})
    if mode == "down":
        say(method="link", params={"event": "down"})
    if mode == "long frame":
        frame(hex="00" * 2137)
    if mode == "odd frame":
        frame(hex="0")
    if mode == "odd sof":
        frame(sof=["i3"])
    if mode == "odd stamp":
        frame(at_us=1.5)
    if mode == "clock set back":
        frame(at_us=10**12)
        frame(at_us=1)
    if mode == "odd notification":
        say(method="completion", params={})
    if mode == "silent":
        time.sleep(3600)


for line in sys.stdin:
    message = json.loads(line)
    ident = message.get("id")
    if message["method"] == "hello":
        version = 2 if mode == "version" else 1
        say(id=ident, result={"frames": version, "implementation": "speaker", "version": "1", "capabilities": capabilities})
    elif message["method"] == "open":
        misbehave(ident)
    elif ident is not None:
        say(id=ident, **({"result": {}} if mode == "knows all" else {"error": {"code": -32601, "message": "no such method"}}))
