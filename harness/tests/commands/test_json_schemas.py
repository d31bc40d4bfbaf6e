"""Each command's --json against its schema: real output, of each kind of line; types never change with values."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

import jsonschema
import pytest

from fcvi.arguments import parser
from fcvi.replay.difference import Difference

from ..conftest import RECORDED, ROOT, fcvi
from ..engine.test_declaration import INDEPENDENT

SCHEMAS = ROOT / "harness/fcvi/commands/schemas"
#: The schema of what a command prints; those of a report and of Connections stand where they are made.
OF = {
    "judge": ROOT / "harness/fcvi/report/report.schema.json", "flows": ROOT / "harness/fcvi/flows/flows.schema.json",
    **{path.name.split(".")[0].replace("-", " "): path for path in SCHEMAS.glob("*.json")},
}  # fmt: skip
CASE = RECORDED / "cases/5.3.2.pcapng"
CRAFTED = ROOT / "pcaps/crafted"


def _commands(command: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield words, command
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, its in action.choices.items():
                yield from _commands(its, f"{words} {name}".strip())


def with_json() -> set[str]:
    """The commands that have --json."""
    return {words for words, its in _commands(parser()) if any("--json" in a.option_strings for a in its._actions)}


def test_each_command_with_json_has_a_schema() -> None:
    assert with_json() == set(OF)


@pytest.mark.parametrize("command", sorted(OF))
def test_each_schema_is_one(command: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(OF[command].read_text()))


def test_the_documents_name_each_schema() -> None:
    page = (ROOT / "harness/docs/vendor-ci.md").read_text(encoding="utf-8")
    for command, path in OF.items():
        row = re.search(rf"^\| `fcvi {command}[^`]*` \| \[`([^`]+)`\]", page, re.M)
        assert row is not None and row[1] == str(path.relative_to(ROOT / "harness/fcvi")), command


def valid(command: str, *words: str, status: Optional[int] = None, whole: bool = False) -> list[Any]:
    """What the command prints, each object checked; whole: it is one object, or an array, over several lines."""
    done = fcvi(*command.split(), *words, "--json")
    assert status is None or done.returncode == status, (done.returncode, done.stderr)
    objects = [json.loads(done.stdout)] if whole else [json.loads(line) for line in done.stdout.splitlines()]
    assert objects, done.stderr
    check = jsonschema.Draft202012Validator(json.loads(OF[command].read_text()))
    for one in objects:
        check.validate(one)
    return objects


def test_decode_and_lint() -> None:
    files = [str(path) for path in sorted(CRAFTED.glob("*.pcap"))] + [str(ROOT / "pcaps/libfc/target-abts.pcap"), str(CASE)]
    records = {one["record"] for one in valid("decode", *files, status=2)}  # one file has FIP alone
    assert {"frame", "foreign", "fip"} <= records
    *found, last = valid("lint", *files)
    assert {f["class"] for f in found} >= {"violation", "malformed"} and "summary" in last


def test_a_large_number_is_text_whatever_it_is(tmp_path: Path) -> None:
    """FCVI_RMT_VA of a Send is zero, of an RDMA Write an address (5.9.8)."""
    dump = tmp_path / "frames.hex"
    values = ("0000000000000000", "ffffffffffffffff")
    head = "010102000001010058380000070200001234ffff00000000" "0000abcd01000000" "0000000c00000000"
    dump.write_text("".join(f"{head}{value}0000007700000000\n" for value in values))
    seen = [f["value"] for one in valid("decode", "--from", "hex", str(dump)) for f in one["fields"] if f["name"] == "FCVI_RMT_VA"]
    assert seen == list(values)


def test_list_and_show() -> None:
    (cases,) = valid("list", "--select", "D.*", status=0, whole=True)
    kinds = [valid("show", ident, status=0)[0]["kind"] for ident in (cases[0]["id"], cases[0]["requirements"][0], "E03")]
    assert kinds == ["case", "requirement", "erratum"]
    for item in ((), ("opcodes",), ("REV1-5.1-08",), ("FCVI-4.2-01",)):
        assert valid("show", "--diff", "rev1", "2007", *item, status=0)[0]["kind"] == "difference"
    assert [valid("show", ident, status=0)[0]["kind"] for ident in ("REV1-5.1-08", "R05")] == ["requirement", "erratum"]


def test_flows_and_explain() -> None:
    assert valid("flows", str(CASE), status=0)
    assert valid("explain", str(RECORDED / "cases/8.5.2.a.pcapng"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The reports of the reference port and of a device that never retries."""
    place = tmp_path_factory.mktemp("reports")
    for name, dut in (("a", "ref"), ("b", f"{INDEPENDENT} --fault no-retry")):
        fcvi("run", "--quiet", "--dut", dut, "--select", "D.*,8.5.2.a,5.3.2/*", "--report", str(place / name))
    return place / "a", place / "b"


