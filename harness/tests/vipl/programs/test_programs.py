"""Programs of VIPL, built with plain -lvipl, in two processes: over VI/TCP on loopback, and over FC-VI on a veth pair."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

import pytest

from ...conftest import ROOT
from ...live.net import Net
from .conftest import FC, TCP, compiled, port

ALL = "credits,flags,segment,queue,early"


def both(ends: list[list[str]], env: dict[str, str], first: int = 0) -> None:
    """Both ends, the second one when the NIC of the first is open; each has to end with 0."""
    started: dict[int, subprocess.Popen[str]] = {}
    try:
        for rank in (first, 1 - first):
            started[rank] = subprocess.Popen(
                ends[rank], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            opened = started[rank].stdout
            assert opened is not None and opened.readline() == "open\n", started[rank].communicate()
        said = [started[rank].communicate(timeout=90)[1] for rank in (0, 1)]
    finally:
        for process in started.values():
            process.kill()
    assert [started[rank].returncode for rank in (0, 1)] == [0, 0], said


@pytest.mark.parametrize("length", ["4", pytest.param("16", marks=pytest.mark.nightly)])
def test_over_vitcp(length: str, program: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(program), ALL, f"nic{rank}", str(rank), length] for rank in (0, 1)], {"VIPL_CONF": str(conf)})


@pytest.mark.parametrize("more, length", [("", "4"), pytest.param("edition=rev1", "8", marks=pytest.mark.nightly),
                                          pytest.param("discriminators=strict", "16", marks=pytest.mark.nightly)])  # fmt: skip
def test_over_fc_vi(more: str, length: str, program: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=4000 {more}"))
    both([net.words(str(program), ALL, f"nic{rank}", str(rank), length) for rank in (0, 1)], {"VIPL_CONF": str(conf)})


KINDS = "peers,notify,queues,pending,order,rdma,shapes,sizes,refused,errors,flood,unreliable,forks"


@pytest.mark.parametrize("names", [KINDS, pytest.param("peer_alone,waits", marks=pytest.mark.nightly)])
def test_kinds_over_vitcp(names: str, kinds: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(kinds), names, f"nic{rank}", str(rank)] for rank in (0, 1)], {"VIPL_CONF": str(conf)})


@pytest.mark.parametrize("more", ["", pytest.param("edition=rev1", marks=pytest.mark.nightly)])
def test_kinds_over_fc_vi(more: str, kinds: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=4000 {more}"))
    names = f"{KINDS},peer_alone,waits" if more else "peers,errors,refused,shapes"
    both([net.words(str(kinds), names, f"nic{rank}", str(rank)) for rank in (0, 1)], {"VIPL_CONF": str(conf)})


ENDED = "cancelled,dismissed,late"
CORNERS = "left,crowd,signals,polling,itself,bounds,discriminators,limits"


@pytest.mark.parametrize("names", [ENDED, pytest.param(CORNERS, marks=pytest.mark.nightly)])
def test_corners_over_vitcp(names: str, corners: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(corners), names, f"nic{rank}", str(rank), "4"] for rank in (0, 1)], {"VIPL_CONF": str(conf)})


@pytest.mark.parametrize("edition, names", [("2007", CORNERS), pytest.param("2007", ENDED, marks=pytest.mark.nightly),
                                            pytest.param("rev1", f"{CORNERS},{ENDED}", marks=pytest.mark.nightly)])  # fmt: skip
def test_corners_over_fc_vi(edition: str, names: str, corners: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=4000 edition={edition}"))
    both([net.words(str(corners), names, f"nic{rank}", str(rank), "4") for rank in (0, 1)], {"VIPL_CONF": str(conf)})


@pytest.mark.parametrize("edition", ["2007", pytest.param("rev1", marks=pytest.mark.nightly)])
def test_a_peer_waits_for_the_process_after_this_one(edition: str, corners: Path, tmp_path: Path, net: Net) -> None:
    """A port that logs out ends no Peer request that was told that nobody waits yet (VI-DG 6.7)."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=1000 edition={edition}"))
    env = {**os.environ, "VIPL_CONF": str(conf)}
    with subprocess.Popen(net.words(str(corners), "patient", "nic0", "0"), env=env, stderr=subprocess.PIPE, text=True) as first:
        try:
            for name in ("visits", "patient"):
                done = net.run(str(corners), name, "nic1", "1", env={"VIPL_CONF": str(conf)})
                assert done.returncode == 0 and (name == "patient" or first.poll() is None), done
            assert first.wait(60) == 0, first.communicate()
        finally:
            first.kill()


