"""``fcvi explain`` of VI/TCP: why its connections came to nothing or ended, as far as the PDUs and the ends of TCP show."""

from __future__ import annotations

import json
from typing import Any, Iterator

from fcvi.capture.scan import Order, ScanError
from fcvi.engine.words import printable

from . import clocks
from .captured import Streams, profile_of
from .flows import Seen, connections

_ENDS = ("caller", "called")

#: What each name means, for the text. Those that FC-VI has too mean the same.
_TITLES = {
    "no-match": "nobody waits under that Discriminator",
    "rejected": "the application refused",
    "connection-reset": "the TCP connection was reset before all was answered",
    "no-answer": "a Connect Request was not answered",
    "reported-error": "one end reports an error of a message",
    "connection-refused": "nothing listens on that port of TCP",
    "end-silent": "one end fell silent, and the other repeated its data in vain",
    "acknowledged-in-vain": "one end repeats what the other one has acknowledged",
    "stopped": "a message stopped before its end",
    "not-seen-further": "within a message a connection is not seen further: it stopped, or the capture of its hosts did",
    "no-room": "one end takes no data",
    "closed-early": "the TCP connection was closed before a message was whole",
}
_LONG_US = 60_000_000  # the draft has no timer; an application that asked has given up by then, or says so
_MANY = 3  # times that data went again in vain


class Found:
    """A cause. party: the end that a PDU or a segment convicts, empty where there is none."""

    def __init__(self, name: str, certainty: str, text: str, confirm: str, party: str, row: dict[str, Any]) -> None:
        self.name, self.certainty, self.text, self.confirm, self.party, self.row = name, certainty, text, confirm, party, row

    def json(self, said: list[str]) -> str:
        """One object, as of FC-VI."""
        row = self.row
        frames = [{"file": row["file"], "frame": number, "text": f"{word} record of the connection"}
                  for word, number in (("first", row["first_record"]), ("last", row["last_record"]))]  # fmt: skip
        return json.dumps({
            "cause": self.name, "may_be": [self.name], "certainty": self.certainty, "text": self.text, "confirm": self.confirm,
            "party": self.party, "connection": row["connection"], "further_connections": 0, "frames": frames, "capture": said,
        })  # fmt: skip

    def lines(self, number: int) -> list[str]:
        """For people."""
        row = self.row
        which = f"VI/TCP connection {row['connection']}" if row["connection"] > 0 else "VI/TCP"
        return [
            f"{number}. {_TITLES[self.name]} ({which}): {self.certainty}", f"   {self.text}",
            f"   {row['file']}: records {row['first_record']} to {row['last_record']}: {row['caller']} > {row['called']}",
            f"   To confirm: {self.confirm}.",
        ]  # fmt: skip


def _pending(row: dict[str, Any]) -> str:
    """What had begun and not ended, in words; empty where nothing had, or the capture lacks a part of the connection.

    A Message that is whole is never pending: at Reliable Delivery nobody owes an ACK, and the wire does not tell that level (V14).
    """
    if not row["whole"] or row["missing"] or any(sent["errors"] for sent in row["sent"]):
        return ""
    found = []
    for end, sent in zip(_ENDS, row["sent"]):
        if sent["unanswered_reads"]:
            found.append(f"{sent['unanswered_reads']} RDMA Reads of {row[end]} had no whole Response")
        if sent["unfinished"]:
            found.append(f"what {row[end]} sent was not whole")
    return ", ".join(found)


#: What speaks against a reset being of the end in whose name it came.
_DOUBTS = {
    "foreign_reset": "It came another way than what was sent from that address before.",
    "spoke_on": "A later segment of that end is in the capture, and who resets speaks on no more.",
    "stale_reset": "Its sequence number is below what the other end had acknowledged, which that one takes for no reset (RFC 9293, "
                   "3.10.7.4).",
}  # fmt: skip


def _doubts(row: dict[str, Any]) -> str:
    """In sentences; empty where nothing does."""
    doubts = [words for key, words in _DOUBTS.items() if row[key]]
    return " ".join([*doubts, "Something between may have sent it."]) if doubts else ""


