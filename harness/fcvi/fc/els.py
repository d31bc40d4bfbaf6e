"""Extended Link Services and Name Server frames of the lower tester (5.6, 7.5 to 7.7, FC-FS, FC-GS)."""

from __future__ import annotations

from typing import Any, Mapping

from . import codec
from .codes import ELS, R_CTL, TYPE
from .build import RawFrame, Envelope, frame_of, structure

LS_RJT, LS_ACC, PLOGI, FLOGI, LOGO, RRQ = ELS.LS_RJT, ELS.LS_ACC, ELS.PLOGI, ELS.FLOGI, ELS.LOGO, ELS.RRQ
ADISC, FARP_REQ, FARP_REPLY, FAN, RSCN, PRLO = ELS.ADISC, ELS.FARP_REQ, ELS.FARP_REPLY, ELS.FAN, ELS.RSCN, ELS.PRLO
WELL_KNOWN = 0xFFFFF0  # from here on: broadcast and servers of the Fabric; no N_Port has such an address
BROADCAST, F_PORT, FABRIC_CONTROLLER, NAME_SERVER = 0xFFFFFF, 0xFFFFFE, 0xFFFFFD, 0xFFFFFC
TYPE_ELS, TYPE_CT = TYPE.ELS, TYPE.CT
_REQUEST, _REPLY = R_CTL.ELS_REQUEST, R_CTL.ELS_REPLY
_CT_REQUEST, _CT_REPLY = R_CTL.UNSOLICITED_CONTROL, R_CTL.SOLICITED_CONTROL
_OPENS = {"First_Sequence": 1, "End_Sequence": 1, "Sequence_Initiative": 1}
_CLOSES = {"Exchange_Context": 1, "Last_Sequence": 1, "End_Sequence": 1}

#: What FC-VI wants in the Common Service Parameters (5.6); C is bit 31 (E17).
C_AND_S = {"CIRO": 1, "SEQ_CNT_S": 1}


def request(envelope: Envelope, command: int, body: bytes = b"") -> RawFrame:
    """An ELS that opens an Exchange."""
    head = bytes([command]) if command in (RSCN, PRLO) else bytes([command, 0, 0, 0])
    return frame_of(_REQUEST, TYPE_ELS, envelope, _OPENS, head + body)


def announcement(envelope: Envelope, command: int, body: bytes = b"") -> RawFrame:
    """An ELS that has no reply, like FARP-REQ: its one Sequence opens and closes the Exchange."""
    bits = {"First_Sequence": 1, "Last_Sequence": 1, "End_Sequence": 1}
    return frame_of(_REQUEST, TYPE_ELS, envelope, bits, bytes([command, 0, 0, 0]) + body)


def reply(envelope: Envelope, command: int, body: bytes = b"") -> RawFrame:
    """LS_ACC or LS_RJT."""
    return frame_of(_REPLY, TYPE_ELS, envelope, _CLOSES, bytes([command, 0, 0, 0]) + body)


def rejection(reason: int, explanation: int = 0) -> bytes:
    """The body of an LS_RJT."""
    return structure("LS_RJT", {"LS_Reason": reason, "LS_Explanation": explanation})


def service_parameters(names: Mapping[str, Any], receive_size: int, features: Mapping[str, int]) -> bytes:
    """PLOGI, FLOGI or the LS_ACC to it, for classes 2 and 3. names: port_name and node_name in hexadecimal."""
    a_class = bytearray(16)
    a_class[0:2] = b"\x88\x00"  # valid, sequential delivery
    a_class[6:8] = receive_size.to_bytes(2, "big")
    a_class[8:10] = (255).to_bytes(2, "big")
    a_class[13] = 1
    credit = bytearray(a_class)
    credit[10:12] = (64).to_bytes(2, "big")
    return structure(
        "LOGIN",
        {
            "FC_PH_Version": 0x2020,
            "BB_Credit": 16,
            "Receive_Data_Field_Size": receive_size,
            "Port_Name": int(names["port_name"], 16),
            "Node_Name": int(names["node_name"], 16),
            "Class_2": bytes(credit),
            "Class_3": bytes(a_class),
            **features,
        },
    )


def login(names: Mapping[str, Any], receive_size: int, features: Mapping[str, int] = C_AND_S) -> bytes:
    """Service parameters of an N_Port: those that FC-VI requires, or others to provoke a refusal (5.6)."""
    concurrent = {"Word_2": 0x00FF00CE, "E_D_TOV": 2000}
    return service_parameters(names, receive_size, {**concurrent, **features})