@pytest.mark.parametrize("edition", ["2007", pytest.param("rev1", marks=pytest.mark.nightly)])
def test_a_nic_that_opens_after_the_request_is_found(edition: str, corners: Path, tmp_path: Path, net: Net) -> None:
    """A file that shortens R_A_TOV alone: the address is asked for again before the search ends."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=1000 edition={edition}"))
    env = {**os.environ, "VIPL_CONF": str(conf)}
    words = [net.words(str(corners), *w) for w in (("visits", "nic1", "1"), ("patient", "nic0", "0"))]
    with subprocess.Popen(words[0], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as early:
        assert early.stdout is not None and early.stdout.readline() == "open\n"
        time.sleep(0.05)  # its request has gone out
        with subprocess.Popen(words[1], env=env) as late:
            said = early.communicate(timeout=60)
            late.kill()
        assert early.returncode == 0, said


@pytest.mark.parametrize("seconds", ["1", pytest.param("10", marks=pytest.mark.nightly)])
def test_both_ends_break_over_vitcp(seconds: str, build: Callable[[str], Path], tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    words = [[str(build("breaks.c")), "breaks", f"nic{rank}", str(rank), "4"] for rank in (0, 1)]
    both(words, {"VIPL_CONF": str(conf), "BREAK_SECONDS": seconds})


@pytest.mark.nightly
@pytest.mark.parametrize("edition", ["2007", "rev1"])
def test_both_ends_break_over_fc_vi(edition: str, build: Callable[[str], Path], tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=4000 edition={edition}"))
    words = [net.words(str(build("breaks.c")), "breaks", f"nic{rank}", str(rank), "4") for rank in (0, 1)]
    both(words, {"VIPL_CONF": str(conf), "BREAK_SECONDS": "10"})


def test_a_family_over_vitcp(corners: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    words = [corners, "families", "nic0", "0", "4"]
    subprocess.run(words, env={**os.environ, "VIPL_CONF": str(conf)}, check=True, timeout=60, stdout=subprocess.DEVNULL)


def test_a_library_that_is_closed_stays_where_its_threads_are(tmp_path: Path) -> None:
    """A program that loads libvipl by itself, opens a NIC, and closes the library: nothing of it is called any more."""
    source, out = tmp_path / "load.c", tmp_path / "load"
    source.write_text("#include <dlfcn.h>\n#include <unistd.h>\n"
                      "int main(int c, char **v) { (void)c; void *n, *l = dlopen(v[1], RTLD_NOW);\n"
                      "int r = ((int (*)(const char *, void **))dlsym(l, v[2]))(v[3], &n); dlclose(l);\n"
                      "usleep(100000); return fork() == 0 ? 0 : r; }\n")  # fmt: skip
    subprocess.run(["cc", source, "-o", out, "-ldl"], check=True)
    for name, call in (("libvipl.so", "VipOpenNic"), ("libvipl64.so", "VipOpenNic64")):
        subprocess.run([out, ROOT / "build" / name, call, f"vitcp:127.0.0.1:{port()}"], check=True, timeout=60)


def test_who_is_earlier_than_the_other_nic_asks_again(program: Path, tmp_path: Path, net: Net) -> None:
    """Nothing answers for the other's address, until its NIC is open."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more="r_a_tov=500"))
    both([net.words(str(program), "segment", f"nic{rank}", str(rank), "4") for rank in (0, 1)], {"VIPL_CONF": str(conf)}, first=1)


def test_strict_discriminators_are_refused(program: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more="discriminators=strict"))
    done = net.run(str(program), "early", "nic1", "1", "4", env={"VIPL_CONF": str(conf)})
    assert done.returncode == 1 and "== VIP_NO_MATCH" in done.stderr


