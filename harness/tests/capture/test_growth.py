"""Tests that a reader of strangers' text costs no more than its length: doubled input costs less than three times as much."""

from __future__ import annotations

import gc
import json
import os
import resource
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Callable

import pytest

from conformance import register_all
from conformance.fcvi.steps.connection import REGISTRY
from fcvi.capture.hexdump import HexError, frames_of
from fcvi.dut.endpoint import Session
from fcvi.engine import case as registry, declaration, deviation, filters, own_cases, strict
from fcvi.engine.case import load_cases
from fcvi.engine.deviation import Deviation
from fcvi.engine.evidence import load_trace
from fcvi.engine.files import FileError
from fcvi.engine.results import Result, RunReport, Verdict
from fcvi.engine.select import select
from fcvi.learn import mealy
from fcvi.report import canonical, diff, github, manifest, matrix, waive

from ..conftest import FCVI, ROOT
from ..vitcp import vitcp_conversations


def _seconds(read: Callable[[], object], times: int = 3) -> float:
    """User time of the quickest of so many, without Python's collector and the kernel's pages, which are not the reader's."""
    found = []
    gc.disable()
    for _ in range(times):
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        try:
            read()
        except (ValueError, HexError, FileError):
            pass
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin)
    gc.enable()
    return min(found)


def _json(n: int) -> str:
    return "{" + ",".join(f'"m{i}":0' for i in range(n)) + f',"m{n - 1}":0}}'


def _toml(text: str) -> Callable[[], object]:
    data = text.encode()
    return lambda: strict.toml(data)


def _dump(text: str) -> Callable[[], object]:
    return lambda: frames_of(text, "x")


def _trace(line: str) -> Callable[[int], Callable[[], object]]:
    """The trace of a case with so many lines."""

    def make(n: int) -> Callable[[], object]:
        place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name))
        (place / "evidence").mkdir()
        (place / "evidence/D.R1.jsonl").write_text('{"trace":2,"case":"D.R1"}\n' + f"{line}\n" * n)
        return lambda: load_trace(place, "D.R1")

    return make


def _report(reason: Callable[[int], str], n: int, count: int) -> Callable[[], object]:
    """A report compared with itself."""
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name))
    results = [{"id": f"c{i}", "verdict": "fail", "qualifier": None, "reason": reason(n)} for i in range(count)]
    data = {"schema": 1, "suite": {}, "dut": {}, "pixit": {}, "seed": 1, "results": results, "requirements": {}}
    (place / "report.json").write_text(json.dumps(data))
    return lambda: diff.compare(diff.load(place), diff.load(place))


