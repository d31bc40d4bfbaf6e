"""The tables [lab] and [item] of the PICS file: who tests, for whom, and what exactly was tested.

They hold what ISO/IEC 17025:2017, 7.8.2.1 and 7.8.6.2, asks of a report and no program can know. All of it is optional; the
certificate says of each missing entry that it was not stated.

    [lab]
    name = "Example Test House"
    address = "1 Example Road, Exampletown"
    customer = "Vendor Ltd, 2 Vendor Road"
    authorised_by = "A. Example"
    issued = 2027-01-31

    [item]
    description = "FC-VI host adapter"
    serial = "SN 1234"
    firmware = "2.7.1"
    received = 2027-01-12
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Mapping

from .pics import PicsError
from .words import near

#: Each entry with how the certificate calls it.
LAB = {
    "number": "Number of the certificate",
    "name": "Laboratory",
    "address": "Address of the laboratory",
    "place": "Place of the tests",
    "accreditation": "Accreditation",
    "customer": "Customer",
    "contact": "Contact of the customer",
    "environment": "Environment of the tests",
    "equipment": "Equipment",
    "decision_rule": "Decision rule",
    "departures": "Departures from the method",
    "remarks": "Remarks",
    "authorised_by": "Authorised by",
    "role": "Role",
    "issued": "Date of issue",
    "replaces": "Replaces certificate",
}
ITEM = {
    "description": "Item",
    "manufacturer": "Manufacturer",
    "model": "Model",
    "serial": "Serial number",
    "hardware": "Hardware revision",
    "firmware": "Firmware",
    "firmware_sha256": "SHA-256 of the firmware",
    "condition": "Condition on receipt",
    "received": "Date of receipt",
}
#: Entries of [item] and [lab] that come from the customer, which a report has to mark (7.8.2.2).
OF_CUSTOMER = ("customer", "contact", "description", "manufacturer", "model", "serial", "hardware", "firmware", "firmware_sha256")
#: Entries without which a certificate is a draft (7.8.2.1).
NEEDED = {"lab": ("name", "address", "customer", "authorised_by"), "item": ("description", "serial", "received")}
_DATES = ("issued", "received")
_LONGEST = 500
_NUMBER = (r"[A-Za-z0-9][A-Za-z0-9._/ -]{0,59}", "letters, digits, . _ / - and blanks, at most 60")
_PATTERNS = {"replaces": _NUMBER, "number": _NUMBER,
             "firmware_sha256": (r"[0-9a-f]{64}", "64 hexadecimal digits")}  # fmt: skip


def table(data: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    """The table of this name ("lab" or "item"), every value as text. Raises PicsError."""
    known = LAB if name == "lab" else ITEM
    given = data.get(name, {})
    if not isinstance(given, dict):
        raise PicsError(f"{where}: [{name}] must be a table")
    found: dict[str, str] = {}
    for entry, value in given.items():
        if entry not in known:
            raise PicsError(f"{where}: unknown entry {entry!r} of [{name}]{near(entry, known)}; known: {', '.join(known)}")
        if entry in _DATES:
            if type(value) is not date:  # pylint: disable=unidiomatic-typecheck
                raise PicsError(f"{where}: {name}.{entry} must be a date such as 2027-01-31, not {value!r:.60}")
            found[entry] = value.isoformat()
            continue
        if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
            raise PicsError(f"{where}: {name}.{entry} must be words, at most {_LONGEST} characters, not {value!r:.60}")
        pattern, words = _PATTERNS.get(entry, (r"(?s).*", ""))
        if not re.fullmatch(pattern, value):
            raise PicsError(f"{where}: {name}.{entry} must be {words}, not {value!r:.60}")
        found[entry] = value
    return found


def missing(lab: Mapping[str, str], item: Mapping[str, str]) -> list[str]:
    """What a certificate has to say and nobody stated, as the certificate calls it."""
    found = [LAB[name] for name in NEEDED["lab"] if not lab.get(name)]
    return found + [ITEM[name] for name in NEEDED["item"] if not item.get(name)]


def check_dates(lab: Mapping[str, str], item: Mapping[str, str], began: str) -> None:
    """An item is received, then tested, and then the report is issued. began: the day of the tests, ISO 8601. Raises PicsError."""
    received, issued = item.get("received", ""), lab.get("issued", "")
    if received > began[:10]:
        raise PicsError(f"item.received is {received}, after the tests, which begin on {began[:10]}: correct it")
    if issued and issued < began[:10]:
        raise PicsError(f"lab.issued is {issued}, before the tests, which begin on {began[:10]}: correct it, or leave it out")
    if lab.get("replaces") and lab.get("replaces") == lab.get("number"):
        raise PicsError(f"lab.replaces is {lab['replaces']}, the number of this certificate itself")
