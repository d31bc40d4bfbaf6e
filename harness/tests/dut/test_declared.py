"""A device whose hello declares what no catalogue knows: every attack and every walk refuses it in one line, and closes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fcvi.cli import main

_DEVICE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "hello":
        told = {"result": {"protocol": 1, "implementation": "x", "version": "1", "clock": "virtual", "pics": %s}}
    else:
        told = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"id": asked.get("id"), **told}), flush=True)
"""


@pytest.mark.parametrize("command", [["fuzz", "--batches", "2"], ["random", "--seed", "1"], ["learn"]], ids=lambda words: words[0])
@pytest.mark.parametrize("pics, said", [('{"frobnicate": True}', "unknown PICS item 'frobnicate'"),
                                        ('{"client": 7}', "PICS item client must be true or false, not 7")])  # fmt: skip
def test_a_wrong_hello_is_refused_in_one_line(
    command: list[str], pics: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = tmp_path / "device.py"
    device.write_text(_DEVICE % pics)
    assert main([*command, "--dut", f"exec:{sys.executable} {device}"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and said in printed.err
