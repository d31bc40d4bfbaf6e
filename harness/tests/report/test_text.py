"""Tests what people read: names of files, times, colour, addresses in words; and the SARIF of what lint finds."""

from __future__ import annotations

import ipaddress
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import pytest

from fcvi.fc import codec

from .. import starts
from ..conftest import RECORDED, ROOT, fcvi

CRAFTED = ROOT / "pcaps/crafted"
CAPTURE = CRAFTED / "fc2-225.pcap"
SARIF = json.loads((ROOT / "harness/tests/report/schemas/sarif.json").read_text())


def on_a_terminal(*words: object, **environment: str) -> str:
    """What a terminal gets of a command."""
    ours, theirs = pty.openpty()
    env = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **environment}
    with starts.Popen([str(ROOT / "build/fcvi"), *map(os.fsdecode, words)], stdout=theirs,
                      stderr=subprocess.DEVNULL, env=env) as child:  # fmt: skip
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # the terminal has no other end any more
            pass
        os.close(ours)
        child.wait()
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", [["decode", "--frames", "1-5", CAPTURE], ["decode", "--summary", CAPTURE], ["lint", CAPTURE]])
def test_colour_is_for_terminals_that_want_it(words: list[object]) -> None:
    plain = fcvi(*map(str, words)).stdout
    painted = on_a_terminal(*map(str, words))
    assert "\x1b" not in plain and "\x1b[" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain
    assert on_a_terminal(*map(str, words), NO_COLOR="1") == on_a_terminal(*map(str, words), TERM="dumb") == plain


def test_what_stands_in_a_name_plays_with_no_terminal(tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[2Jb\x1b[1;31mc.pcap"
    hostile.write_bytes(CAPTURE.read_bytes())
    for words in (["decode", "--summary", str(hostile), str(CAPTURE)], ["lint", str(hostile)]):
        said = on_a_terminal(*words)
        assert "\x1b[2J" not in said and "a\\x1b[2Jb\\x1b[1;31mc" in said


def test_several_files_have_their_names() -> None:
    one, two = str(CAPTURE), str(CRAFTED / "fc2-224.pcap")
    lines = fcvi("decode", "--summary", one, two).stdout.splitlines()
    assert {line.split(": ")[0] for line in lines} == {one, two}
    of_one = [line.removeprefix(f"{one}: ") for line in lines if line.startswith(one)]
    assert of_one == fcvi("decode", "--summary", one).stdout.splitlines()


def test_times_count_from_the_first_record(tmp_path: Path) -> None:
    """In words; a program gets the times of the capture."""
    moved = tmp_path / "moved.pcap"
    subprocess.run(["editcap", "-F", "pcap", "-t", "1000", str(CAPTURE), str(moved)], check=True, capture_output=True)
    for words in (["decode", "--summary"], ["lint"]):
        said = [fcvi(*words, str(path)).stdout.replace(str(path), "") for path in (CAPTURE, moved)]
        assert said[0] == said[1]
    times = [json.loads(fcvi("decode", "--json", "--frames", "2", str(path)).stdout)["time"] for path in (CAPTURE, moved)]
    assert times[1] - times[0] == pytest.approx(1000)
    assert fcvi("decode", "--summary", "--frames", "1", str(moved)).stdout.split()[:2] == ["1", "0.000000"]


@pytest.mark.parametrize("frames, fine", [("29", True), ("29-", True), ("30", False), ("30-40", False), ("100-", False)])
def test_frames_beyond_the_end_are_told(frames: str, fine: bool) -> None:
    done = fcvi("decode", "--summary", "--frames", frames, str(CAPTURE))
    assert done.returncode == (0 if fine else 2) and bool(done.stdout) is fine
    assert fine or ("the capture has 29 records" in done.stderr and len(done.stderr.splitlines()) == 1)


def test_bits_are_those_of_the_table() -> None:
    """Behind the offset where a field is a part of its bytes."""
    text = fcvi("decode", "--frames", "3", str(CAPTURE)).stdout
    fields = {(f.name, f.byte): f for f in codec.FIELDS["FC"].values() if f.kind not in ("group", "blob")}
    lines = re.findall(r"^ {7,} (\d+)(\.[\d-]+)? +(\S.*?)  ", text.split("Frame_Header")[1].split("further bytes")[0], re.M)
    assert len(lines) > 30
    for byte, bits, name in (line for line in lines if line[2] != "data"):
        f = fields[name, int(byte)]
        part = f"{f.hi}" if f.hi == f.lo else f"{f.hi}-{f.lo}"
        assert bits.removeprefix(".") == ("" if (f.hi, f.lo) == (8 * f.size - 1, 0) else part), name


def test_addresses_are_told_apart_and_stand_in_words() -> None:
    capture = next(iter(sorted((RECORDED / "cases").glob("5.3.2*"))))
    frames = [json.loads(line) for line in fcvi("decode", "--json", str(capture)).stdout.splitlines()]
    seen = set()
    for frame in (f for f in frames if f.get("iu") in ("FCVI_CONNECT_RQST", "FCVI_CONNECT_RESP1")):
        for f in frame["fields"]:
            if f["name"] == "HOST_ADD":
                assert f["text"] == str(ipaddress.IPv6Address(bytes.fromhex(f["value"])))
            if f["name"] == "DISCRIM":
                assert f["text"] == bytes.fromhex(f["value"]).rstrip(b"\0").decode("ascii")
            if f["structure"] == "FCVI_NET_ADDRESS":
                seen.add((frame["iu"], f["within"], f["byte"] if f["name"] == "HOST_ADD" else 0))
    ius = {iu for iu, _, _ in seen}
    assert seen == {(iu, *place) for iu in ius for place in (
        ("FCVI_LOC_ADDR", 0), ("FCVI_REM_ADDR", 0), ("FCVI_LOC_ADDR", 72), ("FCVI_REM_ADDR", 220))}  # fmt: skip
    text = fcvi("decode", str(capture)).stdout
    assert text.index("FCVI_LOC_ADDR: FCVI_NET_ADDRESS (7.2)") < text.index("FCVI_REM_ADDR: FCVI_NET_ADDRESS (7.2)")


# ---- SARIF of lint ----


@pytest.mark.parametrize("names", [["fc2-225.pcap"], ["fc2-225.pcap", "fc2-225-badcrc.pcap"], ["/nowhere.pcap"]])
@pytest.mark.parametrize("more", [[], ["--jobs", "2"]])
def test_sarif_has_each_finding(names: list[str], more: list[str], tmp_path: Path) -> None:
    files, out = [str(CRAFTED / name) for name in names], tmp_path / "lint.sarif"
    done = fcvi("lint", "--json", "--sarif", str(out), *more, *files)
    log = json.loads(out.read_text())
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    *findings, last = [json.loads(line) for line in done.stdout.splitlines()]
    told = [(unquote(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]), r["properties"]["frame"], r["ruleId"])
            for r in run["results"]]  # fmt: skip
    assert told == [(f["file"], f["frame"], f["requirement"]) for f in findings]
    assert bool(told) is (names[0] != "/nowhere.pcap")
    levels = [r["level"] for r in run["results"]]
    summary = last["summary"]
    assert levels.count("error") == summary["violations"] + summary["malformed"] and levels.count("note") == summary["notices"]
    assert {r["ruleId"] for r in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert run["invocations"][0]["executionSuccessful"] is (done.returncode < 2)


def test_sarif_that_cannot_be_written_is_said_before_anything_is_judged(tmp_path: Path) -> None:
    done = fcvi("lint", "--sarif", str(tmp_path / "no/where.sarif"), str(CAPTURE))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and done.stdout == ""
