"""Finds what the device did otherwise than was recorded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional


BREACH, SUSPICIOUS, PERMITTED = "breach", "suspicious", "permitted"
CLASSES = (BREACH, SUSPICIOUS, PERMITTED)


@dataclass(frozen=True)
class Difference:
    """kind: "field" of a frame, "missing" or "additional" frame, "service" (a link service that was not
    recorded), "order", "call" (its answer), "note" (a notification),
    "finding" (of codec or monitor) or "case" (what the recorded case holds against the device).

    frame: number in the new capture; recorded_frame: number in the recording. A difference of the control plane has the
    number of the last frame before it.
    """

    kind: str
    field: str
    recorded: str
    seen: str
    frame: Optional[int] = None
    recorded_frame: Optional[int] = None
    iu: str = ""
    structure: str = ""
    byte: Optional[int] = None
    bits: Optional[str] = None
    time_us: int = 0
    cls: str = SUSPICIOUS
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """All members."""
        return {"class" if name == "cls" else name: value for name, value in asdict(self).items()}

    def words(self) -> str:
        """One line."""
        where = "" if self.frame is None else f"frame {self.frame}"
        if self.recorded_frame is not None:
            where += f" (recorded frame {self.recorded_frame})" if where else f"recorded frame {self.recorded_frame}"
        place = "" if self.byte is None else f", byte {self.byte}" + (f" bits {self.bits}" if self.bits else "")
        if self.kind in ("finding", "case"):
            what = f"{self.field}: {self.iu or 'the case fails'}: seen {self.seen}, required {self.recorded}"
            return f"{where}: {what}" if where else what
        subject = {"field": f"{self.iu}: {self.field}", "call": self.field, "note": self.field}.get(self.kind, self.iu)
        head = f"{where}: " if where and self.kind not in ("call", "note") else ""
        tail = f" after {where}" if where and self.kind in ("call", "note") else ""
        return f"{head}{subject}{place}: recorded {self.recorded}, seen {self.seen}{tail}"
