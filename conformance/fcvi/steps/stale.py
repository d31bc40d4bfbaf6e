"""Message frames of the tester on a connection that is over: nobody may take them, and the DUT stays usable (E45)."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from fcvi.fc.scenario import Scenario

from .lossy_line import Line
from .neighbours import login, taken


class Stale:
    """What the tester sends of Messages whose connection has ended, by number the SEQ_CNTs; None: a whole Message."""

    def __init__(self, line: Line, frames: Mapping[int, Optional[Sequence[int]]]) -> None:
        """Made while the connection is there, so that what is sent later differs by nothing else."""
        self._line, self._frames = line, frames
        for number in frames:
            line.message(number)

    def comes(self, requirement: str, why: str) -> None:
        """It is sent: no Descriptor completes without error, no memory changes, no response says that all is well."""
        t = self._line.t
        self._line.look()
        self._line.late(self._frames.items(), requirement, f"by a Message that came {why}")
        t.wait(t.r_a_tov_us // 10)
        for number in self._line.sent:
            exchange = self._line.sent[number].exchange
            kinds = ("SEND_RESP", "WRITE_RESP")
            answers = [r for r in t.tester.inbox if r.exchange is exchange and r.kind in kinds and not r.taken]
            for resp in answers:
                resp.taken = True
                t.require(resp.dh("RESP_ERR") == 1, requirement, f"a response of success to a Message that came {why}",
                          str(resp), "none", at=resp)  # fmt: skip


def usable(t: Scenario) -> bool:
    """A DUT may log the tester out for what it sent (E45): then a login comes before anything else. Whether it has not."""
    if not taken(t, "LOGO"):
        return True
    login(t)
    return False
