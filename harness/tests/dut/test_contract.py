"""The DUT protocol: what its document shows, what its schema says, and what ``fcvi dut check`` finds in adapters."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fcvi.dut.contract.shapes import DUT_PROTOCOL
from fcvi.dut.refserver import RefServer

from .. import starts
from ..conftest import ROOT

DOCUMENT = "".join(
    (ROOT / f"harness/docs/{name}.md").read_text(encoding="utf-8") for name in ("dut-protocol", "dut-protocol-calls")
)
EXAMPLES = re.findall(r"```dut-protocol\n(.*?)```", DOCUMENT, re.S)
FCVI = str(ROOT / "build/fcvi")


def _alike(shown: Any, seen: Any) -> bool:
    """Whether an answer has every member that the document shows: codes and strings as shown, numbers of the same type."""
    if shown == "*":
        return isinstance(seen, str)
    if isinstance(shown, dict):
        return isinstance(seen, dict) and all(name in seen and _alike(value, seen[name]) for name, value in shown.items())
    if isinstance(shown, bool) or isinstance(shown, str) or shown is None:
        return bool(shown == seen)
    return type(shown) is type(seen)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_of_the_document_is_what_the_reference_answers(number: int) -> None:
    lines = EXAMPLES[number].strip().splitlines()
    answers: list[dict[str, Any]] = []

    def answer(token: int, result: Any, error: Any) -> None:
        body = {"result": result} if error is None else {"error": {"code": error[0], "message": error[1]}}
        answers.append({"jsonrpc": "2.0", "id": token, **body})

    server = RefServer(lambda method, params: None, answer)
    for line in lines:
        message = json.loads(line[2:])
        if line.startswith("> ") and "id" in message:
            server.request(message["id"], message["method"], message["params"])
        elif line.startswith("< ") and "id" in message:
            assert _alike(message, answers.pop(0)), line
    server.close()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_of_the_document_has_the_shape_of_the_schema(number: int) -> None:
    from jsonschema import Draft202012Validator

    asked: dict[int, str] = {}
    for line in EXAMPLES[number].strip().splitlines():
        message = json.loads(line[2:].replace('"va":"*"', '"va":"0000000000001000"'))
        wrong_on_purpose = line.startswith("> ") and ('"us":-1' in line)
        if line.startswith("> ") and "id" in message:
            asked[message["id"]] = message["method"]
        if not wrong_on_purpose:
            Draft202012Validator(DUT_PROTOCOL.schema).validate(message)
        if line.startswith("< ") and "result" in message:
            assert DUT_PROTOCOL.result_flaw(asked[message["id"]], message["result"]) is None, line


def test_document_and_schema_name_the_same_methods_notifications_and_items() -> None:
    for name in DUT_PROTOCOL.methods():
        assert f"`{name}`" in DOCUMENT, name
    for name in DUT_PROTOCOL.schema["$defs"]:
        if name.startswith("notification."):
            assert f"`{name[len('notification.'):]}`" in DOCUMENT, name
    for item in DUT_PROTOCOL.schema["$defs"]["pics"]["properties"]:
        assert f"`{item}`" in DOCUMENT, item


def test_schema_has_the_methods_and_items_of_the_reference_port() -> None:
    from fcvi.dut import refserver
    from conformance.fcvi.pics import ITEMS

    server = refserver.RefServer(lambda method, params: None, lambda token, result, error: None)
    assert set(DUT_PROTOCOL.methods()) == {"hello", "reset", *server._methods}
    assert set(DUT_PROTOCOL.schema["$defs"]["pics"]["properties"]) == {*ITEMS.booleans, *ITEMS.numbers, *ITEMS.words}


def test_every_line_of_a_run_has_the_shape_of_the_schema(tmp_path: Path) -> None:
    """A go-between writes down both directions of a run over exec:; requests, answers and notifications fit."""
    log = tmp_path / "lines"
    between = tmp_path / "between.py"
    between.write_text(
        "import subprocess, sys, threading\n"
        f"device = subprocess.Popen([{FCVI!r}, 'endpoint'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"log = open({str(log)!r}, 'ab', 0)\n"
        "def back():\n"
        "    for line in device.stdout:\n"
        "        log.write(b'< ' + line)\n"
        "        sys.stdout.buffer.write(line)\n"
        "        sys.stdout.buffer.flush()\n"
        "threading.Thread(target=back, daemon=True).start()\n"
        "for line in sys.stdin.buffer:\n"
        "    log.write(b'> ' + line)\n"
        "    device.stdin.write(line)\n"
        "    device.stdin.flush()\n"
    )
    chosen = "5.3.2/*,5.3.4.a/*,D.R1/*,6.6/*,7.2/*,7.7.1.logout/*"
    ran = starts.run(
        [FCVI, "run", "--dut", f"exec:{sys.executable} {between}", "--select", chosen, "--quiet"], timeout=60, check=False
    )
    assert ran.returncode == 0
    asked: dict[int, str] = {}
    lines = log.read_text().splitlines()
    assert len(lines) > 500
    seen: set[str] = set()
    for line in lines:
        message = json.loads(line[2:])
        kind = f"{line[0]} {'notification' if 'id' not in message else 'answer' if 'method' not in message else message['method']}"
        if "method" in message and "id" in message:
            asked[message["id"]] = message["method"]
        text = re.sub(r"\d+", "0", line)
        if text in seen and "result" not in message:
            continue
        seen.add(text)
        if "method" in message and message["method"].startswith("probe."):
            continue
        if "method" in message:
            part = "params" if "id" in message else "notification"
            assert DUT_PROTOCOL.flaw(f"{part}.{message['method']}", message["params"]) is None, (kind, line[:200])
        elif "result" in message:
            assert DUT_PROTOCOL.result_flaw(asked[message["id"]], message["result"]) is None, line[:200]


def check(spec: str, *options: str) -> tuple[int, str]:
    """Status and output of ``fcvi dut check``."""
    ran = starts.run([FCVI, "dut", "check", spec, *options], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout + ran.stderr


def starters(tmp_path: Path) -> dict[str, str]:
    """The commands that start the starter devices."""
    binary = tmp_path / "device"
    source = str(ROOT / "harness/starters/device.c")
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-ljansson", "-o", str(binary)]
    subprocess.run(command, check=True, timeout=60)
    return {
        "c": f"exec:{binary}",
        "python": f"exec:{ROOT}/harness/starters/device.py",
        "perl": f"exec:{ROOT}/harness/starters/device.pl",
    }


@pytest.mark.parametrize("language", ["c", "python", "perl"])
def test_starter_keeps_to_the_protocol_and_passes_its_first_case(language: str, tmp_path: Path) -> None:
    spec = starters(tmp_path)[language]
    status, said = check(spec)
    assert status == 0, said
    command = [FCVI, "run", "--dut", spec, "--select", "5.3.2/dut-server", "--select", "C.R11"]
    ran = starts.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "5 cases: 3 pass, 1 fail, 1 not-applicable" in ran.stdout, ran.stdout  # one part of C.R11 is more than a starter has


@pytest.mark.parametrize("options", ["", " --revision rev1"])
def test_reference_endpoint_has_nothing_to_mend(options: str) -> None:
    status, said = check(f"exec:{FCVI} endpoint{options}", "--json")
    found = json.loads(said)
    assert status == 0
    assert found["not_served"] == []
    assert {entry["outcome"] for entry in found["checks"]} == {"ok"}


#: What is replaced in device.py, and what the check says of the device then.
BROKEN = {
    "answers every method": ('"error": {"code": -32601', '"error": {"code": -32602', "random method"),
    "serves calls before reset": ("-32000", "-32603", "before reset"),
    "takes a reset without identifier": ('config["n_port_id"], config["peer"]["n_port_id"]', '"010200", "010100"', "wrong reset"),
    "clock forgets": ("self.now += us", "self.now = us", "clock"),
    "clock runs back": ('or params["us"] < 0', "", "clock"),
    "wrong params succeed": ("except (Invalid, KeyError, TypeError) as error", "except (ZeroDivisionError) as error", "broke off"),
    "no jsonrpc member": ('{"jsonrpc": "2.0", **message}', "{**message}", "jsonrpc"),
    "state in capitals": ('"state": "idle"', '"state": "IDLE"', "VipQueryVi"),
    "short Discriminators": ('32 <= len(local["discriminator"]) <= 256', "True", "addresses"),
    "long Discriminators": ('len(local["discriminator"]) <= 256', 'len(local["discriminator"])', "addresses"),
    "wait never ends": ("entry[2] <= self.now", "False", "calls that block"),
    "wait ends with the wrong code": ("VIP_TIMEOUT", "VIP_NOT_DONE", "calls that block"),
    "reset forgets open calls": (
        "for blocked, _, _ in self.port.waiting if self.port else ():", "for blocked in ():", "calls that block",
    ),  # fmt: skip
    "dies of a frame": ("self.port.receive(bytes.fromhex", "sys.exit(bytes.fromhex", "broke off"),
    "prints beside the protocol": ("Device().run()", "print('ready', flush=True); Device().run()", "not JSON"),
    "says nothing": ("Device().run()", "sys.stdin.read()", "did not answer hello"),
    "virtual clock without a time": ('{"now_us": self.now, ', "{", "clock"),
    "PICS of its own": ('"server": True,', '"server": True, "colour": "blue",', "hello"),
    "number as text": ('"vi": len(self.vis) - 1', '"vi": str(len(self.vis) - 1)', "VIs"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_check_says_what_to_mend(fault: str, tmp_path: Path) -> None:
    old, new, words = BROKEN[fault]
    source = (ROOT / "harness/starters/device.py").read_text()
    assert source.count(old) >= 1
    device = tmp_path / "device.py"
    device.write_text(source.replace(old, new))
    status, said = check(f"exec:/usr/bin/python3 {device}", "--timeout", "1")
    assert status in (1, 3), said
    assert any(line.startswith("mend") and words in line for line in said.splitlines()), said


@pytest.mark.parametrize(
    "spec, expected",
    [("ref", 2), ("exec:", 2), ("nonsense", 2), ("fcoe:eth0", 2), ("unix:/nonexistent/socket", 3), ("tcp:127.0.0.1:1", 3),
     ("exec:/nonexistent", 3)],
)  # fmt: skip
def test_check_of_what_cannot_be_attached_is_one_line(spec: str, expected: int) -> None:
    """What names no device is wrong usage; what names one that is not there failed to attach."""
    status, said = check(spec)
    assert status == expected
    assert len(said.strip().splitlines()) == 1


def test_check_quotes_the_last_words_on_standard_error() -> None:
    status, said = check("exec:sh -c 'echo the licence has expired >&2; exit 7'")
    assert status == 3
    assert "the licence has expired" in said and "exit status 7" in said


def test_a_device_of_vi_tcp_is_held_against_its_own_protocol(tmp_path: Path) -> None:
    """The reference endpoint has nothing to mend; what does not claim the wire, or opens no stream, is told so."""
    status, words = check(f"exec:{ROOT}/build/fcvi endpoint --wire tcp", "--wire", "tcp")
    assert status == 0 and "ok    streams" in words, words
    status, words = check(f"exec:{ROOT}/build/fcvi endpoint", "--wire", "tcp")
    assert status != 0 and 'names "tcp" among them' in words, words
    for number, (change, expected) in enumerate((
        ('s/"tcp":true/"tcp":false/', "do not claim tcp"),
        ('s/"stream.open"/"stream.opened"/', "opened no stream"),
        ('s/ffff0a000001","port"/ffff0a000009","port"/', "it goes to the host"),
    )):  # fmt: skip
        device = tmp_path / f"device{number}"
        device.write_text(f"#!/bin/sh\n{ROOT}/build/fcvi endpoint --wire tcp | sed -u '{change}'\n")
        device.chmod(0o755)
        status, words = check(f"exec:{device}", "--wire", "tcp")
        assert status == 1 and expected in words, words
