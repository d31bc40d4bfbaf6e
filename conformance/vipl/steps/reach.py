"""Holds what the calls of a case have made: the level of each VI, and which Descriptors the provider can write (G 3.8.1)."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional

from fcvi.engine.upper_tester import Call

from .declare import UD

_ALIGNMENT = 64  # G 5.1
Number = tuple[int, Any]  # of an end, and of a thing there


class Reach:
    """What the calls of a case have made of memory, tags and VIs, call by call."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._tag_of_mem: dict[Number, Any] = {}
        self._tag_of_vi: dict[Number, Any] = {}
        self._level: dict[Number, Any] = {}
        self._place: dict[Number, tuple[Any, Number]] = {}  # of a Descriptor of the case's own: VI, memory
        self._unfit: set[Number] = set()
        for call in calls:
            self.take(call)

    def take(self, call: Call) -> None:
        """Go on by one call."""
        if not call.reply.done or call.reply.error is not None or call.reply.result.get("return") != "VIP_SUCCESS":
            return
        end, given, told = call.params.get("end", 0), call.params, call.reply.result
        if call.method in ("VipRegisterMem", "VipSetMemAttributes"):
            self._tag_of_mem[end, told.get("mem", given.get("mem"))] = _tag(given.get("MemAttribs"))
        elif call.method == "VipDeregisterMem":
            self._tag_of_mem.pop((end, given.get("mem")), None)
        elif call.method in ("VipCreateVi", "VipSetViAttributes"):
            vi = end, told.get("vi", given.get("vi"))
            self._tag_of_vi[vi] = _tag(given.get("ViAttribs"))
            self._level[vi] = (given.get("ViAttribs") or {}).get("ReliabilityLevel", UD)
        elif call.method.startswith("VipPost"):
            self._posted(end, told.get("descriptor"), given)

    def _posted(self, end: int, number: Any, given: Mapping[str, Any]) -> None:
        at = given if "descriptor" not in given else (given["descriptor"] or {}).get("at")
        if at is None:  # the agent's own memory, under the tag of the VI
            return
        self._place[end, number] = given.get("vi"), (end, at.get("mem"))
        if at.get("offset", 0) % _ALIGNMENT or "va" in at or "handle" in at or not self.writes(end, number):
            self._unfit.add((end, number))

    def level(self, end: int, vi: Any) -> Optional[str]:
        """The level of a VI; None of one that is not known."""
        level: Optional[str] = self._level.get((end, vi))
        return level

    def writes(self, end: int, number: Any) -> bool:
        """Whether the provider can write this Descriptor now."""
        place = self._place.get((end, number))
        if place is None:
            return True
        vi, mem = place
        fits = mem in self._tag_of_mem and self._tag_of_mem[mem] == self._tag_of_vi.get((end, vi))
        return fits and (end, number) not in self._unfit


def _tag(attributes: Any) -> Any:
    return attributes.get("Ptag") if isinstance(attributes, Mapping) else None


__all__ = ["Reach"]