@pytest.mark.parametrize("name", ["opens", "names"])
def test_in_one_process(name: str, program: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    subprocess.run([program, name, "nic0", "0"], env={**os.environ, "VIPL_CONF": str(conf)}, check=True, timeout=60)


BAD = {
    "no such name": ("nic9", "", "VIP_INVALID_PARAMETER", "no file defines it"),
    "no such interface": ("fcoe:nowhere9", "", "VIP_ERROR_RESOURCE", "nowhere9"),
    "an address that is not here": ("vitcp:192.0.2.1:29799", "", "VIP_ERROR_RESOURCE", "192.0.2.1"),
    "no port": ("vitcp:127.0.0.1", "", "VIP_ERROR_RESOURCE", "vitcp:ADDR:PORT"),
    "a member that is none": ("nic0", "nic0 wire=vitcp:127.0.0.1:29799 colour=red", "VIP_ERROR_RESOURCE", "'colour'"),
    "an address that is none": ("nic0", "nodea address=here", "VIP_ERROR_RESOURCE", ":1: 'here' is no address"),
    "a wire that is none": ("nic0", "nic0 wire=ib:port1", "VIP_ERROR_RESOURCE", "neither vitcp:ADDR:PORT nor fcoe:IFACE"),
    "a folder in place of the file": ("nic0", "a folder", "VIP_ERROR_RESOURCE", "it is no file"),
    "a FIFO in place of the file": ("nic0", "a FIFO", "VIP_ERROR_RESOURCE", "it is no file"),
    "no wire": ("nic0", "nic0 class=3", "VIP_ERROR_RESOURCE", "neither vitcp:ADDR:PORT nor fcoe:IFACE"),
    "two definitions": ("nic0", "nic0 wire=fcoe:a\nnic0 wire=fcoe:b", "VIP_ERROR_RESOURCE", ":2: 'nic0' has been defined before"),
    "a line without end": ("nic0", "# " + "x" * 5000 + "\nnic0 wire=fcoe:a", "VIP_ERROR_RESOURCE", ":1: the line is longer than"),
    "a mark of UTF-8": ("nic0", "\ufeffnic0 wire=ib:port1", "VIP_ERROR_RESOURCE", "neither vitcp:ADDR:PORT nor fcoe:IFACE"),
    "timers the wrong way round": ("nic0", "nic0 wire=fcoe:a r_a_tov=500 e_d_tov=500", "VIP_ERROR_RESOURCE",
                                   ":1: e_d_tov is 500 ms and has to be less than r_a_tov, 500 ms"),
    "in the name": ("vitcp:127.0.0.1:29799,incoming=0", "", "VIP_INVALID_PARAMETER", "'incoming'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_opened(case: str, tmp_path: Path) -> None:
    """The code is one of the guide's, and with VIPL_DEBUG one line says what and where; without it there is none."""
    device, text, code, words = BAD[case]
    conf, source, out = tmp_path / "vipl.conf", tmp_path / "open.c", tmp_path / "open"
    if text == "a folder":
        conf.mkdir()
    elif text == "a FIFO":
        os.mkfifo(conf)
    else:
        conf.write_text(text + "\n")
    source.write_text("#include <vipl.h>\nint main(int c, char **v) { VIP_NIC_HANDLE n; (void)c;\n"
                      f"return VipOpenNic(v[1], &n) != {code}; }}\n")  # fmt: skip
    header = ["-I", ROOT / "refimpl/vipl/include", "-L", ROOT / "build", f"-Wl,-rpath,{ROOT / 'build'}"]
    subprocess.run(["cc", source, "-o", out, *header, "-lvipl"], check=True)
    for debug in ("1", ""):
        done = subprocess.run([out, device], env={**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": debug}, capture_output=True,
                              text=True, check=False, timeout=30)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (words in done.stderr and done.stderr.count("\n") == 1) if debug else done.stderr == ""


def test_the_example_over_ethernet_finds_an_address_without_names(tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(re.sub(r"^no.* address=.*\n", "", FC.format(more="r_a_tov=500"), flags=re.MULTILINE))
    hello, env = compiled("../../../docs/examples/vi_hello.c", tmp_path / "hello"), {**os.environ, "VIPL_CONF": str(conf)}
    with subprocess.Popen(net.words(str(hello), "nic0"), env=env, stdout=subprocess.PIPE, text=True) as first:
        second = net.run(str(hello), "nic1", "fe80::a", env={"VIPL_CONF": str(conf)})
        assert second.returncode == 0, second.stdout
        assert first.communicate(timeout=60)[0] == "64 bytes: hello over VI\n"


def both_want(devices: list[str], words: list[str], env: dict[str, str], said: str) -> None:
    """The first has it, and the second is told why it does not get it."""
    with subprocess.Popen([*words, "no-vi", devices[0], "0", "-"], env=env, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "ready\n"
        asking = [*words, "no-vi", devices[1], "0", "-"]
        second = subprocess.run(asking, env=env, capture_output=True, text=True, check=False, timeout=30)
        first.kill()
    assert second.returncode == 1 and said in second.stderr


def test_two_processes_on_one_address(errors: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    both_want(["nic0", "nic0"], [str(errors)], env, "Address already in use")


def test_two_processes_on_one_interface(errors: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=""))
    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    both_want(["nic0", "nic0"], net.words(str(errors)), env, "another NIC has this interface")


def test_without_a_capability(errors: Path, tmp_path: Path, net: Net) -> None:
    """fcvi-open opens the interface, if somebody gave it the capability; else VIPL_DEBUG says what is needed."""
    if os.geteuid() != 0 or shutil.which("setcap") is None:
        pytest.skip("only root can give a program a capability, with setcap")
    place = Path(tempfile.mkdtemp(prefix="vipl-opener-"))
    place.chmod(0o755)
    try:
        opener, program, conf = place / "fcvi-open", place / "program", place / "vipl.conf"
        shutil.copy(ROOT / "build/fcvi-open", opener)
        shutil.copy(errors, program)
        conf.write_text(FC.format(more="r_a_tov=300"))
        env = {"VIPL_CONF": str(conf), "VIPL_OPENER": str(opener), "VIPL_DEBUG": "1"}
        words = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", str(program), "-", "nic1", "1", "none", "200"]
        done = net.run(*words, env=env)
        if "error while loading" in done.stderr:
            pytest.skip("another user cannot read the tree")
        assert done.returncode == 1 and "fcvi-open has no CAP_NET_RAW" in done.stderr and done.stderr.count("libvipl: ") == 1
        if subprocess.run(["setcap", "cap_net_raw=ep", str(opener)], check=False, capture_output=True).returncode != 0:
            pytest.skip("the file system keeps no capabilities")
        done = net.run(*words, env=env)
        assert done.stdout.startswith("VIP_TIMEOUT Idle"), done
    finally:
        shutil.rmtree(place)
