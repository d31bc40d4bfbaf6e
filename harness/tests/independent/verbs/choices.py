"""Says what the specification, or an erratum of the suite, lets a provider choose. The first value is the default."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

# name: (values, why they are legal). "may note" marks what the suite may remark on without failing the device.
CHOICES: Dict[str, Tuple[Tuple[str, ...], str]] = {
    "wire": (("at-once", "late", "far", "uneven"),
             "8.2.2: nothing says how long a message travels (1 ms, 100 ms, 50 ms one way); rule 11: no WC says it"),
    "limits": (("usual", "small", "least", "huge"), "5.1.3: the device says how many there can be of anything"),
    "calls": (("at-once", "take-time"), "no clause says how long a verb takes (1 ms)"),
    "next_state": (("optional", "required"), "6.1.3, Figure 4: Modify QP without the next state is refused, iwarp (B107)"),
    "completions": (("at-once", "late", "batch", "sends", "receives"),
                    "8.2.3: a WC may take its time; batch: four at a time, or after 4 ms; or those of one queue alone"),
    "flush": (("at-once", "late"), "6.2.4: flushing may go on for a while (3 ms), and Idle is refused meanwhile"),
    "terminate": (("at-once", "slow", "time-wait"), "6.2.3: the Terminate state lasts as long as the LLP Close (4 ms, 900 ms)"),
    "close": (("at-once", "slow", "time-wait"), "6.2.5: so does Closing (10 ms, 900 ms), and Receives may be flushed at its end"),
    "sizes": (("exact", "larger", "power-of-two"), "5.3.1, 6.1.1, 9.2.4.1: the granted size may be greater than the one asked for"),
    "beyond": (("refused", "cut"), "B55: queue sizes beyond the maximum; cut with the truth in cap, may note"),
    "flush_ahead": (("success", "flushed"), "B14: WRs ahead of the failing one may be flushed"),
    "error_posts": (("flush", "refuse", "flush-sends", "flush-receives"),
                    "Figure 10: post, then flush; or an Immediate Error; each queue by itself"),
    "closing_posts": (("refuse", "flush", "flush-sends", "flush-receives"), "Figure 11: the same in Closing"),
    "faulty_write": (("kept", "ahead"), "6.4: DDP Segments of a Write ahead of its faulty part may have been sent"),
    "limit_zero": (("taken", "refused"), "6.3.8: no text says that a limit can be taken back"),
    "sges": (("exact", "more"), "9.2.4.1, 9.2.5.1: as many SGEs as asked for are granted, or more"),
    "channel": (("first", "last"), "8.2.5: of the CQs of a channel the newest event may come first"),
    "idle_sends": (("queue", "refuse"), "B18: Sends in Idle"),
    "idle_receives": (("init", "any", "only-init"),
                      "section 4 of the protocol, ib: a Receive in RESET moves the QP to INIT, or is taken there; iwarp: B18"),
    "empty_rq": (("terminate", "pause"),
                 "8.1.2.1, 13.2, B21: no Receive for a message (ib: pause means that it is tried for ever)"),
    "bad_close": (("error", "drain"), "B19, Figure 8: Closing with work left: at once to Error, or when the work is done"),
    "after_close": (("idle", "error"), "B50: an orderly close that goes to Idle only by way of ERR, may note"),
    "idle_word": (("RESET", "INIT"), "table of states: Idle is RESET or INIT (iwarp)"),
    "error_to_error": (("refused", "accepted"), "6.2.4 against 9.2.5.3: the current state as the next state"),
    "close_events": (("one", "two"), "B11: an event for leaving RTS and one more when the close is complete; two pass"),
    "peer_event": (("both", "async", "cm"),
                   "B53: how the end of the stream is told at the peer of a broken QP (cm always comes as well)"),
    "extra_events": (("no", "yes"),
                     "B53: COMM_EST, SQ_DRAINED, QP_LAST_WQE_REACHED are no word of the verbs, and never one too many"),
    "access_event": (("QP_ACCESS_ERR", "QP_REQ_ERR", "QP_FATAL"), "B53: the word for a remote protection error"),
    "target_event": (("yes", "no"), "B59, B44: an event at the target, ib"),
    "status_words": (("plain", "odd"), "B54: any status of the set"),
    "error_fields": (("filled", "unwritten"), "9.3.2.1, B38: on error only the WR ID and the status are sure"),
    "remote_error": (("success", "flushed", "error"), "B44: the initiator's WR at a remote protection error, iwarp"),
    "sink": (("wc", "event"), "7.4.2 against Figure 23: a Read into a sink without right: WC, or flushed and an event"),
    "zero_enable": (("unchecked", "checked"), "B33: the QP's own enable at length zero"),
    "receive_check": (("bytes", "all"), "B69: which SGEs of a Receive are looked at"),
    "short_receive": (("nothing", "part"), "8.1.2.1: a message that is too long leaves nothing, or what fits"),
    "send_check": (("wc", "refused"), "B54: an SGE of a Send that is wrong may be refused at once"),
    "bad_opcode": (("refused", "wc"), "B54: an unsupported operation"),
    "ord_zero": (("wc", "refused"), "B54: a Read with ORD zero"),
    "bind_error": (("wc", "refused"), "B12, B54: a bind that is not allowed"),
    "window_key": (("checked", "unchecked"), "B100: 7.8 has the key among the checks of a region's invalidation alone, may note"),
    "region_invalidate": (("yes", "no"), "B106: InfiniBand need not invalidate a region that was registered by a call, ib"),
    "invalidate_wc": (("at-once", "late"), "B103: the WC of an Invalidate may take its time (2 ms), and the QP may end meanwhile"),
    "receive_sges": (("told", "one-more"), "B101: max_sge is the smaller of two numbers, may note"),
    "ird_granted": (("asked", "more"), "B104: 9.2.5.1 has no upper bound for IRD"),
    "sources": (("at-once", "late"), "8.2.2 rule 8: until its WC a WR's buffers are read when the provider likes (2 ms)"),
    "writes": (("at-once", "lazy"), "8.2.2 rules 6, 13, 16: a Write is in place when the next Send or Read is served (250 ms)"),
    "sink_before": (("kept", "early"), "8.2.2 rule 7: the sink of a Read holds anything until its WC"),
    "irrq": (("at-once", "late"), "8.2.2 rules 15 to 17: later Sends and Writes may overtake an unfenced Read (2 ms)"),
    "unsignaled_room": (("done", "reaped"),
                        "8.2.1: room of an unsignaled WR is free when it is done, or when a later WC was polled"),
    "overflow": (("event", "drop", "overwrite"), "5.3.1, B22: anything may happen to that CQ and its QPs"),
    "srq_order": (("fifo", "lifo", "random"), "6.3.5: WQEs of an S-RQ may be used in any order"),
    "limit_event": (("at-once", "late"), "6.3.8: no time is said (3 ms)"),
    "limit_below": (("next", "arming", "never"), "B26: armed while already below"),
    "limit_after": (("zero", "value"), "B26: what Query SRQ tells after the event"),
    "empty_cq": (("refused", "one"), "B36: a CQ of 0 or of a negative number of entries is refused or has one, may note"),
    "arm_old": (("no", "yes"), "B40: an event for old entries; ib only, may note"),
    "keys": (("same", "different"), "the lkey and the rkey of a region need not be one number"),
    "zero_rkey": (("no", "yes"), "B105: InfiniBand has no STag zero, and the first region may have the R_Key 0, ib"),
    "rereg_key": (("same", "new"), "7.3.2.3: Reregister may return another STag Index"),
    "key_reuse": (("no", "yes"), "an STag Index that was deallocated may be given out anew"),
    "poll": (("all", "one"), "9.3.2.1: one entry, the one at the head; more in a call are the API's offer"),
    "handles": (("small", "large"), "section 2 of the protocol: which numbers an agent gives"),
    "qp_numbers": (("counted", "reused", "large"),
                   "6.1.4: the QP ID of a destroyed QP may be used again; 24 bits, the last first"),
    "stags": (("usual", "high"), "7.2: the provider chooses the index, and here a region's key: the last indices, key 255"),
    "objects": (("usual", "few", "four-cqs"), "5.1.3: how many QPs, CQs, regions, PDs, windows and SRQs there can be"),
    "regions": (("any", "short"), "9.2.1.2: the device says how long a Physical Buffer List can be (1 MiB)"),
    "attributes": (("usual", "odd"), "9.2.1.2: sizes without bound, a total of 0 where nothing is shared (6.5), empty names"),
    "ord_granted": (("asked", "one"), "9.2.5.1: ORD granted is between zero and what was asked for"),
    "ord_told": (("filled", "empty"), "B28: libibverbs may leave max_rd_atomic at 0 where librdmacm set ORD"),
    "access_told": (("chosen", "more"), "6.1.2: libibverbs may tell local write among the rights of a QP"),
    "errnos": (("usual", "odd"), "B36: an Immediate Error is not zero; the number says nothing"),
    "events": (("at-once", "late"), "8.3.3: no time is said for an asynchronous event (30 ms)"),
    "stray_events": (("no", "yes"), "B53: events of a port are no word of the verbs, and may come at any time"),
    "comp_event": (("at-once", "late"), "B41: nor is a time said for a completion event (5 ms)"),
    "established": (("at-once", "late"), "B49: the connect calls may return long after the stream serves (20 ms)"),
    "flush_order": (("posted", "mixed"), "B14: flushed WCs of a queue may come in any order, may note"),
    "sq_fields": (("filled", "unwritten"), "9.3.2.1: the number of bytes is valid for a Receive alone"),
    "wc_flags": (("plain", "more"), "9.3.2.1: flags of libibverbs that the verbs do not know"),
    "receive_rest": (("kept", "scribbled"),
                     "8.2.2 rule 5: the buffers of a Receive are the provider's until its WC, also behind the message"),
    "failed_buffers": (("kept", "scribbled"), "8.2.2 rule 5: so are those of a Receive that is flushed or fails"),
    "bind_enable": (("unasked", "asked", "unknown"),
                    "B62: binding needs MW_BIND among the rights of the QP, or the provider refuses that flag there"),
    "access_change": (("yes", "no"), "B62: the QP's rights for remote access cannot be changed in RTS"),
    "destroy_wcs": (("none", "flushed"), "6.1.4: WRs that are outstanding at Destroy QP may leave WCs behind"),
    "ord_increase": (("yes", "no", "ord"), "6.5: raising ORD or IRD after creation is optional, and one without the other"),
    "resize_cq": (("yes", "no", "kept"), "B63: absent, breaks one row on iwarp; kept: a smaller size changes nothing, may note"),
    "rereg": (("yes", "no"), "B61: absent; breaks one row on iwarp"),
    "resize_qp": (("no", "yes"), "6.1.3: changing the sizes of a QP is optional"),
    "srq": (("yes", "no"), "6.3: the Shared Receive Queue is optional"),
    "mw": (("yes", "no"), "B65: max_mw 0, may note on iwarp"),
    "local_inv": (("yes", "no"), "B64: without IBV_DEVICE_MEM_MGT_EXTENSIONS"),
    "send_inv": (("yes", "no"), "B64"),
    "zero_based": (("yes", "no"), "B31: refused, may note on iwarp"),
    "reads": (("yes", "no"), "max_qp_rd_atom 0: condition READ"),
    "members": (("plain", "extra"), "dut-protocol section 2: unknown members are ignored"),
    "ib_disconnect": (("stay", "error"), "section 4 of the protocol is silent: does verbs.Disconnect move a QP of ib"),
}


class Choices:
    """One value of each; read as attributes."""

    def __init__(self, settings: Iterable[str] = ()) -> None:
        self.settings: Dict[str, str] = {}
        for name, (values, _) in CHOICES.items():
            setattr(self, name, values[0])
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in CHOICES:
                raise ValueError(f"no choice {name}; --list-choices shows them")
            if value not in CHOICES[name][0]:
                raise ValueError(f"{name} is one of {', '.join(CHOICES[name][0])}")
            self.settings[name] = value
            setattr(self, name, value)

    def also(self, setting: str) -> None:
        """A setting that goes with a fault, where nothing else was chosen."""
        name, _, value = setting.partition("=")
        if name not in self.settings:
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def others() -> List[str]:
    """Each value that is no default, as a setting."""
    return [f"{name}={value}" for name, (values, _) in CHOICES.items() for value in values[1:]]
