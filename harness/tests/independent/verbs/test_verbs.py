"""The model of verbs: every clause that is checked holds in every variant, every fault shows, and it serves the protocol."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest

from .bench import Agent, Pair
from .checks import CHECKS, Make, every
from .choices import CHOICES, Choices
from .degenerate import KINDS
from .engine import RealClock
from .faults import BY_THE_BOOK, FAULTS, NEEDS, Fault, names
from .program import main
from .seen import SEEN
from .server import Server

HERE = Path(__file__).resolve().parent
FLAVOURS = ("iwarp", "ib")
# A capability that is absent leaves its checks without work, so it is absent in few of the mixes.
ABSENT = ("srq", "mw", "local_inv", "send_inv", "zero_based", "reads", "rereg", "resize_cq")
# The checks wait for less than a close or a message may last, post Receives in RESET, and do not ask for limits: the suite is tried
# with these (test_verbs_book.py).
PATIENT = ("time-wait", "only-init", "far", "uneven", "take-time", "small", "least", "four-cqs", "required")
# What these checks compare to the last byte, at once and in one order; the book is tried with them.
COARSE = ("mixed", "scribbled", "more", "lazy", "early", "ahead")
PARTS = 8
every()


def maker(flavour: str, settings: List[str], fault: Optional[str] = None) -> Make:
    """What a check makes its pair with."""
    mine = {setting.partition("=")[0] for setting in settings}

    def make(settings_also: Any = (), **more: Any) -> Pair:
        also = [setting for setting in settings_also if setting.partition("=")[0] not in mine]
        return Pair(flavour, [*also, *settings], fault, **more)
    return make


def failed(flavour: str, settings: List[str], fault: Optional[str] = None, first: str = "", one: bool = False) -> Dict[str, str]:
    """Checks that the provider fails."""
    found: Dict[str, str] = {}
    for name in sorted(CHECKS, key=lambda name: name != first):
        flavours, check = CHECKS[name]
        if flavour in flavours:
            try:
                check(maker(flavour, settings, fault))
            except AssertionError as problem:
                found[name] = str(problem)
            if one and found:
                break
    return found


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_sound(flavour: str) -> None:
    """Nothing is chosen, nothing is broken."""
    assert failed(flavour, []) == {}


def mixes() -> Iterator[List[str]]:
    """Every value of every choice at least once, most of them together."""
    capable = {name: [value for value in values if value not in PATIENT + COARSE]
               for name, (values, _) in CHOICES.items() if name not in ABSENT}
    for turn in range(1, max(len(values) for values in capable.values())):
        yield [f"{name}={values[turn % len(values)]}" for name, values in capable.items()]
    chance = random.Random(7)
    for _ in range(2):
        yield [f"{name}={chance.choice(values)}" for name, values in capable.items()]
    yield [f"{name}=no" for name in ABSENT]
    yield [f"{name}=no" for name in ABSENT[::2]]
    yield [f"{name}=no" for name in ABSENT[1::2]]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_variants(flavour: str) -> None:
    """Whatever is chosen, every clause holds."""
    assert {str(mix): found for mix in mixes() if (found := failed(flavour, mix))} == {}


@pytest.mark.parametrize("part", range(PARTS))
def test_faults(part: int) -> None:
    """Each fault is seen by a check, in one of its flavours in turn; the check that saw it last time is tried first."""
    unseen = []
    for count, fault in list(enumerate(fault for fault in FAULTS if fault.name not in BY_THE_BOOK))[part::PARTS]:
        flavour = fault.flavours[count // PARTS % len(fault.flavours)]
        if not failed(flavour, [], fault.name, SEEN.get(fault.name, ""), True):
            unseen.append((fault.name, flavour))
    assert unseen == []


def test_faults_are_data() -> None:
    """Names are unique, rows exist, and each fault is somewhere in the code."""
    catalogue = HERE.parents[3] / "conformance/verbs/requirements.tsv"
    rows = {line.split("\t")[0] for line in catalogue.read_text("utf-8").splitlines()}
    code = "".join(path.read_text("utf-8") for path in HERE.glob("*.py") if path.stem not in ("faults", "seen"))
    made = ("pd-freed-with-", "remote-", "local-", "qp-")
    assert len(FAULTS) >= 100 and len(set(names())) == len(FAULTS)
    assert [fault for fault in FAULTS if fault.row not in rows or not fault.flavours] == []
    assert [fault.name for fault in FAULTS if f'"{fault.name}"' not in code and not fault.name.startswith(made)] == []
    assert set(NEEDS) <= set(names())


# The protocol


def talk(lines: List[Dict[str, Any]], *options: str) -> Dict[Any, Dict[str, Any]]:
    """Answers of the program over standard input and output."""
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": count, **line}) + "\n" for count, line in enumerate(lines))
    done = subprocess.run([sys.executable, str(HERE / "agent.py"), *options], input=text, capture_output=True, text=True,
                          timeout=20,
                          check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer.get("id"): answer for answer in answers}


def call(method: str, **params: Any) -> Dict[str, Any]:
    """A line."""
    return {"method": method, "params": params}


def test_protocol() -> None:
    """Errors as the protocol has them."""
    found = talk([call("hello", protocol=2), call("nothing.such"), call("verbs.OpenRnic", device="model0"), call("reset",
                                                                                                                 wire="verbs",
                                                                                                                 seed=3),
                  call("verbs.OpenRnic"), call("verbs.OpenRnic", device="other"), call("verbs.QueryCq", cq=77),
                  call("verbs.OpenRnic", device="model0"), call("verbs.QueryRnic", rnic=1), call("agent.state"),
                  call("agent.devices"),
                  call("hello", protocol=9), {"method": "hello", "params": 5}])
    assert found[0]["result"]["wires"] == ["verbs"] and found[0]["result"]["pics"]["flavour"] == "iwarp"
    codes = {count: answer["error"]["code"] for count, answer in found.items() if "error" in answer}
    assert codes == {1: -32601, 2: -32000, 4: -32602, 6: -32602, 11: -32602, 12: -32602}
    assert found[5]["result"]["return"] == "immediate-error"
    assert found[8]["result"]["attributes"]["max_sge"] >= 4
    assert found[9]["result"]["open"] == {"rnic": 1} and found[10]["result"]["devices"] == ["model0"]


def test_no_json_is_survived() -> None:
    """Rubbish gets an error, and the next line an answer."""
    done = subprocess.run([sys.executable, str(HERE / "agent.py")],
                          input='{"a\n[]\n{"id":1,"method":"hello","params":{"protocol":1}}\n',
                          capture_output=True, text=True, timeout=20, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32600, None]


def test_numbers_are_given_once() -> None:
    """What was destroyed is unknown, and no number comes again."""
    agent = Agent()
    rnic = agent.verb("OpenRnic", device="model0")["rnic"]
    pds = set()
    for _ in range(3):
        pd = agent.verb("AllocatePd", rnic=rnic)["pd"]
        agent.verb("DeallocatePd", pd=pd)
        assert agent.call("verbs.DeallocatePd", pd=pd)["error"]["code"] == -32602
        pds.add(pd)
    assert len(pds) == 3


def test_waiting_calls() -> None:
    """A call that waits holds up no other but those of its thread; a reset answers it."""
    pair = Pair()
    agent, right = pair.agent, pair.right
    waits = agent.send("verbs.PollCq", cq=right.rcq, max=1, Timeout=2_000_000, thread=3)
    behind = agent.send("verbs.QueryCq", cq=right.rcq, thread=3)
    assert agent.verb("QueryCq", cq=right.rcq, thread=4)["entries"] >= 64
    assert waits not in agent.answers and behind not in agent.answers
    right.receive([pair.sink.sge(8)], 5)
    pair.left.post("SEND", [pair.source.sge(8)], 6)
    assert agent.answer(waits)["wcs"][0]["wr_id"] == f"{5:016x}"
    assert agent.answer(behind)["return"] == "success"
    waits = agent.send("verbs.GetEvent", handler=right.handler, Timeout=None)
    agent.call("reset", wire="verbs", seed=1)
    assert agent.answer(waits)["error"]["code"] == -32001


def test_memory_calls() -> None:
    """mem.pattern and mem.poll as section 9.5 of the protocol has them."""
    agent = Agent()
    mem = agent.call("mem.new", length=64, fill="00")["mem"]
    agent.call("mem.pattern", mem=mem, offset=8, length=16, seed=5)
    expected = bytes(((index + 5) * 2654435761 & 0xffffffff) >> 24 for index in range(16)).hex()
    assert agent.call("mem.read", mem=mem, offset=8, length=16)["hex"] == expected
    assert agent.call("mem.pattern", mem=mem, offset=8, length=16, seed=5, check=True) == {"wrong": 0, "first": None}
    agent.call("mem.write", mem=mem, offset=9, hex="00")
    assert agent.call("mem.pattern", mem=mem, offset=8, length=16, seed=5, check=True)["wrong"] in (0, 1)
    waits = agent.send("mem.poll", places=[{"mem": mem, "offset": 60}], mask=0xff, value=7, Timeout=500_000)
    agent.call("mem.write", mem=mem, offset=60, hex=(7).to_bytes(4, sys.byteorder).hex())
    assert [one["place"] for one in agent.answer(waits)["met"]] == [0]


def test_loop_and_hold() -> None:
    """agent.loop posts again and again; agent.hold keeps events back."""
    pair = Pair()
    agent = pair.agent
    wr = {"wr_id": "0" * 16, "opcode": "RDMA_WRITE", "sges": [pair.source.sge(8)], "flags": ["SIGNALED"],
          "remote": pair.sink.remote()}
    loop = agent.call("agent.loop", qp=pair.left.qp, cq=pair.left.scq, wr=wr, times=0)["loop"]
    agent.rest(0.02)
    agent.call("agent.hold", **{"async": True})
    agent.verb("DeregisterMr", mr=pair.sink.mr)
    agent.rest(0.01)
    assert agent.events("async") == []
    agent.call("agent.hold", **{"async": False})
    assert agent.events("async")
    found = agent.call("agent.stop", loop=loop)
    assert found["done"] > 10 and (found["status"] == "WR_FLUSH_ERR" or found["errno"])


def test_two_devices() -> None:
    """Two RNICs of one agent."""
    pair = Pair(devices=2)
    assert pair.rnics[0] != pair.rnics[1]
    pair.right.receive([pair.sink.sge(8)], 5)
    pair.left.post("SEND", [pair.source.sge(8)], 6)
    assert pair.right.received() == [(5, "SUCCESS")] and pair.sink.get(8) == "a1" * 8
    pair.agent.refused("CreateQp", pd=pair.left.pd, send_cq=pair.right.scq, recv_cq=pair.left.rcq, sq_size=1, rq_size=1, sq_sges=1,
                       rq_sges=1)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_two_agents(flavour: str) -> None:
    """Each end in an agent of its own, over a stream between them."""
    agents = [Agent(flavour, clock=RealClock()), Agent(flavour, clock=RealClock())]
    ends = []
    for agent in agents:
        rnic = agent.verb("OpenRnic", device="model0")["rnic"]
        ends.append(_End(agent, rnic))
    left, right = ends
    port = right.agent.verb("Listen", rnic=right.rnic)["port"]
    asked = left.agent.send("verbs.Connect", qp=left.qp, address="127.0.0.1", port=port, ord=2, ird=2, private="0102")
    _both(agents, lambda: bool(right.agent.events("connect-request")))
    request = right.agent.events("connect-request")[0]
    assert request["private"] == "0102"
    taken = right.agent.send("verbs.Accept", request=request["request"], qp=right.qp, ord=2, ird=2, private="0304")
    _both(agents, lambda: asked in left.agent.answers and taken in right.agent.answers)
    assert left.agent.answer(asked)["private"] == "0304" and right.agent.answer(taken)["event"] == "ESTABLISHED"
    right.agent.verb("PostRq", qp=right.qp, wrs=[{"wr_id": "0" * 16, "sges": [right.sge]}])
    left.agent.verb("PostSq", qp=left.qp, wrs=[{"wr_id": "0" * 16, "opcode": "SEND", "sges": [left.sge], "flags": ["SIGNALED"]}])
    polls = [end.agent.send("verbs.PollCq", cq=end.cq, max=1, Timeout=1_000_000) for end in ends]
    _both(agents, lambda: all(poll in end.agent.answers for poll, end in zip(polls, ends)))
    assert [end.agent.answer(poll)["wcs"][0]["status"] for poll, end in zip(polls, ends)] == ["SUCCESS", "SUCCESS"]
    left.agent.verb("Disconnect", qp=left.qp)
    _both(agents, lambda: all(end.agent.events("cm", event="DISCONNECTED") for end in ends))


class _End:
    def __init__(self, agent: Agent, rnic: int) -> None:
        self.agent, self.rnic = agent, rnic
        pd = agent.verb("AllocatePd", rnic=rnic)["pd"]
        self.cq = agent.verb("CreateCq", rnic=rnic, entries=8)["cq"]
        self.qp = agent.verb("CreateQp", pd=pd, send_cq=self.cq, recv_cq=self.cq, sq_size=4, rq_size=4, sq_sges=1, rq_sges=1)["qp"]
        mem = agent.call("mem.new", length=64)["mem"]
        self.sge = {"mem": mem, "mr": agent.verb("RegisterMr", pd=pd, mem=mem, access=["LOCAL_WRITE"])["mr"], "length": 8}


def _both(agents: List[Agent], what: Any) -> None:
    end = time.monotonic() + 3
    while not what():
        assert time.monotonic() < end
        for agent in agents:
            agent.turn()


def served(path: Path) -> socket.socket:
    """A connection to the agent, which may not be listening yet: its name appears before it listens."""
    end = time.monotonic() + 10
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(str(path))
            return client
        except OSError:
            client.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def test_unix_socket(tmp_path: Path) -> None:
    """One suite after the other on a Unix socket."""
    path = tmp_path / "agent"
    with subprocess.Popen([sys.executable, str(HERE / "agent.py"), "--socket", str(path)]) as process:
        try:
            for _ in range(2):
                with served(path) as client:
                    client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2}}\n')
                    assert json.loads(client.makefile().readline())["result"]["clock"] == "real"
        finally:
            process.terminate()


def test_rejected() -> None:
    """A request that is rejected, one that nobody waits for, and one that nobody answers."""
    pair = Pair(join=False)
    agent, left = pair.agent, pair.left
    listening = agent.verb("Listen", rnic=pair.right.rnic)
    asked = agent.send("verbs.Connect", qp=left.qp, address="127.0.0.1", port=listening["port"], ord=1, ird=1)
    request = agent.events("connect-request")[-1]["request"]
    agent.verb("Reject", request=request, private="aa")
    found = agent.answer(asked)
    assert (found["return"], found["event"], found["private"]) == ("immediate-error", "REJECTED", "aa")
    late = agent.call("verbs.Connect", qp=left.qp, address="127.0.0.1", port=listening["port"], ord=1, ird=1, Timeout=20_000)
    assert (late["return"], late["event"]) == ("immediate-error", None)
    agent.verb("Unlisten", listener=listening["listener"])
    nobody = agent.call("verbs.Connect", qp=left.qp, address="127.0.0.1", port=listening["port"], ord=1, ird=1)
    assert nobody["event"] == "REJECTED"
    pair.join()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_degenerate(kind: str) -> None:
    """hello, reset and unknown methods are answered by each."""
    told: List[str] = []
    agent = KINDS[kind](Server("iwarp", Choices(), None, told.append, ["model0"], ["127.0.0.1"]))
    for count, line in enumerate((call("hello", protocol=2), call("probe.1"), call("reset", wire="verbs"), call("verbs.OpenRnic",
                                                                                                                device="x"))):
        agent.line(json.dumps({"jsonrpc": "2.0", "id": count, **line}).encode())
    answers = [json.loads(line) for line in told]
    assert answers[1]["error"]["code"] == -32601 and answers[2]["result"] == {}
    assert len(answers) == (3 if kind == "mute" else 4)


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """The lists of choices and faults."""
    assert main(["--list-choices"]) == 0 and main(["--list-faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHOICES) + len(FAULTS)
    assert isinstance(FAULTS[0], Fault)


@pytest.mark.parametrize("options", [["--fault", "none"], ["--choose", "none=1"], ["--choose", "wire=slow"]])
def test_usage(options: List[str]) -> None:
    """A wrong name is said, with status 2."""
    with pytest.raises(SystemExit) as end:
        main(options)
    assert end.value.code == 2
