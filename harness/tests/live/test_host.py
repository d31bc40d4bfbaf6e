"""Tests what tells that the suite's own host is busy: tasks that wait for a processor, and processors that are taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcvi.engine import host

_CPU = "cpu  182939 116558 48463 73767 712 0 505 {stolen} 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n"
_SOME = "some avg10=0.43 avg60=8.85 avg300=33.22 total={waited}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


class Kernel:
    """What the kernel counts, and the time."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self._stat, self._pressure = place / "stat", place / "cpu"
        monkeypatch.setattr(host, "_STAT", str(self._stat))
        monkeypatch.setattr(host, "_PRESSURE", str(self._pressure))
        monkeypatch.setattr(host.time, "monotonic", lambda: self.now)
        self.counts(0, 0)

    def counts(self, stolen_ticks: int, waited_us: int) -> None:
        """From here on."""
        self._stat.write_text(_CPU.format(stolen=4000 + stolen_ticks))
        self._pressure.write_text(_SOME.format(waited=5_000_000 + waited_us))

    def loses(self) -> None:
        """A kernel without pressure and without steal."""
        self._stat.unlink()
        self._pressure.unlink()


@pytest.mark.parametrize("stolen_ticks, waited_us, busy", [(0, 0, False), (0, 99_000, False), (0, 101_000, True), (9, 0, False),
                                                           (11, 0, True)])  # fmt: skip
def test_a_tenth_of_the_time_is_too_much(
    stolen_ticks: int, waited_us: int, busy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(tmp_path, monkeypatch)
    monkeypatch.setattr(host.os, "sysconf", lambda name: 100)
    watch = host.HostWatch()
    kernel.now += 1.0
    kernel.counts(stolen_ticks, waited_us)
    assert watch.busy() is busy


def test_the_load_decides_where_the_kernel_counts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(tmp_path, monkeypatch)
    kernel.loses()
    watch = host.HostWatch()
    monkeypatch.setattr(host.os, "cpu_count", lambda: 2)
    for load, busy in ((1.9, False), (2.1, True)):
        monkeypatch.setattr(host.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert watch.busy() is busy
