"""One wrong field in one IU: frame header, Device_Header, payload of the connect IUs."""

from typing import Callable, Optional

from conformance.tests.breaches import wire
from conformance.tests.breaches.flows import Wire
from conformance.tests.breaches.scene import Place, Scene, add, scene
from conformance.tests.breaches.wire import FIRST, INITIATIVE, LAST, OFFSET, PAYLOAD, UNASSIGNED, Frame

#: Session name of an IU: name in Table 1, clause of its Device_Header, of its form.
IUS = {
    "SEND": ("SEND_RQST", "6.2"), "SEND_RESP": ("SEND_RESP", "6.3"), "WRITE": ("WRITE_RQST", "6.4"),
    "WRITE_RESP": ("WRITE_RESP", "6.5"), "READ": ("READ_RQST", "6.6"), "READ_RESP": ("READ_RESP", "6.7"),
    "RQST": ("CONNECT_RQST", "6.8"), "RESP1": ("CONNECT_RESP1", "6.9"), "RESP2": ("CONNECT_RESP2", "6.10"),
    "RESP3": ("CONNECT_RESP3", "6.11"), "DIS": ("DISCONNECT_RQST", "6.12"), "DISR": ("DISCONNECT_RESP", "6.13"),
}  # fmt: skip
MESSAGE = ("SEND", "WRITE", "READ", "SEND_RESP", "WRITE_RESP", "READ_RESP")
SETUP = ("RQST", "RESP1", "RESP2", "RESP3")
#: Where each IU is told to have one FCVI_TOT_LEN throughout.
TOT = {"SEND": "6.2.2-10", "WRITE": "6.4.2-13 6.4.2-14", "READ_RESP": "6.7.2-11 6.7.2-12"}


def field(name: str, iu: str, requirements: str, place: tuple[int, int], change: Callable[[Frame], object], at: int = 0,
          make: Optional[Callable[[], Scene]] = None, **more: object) -> None:  # fmt: skip
    """A breach: ``change`` made in frame ``at`` of the IU."""

    def build() -> tuple[Wire, Frame, Place]:
        s = make() if make else scene()
        frame = s.ius[iu][at]
        change(frame)
        return s.w, frame, place

    add(f"{name}-{iu}", requirements, build, **more)


def put(place: tuple[int, int], value: int) -> Callable[[Frame], object]:
    """A field of the Device_Header or payload."""
    return lambda f: f.put(place, value)


def bit(place: tuple[int, int], value: int) -> Callable[[Frame], object]:
    """Bits of one, turned over."""
    return lambda f: f.put(place, f.get(place) ^ value)


def control(change: int) -> Callable[[Frame], object]:
    """Bits of F_CTL, turned over."""

    def turn(f: Frame) -> None:
        f.f_ctl ^= change

    return turn


def attribute(name: str, value: int) -> Callable[[Frame], object]:
    """A field of the frame header."""
    return lambda f: setattr(f, name, value)


