"""Attachments: the DUT protocol kept, and every way of breaking it ends bounded and in words."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from fcvi.attach import attach
from fcvi.dut.rpc import RpcDut
from fcvi.engine.attachment import AttachError, Dut, DutError, Unavailable
from fcvi.engine.pixit import pixit_for
from fcvi.engine.target import parse
from fcvi.fc.configuration import base_config

from .. import starts
from ..conftest import FCVI, fcvi

PYTHON = "/usr/bin/python3"
ENDPOINT = f"exec:{shlex.quote(str(FCVI))} endpoint"
RECORDING = FCVI.parent.parent / "pcaps/field/disconnect-never-answered.pcap"
HELLO = '{"implementation":"x","version":"1","clock":"virtual","pics":{"client":true,"server":true,"unreliable_delivery":true}}'

# A DUT that keeps to the protocol until `break_at` comes, then does what `act` says.
SCRIPT = f"""
import json, os, sys, time
def out(s): sys.stdout.write(s + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: m["id"] = None
    method = m["method"]
    if BREAK(method):
        ACT
    if method == "hello": out('{{"jsonrpc":"2.0","id":%d,"result":{HELLO}}}' % m["id"])
    elif method.startswith("probe."): out('{{"jsonrpc":"2.0","id":%d,"error":{{"code":-32601,"message":"no"}}}}' % m["id"])
    elif method == "reset": out('{{"jsonrpc":"2.0","id":%d,"result":{{}}}}' % m["id"]); now = 0
    elif method == "clock.advance":
        now += m["params"]["us"]; out('{{"jsonrpc":"2.0","id":%d,"result":{{"now_us":%d,"next_us":null}}}}' % (m["id"], now))
    elif m["id"] is not None: out('{{"jsonrpc":"2.0","id":%d,"result":{{"return":"VIP_SUCCESS"}}}}' % m["id"])
"""
MID_CASE = 'lambda method: method == "VipCreateVi"'
PROBE = 'lambda method: method.startswith("probe.")'


def script(tmp_path: Path, when: str, act: str) -> str:
    """A DUT spec for SCRIPT with the parts filled in."""
    path = tmp_path / "dut.py"
    path.write_text(SCRIPT.replace("BREAK(", f"({when})(").replace("ACT", act))
    return f"exec:{PYTHON} {shlex.quote(str(path))}"


HOSTILE = [
    ("mute after hello", 'lambda m: m != "hello"', "continue", "did not answer"),
    ("closes after hello", 'lambda m: m != "hello"', "sys.exit(7)", "exit status 7"),
    ("echoes every line", "lambda m: True", "out(line.strip()); continue", "may only send notifications"),
    ("dies mid-case", MID_CASE, "os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ("nonsense mid-case", MID_CASE, "out('{\"jsonrpc\": nonsense'); continue", "not JSON at byte 12"),
    ("not UTF-8", MID_CASE, "sys.stdout.buffer.write(b'{\\xff\\n'); sys.stdout.flush(); continue", "not UTF-8 at byte 1"),
    ("70 KiB line", MID_CASE, "out('x' * 70000); continue", "byte 65536 is one too many"),
    ("70 KiB without end", MID_CASE, "sys.stdout.write('x' * 70000); sys.stdout.flush(); time.sleep(30)", "one too many"),
    ("answers the probe", PROBE, "out('{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}' % m['id']); continue", "honestly"),
    ("lies about the id", MID_CASE, "out('{\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}'); continue", "9999"),
    ("array", MID_CASE, "out('[]'); continue", "something other than an object"),
    ("unknown notification", MID_CASE, "out('{\"method\":\"nothing\"}'); continue", "unknown notification"),
    ("odd hex", MID_CASE, "out('{\"method\":\"frame\",\"params\":{\"hex\":\"abc\"}}')", "broke the DUT protocol"),
    ("long frame", MID_CASE, "out('{\"method\":\"frame\",\"params\":{\"hex\":\"%s\"}}' % ('00' * 3000))", "2136"),
    ("no vi in the result", "lambda m: False", "pass", 'no integer member "vi"'),
    ("time runs wrong", 'lambda m: m == "clock.advance"',
     "out('{\"id\":%d,\"result\":{\"now_us\":5,\"next_us\":null}}' % m['id']); continue", "now_us"),
    ("floods", MID_CASE, "\n        while True: out('{\"method\":\"log\",\"params\":{\"text\":\"x\"}}')", "floods"),
    ("no number", MID_CASE, "out('{\"id\":%d,\"result\":{\"a\":NaN}}' % m['id']); continue", "NaN is no JSON"),
    ("a number beyond all", MID_CASE, "out('{\"id\":%d,\"result\":{\"a\":1e999}}' % m['id']); continue", "1e999 is too large"),
    ("a member twice", MID_CASE, "out('{\"id\":%d,\"result\":{\"a\":1,\"a\":1}}' % m['id']); continue", "there twice"),
    ("deep nesting", MID_CASE, "out('[' * 60000); continue", "not JSON"),
]  # fmt: skip


@pytest.mark.parametrize("name, when, act, words", HOSTILE, ids=[h[0] for h in HOSTILE])
def test_hostile_dut_ends_in_words(name: str, when: str, act: str, words: str, tmp_path: Path) -> None:
    """No case passes, the exit status is 3, the report is written, and it does not take long."""
    report = tmp_path / "report"
    started = time.monotonic()
    done = fcvi("run", "--dut", script(tmp_path, when, act), "--select", "5.3.2/dut-client,D.R3", "--report", str(report),
                "--rpc-timeout", "1")  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert time.monotonic() - started < 45
    data = json.loads((report / "report.json").read_text())
    assert data["summary"]["pass"] == 0 and data["summary"]["error"] >= 1
    assert any(words in why for why in [data.get("error", ""), *(r["reason"] for r in data["results"])]), data
    assert {"junit.xml", "report.tap", "report.txt"} <= {p.name for p in report.iterdir()}


def test_the_first_answer_may_be_late(tmp_path: Path) -> None:
    """A device may have to start first; later it is as slow as it says."""
    attach(parse(script(tmp_path, 'lambda m: m == "hello"', "time.sleep(0.7)")), rpc_timeout_s=0.5).close()
    with pytest.raises(DutError, match="did not answer probe.* within 0.5 s"):
        attach(parse(script(tmp_path, PROBE, "time.sleep(0.7)")), rpc_timeout_s=0.5)


def test_echoing_every_frame_passes_nothing(tmp_path: Path) -> None:
    act = "out(json.dumps({'method': 'frame', 'params': m['params']})); continue"
    done = fcvi("run", "--dut", script(tmp_path, 'lambda m: m == "frame"', act), "--report", str(tmp_path / "r"))
    assert json.loads((tmp_path / "r/report.json").read_text())["summary"]["pass"] == 0
    assert done.returncode in (1, 3)


@pytest.mark.parametrize(
    "spec, words",
    [
        ("exec:", "unknown attachment"),
        ("exec:'unclosed", "cannot split"),
        ("tcp:a..b:1", "no host has such a name"),
        ("tcp:127.0.0.1:port", "cannot connect"),
        ("fcoe:", "names no interface"),
        ("fcoe:no-such-interface-here", "no such interface"),
        ("fcoe:lo", "loopback"),
        ("fcoe:lo,role=switch", "role 'switch' is not known"),
        ("fcoe:lo,mac=3", "mac is '3'"),
        ("fcoe:lo,mac", "not OPTION=VALUE"),
        ("fcoe:lo,speed=3", "option 'speed' is not known"),
        ("telepathy", "unknown attachment"),
    ],
)
def test_what_cannot_be_attached_is_bad_input(spec: str, words: str) -> None:
    done = fcvi("run", "--dut", spec)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "spec, words",
    [
        ("exec:/nonexistent/dut", "No such file"),
        ("exec:/etc/passwd", "Permission denied"),
        ("unix:/nonexistent/socket", "cannot connect"),
        ("tcp:127.0.0.1:1", "cannot connect"),
    ],
)
@pytest.mark.parametrize(
    "command", [["run"], ["run", "--quiet"], ["random"], ["fuzz"], ["learn"], ["replay", "--side", "010202", str(RECORDING)]]
)
def test_a_device_that_is_not_there_is_a_failed_attachment(command: list[str], spec: str, words: str) -> None:
    done = fcvi(*command, "--dut", spec)
    assert done.returncode == 3 and words in done.stderr and len(done.stderr.splitlines()) == 1, done


def test_a_device_may_speak_before_it_is_asked(tmp_path: Path) -> None:
    """A notification is not an answer: one in front of that to hello is taken as any other."""
    device = tmp_path / "device"
    told = '{"jsonrpc":"2.0","method":"log","params":{"text":"starting"}}'
    device.write_text(f"#!/bin/sh\necho '{told}'\nexec '{FCVI}' endpoint\n")
    device.chmod(0o755)
    done = fcvi("run", "--dut", f"exec:{device}", "--select", "D.R1")
    assert done.returncode == 0, done


# ---- the endpoint as a DUT ----


@pytest.fixture(params=["ref", ENDPOINT])
def dut(request: pytest.FixtureRequest) -> Any:
    """The reference port in both attachments."""
    attached = attach(parse(request.param))
    attached.reset(base_config(pixit_for("virtual"), 1))
    yield attached
    attached.close()


def call(dut: Dut, method: str, **params: Any) -> dict[str, Any]:
    """A call that does not block."""
    reply = dut.request(method, params)
    dut.advance(0)
    assert reply.done and reply.error is None, reply
    return reply.result


def error(dut: Dut, method: str, **params: Any) -> int:
    """The JSON-RPC error of a call."""
    reply = dut.request(method, params)
    dut.advance(0)
    assert reply.error is not None, reply.result
    return reply.error[0]


ADDRESS = {"host": "fe8000000000000000000000000000b2", "discriminator": "00" * 16}


def test_parameters_are_checked(dut: Dut) -> None:
    assert error(dut, "VipNoSuchCall") == -32601
    assert call(dut, "VipConnectPeerWait", vi=0)["return"] == "VIP_INVALID_PARAMETER"
    assert error(dut, "VipConnectPeerRequest", vi=0) == -32602
    assert error(dut, "VipCreateVi") == -32602
    assert error(dut, "VipCreateVi", ViAttribs=3) == -32602
    assert error(dut, "VipCreateVi", ViAttribs={"MaxTransferSize": -1}) == -32602
    assert error(dut, "VipDestroyVi", vi="0") == -32602
    assert error(dut, "VipDestroyVi", vi=True) == -32602
    assert call(dut, "VipDestroyVi", vi=77)["return"] == "VIP_INVALID_PARAMETER"
    assert call(dut, "VipDestroyVi", vi=-1)["return"] == "VIP_INVALID_PARAMETER"
    short = {**ADDRESS, "discriminator": "00" * 15}
    assert call(dut, "VipConnectWait", LocalAddr=short, Timeout=0)["return"] == "VIP_INVALID_PARAMETER"
    foreign = {**ADDRESS, "host": "00" * 16}
    assert call(dut, "VipConnectWait", LocalAddr=foreign, Timeout=0)["return"] == "VIP_INVALID_PARAMETER"
    assert error(dut, "VipConnectWait", LocalAddr={**ADDRESS, "host": "FE" * 16}) == -32602


def test_memory(dut: Dut) -> None:
    region = call(dut, "VipRegisterMem", length=10, rdma_write=False, rdma_read=False, fill="0102")
    assert call(dut, "mem.read", mem=region["mem"], offset=7, length=3) == {"hex": "020102"}
    assert call(dut, "mem.write", mem=region["mem"], offset=0, hex="ff") == {}
    assert call(dut, "mem.read", mem=region["mem"], length=2) == {"hex": "ff02"}
    assert error(dut, "mem.read", mem=region["mem"], offset=8, length=3) == -32602
    assert error(dut, "mem.read", mem=9, length=1) == -32602
    assert error(dut, "mem.read", mem=region["mem"], length=30001) == -32602
    assert re.fullmatch("[0-9a-f]{16}", region["va"])
    assert call(dut, "VipDeregisterMem", mem=region["mem"])["return"] == "VIP_SUCCESS"


def test_posted_sends_answer_first_and_complete_in_error_when_idle(dut: Dut) -> None:
    vi = call(dut, "VipCreateVi", ViAttribs={})["vi"]
    descriptor = {"op": "send", "segments": [], "remote": None, "immediate": None}
    assert call(dut, "VipPostSend", vi=vi, descriptor=descriptor)["return"] == "VIP_SUCCESS"
    done = call(dut, "VipSendDone", vi=vi)
    assert done["return"] == "VIP_DESCRIPTOR_ERROR"
    assert "VIP_STATUS_DESC_FLUSHED_ERROR" in done["DescriptorPtr"]["status"]
    assert call(dut, "VipSendDone", vi=vi) == {"return": "VIP_DESCRIPTOR_ERROR", "DescriptorPtr": None}
    assert [n.method for n in dut.inbox if n.method != "log"] == ["completion"]


def test_peers_and_rdma_over_loopback(dut: Dut) -> None:
    """Two VIs of one port find each other as Peers (5.3.4) and read and write each other's memory."""
    attributes = {"ReliabilityLevel": "VIP_SERVICE_RELIABLE_RECEPTION", "EnableRdmaWrite": True, "EnableRdmaRead": True}
    vis = [call(dut, "VipCreateVi", ViAttribs=attributes)["vi"] for _ in range(2)]
    assert call(dut, "VipConnectPeerDone", vi=vis[0])["return"] == "VIP_INVALID_STATE"
    assert error(dut, "VipConnectPeerRequest", vi=vis[0], LocalAddr=ADDRESS) == -32602
    for vi in vis:
        asked = call(dut, "VipConnectPeerRequest", vi=vi, LocalAddr=ADDRESS, RemoteAddr=ADDRESS, Timeout=None)
        assert asked["return"] == "VIP_SUCCESS"
    assert call(dut, "VipConnectPeerDone", vi=vis[0])["return"] == "VIP_SUCCESS"
    waited = call(dut, "VipConnectPeerWait", vi=vis[1])
    assert waited["RemoteViAttribs"]["ReliabilityLevel"] == "VIP_SERVICE_RELIABLE_RECEPTION"
    assert [n.method for n in dut.inbox if n.method == "frame"] == []
    here = call(dut, "VipRegisterMem", length=3000, rdma_write=False, rdma_read=False, fill="0a")
    there = call(dut, "VipRegisterMem", length=3000, rdma_write=True, rdma_read=True, fill="0b")
    remote = {"va": there["va"], "handle": there["handle"]}
    for op in ("rdma-write", "rdma-read"):
        segments = [{"mem": here["mem"], "offset": 1, "length": 2999}]
        call(dut, "VipPostSend", vi=vis[0], descriptor={"op": op, "segments": segments, "remote": remote, "immediate": None})
        assert call(dut, "VipSendDone", vi=vis[0])["return"] == "VIP_SUCCESS"
    assert call(dut, "mem.read", mem=there["mem"], length=3000) == {"hex": "0a" * 2999 + "0b"}


def test_time_and_reset(dut: Dut) -> None:
    reply = dut.request("VipConnectWait", {"LocalAddr": ADDRESS, "Timeout": 500})
    dut.advance(0)
    assert not reply.done and dut.knows_next and dut.next_us == 500
    dut.advance(499)
    assert not reply.done and dut.next_us == 1
    dut.advance(1)
    assert reply.result == {"return": "VIP_TIMEOUT"} and dut.next_us is None and dut.now_us == 500
    assert call(dut, "clock.next") == {"us": None}
    blocked = dut.request("VipConnectWait", {"LocalAddr": ADDRESS})
    dut.reset(base_config(pixit_for("virtual"), 1))
    assert blocked.error is not None and blocked.error[0] == -32001 and dut.now_us == 0


def test_hostile_frames_do_no_harm(dut: Dut) -> None:
    for hexadecimal in ("", "00" * 5, "58" * 24, "ff" * 2136, "010200" * 40):
        dut.notify("frame", {"hex": hexadecimal})
    dut.notify("frame", {"hex": "0"})
    dut.notify("frame", {})
    dut.notify("link", {"event": "none"})
    dut.advance(0)
    assert call(dut, "VipCreateVi", ViAttribs={})["return"] == "VIP_SUCCESS"


def raw(lines: bytes) -> list[dict[str, Any]]:
    """What the endpoint answers to these lines."""
    return [json.loads(line) for line in fcvi("endpoint", stdin=lines).stdout.splitlines()]


@pytest.mark.parametrize("wire", ["fc", "tcp"])
def test_the_endpoint_reads_its_lines_from_a_file(wire: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2}}\n')
    with lines.open("rb") as source:
        done = starts.run([str(FCVI), "endpoint", "--wire", wire], stdin=source, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert json.loads(done.stdout)["result"]["clock"] == "virtual"


def test_lines_that_are_no_requests() -> None:
    answers = raw(b'nonsense\n[]\n{"id":1}\n{"jsonrpc":"2.0","id":"a","method":"VipQueryVi","params":{}}\n\xff\n')
    assert [a["error"]["code"] for a in answers] == [-32700, -32600, -32600, -32000, -32700]
    assert answers[3]["id"] == "a"
    hello = raw(b'{"id":1,"method":"hello","params":{"protocol":1,"unknown":true}}\n')[0]["result"]
    assert hello["clock"] == "virtual" and hello["pics"]["client"] is True
    assert raw(b'{"id":1,"method":"hello","params":{"protocol":3}}\n')[0]["error"]["code"] == -32602
    done = fcvi("endpoint", stdin=b"x" * 70000)
    assert done.returncode == 3 and "65536 bytes" in done.stderr


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_served_on_a_socket(kind: str, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s" if kind == "unix" else "tcp:127.0.0.1:0"
    server = starts.Popen([str(FCVI), "endpoint", "--listen", address], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        where = server.stdout.readline().split()[-1]
        done = fcvi("run", "--dut", f"{kind}:{where}", "--select", "D.*")
        assert done.returncode == 0, done.stdout
    finally:
        server.terminate()
        server.wait(timeout=10)


def test_listening_where_one_cannot() -> None:
    done = fcvi("endpoint", "--listen", "tcp:127.0.0.1")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_a_real_clock() -> None:
    """The same cases in real time: short timers, no clock.advance."""
    started = time.monotonic()
    done = fcvi("run", "--dut", f"{ENDPOINT} --clock real", "--select", "D.R1/dut-client/*,5.3.2/dut-server")
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - started < 20


def test_process_is_gone_after_close(tmp_path: Path) -> None:
    path = tmp_path / "stay.py"
    path.write_text("import time, sys\nsys.stdin.read()\ntime.sleep(60)\n")
    started = time.monotonic()
    with pytest.raises(DutError):
        attach(parse(f"exec:{PYTHON} {shlex.quote(str(path))}"), rpc_timeout_s=0.3)
    assert time.monotonic() - started < 10


def test_attach_errors_name_the_spec() -> None:
    with pytest.raises(AttachError, match="fcoe:x"):
        attach(parse("fcoe:x"))


def test_version_2_is_spoken_and_version_1_stays_valid(tmp_path: Path) -> None:
    lines = b'{"id":1,"method":"hello","params":{"protocol":1}}\n{"id":2,"method":"hello","params":{"protocol":2}}\n'
    first, second = (answer["result"] for answer in raw(lines))
    assert "protocol" not in first and "wires" not in first
    assert (second["protocol"], second["wires"], second["revision"]) == (2, ["fc"], "2007")
    old = 'lambda m: m == "hello" and json.loads(line)["params"]["protocol"] != 1'
    refusal = "out('{\"id\":%d,\"error\":{\"code\":-32602,\"message\":\"protocol must be 1\"}}' % m['id']); continue"
    spec = script(tmp_path, old, refusal)
    attached = attach(parse(spec))
    assert isinstance(attached, RpcDut) and (attached.protocol, attached.wires, attached.revision) == (1, ("fc",), "2007")
    attached.reset(base_config(pixit_for("virtual"), 1))
    with pytest.raises(Unavailable, match="no edition 'rev1'"):
        attached.reset({"revision": "rev1"})
    attached.close()


def test_another_wire_than_fc_is_refused_in_words(dut: Dut) -> None:
    config = base_config(pixit_for("virtual"), 1)
    dut.reset({**config, "wire": "fc", "revision": "2007"})
    with pytest.raises((DutError, Unavailable), match="wire"):
        dut.reset({**config, "wire": "tcp"})
    with pytest.raises((DutError, Unavailable), match="revision"):
        dut.reset({**config, "revision": "rev2"})
