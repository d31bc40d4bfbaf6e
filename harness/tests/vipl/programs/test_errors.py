"""Tests what a program is told when a Connection is not to be had or is lost: one table for every wire (implementer.md)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Optional

import pytest

from ...live.net import Net
from .conftest import FC, TCP, port

_LONG, _SHORT = "10000", "300"
_LOST = "VIP_SUCCESS CONN_LOST flushed Error VIP_SUCCESS Idle"
_AT_ONCE = "VIP_SUCCESS Idle"
_ASKED_TWICE = f"VIP_NOT_REACHABLE Error VIP_NOT_REACHABLE Error {_AT_ONCE}"
# what the other side does: the host that is asked for, the Timeout, and what is told, VipDisconnect and its end included
EVERYWHERE = {
    "no-vi": ("nodea", _LONG, f"VIP_NO_MATCH Idle {_AT_ONCE}"),
    "no-wait": ("nodea", _LONG, f"VIP_NO_MATCH Idle {_AT_ONCE}"),
    "another": ("nodea", _LONG, f"VIP_NO_MATCH Idle {_AT_ONCE}"),
    "refuses": ("nodea", _LONG, f"VIP_REJECT Idle {_AT_ONCE}"),
    "differs": ("nodea", _LONG, f"VIP_REJECT Idle {_AT_ONCE}"),
    "silent": ("nodea", _SHORT, f"VIP_TIMEOUT Idle {_AT_ONCE}"),
    "leaves": ("nodea", _LONG, _LOST),
    "ends": ("nodea", _LONG, _LOST),
    "nobody": ("none", _LONG, f"VIP_NOT_REACHABLE Idle {_AT_ONCE}"),
}
# on TCP the kernel answers for a process that is gone, and an Endpoint that is silent is waited for
OVER_TCP = {
    "dies": ("nodea", _LONG, _LOST),
    "nobody there, but its host": ("closed", _LONG, f"VIP_NO_MATCH Idle {_AT_ONCE}"),
}
# nobody answers for it on a Fibre Channel: a Connection of Reliable Delivery shows it when it is to end (8.6.3), and when
# the next one is not answered either, a logout ends it (Annex B rule 1c)
OVER_FC = {
    "dies": ("nodea", _LONG, f"VIP_SUCCESS silence VIP_TIMEOUT Connected {_ASKED_TWICE}"),
    "nobody": ("none", _SHORT, f"VIP_TIMEOUT Idle {_AT_ONCE}"),
}
# 8.5.4: the retry of 2007 has failed as well, so the VI is in Error; Rev 1.0 has no retry (R34)
OVER_2007 = {"silent": ("nodea", _LONG, f"VIP_NOT_REACHABLE Error {_AT_ONCE}")}
OVER_REV1 = {"silent": ("nodea", _LONG, f"VIP_NOT_REACHABLE Idle {_AT_ONCE}")}
Rows = dict[str, tuple[str, str, str]]


def _told(errors: Path, case: str, host: str, timeout: str, conf: Path, net: Optional[Net]) -> str:
    def words(*more: str) -> list[str]:
        return net.words(str(errors), *more) if net else [str(errors), *more]

    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    other = None
    if not case.startswith("nobody"):
        other = subprocess.Popen(words(case, "nic0", "0", "-"), env=env, stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None and other.stdout.readline() == "ready\n"
    try:
        asking = words(case, "nic1", "1", host, timeout)
        asked = subprocess.run(asking, env=env, capture_output=True, text=True, check=False, timeout=60)
    finally:
        if other is not None:
            other.kill()
            other.communicate()
    return asked.stdout.strip() + asked.stderr.strip()


def _differ(errors: Path, conf: Path, net: Optional[Net], *tables: Rows) -> list[str]:
    told = [(case, row, _told(errors, case, row[0], row[1], conf, net)) for table in tables for case, row in table.items()]
    return [f"{case} {row[:2]}: {got}, not {row[2]}" for case, row, got in told if got != row[2]]


def test_over_vitcp(errors: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    assert not _differ(errors, conf, None, EVERYWHERE, OVER_TCP)


@pytest.mark.parametrize("more, own", [("", OVER_2007), ("edition=rev1", OVER_REV1)])
def test_over_fc_vi(more: str, own: Rows, errors: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    # R_A_TOV is longer than the Timeout that is to end a call
    conf.write_text(FC.format(more=f"r_a_tov=500 {more}"))
    assert not _differ(errors, conf, net, EVERYWHERE, OVER_FC, own)