def _named(n: int) -> Callable[[], object]:
    """A report whose suite has an object of a long name with many members."""
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name))
    suite = {"k" * n: {str(i): 0 for i in range(n // 10)}}
    data = {"schema": 1, "suite": suite, "dut": {}, "pixit": {}, "seed": 1, "results": [], "requirements": {}}
    (place / "report.json").write_text(json.dumps(data))
    return lambda: diff.load(place)


def _machine(n: int) -> bytes:
    steps = [[s, a, (s + 1) % n if a == "a" else s, ["x" if s < n - 1 else "y"]] for s in range(n) for a in "ab"]
    return json.dumps({"fcvi-learn": 1, "device": "", "settings": [], "letters": ["a", "b"], "complete": True, "why": "", "steps": steps}).encode()  # noqa: E501


def _two_machines(n: int) -> Callable[[], object]:
    one, other = _machine(n // 1000 + 2), _machine(n // 1000 + 2)
    return lambda: list(mealy.differences(mealy.Mealy.from_json(one, "x"), mealy.Mealy.from_json(other, "x"), 5))


def _covered(n: int) -> Callable[[], object]:
    """A device that breaks so much, every bit of it declared."""
    declared = [Deviation("known", requirement=f"FCVI-{i}") for i in range(min(n // 100, 1000))]
    results = [Result("D.R1", "", Verdict.FAIL, broken=[d.requirement or "" for d in declared])]
    report = RunReport("", "", "", "", "", {}, {}, 1, results=results)
    return lambda: deviation.apply(report, declared)


def _lines(n: int) -> Callable[[], object]:
    """Lines of a client of the endpoint."""

    def read() -> None:
        source, sink = os.open("/dev/null", os.O_RDWR), os.open("/dev/null", os.O_RDWR)
        session = Session(source, sink, "virtual")
        for at in range(0, n, 1000):
            session._take(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n' * min(1000, n - at))
            session._write()
        os.close(source)
        os.close(sink)

    return read


def _tcp(at: int, i: int, back: bool, flags: int, data: bytes) -> bytes:
    """A record of a capture: a segment of connection i."""
    caller, called = (bytes([10, 1 + (i >> 16), i >> 8 & 255, i & 255]), 40000), (bytes([10, 0, 0, 2]), vitcp_conversations.PORT)
    (source, port), (target, to) = (called, caller) if back else (caller, called)
    tcp = struct.pack(">HHIIBBHHH", port, to, at, 1, 0x50, flags, 65535, 0, 0) + data
    packet = bytes(12) + b"\x08\0" + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, target) + tcp
    return struct.pack("<IIII", i >> 10, i & 1023, len(packet), len(packet)) + packet


def _connections(n: int) -> bytes:
    """A capture of so many connections of VI/TCP, all of them open until its end."""
    call, accept = (vitcp_conversations.setup(kind) for kind in (vitcp_conversations.CALL, vitcp_conversations.ACCEPT))
    steps = [(0, False, 2, b""), (0, True, 0x12, b""), (1, False, 0x18, call), (1, True, 0x18, accept)]
    records = [_tcp(at, i, back, flags, data) for i in range(n) for at, back, flags, data in steps]
    ends = [_tcp(1 + len(call), i, False, 0x11, b"") + _tcp(1 + len(accept), i, True, 0x11, b"") for i in range(n)]
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records + ends)


def _recorded(case: str) -> list[bytes]:
    """The frames of a case, without delimiters and CRC."""
    data, found, at = (ROOT / f"build/pcaps/cases/{case}.pcapng").read_bytes(), [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            found.append(data[at + 32 : at + 20 + struct.unpack_from("<I", data, at + 20)[0]])
        at += length
    return found


def _frames(ports: Callable[[list[bytes], int], list[tuple[int, bytes]]]) -> Callable[[int], bytes]:
    """A capture of frames, each between a pair of ports that has a number."""

    def make(n: int) -> bytes:
        records = []
        for i, (pair, frame) in enumerate(ports(_recorded("5.3.2.combined"), n)):
            ends = (int.from_bytes(frame[at : at + 3], "big") for at in (1, 5))
            there, back = (((end + 512 * pair) & 0xFFFFFF).to_bytes(3, "big") for end in ends)
            frame = frame[:1] + there + frame[4:5] + back + frame[8:]
            records.append(struct.pack("<IIII", i >> 16, (i & 65535) * 10, len(frame), len(frame)) + frame)
        return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 224) + b"".join(records)

    return make


def _file(make: Callable[[int], str], read: Callable[[Path], object]) -> Callable[[int], Callable[[], object]]:
    """A file that a person writes and names."""

    def written(n: int) -> Callable[[], object]:
        path = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "own.py")
        path.write_text(make(n))
        return lambda: read(path)

    return written


def _pics(path: Path) -> object:
    return declaration.load(path, [])


def _compared(n: int) -> Callable[[], object]:
    """Two devices beside each other, as a page and as a table. Every second case has got worse."""
    places = []
    for verdict in ("pass", "fail"):
        places.append(Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name)))
        results = [{"id": f"c{i}", "verdict": verdict if i % 2 else "fail", "qualifier": None, "reason": "x"} for i in range(n)]
        data = {"schema": 1, "suite": {}, "dut": {}, "pixit": {}, "seed": 1, "results": results, "requirements": {}}
        (places[-1] / "report.json").write_text(json.dumps(data))

    def read() -> None:
        table = matrix.build([matrix.load(str(place)) for place in places])
        matrix.html_page(table)
        matrix.csv_table(table)

    return read


def _known(n: int) -> Callable[[], object]:
    """A baseline of failures that a run still has, each of many requirements."""
    results = [{"id": f"c{i}", "verdict": "fail", "broken": [f"FCVI-{j}" for j in range(20)]} for i in range(n)]
    path = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "report.json")
    path.write_text(json.dumps({"results": results}))
    now = [Result(str(r["id"]), "", Verdict.FAIL, broken=list(r["broken"])) for r in results]
    report = RunReport("", "", "", "", "", {}, {}, 1, results=now, date="2126-01-31")
    return lambda: waive.apply(report, waive.load_baseline(path), "report", [])


def _annotated(reason: Callable[[int], str], n: int, count: int = 1) -> Callable[[], object]:
    """What a job of GitHub shows of a device that says so."""
    results = [{"id": f"c{i}", "verdict": "fail", "reason": reason(n) + "x" * (i % 99), "broken": [], "findings": [], "frames": 1}
               for i in range(count)]  # fmt: skip
    report = {"dut": {"implementation": "x", "version": "1"}, "results": results, "deviations": [],
              "summary": dict.fromkeys(("pass", "fail", "inconclusive", "error", "not-applicable"), 0)}  # fmt: skip
    return lambda: (github.annotated(report), github.summary(report))


def _own_cases(n: int) -> str:
    """A file of so many cases."""
    head = "from conformance.fcvi.steps.connection import REGISTRY\nfrom fcvi.engine.case import Variant, case\n" \
           "from fcvi.fc.scenario import Scenario\n"  # fmt: skip
    one = '@case(REGISTRY, "own.{0}", "x", clause="8.5.3", requirements=[], applies="", variants=[Variant("a")])\n' \
          'def own_{0}(t: Scenario) -> None:\n    """x"""\n    t.control("x")\n'  # fmt: skip
    return head + "".join(one.format(i) for i in range(n))


def _declared_anew(path: Path) -> None:
    """The cases of a file, which are forgotten again."""
    taken, cases = set(REGISTRY._taken), dict(REGISTRY._cases)
    try:
        own_cases._declared(path)
    finally:
        REGISTRY._taken, REGISTRY._cases = taken, cases
        registry.OWN.clear()


_FLOWS, _EXPLAIN = ["flows", "--json"], ["explain", "--json"]
COMMANDS: dict[str, tuple[list[str], int, Callable[[int], bytes]]] = {
    "connections of VI/TCP": (["flows", "--wire", "tcp", "--json"], 1000, _connections),
    "connections": (_FLOWS, 1000, _frames(lambda seen, n: [(i, frame) for i in range(n) for frame in seen])),
    "connections at once": (_FLOWS, 1000, _frames(lambda seen, n: [(i, frame) for frame in seen for i in range(n)])),
    "causes": (_EXPLAIN, 1000, _frames(lambda seen, n: [(i, seen[0]) for i in range(n)])),
    "repetitions": (_EXPLAIN, 4000, _frames(lambda seen, n: [(0, seen[0])] * n)),
    "findings": (["lint", "--trust", "whole"], 4000, _frames(lambda seen, n: [(i, seen[-1]) for i in range(n)])),
}


@pytest.mark.parametrize(
    "name, times", [("connections of VI/TCP", (1, 4)), *(pytest.param(n, (8, 16, 32), marks=pytest.mark.nightly) for n in COMMANDS)]
)
def test_the_cost_of_a_command_grows_with_the_capture(name: str, times: tuple[int, ...], tmp_path: Path) -> None:
    """X8: each connection that was over moved all the others."""
    words, size, make = COMMANDS[name]
    took = []
    for factor in times:
        (tmp_path / "x.pcap").write_bytes(make(factor * size))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [str(FCVI), *words, str(tmp_path / "x.pcap")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        took.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        assert words[0] != "flows" or done.stdout.count("\n") == factor * size, done.stderr
    print(f"{name}: " + " ".join(f"{seconds:.2f}" for seconds in took))
    assert all(later / earlier < 1.5 * b / a for earlier, later, a, b in zip(took, took[1:], times, times[1:])), took


_PLACE = tempfile.TemporaryDirectory(prefix="fcvi-growth-")  # pylint: disable=consider-using-with
_HIDDEN = 'x = ["""a"""", """b\n"""]\n'  # the fourth quote belongs to the string
READERS: dict[str, tuple[int, Callable[[int], Callable[[], object]]]] = {
    "JSON with a member that is there twice": (20_000, lambda n: (lambda text: lambda: strict.loads(text))(_json(n))),
    "JSON with empty lists": (50_000, lambda n: (lambda text: lambda: strict.loads(text))("[" + "[]," * n + "[]]")),
    "JSON with an endless number": (50_000, lambda n: (lambda text: lambda: strict.loads(text))("[" + "1" * n + "]")),
    "JSON with a text of escapes": (50_000, lambda n: (lambda text: lambda: strict.loads(text))('["' + "\\u0041" * n + '"]')),
    "evidence with a member twice": (20_000, lambda n: (lambda data: lambda: canonical.loads(data, "x"))(_json(n).encode())),
    "TOML with a key of many parts": (50_000, lambda n: _toml("a." * n + "a = 1\n")),
    "TOML with a key of one long part": (50_000, lambda n: _toml("a" * n + " = 1\n")),
    "TOML with a key of many quoted parts": (50_000, lambda n: _toml('"a" . ' * n + "a = 1\n")),
    "TOML with a key behind quotes at the end of a string": (500, lambda n: _toml(_HIDDEN + "a." * n + "a = 1\n")),
    "TOML with many tables": (2_000, lambda n: _toml("".join(f"[a.b{i}.c]\nx = 1.5\n" for i in range(n)))),
    "TOML with tables of one array": (2_000, lambda n: _toml("[[a]]\nx = 1\n" * n)),
    "TOML with strings that do not end": (20_000, lambda n: _toml('"""' + '"\\' * n)),
    "TOML with quotes that do not end": (20_000, lambda n: _toml("\'\'\'" + "\"x\'y" * n)),
    "TOML with a text of escapes": (20_000, lambda n: _toml('a = "' + "\\n" * n + '"\n')),
    "TOML with blanks": (50_000, lambda n: _toml("a" + " " * n + "= 1\n" + " " * n)),
    "a hexadecimal dump": (2_000, lambda n: _dump(f"0000  {'22 ' * 16}\n0010  {'22 ' * 8}\n\n" * n)),
    "a dump of short lines": (5_000, lambda n: _dump("22\n" * n)),
    "a dump of one line": (50_000, lambda n: _dump("22" * n)),
    "a dump of words": (50_000, lambda n: _dump("22 " * n)),
    "a dump of nothing but stars": (20_000, lambda n: _dump("0000  22 22\n" + "*\n" * n)),
    "a dump with many spaces": (100_000, lambda n: _dump("0000  22" + " " * n + "x")),
    "a trace": (2_000, _trace('{"op":"advance","us":0,"now":0}')),
    "a trace in which nothing happens": (100, _trace('{"op":"advance","us":0,"now":0,"idle":100}')),
    "a manifest": (20_000, lambda n: (lambda said: lambda: manifest.hashes_in(said))(b"0  x\n" * n)),
    "reports of many cases": (2_000, lambda n: _report(lambda _: "12 us", n, n)),
    "reports with a reason of digits": (50_000, lambda n: _report(lambda n: "1" * n, n, 1)),
    "reports with a long name of an object": (10_000, _named),
    "machines": (20_000, _two_machines),
    "deviations": (20_000, _covered),
    "a filter of many conditions": (8_000, lambda n: lambda: filters.parsed(" or ".join(["S_ID == 1"] * n), ["S_ID"])),
    "a filter that is never closed": (64_000, lambda n: lambda: filters.parsed("(" * n, ["S_ID"])),
    "a selection of patterns": (100, lambda n: lambda: select(load_cases(), ",".join(f"*{i}*" for i in range(n)))),
    "lines of a client": (2_000, _lines),
    "a PICS with a long item": (20_000, _file(lambda n: f"[pics]\n{'ab' * n} = true\n", _pics)),
    "a PICS of many items": (2_000, _file(lambda n: "".join(f"a{i} = 1\n" for i in range(n)), _pics)),
    "a PIXIT of many items": (2_000, _file(lambda n: "[pixit]\n" + "".join(f"dut.a{i} = 1\n" for i in range(n)), _pics)),
    "a baseline": (1_000, _known),
    "a matrix": (1_000, _compared),
    "annotations of many failures": (500, lambda n: _annotated(lambda _: "x", n, n)),
    **{f"an annotation of {words!r}": (5_000, (lambda words: lambda n: _annotated(lambda n: words * n, n))(words))
       for words in ("1", "0x1 ", "1 us ", "frame 1, ", "'")},
    "cases of one's own": (20, _file(_own_cases, _declared_anew)),
    "a case of one's own with many lines": (
        100, _file(lambda n: _own_cases(1) + '    t.require(True, "FCVI-8.5.3-a3", "x", 1, 2)\n' * n, _declared_anew)
    ),
    "a file with many functions beside a case": (
        500, _file(lambda n: _own_cases(1) + "".join(f"def f{i}(a: int) -> int:\n    return a\n" for i in range(n)), _declared_anew)
    ),
}


@pytest.fixture(scope="module", autouse=True)
def standards() -> None:
    """As the command begins."""
    register_all()


@pytest.mark.parametrize("name", READERS)
def test_the_cost_grows_with_the_input(name: str) -> None:
    size, make = READERS[name]
    while _seconds(make(size), 2) < 0.01 and size < 200_000:
        size *= 2
    small, large = make(size), make(4 * size)
    # In pairs, of which the first mostly does: a host that is short of processors counts for a reader what is not its own.
    assert any(_seconds(large, 2) < 9 * _seconds(small, 2) + 0.02 for _ in range(5))


@pytest.mark.nightly
@pytest.mark.parametrize("name", READERS)
def test_each_doubling_costs_less_than_three_times_as_much(name: str) -> None:
    """Once, twice and four times the same input, of which the first takes 0.1 s where any that is read does: the least of three."""
    size, make = READERS[name]
    while (first := _seconds(make(size))) < 0.1 and size < 1_000_000:
        size *= 2
    took = [first, *(_seconds(make(times * size)) for times in (2, 4))]
    print(f"{name}: {size}: " + " ".join(f"{seconds:.3f}" for seconds in took))
    assert all(later < 3 * earlier + 0.02 for earlier, later in zip(took, took[1:])), took


def test_keys_that_people_write_are_read() -> None:
    text = b'[pics]\nmax_depth = 1.5\n"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s" = "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18"\n'
    assert list(strict.toml(text + b"# 1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19\n")) == ["pics"]
    with pytest.raises(ValueError, match="has more than 16 parts"):
        strict.toml(b"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r = 1")
    for quotes in ('"""', "'''"):
        for own in ("", quotes[0], quotes[0] * 2):
            text = f"x = [{quotes}a{own}{quotes}, {quotes}b\n{quotes}]\n"
            assert strict.toml(text.encode()) == {"x": ["a" + own, "b\n"]}
            with pytest.raises(ValueError, match="has more than 16 parts"):
                strict.toml((text + "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r = 1").encode())
    with pytest.raises(ValueError, match="more than the"):
        strict.toml(b"#" * (9 << 20))
    assert json.loads("{}") == strict.loads("{}")


def _text(n: int) -> Callable[[], object]:
    text = " " * (n - 1) + "0"
    return lambda: strict.loads(text)


def _declared(n: int) -> Callable[[], object]:
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "pics.toml")
    place.write_text('[[deviation]]\ncase = "*"\nreason = "x"\n' * n)
    return lambda: declaration.load(place, [])


def _quarantined(n: int) -> Callable[[], object]:
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "quarantine.toml")
    place.write_text('[[quarantine]]\ncase = "a"\nreason = "x"\nuntil = 2999-01-01\n' * n)
    return lambda: waive.load_quarantine(place, ["a"], [])


def _with_reason(n: int) -> Callable[[], object]:
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "pics.toml")
    place.write_text(f'[[deviation]]\ncase = "*"\nreason = "{"x" * n}"\n')
    return lambda: declaration.load(place, [])


