"""Says what else the devices of single cases break, and the requirements that nobody can break so that it shows."""

from __future__ import annotations

#: name of the device: further requirements
ALSO: dict[str, str] = {
    "message-before-resp2": "4.2-01 4.2-25",
    "send-resp-in-unreliable": "5.2.2-03",
    "write-resp-in-reliable-delivery": "5.2.3-03",
    "server-own-handle-in-messages": "6.8.3-03",
    "not-waiting-says-rejected": "5.3.4-07",
    "case-7": "5.3.4-b4 TA1-7 5.3.4-07",
}

#: requirement: why no device of the bank breaks it
UNBREAKABLE: dict[str, str] = {}
