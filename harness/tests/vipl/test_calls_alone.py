"""``--dut api``: a provider of VIPL judged by its calls alone, without a frame and without a port of the suite's own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from fcvi.dut.contract.shapes import DUT_PROTOCOL
from fcvi.dut.manual import ManualControl

from .. import starts
from ..conftest import FCVI, ROOT

AGENT = os.environ.get("FCVI_AGENT", str(ROOT / "build/fcvi-agent"))
STANDARD = Path(__file__).parents[1] / "engine/calls_protocol"
HEADER = ROOT / "harness/agent/vipl_header.py"
OURS = ROOT / "refimpl/vipl/include"


def fcvi(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the example of calls beside its own standards."""
    environment = {**os.environ, "FCVI_STANDARDS": str(STANDARD)}
    return starts.run([str(FCVI), *args], env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_two_nics_of_one_agent_are_the_two_ends(tmp_path: Path) -> None:
    done = fcvi("run", "--dut", "api", "--agent", f"exec:{AGENT}", "--select", "Calls.*", "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert [r["verdict"] for r in report["results"]] == ["pass"] * 4
    again = fcvi("judge", str(tmp_path))
    assert again.returncode == 0, again.stdout + again.stderr


def test_no_frame_passes_and_no_wire_is_asked_for() -> None:
    done = fcvi("run", "--dut", "api", "--agent", f"exec:{AGENT}", "--select", "5.2.1*", "--quiet")
    assert done.returncode != 0
    shown = fcvi("run", "--dut", "ref", "--select", "Calls.2")
    assert shown.returncode == 2 and "Calls (calls_protocol)" in shown.stderr and "attach api" in shown.stderr


def test_jobs_are_left_aside_in_one_line() -> None:
    """One provider has NICs that two processes would share; the cases run all the same."""
    done = fcvi("run", "--dut", "api", "--agent", f"exec:{AGENT}", "--select", "Calls.2", "--jobs", "2", "--quiet")
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert "--jobs is left aside" in done.stderr and "--shard K/N" in done.stderr


@pytest.mark.parametrize("options, words", [
    (["--dut", "api"], "name the agent"),
    (["--dut", "ref", "--agent2", "exec:true"], "only for --dut api"),
])  # fmt: skip
def test_wrong_usage_is_told_in_one_line(options: list[str], words: str) -> None:
    done = fcvi("run", *options)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


class Client:
    """Lines to an agent, as bare as can be."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.notes: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.number = 0

    def start(self, method: str, **params: Any) -> int:
        """Send a request."""
        assert self.process.stdin is not None
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        if f"call.{method}" in DUT_PROTOCOL.schema["$defs"]:
            assert DUT_PROTOCOL.flaw(f"call.{method}", params) is None, line
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.number

    def finish(self, number: int, method: str = "") -> dict[str, Any]:
        """The result of a request, or its error; held against the schema."""
        assert self.process.stdout is not None
        while number not in self.answers:
            message = json.loads(self.process.stdout.readline())
            if "method" in message:
                assert DUT_PROTOCOL.flaw(f"notification.{message['method']}", {"vi": None, **message["params"]}) is None, message
                self.notes.append(message)
            else:
                self.answers[message["id"]] = message
        answer = self.answers.pop(number)
        if method and "result" in answer and f"answer.{method}" in DUT_PROTOCOL.schema["$defs"]:
            assert DUT_PROTOCOL.flaw(f"answer.{method}", answer["result"]) is None, (method, answer)
        found: dict[str, Any] = answer.get("result", answer.get("error"))
        return found

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        return self.finish(self.start(method, **params), method)


@pytest.fixture
def agent() -> Iterator[Client]:
    """An agent with nothing open."""
    client = Client()
    assert client("hello", protocol=2)["devices"] == ["VINIC0", "VINIC1"]
    assert client("reset", wire="api", seed=1) == {}
    yield client
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(20) == 0


def test_each_call_answers_in_the_shape_of_the_schema(agent: Client) -> None:
    agent("VipOpenNic")
    agent("VipQueryNic")
    agent("VipErrorCallback", Context=3)
    agent("VipCreatePtag")
    cq = agent("VipCreateCQ", EntryCount=4)["cq"]
    vi = agent("VipCreateVi", ViAttribs={}, SendCQHandle=cq)["vi"]
    mem = agent("VipRegisterMem", length=4096)["mem"]
    wanted = {
        "VipSetViAttributes": {"vi": vi, "ViAttribs": {"MaxTransferSize": 32768}}, "VipQueryVi": {"vi": vi},
        "VipQueryMem": {"mem": mem},
        "VipSetMemAttributes": {"mem": mem, "MemAttribs": {"EnableRdmaWrite": True}}, "VipResizeCQ": {"cq": cq, "EntryCount": 8},
        "VipNSInit": {}, "VipNSGetHostByName": {"Name": "FCVI-End-B"}, "VipNSShutdown": {}, "layout": {}, "agent.state": {},
        "VipQuerySystemManagementInfo": {"NumAdAddrs": 4}, "agent.devices": {},
    }  # fmt: skip
    said = {method: agent(method, **params) for method, params in wanted.items()}
    assert {s["return"] for s in said.values() if "return" in s} == {"VIP_SUCCESS"}
    assert said["VipNSGetHostByName"]["Address"]["host"].endswith("b2") and said["VipNSGetHostByName"]["guard"]
    assert said["VipQuerySystemManagementInfo"]["NumAdAddrs"] == 1
    assert said["layout"]["members"]["VIP_CONTROL_SEGMENT.Status"] == [28, 4] and said["layout"]["missing"] == []
    assert agent("VipQuerySystemManagementInfo", NumAdAddrs=0)["return"] == "VIP_ERROR_RESOURCE"
    assert agent("VipCQDone", cq=cq)["return"] == "VIP_NOT_DONE"
    assert agent("VipCQWait", cq=cq, Timeout=1000)["return"] == "VIP_TIMEOUT"
    assert agent("VipSendWait", vi=vi, Timeout=0)["return"] == "VIP_ERROR_RESOURCE"  # the queue has a CQ (VI-DG 3.5.3)
    assert agent("VipRecvNotify", vi=vi)["return"] == "VIP_DESCRIPTOR_ERROR"  # and an empty one has nothing to tell (3.5.10)
    assert agent("VipDestroyCQ", cq=cq)["return"] == "VIP_ERROR_RESOURCE"
    assert agent("VipDestroyVi", vi=vi)["return"] == "VIP_SUCCESS"
    assert agent("VipDestroyCQ", cq=cq)["return"] == "VIP_SUCCESS"


def test_handles_that_are_null_stale_or_unknown(agent: Client) -> None:
    agent("VipOpenNic")
    agent("VipCreatePtag")
    vi = agent("VipCreateVi", ViAttribs={})["vi"]
    agent("VipDestroyVi", vi=vi)
    assert agent("VipDestroyVi", vi=vi)["return"] == "VIP_INVALID_PARAMETER"
    assert agent("VipDestroyVi", vi=None)["return"] == "VIP_INVALID_PARAMETER"
    assert agent("VipDestroyVi", vi=77)["code"] == -32602
    assert agent("VipNoSuchCall")["code"] == -32601


def test_memory_that_a_provider_has_to_refuse_or_leave_alone(agent: Client) -> None:
    agent("VipOpenNic")
    agent("VipCreatePtag")
    first = agent("VipRegisterMem", length=64, align=17, fill="a5")
    assert int(first["va"], 16) % 4096 == 17
    part = agent("VipRegisterMem", length=8, of={"mem": first["mem"], "offset": 4})
    assert int(part["va"], 16) == int(first["va"], 16) + 4
    other = agent("VipRegisterMem", length=0)
    assert other["return"] == "VIP_INVALID_PARAMETER" and other["handle"] == 0
    assert agent("VipDeregisterMem", mem=first["mem"], va=part["va"])["return"] == "VIP_INVALID_PARAMETER"
    assert agent("mem.read", mem=first["mem"], offset=0, length=4)["hex"] == "a5" * 4
    assert agent("mem.read", mem=first["mem"], offset=60, length=5)["code"] == -32602
    assert agent("VipRegisterMem", length=16, pages="unmapped")["va"]


def test_a_reset_ends_what_waits(agent: Client) -> None:
    agent("VipOpenNic")
    agent("VipCreatePtag")
    cq = agent("VipCreateCQ", EntryCount=1)["cq"]
    waiting = [agent.start("VipCQWait", cq=cq), agent.start("VipCQWait", cq=cq, thread=3), agent.start("VipQueryNic", thread=3)]
    assert agent("reset", wire="api") == {}
    assert {agent.finish(number)["code"] for number in waiting} == {-32001}
    assert agent("VipCQDone", cq=0)["code"] == -32602  # nothing is open


def test_raw_descriptors_and_threads(agent: Client) -> None:
    agent("VipOpenNic")
    agent("VipCreatePtag")
    agent("VipErrorCallback")
    vi = agent("VipCreateVi", ViAttribs={})["vi"]
    mem = agent("VipRegisterMem", length=256)["mem"]
    posted = agent("VipPostRecvRaw", vi=vi, mem=mem, offset=64)
    assert posted["return"] == "VIP_SUCCESS"
    assert agent("agent.state")["posted"] == 1
    assert agent("VipDisconnect", vi=vi)["return"] == "VIP_SUCCESS"
    back = agent("VipRecvDone", vi=vi)
    assert back["return"] == "VIP_DESCRIPTOR_ERROR" and back["DescriptorPtr"]["descriptor"] == posted["descriptor"]
    assert "VIP_STATUS_DESC_FLUSHED_ERROR" in back["DescriptorPtr"]["status"] and len(back["DescriptorPtr"]["hex"]) == 64
    assert agent("VipPostRecvRaw", vi=vi, mem=mem, offset=1)["return"] == "VIP_SUCCESS"  # misaligned: told by the handler
    errors: list[dict[str, Any]] = []
    for _ in range(2000):  # the handler has a thread of its own (G 3.5.12)
        errors = [n["params"] for n in agent.notes if n["method"] == "error"]
        if errors:
            break
        agent("agent.state")
    assert errors[0]["code"] == "VIP_ERROR_POST_DESC" and errors[0]["within"] is None
    one, other = agent("VipQueryNic", thread=1)["thread"], agent("VipQueryNic", thread=2)["thread"]
    assert one != other and one == agent("VipQueryNic", thread=1)["thread"]


def test_an_operator_answers_for_calls_alone() -> None:
    source, sink = os.pipe()
    prompts = io.StringIO()
    os.write(sink, b"ok\nok cq=3\nnotify what=VipCQNotify Context=1 registration=1 count=1\nok\n")
    control = ManualControl(source, prompts)
    reply = control.request("VipCreateCQ", {"EntryCount": 4})  # "ok" alone does not say which
    assert reply.result == {"return": "VIP_SUCCESS", "cq": 3} and "also gives cq" in prompts.getvalue()
    control.request("VipDestroyCQ", {"cq": 3})
    assert control.inbox[0][1] == "notify"
    os.close(source)
    os.close(sink)


def header(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask what a vipl.h has."""
    command = [sys.executable, str(HEADER), str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_our_header_is_the_guides() -> None:
    done = header(OURS)
    assert done.returncode == 0 and "all are the guide's" in done.stdout


def test_calls_that_are_macros_are_looked_through(tmp_path: Path) -> None:
    text = (OURS / "vipl.h").read_text()
    (tmp_path / "vipl.h").write_text("#define VipQueryVi vendor_query\n#define VipCloseNic vendor_close\n"
                                     + text.replace("VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);",
                                                    "VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle, int);"))  # fmt: skip
    (tmp_path / "fcvi").symlink_to(OURS / "fcvi")
    out = tmp_path / "lacks.h"
    done = header(tmp_path, "--out", str(out))
    assert done.returncode == 1 and "declares VipCloseNic with other" in done.stdout, done.stdout
    assert "VIPL_QUERY_VI_OF_THREE" not in out.read_text()


def test_what_a_header_lacks_or_numbers_otherwise_is_told(tmp_path: Path) -> None:
    (tmp_path / "fcvi").mkdir()
    text = (OURS / "vipl.h").read_text()
    (tmp_path / "vipl.h").write_text(text.replace("VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle);", "")
                                     .replace("#define VIP_CONTROL_QFENCE 0x0008", "#define VIP_CONTROL_QFENCE 0x0010")
                                     .replace("VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);",
                                              "VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle, int);"))  # fmt: skip
    codes = (OURS / "fcvi/vip_codes.h").read_text()
    (tmp_path / "fcvi/vip_codes.h").write_text(codes.replace("    VIP_NOT_REACHABLE = 15,\n", ""))
    out = tmp_path / "lacks.h"
    done = header(tmp_path, "--out", str(out))
    assert done.returncode == 1
    wanted = ("lacks VIP_NOT_REACHABLE", "numbers VIP_CONTROL_QFENCE 16", "lacks VipNSShutdown", "declares VipCloseNic with other")
    for words in wanted:
        assert words in done.stdout, done.stdout
    assert "LACKS(VIP_NOT_REACHABLE)" in out.read_text() and 'VIPL_MISSING_CALLS "VipNSShutdown "' in out.read_text()


def test_a_header_of_the_time_builds_the_agent_with_and_without_vipl095(tmp_path: Path) -> None:
    text = (OURS / "vipl.h").read_text()
    for ours, other in (
        ("typedef uint32_t VIP_ULONG;", "typedef unsigned long VIP_ULONG;"),
        ("#define VIP_INFINITE 0xFFFFFFFFu", "#define VIP_INFINITE 0x7FFFFFFF"),  # no text names its value
        ("typedef char VIP_CHAR;", "typedef unsigned char VIP_CHAR;"),
        ("VipOpenNic(const VIP_CHAR", "VipOpenNic(VIP_CHAR"),
        ("    VIP_NET_ADDRESS **ADAddrArray;",
         "#ifdef VIPL095\n    VIP_NET_ADDRESS *ADAddrArray;\n#else\n    VIP_NET_ADDRESS **ADAddrArray;\n#endif"),
        ("VIP_CONTROL_SEGMENT CS, Control;", "VIP_CONTROL_SEGMENT Control;"),
        ("VIP_DESCRIPTOR_SEGMENT DS[2], Data[2];", "VIP_DESCRIPTOR_SEGMENT Data[2];"),
        ("    VIP_ULONG MaxCQ;\n    VIP_ULONG MaxCQEntries;", "    VIP_ULONG MaxCQEntries;\n    VIP_ULONG MaxCQ;"),
        ("VIP_VI_ATTRIBUTES *ViAttribs,\n                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty",
         "VIP_VI_ATTRIBUTES *ViAttribs"),
    ):  # fmt: skip
        assert ours in text
        text = text.replace(ours, other)
    (tmp_path / "vipl.h").write_text(text)
    (tmp_path / "fcvi").symlink_to(OURS / "fcvi")
    told = {"declares VIP_CHAR otherwise", "calls the member CS of VIP_DESCRIPTOR Control", "calls the member DS",
            "has MaxCQEntries of VIP_NIC_ATTRIBUTES not behind MaxCQ", "declares VipQueryVi with other"}  # fmt: skip
    for said, more in (("-DVIPL095", {"declares the member ADAddrArray"}), ("", set[str]())):
        out = tmp_path / "lacks.h"
        done = header(tmp_path, "--cc", f"cc {said}", "--out", str(out))
        assert done.returncode == 1 and f"{len(told | more)} differ" in done.stdout, done.stdout
        assert all(words in done.stdout for words in told | more), done.stdout
        for source in ("layout", "nic", "vi"):
            flags = f"-std=c11 -D_DEFAULT_SOURCE -w -fsyntax-only -I{tmp_path} -I{ROOT}/harness"
            command = f"cc {said} {flags} {ROOT}/harness/agent/api_{source}.c"
            subprocess.run([*command.split(), f'-DVIPL_LACKS_H="{out}"'], check=True)


def test_a_header_that_wants_vipl095_is_told_of_it(tmp_path: Path) -> None:
    (tmp_path / "fcvi").symlink_to(OURS / "fcvi")
    (tmp_path / "vipl.h").write_text((OURS / "vipl.h").read_text().replace("VipDestroyVi(", "VipDestroyVi(IN "))
    assert "It can with CFLAGS=-DVIPL095" in header(tmp_path).stderr
    assert header(tmp_path, "--cc", "cc -DVIPL095").returncode == 0


def test_a_header_that_is_not_there_or_does_not_compile(tmp_path: Path) -> None:
    assert header(tmp_path).returncode == 2
    (tmp_path / "vipl.h").write_text("this is no header\n")
    done = header(tmp_path)
    assert done.returncode == 2 and "cannot be compiled" in done.stderr and "Traceback" not in done.stderr


def test_a_client_cannot_make_the_agent_hold_memory_without_end(agent: Client) -> None:
    """One GiB of memory, Descriptors and handlers until the next reset, whatever the provider thinks of them."""
    agent("VipOpenNic")
    agent("VipCreatePtag")
    agent("VipRegisterMem", length=1 << 30)  # of which no page is touched
    full = agent("VipRegisterMem", length=4096)
    assert full["code"] == -32002 and full["message"] == "the agent itself has no room for more memory"
    notify = agent("VipErrorCallback", then={"method": "VipQueryNic", "params": {"x": [0] * 10_000}})
    assert notify["code"] == -32002
    assert agent("reset", wire="api", seed=1) == {}
    agent("VipOpenNic")
    agent("VipCreatePtag")
    assert agent("VipRegisterMem", length=4096)["return"] == "VIP_SUCCESS"
