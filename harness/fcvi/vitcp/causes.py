"""``fcvi explain`` of VI/TCP: why its connections came to nothing or ended, as far as the PDUs and the ends of TCP show."""

from __future__ import annotations

import json
from typing import Any, Iterator

from fcvi.capture.scan import ScanError

from .captured import Streams, profile_of
from .flows import connections

_ENDS = ("caller", "called")

#: What each name means, for the text. Those that FC-VI has too mean the same.
_TITLES = {
    "no-match": "nobody waits under that Discriminator",
    "rejected": "the application refused",
    "connection-reset": "the TCP connection was reset before all was answered",
    "no-answer": "a Connect Request was not answered",
    "reported-error": "one end reports an error of a message",
}


class Found:
    """A cause. party: the end that a PDU or a segment convicts, empty where there is none."""

    def __init__(self, name: str, certainty: str, text: str, confirm: str, party: str, row: dict[str, Any]) -> None:
        self.name, self.certainty, self.text, self.confirm, self.party, self.row = name, certainty, text, confirm, party, row

    def json(self) -> str:
        """One object, as of FC-VI."""
        row = self.row
        frames = [{"file": row["file"], "frame": number, "text": f"{word} record of the connection"}
                  for word, number in (("first", row["first_record"]), ("last", row["last_record"]))]  # fmt: skip
        return json.dumps({
            "cause": self.name, "may_be": [self.name], "certainty": self.certainty, "text": self.text, "confirm": self.confirm,
            "party": self.party, "connection": row["connection"], "further_connections": 0, "frames": frames, "capture": [],
        })  # fmt: skip

    def lines(self, number: int) -> list[str]:
        """For people."""
        row = self.row
        return [
            f"{number}. {_TITLES[self.name]} (VI/TCP connection {row['connection']}): {self.certainty}", f"   {self.text}",
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


def _of_reset(row: dict[str, Any]) -> Iterator[Found]:
    """A reset is one of the ways to close (V43): it is a cause where something was pending."""
    pending, by = _pending(row), [row[end] for end in _ENDS if end in row["closed"]]
    if pending:
        # where a rule was broken, or read otherwise, End of Message may not be where the other end looks for it
        certainty = "possible" if row["violations"] or row["notices"] else "shown by the frames"
        text = f"TCP reset by {' and '.join(by)}, and the VI with it (2.2.2.2.2), while {pending}."
        yield Found("connection-reset", certainty, text, f"the log of {by[0]}", by[0] if len(by) == 1 else "", row)  # fmt: skip


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
               and other["answer"] == "Connect Accept" and other["first_record"] > row["last_record"]
               for other in rows)  # fmt: skip


def _of_no_answer(row: dict[str, Any]) -> Iterator[Found]:
    """The connection ended without one. Where the capture ends before it, the answer may come later: the draft has no timer."""
    closed, called = row["closed"], row["called"]
    if closed == "reset by called":
        yield Found("connection-reset", "shown by the frames", f"{called} resets the TCP connection instead of an answer: "
                    "nobody waits there, or no VI/TCP is spoken.", "what listens on that port", called, row)  # fmt: skip
    elif closed != "not seen":
        text = f"The Connect Request of {row['caller']} has no answer, and the connection ends: {closed}. "
        yield Found("no-answer", "possible", text + "Nobody accepted, or the answer was lost.",
                    f"a capture at {called}; its application's log", "", row)  # fmt: skip


def _of(row: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[Found]:
    answer, called = row["answer"], row["called"]
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
    elif answer == "Connect Request" and row["whole"] and not row["missing"]:
        yield from _of_no_answer(row)
    elif row["closed"].startswith("reset by"):
        yield from _of_reset(row)
    for side, sent in enumerate(row["sent"]):
        if sent["errors"] and row["reliable"]:  # at other levels nobody asks what the field says (3.1)
            yield Found("reported-error", "shown by the frames", f"{sent['errors']} PDUs of {row[_ENDS[side]]} have a VI Error "
                        "Type (3.1): a Descriptor, or memory, did not fit a message of the other end.",
                        "`fcvi decode` shows which", "", row)  # fmt: skip


def found_in(files: list[str], args: Any) -> tuple[list[Found], int]:
    """The causes of all captures, the surest first, and how many connections of VI/TCP there are. A file that cannot be read has
    none."""
    found: list[Found] = []
    count = 0
    for path in files:
        rows: list[dict[str, Any]] = []
        try:
            rows += connections(path, args.limits, Streams(profile_of(None), connections=True))
        except ScanError:
            pass
        count += len(rows)
        for row in rows:
            found += _of(row, rows)
    return sorted(found, key=lambda f: f.certainty != "shown by the frames"), count