def frame_header() -> None:
    """R_CTL, CS_CTL, TYPE, F_CTL, DF_CTL, SEQ_CNT, Parameter of each IU."""
    wrong = {"SEND": 4, "WRITE": 4, "READ": 2, "SEND_RESP": 3, "WRITE_RESP": 3, "READ_RESP": 7, "RQST": 6, "RESP1": 7, "RESP2": 2,
             "RESP3": 7, "DIS": 6, "DISR": 2}  # fmt: skip
    for iu, (long, _) in IUS.items():
        field("r_ctl", iu, f"T01-{long}-enc 5.1-01 5.1-02", wire.R_CTL, attribute("r_ctl", wrong[iu]))
        field("seq_cnt_not_0", iu, "5.8.6-01 5.6-01", wire.SEQ_CNT, attribute("seq_cnt", 9))
    for iu in ("RQST", "RESP1", "RESP2", "DIS"):
        req = {"RQST": "5.8.4-04 6.8.1-03", "RESP1": "5.8.4-04 6.9.1-03", "RESP2": "5.8.4-04 6.10.1-03",
               "DIS": "5.8.4-06 6.12.1-03"}[iu]
        field("no_initiative", iu, req + " 5.3.1-04", wire.F_CTL, control(INITIATIVE), bits="16")
    for iu, req in (("RESP3", "5.8.4-05 6.11.1-03"), ("DISR", "5.8.4-07 6.13.1-03"),
                    ("SEND_RESP", "5.8.4-03 6.3.1-06 5.2.1-06 5.4-01"),
                    ("WRITE_RESP", "5.8.4-03 6.5.1-06 5.2.1-06 5.4-01"), ("READ_RESP",
                                                                          "5.8.4-03 6.7.1-05 5.2.1-06 5.4-01")):  # fmt: skip
        field("not_last", iu, req + " T01-" + IUS[iu][0] + "-pos", wire.F_CTL, control(LAST), bits="20")
    for iu in ("SEND", "WRITE", "READ"):
        req = {"SEND": "6.2.1-05", "WRITE": "6.4.1-06", "READ": "6.6.1-05"}[iu]
        field("no_initiative", iu, f"5.8.4-02 5.2.1-04 {req}", wire.F_CTL, control(INITIATIVE), bits="16")
    for level in (1, 2):
        for iu, req in (("SEND", "6.2.1-04"), ("WRITE", "6.4.1-05")):
            field(f"not_last_level{level}", iu, f"5.8.4-01 5.2.1-05 5.4-01 {req}", wire.F_CTL, control(LAST), bits="20",
                  make=lambda level=level: scene(level))  # fmt: skip
    for iu in ("RQST", "RESP1", "RESP2", "DIS", "READ"):
        req = {"RQST": "T01-CONNECT_RQST-pos", "RESP1": "T01-CONNECT_RESP1-pos", "RESP2": "T01-CONNECT_RESP2-pos",
               "READ": "T01-READ_RQST-pos",
               "DIS": "T01-DISCONNECT_RQST-pos"}[iu]  # fmt: skip
        field("last_too_early", iu, req + " 5.8.1-01 5.3.1-05", wire.F_CTL, control(LAST), bits="20")
    for iu in ("RQST", "SEND", "WRITE", "READ", "DIS"):
        field("no_first_sequence", iu, f"T01-{IUS[iu][0]}-pos 5.8.1-01", wire.F_CTL, control(FIRST), bits="21")
    for iu in ("RESP1", "RESP2", "RESP3", "SEND_RESP", "READ_RESP", "DISR"):
        field("first_sequence", iu, f"T01-{IUS[iu][0]}-pos 5.8.1-01", wire.F_CTL, control(FIRST), bits="21")
    for iu in ("RESP1", "RESP2", "RESP3", "SEND_RESP", "WRITE_RESP", "READ_RESP", "DISR"):
        field("exchange_context", iu, "5.8.1-01", wire.F_CTL, control(wire.EXCHANGE_RESPONDER), bits="23")
    for iu in ("SEND", "WRITE", "READ_RESP", "RQST", "RESP1"):
        field("no_offset_bit", iu, "5.8.7-01 5.6-07 5.8.1-01", wire.F_CTL, control(OFFSET), bits="3")
        field("offset_not_0", iu, "5.8.7-01 5.8.7-02 5.6-07", wire.OFFSET_FIELD, attribute("param", 4))
    for iu in (*SETUP, "DIS", "DISR"):
        field("pref", iu, "5.8.2-06", wire.CS_CTL, attribute("cs_ctl", 0x80), bits="7")
        if iu in ("RQST", "RESP2", "DIS"):
            field("pref_on_a_preferred_vi", iu, "5.8.2-06", wire.CS_CTL, attribute("cs_ctl", 0x80), bits="7",
                  make=lambda: scene(pref=True))
    for iu in ("SEND", "WRITE", "READ"):
        field("pref_not_asked", iu, "5.8.2-04 7.3-08", wire.CS_CTL, attribute("cs_ctl", 0x80), bits="7")
        field("pref_missing", iu, "5.8.2-03 7.3-07", wire.CS_CTL, attribute("cs_ctl", 0), bits="7", make=lambda: scene(pref=True))
    for iu, at in (("SEND", 1), ("WRITE", 2), ("READ_RESP", 1)):
        long = lambda: scene(length=3000)  # noqa: E731
        field("type_later_frame", iu, "5.8.3-01", wire.TYPE, attribute("type", 0x08), at=at, make=long)
        field("seq_cnt_skips", iu, "5.8.6-01 5.6-01", wire.SEQ_CNT, attribute("seq_cnt", 7), at=2, make=long)
        field("seq_cnt_repeats", iu, "5.8.6-01 5.6-01 5.6-02 5.8.6-02", wire.SEQ_CNT, attribute("seq_cnt", 1), at=2, make=long)
        field("offset_skips", iu, "5.8.7-02 5.8.7-01 5.6-07", wire.OFFSET_FIELD, attribute("param", 4096), at=2, make=long)
        field("offset_repeats", iu, "5.8.7-02 5.8.7-01 5.6-07 5.2.1-11", wire.OFFSET_FIELD, attribute("param", 1024), at=2,
              make=long)
        field("initiate_delimiter", iu, "5.8.1-01 4.2-04", (0, 0), attribute("first", True), at=1, make=long)
        field("ends_too_early", iu, "5.8.1-01", (0, 0), attribute("ends", True), at=1, make=long)
        field("mixed_class", iu, "5.8.1-01", (0, 0), attribute("cls", 2), at=1, make=long)
    for iu in ("SEND", "RESP2", "DIS", "SEND_RESP"):
        field("normal_delimiter", iu, "5.8.1-01 4.2-04 6.3.1-05 6.10.1-04 6.12.1-04", (0, 0), attribute("first", False))
        field("no_terminate_delimiter", iu, "5.8.1-01", (0, 0), attribute("ends", False))
    for iu, req in (("SEND", "6.2.2-01"), ("READ", "6.6.2-01"), ("RESP2", "6.10.2-01"), ("DIS", "6.12.2-01")):
        def small(f: Frame) -> None:
            f.df_ctl = 1
            del f.raw[16:32]

        field("header_of_16", iu, f"5.8.5-01 5.9.1-02 T01-{IUS[iu][0]}-enc {req}", wire.DF_CTL, small)
    for iu, req in (("SEND_RESP", "6.3.2-01"), ("WRITE_RESP", "6.5.2-01")):
        def large(f: Frame) -> None:
            f.df_ctl = 2
            f.raw += bytes(16)

        field("header_of_32", iu, f"5.8.5-01 5.9.1-02 T01-{IUS[iu][0]}-enc {req}", wire.DF_CTL, large)

    def without(f: Frame) -> None:
        f.df_ctl = 0
        del f.raw[:32]

    for at in (0, 1):
        field(f"no_device_header_frame{at}", "SEND", "5.8.5-02 5.9.1-01 5.8.5-01", wire.DF_CTL, without, at=at,
              make=lambda: scene(length=3000))
    field("rx_id_invented", "RESP2", "5.8.1-01", wire.RX_ID, attribute("rx", 0x1234))

    def assigned() -> Scene:
        """The responder of the setup has assigned RX_ID 1234h."""
        s = scene()
        for name in ("RESP1", "RESP2", "RESP3"):
            s.one(name).rx = 0x1234
        return s

    field("rx_id_not_taken_over", "RESP2", "5.8.1-01", wire.RX_ID, attribute("rx", 0xFFFF), make=assigned)
    field("rx_id_of_another", "RESP2", "5.8.1-01", wire.RX_ID, attribute("rx", 0x1235), make=assigned)
    field("rx_id_changes", "RESP3", "5.8.1-01", wire.RX_ID, attribute("rx", 0x1235), make=assigned)


