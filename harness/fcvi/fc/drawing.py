"""The configuration of a case of FC-VI, drawn from what FC-FS and clause 7 allow where the lab has left it open.

A device that has a usual value built in is found where the value is another one. What decides something by its order keeps
the order of the plain configuration: variants choose that (5.3.4).
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Mapping

from fcvi.engine.pixit import MS, SHORT, Identity, Pixit, usual_tolerances

#: R_A_TOV in virtual time, in units of 100 ms: the default of FC-FS (10 s) or longer, so that a device which is slow on purpose
#: and keeps within the default is within the drawn one, too.
_R_A_TOV = range(100, 201)
_USUAL_R_A_TOV_US = 10_000 * MS
#: R_A_TOV in real time, in percent of the run's: no case takes longer for it, and most wait for little. The longer ones find a
#: device that has a short time built in. What decides nothing so is tried again with the other shares.
_SHORT_SHARES = (*(20,) * 5, 22, 24, 28, 40, 90)
_SHARES = range(80, 101)
#: Tolerances shrink with R_A_TOV, or a timer of twice its length would pass; below these they would be the host's.
_LEAST_EARLY_US, _LEAST_LATE_US = 5 * MS, 30 * MS
#: E_D_TOV in percent of R_A_TOV, which is longer (FC-FS); its default of 2 s or longer for the same reason.
_E_D_TOV = range(20, 34)
#: Receive_Data_Field_Size: a multiple of four up to 2,112 (FC-FS), and at least the longest connect IU (6.8.3): cases that lose one
#: or let it be overtaken count on one frame. Smaller sizes are the variants' own.
_SIZES = (628, 1024, 1500, 2048, 2112)


def draw(pixit: Pixit, clock: str, rng: Random) -> tuple[Pixit, Mapping[str, Any]]:
    """See Protocol.draw."""
    if "timers" in pixit.free:
        pixit = _timers(pixit, clock, rng)
    if clock != "virtual":
        return pixit, {}
    if "addresses" in pixit.free:
        pixit = _addresses(pixit, rng)
    return pixit, {"receive_size": rng.choice(_SIZES)}


def _timers(pixit: Pixit, clock: str, rng: Random) -> Pixit:
    """Others as the run's, in whole milliseconds: so FLOGI tells them."""
    if clock == "virtual":
        r_a_tov = pixit.r_a_tov_us * rng.choice(_R_A_TOV) * 100 * MS // _USUAL_R_A_TOV_US
    else:
        r_a_tov = pixit.r_a_tov_us * rng.choice(_SHORT_SHARES if pixit.pace == SHORT else _SHARES) // 100
    r_a_tov -= r_a_tov % MS
    e_d_tov = r_a_tov * rng.choice(_E_D_TOV) // 100
    e_d_tov = min(e_d_tov - e_d_tov % MS, pixit.e_d_tov_us) if clock != "virtual" else e_d_tov - e_d_tov % MS
    changed = replace(pixit, r_a_tov_us=r_a_tov, e_d_tov_us=max(e_d_tov, MS))
    if "tolerances" not in pixit.free or (clock != "virtual" and pixit.pace != SHORT):
        return changed
    if clock == "virtual":
        early, late = usual_tolerances(clock, r_a_tov)
    else:
        early = max(pixit.early_us * r_a_tov // pixit.r_a_tov_us, min(pixit.early_us, _LEAST_EARLY_US))
        late = max(pixit.late_us * r_a_tov // pixit.r_a_tov_us, min(pixit.late_us, _LEAST_LATE_US))
    return replace(changed, early_us=early, late_us=late)


def _addresses(pixit: Pixit, rng: Random) -> Pixit:
    """Other names (NAA 1), N_Port_IDs and Host Addresses; the tester's are the lower ones."""
    low, high = sorted(rng.sample(range(0x01, 0xF0), 2))  # domains: those of N_Ports end with EFh
    lower, higher = sorted(rng.sample(range(0x100, 1 << 47), 2))
    first, second = sorted(rng.sample(range(1, 1 << 62), 2))
    return replace(
        pixit, tester=_identity(lower, low << 16 | rng.randrange(0x10, 1 << 16), first),
        dut=_identity(higher | 1, high << 16 | rng.randrange(0x10, 1 << 16), second),
    )  # fmt: skip


def _identity(name: int, n_port_id: int, host: int) -> Identity:
    return Identity(f"1000{name:012x}", f"2000{name:012x}", f"{n_port_id:06x}", (f"fe80000000000000{host:016x}",))
