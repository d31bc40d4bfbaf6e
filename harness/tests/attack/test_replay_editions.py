"""``fcvi replay`` of a capture of Rev 1.0 (1999): what is the device's choice there, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import pytest

from fcvi.fc.build import RawFrame
from fcvi.replay import bare, oracle
from fcvi.replay.frames import View, Wire
from fcvi.replay.ids import Translation
from fcvi.replay.recording import FrameEvent, Recording

from .. import starts
from ..fc import rev1_bytes
from ..conftest import FCVI, ROOT

SESSION = ROOT / "pcaps/rev1/session.pcap"
CLIENT, SERVER = 0x010200, 0x010100
OTHER = "00001234"  # the handle that another device gives
AT_HANDLE, AT_MSG_ID, AT_GIVEN = 24, 32, 24 + 16 + 4


def recording(side: int = CLIENT, edition: str = "auto") -> Recording:
    """The session, with one of its sides to be played."""
    return bare.load(SESSION, frozenset({side}), None, edition=edition)


def views(played: Recording) -> list[View]:
    """Its frames."""
    events = [e for e in played.events if isinstance(e, FrameEvent)]
    return [View(e.frame, e.sender, 0, played.edition) for e in events]


def changed(view: View, at: int, value: str) -> View:
    """The frame with other bytes there."""
    data = bytearray(view.raw.data)
    data[at : at + len(value) // 2] = bytes.fromhex(value)
    return View(RawFrame(bytes(data), view.raw.sof, view.raw.eof, view.raw.crc_ok), view.sender, 0, "rev1")


def test_the_edition_is_found_and_may_be_told() -> None:
    assert recording().edition == recording(edition="rev1").edition == "rev1"
    assert recording(edition="2007").edition == "2007"
    assert recording().config["host"] == ["0000000000000000000000000a000001"]
    assert [view.title for view in views(recording())][-1] == "FCVI_DISCONNECT_RESP"  # 1Ah


@pytest.mark.parametrize(
    "number, at, value, field",
    [
        (None, 0, "", None),
        (5, AT_MSG_ID, "00000001", "VI_MSG_ID"),
        (5, AT_HANDLE, "00001234", "VI_HANDLE"),  # a handle that the tester never gave
        (2, 24 + 16 + 304, "02", "RELIABILITY_LVL"),
        (9, AT_MSG_ID, "00000001", "VI_MSG_ID"),
    ],
)
def test_another_device_gives_another_handle(number: Optional[int], at: int, value: str, field: Optional[str]) -> None:
    """The tester sends on to the handle that the device has given now."""
    recorded, wire, found = views(recording()), Wire(Translation(), frozenset()), []
    for index, view in enumerate(recorded, 1):
        if view.sender == "tester":
            sent = wire.outgoing(view)
            if index >= 3:
                assert sent.data[AT_HANDLE : AT_HANDLE + 4].hex() == OTHER
            continue
        seen = changed(view, AT_GIVEN, OTHER) if index == 2 else view
        found += wire.compare(view, changed(seen, at, value) if index == number else seen)
    assert [d.field for d in found] == ([field] if field else [])


def test_a_device_of_1999_is_judged_by_its_own_rows() -> None:
    assert not oracle.recorded(recording(SERVER)) and not oracle.recorded(recording(CLIENT))
    spoilt = recording(SERVER)
    first = next(e for e in spoilt.events if isinstance(e, FrameEvent) and e.frame.data[28] == 0)
    data = bytearray(first.frame.data)
    data[AT_MSG_ID + 3] = 1
    first.frame = RawFrame(bytes(data), first.frame.sof, first.frame.eof, True)
    assert set(oracle.recorded(spoilt)) == {"REV1-5.7.5-01"}


def test_a_case_of_a_run_of_1999_is_played_again(tmp_path: Path) -> None:
    """The edition of a report's recording is that of its reset."""
    case = "R1.5.3.a/unreliable/class3"
    run = [str(FCVI), "run", "--dut", "ref", "--revision", "rev1", "--select", case, "--report", str(tmp_path), "--quiet"]
    assert starts.run(run, timeout=60, check=False).returncode == 0
    (capture,) = tmp_path.glob("*.pcapng")
    again = starts.run(
        [str(FCVI), "replay", "--json", "--dut", "ref:rev1", str(capture)], capture_output=True, text=True, timeout=60, check=False
    )
    assert again.returncode == 0 and json.loads(again.stdout)["compared"] > 0, again


def test_a_device_of_2007_is_accused_of_nothing() -> None:
    """The recording does not apply to it."""
    done = starts.run(
        [str(FCVI), "replay", "--json", "--side", "010200", str(SESSION)], capture_output=True, text=True, timeout=60, check=False
    )
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["compared"] == 0 and "of edition rev1" in said["not_applicable"]


def test_one_frame_of_2007_makes_no_recording_of_2007(tmp_path: Path) -> None:
    frames = rev1_bytes.session()
    strange = rev1_bytes.frame("01", "290000", 9, rev1_bytes.SERVER + "00000000" "00000003" + "00" * 20)
    path = tmp_path / "strange.pcap"
    path.write_bytes(rev1_bytes.capture([*frames[:7], strange, *frames[7:]]))
    assert bare.load(path, frozenset({CLIENT}), None).edition == "rev1"