def device_header() -> None:
    """Words 0 to 7 of each IU."""
    handle = {"SEND": "6.2.2-02 6.9.3-03", "SEND_RESP": "6.3.2-02 6.8.3-03", "WRITE": "6.4.2-02 6.9.3-03",
              "WRITE_RESP": "6.5.2-02 6.8.3-03",
              "READ": "6.6.2-02 6.9.3-03", "READ_RESP": "6.7.2-02 6.8.3-03", "RQST": "5.3.2-04 6.8.2-02 5.9.2-04",
              "RESP1": "5.3.2-07 6.9.2-02 5.9.2-04", "RESP2": "5.3.2-09 6.10.2-02", "RESP3": "5.3.2-06 6.11.2-02",
              "DIS": "6.12.2-02",
              "DISR": "6.13.2-02", "BACK": "6.2.2-02 6.8.3-03"}  # fmt: skip
    for iu, req in handle.items():
        field("handle", iu, f"5.9.2-01 4.2-07 {req}", wire.HANDLE, put(wire.HANDLE, 0x0BADC0DE))
    msg = {"SEND": "6.2.2-08", "WRITE": "6.4.2-08", "READ": "6.6.2-06", "BACK": "6.2.2-08"}
    for iu, req in msg.items():
        first = " 4.2-10 5.9.6-03" if iu in ("SEND", "BACK") else ""
        field("msg_id_skips", iu, f"4.2-12 5.9.6-04 {req}{first}", wire.MSG_ID, bit(wire.MSG_ID, 0x40))
    for iu, req in (("SEND_RESP", "6.3.2-05"), ("WRITE_RESP", "6.5.2-04"), ("READ_RESP", "6.7.2-04")):
        field("msg_id_not_returned", iu, f"4.2-11 5.9.6-06 {req}", wire.MSG_ID, bit(wire.MSG_ID, 0x40))
    for iu, req in (("RQST", "6.8.2-04"), ("RESP1", "6.9.2-04"), ("RESP2", "6.10.2-04"), ("RESP3", "6.11.2-04")):
        field("msg_id_not_0", iu, f"5.3.2-11 {req}", wire.MSG_ID, put(wire.MSG_ID, 1))
    for iu, req in (("DIS", "6.12.2-11"), ("DISR", "6.13.2-08")):
        field("msg_id_never_sent", iu, req, wire.MSG_ID, put(wire.MSG_ID, 0x7777))
    param = {"SEND": "6.2.2-07 5.9.7.1-02 5.9.4.2-02", "WRITE": "6.4.2-07 5.9.7.1-02 5.9.4.2-02",
             "READ": "6.6.2-05 5.9.7.1-02 5.9.4.2-02",
             "SEND_RESP": "6.3.2-04 5.9.7.1-03", "WRITE_RESP": "6.5.2-05 5.9.7.1-03", "READ_RESP": "6.7.2-05 5.9.7.1-03",
             "RQST": "6.8.2-05 5.9.7.1-04", "RESP1": "6.9.2-05", "RESP2": "6.10.2-05", "RESP3": "6.11.2-05", "DIS": "6.12.2-05",
             "DISR": "6.13.2-06"}  # fmt: skip
    for iu, req in param.items():
        field("parameter_not_0", iu, req, wire.PARAMETER, put(wire.PARAMETER, 0x00010000))
    for iu in IUS:
        field("opcode_unknown", iu, f"5.9.3-01 T01-{IUS[iu][0]}-enc", wire.OPCODE,
              put(wire.OPCODE, 0x1F if iu in (*SETUP, "DIS", "DISR") else 0x0F))
        field("reserved_bytes", iu, "5.9.5-01 T03-w1 T04-w1 3.4-03", wire.RESERVED, put(wire.RESERVED, 0x0100), notice=True)
    table = {"SEND": "T05-7..1", "WRITE": "T05-7..1", "READ": "T05-7..1", "SEND_RESP": "T06-7..4", "WRITE_RESP": "T06-7..4",
             "READ_RESP": "T06-7..4", "RQST": "T07-7..5", "RESP1": "T09-7..3", "RESP2": "T09-7..3", "RESP3": "T09-7..3",
             "DIS": "T10-7..3",
             "DISR": "T10-7..3"}  # fmt: skip
    for iu, req in table.items():
        for value in (0x80, 0x20 if iu == "RQST" else 0x10):
            field(f"flags_{value:02X}", iu, f"5.9.4.1-01 5.9.5-01 {req}", wire.FLAGS, bit(wire.FLAGS, value), notice=True)
    field("flags_02", "SEND", "5.9.4.1-01 5.9.5-01 T05-7..1 6.2.2-07", wire.FLAGS, bit(wire.FLAGS, 2), notice=True)
    field("flags_conn_info", "RESP2", "T09-1 6.10.2-03 6.10.1-02 5.9.4.5-03", wire.FLAGS, bit(wire.FLAGS, 2))
    field("flags_conn_info", "RESP3", "T09-1 6.11.2-03 6.11.1-02 5.9.4.5-03", wire.FLAGS, bit(wire.FLAGS, 2))
    field("immediate", "READ", "5.9.4.2-03 6.6.2-04", wire.FLAGS, bit(wire.FLAGS, 1))
    for iu in ("SEND_RESP", "WRITE_RESP", "READ_RESP"):
        for value in (2, 4, 8):
            field(f"cause_{value}_without_error", iu, "5.9.4.3-01 5.9.4.3-02 T06-0 T06-1 T06-2 T06-3", wire.FLAGS,
                  bit(wire.FLAGS, value))
    va = {"SEND": "6.2.2-09", "RQST": "6.8.2-06", "RESP1": "6.9.2-07", "RESP2": "6.10.2-07", "RESP3": "6.11.2-07",
          "DIS": "6.12.2-12",
          "DISR": "6.13.2-09"}  # fmt: skip
    vah = {"SEND": "6.2.2-09", "RQST": "6.8.2-07", "RESP1": "6.9.2-08", "RESP2": "6.10.2-08", "RESP3": "6.11.2-08",
           "DIS": "6.12.2-13",
           "DISR": "6.13.2-10"}  # fmt: skip
    for iu in va:
        field("rmt_va_not_0", iu, f"5.9.8-02 {va[iu]}", wire.RMT_VA, put(wire.RMT_VA, 0x100))
        field("rmt_va_handle_not_0", iu, f"5.9.9-02 {vah[iu]}", wire.RMT_VA_HANDLE, put(wire.RMT_VA_HANDLE, 0x100))
    field("rmt_va_not_requested", "READ_RESP", "6.7.2-07 5.9.8-04", wire.RMT_VA, bit(wire.RMT_VA, 8))
    field("rmt_va_handle_not_requested", "READ_RESP", "6.7.2-09", wire.RMT_VA_HANDLE, bit(wire.RMT_VA_HANDLE, 8))
    field("tot_len_not_requested", "READ_RESP", "6.7.2-11", wire.TOT_LEN, bit(wire.TOT_LEN, 0x1000))
    for iu, req in (("SEND", "6.2.2-10"), ("WRITE", "6.4.2-13")):
        field("tot_len_above_data", iu, f"5.9.10-01 {req}", wire.TOT_LEN, put(wire.TOT_LEN, 513))
        field("tot_len_below_data", iu, f"5.9.10-01 {req}", wire.TOT_LEN, put(wire.TOT_LEN, 511))
    ids = {"RESP1": "6.9.2-09", "RESP2": "6.10.2-09", "RESP3": "6.11.2-09"}
    for iu, req in ids.items():
        field("connection_id_differs", iu, f"5.9.10-04 {req}", wire.CONNECTION_ID, bit(wire.CONNECTION_ID, 0x20))
    field("connection_id_not_0", "DIS", "6.12.2-15", wire.CONNECTION_ID, put(wire.CONNECTION_ID, 0x20))
    field("connection_id_not_returned", "DISR", "5.9.10-06 6.13.2-11 6.13.2-12", wire.CONNECTION_ID, put(wire.CONNECTION_ID, 0x20))

    def unassigned() -> Scene:
        """A setup whose IUs agree on FCVI_CONNECTION_ID FFFFFFFFh."""
        s = scene()
        for name in ("RQST", "RESP1", "RESP2", "RESP3"):
            s.one(name).put(wire.CONNECTION_ID, UNASSIGNED)
        return s

    field("connection_id_unassigned", "RQST", "5.9.10-07", wire.CONNECTION_ID, lambda f: None, make=unassigned)
    for mode in (0, 3, 7):
        field(f"mode_{mode}", "RQST", "T08-rsvd T07-2..0", wire.FLAGS, put(wire.FLAGS, mode))
    field("retry_not_mirrored", "RESP1", "5.9.4.5-06 8.5.4-b2 5.9.4.5-05 5.9.4.5-04", wire.FLAGS, bit(wire.FLAGS, 4))
    field("retry_not_mirrored", "RESP2", "5.9.4.5-07 5.9.4.5-04", wire.FLAGS, bit(wire.FLAGS, 4))
    field("retry_not_mirrored", "RESP3", "5.9.4.5-06 5.9.4.5-04", wire.FLAGS, bit(wire.FLAGS, 4))
    for iu, req in (("RESP1", "5.9.4.5-06 8.5.4-b2"), ("RESP2", "5.9.4.5-07 8.5.4-a2"), ("RESP3", "5.9.4.5-06 8.5.4-b2")):
        field("retry_lost", iu, f"5.9.4.5-05 {req}", wire.FLAGS, bit(wire.FLAGS, 4), make=lambda: scene(retry=True))
    field("app_not_mirrored", "DISR", "5.9.4.6-04 6.13.2-05", wire.FLAGS, bit(wire.FLAGS, 2))
    field("abort_not_mirrored", "DISR", "5.9.4.6-06 6.13.2-05", wire.FLAGS, bit(wire.FLAGS, 4))
    reason = (37, 1)
    for code, name in ((0x00, "T12-00h"), (0x06, "T12-06h"), (0x23, "T12-23h"), (0x40, "5.9.7.1-06"), (0x48, "5.9.7.1-06"),
                       (0x70, "T12-60h"),
                       (0x4C, "T12-4Ch")):  # fmt: skip
        for iu in ("RESP1", "RESP3") if code != 0x4C else ("RESP1",):
            def status(f: Frame, code: int = code) -> None:
                f.put(wire.FLAGS, f.get(wire.FLAGS) | 1).put(wire.PARAMETER, code << 16)

            def refused(iu: str = iu) -> Scene:
                from conformance.tests.breaches import breach_setup

                return breach_setup.refused()

            field(f"reason_{code:02X}", iu, f"{name} 5.9.7.1-06 5.9.4.5-02 6.9.2-06 6.11.2-06 T11-b1 T12-4Ch", reason, status,
                  make=refused)
    for code, name in ((0x00, "T12-00h"), (0x01, "5.9.7.1-07"), (0x21, "5.9.7.1-07"), (0x4C, "T12-4Ch"), (0x70, "T12-60h")):
        for iu in ("DIS", "DISR"):
            def closing(f: Frame, code: int = code) -> None:
                f.put(wire.FLAGS, f.get(wire.FLAGS) | 1).put(wire.PARAMETER, code << 16)

            field(f"reason_{code:02X}", iu, f"{name} 5.9.7.1-07 5.9.4.6-02 6.12.2-05 6.13.2-06 T11-b1", reason, closing)
    for iu in ("DIS", "DISR"):
        def explained(f: Frame) -> None:
            f.put(wire.FLAGS, f.get(wire.FLAGS) | 1).put(wire.PARAMETER, 0x004B0100)

        def byte0(f: Frame) -> None:
            f.put(wire.FLAGS, f.get(wire.FLAGS) | 1).put(wire.PARAMETER, 0x014B0000)

        field("reason_explanation", iu, "T11-b2", (38, 1), explained, notice=True)
        field("reason_byte0", iu, "T11-b0 5.9.5-01", (36, 1), byte0, notice=True)


