"""Cases of one's own: new-case, --cases, --watch, --step, --debug."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance import register_all
from fcvi.commands import watch
from fcvi.dut.debug import debugged
from fcvi.engine.attachment import AttachError
from fcvi.engine.case import CaseInfo
from fcvi.engine.own_check import check
from fcvi.engine.protocol import registered
from fcvi.engine.target import parse

from ..conftest import FCVI, fcvi

_TRIES = "    raise Inconclusive("


def _new(folder: Path, *words: str) -> Path:
    done = fcvi("new-case", *words, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.partition(": ")[0])


def _tried(path: Path) -> None:
    """Something is tried: the last line goes."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith(_TRIES)]
    path.write_text("\n".join(lines) + "\n")


def test_a_new_case_passes_only_once_something_is_tried(tmp_path: Path) -> None:
    path, report = _new(tmp_path / "cases", "FCVI-8.5.3-a3"), tmp_path / "report"
    assert "[shall]" in path.read_text()
    words = ("--cases", str(path.parent), "--select", "own.*", "--report", str(report))
    assert fcvi("run", *words).returncode == 4
    _tried(path)
    done = fcvi("run", *words, "--force")
    assert done.returncode == 0 and "2 cases: 2 pass" in done.stdout
    results = json.loads((report / "report.json").read_text())["results"]
    assert [r["id"] for r in results] == ["own.8.5.3/dut-client", "own.8.5.3/dut-server"]
    assert fcvi("judge", str(report), "--cases", str(path.parent)).returncode == 0
    trace = sorted(report.glob("evidence/own*.jsonl"))[0]
    assert fcvi("replay", "--offline", str(trace), "--cases", str(path.parent)).returncode == 0
    assert fcvi("replay", "--offline", str(trace)).returncode == 2
    listed = json.loads(fcvi("list", "--json", "--cases", str(path.parent)).stdout)
    assert listed[-1]["id"] == "own.8.5.3" and len(listed) > 100
    assert "own.8.5.3" in fcvi("show", "FCVI-8.5.3-a3", "--cases", str(path.parent)).stdout
    assert "own." not in fcvi("list").stdout


@pytest.mark.parametrize("words, says", [
    (("nothing",), "neither a requirement nor a clause"),
    (("8.5.3", "--id", "a b"), "letters, digits"),
    (("8.5.3", "--id", "5.3.2"), "the suite has a case of this name"),
])
def test_what_is_no_case_is_told(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = fcvi("new-case", *words, "--out", str(tmp_path))
    assert done.returncode == 2 and says in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text, says", [
    ("x = ", "mine.py:1: invalid syntax"),
    ("1 / 0", "mine.py:1: ZeroDivisionError"),
    ("", "no file there declares a case"),
    ("import sys; sys.modules['fcvi.nothing'].x", "mine.py:1: KeyError"),
])
def test_a_folder_that_cannot_be_used_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    for command in (("run",), ("list",), ("show", "5.3.2")):
        done = fcvi(*command, "--cases", str(tmp_path))
        assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_certificate_has_no_case_of_ones_own(tmp_path: Path) -> None:
    done = fcvi("certify", "--cases", str(tmp_path), "--report", str(tmp_path / "report"))
    assert done.returncode == 2 and not (tmp_path / "report").exists()
    assert done.stderr.startswith("fcvi: --cases: a certificate is about the cases of the suite alone; ")
    assert len(done.stderr.splitlines()) == 1


def test_names_and_requirements_are_looked_up(tmp_path: Path) -> None:
    path = _new(tmp_path, "8.5.3")
    text = path.read_text()
    path.write_text(text.replace('"own.8.5.3"', '"5.3.2"'))
    assert "declared twice" in fcvi("list", "--cases", str(tmp_path)).stderr
    path.write_text(text.replace('requirements=["', 'requirements=["FCVI-0-0", "'))
    assert "there is no requirement FCVI-0-0" in fcvi("list", "--cases", str(tmp_path)).stderr