def _with_case(n: int) -> Callable[[], object]:
    place = Path(tempfile.mkdtemp(prefix="fcvi-growth-", dir=_PLACE.name), "quarantine.toml")
    place.write_text(f'[[quarantine]]\ncase = "a{"*" * (n - 1)}"\nreason = "x"\nuntil = 2999-01-01\n')
    return lambda: waive.load_quarantine(place, ["a"], [])


_HUNDRED = '{"op":"advance","us":0,"now":0,"idle":99}'
#: What the threat model promises that is taken at most, and what is said of one more.
MOST: dict[str, tuple[int, Callable[[int], Callable[[], object]], str]] = {
    "characters of JSON": (64 << 20, _text, "are read of JSON"),
    "bytes of TOML": (8 << 20, lambda n: _toml("#" * n), "are read of a file of TOML"),
    "deviations": (1000, _declared, "1001 deviations are more"),
    "characters of a deviation": (2000, _with_reason, "reason has 2001 characters"),
    "characters of a quarantine": (2000, _with_case, "case has 2001 characters"),
    "entries of a quarantine": (1000, _quarantined, "1001 entries are more"),
    "patterns": (1000, lambda n: lambda: select(load_cases(), ",".join(["D*"] * n)), "more than 1000 patterns"),
    "states of a machine": (1000, lambda n: lambda: mealy.Mealy.from_json(_machine(n), "x"), "1001 states are more"),
    "operations of a trace": (1_000_000, lambda n: _trace(_HUNDRED)(-(-n // 100)), "more than 1000000 operations"),
}  # fmt: skip


@pytest.mark.parametrize("name", MOST)
def test_so_much_is_taken_and_no_more(name: str) -> None:
    most, make, words = MOST[name]
    if name == "operations of a trace":  # whose head is one
        most -= 100
    make(most)()
    with pytest.raises((ValueError, FileError), match=words):
        make(most + 1)()
