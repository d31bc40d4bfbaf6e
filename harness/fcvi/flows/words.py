"""A frame of the table in a line: numbers in hexadecimal and names as `fcvi decode` and the standard have them."""

from __future__ import annotations

from .edition import reason as reason_of_1999
from .names import IU, REASONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .table import Flow, Step

NONE = 0xFFFFFFFF
_IUS = frozenset(IU.values())
_REJECTS = {
    0x01: "invalid D_ID", 0x02: "invalid S_ID", 0x03: "N_Port not available, temporarily",
    0x04: "N_Port not available, permanently",
    0x05: "class of service not supported", 0x06: "delimiter usage error", 0x07: "TYPE not supported", 0x08: "invalid link control",
    0x09: "invalid R_CTL", 0x0A: "invalid F_CTL", 0x0B: "invalid OX_ID", 0x0C: "invalid RX_ID", 0x0D: "invalid SEQ_ID",
    0x0E: "invalid DF_CTL", 0x0F: "invalid SEQ_CNT", 0x10: "invalid Parameter field", 0x11: "Exchange error",
    0x12: "protocol error",
    0x13: "incorrect length", 0x14: "unexpected ACK", 0x15: "class of service not supported by the Fabric", 0x16: "login required",
    0x17: "excessive Sequences attempted", 0x18: "unable to establish Exchange", 0x1A: "Fabric path not available",
}  # fmt: skip
#: Response codes of an LS_ACC to PRLI by which no image is there (FC-LS); 1 and 6 are those of success.
_PROCESS = {
    2: "no resources available", 3: "initialization is not complete", 4: "unknown Process_Associator",
    5: "the configuration precludes it", 7: "no more than one page", 8: "service parameters are invalid",
}  # fmt: skip
_BITS = {"retry": "RETRY", "setup_abort": "CONN_SETUP_ABORT", "by_application": "VI_APP_DISCON", "refused": "CONN_STS"}


def of_code(structure: str, field: str, value: int) -> str:
    """A reason with its word."""
    from fcvi.fc.codec import FIELDS

    return f"{value:02X}h ({dict(FIELDS[structure][field].codes).get(value, 'unknown')})"


def is_refusal(step: Step) -> bool:
    """Whether an LS_ACC to PRLI says that there is no image."""
    return step.name == "LS_ACC" and step.what.get("response") in _PROCESS


def reasons(step: Step) -> str:
    """Why a port rejects something, empty where it does not."""
    what = step.what
    if is_refusal(step):
        return f"response code {step.what['response']:X}h ({_PROCESS[step.what['response']]})"
    if step.name in ("P_RJT", "F_RJT"):
        return f"reason {what['code']:02X}h ({_REJECTS.get(what['code'], 'unknown')})"
    for name, letters in (("LS_RJT", "LS"), ("BA_RJT", "BA")):
        if step.name == name and "reason" in what:
            return (f"reason {of_code(name, f'{letters}_Reason', what['reason'])}, "
                    f"explanation {of_code(name, f'{letters}_Explanation', what['explanation'])}")  # fmt: skip
    return ""


def _field(name: str, value: Any) -> str:
    if name in _BITS:
        return _BITS[name] if value else ""
    if name in ("handle", "connection_id"):
        return "" if value == NONE else f"{'H' if name == 'handle' else 'CONNECTION_ID'} {value:08X}"
    if name == "id":
        return f"MSG {value}"
    if name == "of" and isinstance(value, str):
        return f"to {value}" if value else ""
    if name in ("R_CTL", "TYPE", "Port_Name", "before", "revision", "offset", "missing"):
        return f"{name} {value}"
    return f"{value}" if name in ("says", "words") else ""


def status(step: Step) -> str:
    """The Reason Code of an IU, as its edition numbers it."""
    if "said" in step.what:
        return f"{step.what['said']:02X}h, {reason_of_1999(step.what['said'])}"
    return f"{step.what['reason']:02X}h, {REASONS.get(step.what['reason'], 'a reserved reason')}"


def reason(flow: Flow) -> tuple[int, str]:
    """That of a Connection; 0 where it has none."""
    if flow.said is not None:
        return flow.said, reason_of_1999(flow.said)
    return flow.reason or 0, REASONS.get(flow.reason or 0, "Reserved or Vendor Unique")


def line(step: Step) -> str:
    """All of it."""
    name = f"FCVI_{step.name}" if step.name in _IUS else step.name
    exchange = f" OX {step.ox_id:04X}" if step.ox_id != NONE else ""
    told = [word for key, value in step.what.items() if (word := _field(key, value))]
    if why := reasons(step):
        told.append(why)
    elif step.name.startswith(("CONNECT_RESP", "DISCONNECT")) and step.what.get("reason"):
        code, _, word = status(step).partition(", ")
        told.append(f"Reason_Code {code} ({word})")
    if "ciro" in step.what:
        told.append(f"C {step.what['ciro']} S {step.what['seq_cnt_s']}")
    return " ".join([f"{name} {step.sender:06X}>{step.target:06X}{exchange}", *told])