_CONTROL = "    t.control("
MISTAKES = {
    "def own_8_5_3": ("dfe own_8_5_3", "mine.py:27: invalid syntax"),
    "messages import": ("mesages import", "mine.py:6: ModuleNotFoundError"),
    "import open_connection": ("import open_conection", "mine.py:6: ImportError"),
    "setup.vi": ("setpu.vi", "mine.py:33: the name 'setpu' is not defined (did you mean setup?)"),
    'requirements=["': (
        'requirements=["FCVI-8.5.3-a9", "', "mine.py:19: there is no requirement FCVI-8.5.3-a9 (did you mean FCVI-8.5.3-a",
    ),
    "FCVI-8.2-b1": ("FCVI-8.2-b9", "mine.py:33: there is no requirement FCVI-8.2-b9 (did you mean FCVI-8.2-b"),
    '"client or server"': ('"clint or server"', "mine.py:14: case own.8.5.3: there is no PICS item 'clint' (did you mean client?)"),
    'applies="client or server"': ('applies="client or or"', "cannot read the PICS expression 'client or or'"),
    'CLIENT}, "client"': ('CLIENT}, "klient"', "there is no PICS item 'klient' (did you mean client?)"),
    '"own.8.5.3"': ('"own 8/5"', "mine.py:14: case 'own 8/5': an id has letters"),
    "requirements=": ("requirement=", "mine.py:14: TypeError: case() got an unexpected keyword argument 'requirement'"),
    "    tags=[]": ('    errata=["E999"]', "mine.py:14: case own.8.5.3: there is no erratum E999"),
    '    """Say': ('    # """Say', "mine.py:14: ValueError: case own.8.5.3 has no purpose"),
    '"dut-server"': ('"dut-client"', "mine.py:14: case own.8.5.3: two variants have the same name"),
    "(t: Scenario)": ("()", "mine.py:14: case own.8.5.3: its function takes one argument"),
    '}, "client")': ('}, "client", {"clas": 2})', "the configuration has no member 'clas' (did you mean class?)"),
    "t.control(": ("t.contrl(", "mine.py:34: t has no 'contrl' (did you mean control"),
    _CONTROL: (
        f'    t.expect("CONNECT_RSP1", "FCVI-8.2-b1")\n{_CONTROL}', "mine.py:34: expect: there is no 'CONNECT_RSP1' (did you mean",
    ),
    f"{_CONTROL}'": (
        f'    t.expect_nothing(["RESP9"], 1, "FCVI-8.2-b1", "x")\n{_CONTROL}', "expect_nothing: there is no 'RESP9'",
    ),
    f"{_CONTROL}3": (f'    t.call("VipQeuryVi", vi=0)\n{_CONTROL}', "mine.py:34: call: there is no 'VipQeuryVi' (did you mean Vip"),
    f"{_CONTROL}4": (f'    t.link_event("lpi")\n{_CONTROL}', "mine.py:34: link_event: there is no 'lpi' (did you mean lip?)"),
    f"{_CONTROL}5": (
        f'    t.expect("CONNECT_RQST", "FCVI-8.2-b1", withn_us=3)\n{_CONTROL}',
        "mine.py:34: expect: got an unexpected keyword argument 'withn_us' (did you mean within_us?)",
    ),
    f"{_CONTROL}6": (
        f'    t.expect("CONNECT_RQST", "FCVI-8.2-b1").dh("FCVI_HANDEL")\n{_CONTROL}',
        "mine.py:34: dh: there is no 'FCVI_HANDEL' (did you mean FCVI_HANDLE?)",
    ),
    f"{_CONTROL}7": (
        f'    iu = t.expect("ABTS", "FCVI-8.2-b1")\n    iu.fc("OXID")\n{_CONTROL}', "mine.py:35: fc: there is no 'OXID' (did you",
    ),
    f"{_CONTROL}8": (
        f'    t.expect("CONNECT_RQST", "FCVI-8.2-b1").conn_int("FCVI_RQST_HANDEL")\n{_CONTROL}',
        "mine.py:34: conn_int: there is no 'FCVI_RQST_HANDEL' (did you mean FCVI_RQST_HANDLE?)",
    ),
    f"{_CONTROL}9": (
        f'    t.send("CONNECT_RESP1", t.tester.open_exchange(), {{"FCVI_HANDEL": 1}})\n{_CONTROL}',
        "mine.py:34: send: there is no 'FCVI_HANDEL' (did you mean FCVI_HANDLE?)",
    ),
    f"{_CONTROL}10": (
        f'    t.send("CONECT_RESP1", None, {{}})\n{_CONTROL}', "mine.py:34: send: there is no 'CONECT_RESP1' (did you mean",
    ),
    f"{_CONTROL}11": (
        f'    t.equal(setup, "FCVI_HANDEL", 1, "FCVI-8.2-b1")\n{_CONTROL}', "mine.py:34: equal: there is no 'FCVI_HANDEL' (did you",
    ),
    f"{_CONTROL}12": (
        f'    t.report("FCVI-8.2-b1", "x", "y", "z", erratum="E999")\n{_CONTROL}', "mine.py:34: there is no erratum E999 (did you",
    ),
    f"{_CONTROL}13": (f'    assert t.pics["clint"]\n{_CONTROL}', "mine.py:34: t.pics has no 'clint' (did you mean client?)"),
    f"{_CONTROL}14": (f'    assert t.params["rol"]\n{_CONTROL}', "mine.py:34: t.params has no 'rol' (did you mean role?)"),
    f"{_CONTROL}15": (f'    assert t.config["clas"]\n{_CONTROL}', "mine.py:34: t.config has no 'clas' (did you mean class?)"),
    f"{_CONTROL}16": (f"    yield\n{_CONTROL}", "mine.py:14: case own.8.5.3: a function with async or yield does nothing"),
    f"{_CONTROL}17": (f"    t.contrl = 3\n{_CONTROL}", "mine.py:34: t has no 'contrl' (did you mean control"),
    "open_connection(t)": ("open_connection()", "mine.py:29: open_connection: missing a required argument: 't'"),
    '"connected", "FCVI-8.2-b1")': ('"connected")', "mine.py:33: check_state: missing a required argument: 'requirement'"),
    "tags=[]": ('tags=["timig"]', "mine.py:14: case own.8.5.3: no other case has the tag 'timig' (did you mean timing?)"),
    '["FCVI-8.5.3-a3"]': ('"FCVI-8.5.3-a3"', "mine.py:14: TypeError: case own.8.5.3: requirements is a list: ['FCVI-8.5.3-a3']"),
    'Variant("dut-client"': ('("dut-client"', "mine.py:14: TypeError: case own.8.5.3: ('dut-client', "),
    '"dut-client"': ('"dut client"', "mine.py:14: case own.8.5.3: variant 'dut client': a name has no blanks"),
    'applies="client or server",': ("applies=True,", "mine.py:14: TypeError: case own.8.5.3: applies is an expression"),
    "Say here": ("S\0y", "mine.py:28: a zero byte"),
    "def own_8_5_3(": ("async def own_8_5_3(", "mine.py:14: case own.8.5.3: a function with async or yield does nothing"),
    f"{_CONTROL}()": (f"    t.wait()\n{_CONTROL}", "mine.py:34: wait: missing a required argument: 'us'"),
    f"{_CONTROL}2": (
        f'    t.require(True, "FCVI-8.2-b1", "x")\n{_CONTROL}', "mine.py:34: require: missing a required argument: 'seen'",
    ),
}


