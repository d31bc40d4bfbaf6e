"""A device that drops an IU for one Reserved bit is caught, whichever bit it is; the places come from the field table.

Some of the devices are run; the nightly tier runs all of them (a quarter of a minute).
"""

from __future__ import annotations

from typing import Any, Optional

import pytest

from conformance.fcvi.steps.reserved import PLAIN, STATUS, Place, places, set_in, together
from fcvi.engine.results import Verdict
from fcvi.fc import codec
from fcvi.fc.build import Envelope, iu_frames

from .faulty import Fault, FaultyDut
from .test_faults import VARIANTS, run_on

_EVERY = 41  # one of so many is quick
_CASES = ("5.9.5.setup", "5.9.5.disconnect", "5.9.5.message")


class DropsOn(FaultyDut):
    """The reference port, deaf to an IU in which this one bit is set; or in which its byte has this value alone."""

    def __init__(self, place: Optional[Place], bit: int, exact: bool = False) -> None:
        self.place, self.bit, self.exact = place, bit, exact
        super().__init__(Fault("reserved", "", ""))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame" and self._minds(codec.decode(bytes.fromhex(params["hex"]))):
            return
        super().notify(method, params)

    def _minds(self, view: codec.Frame) -> bool:
        if self.place is None or view.iu != self.place.iu:
            return False
        offset, mask = self.place.masks[0]
        seen = view.data[(view.payload_offset if self.place.in_payload else view.dh_offset) + offset]
        return seen & mask == self.bit if self.exact else bool(seen & self.bit)


BITS = [
    (place, form, 1 << bit)
    for iu in codec.IUS for form in (PLAIN, STATUS) for place in places(iu, form)
    for bit in range(8) if place.masks[0][1] >> bit & 1
]  # fmt: skip


def variants_of(place: Place, form: str) -> list[str]:
    """The variants that set the place alone, in each role."""
    return [
        ident for ident, (case, v) in VARIANTS.items()
        if case.id in _CASES and (v.params["iu"], v.params["form"], v.params["field"]) == (place.iu, form, place.field)
    ]  # fmt: skip


SOME = [pytest.param(*one, marks=[] if at % _EVERY == 0 else pytest.mark.nightly) for at, one in enumerate(BITS)]


@pytest.mark.parametrize("place,form,bit", SOME, ids=lambda v: v.words if isinstance(v, Place) else str(v))
def test_a_device_that_minds_one_bit_is_caught(place: Place, form: str, bit: int) -> None:
    for ident in variants_of(place, form):
        result = run_on(DropsOn(place, bit), ident)
        assert result.verdict is Verdict.FAIL, (ident, result.reason)
        assert {"FCVI-5.9.5-02", place.requirement} - {"FCVI-5.9.5-01"} <= set(result.broken), (ident, result.broken)


@pytest.mark.parametrize("place,form,bit", BITS[7 :: 2 * _EVERY], ids=lambda v: v.words if isinstance(v, Place) else str(v))
def test_a_device_that_minds_one_value_of_a_byte_is_caught(place: Place, form: str, bit: int) -> None:
    idents = variants_of(place, form) + [i for i in VARIANTS if place.iu.lower().replace("_", "-") + "/together" in i]
    caught = [i for i in idents if run_on(DropsOn(place, bit, exact=True), i).verdict is Verdict.FAIL]
    assert caught, place.words


@pytest.mark.parametrize("ident", [i for i in VARIANTS if VARIANTS[i][0].id in _CASES][::9])
def test_a_device_that_minds_none_passes(ident: str) -> None:
    assert run_on(DropsOn(None, 0), ident).verdict is Verdict.PASS


def test_every_place_is_set_alone_by_a_variant() -> None:
    assert [p.words for p, form, _ in BITS if not variants_of(p, form)] == []


def test_the_table_has_the_fields_that_the_standard_prints() -> None:
    """Tables 3 to 10, 13 and 15 to 18: counted by hand, in bits."""
    count = {iu: sum(bin(p.masks[0][1]).count("1") for p in places(iu)) for iu in codec.IUS}
    words = 16 + 64 + 32  # the rest of Word 1, FCVI_RMT_VA, FCVI_RMT_VA_HANDLE
    payload = 32 + 16 + 2 * 16 + 16 + 6 + 24 + 32
    assert count == {
        "SEND_RQST": 7 + words + 32, "WRITE_RQST": 7 + 16 + 32, "READ_RQST": 7 + 16 + 32,
        "SEND_RESP": 4 + 16, "WRITE_RESP": 4 + 16, "READ_RESP": 4 + 16,
        "CONNECT_RQST": 3 + words + payload, "CONNECT_RESP1": 5 + words + payload,
        "CONNECT_RESP2": 5 + words, "CONNECT_RESP3": 5 + words, "DISCONNECT_RQST": 5 + words, "DISCONNECT_RESP": 5 + words,
    }  # fmt: skip


def test_only_the_named_bits_change() -> None:
    frame = iu_frames("CONNECT_RESP2", Envelope(1, 2, 3), {}, b"")[0].data
    changed = set_in(frame, together("CONNECT_RESP2"))
    assert changed[:29] == frame[:29] and changed[29] == frame[29] | 0xF8 and changed[30:32] == b"\xff\xff"
    assert changed[32:40] == frame[32:40] and changed[40:52] == b"\xff" * 12 and changed[52:] == frame[52:]
    assert set_in(frame, together("CONNECT_RESP3")) == frame
