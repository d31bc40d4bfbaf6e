"""fcvi-verbs-agent without a device: its lines, its parameters, memory, threads and resets; also under ASan and UBSan."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILDS = {"plain": ROOT / "build/fcvi-verbs-agent", "san": ROOT / "build/san/fcvi-verbs-agent"}
SOURCE = (ROOT / "harness/verbs/dispatch.c").read_text()
METHODS = [piece.split('"')[1] for piece in SOURCE.split("methods[] = {")[1].split("};")[0].split("{") if '"' in piece]
_PARAMS, _METHOD, _PARSE, _NOT_RESET, _ROOM = -32602, -32601, -32700, -32000, -32002


class Agent:
    """The agent as a process."""

    def __init__(self, program: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)  # fmt: skip
        self.last = 0

    def raw(self, line: bytes) -> dict[str, Any]:
        """The next line after this one."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + b"\n")
        return dict(json.loads(self.process.stdout.readline()))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request and the next line."""
        self.last += 1
        return self.raw(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode())

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        """A call that has a result."""
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return dict(answer["result"])

    def code(self, method: str, **params: Any) -> int:
        """The code of a refusal."""
        answer = self.ask(method, **params)
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    def end(self) -> None:
        """It ends when its client goes, and no sanitizer says anything."""
        assert self.process.stdin and self.process.stderr
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        assert self.process.stderr.read() == b""


@pytest.fixture(name="agent", params=["plain", pytest.param("san", marks=pytest.mark.nightly)])
def _agent(request: pytest.FixtureRequest) -> Iterator[Agent]:
    program = BUILDS[request.param]
    if not program.exists():
        pytest.skip(f"{program.name} ({request.param}) is not built: libibverbs-dev and librdmacm-dev are needed")
    agent = Agent(program, "--without-device")
    yield agent
    agent.end()


def _reset(agent: Agent) -> None:
    assert agent.result("reset", wire="verbs", seed=1) == {}


def test_the_methods_are_those_of_the_document() -> None:
    page = (ROOT / "harness/docs/dut-protocol-verbs.md").read_text()
    assert len(METHODS) > 40
    assert [method for method in METHODS if method not in page] == []


def test_hello_and_what_comes_before_the_reset(agent: Agent) -> None:
    hello = agent.result("hello", protocol=2)
    assert (hello["wires"], hello["clock"], hello["devices"], hello["addresses"]) == (["verbs"], "real", [], [])
    assert agent.code("probe.5eed") == _METHOD
    assert agent.code("verbs.AllocatePd", rnic=1) == _NOT_RESET
    assert agent.code("reset", wire="fc") == _PARAMS
    _reset(agent)
    assert agent.result("verbs.OpenRnic", device="none0")["return"] == "immediate-error"


_NO_REQUESTS = [b"", b"{", b"[]", b"1", b'"x"', b"null", b"\xff\xfe", b'{"id":1}', b'{"method":1,"id":1}']


@pytest.mark.parametrize("line", [*_NO_REQUESTS, b'{"method":"hello","id":{}}', b"[" * 5000, b'{"a":' * 3000])
def test_a_line_that_is_no_request(agent: Agent, line: bytes) -> None:
    assert agent.raw(line)["error"]["code"] in (_PARSE, -32600)
    _reset(agent)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_parameters_are_refused(agent: Agent, method: str) -> None:
    """Each member of any call as each wrong kind of value: an error or a result, and the agent lives on."""
    if method == "agent.exit":
        return
    _reset(agent)
    names = ("rnic", "pd", "cq", "handler", "qp", "srq", "mr", "mw", "mem", "listener", "request", "loop", "thread", "wrs",
             "Timeout", "max", "wr", "access", "state", "length", "offset", "fill", "places", "flags", "address", "port",
             "private", "entries", "device", "async", "type", "size")  # fmt: skip
    chance = random.Random(method)
    for value in (None, -1, 2**53, 2**63 - 1, 1.5, "x", "00", [], {}, [[]], [{}], True, 0, 1):
        answer = agent.ask(method, **{name: value for name in names if chance.random() < 0.7})
        assert "result" in answer or answer["error"]["code"] in (_PARAMS, _ROOM), answer
    for name in names:
        params = {other: 1 for other in names if other != "thread"} | {name: [{"sges": [{"mem": 1}], "wr_id": 7}]}
        answer = agent.ask(method, **params)
        assert "result" in answer or answer["error"]["code"] in (_PARAMS, _ROOM), answer


def test_memory(agent: Agent) -> None:
    _reset(agent)
    mem = agent.result("mem.new", length=100, align=3, fill="a5c3")
    assert int(mem["va"], 16) % 4096 == 3
    assert agent.result("mem.read", mem=mem["mem"], offset=96, length=4)["hex"] == "a5c3a5c3"
    assert agent.code("mem.read", mem=mem["mem"], offset=97, length=4) == _PARAMS
    agent.result("mem.write", mem=mem["mem"], offset=1, hex="0102")
    assert agent.result("mem.read", mem=mem["mem"], length=4)["hex"] == "a50102c3"
    agent.result("mem.pattern", mem=mem["mem"], offset=0, length=100, seed=7)
    assert agent.result("mem.pattern", mem=mem["mem"], offset=0, length=100, seed=7, check=True) == {"wrong": 0, "first": None}
    agent.result("mem.write", mem=mem["mem"], offset=50, hex="0000")
    assert agent.result("mem.pattern", mem=mem["mem"], offset=0, length=100, seed=7, check=True)["first"] in (50, 51)
    fixed = agent.result("mem.new", length=8, pages="read-only")["mem"]
    assert agent.code("mem.write", mem=fixed, hex="00") == _PARAMS
    assert agent.code("mem.new", length=1 << 31) == _PARAMS
    assert agent.code("mem.poll", places=[{"mem": mem["mem"], "offset": 0}], mask=0, value=0, Timeout=1) == _PARAMS  # at 3 of 4


def test_no_more_memory_than_there_is_room_for(agent: Agent) -> None:
    _reset(agent)
    wanted = {"length": 1 << 29, "fill": "00", "pages": "read-only"}
    codes = [agent.ask("mem.new", **wanted).get("error", {}).get("code") for _ in range(3)]
    assert codes[-1] == _ROOM
    _reset(agent)
    assert agent.result("mem.new", length=16)["mem"] == 1  # numbers begin anew


def test_a_reset_ends_calls_that_wait(agent: Agent) -> None:
    _reset(agent)
    mem = agent.result("mem.new", length=8)["mem"]
    assert agent.process.stdin
    waits = {"places": [{"mem": mem, "offset": 0}], "mask": 1, "value": 1, "Timeout": 3_000_000_000}
    for thread in (None, 0, 0, 15):
        more = {} if thread is None else {"thread": thread}
        request = {"jsonrpc": "2.0", "id": f"w{thread}", "method": "mem.poll", "params": waits | more}
        agent.process.stdin.write(json.dumps(request).encode() + b"\n")
    answers = [agent.ask("reset", wire="verbs", seed=1)]
    assert agent.process.stdout
    answers += [json.loads(agent.process.stdout.readline()) for _ in range(4)]
    assert sorted(answer.get("error", {}).get("code", 0) for answer in answers) == [-32001] * 4 + [0]
    assert answers[-1]["result"] == {}


def test_numbered_threads_answer_in_their_order(agent: Agent) -> None:
    _reset(agent)
    assert agent.process.stdin and agent.process.stdout
    for number in range(40):
        request = {"jsonrpc": "2.0", "id": number, "method": "mem.new", "params": {"length": 1, "thread": 3}}
        agent.process.stdin.write(json.dumps(request).encode() + b"\n")
    answers = [json.loads(agent.process.stdout.readline()) for _ in range(40)]
    assert [answer["id"] for answer in answers] == list(range(40))
    assert len({answer["result"]["mem"] for answer in answers}) == 40
    assert agent.result("agent.state")["open"]["mem"] == 40


def test_words_of_the_command_line() -> None:
    program = BUILDS["plain"]
    if not program.exists():
        pytest.skip("not built")

    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stdout, done.stderr

    status, said, _ = run("--help")
    assert status == 0 and said.startswith("usage: fcvi-verbs-agent")
    thrice = ["--device", "a", "--device", "b", "--device", "c"]
    for words in (["--device"], ["--nonsense", "1"], ["a", "b"], ["--fault", "x"], thrice):
        assert run(*words)[0] == 2, words
    status, said, why = run("--device", "none0")
    assert status == 3 and said == "" and why.count("\n") == 1 and why.startswith("fcvi-verbs-agent: there is no RDMA device")


_NO_ROOM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

/* No room for what the watcher of events keeps: the only thing of one piece between 4096 and 8192 bytes. */
void *calloc(size_t count, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (count == 1 && size > 4096 && size < 8192)
        return NULL;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "calloc");
    return real(count, size);
}
"""


def test_an_agent_that_cannot_watch_for_events_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on without ever telling an event, and the provider would be blamed."""
    source, library = tmp_path / "no_room.c", tmp_path / "no_room.so"
    source.write_text(_NO_ROOM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    agent = Agent(BUILDS["plain"], "--without-device")
    monkeypatch.delenv("LD_PRELOAD")
    agent.ask("hello", protocol=2)
    assert agent.code("reset", wire="verbs", seed=1) == _ROOM
    agent.end()