def test_there_are_forty() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_of_an_author_is_one_line_when_the_file_is_read(right: str, tmp_path: Path) -> None:
    wrong, says = MISTAKES[right]
    path = _new(tmp_path, "FCVI-8.5.3-a3")
    text = path.read_text()
    path.unlink()
    right = _CONTROL if right.startswith(_CONTROL) else right
    assert right in text
    (tmp_path / "mine.py").write_text(text.replace(right, wrong, 1))
    done = fcvi("list", "--cases", str(tmp_path))
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert done.stderr.startswith("fcvi: ") and len(done.stderr.splitlines()) == 1


def test_no_case_of_the_suite_has_such_a_mistake() -> None:
    register_all()
    for protocol in registered():
        modules: dict[str, list[CaseInfo]] = {}
        for case in protocol.cases():
            modules.setdefault(case.body.__module__, []).append(case)
        for name, cases in list(modules.items())[::5]:
            path = Path(str(sys.modules[name].__file__))
            check(path, path.read_bytes(), sys.modules[name], cases)


def test_a_frame_that_does_not_exist_blames_no_device(tmp_path: Path) -> None:
    """A name that is put together shows only as the case runs: it is an error, and no device fails."""
    path = _new(tmp_path, "FCVI-8.5.3-a3")
    path.write_text(path.read_text().replace(_CONTROL, '    t.expect("CONNECT_" + "RSP1", "FCVI-8.2-b1")\n' + _CONTROL))
    done = fcvi("run", "--cases", str(tmp_path), "--select", "own.*")
    assert done.returncode == 3 and "there is no frame called CONNECT_RSP1" in done.stdout + done.stderr


