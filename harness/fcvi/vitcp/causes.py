"""``fcvi explain`` of VI/TCP: why its connections came to nothing or ended, as far as the PDUs and the ends of TCP show."""

from __future__ import annotations

import json
from typing import Any, Iterator

from fcvi.capture.scan import ScanError

from .captured import Streams, profile_of
from .flows import connections

_LONG_US = 60_000_000  # the draft has no timer; no caller waits so long without a word
_ENDS = ("caller", "called")

#: What each name means, for the text. Those that FC-VI has too mean the same.
_TITLES = {
    "no-match": "nobody waits under that Discriminator",
    "rejected": "the application refused",
    "connection-reset": "one end reset the TCP connection",
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


def _of(row: dict[str, Any], end_us: int) -> Iterator[Found]:
    answer, closed, called = row["answer"], row["closed"], row["called"]
    if answer == "Connect No Match":
        yield Found("no-match", "shown by the frames", f"{called} answers Connect No Match (4.3).",
                    "compare the Discriminator of the request with those that the called application waits on", "",
                    row)  # fmt: skip
    elif answer == "Connect Reject":
        yield Found("rejected", "shown by the frames", f"{called} answers Connect Reject (4.3).",
                    "the called application's log: VipConnectReject, or attributes that do not fit", called,
                    row)  # fmt: skip
    elif answer == "Connect Request" and row["whole"] and not row["missing"]:
        waited = end_us - round((row["begin"] + row["seconds"]) * 1e6)
        if closed.startswith("reset by called"):
            yield Found("connection-reset", "shown by the frames", f"{called} resets the TCP connection instead of an answer: "
                        "nobody waits there, or no VI/TCP is spoken.", "what listens on that port", called, row)  # fmt: skip
        elif closed != "not seen" or waited > _LONG_US:
            how = f"and the connection ends: {closed}" if closed != "not seen" else f"for {waited // 1_000_000} s"
            yield Found("no-answer", "possible", f"The Connect Request of {row['caller']} has no answer, {how}. Nobody accepted, "
                        "or the answer was lost.", f"a capture at {called}; its application's log", "", row)  # fmt: skip
    elif closed.startswith("reset by"):
        by = row[closed.split()[2]]
        yield Found("connection-reset", "shown by the frames", f"{by} resets the TCP connection, and the VI with it (2.2.2.2.2).",
                    f"the log of {by}", by, row)  # fmt: skip
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
        ends: list[int] = []
        rows: list[dict[str, Any]] = []
        try:
            rows += connections(path, args.limits, Streams(profile_of(None), connections=True), ends)
        except ScanError:
            pass
        count += len(rows)
        for row in rows:
            found += _of(row, ends[0] if ends else 0)
    return sorted(found, key=lambda f: f.certainty != "shown by the frames"), count