def fabric_login(
    names: Mapping[str, Any], receive_size: int, r_a_tov_us: int, e_d_tov_us: int, fabric: bool = True
) -> bytes:
    """Service parameters of an F_Port; Word 2 is R_A_TOV there. Between two N_Ports the answer is no F_Port's."""
    times = {"Word_2": r_a_tov_us // 1000, "E_D_TOV": e_d_tov_us // 1000}
    return service_parameters(names, receive_size, {"F_Port": int(fabric), "CIRO": 1, "SEQ_CNT_S": 1, **times})


def logo(names: Mapping[str, Any], n_port_id: int) -> bytes:
    """The body of a LOGO."""
    return structure("LOGO", {"LOGO_N_Port_Identifier": n_port_id, "LOGO_Port_Name": int(names["port_name"], 16)})


def process_logout(fc_4: int) -> bytes:
    """What follows the command byte of a PRLO for all processes of this TYPE: page length, length, one page."""
    return bytes([16]) + (20).to_bytes(2, "big") + bytes([fc_4]) + bytes(15)


def adisc(names: Mapping[str, Any], n_port_id: int) -> bytes:
    """The body of an ADISC, or of the LS_ACC to it."""
    return structure(
        "ADISC",
        {
            "ADISC_Port_Name": int(names["port_name"], 16),
            "ADISC_Node_Name": int(names["node_name"], 16),
            "ADISC_N_Port_Identifier": n_port_id,
        },
    )


def fan(names: Mapping[str, Any], address: int) -> bytes:
    """The body of a FAN: the Fabric's names."""
    return structure(
        "FAN",
        {
            "Loop_Fabric_Address": address,
            "FAN_Port_Name": int(names["port_name"], 16),
            "FAN_Node_Name": int(names["node_name"], 16),
        },
    )


def rscn(n_port_ids: list[int]) -> bytes:
    """What follows the command byte of an RSCN: its page length and length, and a page for each port."""
    pages = b"".join(n_port_id.to_bytes(4, "big") for n_port_id in n_port_ids)
    return bytes([4]) + (4 + len(pages)).to_bytes(2, "big") + pages


def farp_request(asker: Mapping[str, Any], n_port_id: int, host: str, **fields: Any) -> bytes:
    """The body of a FARP-REQ as 7.5 wants it; fields set others."""
    values = {
        "Match_Code_Points": 4,
        "Responder_Action": 2,
        "Requesting_N_Port_Identifier": n_port_id,
        "Requesting_Port_Name": int(asker["port_name"], 16),
        "Requesting_Node_Name": int(asker["node_name"], 16),
        "Requesting_IP_Address": bytes.fromhex(asker["host"][0]),
        "Responding_IP_Address": bytes.fromhex(host),
    }
    return structure("FARP", {**values, **fields})


def farp_reply(asked: bytes, n_port_id: int, names: Mapping[str, Any]) -> bytes:
    """The body of the FARP-REPLY to that FARP-REQ (7.5, steps 14 to 23)."""
    body = bytearray(asked)
    values = {
        "Responding_N_Port_Identifier": n_port_id,
        "Responding_Port_Name": int(names["port_name"], 16),
        "Responding_Node_Name": int(names["node_name"], 16),
    }
    for name, value in values.items():
        codec.put("FARP", name, body, value)
    return bytes(body)


def port_identifiers(n_port_ids: list[int]) -> bytes:
    """The CT reply that accepts GID_IPP: a CT header and the list of N_Port Identifiers."""
    head = structure("CT", {"CT_Revision": 1, "GS_Type": 0xFC, "GS_Subtype": 2, "CT_Command": 0x8002})
    last = len(n_port_ids) - 1
    entries = (
        structure("PORT_ID", {"PORT_ID_Control": 0x80 if i == last else 0, "PORT_ID_Identifier": n_port_id})
        for i, n_port_id in enumerate(n_port_ids)
    )
    return head + b"".join(entries)


def ct_rejection(reason: int, explanation: int) -> bytes:
    """The CT reply that rejects a query."""
    values = {"CT_Revision": 1, "GS_Type": 0xFC, "GS_Subtype": 2, "CT_Command": 0x8001, "CT_Reason": reason}
    return structure("CT", {**values, "CT_Explanation": explanation})


def ct_request(envelope: Envelope, command: int, body: bytes) -> RawFrame:
    """A query to the Name Server, or a registration."""
    head = structure("CT", {"CT_Revision": 1, "GS_Type": 0xFC, "GS_Subtype": 2, "CT_Command": command})
    return frame_of(_CT_REQUEST, TYPE_CT, envelope, _OPENS, head + body)


def ct_reply(envelope: Envelope, body: bytes) -> RawFrame:
    """The frame of a CT reply."""
    return frame_of(_CT_REPLY, TYPE_CT, envelope, _CLOSES, body)


def is_request(frame: codec.Frame) -> bool:
    """Whether an ELS asks for something (R_CTL 22h)."""
    return frame.header("R_CTL") == _REQUEST
