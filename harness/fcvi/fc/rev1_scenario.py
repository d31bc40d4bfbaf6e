"""The primitives of a case of FC-VI Rev 1.0 (1999), native or written for 2007.

A case of 2007 whose requirements hold in the draft runs here as it is: its IUs are those of the draft (rev1.py), a setup has three
IUs, and a check of something that the draft does not demand says nothing.
"""

from __future__ import annotations

from typing import AbstractSet, Any, Mapping, Optional

from fcvi.engine import proof
from fcvi.engine.results import Finding
from fcvi.engine.scenario import Failed
from . import rev1
from .received import Received
from .scenario import Scenario

#: What only a sentence of 2007 tolerates: the draft has no NOTE of another ULP that answers FARP-REQ (R47).
_TOLERATED_IN_2007 = frozenset({"E125"})
#: IUs of 2007 that the draft does not have: who sends one sends nothing.
_ABSENT = frozenset({"CONNECT_RESP3"})


class Rev1Scenario(Scenario):
    """One run of one case variant against a device of 1999."""

    phases = 3

    def __init__(self, *of_the_run: Any, void: AbstractSet[str] = frozenset()) -> None:
        """void: requirements of 2007 that do not hold in the draft."""
        super().__init__(*of_the_run)
        self._void = void

    @property
    def ulp_us(self) -> Optional[int]:
        """FCVI_ULP_TIMEOUT of the device, where the laboratory knows it (clause 8 leaves it to the implementation)."""
        return self.pixit.ulp_timeout_us

    # ---- judging ----

    def _counts(self, requirement: str) -> bool:
        return requirement not in self._void

    def note(self, primitive: str, requirement: str, *looks: proof.Look, **how: Any) -> None:
        if self._counts(requirement):
            super().note(primitive, requirement, *looks, **how)

    def report(self, requirement: str, message: str, seen: str, required: str, **where: Any) -> None:
        if where.get("erratum") in _TOLERATED_IN_2007:
            where["erratum"] = None
        if self._counts(requirement):
            super().report(requirement, message, seen, required, **where)

    def require(self, holds: bool, requirement: str, message: str, seen: object, required: object, **where: Any) -> bool:
        if self._counts(requirement):
            return super().require(holds, requirement, message, seen, required, **where)
        return holds

    def fail(self, requirement: str, message: str, seen: str, required: str, at: Any = None) -> None:
        self.judge_types()
        if self._counts(requirement):
            super().fail(requirement, message, seen, required, at)
        raise Failed(f"{message} ({requirement} is no requirement of the draft)")

    def equal(
        self, iu: Received, name: str, required: int, requirement: str, tolerated: Optional[Mapping[int, str]] = None
    ) -> bool:
        """As for 2007; name is one of either edition."""
        of_header = name in rev1.NAMES or name.startswith("FCVI_") or name in _OF_2007 or name == "REASON"
        if not of_header:
            return super().equal(iu, name, required, requirement, tolerated) if self._counts(requirement) else (
                iu.fc(name) == required
            )
        seen = iu.dh(name)
        self.note("equal", requirement, proof.Look("field", iu, f"DH.{name}"), wanted=(required,), tolerated=tolerated)
        if seen == required or not self._counts(requirement):
            self.checked.update({requirement} if self._counts(requirement) else ())
            return seen == required
        byte, bits = rev1.where(iu.last, name)
        erratum = (tolerated or {}).get(seen)
        self.report(
            requirement, f"{_PRINTED.get(name, name)} of FCVI_{iu.kind} is wrong", f"{seen:X}h", f"{required:X}h", at=iu, byte=byte,
            bits=bits, erratum=erratum,
        )  # fmt: skip
        return erratum is not None

    def place(self, iu: Received, name: str) -> dict[str, Any]:
        if name in rev1.NAMES or name.startswith("FCVI_") or name in _OF_2007:
            byte, bits = rev1.where(iu.last, name)
            return {"byte": byte, "bits": bits}
        return super().place(iu, name)

    def _awaited(self, words: str, requirement: str, came: Any, silence: bool = False) -> None:
        counted = self.checked.copy()
        super()._awaited(words, requirement, came, silence)
        if not self._counts(requirement):
            self.checked = counted
            self.expectations.pop()

    def expect_time(
        self, received: Any, nominal_us: int, requirement: str, what: str, since: Any = None, took_us: int = 0
    ) -> None:
        if self._counts(requirement):
            super().expect_time(received, nominal_us, requirement, what, since, took_us)

    def finish(self, call: Any, requirement: str, within_us: Optional[int] = None, returns: Any = None) -> str:
        code = super().finish(call, requirement, within_us, returns)
        self.checked -= self._void
        return code

    # ---- the wire ----

    def send(
        self, name: str, exchange: Any, dh: Mapping[str, int], payload: bytes = b"", fc: Optional[Mapping[str, int]] = None
    ) -> None:
        if name not in _ABSENT:
            super().send(name, exchange, dh, payload, fc)

    # ---- the end ----

    def leftovers(self) -> list[Received]:
        return [] if self.tester.second_port is not None else [
            r for r in self.tester.inbox if not r.taken and r.kind not in self._tolerated and r.kind in _ANSWERED
        ]  # fmt: skip

    @staticmethod
    def leftover(received: Received) -> Optional[str]:
        """Nothing in the draft forbids a further request of a setup, a Disconnect by the provider, or an ABTS, which FC-PH permits
        at any time: None for them."""
        if received.kind == "DISCONNECT_RQST":
            return "REV1-5.3.5-02" if received.dh("MODE") == 5 else None
        return _ANSWERED[received.kind]

    def all_findings(self) -> list[Finding]:
        return [f for f in super().all_findings() if self._counts(f.requirement)]


#: What nobody sends without being asked, and the requirement that says so.
_ANSWERED: Mapping[str, Optional[str]] = {
    "SEND_RQST": "FCVI-4.2-01", "WRITE_RQST": "FCVI-4.2-01", "READ_RQST": "FCVI-4.2-01", "SEND_RESP": "FCVI-5.2.1-01",
    "WRITE_RESP": "FCVI-5.2.1-01", "READ_RESP": "FCVI-5.2.1-01", "DISCONNECT_RQST": None, "CONNECT_RESP1": "REV1-5.3-02",
    "CONNECT_RESP2": "REV1-5.3-03", "DISCONNECT_RESP": "REV1-6.11-01",
}  # fmt: skip
_OF_2007 = frozenset(
    {
        "MSG_PARAMETER", "RQST_RETRY", "RQST_FCVI_CONN_INFO", "CONN_MODE", "RESP_RETRY", "RESP_FCVI_CONN_INFO", "CONN_STS",
        "CONN_SETUP_ABORT", "VI_APP_DISCON", "DISC_CONN_STS",
    }
)  # fmt: skip
_PRINTED = {"NUMBER": "VI_PARAMETER", "REASON": "Reason Code", "Reason_Code": "Reason Code"}

__all__ = ["Rev1Scenario"]
