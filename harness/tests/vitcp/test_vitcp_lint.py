"""``fcvi lint`` and ``decode`` of captured VI/TCP: what is found, that TCP's division changes nothing, and that what a capture
does not show accuses nobody."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from ..conftest import ROOT, fcvi
from . import vitcp_conversations
from .vitcp_conversations import (
    CALL, CALLED, CONVERSATIONS, NO_MATCH, NOP, REJECT, REQUEST, RESPONSE, SEND, Packet, packets, pdu, rdma, setup as called, write,
    write_tagged,
)  # fmt: skip

SAMPLES = ROOT / "pcaps/vitcp"


def lint(*paths: Path | str) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """The findings, the summary and the status. The records add up."""
    done = fcvi("lint", "--json", *map(str, paths))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    summary = lines.pop()["summary"]
    records = summary["records"]
    assert records["judged"] + sum(records["not_judged"].values()) + sum(records["foreign"].values()) == records["all"]
    return lines, summary, done.returncode


def said(findings: list[dict[str, Any]]) -> list[Any]:
    """What the findings are about, without the record that showed it."""
    names = ("name", "requirement", "class", "erratum", "connection", "direction", "offset", "byte", "seen", "required")
    return sorted([str({"name": Path(finding["file"]).name, **finding}[name]) for name in names] for finding in findings)


def test_each_breach_and_each_reading(tmp_path: Path) -> None:
    """Of each capture of pcaps/vitcp, which are what the conversations make."""
    findings = lint(*(SAMPLES / f"{name}.pcap" for name in CONVERSATIONS))[0]
    for name, conversation in CONVERSATIONS.items():
        write(tmp_path / name, packets(conversation.steps))
        assert (SAMPLES / f"{name}.pcap").read_bytes() == (tmp_path / name).read_bytes()
        found = [(f["requirement"], f["class"], f["erratum"]) for f in findings if Path(f["file"]).stem == name]
        assert sorted(found, key=str) == sorted(conversation.found, key=str), name
    assert {path.stem for path in SAMPLES.glob("*.pcap")} == set(CONVERSATIONS)


@pytest.mark.parametrize("name", ["good", "nops-are-counted", "no-credit"])
def test_the_status_and_what_was_seen(name: str) -> None:
    _, summary, status = lint(SAMPLES / f"{name}.pcap")
    assert status == (1 if name == "no-credit" else 0)
    assert summary["vitcp"] == {"pdus": len(CONVERSATIONS[name].steps), "profile": "T0"}


def shuffled(taken: list[Packet], random: Random) -> list[Packet]:
    """Segments of one direction out of order, some twice, some with the bytes of the one before."""
    found = list(taken)
    for at in range(4, len(found) - 1):
        if found[at].direction == found[at + 1].direction and random.random() < 0.3:
            found[at], found[at + 1] = found[at + 1], found[at]
    twice: list[Packet] = []
    for packet in found:
        twice.append(packet)
        if packet.data and random.random() < 0.3:
            twice.append(packet)
        last = [p for p in twice[:-1] if p.direction == packet.direction and p.sequence + len(p.data) == packet.sequence and p.data]
        if packet.data and last and random.random() < 0.3:
            twice.append(packet._replace(sequence=last[-1].sequence, data=last[-1].data + packet.data))
    return twice


@pytest.mark.parametrize("how", ["bytes", "pieces", "shuffled", "wrapped"])
def test_how_tcp_divides_it_changes_nothing(how: str, tmp_path: Path) -> None:
    """Byte by byte, in pieces, out of order, sent again, overlapping (2.2.2.2.3, 2.2.2.2.5)."""
    names = sorted(name for name in CONVERSATIONS if "longer" not in name)
    for number, name in enumerate(names):
        steps = CONVERSATIONS[name].steps
        path = tmp_path / f"{name}.pcap"
        if how == "bytes":
            write(path, packets(steps, (1,)))
        elif how == "shuffled":
            write(path, shuffled(packets(steps, (7, 24, 30, 100), number), Random(number)))
        else:
            write(path, packets(steps, (1, 5, 24, 300), number), first=(0xFFFFFFF0, 0x7FFFFFF0))
    assert said(lint(*(tmp_path / f"{name}.pcap" for name in names))[0]) == said(lint(*(SAMPLES / f"{n}.pcap" for n in names))[0])


@pytest.mark.parametrize("breach", sorted(CONVERSATIONS))
def test_two_vlans_with_the_same_addresses_are_two_connections(breach: str, tmp_path: Path) -> None:
    """Each is judged as if it were alone, wherever their sequence numbers lie."""
    for other in ((0xFFFFFF00, 7000), (0xFFFFFF10, 7100), (5, 9)):
        good = [(200, p, (0xFFFFFF00, 7000)) for p in packets(CONVERSATIONS["good"].steps)]
        bad = [(300, p, other) for p in packets(CONVERSATIONS[breach].steps, (30,))]
        both = [frame for pair in zip(good, bad) for frame in pair] + good[len(bad) :] + bad[len(good) :]
        write_tagged(tmp_path / "both.pcap", both)
        findings, summary, _ = lint(tmp_path / "both.pcap")
        found = [(f["requirement"], f["class"], f["erratum"]) for f in findings]
        assert sorted(found, key=str) == sorted(CONVERSATIONS[breach].found, key=str)
        assert summary["vitcp"]["pdus"] == len(CONVERSATIONS["good"].steps) + len(CONVERSATIONS[breach].steps)


@pytest.mark.parametrize("tags", [(100, 0), (0, 100), (100, 200)])
def test_a_mirror_that_tags_one_direction_only(tags: tuple[int, int], tmp_path: Path) -> None:
    """What a switch mirrors may be tagged on its way in and not on its way out: it is one connection all the same."""
    names = sorted(CONVERSATIONS)
    for name in names:
        taken = [(tags[p.direction], p, (0xFFFFFF00, 7000)) for p in packets(CONVERSATIONS[name].steps)]
        write_tagged(tmp_path / f"{name}.pcap", taken)
    assert said(lint(*(tmp_path / f"{n}.pcap" for n in names))[0]) == said(lint(*(SAMPLES / f"{n}.pcap" for n in names))[0])


def test_a_finding_names_the_record_of_its_byte(tmp_path: Path) -> None:
    """Data Offset begins at byte 4: in pieces of 3 it lies in the second record of its PDU."""
    path = tmp_path / "c.pcap"
    taken = packets(CONVERSATIONS["first-offset-not-zero"].steps, (3,))
    write(path, taken)
    finding = lint(path)[0][0]
    begin = next(n for n, p in enumerate(taken, 1) if p.direction == 0 and p.sequence == 1 + finding["offset"])
    assert finding["frame"] == begin + 1 and finding["byte"] == 4


@pytest.mark.parametrize("name", sorted(CONVERSATIONS))
def test_what_is_missing_accuses_nobody(name: str, tmp_path: Path) -> None:
    """Whatever one segment is lost, wherever the capture begins: nothing is found that is not there."""
    conversation = CONVERSATIONS[name]
    there = {requirement for requirement, _, _ in conversation.found}
    whole = packets(conversation.steps, (400,))
    cases = [whole[:n] + whole[n + 1 :] for n in range(len(whole))]
    cases += [whole[n:] for n in (1, 2, 4, 6)]
    cases += [[p for p in whole if p.direction == d] for d in (0, 1)]
    for number, taken in enumerate(cases):
        write(tmp_path / f"{number}.pcap", taken)
    for port in (("--tcp-port", "50444"), ()):  # known before, or by what comes first
        findings = lint(*port, *tmp_path.glob("*.pcap"))[0]
        assert {f["requirement"] for f in findings if f["class"] != "notice"} <= there


def test_a_request_that_is_late_before_vitcp_is_known_accuses_nobody(tmp_path: Path) -> None:
    """An ACK of the acceptor, ahead of its Connect Accept, is behind one part of the Connect Request and before the other."""
    whole = packets(CONVERSATIONS["good"].steps, (400,))
    first, second = [n for n, p in enumerate(whole) if p.direction == 0 and p.data][:2]
    accept, request, then = next(p for p in whole if p.direction == 1 and p.data), whole[first], whole[second]
    ack = Packet(1, 16, accept.sequence + len(accept.data), then.sequence + len(then.data))
    parts = request._replace(data=request.data[:7]), request._replace(sequence=request.sequence + 7, data=request.data[7:])
    write(tmp_path / "1.pcap", [*whole[:first], parts[1], then, ack, parts[0], *whole[first + 1 :]])
    assert [f for f in lint(tmp_path / "1.pcap")[0] if f["class"] != "notice"] == []


def with_its_end(taken: list[Packet], random: Random) -> list[Packet]:
    """The same with FIN from either side, with RST, or without an end."""
    end = [max(p.sequence + len(p.data) for p in taken if p.direction == d) for d in (0, 1)]
    one = random.choice((0, 1))
    fin = [
        Packet(one, 17, end[one], end[1 - one]), Packet(1 - one, 17, end[1 - one], end[one] + 1),
        Packet(one, 16, end[one] + 1, end[1 - one] + 1),
    ]  # fmt: skip
    return taken + random.choice([fin, [Packet(one, 20, end[one], end[1 - one])], []])


@pytest.mark.parametrize("places", [1, 8])
def test_ports_used_again_and_records_out_of_order_accuse_nobody(places: int, tmp_path: Path) -> None:
    """A second connection between the same ports, records that change places, some lost and some doubled, SYNs among them."""
    for seed in range(120):
        random = Random(seed)
        cut = random.choice([(7, 24, 30, 100), (400,), (1000,), (3,), (50, 60)])
        firsts = [(1000, 5000), (random.getrandbits(32), random.getrandbits(32))]
        whole = [(0, p, first) for n, first in enumerate(firsts)
                 for p in with_its_end(packets(CONVERSATIONS["good"].steps, cut, seed + n), random)]
        places_of = [n + random.uniform(0, places) for n in range(len(whole))]
        taken = [whole[n] for n in sorted(range(len(whole)), key=places_of.__getitem__)]
        loss, double = random.choice((0, 0.05)), random.choice((0, 0.1))
        taken = [one for one in taken if random.random() >= loss for _ in range(1 + (random.random() < double))]
        write_tagged(tmp_path / f"{seed}.pcap", taken)
    findings, summary, _ = lint("--tcp-port", "50444", *tmp_path.glob("*.pcap"))
    assert [f for f in findings if f["class"] != "notice"] == []
    assert summary["vitcp"]["pdus"] > 120 * 10


def test_a_snap_length_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    write(path, packets(CONVERSATIONS["good"].steps), snap=90)
    findings, summary, status = lint(path)
    assert findings == [] and status == 2
    write(path, packets(CONVERSATIONS["good"].steps), snap=120)
    findings, summary, status = lint(path)
    assert findings == [] and any("cut off" in reason for reason in summary["records"]["not_judged"])


def test_other_tcp_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "http.pcap"
    write(path, packets([(0, b"GET / HTTP/1.1\r\n\r\n"), (1, b"HTTP/1.1 200 OK\r\n\r\n")]))
    findings, summary, status = lint(path)
    assert findings == [] and status == 2 and summary["records"]["foreign"] == {"TCP": 5}
    assert lint("--wire", "tcp", path)[1]["records"]["foreign"] != {"TCP": 5}


def test_decode_shows_pdus_where_they_end(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    steps = CONVERSATIONS["good"].steps
    write(path, packets(steps, (11,)))
    done = fcvi("decode", "--json", str(path))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    told = [line for line in lines if line["record"] == "pdu"]
    assert [line["length"] for line in told] == [len(data) for _, data in steps]
    assert [line["direction"] for line in told] == [direction for direction, _ in steps]
    done = fcvi("decode", "--summary", "--family", "vitcp", str(SAMPLES / "good.pcap"))
    assert len(done.stdout.splitlines()) == len(steps)


def test_flows_list_connections() -> None:
    """What went each way, by the conversation; each line by its schema, and those of lint and decode by theirs."""
    schema = json.loads((ROOT / "harness/fcvi/vitcp/flows.schema.json").read_text())
    done = fcvi("flows", "--wire", "tcp", "--json", *map(str, SAMPLES.glob("*.pcap")))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(CONVERSATIONS)
    for row in rows:
        jsonschema.validate(row, schema)
        name = Path(row["file"]).stem
        assert sum(sum(sent["pdus"].values()) for sent in row["sent"]) == len(CONVERSATIONS[name].steps)
        assert row["whole"] and not row["missing"] and row["caller"] == "192.0.2.1:49200"
    good = next(row for row in rows if Path(row["file"]).stem == "good")
    assert good["answer"] == "Connect Accept" and good["mtu"] == 4096 and good["reliable"] and good["flow_control"]
    assert [sent["messages"] for sent in good["sent"]] == [4, 3]
    for command in ("lint", "decode"):
        its = json.loads((ROOT / f"harness/fcvi/commands/schemas/{command}.schema.json").read_text())
        for line in fcvi(command, "--json", str(SAMPLES / "no-credit.pcap")).stdout.splitlines():
            jsonschema.validate(json.loads(line), its)


_END = [Packet(0, 17, 1000, 1000), Packet(1, 17, 1000, 1001)]
_NO_END: list[Packet] = []


@pytest.mark.parametrize(
    ("steps", "end", "cause", "party"),
    [
        (CONVERSATIONS["good"].steps, _NO_END, "", ""),
        (CONVERSATIONS["good"].steps, _END, "", ""),
        (CONVERSATIONS["error-on-unreliable"].steps, _NO_END, "", ""),
        # V43: a reset is one of the ways to close, where all was answered
        (CONVERSATIONS["good"].steps, [Packet(0, 20, 1000, 1000)], "", ""),
        (CONVERSATIONS["good"].steps, [Packet(1, 20, 1000, 1000)], "", ""),
        ([*CALLED, (0, pdu(SEND, 1, b"x"))], [Packet(1, 20, 1000, 1000)], "", ""),  # Reliable Delivery owes no ACK (V14)
        ([*CALLED, (0, rdma(REQUEST, 1, 9))], [Packet(1, 20, 1000, 1000)], "connection-reset", "192.0.2.2:50444"),
        ([*CALLED, (1, rdma(REQUEST, 1, 9))], [Packet(0, 20, 1000, 1000)], "connection-reset", "192.0.2.1:49200"),
        ([*CALLED, (1, rdma(REQUEST, 1, 9)), (0, rdma(RESPONSE, 1, 9, b"x", flags=0))], [Packet(1, 20, 1000, 1000)],
         "connection-reset", ""),  # it waited for the rest
        ([*CALLED, (0, pdu(SEND, 1, b"x", flags=0))], [Packet(0, 20, 1000, 1000)], "connection-reset", ""),  # perhaps for room
        ([*CALLED, (1, rdma(REQUEST, 1, 9))], [Packet(1, 20, 1000, 1000)], "connection-reset", ""),  # for the Response
        ([*CALLED, (0, pdu(SEND, 1, b"x", flags=0))], _END, "closed-early", ""),
        ([*CALLED, (0, pdu(SEND, 1, b"x")[:24])], [Packet(1, 20, 1000, 1000)], "connection-reset", "192.0.2.2:50444"),
        (CONVERSATIONS["good"].steps, [_END[0], Packet(1, 20, 1000, 1001)], "", ""),  # who has data left resets behind a FIN
        ([(0, called(CALL)), (1, pdu(NO_MATCH))], _END, "no-match", ""),
        ([(0, called(CALL)), (1, pdu(REJECT))], _END, "rejected", "192.0.2.2:50444"),
        ([(0, called(CALL))], [Packet(1, 20, 1, 1000)], "connection-reset", "192.0.2.2:50444"),
        ([(0, called(CALL))], [Packet(0, 17, 1000, 1)], "no-answer", ""),
        ([(0, called(CALL))], _NO_END, "", ""),  # the capture ends
        ([*CALLED, (0, pdu(SEND, 1, b"x")), (1, pdu(NOP, ack=1, error=0x200))], _NO_END, "reported-error", ""),
    ],
)  # fmt: skip
def test_explain_says_why_connections_came_to_nothing(
    steps: list[tuple[int, bytes]], end: list[Packet], cause: str, party: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.pcap"
    taken = packets(steps)
    lengths = [sum(len(p.data) for p in taken if p.direction == d) for d in (0, 1)]
    write(path, taken + [p._replace(sequence=1 + lengths[p.direction], acknowledged=1 + lengths[1 - p.direction]) for p in end])
    done = fcvi("explain", "--json", str(path))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    schema = json.loads((ROOT / "harness/fcvi/commands/schemas/explain.schema.json").read_text())
    for line in told:
        jsonschema.validate(line, schema)
    assert [(line["cause"], line["party"]) for line in told] == ([(cause, party)] if cause else [])
    assert done.returncode == bool(cause) and fcvi("explain", str(path)).returncode == done.returncode


@pytest.mark.parametrize("by, beyond", [(0, (9, 0)), (1, (0, 9)), (1, (9, 0))])
def test_a_reset_that_names_bytes_which_the_capture_lacks_accuses_nobody(by: int, beyond: tuple[int, int], tmp_path: Path) -> None:
    """The rest of the message, or the Response, may be among them."""
    taken = packets([*CALLED, (0, rdma(REQUEST, 1, 9)), (1, rdma(RESPONSE, 1, 9, b"x", flags=0))])
    ends = [1 + sum(len(p.data) for p in taken if p.direction == d) + beyond[d] for d in (0, 1)]
    write(tmp_path / "c.pcap", [*taken, Packet(by, 20, ends[by], ends[1 - by])])
    assert fcvi("explain", str(tmp_path / "c.pcap")).returncode == 0


def explained(path: Path, taken: list[tuple[float, Packet]]) -> tuple[list[str], int, str]:
    """The causes, the status, and what stands before the first cause, of segments with their seconds."""
    write(path, [p for _, p in taken], at=[s for s, _ in taken])
    causes = [json.loads(line)["cause"] for line in fcvi("explain", "--json", str(path)).stdout.splitlines()]
    done = fcvi("explain", str(path))
    return causes, done.returncode, done.stdout.partition("\n1. ")[0]


def spoken(steps: list[tuple[int, bytes]]) -> list[tuple[float, Packet]]:
    """A conversation, a segment each millisecond from the first second on."""
    return [(1 + n / 1000, p) for n, p in enumerate(packets(steps))]


@pytest.mark.parametrize("seconds, causes", [(40, []), (70, ["no-answer"])])
def test_a_request_without_an_answer_is_told_after_a_minute(seconds: int, causes: list[str], tmp_path: Path) -> None:
    """The draft has no timer, and a slow application is no failure."""
    later = Packet(0, 16, 1 + len(called(CALL)), 1)
    assert explained(tmp_path / "c.pcap", [*spoken([(0, called(CALL))]), (seconds, later)])[0] == causes


@pytest.mark.parametrize("again, gap, end, causes", [
    (5, 0.5, True, ["end-silent"]), (5, 0.5, False, []), (2, 0.5, True, []), (5, 0.00001, True, []),
])  # fmt: skip
def test_data_that_go_again_and_again_show_that_the_other_end_is_gone(
    again: int, gap: float, end: bool, causes: list[str], tmp_path: Path
) -> None:
    """Not the copies of a capture of two points, and not while the connection may go on."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, b"x"))])
    at, data = frames[-1]
    frames += [(at + gap * n, data) for n in range(1, again + 1)]
    reset = Packet(0, 20, data.sequence + len(data.data), data.acknowledged)
    assert explained(tmp_path / "c.pcap", frames + [(frames[-1][0] + 1, reset)] * end)[0] == causes