def connect_payload() -> None:
    """Tables 13 to 18 in FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1."""
    for iu, t, clause in (("RQST", "T13", "6.8"), ("RESP1", "T14", "6.9")):
        p = PAYLOAD
        loc, rem, att = p + 12, p + 160, p + 308
        field("word0", iu, f"{t}-w0 5.9.5-01", (p, 4), put((p, 4), 1), notice=True)
        field("word1", iu, f"{t}-w1 5.9.5-01", (p + 4, 2), put((p + 4, 2), 1), notice=True)
        field("revision_0", iu, f"{clause}.3-01", (p + 6, 2), put((p + 6, 2), 0))
        field("revision_2", iu, f"{clause}.3-01", (p + 6, 2), put((p + 6, 2), 2))
        field("handle_unassigned", iu, f"5.9.2-03 {clause}.3-02 5.3.2-05 5.3.2-08 5.3.3-07", (p + 8, 4),
              put((p + 8, 4), UNASSIGNED),
              make=broken_handle(iu))  # fmt: skip
        for side, at in (("local", loc), ("remote", rem)):
            field(f"{side}_reserved", iu, "T15-w0 5.9.5-01 7.2-07", (at, 2), put((at, 2), 0x8000), notice=True)
            for value in (4, 0):
                field(f"{side}_host_len_{value}", iu, "7.2-08 7.2-13 T15-w0", (at + 2, 1), put((at + 2, 1), value))
            for value in (15, 129):
                field(f"{side}_discrim_len_{value}", iu, "7.2-09 7.2-15 T15-w0", (at + 3, 1), put((at + 3, 1), value))
            field(f"{side}_pad", iu, "7.2-14 7.2-10 7.2-16 T15-w5 3.4-03 5.9.5-01", (at + 40, 1), put((at + 40, 1), 0x55),
                  notice=True)
        field("attributes_reserved", iu, "T16-w0 5.9.5-01", (att, 2), put((att, 2), 1), notice=True)
        for value in (0, 4):
            field(f"level_{value}", iu, "7.3-02 T16-w0", (att + 2, 1), put((att + 2, 1), value))
        for value in (0x80, 0x04):
            field(f"attr_flags_{value:02X}", iu, "T17-7..2 5.9.5-01", (att + 3, 1), bit((att + 3, 1), value), notice=True)
        field("pref_other", iu, "7.3-06", (att + 8, 1), put((att + 8, 1), 0x40))
        field("pref_reserved", iu, "T18-w0 5.9.5-01", (att + 9, 3), put((att + 9, 3), 1), notice=True)
        field("max_bandwidth", iu, "7.3-10", (att + 12, 4), put((att + 12, 4), 1))
        field("min_bandwidth", iu, "7.3-12", (att + 16, 4), put((att + 16, 4), 1))
        field("max_delay", iu, "7.3-13", (att + 20, 4), put((att + 20, 4), 1))
        field("word84", iu, f"{t}-w77 5.9.5-01 3.4-03", (att + 28, 4), put((att + 28, 4), 1), notice=True)

        def shorter(f: Frame) -> None:
            del f.raw[-4:]

        def longer(f: Frame) -> None:
            f.raw += bytes(4)

        field("payload_336", iu, f"{clause}.1-04 {clause}.1-02", (0, 0), shorter)
        field("payload_344", iu, f"{clause}.1-04 {clause}.1-02", (0, 0), longer)
        flag = 8 if iu == "RQST" else 2
        sentence = "5.9.4.4-01 T07-3 6.8.3-07 6.8.1-04" if iu == "RQST" else "5.9.4.5-03 T09-1 6.9.3-07 6.9.1-04"
        field("info_flag_without_info", iu, sentence, (0, 0), bit(wire.FLAGS, flag))
        field("info_without_flag", iu, sentence, (0, 0), bit(wire.FLAGS, flag), make=lambda: scene(info=True))


