"""Tests that what a file is called, or a port calls itself, harms nobody who reads the output with another program."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcvi.flows.rows import flat

from ..conftest import PCAPS, ROOT, fcvi

CAPTURE = PCAPS / "field/revision-of-no-edition.pcap"


@pytest.fixture(name="odd")
def _odd(tmp_path: Path) -> str:
    """A capture whose name is not UTF-8."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/e\xff.pcap")
    shutil.copyfile(CAPTURE, path)
    return path


def test_sarif_names_a_file_by_its_bytes(odd: str, tmp_path: Path) -> None:
    """RFC 3986: the bytes of the name in percent."""
    done = fcvi("lint", "--trust", "whole", "--sarif", str(tmp_path / "s.sarif"), odd)
    assert "defect" not in done.stderr and done.returncode in (0, 1), done.stderr
    results = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert all(uri.endswith("/e%FF.pcap") for uri in uris), uris


@pytest.mark.parametrize("command", ["lint", "flows", "explain", "decode"])
def test_json_has_no_half_of_a_character(command: str, odd: str) -> None:
    """Strict readers refuse a lone surrogate, which is how Python keeps such a byte."""
    done = fcvi(command, "--json", odd)
    assert "\\udcff" not in done.stdout and done.returncode in (0, 1, 4), done.stderr
    names = _files([json.loads(line) for line in done.stdout.splitlines()])
    assert names and all(name.endswith("e\\xff.pcap") for name in names)


def _files(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["file"] for _ in range("file" in value)] + [name for member in value.values() for name in _files(member)]
    return [name for member in value for name in _files(member)] if isinstance(value, list) else []


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(first: str) -> None:
    """A Discriminator is what a port chose."""
    row = flat({"discriminator": [f'{first}HYPERLINK("x:y")', "plain"], "connection": "1", "latency_us": -1})
    text = io.StringIO()
    csv.writer(text).writerow(row.values())
    cell = {"\t": r"\t", "\r": r"\r"}.get(first, f"'{first}") + 'HYPERLINK("x:y")'
    assert next(csv.reader(io.StringIO(text.getvalue(), newline=""))) == [cell, "plain", "1", "-1"]


_SAYS = """#!/usr/bin/python3
import json, sys
now, words = 0, "x" * int(sys.argv[1]) + " ::add-mask::fail ##[stop-commands]a ##vso[task.complete]b ##teamcity[buildStatus]"
for line in sys.stdin:
    asked = json.loads(line)
    method, answer = asked["method"], {"error": {"code": -32603, "message": words}}
    if method == "hello":
        pics = {"server": True, "unreliable_delivery": True, "class3": True}
        answer = {"result": {"implementation": words[-90:], "version": "1", "clock": "virtual", "pics": pics}}
    elif method in ("reset", "clock.advance"):
        now += asked["params"].get("us", 0)
        answer = {"result": {"now_us": now}}
    elif not method.startswith("Vip"):
        answer["error"]["code"] = -32601
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


@pytest.mark.parametrize("words", [["run", "--select", "5.3.2/dut-server"], ["dut", "check"]], ids=["run", "check"])
def test_a_device_gives_no_command_to_the_runner_of_a_pipeline(words: list[str], tmp_path: Path) -> None:
    """GitHub looks for :: where a line begins and ##[ anywhere, Azure for ##vso[, TeamCity for ##teamcity[."""
    device = tmp_path / "device"
    device.write_text(_SAYS)
    device.chmod(0o755)
    for wide in range(0, 100, 7):
        spec = f"exec:{device} {wide}"
        done = fcvi(*words, *(["--dut", spec] if words[0] == "run" else [spec]))
        said = done.stdout + done.stderr
        assert "add-mask::fail" in said and r"#\u0023vso[" in said
        assert not re.search(r"##\w*\[|^\s*::", said, re.M), said


def test_the_runner_of_a_pipeline_finds_no_command_in_json(tmp_path: Path) -> None:
    name = tmp_path / "a##[add-path]b.pcap"
    shutil.copyfile(CAPTURE, name)
    done = fcvi("flows", "--json", str(name))
    assert "##[" not in done.stdout + done.stderr
    assert any(file.endswith("a##[add-path]b.pcap") for file in _files([json.loads(line) for line in done.stdout.splitlines()]))


def test_a_line_of_a_table_is_a_connection(tmp_path: Path) -> None:
    """The log of a job takes a line that begins with two colons for a command."""
    name = tmp_path / "a\n::error::b.pcap"
    name.write_bytes((ROOT / "pcaps/rev1/session.pcap").read_bytes())
    lines = fcvi("flows", "--csv", str(name)).stdout.splitlines()
    assert len(lines) == 2 and r"a\n::error::b.pcap" in lines[1]