@pytest.mark.parametrize("flags, causes", [
    ([(0, 2), (1, 20)], ["connection-refused"]), ([(0, 2), (0, 2), (1, 20)], ["connection-refused"]),
    ([(0, 2), (1, 20)] * 3, ["connection-refused"]),
    ([(0, 2), (0, 2)], ["no-answer"]), ([(0, 2), (1, 18)], []), ([(0, 2), (0, 16)], []),
])  # fmt: skip
@pytest.mark.parametrize("in_order", [True, False])
def test_a_connection_of_tcp_that_never_was_is_told_where_vitcp_is_spoken(
    flags: list[tuple[int, int]], causes: list[str], in_order: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, or without an answer for a minute; not one of which the capture shows one direction."""
    spoken_first, path = spoken(CALLED), tmp_path / "c.pcap"
    write(path, [p for _, p in spoken_first], at=[s for s, _ in spoken_first])
    for port, its, begin in ((50001, [Packet(by, flag, 0, 0) for by, flag in flags], 2), (50002, [Packet(0, 2, 0, 0)], 100)):
        monkeypatch.setattr(vitcp_conversations, "CALLER", port)
        at = [begin + n for n in range(len(its))]
        write(tmp_path / "more.pcap", its if in_order else its[::-1], at=at if in_order else at[::-1])
        path.write_bytes(path.read_bytes() + (tmp_path / "more.pcap").read_bytes()[24:])
    told = [json.loads(line) for line in fcvi("explain", "--json", str(path)).stdout.splitlines()]
    assert [(line["cause"], line["party"], line["connection"]) for line in told] == [(cause, "", -1) for cause in causes]


def behind(frames: list[tuple[float, Packet]], seconds: float = 0.9) -> list[tuple[float, Packet]]:
    """The clock of the tap of the called end is behind."""
    return sorted([(at - seconds * p.direction, p) for at, p in frames], key=lambda f: f[0])


@pytest.mark.parametrize("seconds", [-20, 0, 20])
def test_an_early_connection_that_was_made_later_is_no_cause(seconds: int, tmp_path: Path) -> None:
    """Whatever the clocks of two taps say."""
    refused = [(0.1, Packet(0, 2, 0, 0)), (0.2, Packet(1, 20, 0, 1))]
    frames = [(at + 30, p) for at, p in refused + spoken(CALLED)]
    assert explained(tmp_path / "c.pcap", behind(frames, seconds))[:2] == ([], 0)


@pytest.mark.parametrize("seconds", [0, 0.002, 0.009])
def test_a_reset_within_a_read_is_told_whatever_the_clocks_of_two_taps_are(seconds: float, tmp_path: Path) -> None:
    """The SYN of the called end names the byte with which the caller begins, and no order is needed to join the two."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40))), (1, rdma(REQUEST, 1, 8)), (0, pdu(SEND, 2, bytes(40)))])
    at, last = frames[-1]
    reset = Packet(0, 20, last.sequence + len(last.data), last.acknowledged)
    assert explained(tmp_path / "c.pcap", behind([*frames, (at + 0.001, reset)], seconds))[0] == ["connection-reset"]


@pytest.mark.parametrize("flags, seconds, hosts, causes", [
    (0, 90, 1, ["stopped"]), (0, 40, 1, []), (2, 90, 1, []), (0, 90, 7, ["not-seen-further"]),
])  # fmt: skip
def test_a_message_that_stops_is_told_after_a_minute(
    flags: int, seconds: int, hosts: int, causes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While others of its hosts go on; else one of two taps may have ended."""
    first, path = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40), flags=flags))]), tmp_path / "c.pcap"
    write(path, [p for _, p in first], at=[s for s, _ in first])
    monkeypatch.setattr(vitcp_conversations, "CALLER", 50001)
    monkeypatch.setattr(vitcp_conversations, "HOSTS", (bytes([192, 0, 2, hosts]), bytes([192, 0, 2, hosts + 1])))
    other = spoken(CALLED)
    write(tmp_path / "more.pcap", [p for _, p in other], at=[s + seconds for s, _ in other])
    path.write_bytes(path.read_bytes() + (tmp_path / "more.pcap").read_bytes()[24:])
    assert [json.loads(line)["cause"] for line in fcvi("explain", "--json", str(path)).stdout.splitlines()] == causes


@pytest.mark.parametrize("flags, closes, causes", [
    (4, False, ["connection-reset"]), (20, False, []), (4, True, []),
])  # fmt: skip
def test_a_reset_without_ack_of_data_that_nothing_acknowledged_is_of_a_host_that_forgot(
    flags: int, closes: bool, causes: list[str], tmp_path: Path
) -> None:
    """Who closes by a reset sends it with ACK, and behind a FIN data may cross."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, b"x")), (1, pdu(NOP, ack=1)), (0, pdu(SEND, 2, bytes(40)))])
    at, last = frames[-1]
    frames += [(at + 0.001, Packet(1, 17, last.acknowledged, last.sequence))] * closes
    frames.append((at + 0.002, Packet(1, flags, last.acknowledged + closes, last.sequence if flags & 16 else 0)))
    assert explained(tmp_path / "c.pcap", frames)[0] == causes


def test_a_reset_that_came_another_way_accuses_nobody(tmp_path: Path) -> None:
    """A firewall resets in the name of an end: the hop limit tells it."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40), flags=0))])
    at, last = frames[-1]
    path = tmp_path / "c.pcap"
    write(path, [*(p for _, p in frames), Packet(1, 20, last.acknowledged, last.sequence + len(last.data))])
    told = json.loads(fcvi("explain", "--json", str(path)).stdout)
    assert (told["cause"], told["party"]) == ("connection-reset", "192.0.2.2:50444")
    raw = bytearray(path.read_bytes())
    raw[-32] ^= 1  # of the last packet: 20 bytes of TCP, 12 of IP behind the hop limit
    path.write_bytes(raw)
    told = json.loads(fcvi("explain", "--json", str(path)).stdout)
    assert (told["cause"], told["party"]) == ("connection-reset", "") and "another way" in told["text"]


@pytest.mark.parametrize("steps", [[*CALLED, (0, pdu(SEND, 1, bytes(40), flags=0))], [(0, called(CALL))]])
@pytest.mark.parametrize("back, later, certainty, words", [
    (0, [], "shown by the frames", ""), (0, [(0.0, 16)], "shown by the frames", ""), (0, [(0.1, 20)], "shown by the frames", ""),
    (0, [(0.1, 16)], "possible", "speaks on no more"), (0, [(0.1, 24)], "possible", "speaks on no more"),
    (0, [(0.1, 2), (0.2, 16)], "shown by the frames", ""), (20, [], "possible", "takes for no reset"),
])  # fmt: skip
def test_a_reset_that_its_end_contradicts_accuses_nobody(
    steps: list[tuple[int, bytes]], back: int, later: list[tuple[float, int]], certainty: str, words: str, tmp_path: Path
) -> None:
    """That end acknowledges or sends behind it, not with another reset or on a new connection; or the reset is of an old place."""
    frames = spoken(steps)
    at, last = frames[-1]
    ends = [1 + sum(len(p.data) for _, p in frames if p.direction == d) for d in (0, 1)]
    frames.append((at + 0.001, Packet(0, 16, ends[0], ends[1])))
    frames.append((at + 0.002, Packet(1, 20, ends[1] - back, ends[0])))
    frames += [(at + 0.002 + s, Packet(1, flags, ends[1], ends[0], b"x" * (flags == 24))) for s, flags in later]
    path = tmp_path / "c.pcap"
    write(path, [p for _, p in frames], at=[s for s, _ in frames])
    told = [json.loads(line) for line in fcvi("explain", "--json", str(path)).stdout.splitlines()]
    assert [line["cause"] for line in told] == ["connection-reset"]
    party = "192.0.2.2:50444" if certainty != "possible" else ""
    assert (told[0]["certainty"], told[0]["party"]) == (certainty, party) and words in told[0]["text"]


@pytest.mark.parametrize("speaks_on", [False, True])
def test_of_very_many_resets_each_is_watched(speaks_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of 300 ends speaks on behind all of them."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40), flags=0))])
    at, last = frames[-1]
    mine, its = last.sequence + len(last.data), last.acknowledged
    frames += [(at + 0.001, Packet(1, 16, its, mine)), (at + 0.002, Packet(1, 20, its, mine))]
    path, more = tmp_path / "c.pcap", tmp_path / "more.pcap"
    path.write_bytes(b"")
    for n in range(300):
        monkeypatch.setattr(vitcp_conversations, "CALLER", 40000 + n)
        write(more, [p for _, p in frames], at=[s + n for s, _ in frames])
        path.write_bytes(path.read_bytes() + more.read_bytes()[24 * bool(n) :])
    monkeypatch.setattr(vitcp_conversations, "CALLER", 40000)
    write(more, [Packet(1, 16, its, mine)], at=[400])
    path.write_bytes(path.read_bytes() + more.read_bytes()[24:] * speaks_on)
    told = [json.loads(line) for line in fcvi("explain", "--json", str(path)).stdout.splitlines()]
    assert len(told) == 300
    assert sum(line["certainty"] == "possible" and not line["party"] for line in told) == speaks_on


@pytest.mark.parametrize("probes, opens, both, end, causes", [
    (9, False, False, 0, ["no-room"]), (7, False, False, 0, []), (9, True, False, 0, []), (9, False, True, 0, ["no-room"]),
    (9, False, False, 20, ["no-room"]),
])  # fmt: skip
@pytest.mark.parametrize("data", [b"", b"x"])
def test_an_end_that_takes_no_data_for_a_minute_is_told(
    data: bytes, probes: int, opens: bool, both: bool, end: int, causes: list[str], tmp_path: Path
) -> None:
    """It answers each probe, and says window 0. It is no cause where it has room again, or where the capture ends before."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40), flags=0))])
    at, last = frames[-1]
    ends = [last.sequence + len(last.data), last.acknowledged]
    frames.append((at + 0.001, Packet(1, 16, ends[1], ends[0], b"", 0)))
    for n in range(1, probes + 1):
        at += 0.3 * 2 ** (n - 1)
        frames.append((at, Packet(0, 16, ends[0] - 1 + len(data), ends[1], data, 0 if both else 65535)))
        frames.append((at + 0.001, Packet(1, 16, ends[1], ends[0], b"", 0)))
    frames += [(at + 0.1, Packet(1, 16, ends[1], ends[0]))] * opens
    frames += [(at + 0.1, Packet(0, end, ends[0], ends[1]))] * bool(end)
    path = tmp_path / "c.pcap"
    assert explained(path, frames)[0] == causes
    for line in fcvi("explain", "--json", str(path)).stdout.splitlines():
        told = json.loads(line)
        assert (told["certainty"], told["party"]) == ("possible", "" if both else "192.0.2.2:50444")
        assert "window 0" in told["text"]


@pytest.mark.parametrize("answered, causes", [(False, ["end-silent"]), (True, [])])
@pytest.mark.parametrize("data", [b"", b"x"])
def test_keep_alives_without_an_answer_show_that_the_other_end_is_gone(
    data: bytes, answered: bool, causes: list[str], tmp_path: Path
) -> None:
    """They name the byte before the next (RFC 9293, 3.8.4). A whole message is no part of it: nothing else waits."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40))), (1, pdu(NOP, ack=1))])
    at, last = frames[-1]
    mine, its = last.acknowledged, last.sequence + len(last.data)
    for n in range(1, 10):
        frames.append((at + 10 * n, Packet(0, 16, mine - 1, its, data)))
        frames += [(at + 10 * n + 0.001, Packet(1, 16, its, mine))] * answered
    frames.append((at + 100, Packet(0, 20, mine, its)))
    assert explained(tmp_path / "c.pcap", frames)[0] == causes


@pytest.mark.parametrize("heard, causes", [(False, ["acknowledged-in-vain"]), (True, [])])
def test_data_that_go_again_though_acknowledged_show_where_the_path_is_cut(heard: bool, causes: list[str], tmp_path: Path) -> None:
    """heard: something of the other end reaches it at last."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40)))])
    at, last = frames[-1]
    mine, its = last.sequence + len(last.data), last.acknowledged
    for n in range(1, 7):
        frames.append((at + 2**n / 4 - 0.3, Packet(1, 16, its, mine)))
        frames.append((at + 2**n / 4, last))
    frames.append((at + 17, Packet(1, 16, its, mine)))
    if heard:
        frames.append((at + 18, Packet(0, 24, mine, its, pdu(SEND, 2, bytes(40)))))
        mine += 64
    frames.append((at + 40, Packet(0, 20, mine, its)))
    assert explained(tmp_path / "c.pcap", frames)[0] == causes


def test_a_reset_beyond_every_window_ends_nothing(tmp_path: Path) -> None:
    """Its receiver drops it (RFC 9293, 3.10.7.4): what was cut off goes on, and is whole in the end."""
    message = pdu(SEND, 1, bytes(40))
    frames = spoken([*CALLED, (0, message[:30])])
    at, last = frames[-1]
    its = last.acknowledged
    frames.append((at + 0.001, Packet(1, 4, its + (1 << 30) & 0xFFFFFFFF, 0)))
    frames.append((at + 0.002, Packet(0, 24, last.sequence + 30, its, message[30:])))
    frames.append((at + 0.1, Packet(0, 20, last.sequence + len(message), its)))
    assert explained(tmp_path / "c.pcap", frames)[0] == []


def test_a_window_that_an_export_left_zero_says_nothing(tmp_path: Path) -> None:
    frames = [(at * 4000, p._replace(window=0)) for at, p in spoken(CONVERSATIONS["good"].steps)]
    assert explained(tmp_path / "c.pcap", frames)[0] == []


@pytest.mark.parametrize("seconds", [-86400, -500, -20, -0.9, 0.9, 20, 500, 86400])
@pytest.mark.parametrize("last", ["nothing", "reset", "repeated"])
def test_clocks_of_two_taps_change_no_cause(last: str, seconds: float, tmp_path: Path) -> None:
    """An acknowledgement comes behind what it acknowledges, so they are put right, and that is said."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40))), (1, pdu(NOP, ack=1)), (0, pdu(SEND, 2, bytes(40), flags=0))])
    at, data = frames[-1]
    frames += {"nothing": [], "reset": [(at + 0.001, Packet(1, 20, frames[-2][1].sequence + len(frames[-2][1].data), 0))],
               "repeated": [(at + 0.5 * n, data if n < 6 else Packet(0, 20, data.sequence + len(data.data), 1))
                            for n in range(1, 7)]}[last]  # fmt: skip
    causes = {"nothing": [], "reset": ["connection-reset"], "repeated": ["end-silent"]}[last]
    assert explained(tmp_path / "a.pcap", frames)[0] == causes
    found, _, said = explained(tmp_path / "b.pcap", behind([(t + 100_000, p) for t, p in frames], seconds))
    assert found == causes and "two clocks" in said


def test_a_clock_that_was_set_is_not_taken_for_two(tmp_path: Path) -> None:
    """It goes on by a minute, or back, within a connection that lacks nothing."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40))), (1, pdu(NOP, ack=1)), (0, pdu(SEND, 2, bytes(40)))])
    for by in (-60, 60):
        for n in range(len(frames)):
            stepped = [(at + 100 + (by if place >= n else 0), p) for place, (at, p) in enumerate(frames)]
            causes, status, said = explained(tmp_path / "a.pcap", stepped)
            assert (causes, status) == ([], 0) and "two clocks" not in said


@pytest.mark.parametrize("left_out, causes", [(False, ["closed-early"]), (True, [])])
def test_bytes_before_a_fin_that_the_capture_lacks_are_no_message_that_is_not_whole(
    left_out: bool, causes: list[str], tmp_path: Path
) -> None:
    """The FIN says where its direction ends."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, bytes(40), flags=0))])
    at, last = frames[-1]
    ends = last.sequence + len(last.data) + (64 if left_out else 0)
    fins = [(at + 0.1, Packet(0, 17, ends, 1)), (at + 0.2, Packet(1, 17, frames[-2][1].sequence, ends + 1))]
    assert explained(tmp_path / "c.pcap", frames + fins)[0] == causes


def test_a_file_out_of_order_is_read_by_its_times_and_a_cut_one_is_told(tmp_path: Path) -> None:
    """Bursts of two interfaces: the answers stand before what they answer."""
    frames = spoken([*CALLED, (0, pdu(SEND, 1, b"x")), (1, pdu(NOP, ack=1, error=0x200))])
    bursts = [f for f in frames if f[1].direction] + [f for f in frames if not f[1].direction]
    causes, status, said = explained(tmp_path / "c.pcap", bursts)
    assert (causes, status) == (["reported-error"], 1) and "not in the order of its time" in said
    assert explained(tmp_path / "e.pcap", behind(frames))[0] == ["reported-error"]
    reset = Packet(1, 20, frames[-1][1].sequence + len(frames[-1][1].data), 0)
    over = behind([*frames, (frames[-1][0] + 0.001, reset)])  # one direction is over when the other begins
    assert explained(tmp_path / "f.pcap", over)[0] == ["reported-error"]
    assert "has the two directions of 1 connections" in fcvi("explain", "--reorder", "1", str(tmp_path / "f.pcap")).stdout
    bursts = [f for f in over if not f[1].direction] + [f for f in over if f[1].direction]
    assert explained(tmp_path / "g.pcap", bursts)[:2] == (["reported-error"], 1)
    write(tmp_path / "d.pcap", [p for _, p in frames], snap=100)
    assert "bytes are missing or cut off" in fcvi("explain", str(tmp_path / "d.pcap")).stdout


def test_a_request_that_concedes_or_is_early_is_no_cause(tmp_path: Path) -> None:
    """4: of two that cross the lower host gives its own up, or the higher one answers it with No Match. 4.3: who is early asks
    again."""
    cases = "TCP.4.a,TCP.4.b/then-there"
    done = fcvi("run", "--dut", "ref", "--book", "vitcp", "--select", cases, "--report", str(tmp_path / "report"))
    assert done.returncode == 0
    paths = sorted((tmp_path / "report").glob("*.pcapng"))
    assert len(paths) > 3
    for path in paths:
        assert fcvi("explain", str(path)).returncode == 0, path.name


def test_flows_without_vitcp() -> None:
    done = fcvi("flows", "--wire", "tcp", str(ROOT / "pcaps/crafted/fcip.pcap"))
    assert done.returncode == 2 and "no connection of VI/TCP" in done.stderr


@pytest.mark.parametrize("what, row", [("length", "VITCP-3.2.1-04"), ("handle", "VITCP-3.2.1-03"), ("address", "VITCP-3.2.1-02")])
def test_the_segments_of_an_rdma_write_have_one_header(what: str, row: str) -> None:
    """3.2.1: the second segment of a Write names another length, region or address than the first."""
    done = fcvi("lint", "--json", str(ROOT / f"pcaps/field/vitcp-rdma-{what}-changes.pcap"))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["requirement"] for f in found if f.get("class") == "violation"] == [row]
