"""Sequences and Exchanges of IUs of several frames and of Messages of several IUs: what only their course shows to be wrong."""

from conformance.tests.breaches import wire
from conformance.tests.breaches.breach_fields import attribute, control, field, put
from conformance.tests.breaches.flows import Wire
from conformance.tests.breaches.scene import Place, Scene, add, scene
from conformance.tests.breaches.wire import END, EXCHANGE_RESPONDER, FIRST, INITIATIVE, LAST, Frame

Made = tuple[Wire, Frame, Place]
SERVICES = "5.8.1-01"
#: A Message of several IUs: what moves it, and the row that ends its Exchange.
MOVED = ("SEND", "WRITE", "READ_RESP")


def long() -> Scene:
    """Messages of one IU in three frames."""
    return scene(length=3000)


def parted(level: int = 3) -> Scene:
    """Messages of three IUs, each of one frame."""
    return scene(level=level, length=1500, ius=3)


def named(s: Scene) -> Scene:
    """Who responds has assigned RX_ID 1234h."""
    for frame in s.ius["READ_RESP"]:
        frame.rx = 0x1234
    return s


def one_sequence() -> None:
    """An IU is one Sequence: its frames have one SEQ_ID, one OX_ID, one RX_ID, and all the marks of their Sequence."""
    for iu in MOVED:
        field("seq_id_changes", iu, f"4.2-04 5.5-01 {SERVICES}", wire.SEQ_ID, lambda f: setattr(f, "seq_id", f.seq_id ^ 0x40), at=1,
              make=long)
        field("ends_twice", iu, f"{SERVICES} 4.2-04 5.5-01 5.9.10-01", wire.F_CTL, control(END), at=1, make=long, later=(9, 14, 19))
        field("exchange_context_later_frame", iu, SERVICES, wire.F_CTL, control(EXCHANGE_RESPONDER), at=1, make=long)
        field("first_sequence_later_frame", iu, f"T01-{iu if iu == 'READ_RESP' else iu + '_RQST'}-pos {SERVICES}", wire.F_CTL,
              control(FIRST), at=1, make=long)
        field("first_sequence_later_iu", f"{iu}/1", f"T01-{iu if iu == 'READ_RESP' else iu + '_RQST'}-pos {SERVICES}", wire.F_CTL,
              control(FIRST), make=parted)
        field("ox_id_later_frame", iu, f"{SERVICES} 4.2-02 4.2-04 5.6-01 5.8.6-01 5.4-01 5.2.1-01 6.7.1-01", wire.OX_ID,
              lambda f: setattr(f, "ox", f.ox ^ 0x40), at=1, make=long)  # fmt: skip
    field("rx_id_changes_later_frame", "READ_RESP", SERVICES, wire.RX_ID, attribute("rx", 0x1235), at=1, make=lambda: named(long()))
    field("rx_id_changes_later_iu", "READ_RESP/1", SERVICES, wire.RX_ID, attribute("rx", 0x1235), make=lambda: named(parted()))


def one_count() -> None:
    """SEQ_CNT goes on over all Sequences of a side (E18), the Relative Offset over all its payloads (E19)."""
    for iu in ("RESP2", "RESP3"):
        field("seq_cnt_restarts", iu, "5.8.6-01 5.6-01", wire.SEQ_CNT, attribute("seq_cnt", 0))
    for iu in MOVED:
        field("seq_cnt_skips_between_ius", f"{iu}/1", "5.8.6-01 5.6-01", wire.SEQ_CNT, attribute("seq_cnt", 7), make=parted)
        field("offset_skips_between_ius", f"{iu}/1", "5.6-09 5.8.7-02 5.6-07 5.2.1-11", wire.OFFSET_FIELD, attribute("param", 604),
              make=parted)  # fmt: skip
    for iu, clause in (("WRITE", "6.4.2"), ("READ_RESP", "6.7.2")):
        advanced = 0x123456789ABC0000 + 500
        field("va_goes_on_with_the_offset", f"{iu}/1", f"5.9.8-04 {clause}-08 {clause}-10 {clause}-07", wire.RMT_VA,
              put(wire.RMT_VA, advanced), make=parted)  # fmt: skip


def initiative() -> None:
    """Who passes the Sequence Initiative on sends nothing more until it comes back; who ends the Exchange likewise."""
    for iu in MOVED:
        for level in (2, 3):
            def passed(iu: str = iu, level: int = level) -> Made:
                s = parted(level)
                s.ius[f"{iu}/0"][0].f_ctl ^= INITIATIVE
                return s.w, s.ius[f"{iu}/1"][0], None

            add(f"initiative_passed_too_early-{iu}_level_{level}", f"{SERVICES} 5.2.1-04 5.8.4-02", passed)

            def ended(iu: str = iu, level: int = level) -> Made:
                s = parted(level)
                s.ius[f"{iu}/0"][0].f_ctl ^= LAST
                return s.w, s.ius[f"{iu}/1"][0], None

            add(f"exchange_ends_too_early-{iu}_level_{level}", "5.4-01 5.2.1-05 5.9.10-01 6.2.1-05 6.4.1-06", ended)
    for iu, req in (("SEND/2", "6.2.1-04"), ("WRITE/2", "6.4.1-05")):
        field("not_last_of_three_ius", iu, f"5.8.4-01 5.2.1-05 5.4-01 {req}", wire.F_CTL, control(LAST), make=lambda: parted(2))
    for iu, req in (("SEND/2", "6.2.1-05"), ("WRITE/2", "6.4.1-06")):
        field("no_initiative_after_three_ius", iu, f"5.8.4-02 5.2.1-04 {req}", wire.F_CTL, control(INITIATIVE), make=parted)
        field("last_where_a_response_is_due", iu, f"{req} 5.2.1-04 5.8.4-02", wire.F_CTL, control(LAST), make=parted)
    field("not_last_of_three_ius", "READ_RESP/2", "5.8.4-03 6.7.1-05 5.2.1-06 5.4-01 T01-READ_RESP-pos", wire.F_CTL, control(LAST),
          make=parted)  # fmt: skip


def preference() -> None:
    """Every frame of a Connection with Preference has PREF (5.8.2)."""
    for iu in MOVED[:2]:
        field("pref_missing_later_frame", iu, "5.8.2-03 7.3-07 5.8.2-05", wire.CS_CTL, attribute("cs_ctl", 0), at=1,
              make=lambda: scene(length=3000, pref=True))


one_sequence()
one_count()
initiative()
preference()
