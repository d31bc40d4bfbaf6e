"""`--revision`: the edition of FC-VI whose cases run, and that the device has to say it follows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcvi.dut.rpc import RpcDut
from fcvi.engine.attachment import DutError

from ..conftest import FCVI, fcvi

REV1 = f"exec:{FCVI} endpoint --revision rev1"


def test_list_has_the_cases_of_one_edition() -> None:
    draft = {line.split("/")[0].split()[0] for line in fcvi("list", "--revision", "rev1").stdout.splitlines()}
    later = {line.split("/")[0].split()[0] for line in fcvi("list").stdout.splitlines()}
    assert {"R1.5.3.4.a", "4.2.18"} <= draft and "5.3.2" not in draft
    assert {"4.2.18", "5.3.2"} <= later and "R1.5.3.4.a" not in later


def test_a_row_of_the_draft_names_its_cases() -> None:
    assert "cases: R1.8.a" in fcvi("show", "REV1-8-04").stdout


@pytest.mark.parametrize(
    "options, words",
    [
        (("--dut", REV1), "says revision rev1, and the cases are those of 2007: run it with --revision rev1"),
        (("--dut", f"exec:{FCVI} endpoint", "--revision", "rev1"), "says revision 2007, and the cases are those of rev1"),
    ],
)
def test_a_device_is_not_run_with_the_cases_of_the_other_edition(options: tuple[str, ...], words: str) -> None:
    done = fcvi("run", *options)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1 and done.stdout == ""


@pytest.mark.parametrize(
    "other",
    [("--wire", "tcp"), ("--dut", "api", "--agent", "exec:x"), ("--dut", "verbs", "--agent", "exec:x"), ("--dut", "ref:vitcp")],
)
def test_it_is_an_edition_of_frames(other: tuple[str, ...]) -> None:
    done = fcvi("run", "--revision", "rev1", *other)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "FC-VI Rev 1.0 (rev1)" in done.stderr and "leave one out" in done.stderr


def test_a_report_of_the_draft_is_its_own(tmp_path: Path) -> None:
    """Report, evidence and certificate name the edition, and no row that is void in it; they are judged again to the byte."""
    report = tmp_path / "report"
    done = fcvi("certify", "--revision", "rev1", "--dut", "ref", "--quiet", "--report", str(report))
    assert done.returncode == 0, done.stderr
    certificate = json.loads((report / "certificate.json").read_text())
    assert certificate["standard"].startswith("FC-VI Rev 1.0") and certificate["outcome"] == "conformant"
    rows = certificate["requirements"]
    assert sum(row.startswith("REV1-") for row in rows) >= 111 and "FCVI-5.9.6-03" not in rows and "FCVI-5.9.10-03" not in rows
    assert "14165-331" not in (report / "certificate.html").read_text()
    assert fcvi("certify", "--verify", str(report)).returncode == 0


def test_the_pics_of_such_a_device(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    assert fcvi("pics", "new", "--revision", "rev1", "--out", str(file)).returncode == 0
    assert 'revision = "rev1"' in file.read_text()
    done = fcvi("pics", "check", "--revision", "rev1", str(file))
    assert fcvi("pics", "check", str(file)).stdout == done.stdout  # the file says which edition it is of
    assert done.returncode == 1 and "REV1-5.1-01: Reliable Delivery is mandatory" in done.stdout


_HELLO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"implementation": "d", "version": "1", "clock": "virtual", "protocol": 2, "revision": "rev1", "pics": {%s}}
    hello = asked["method"] == "hello"
    said = {"result": answer} if hello else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


def _device(tmp_path: Path, pics: str) -> RpcDut:
    program = tmp_path / "device.py"
    program.write_text(_HELLO % pics)
    return RpcDut(f"exec:/usr/bin/python3 {program}", rpc_timeout_s=10.0, log=None)


def test_what_hello_says_of_the_edition_is_in_the_pics(tmp_path: Path) -> None:
    dut = _device(tmp_path, '"client": True')
    assert dut.pics["revision"] == "rev1"
    dut.close()


def test_a_hello_that_contradicts_itself(tmp_path: Path) -> None:
    with pytest.raises(DutError, match="revision is 'rev1', and '2007' in pics"):
        _device(tmp_path, '"revision": "2007"')