def test_the_page_of_an_own_case_is_printed_as_it_ran(tmp_path: Path) -> None:
    path = _new(tmp_path, "FCVI-8.5.3-a3")
    shown = fcvi("show", "own.8.5.3", "--cases", str(tmp_path)).stdout
    assert "where it ends\n  inconclusive: nothing was tried yet" in shown and "device          FCVI_CONNECT_RQST" in shown
    _tried(path)
    helper = 'def _alive(t: Scenario) -> None:\n    """The device is alive."""\n    t.control("the Connection stands")\n\n\n@case('
    path.write_text(path.read_text().replace('    t.control("the Connection stands")', "    _alive(t)").replace("@case(", helper))
    assert "      The device is alive\n" in fcvi("show", "own.8.5.3", "--cases", str(tmp_path)).stdout
    assert "check           positive control: the Connection stands" in fcvi("show", "own.8.5.3", "--cases", str(tmp_path)).stdout


def test_steps_show_frames_and_states() -> None:
    done = fcvi("run", "--select", "5.3.2/dut-server", "--step", "--quiet", stdin=b"\n\nc\n")
    assert done.returncode == 0
    assert done.stderr.count("> ") >= 3 and "<- FCVI_CONNECT_RESP1" in done.stderr
    assert re.search(r"VI \d connected", done.stderr)
    stopped = fcvi("run", "--select", "5.3.2/dut-server", "--step", "--quiet", stdin=b"q\n")
    assert stopped.returncode == 3


def test_a_device_runs_under_another_command(tmp_path: Path) -> None:
    log = tmp_path / "words"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$@" > {log}\nexec "$@"\n')
    wrapper.chmod(0o755)
    done = fcvi("run", "--dut", f"exec:{FCVI} endpoint", "--debug", f"{wrapper}", "--select", "5.3.2/dut-server", "--quiet")
    assert done.returncode == 0 and log.read_text() == f"{FCVI} endpoint\n"
    assert fcvi("run", "--debug", "gdb", "--quiet").returncode == 2


def test_gdb_gets_the_terminal_and_the_device_the_pipes() -> None:
    spec = str(debugged(parse("exec:./device -x"), "gdb --args"))
    assert "set exec-wrapper" in spec and spec.endswith(" --args ./device -x")
    with pytest.raises(AttachError):
        debugged(parse("exec:./device"), "gdb '")


def test_a_change_of_a_case_selects_its_own(tmp_path: Path) -> None:
    path, other = _new(tmp_path, "8.5.3"), _new(tmp_path, "8.5.4", "--id", "own.other")
    args = argparse.Namespace(cases=tmp_path, target=parse("ref"), pics=None, select="own.*")
    before = watch.times(watch.watched(args))
    assert set(before) == {path, other} and not watch.changed(before, before)
    os.utime(path, ns=(1, 1))
    files = watch.changed(before, watch.times(watch.watched(args)))
    assert files == {path}
    device = argparse.Namespace(cases=None, target=parse(f"exec:{path} --flag"), pics=other, select=None)
    assert watch.watched(device) == [path, other] and watch.again(device, {path}) is None


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda stop: stop.name)
def test_a_signal_in_the_middle_of_a_round_ends_the_watch(stop: signal.Signals, tmp_path: Path) -> None:
    """To the command alone, as a supervisor sends it. A run that SIGINT does not reach ends by itself."""
    (tmp_path / "p.toml").write_text("[pics]\nclient = true\n")
    words = [FCVI, "run", "--quiet", "--watch", "--select", "5.3*", "--pics", str(tmp_path / "p.toml")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as command:
        begun = time.monotonic()
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
        while not children.read_text() and time.monotonic() - begun < 60:
            time.sleep(0.01)
        command.send_signal(stop)
        _, err = command.communicate(timeout=120)
    assert "Traceback" not in err and "waiting for a change" not in err and command.returncode in (0, 3, 4)