def broken_handle(iu: str) -> Optional[Callable[[], Scene]]:
    """A session that ends after the IU, so that nothing later depends on the handle."""

    def make() -> Scene:
        s = scene()
        last = s.one("RQST" if iu == "RQST" else "RESP1")
        del s.w.frames[s.w.number(last) :]
        return s

    return make


def later_frames() -> None:
    """Words that differ between the frames of an IU (E43), or between the IUs of a Message."""
    long = lambda: scene(length=3000)  # noqa: E731
    two = lambda: scene(length=3000, ius=2)  # noqa: E731
    for iu in ("SEND", "WRITE", "READ_RESP"):
        own = {"SEND": "6.2.2-", "WRITE": "6.4.2-", "READ_RESP": "6.7.2-"}[iu]
        field("handle_later_frame", iu, f"5.9.2-01 4.2-07 {own}02 6.9.3-03 6.8.3-03", wire.HANDLE, bit(wire.HANDLE, 0x40), at=1,
              make=long)
        field("msg_id_later_frame", iu, f"4.2-02 5.9.6-02 5.9.6-04 4.2-12 4.2-11 5.9.6-06 {own}08 {own}04", wire.MSG_ID,
              bit(wire.MSG_ID, 0x40), at=1, make=long)
        field("tot_len_later_frame", iu, f"5.9.10-01 {TOT[iu]}", wire.TOT_LEN, bit(wire.TOT_LEN, 4), at=1, make=long)
        field("reserved_later_frame", iu, "5.9.5-01 T04-w1", wire.RESERVED, bit(wire.RESERVED, 4), at=1, make=long, notice=True)
        if iu != "SEND":
            field("va_later_frame", iu, f"5.9.8-04 {own}08 {own}10 {own}07", wire.RMT_VA, bit(wire.RMT_VA, 4), at=1, make=long)
            field("va_handle_later_frame", iu, f"5.9.9-01 {own}09 {own}10 {own}12", wire.RMT_VA_HANDLE, bit(wire.RMT_VA_HANDLE, 4),
                  at=1, make=long)
            field("va_later_iu", iu + "/1", f"5.9.8-04 {own}08 {own}10 {own}07", wire.RMT_VA, bit(wire.RMT_VA, 4),
                  make=lambda: scene(length=1000, ius=2))
            field("va_handle_later_iu", iu + "/1", f"5.9.9-01 {own}09 {own}10 {own}12", wire.RMT_VA_HANDLE,
                  bit(wire.RMT_VA_HANDLE, 4),
                  make=lambda: scene(length=1000, ius=2))  # fmt: skip
        field("tot_len_later_iu", iu + "/1", f"5.9.10-01 {TOT[iu]}", wire.TOT_LEN, bit(wire.TOT_LEN, 4),
              make=lambda: scene(length=1000, ius=2))  # fmt: skip
        field("seq_cnt_restarts", iu + "/1", "5.8.6-01 5.6-01", wire.SEQ_CNT, attribute("seq_cnt", 0),
              make=lambda: scene(length=1000, ius=2))
        field("offset_restarts", iu + "/1", "5.6-09 5.8.7-02 5.6-07 5.2.1-11", wire.OFFSET_FIELD, attribute("param", 0),
              make=lambda: scene(length=1000, ius=2))  # fmt: skip
        field("handle_later_iu", iu + "/1", f"5.9.2-01 4.2-07 {own}02 6.9.3-03 6.8.3-03", wire.HANDLE, bit(wire.HANDLE, 0x40),
              make=lambda: scene(length=1000, ius=2))
        field("msg_id_later_iu", iu + "/1", f"4.2-02 5.9.6-02 5.9.6-04 4.2-12 4.2-11 5.9.6-06 {own}08 {own}04", wire.MSG_ID,
              bit(wire.MSG_ID, 0x40),
              make=lambda: scene(length=1000, ius=2))  # fmt: skip
    del two

    def whole(value: int) -> Callable[[Frame], object]:
        return lambda f: f.put(wire.FLAGS, 0).put(wire.PARAMETER, value)

    for iu in ("SEND", "WRITE"):
        field("immediate_later_frame", iu, "5.9.4.2-01 5.9.7.1-01 6.2.2-05 6.2.2-06 6.4.2-05 6.4.2-06 T05-0", wire.FLAGS, whole(0),
              at=2,
              make=lambda: scene(length=3000, imm=0x11223344))  # fmt: skip
        field("immediate_value_later_frame", iu, "5.9.4.2-01 5.9.7.1-01 6.2.2-06 6.4.2-06", wire.PARAMETER,
              put(wire.PARAMETER, 0x11223345), at=2,
              make=lambda: scene(length=3000, imm=0x11223344))  # fmt: skip
        field("immediate_not_in_last_iu", iu + "/1", "5.9.4.2-01 5.9.7.1-01 6.2.2-05 6.2.2-06 6.4.2-05 6.4.2-06 T05-0", wire.FLAGS,
              whole(0),
              make=lambda: scene(length=1000, ius=2, imm=0x11223344))  # fmt: skip


frame_header()
device_header()
connect_payload()
later_frames()
