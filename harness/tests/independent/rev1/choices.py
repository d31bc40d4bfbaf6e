"""Says what Rev 1.0, or an entry of its errata, leaves to an implementation: every choice, its values and why they are legal."""

from __future__ import annotations

from ..chosen import N, Table

CHOICES: Table = {
    # Frames and Sequences
    "rx_id": ("assigned|ffff", "the responder's RX_ID (FC-PH)"),
    "seq_id": ("sequential|random|even|alternate", "SEQ_ID of the next Sequence (5.4)"),
    "ox_id": ("sequential|random|lowest", "OX_ID of the next Exchange (FC-PH)"),
    "seq_cnt": ("own|shared", "each side counts its frames, or goes on from the other's count (R06)"),
    "last_seq": ("last|all", "frames of the last Sequence that carry Last_Sequence (FC-PH)"),
    "ro_present": ("yes|no", "Relative Offset Present in frames with payload (R22; no may warn)"),
    "unreadable": ("discard|reject", "an IU with the other Device_Header: discarded, or P_RJT in class 2 (R20)"),
    "ro_on_empty": ("no|yes", "Relative Offset Present in frames without payload (R22)"),
    "frame_size": ("full|short|uneven", "payload of a frame: all that fits, half of it, or another size each time (FC-PH)"),
    "empty_frames": ("no|last", "an IU of whole words ends with a frame without payload (FC-PH: a Data_Field of any length)"),
    "fill": ("zeros|rubbish", "fill bytes, which FC-PH gives no value"),
    "continue": ("unsaid|follows", "Continue Sequence Condition of a Sequence behind which another follows (FC-PH, a hint)"),
    "error_policy": ("multiple|single", "Abort Sequence Condition in the first frame of an Exchange (FC-PH: discard)"),
    "pace": (f"{N}:0:10000:0", "microseconds between two frames"),
    "order": ("posted|interleaved", "frames of several Exchanges follow each other, or take turns (FC-PH)"),
    "delimiters": ("yes|no", "sof and eof members in frame notifications (DUT protocol)"),
    # ABTS
    "abts_seq_id": ("new|reused", "SEQ_ID of ABTS: a new one, or the last Sequence's with the next SEQ_CNT (FC-PH)"),
    "ba_acc_delay": (f"{N}:0:9400000:0", "microseconds until BA_ACC (FC-PH: R_A_TOV)"),
    "ba_acc_seq_id": ("invalid|valid", "SEQ_ID validity in BA_ACC (FC-PH)"),
    # Values
    "handle": ("sequential|zero|max|random", "own VI_HANDLEs (5.7.4)"),
    "handle_life": ("connection|vi", "a VI gives out another VI_HANDLE for each connection, or the same (5.7.4)"),
    "priority": ("01|20|80", "the first byte of VIP_QOS for Priority (Annex B, R13; 20 and 80 may warn)"),
    "setup_pref": ("yes|no", "PREF of the setup IUs of a connection that uses it (5.6.2, R26; no may warn)"),
    "link_pref": (
        "yes|no", "PREF of ABTS, BA_ACC and ACK of a connection that uses it (5.6.2, R32)"),
    "cs_ctl_tolerance": ("yes|no", "bit 22 of word 0 of the class parameters in PLOGI (Annex A.3, R18)"),
    # Connection Setup
    "resp1_handle": ("ffffffff|requester", "VI_HANDLE in the Device_Header of RESP1 (R03)"),
    "resp2_handle": ("responder|ffffffff", "VI_HANDLE in the Device_Header of RESP2 (R03)"),
    "refusal_handle": ("ffffffff|other", "the handle in the payload of a refusing RESP1 (R11)"),
    "refusal_attributes": ("echo|zeros", "VI_LOC_ATTRS of a refusal where no VI End Point is (6.8)"),
    "reason_more": ("zeros|filled", "Reason Explanation and Vendor Unique of a refusal (Table 9)"),
    "discriminator_rest": ("zeros|rubbish", "what stands behind DISCRIM_LEN (Table 13)"),
    "resp2_after_refusal": ("zero|repeat|abts", "what follows a refusing RESP1 (R08)"),
    "no_match": (
        "each|02|04", "Reason Code without a matching Connection Point (R24); a Peer without any answers 04h"),
    "duplicate_code": ("07|06", "Reason Code of Duplicate Addresses (R05; 06 may warn)"),
    "duplicate": ("waits|fails", "what a peer request does after Duplicate Addresses (R33; fails may warn)"),
    "attributes": ("exact|level", "what of VI_ATTRIBUTES has to be equal (R29; level may warn)"),
    "accept_mismatch": (
        "local|reject", "attributes that do not match: an error of VipConnectAccept, or RESP1 with 01h too (R16; may warn)"),
    "resp1_revision": ("1|0|2", "VI_REVISION of RESP1 (R30; 0 and 2 may warn)"),
    "malformed": ("silence|refuse|abts", "a CONNECT_RQST with another length, revision or mode (R27)"),
    "give_up": ("resp2|abts", "the application's Timeout: RESP2 with 03h to a late RESP1, or ABTS (R28)"),
    "lost_resp1": (
        "unreachable|timeout|waits|again", "what VipConnectRequest does when RESP1 has not come (R34; all but the first may warn)"),
    "lost_peer_resp1": (
        "waits|unreachable", "the same for a peer request, which the peer's own request may still fulfil (R35)"),
    "lost_resp2": ("error|idle", "the server's VI when RESP2 has not come (R01)"),
    "abts_after_resp2": (
        "lost|ignored", "the client takes the server's ABTS for the loss of its connection, or not (R01)"),
    "peer_resp1_addresses": (
        "own|mirror", "VI_LOC_ADDR and VI_REM_ADDR of a peer's RESP1: its own, or the request's swapped (R36)"),
    "peer_again": ("no|at-once|soon", "a peer request that was refused with 02h or 04h is sent again while it waits (5.3.3)"),
    "t1_flush": ("yes|no", "posted Descriptors are flushed when the application's Timeout ends a setup (R37)"),
    # Disconnect
    "disconnect_unknown": ("zero|error", "VI_FLAGS of DISCONNECT_RESP for an unknown VI_HANDLE (R07)"),
    "disconnect_first": ("yes|no", "First_Sequence in DISCONNECT_RQST (R23)"),
    "disconnect_gone": (
        "quiet|ask", "VipDisconnect after the peer's Disconnect: nothing on the wire, or a DISCONNECT_RQST (R38)"),
    "disconnecting_state": ("connected|error", "state of the VI while VipDisconnect waits (R39)"),
    "lost_disconnect_resp": (
        "error|idle|success", "what VipDisconnect does when DISCONNECT_RESP has not come (R40; success may warn)"),
    "error_disconnect": (
        "reliable|never|always", "the provider disconnects, kernel initiated, when an error breaks a connection (R41)"),
    # Messages
    "reliable_reception": ("yes|no", "the optional Reliability Level (5.1)"),
    "rdma_read": ("yes|no", "the optional operation (5.1)"),
    "unreliable_reads": ("no|yes", "RDMA Read at Unreliable Delivery, which 6.6 seems to permit (R14; yes may warn)"),
    "reception": (
        "streams|one", "Messages of Reliable Reception are streamed, or sent one at a time (R25; one may warn)"),
    "message_ius": (f"{N}:1:8:1", "most SEND_RQST or WRITE_RQST IUs of a Message (6.1, 6.3)"),
    "iu_sizes": ("even|uneven", "IUs of a Message that has several: of one size, or the first of one frame (6.1, 6.3)"),
    "send_copies": ("no|yes", "the bytes of a Message are copied when it is posted (VI-ARCH 2.1)"),
    "placing": ("at-once|at-the-end", "an RDMA Write goes to memory IU by IU, or when it is whole (VI-ARCH 2.4)"),
    "read_when": ("asked|sent", "the bytes of READ_RESP are those of memory when READ_RQST comes, or when it leaves (6.6)"),
    "refused_read_data": ("no|some", "payload of a READ_RESP that says RESP_ERR (6.6)"),
    "send_delay": (f"{N}:0:900000:0", "microseconds from VipPostSend until the Message is sent (VI-ARCH 2.1)"),
    "read_ius": (f"{N}:1:8:1", "most READ_RESP IUs of a Message (6.6)"),
    "multi_iu_offset": (
        "continues|restart", "RLTV_OFF over the IUs of a Message, with an advanced VI_RMT_VA (R02; restart may warn)"),
    "immediate_ius": ("all|last|first", "which IUs of a Message carry Immediate Data (R42; last and first may warn)"),
    "read_length": ("length|zero", "VI_RMT_TOT_LEN of READ_RQST (R04; zero may warn, and reads nothing)"),
    "write_length": ("zero|length", "VI_RMT_TOT_LEN of WRITE_RQST (R09; length may warn)"),
    "overtaking": (
        "error|sorted", "frames and Messages that overtake others: an error, or what is missing is waited for (5.4, 5.7.5)"),
    "old_message": ("discard|error", "a VI_MSG_ID that has been there, on a reliable VI (R43)"),
    "late_frames": (
        "by-number|remembered", "a number that was delivered within R_A_TOV is a late frame, whatever stands between (FC-PH)"),
    "partial_message": (
        "error|drop", "a Message of Unreliable Delivery that stays incomplete: its Descriptor in error, or kept (R44)"),
    "lost_end": ("next|timeout", "a Message without its end is given up at the next Message, or at FCVI_ULP_TIMEOUT too (R09)"),
    "abandoned": (
        "timeout|abts", "Requests whose connection ends before their Response: ABTS at FCVI_ULP_TIMEOUT, or at once (R45)"),
    "response_id": ("compared|ignored", "a Response with another VI_MSG_ID is no Response, or is taken (R46)"),
    # Addresses
    "resolve": ("unknown|always", "whether the Host Addresses of the peer are known from the configuration (7.3)"),
    "farp_match": ("value|bit", "Match Address Code Points 05h to 07h are not answered, or are (R15)"),
    "farp_reply_name": ("port|zero", "Responding Port_Name of FARP-REPLY, which item 6 of 7.4 misprints (R15; zero may warn)"),
    "farp_again": ("no|yes", "FARP-REQ is sent again while no FARP-REPLY comes (7.3 has no number)"),
    "resolved": ("kept|asked-again", "a Host Address is resolved once, or for each setup (7.3)"),
    "short_discriminator": (
        "refuse|accept", "Discriminators under 16 bytes: the DUT protocol refuses them, 7.1 has 0 to 128"),
    "logout": ("ends|kept", "an idle connection ends with the login of its ports, or waits for the next one (R31)"),
    # Memory
    "memory": ("plain|narrow", "addresses of 64 bits; of 32 bits, and no more is looked at (R49)"),
    "pages": ("no|yes", "what lies behind a region in its last page is reached by the other end, or is not (R48)"),
    # What the application sees of an end
    "flush_first": ("send|recv", "which queue is flushed first (VI-ARCH 2.1: each by itself)"),
    "error_first": ("no|yes", "the error handler runs before the Descriptors are flushed, or behind it (VI-DG 3.3.5)"),
    # Resources
    "vis": (f"{N}:1:64:64", "VIs that can exist at the same time (max_vis)"),
    "waits": (f"{N}:1:64:64", "VipConnectWaits that can wait at the same time (VI-DG 3.3: VIP_ERROR_RESOURCE)"),
    # Delays, in microseconds: all the time for which the other side waits, and no more
    "resp1_delay": (f"{N}:0:9400000:0", "delay of RESP1 in microseconds"),
    "resp2_delay": (f"{N}:0:9400000:0", "delay of RESP2 in microseconds"),
    "response_delay": (f"{N}:0:9400000:0", "delay of SEND_RESP, WRITE_RESP and READ_RESP in microseconds"),
    "farp_reply_delay": (f"{N}:0:9400000:0", "delay of FARP-REPLY in microseconds"),
    "disconnect_resp_delay": (f"{N}:0:9400000:0", "delay of DISCONNECT_RESP in microseconds"),
    # The DUT protocol
    "state_events": ("yes|no", "state notifications"),
    "query_state": ("yes|no", "the state member of VipQueryVi"),
    "clock_next": ("yes|no", "the clock.next method"),
    "next_us": ("yes|no", "the next_us member of clock.advance"),
    "notify": ("before|after", "notifications before or after the result of the call that caused them"),
    "members": ("plain|extra", "unknown members in what is sent"),
}