def _of_reset(row: dict[str, Any]) -> Iterator[Found]:
    """A reset is one of the ways to close (V43): it is a cause where something was pending."""
    pending, by = _pending(row), [row[end] for end in _ENDS if end in row["closed"]]
    if pending:
        # where a rule was broken, or read otherwise, End of Message may not be where the other end looks for it
        doubts = _doubts(row)
        is_unsure = row["violations"] or row["notices"] or row["spoke_on"] or row["stale_reset"]
        certainty = "possible" if is_unsure else "shown by the frames"
        names = " and ".join(by)
        text = f"TCP reset by {names}, and the VI with it (2.2.2.2.2), while {pending}."
        if doubts:
            text = f"A TCP reset in the name of {names} came while {pending}. {doubts}"
        party = by[0] if len(by) == 1 and _cuts_off(row, by[0]) and not doubts else ""
        confirm = f"the log of {by[0]}" if party else "the logs of both ends: who resets may have waited in vain"
        yield Found("connection-reset", certainty, text, confirm, party, row)  # fmt: skip


def _of_forgotten(row: dict[str, Any]) -> Iterator[Found]:
    """Data that were never acknowledged, and a reset without ACK: so a host answers that does not know the connection. Who closes
    by a reset sends it with ACK, and behind a FIN data may cross."""
    for end, other, sent in zip(_ENDS, _ENDS[::-1], row["sent"]):
        is_bare = row["closed"] == f"reset by {other}" and row["bare_reset"]
        if is_bare and sent["unacknowledged"] and row["reliable"] and row["whole"]:
            yield Found("connection-reset", "probable", f"{row[other]} acknowledges nothing of the last "
                        f"{sent['unacknowledged']} bytes of {row[end]} and answers them by a reset without ACK, as a host does "
                        "that does not know the connection (RFC 9293, 3.5.2): it was restarted, or something between forgot it.",
                        f"the log of {row[other]}: whether it was restarted; firewalls and NAT on the path", "", row)  # fmt: skip


def _cuts_off(row: dict[str, Any], end: str) -> bool:
    """Whether what had not ended was the other end's: who resets while it waits for an answer, or for room, is not at fault."""
    own, other = row["sent"] if end == row["caller"] else row["sent"][::-1]
    return bool(other["unfinished"] or other["unanswered_reads"]) and not (own["unfinished"] or own["unanswered_reads"])


def _of_fin(row: dict[str, Any]) -> Iterator[Found]:
    """TCP closes in order, and a message of an end is not whole: what was sent of it is lost."""
    names = [row[end] for end, sent in zip(_ENDS, row["sent"]) if sent["unfinished"]]
    if not _pending(row) or not names or row["violations"] or row["notices"]:
        return
    yield Found("closed-early", "possible", f"The connection ends ({row['closed']}), and the VI with it (2.2.2.2.2), while a "
                f"message of {' and of '.join(names)} is not whole.",
                "the logs of both ends: VipDisconnect while a Descriptor was under way", "", row)  # fmt: skip


_UNHEARD = "No connection of VI/TCP of either host goes on in the capture, so the tap that saw them may have ended."


