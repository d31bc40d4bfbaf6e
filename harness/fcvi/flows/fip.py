"""FIP, the FCoE Initialization Protocol (FC-BB): what of it begins or ends the login of a port."""

from __future__ import annotations

from typing import Optional

_LINK_SERVICE, _CONTROL, _DISCOVERY = 2, 3, 1
_VN_PORT, _PERIOD = 11, 12
_FRAMES = (7, 8, 9)  # descriptors that hold FLOGI, FDISC and LOGO
_ROOM = 4096  # stations whose keep-alives are followed
DEFAULT_US = 8_000_000  # FKA_ADV_PERIOD
VN_PORT_US = 90_000_000  # of the keep-alives that name an N_Port_ID


class Told:
    """What a frame of FIP says. ports: N_Port_IDs that it names; frames: FC-2 frames in it; period_us: of keep-alives."""

    def __init__(self, operation: int, sub: int) -> None:
        self.is_keep_alive = (operation, sub) == (_CONTROL, 1)
        self.is_clear = (operation, sub) == (_CONTROL, 2)
        self.ports: list[int] = []
        self.frames: list[bytes] = []
        self.period_us = 0


def read(data: bytes) -> Optional[Told]:
    """A frame of FIP from its version on; None for one that is cut off or of a later version."""
    if len(data) < 10 or data[0] >> 4 != 1:
        return None
    told = Told(int.from_bytes(data[2:4], "big"), data[5])
    end = min(len(data), 10 + 4 * int.from_bytes(data[6:8], "big"))
    at = 10
    while at + 4 <= end:
        kind, length = data[at], 4 * data[at + 1]
        body = data[at : at + length]
        if length < 4 or at + length > end:
            break
        if kind == _VN_PORT and len(body) >= 20:
            told.ports.append(int.from_bytes(body[9:12], "big"))
        elif kind == _PERIOD and len(body) >= 8 and not body[3] & 1:
            told.period_us = int.from_bytes(body[4:8], "big") * 1000
        elif kind in _FRAMES and len(body) >= 4 + 28:
            told.frames.append(body[4:])
        at += length
    return told


class Station:
    """Who sends keep-alives. number and time_us: of the latest."""

    def __init__(self, network: int, source: int, port: Optional[int], number: int, time_us: int) -> None:
        self.network, self.source, self.port = network, source, port
        self.number, self.time_us, self.count, self.longest_us = number, time_us, 1, 0


class Alive:
    """The keep-alives of a capture, by who sends them."""

    def __init__(self) -> None:
        self.period_us = 0
        self._stations: dict[tuple[int, int, Optional[int]], Station] = {}

    def heard(self, network: int, source: int, port: Optional[int], at: tuple[int, int]) -> None:
        """One more."""
        key, (number, time_us) = (network, source, port), at
        found = self._stations.get(key)
        if found is None:
            if len(self._stations) < _ROOM:
                self._stations[key] = Station(network, source, port, number, time_us)
            return
        found.longest_us = max(found.longest_us, time_us - found.time_us)
        found.number, found.time_us, found.count = number, time_us, found.count + 1

    def limit_us(self, station: Station) -> int:
        """After so long without a keep-alive the FCF takes the virtual link for gone: two and a half periods."""
        return 5 * (VN_PORT_US if station.port is not None else self.period_us or DEFAULT_US) // 2

    def stopped(self, last_us: int) -> list[tuple[Station, int]]:
        """Those that stopped long before the capture ends, by what was usual of them and, of an ENode, by the limit of the FCF;
        and by how much it went on. A station that was never regular shows nothing."""
        found = []
        for station in self._stations.values():
            usual_us = 3 * station.longest_us
            most_us = usual_us if station.port is not None else max(self.limit_us(station), usual_us)
            if station.count >= 3 and last_us - station.time_us > most_us:
                found.append((station, last_us - station.time_us))
        return found
