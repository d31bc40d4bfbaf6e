"""Says what the standard leaves to an implementation: every choice, its values and why they are legal."""

from __future__ import annotations

from .chosen import N, Table

CHOICES: Table = {
    # Frames and Sequences
    "split": (f"{N}:0:2080:0", "payload bytes in a frame of CONNECT_RQST and RESP1, 0: as many as fit (E44)"),
    "rx_id": ("assigned|ffff", "the responder's RX_ID (FC-FS)"),
    "seq_id": ("sequential|random|even|alternate", "SEQ_ID of the next Sequence (5.5)"),
    "ox_id": ("sequential|random|lowest", "OX_ID of the next Exchange (5.4)"),
    "last_seq": ("last|all", "frames of the last Sequence that carry Last_Sequence (FC-FS)"),
    "ro_on_empty": ("no|yes", "Relative Offset present in frames without payload (E19)"),
    "delimiters": ("yes|no", "sof and eof members in frame notifications (DUT protocol)"),
    "resp3_initiative": ("no|yes", "Sequence Initiative on RESP3 as well (E16; may draw a warning)"),
    "send_ius": (f"{N}:1:8:1", "SEND_RQST IUs a Message is sent in, as far as its words go (6.2.1)"),
    "pref": ("no|attribute|always", "PREF in CS_CTL of Message frames (5.8.2)"),
    "connect_info": ("no|yes", "FCVI_CONNECT_INFO is sent (5.9.4.4)"),
    # ABTS
    "abts_seq_id": ("new|reused", "SEQ_ID of ABTS: a new one, or the last Sequence's with the next SEQ_CNT"),
    "ba_acc_seq_id": ("invalid|valid", "SEQ_ID validity in BA_ACC (FC-FS)"),
    # Values
    "handle": ("sequential|zero|max|random", "own FCVI_HANDLEs (5.9.2, E12)"),
    "connection_id": ("sequential|random|max", "FCVI_CONNECTION_ID (5.9.10)"),
    # Connection Setup
    "retry_waits_for_ba_acc": ("no|yes", "the retry waits for the BA_ACC, R_A_TOV at most (C rule 3b)"),
    "no_match": ("each|01|03", "Reason Code without a matching Connectionpoint (E78)"),
    "refusal_resp_handle": ("ffffffff|other", "FCVI_RESP_HANDLE when the application refuses (E40)"),
    "resp2_after_refusal": ("zero|repeat", "status of RESP2 after a refusal (E40)"),
    "resp3_after_refusal": ("zero|repeat", "status of RESP3 after a refusal (E40)"),
    "resp3_handle_after_refusal": ("ffffffff|rqst", "FCVI_HANDLE of RESP3 after a refusal (E14)"),
    "reason_22": ("error|retry", "what a refusal with 22h leads to (E53)"),
    "t2_state": ("error|idle", "state of the server after T2 (E61; idle may draw a warning)"),
    "setup_abts": ("waits|ends", "what ABTS for a setup is to the server: lost frames, or the end of the setup (8.5.3 d)"),
    "t1_flush": ("yes|no", "posted Descriptors are flushed when VipConnectRequest times out (E62)"),
    "unassigned_handle": ("refuse|offer", "a request with FCVI_RQST_HANDLE FFFFFFFFh is refused, or offered and refused (E12)"),
    "rule_9": ("accept|refuse", "RETRY request for an established connection (E65)"),
    "send_completion": ("resp3|at-once", "when the client's Sends complete (C.5.1; at-once may warn)"),
    # Disconnect
    "disconnect_connection_id": ("zero|ffffffff", "FCVI_CONNECTION_ID once established (E03; may warn)"),
    "abort_handle": ("ffffffff|own", "FCVI_HANDLE of a setup abort, remote handle unknown (E04; may warn)"),
    "abort_status": ("49|none", "status of a setup abort (D rule 2, 5.9.4.6)"),
    "lost_resp3_status": ("40|49|none", "status of the disconnect after a lost RESP3 (E116)"),
    "abort_abts": ("before|after", "ABTS for the setup Exchange before or after DISCONNECT_RQST (E115)"),
    "disconnect_retry": ("no|yes", "one more DISCONNECT_RQST before VIP_NOT_REACHABLE (E59)"),
    "disconnecting_state": ("connected|error", "state of the VI while VipDisconnect waits (8.2 d, D.2)"),
    "resp_status": ("zero|4b", "status of a successful DISCONNECT_RESP (E41)"),
    "resp_idle_status": ("4a|4b|zero", "status of DISCONNECT_RESP from an Idle Endpoint (E68)"),
    "resp_unknown_status": ("4a|none|vendor", "status of DISCONNECT_RESP for what is unknown (5.9.4.6, E170; may warn)"),
    "resp_mixed_status": ("48|none|4a|vendor", "the same for a known handle and an unknown FCVI_CONNECTION_ID (E170; may warn)"),
    "resp_unknown_id": ("echo|ffffffff", "the FCVI_CONNECTION_ID answered to an unknown one (E05; may warn)"),
    "disconnect_msg_id": ("received|sent|highest", "FCVI_MSG_ID of Disconnect IUs (E28)"),
    # Messages
    "message_error": ("keep|error", "the VI survives a Message Error or goes to Error (8.4.2 c)"),
    "prli": ("no|first", "PRLI before the first Connection, and its answer is waited for, R_A_TOV at most (E84)"),
    "relogin": ("when-needed|at-once", "PLOGI after the peer's LOGO: when a Connection is wanted, or at once (7.7.2)"),
    "provider_retry": ("no|yes", "a Disconnect of the provider's that is not answered is tried once more (8.6.3)"),
    "error_disconnect": ("no|yes", "the provider disconnects a VI that goes to Error from Connected (5.3.5)"),
    # Resources
    "vis": (f"{N}:1:64:64", "VIs that can exist at the same time (max_vis)"),
    # Delays, in microseconds: all the time for which the other side waits (8.3), R_A_TOV, and no more
    "resp1_delay": (f"{N}:0:9400000:0", "delay of RESP1 in microseconds"),
    "resp2_delay": (f"{N}:0:9400000:0", "delay of RESP2 in microseconds"),
    "resp3_delay": (f"{N}:0:9400000:0", "delay of RESP3 in microseconds"),
    "disconnect_resp_delay": (f"{N}:0:9400000:0", "delay of DISCONNECT_RESP in microseconds"),
    # The DUT protocol
    "state_events": ("yes|no", "state notifications"),
    "query_state": ("yes|no", "the state member of VipQueryVi"),
    "clock_next": ("yes|no", "the clock.next method"),
    "next_us": ("yes|no", "the next_us member of clock.advance"),
    "notify": ("before|after", "notifications before or after the result of the call that caused them"),
    "members": ("plain|extra", "unknown members in what is sent"),
}
