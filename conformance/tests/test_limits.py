"""A device that takes no more than its PICS says passes: no case is drawn beyond what was told."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.cases import all_cases
from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Reply
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

LEVELS = {r.id: r.level for r in load_requirements()}
VARIANTS = [(c, v) for c in all_cases() for v in c.variants]
#: Cases whose variants say how long their Discriminators are, and a share of the others.
WITH_LENGTHS = ("7.2", "5.3.2", "6.8.3", "6.9.3", "4.2.34")


class ShortDut(RefDut):
    """The reference port with a MaxDiscriminatorLen of its own."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        super().__init__(f"short:{longest}")
        self.pics["max_discriminator_len"] = longest

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        for name in ("LocalAddr", "RemoteAddr"):
            if len(params.get(name, {}).get("discriminator", "")) > 2 * self.longest:
                return Reply(method, True, {"return": "VIP_INVALID_PARAMETER"})
        return super().request(method, params)


@pytest.mark.parametrize("longest", [16, 64, 127])
def test_no_discriminator_is_longer_than_the_device_takes(longest: int) -> None:
    dut = ShortDut(longest)
    pics, pixit = complete(dut.pics, "test"), pixit_for("virtual")
    chosen = [(c, v) for n, (c, v) in enumerate(VARIANTS) if c.id.startswith(WITH_LENGTHS) or n % 20 == 0]
    results = [run_variant(dut, c, v, pics, pixit, LEVELS, 1) for c, v in chosen if not_applicable(c, v, pics) is None]
    assert len(results) > 150
    assert [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS] == []


def test_a_device_that_says_nothing_takes_128_bytes() -> None:
    pics = complete(RefDut().pics, "test")
    assert not [c.variant_id(v) for c, v in VARIANTS if "max_discriminator_len" in v.applies and not_applicable(c, v, pics)]


class OneViDut(RefDut):
    """The reference port with a MaxVI of one."""

    def __init__(self) -> None:
        super().__init__("one-vi")
        self.pics["max_vis"] = 1
        self.vis = 0

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        if method == "VipCreateVi" and self.vis == 1:
            return Reply(method, True, {"return": "VIP_ERROR_RESOURCE"})
        reply = super().request(method, params)
        if reply.done and reply.result.get("return") == "VIP_SUCCESS":
            self.vis += {"VipCreateVi": 1, "VipDestroyVi": -1}.get(method, 0)
        return reply

    def reset(self, config: dict[str, Any]) -> None:
        self.vis = 0
        super().reset(config)


@pytest.mark.parametrize("case, verdict", [
    ("5.3.4.loopback", Verdict.INCONCLUSIVE),  # it has use for both of its VIs: none makes room for the other
    ("8.1.inbound/unreliable/send/half/by-dut", Verdict.PASS),  # the VI has Descriptors that are done
    ("8.1/connected", Verdict.PASS),
])  # fmt: skip
def test_room_for_a_vi(case: str, verdict: Verdict) -> None:
    dut = OneViDut()
    found = next((c, v) for c, v in VARIANTS if c.variant_id(v) == case)
    result = run_variant(dut, *found, complete(dut.pics, "test"), pixit_for("virtual"), LEVELS, 1)
    assert result.verdict is verdict, result.reason
