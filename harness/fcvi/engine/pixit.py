"""PIXIT: the addresses, timers and tolerances of a run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

MS = 1000
SHORT, AGAIN = "short", "again"


@dataclass(frozen=True)
class Identity:
    """A port as ``reset`` names it."""

    port_name: str
    node_name: str
    n_port_id: str
    host: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The identity as a member of ``reset``."""
        return {**vars(self), "host": list(self.host)}


@dataclass(frozen=True)
class Ends:
    """The IP addresses of a run over TCP, as IPv6 in hexadecimal, and the port, which both sides have."""

    dut: str
    tester: str
    port: int


@dataclass(frozen=True)
class Profile:
    """The numbers of a run that the standard leaves open: as a file says them, its name, and the SHA-256 of the text."""

    name: str
    sha256: str
    text: str


DUT = Identity("10000000c9000002", "20000000c9000002", "010200", ("fe8000000000000000000000000000b2",))
TESTER = Identity("10000000c9000001", "20000000c9000001", "010100", ("fe8000000000000000000000000000a1",))


@dataclass(frozen=True)
class Pixit:
    """What the lab sets.

    r_a_tov_us is FCVI_ULP_TIMEOUT (8.3). early_us and late_us: how far from its nominal time an event that a timer
    of the DUT causes may be seen. The standard gives no tolerance, so these are the suite's: the early one covers
    rounding, the late one the DUT's timer granularity and, with a real clock, scheduling.
    """

    r_a_tov_us: int = 10_000 * MS
    e_d_tov_us: int = 2_000 * MS
    early_us: int = 100 * MS
    late_us: int = 1_000 * MS
    dut: Identity = field(default=DUT)
    tester: Identity = field(default=TESTER)
    #: How late the suite's host may wake up, measured before the run; 0 in virtual time.
    jitter_us: int = 0
    #: How many times as long as the run's the timers are, for a case that a busy host spoilt before.
    slower: int = 1
    #: Of one case in real time: SHORT timers may be drawn well below the run's; AGAIN: so they were, and decided nothing.
    pace: str = ""
    #: Of VI/TCP, where the attachment has addresses of its own; None: those of a network that is not there.
    ends: Ends | None = None
    #: Of VI/TCP; None: T0.
    profile: Profile | None = None
    #: FCVI_ULP_TIMEOUT of a device of FC-VI Rev 1.0, which leaves it to the implementation; None: not known.
    ulp_timeout_us: int | None = None
    #: Of "timers", "tolerances" and "addresses" what nobody gave: a standard may draw it for each case (protocol.draw).
    free: frozenset[str] = frozenset()

    def between(self, ends: Ends) -> Pixit:
        """The same between these ends."""
        return replace(self, ends=ends)

    def slowed(self, times: int, pace: str = "") -> Pixit:
        """The same with timers and tolerances so many times as long, to be drawn at this pace."""
        return replace(
            self, r_a_tov_us=self.r_a_tov_us * times, e_d_tov_us=self.e_d_tov_us * times, early_us=self.early_us * times,
            late_us=self.late_us * times, slower=times, pace=pace,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """The PIXIT as report.json has it."""
        measured = {"jitter_us": self.jitter_us} if self.jitter_us else {}
        return {
            "r_a_tov_us": self.r_a_tov_us,
            "e_d_tov_us": self.e_d_tov_us,
            "early_us": self.early_us,
            "late_us": self.late_us,
            "dut": self.dut.as_json(),
            "tester": self.tester.as_json(),
            **measured,
            **({} if self.ends is None else {"ends": vars(self.ends)}),
            **({} if self.profile is None else {"profile": vars(self.profile)}),
            **({} if self.ulp_timeout_us is None else {"ulp_timeout_us": self.ulp_timeout_us}),
            **({"free": sorted(self.free)} if self.free else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Pixit:
        """What as_json gave. Raises KeyError, TypeError or ValueError for anything else."""
        ends = data.get("ends")
        return cls(
            int(data["r_a_tov_us"]), int(data["e_d_tov_us"]), int(data["early_us"]), int(data["late_us"]),
            _identity(data["dut"]), _identity(data["tester"]), int(data.get("jitter_us", 0)),
            ends=None if ends is None else Ends(str(ends["dut"]), str(ends["tester"]), int(ends["port"])),
            profile=None if data.get("profile") is None else _profile(data["profile"]),
            ulp_timeout_us=None if data.get("ulp_timeout_us") is None else int(data["ulp_timeout_us"]),
            free=frozenset(str(name) for name in data.get("free", ())),
        )  # fmt: skip


def _profile(data: dict[str, Any]) -> Profile:
    profile = Profile(str(data["name"]), str(data["sha256"]), str(data["text"]))
    if hashlib.sha256(profile.text.encode()).hexdigest() != profile.sha256:
        raise ValueError(f"the profile {profile.name[:32]!r} does not have the hash that stands beside it")
    return profile


def _identity(data: dict[str, Any]) -> Identity:
    host = tuple(str(address) for address in data["host"])
    return Identity(str(data["port_name"]), str(data["node_name"]), str(data["n_port_id"]), host)


@dataclass(frozen=True)
class Given:
    """What the lab says of the PIXIT; None and DUT, TESTER where it says nothing."""

    r_a_tov_us: int | None = None
    e_d_tov_us: int | None = None
    late_us: int | None = None
    early_us: int | None = None
    dut: Identity = DUT
    tester: Identity = TESTER
    ulp_timeout_us: int | None = None


def pixit_for(
    clock: str, r_a_tov_us: int | None = None, e_d_tov_us: int | None = None, tolerance_us: int | None = None,
    given: Given = Given(),
) -> Pixit:  # fmt: skip
    """The PIXIT of a run: the standard's default timers in virtual time, short ones against a real clock.

    What the lab gave takes the place of a default; an argument takes the place of both.
    """
    timers = r_a_tov_us or given.r_a_tov_us, e_d_tov_us or given.e_d_tov_us
    tolerances = given.early_us, tolerance_us or given.late_us
    r_a_tov = timers[0] or (10_000 * MS if clock == "virtual" else 500 * MS)
    e_d_tov = timers[1] or min(2_000 * MS, r_a_tov // 3)
    early, late = (tolerances[n] or usual for n, usual in enumerate(usual_tolerances(clock, r_a_tov)))
    nobody_gave = {
        "timers": not any(timers) and given.ulp_timeout_us is None, "tolerances": not any(tolerances),
        "addresses": given.dut is DUT and given.tester is TESTER,
    }  # fmt: skip
    free = frozenset(name for name, left in nobody_gave.items() if left)
    return Pixit(r_a_tov, e_d_tov, early, late, given.dut, given.tester, ulp_timeout_us=given.ulp_timeout_us, free=free)


def usual_tolerances(clock: str, r_a_tov_us: int) -> tuple[int, int]:
    """How far from its nominal time an event may be seen, early and late, where the lab says nothing."""
    if clock == "virtual":
        return r_a_tov_us // 100, r_a_tov_us // 10
    return max(r_a_tov_us // 50, 5 * MS), max(r_a_tov_us // 10, 150 * MS)
