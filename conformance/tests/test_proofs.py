"""Every check of the books of a wire proves itself: a device that breaks just what it compares is failed by its requirement.

A tenth of the proofs is shown again here; the nightly tier plays all of them and compares the tables.
"""

from __future__ import annotations

import hashlib
import re

import pytest

from conformance.proofs.__main__ import open_checks, played
from conformance.proofs.books import BOOKS
from conformance.proofs.breaks import Break, understand
from conformance.proofs.derive import devices, values_of
from conformance.proofs.play import ROOT, Player
from conformance.proofs.table import CHOICE, Proof, explained, load, path_of, proofs_of, short_table

from fcvi.engine.proof import Record, Sight

_DECREE = re.compile(r"checked\.(add|update)\(|\.checked \|=|\.named\(")
_SHARE = 10  # one proof of so many is shown again


def _drawn(proof: Proof) -> bool:
    return hashlib.sha256("\t".join(proof.name).encode()).digest()[0] % _SHARE == 0


@pytest.mark.parametrize("book", [*BOOKS, "vipl", "verbs"])
def test_no_requirement_is_decreed(book: str) -> None:
    """A case or step says what it compares; it never says that a requirement is checked."""
    for part in ("cases", "steps"):
        for path in sorted((ROOT / "conformance" / book / part).rglob("*.py")):
            found = [n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if _DECREE.search(line)]
            assert found == [], f"{path.relative_to(ROOT)}, lines {found}"


@pytest.mark.parametrize("book", BOOKS)
def test_a_tenth_of_the_proofs_is_shown_again(book: str) -> None:
    player = Player(BOOKS[book])
    variants = {case.variant_id(variant): (case, variant) for case, variant in player.variants()}
    drawn = [proof for proof in load(book) if proof.device and _drawn(proof)]
    assert len(drawn) > 10
    for proof in drawn:
        case, variant = variants[proof.variant]
        seen = player.seen(case, variant, understand(proof.device))
        assert seen.of(proof.requirement, player.levels) == "named", proof


@pytest.mark.parametrize("book", BOOKS)
def test_what_is_not_proved_has_its_reason(book: str) -> None:
    open_ones = {proof.name for proof in load(book) if proof.verdict not in ("named", "tolerated")}
    assert open_ones == {name for name in explained(book) if name[1] != CHOICE}
    assert all(len(reason.split()) > 3 for reason in explained(book).values())


@pytest.mark.nightly
@pytest.mark.parametrize("book", BOOKS)
def test_the_table_is_what_the_checks_give(book: str) -> None:
    player = Player(BOOKS[book])
    checks = played(player, "")
    assert open_checks(player, checks) == []
    assert short_table(proofs_of(checks, player.sweep_fields(checks))) == path_of(book).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "device",
    [
        Break("out", "CONNECT_RQST", (1, 2), "drop"), Break("out", "CONNECT_RQST", (3,), "DH.CONN_MODE=", 2),
        Break("member", "VipQueryVi", (4,), "State", ("VIP_STATE_IDLE", "VIP_STATE_ERROR")), Break("deaf", "RDMA Read Request"),
        Break("ret", "VipConnectAccept", (1,), value="VIP_SUCCESS"), Break("say", "SEND_RQST ABTS", what="dut:4000:ffff", value=7),
    ],
    ids=str,
)  # fmt: skip
def test_the_words_of_a_device_are_read_again(device: Break) -> None:
    assert understand(str(device)) == device


def test_a_message_that_is_asked_for_gives_a_device_without_it() -> None:
    record = Record("expect", "x.py:1", "x", "R", (Sight("message", "CONNECT_RQST", (2,)),), ("CONNECT_RQST",))
    assert Break("out", "CONNECT_RQST", (2,), "drop") in list(devices(record, 1, lambda kind: ()))


def test_a_value_gives_devices_with_others_and_never_one_that_passes() -> None:
    sight = Sight("field", "CONNECT_RESP1", (1,), "DH.CONN_STS", 0)
    record = Record("equal", "x.py:1", "x", "R", (sight,), (0,))
    assert {device.value for device in devices(record, 1, lambda kind: ())} == {1}
    assert set(values_of("DH.FCVI_HANDLE", 5)) >= {4, 0, 0xFFFFFFFF, 6, 0x80000005}