def _goes_on(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether a connection of one of its hosts is there long behind its end: one of two taps in a file may end before the other."""
    hosts, end = {_host(row["caller"]), _host(row["called"])}, row["begin"] + row["seconds"]
    return any(hosts & {_host(other["caller"]), _host(other["called"])} and other["begin"] + other["seconds"] > end + _LONG_US / 1e6
               for other in rows)  # fmt: skip


def _of_stop(row: dict[str, Any], rows: list[dict[str, Any]], newest_us: int) -> Iterator[Found]:
    """A message that is not whole, and nothing more of the connection for long, though the capture goes on."""
    names = [row[end] for end, sent in zip(_ENDS, row["sent"]) if sent["unfinished"]]
    waited = newest_us / 1e6 - row["begin"] - row["seconds"]
    if not _pending(row) or not names or row["violations"] or row["notices"] or waited <= _LONG_US / 1e6:
        return
    text = (f"A message of {' and of '.join(names)} is not whole, and no segment of the connection came in {waited:.0f} s: its "
            "sender stopped, or the other end has no room, or the path is cut.")  # fmt: skip
    name = "stopped" if _goes_on(row, rows) else "not-seen-further"
    text += "" if name == "stopped" else f" {_UNHEARD}"
    yield Found(name, "possible", text, "captures and logs at both ends", "", row)


def _of_silence(row: dict[str, Any], newest_us: int) -> Iterator[Found]:
    """Data or keep-alives that go again and again, and no segment of the other end, or data that this one has acknowledged, until
    the connection is reset or the capture has gone on for long."""
    if not row["whole"]:
        return
    last_us = (row["begin"] + row["seconds"]) * 1e6
    for end, other, sent in zip(_ENDS, _ENDS[::-1], row["sent"]):
        gone = newest_us > last_us + _LONG_US and row["closed"] in ("not seen", f"fin by {end}")
        if not gone and f"reset by {end}" not in row["closed"]:
            continue
        name, where = "end-silent", f"a capture at {row[other]}; its host's log"
        if sent["repeated"] >= _MANY:
            text = (f"{row[end]} sent the same data {sent['repeated']} times again, and no segment of {row[other]} follows: that "
                    "end is gone, or the path to it.")  # fmt: skip
        elif sent["keep_alives_in_vain"] >= _MANY:
            text = (f"{sent['keep_alives_in_vain']} keep-alives of {row[end]} had no answer, and no segment of {row[other]} "
                    "follows: that end is gone, or the path to it.")  # fmt: skip
        elif sent["repeated_though_acknowledged"] >= _MANY:
            name, where = "acknowledged-in-vain", f"a capture at {row[end]}"
            text = (f"{row[end]} sent the same data {sent['repeated_though_acknowledged']} times again, though {row[other]} had "
                    f"acknowledged them: what that end sends is lost between the capture point and {row[end]}.")  # fmt: skip
        else:
            continue
        yield Found(name, "probable", text, where, "", row)


def _of_no_room(row: dict[str, Any]) -> Iterator[Found]:
    """An end that says window 0 again and again, to its last segment. Where both do, each may wait for the other to read."""
    shut = [(row[end], sent) for end, sent in zip(_ENDS, row["sent"])
            if sent["shut_segments"] >= _MANY and sent["shut_seconds"] > _LONG_US / 1e6]  # fmt: skip
    told = [f"All {sent['shut_segments']} segments of {end} from record {sent['shut_record']} on say window 0, for "
            f"{sent['shut_seconds']:.0f} s" for end, sent in shut]  # fmt: skip
    if shut:
        ends = " and ".join(end for end, _ in shut)
        yield Found("no-room", "possible", f"{', and '.join(told)}: {ends} answers, and has no room for more data (RFC 9293, "
                    "3.8.6.1), as where an application does not read.", f"the application's log at {ends}: whether it reads, "
                    "and posts Receives", shut[0][0] if len(shut) == 1 else "", row)  # fmt: skip


def _of_attempts(attempts: list[dict[str, Any]], rows: list[dict[str, Any]], newest_us: int) -> Iterator[Found]:
    """TCP connections to an end that speaks VI/TCP which never were, one of each caller."""
    spoken = {row["called"] for row in rows}
    told: set[tuple[str, str, bool]] = set()
    silent: dict[str, list[dict[str, Any]]] = {}  # by who is called
    for a in attempts:
        key = (_host(a["caller"]), a["called"], a["refused"])
        # of a refused one the answer is the latest record, and its clock may be another
        since, us = (a["first_record"], a["first_us"]) if a["refused"] else (a["last_record"], a["last_us"])
        later = any(_host(row["caller"]) == key[0] and row["called"] == key[1]
                    and _is_later(row, since, us / 1e6) for row in rows)  # fmt: skip
        if a["called"] not in spoken or later or key in told:
            continue
        row = {**a, "connection": -1}
        if a["refused"]:
            told.add(key)
            yield Found("connection-refused", "shown by the frames", f"{a['called']} answers the SYN of {a['caller']} by a reset: "
                        "no program listens there, so there is no VI (2.2.2.2.2).", "whether the called application runs", "",
                        row)  # fmt: skip
        elif newest_us > a["last_us"] + _LONG_US:
            told.add(key)
            silent.setdefault(a["called"], []).append(row)
    for called, asked in silent.items():
        more = f" and of {len(asked) - 1} other hosts" if len(asked) > 1 else ""
        syns = sum(a["syns"] for a in asked)
        yield Found("no-answer", "possible", f"{syns} SYN of {asked[0]['caller']}{more} to {called} had no answer: the host is not "
                    "there, or something between drops them.", "a capture at the called host", "", asked[0])  # fmt: skip


def _host(end: str) -> str:
    return end.rpartition(":")[0]


def _conceded(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether the called host called the caller meanwhile and was accepted: of two requests that cross only one is (4)."""
    ends = _host(row["called"]), _host(row["caller"])
    return any(ends == (_host(other["caller"]), _host(other["called"])) and other["answer"] == "Connect Accept"
               and other["first_record"] <= row["last_record"] and row["first_record"] <= other["last_record"]
               for other in rows)  # fmt: skip


def _asked_again(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether the caller was accepted later: who is early is told No Match, and asks again (4.3)."""
    return any(_host(other["caller"]) == _host(row["caller"]) and other["called"] == row["called"]
               and other["answer"] == "Connect Accept" and _is_later(other, row["last_record"], row["begin"] + row["seconds"])
               for other in rows)  # fmt: skip


def _is_later(row: dict[str, Any], record: int, seconds: float) -> bool:
    """Whether a connection begins behind a record, by its place or by its time: one of the two may be wrong in the file."""
    return bool(row["first_record"] > record or row["begin"] > seconds)


def _of_no_answer(row: dict[str, Any], rows: list[dict[str, Any]], newest_us: int) -> Iterator[Found]:
    """The connection ended without one, or the capture goes on for long. Where it ends before, the answer may come later: the draft
    has no timer."""
    closed, called = row["closed"], row["called"]
    waited = newest_us / 1e6 - row["begin"]
    if closed == "reset by called":
        if doubts := _doubts(row):
            yield Found("connection-reset", "possible", f"A TCP reset in the name of {called} came instead of an answer. {doubts}",
                        f"a capture at {called}; firewalls on the path", "", row)  # fmt: skip
            return
        yield Found("connection-reset", "shown by the frames", f"{called} resets the TCP connection instead of an answer: "
                    "nobody waits there, or no VI/TCP is spoken.", "what listens on that port", called, row)  # fmt: skip
    elif closed != "not seen":
        text = f"The Connect Request of {row['caller']} has no answer, and the connection ends: {closed}. "
        yield Found("no-answer", "possible", text + "Nobody accepted, or the answer was lost.",
                    f"a capture at {called}; its application's log", "", row)  # fmt: skip
    elif waited > _LONG_US / 1e6:
        yield Found("no-answer", "possible", f"The Connect Request of {row['caller']} has had no answer for {waited:.0f} s, and "
                    "the connection stays open. The draft has no timer: the application's own decides."
                    + ("" if _goes_on(row, rows) else f" {_UNHEARD}"),
                    f"the log of the application at {called}: VipConnectAccept", "", row)  # fmt: skip


def _of(row: dict[str, Any], rows: list[dict[str, Any]], newest_us: int) -> Iterator[Found]:
    answer, called = row["answer"], row["called"]
    silent = list(_of_silence(row, newest_us))
    if answer in ("Connect No Match", "Connect Request") and _conceded(row, rows):
        return
    if answer == "Connect No Match" and _asked_again(row, rows):
        return
    if answer == "Connect No Match":
        yield Found("no-match", "shown by the frames", f"{called} answers Connect No Match (4.3).",
                    "compare the Discriminator of the request with those that the called application waits on", "",
                    row)  # fmt: skip
    elif answer == "Connect Reject":
        yield Found("rejected", "shown by the frames", f"{called} answers Connect Reject (4.3).",
                    "the called application's log: VipConnectReject, or attributes that do not fit", called,
                    row)  # fmt: skip
    elif found := silent or list(_of_no_room(row)):
        yield from found
    elif answer == "Connect Request" and row["whole"] and not row["missing"]:
        yield from _of_no_answer(row, rows, newest_us)
    elif "reset by" in row["closed"]:
        yield from (list(_of_reset(row)) or _of_forgotten(row))
    elif row["closed"] != "not seen":
        yield from _of_fin(row)
    else:
        yield from _of_stop(row, rows, newest_us)
    for side, sent in enumerate(row["sent"]):
        if sent["errors"] and row["reliable"]:  # at other levels nobody asks what the field says (3.1)
            yield Found("reported-error", "shown by the frames", f"{sent['errors']} PDUs of {row[_ENDS[side]]} have a VI Error "
                        "Type (3.1): a Descriptor, or memory, did not fit a message of the other end.",
                        "`fcvi decode` shows which", "", row)  # fmt: skip


def _read(path: str, args: Any) -> tuple[list[dict[str, Any]], Seen]:
    """The connections of a file, and what else it shows. Two clocks are put right. A file that is not in the order of its times is
    read in both orders: the one in which more connections are whole is right."""
    rows, seen = _read_in(path, args, Order(args.reorder * 1000))
    if args.reorder or not (rows or seen.late):
        return rows, seen
    order, said = clocks.look(path, args.limits, args.dumps)
    tries = [Order(seen.lag_us + 1)] * bool(seen.late) + [order] * bool(order)
    for further in tries:
        further.window_us += seen.lag_us * (further is order)
        other_rows, other_seen = _read_in(path, args, further)
        if not seen.late or _sound(other_rows, other_seen) > _sound(rows, seen):
            other_seen.is_sorted = further is not order
            other_seen.said = said if further is order else []
            other_seen.lag_us, other_seen.late = seen.lag_us, seen.late
            rows, seen = other_rows, other_seen
    return rows, seen


def _sound(rows: list[dict[str, Any]], seen: Seen) -> int:
    """How many connections began in the capture and lack nothing. An answer that stands before its SYN leaves that one without."""
    whole = sum(bool(row["whole"] and not row["missing"]) for row in rows)
    return whole + sum(1 if a["refused"] else -1 for a in seen.attempts)


def _halves(rows: list[dict[str, Any]]) -> int:
    """How many connections are there twice, one direction each, though both began in the capture."""
    sides: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        spoke = [n for n, sent in enumerate(row["sent"]) if sent["pdus"]]
        if not row["whole"] and len(spoke) == 1 and row["answer"] in ("Connect Request", "Connect Accept"):
            sides.setdefault((row["caller"], row["called"]), set()).add(spoke[0])
    return sum(len(found) == 2 for found in sides.values())


def _read_in(path: str, args: Any, order: Order) -> tuple[list[dict[str, Any]], Seen]:
    seen: Seen = Seen()
    rows: list[dict[str, Any]] = []
    try:
        streams = Streams(profile_of(None), connections=True)
        for row in connections(path, args.limits, streams, order, seen, args.dumps):
            rows.append(row)
    except ScanError:
        pass  # it was told of before
    for row in rows:
        row["spoke_on"] = row["connection"] in seen.spoke_on
    return rows, seen


def _allow_for_gaps(causes: list[Found]) -> None:
    """Of a capture that lacks bytes what is not there proves little."""
    for cause in causes:
        if cause.certainty == "probable":
            cause.certainty = "possible"
            cause.text += " The capture lacks bytes of connections: it may lack what would have answered, too."


def found_in(files: list[str], args: Any) -> tuple[list[Found], int, list[str]]:
    """The causes of all captures, the surest first, how many connections of VI/TCP there are, and what is to be said of the
    captures, a sentence each. A file that cannot be read has none."""
    found: list[Found] = []
    said: list[str] = []
    count = lacking = 0
    for path in files:
        rows, seen = _read(path, args)
        if seen.is_sorted:
            said.append(f"{printable(path)} is not in the order of its times: connections of VI/TCP are read in that order.")
        said += [f"{printable(path)}: {line}" for line in seen.said]
        count += len(rows)
        lacking += sum(row["missing"] for row in rows)
        causes = [cause for row in rows for cause in _of(row, rows, seen.newest_us)]
        if any(row["missing"] for row in rows):
            _allow_for_gaps(causes)
        found += causes
        found += _of_attempts(seen.attempts, rows, seen.newest_us)
        if halves := _halves(rows):
            said.append(f"{printable(path)} has the two directions of {halves} connections of VI/TCP apart: answers stand before "
                        "what they answer, as with two clocks. `editcap -t SECONDS` puts the clock of one of the two files "
                        "right.")  # fmt: skip
    if lacking:
        said.append(f"Of {lacking} of {count} connections of VI/TCP bytes are missing or cut off: what those say behind that is "
                    "not read.")  # fmt: skip
    return sorted(found, key=lambda f: f.certainty != "shown by the frames"), count, said