def test_judge_report_and_replay(reports: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = map(str, reports)
    (said,) = valid("judge", b, status=1, whole=True)
    assert said == json.loads((reports[1] / "report.json").read_text())
    (differs,) = valid("report diff", a, b, status=1, whole=True)
    assert differs["verdicts"] and differs["about"]
    assert valid("report diff", a, a, status=0, whole=True)[0]["differs"] is False
    (table,) = valid("report matrix", a, b, "--out", str(tmp_path / "matrix"), status=0, whole=True)
    assert table["differences"] > 0 and {len(row["verdicts"]) for row in table["rows"]} == {2}
    capture = str(reports[0] / "8.5.2.a__dut-client__first.pcapng")
    assert valid("replay", capture, status=0)[0]["same"] is True
    (other,) = valid("replay", "--dut", f"{INDEPENDENT} --fault no-retry", capture, status=1)
    assert other["first"] in other["differences"] and other["first"]["class"] == "breach" and other["case"]["verdict"] == "fail"
    assert set(other["first"]) == {"class" if name == "cls" else name for name in Difference.__annotations__}
    assert valid("replay", "--offline", str(reports[1] / "8.5.2.a__dut-client__first.pcapng"), status=1)[0]["verdict"] == "fail"


def test_certify(tmp_path: Path, reports: tuple[Path, Path]) -> None:
    """Of a certificate of nothing but broken promises, for a whole one takes its time."""
    done = fcvi("certify", "--verify", str(reports[0]), "--json")
    assert done.returncode == 2 and done.stdout == ""
    from fcvi.report.verify import Check

    schema = json.loads(OF["certify"].read_text())
    assert set(schema["properties"]) == {*Check.__annotations__, "holds"}


def test_pics_and_dut(tmp_path: Path) -> None:
    fcvi("pics", "new", "--out", str(tmp_path / "p.toml"))
    assert valid("pics check", str(tmp_path / "p.toml"), status=1, whole=True)[0]["review"]
    assert valid("dut check", f"exec:{ROOT}/build/fcvi endpoint", status=0, whole=True)[0]["checks"]
    assert valid("dut check", "exec:echo x", whole=True)[0]["broke_off"]


def test_explore(tmp_path: Path) -> None:
    words = ["--losses", "1", "--out", str(tmp_path), "client-server/reject"]
    (one,) = valid("explore", *words, status=0)
    listed = {scenario["scenario"] for scenario in valid("explore", "--list", status=0)}
    assert one["scenario"] in listed and one["path"] is None


DYING = """import subprocess, sys
child = subprocess.Popen([{fcvi!r}, "endpoint"], stdin=subprocess.PIPE)
for count, line in enumerate(sys.stdin.buffer):
    if b'"frame"' in line and count > 40:
        sys.exit(1)
    child.stdin.write(line)
    child.stdin.flush()
"""


def test_fuzz(tmp_path: Path) -> None:
    (last,) = valid("fuzz", "--dut", "ref", "--batches", "20", status=0)
    assert last["summary"]["findings"] == 0
    device = tmp_path / "device.py"
    device.write_text(DYING.format(fcvi=str(ROOT / "build/fcvi")))
    words = ["--dut", f"exec:{sys.executable} {device}", "--state", "listening", "--batches", "40", "--findings", "1"]
    assert valid("fuzz", *words, "--out", str(tmp_path / "out"), status=1)[0]["kind"] == "dead"


def test_random() -> None:
    assert "summary" in valid("random", "--dut", "ref", "--steps", "300", status=0)[-1]
    (one,) = valid("random", "--dut", "ref", "--word", "wait rqst", status=0)
    assert len(one["seen"]) == 2
    other = f"{INDEPENDENT} --fault no-retry"
    lines = valid("random", "--dut", "ref", "--against", other, "--word", "request resp1 vipdisc")
    assert "summary" in lines[-1]


def test_learn(tmp_path: Path) -> None:
    (machine,) = valid("learn", "--dut", "ref", "--letters", "request,resp1,vipdisc", "--depth", "1", "--out", str(tmp_path))
    changed = tmp_path / "changed.json"
    machine["steps"][0][3] = ["nothing that a device would do"]
    changed.write_text(json.dumps(machine))
    found = valid("learn", "diff", str(tmp_path / "machine.json"), str(changed))
    assert found[0]["second"] == ["nothing that a device would do"]
