"""``fcvi lint`` accuses nobody in captures of conforming ports that run by themselves."""

from pathlib import Path

import pytest

from conformance.tests.breaches import restarted
from conformance.tests.breaches.conforming import CLAIMS, trusts
from conformance.tests.breaches.judge import bad, lint
from conformance.tests.breaches.unusual import draw
from conformance.tests.breaches.wire import write_pcap


@pytest.mark.parametrize("trust, timing, seed, count", [
    ("", False, 1, 150), ("", True, 1, 150), (",".join(CLAIMS), False, 1, 150), (",".join(CLAIMS), True, 1, 150),
    *((",".join(trust), True, 1001, 30) for trust in trusts() if 0 < len(trust) < len(CLAIMS)),
])  # fmt: skip
def test_lint_accuses_no_port_that_is_only_unusual(tmp_path: Path, trust: str, timing: bool, seed: int, count: int) -> None:
    names = {}
    for session in map(draw, range(seed, seed + count)):
        if session.claims >= set(trust.split(",") if trust else ()) and session.frames:
            path = tmp_path / f"{session.name}.pcap"
            write_pcap(path, session.frames)
            names[str(path)] = session.name
    assert names, "no session is what it is trusted to be"
    found = lint([Path(p) for p in names], trust, timing)
    assert [(names[p], f["frame"], f["requirement"], f["message"]) for p, all_ in found.items() for f in all_ if bad(f)] == []


#: Sessions that a monitor accused which took equal names for one Message or one setup, and some more.
ONCE_ACCUSED = (2965, 3199, 4487, 5347, 6033)


@pytest.mark.parametrize("trust", ["", "order", "order,once"])
def test_lint_accuses_no_port_whose_new_login_was_not_captured(tmp_path: Path, trust: str) -> None:
    names = {}
    for session in map(restarted.draw, (*ONCE_ACCUSED, *range(1, 120))):
        if session is not None:
            path = tmp_path / f"{session.name}.pcap"
            write_pcap(path, session.frames)
            names[str(path)] = session.name
    assert len(names) > len(ONCE_ACCUSED)
    found = lint([Path(p) for p in names], trust)
    assert [(names[p], f["frame"], f["requirement"], f["message"]) for p, all_ in found.items() for f in all_ if bad(f)] == []


@pytest.mark.parametrize("trust", ["all,order", "all,order,once"])
def test_a_first_frame_that_busy_sent_back_before_the_capture_began_is_no_beginning(tmp_path: Path, trust: str) -> None:
    found = []
    for session in map(draw, range(1, 400)):
        frames = session.frames
        for i, f in enumerate(frames):
            # FCVI_CONNECT_RQST: the second frame, and behind it the first once more
            if f.opcode == 0x10 and f.cls == 2 and f.seq_cnt == 1:
                again = any(g.opcode == 0x10 and (g.ox, g.src, g.seq_cnt) == (f.ox, f.src, 0) for g in frames[i + 1 : i + 9])
                if again and session.claims >= set(trust.split(",")):
                    path = tmp_path / f"{session.name}.{i}.pcap"
                    write_pcap(path, frames[i:])
                    found.append(path)
    assert found, "no session has such a frame"
    accused = [(path, f["requirement"]) for path, all_ in lint(found, trust).items() for f in all_ if bad(f)]
    assert accused == []


def test_the_sessions_are_full_of_what_they_are_for() -> None:
    """Setups that fail and are tried again, Peers, aborts, logouts, Disconnects, both classes, responses."""
    seen: dict[str, int] = {}
    for session in map(draw, range(1, 61)):
        for f in session.frames:
            kinds = [f"r_ctl {f.r_ctl:02X}", f"class {f.cls}"] + ([f"opcode {f.opcode:02X}"] if f.opcode is not None else [])
            if f.opcode == 0x10:
                kinds += ["retry"] * bool(f.raw[5] & 16) + ["peers"] * (f.raw[5] & 7 == 2)
            for kind in kinds:
                seen[kind] = seen.get(kind, 0) + 1
    wanted = [f"opcode {code:02X}" for code in (0, 1, 2, 8, 9, 10, 0x10, 0x12, 0x18, 0x19, 0x1A, 0x1B)]
    wanted += ["class 2", "class 3", "retry", "peers", "r_ctl 81", "r_ctl 84", "r_ctl C0", "r_ctl 22", "r_ctl C5"]
    assert {kind: seen.get(kind, 0) for kind in wanted if seen.get(kind, 0) < 5} == {}
