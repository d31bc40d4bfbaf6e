"""Login-level cases against libfc: what FC-FS, FC-LS and FC-BB want of any N_Port, and how this kernel does it.

libfc has no FC-VI, and is no oracle. Where it is known to do other than the standards, DEVIATIONS declares it: the case then
demands that it still does, so that a deviation that is gone is noticed as well.

Run in the namespace by __main__: ``python3 -m harness.interop.cases MODE INTERFACE SECONDS``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Callable

from conformance import register_all
from fcvi.fc import codec, els
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.attachment import AttachError, Dut, DutError
from fcvi.engine.target import parse
from fcvi.live.attach import attach_live
from fcvi.engine.pixit import Identity, Pixit
from fcvi.fc.received import Received
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import run_variant
from fcvi.fc.scenario import Scenario

register_all()

RULE = "FC-LS"  # none of FC-VI's: the findings are about FC-2 and its link services
KERNEL = {"vn2vn": "000001", "target": "000001", "fabric": "010203"}
TESTER = {"vn2vn": "000009", "target": "000009", "fabric": "010204"}
#: What the mode is to the link.
ROLES = {"vn2vn": "vn2vn", "target": "vn2vn", "fabric": "fabric"}
#: Where this kernel does other than the standards, by a name of ours: the clause, and why the suite lets it pass here.
DEVIATIONS = {
    "no-continuous-sequences": ("FC-FS-2 18.8.2", "SEQ_CNT is 0 again in each Sequence; FC-VI asks nothing else of a login"),
    "farp-refused": ("FC-LS 4.2.29", "FARP-REQ is refused by LS_RJT, though it has no reply: libfc has no handler for it"),
    "abts-unanswered": ("FC-FS-2 16.3.2", "an ABTS for an Exchange that nobody knows gets no BA_RJT"),
}
_LOGIN_REQUIRED, _NOT_SUPPORTED = (0x09, 0x1E), (0x0B, 0x00)
_RTV, _PRLI = 0x0E, 0x20
_FCP, _FCVI = 0x08, 0x58  # TYPE
_INITIATOR, _TARGET = 0x22, 0x10  # of the service parameters of FCP
_QUIET_US = 1_500_000
_LOGINS, _BUSY_US = 15, 1_000_000
_FABRIC_US = 12_000_000  # until the guest has registered with the Name Server
_MS = 1000
_CONTROLLER = 0xFFFFFD  # the Fabric Controller


def pixit(mode: str) -> Pixit:
    """Who is who; the timers are the kernel's own."""
    kernel = Identity("2000525400fc0001", "1000525400fc0001", KERNEL[mode], ("fe8000000000000000000000000000b2",))
    ours = Identity("2000525400fc0009", "1000525400fc0009", TESTER[mode], ("fe8000000000000000000000000000a1",))
    return Pixit(4_000 * _MS, 2_000 * _MS, 100 * _MS, 2_000 * _MS, kernel, ours)


def _courteous(t: Scenario) -> None:
    """Answer PRLI and RTV as any N_Port may: without that libfc does not come to rest."""

    def prli(request: Received) -> None:
        page = bytearray(request.payload[4:20])
        page[2:4] = b"\x01\x00"  # executed, and nothing established
        page[12:16] = bytes(4)
        body = bytes([0x02, 0x10]) + request.payload[2:4] + bytes(page)
        addresses = {"D_ID": request.fc("S_ID"), "S_ID": request.fc("D_ID")}
        envelope = replace(t.tester.envelope(request.exchange), fc=addresses, seq_cnt=0)
        t.tester.answered += 1
        frame = els.reply(envelope, els.LS_ACC)
        t.tester.send_frame(replace(frame, data=frame.data[:24] + body))

    def rtv(request: Received) -> None:
        times = (t.pixit.r_a_tov_us // _MS).to_bytes(4, "big") + (t.pixit.e_d_tov_us // _MS).to_bytes(4, "big")
        t.tester.services.accept(request, times + bytes(4))

    t.tester.services.handlers.update({"PRLI": prli, f"ELS_{_RTV:02X}": rtv})


def _ask(t: Scenario, command: int, body: bytes = b"") -> Received:
    exchange = t.tester.send_els(command, body)
    return t.expect(["LS_ACC", "LS_RJT"], RULE, exchange=exchange, within_us=4_000_000, why=f"to ELS {command:02X}h")


def _accepted(t: Scenario, command: int, body: bytes = b"") -> Received:
    answer = _ask(t, command, body)
    t.require(answer.kind == "LS_ACC", RULE, f"ELS {command:02X}h is refused", answer.kind, "LS_ACC", at=answer)
    return answer


def _refused(t: Scenario, command: int, body: bytes, required: tuple[int, int]) -> None:
    answer = _ask(t, command, body)
    seen = (answer.payload[5], answer.payload[6]) if answer.kind == "LS_RJT" and len(answer.payload) >= 8 else (0, 0)
    t.require(seen == required, RULE, f"answer to ELS {command:02X}h", f"{answer.kind} {seen}", f"LS_RJT {required}", at=answer)


def _log_in(t: Scenario) -> Received:
    """PLOGI; again while the other end is busy with logins of its own: then it refuses, or says nothing."""
    for _ in range(_LOGINS - 1):
        exchange = t.tester.send_els(els.PLOGI, els.login(t.config["peer"], 2112))
        t.until(lambda of=exchange: t.peek(["LS_ACC", "LS_RJT"], of) is not None, _BUSY_US)  # type: ignore[misc]
        answer = t.peek(["LS_ACC"], exchange)
        if answer is not None:
            answer.taken = True
            return answer
        t.wait(_BUSY_US)
    answer = _accepted(t, els.PLOGI, els.login(t.config["peer"], 2112))
    if answer.kind != "LS_ACC":
        t.fail(RULE, "no PLOGI is accepted", answer.kind, f"LS_ACC to one of {_LOGINS}")
    return answer


def _adisc(t: Scenario) -> bytes:
    return els.adisc(t.config["peer"], t.tester.n_port_id)


def _alive(t: Scenario) -> None:
    answer = _accepted(t, els.ADISC, _adisc(t))
    t.require(answer.payload[8:16].hex() == t.config["port_name"], RULE, "Port_Name in the answer to ADISC",
              answer.payload[8:16].hex(), t.config["port_name"], at=answer)  # fmt: skip
    t.control("ADISC is answered")


def login(t: Scenario) -> None:
    """PLOGI is accepted with the names of the port and valid class 3 parameters."""
    _courteous(t)
    answer = _log_in(t)
    port_name, class_3 = (codec.get("LOGIN", name, answer.payload[4:]) for name in ("Port_Name", "Class_3"))
    assert isinstance(port_name, int) and isinstance(class_3, bytes)
    seen = f"{port_name:016x}"
    t.require(seen == t.config["port_name"], RULE, "Port_Name", seen, t.config["port_name"], at=answer)
    t.require(bool(class_3[0] & 0x80), RULE, "class 3 is not valid", class_3.hex(), "80h in the first byte", at=answer)
    continuous = codec.get("LOGIN", "SEQ_CNT_S", answer.payload[4:])
    t.require(not continuous, RULE, "deviation no-continuous-sequences is gone", 1, 0, at=answer)
    _alive(t)


def logout(t: Scenario) -> None:
    """After LOGO nothing is answered but by LS_RJT "login required", until PLOGI."""
    _courteous(t)
    _log_in(t)
    _accepted(t, els.LOGO, els.logo(t.config["peer"], t.tester.n_port_id))
    _refused(t, els.ADISC, _adisc(t), _LOGIN_REQUIRED)
    _log_in(t)
    _alive(t)


def unknown(t: Scenario) -> None:
    """What it does not know is refused; so is FARP-REQ, which has no reply (deviation farp-refused)."""
    _courteous(t)
    _log_in(t)
    _refused(t, 0xFF, bytes(8), _NOT_SUPPORTED)
    _refused(t, els.FARP_REQ, els.farp_request(t.config["peer"], t.tester.n_port_id, "fe80" + "00" * 13 + "b2"), _NOT_SUPPORTED)
    _alive(t)


def spoilt(t: Scenario) -> None:
    """A frame with a bad CRC is as good as none, and harms nobody."""
    _courteous(t)
    _log_in(t)
    exchange = t.tester.open_exchange()
    frame = els.request(t.tester.envelope(exchange), els.ADISC, _adisc(t))
    t.tester.send_frame(replace(frame, crc_ok=False))
    t.expect_nothing(["LS_ACC", "LS_RJT"], _QUIET_US, RULE, "answers a frame with a bad CRC", exchange)
    _alive(t)


def foreign(t: Scenario) -> None:
    """An FC-VI frame, and an ABTS for no Exchange, find nobody, and harm nobody (deviation abts-unanswered)."""
    _courteous(t)
    _log_in(t)
    exchange = t.tester.open_exchange()
    t.tester.send_iu("SEND_RQST", exchange, {"FCVI_HANDLE": 1, "FCVI_MSG_ID": 1}, b"nobody there")
    t.tester.send_abts(t.tester.open_exchange())
    t.expect_nothing(["BA_ACC", "BA_RJT", "SEND_RESP", "P_RJT"], _QUIET_US, RULE, "answers what it does not know")
    _alive(t)


def again(t: Scenario) -> None:
    """A second PLOGI ends the login before it and makes a new one, as after a link event that one side alone has seen."""
    _courteous(t)
    _log_in(t)
    _log_in(t)
    _alive(t)


def changed(t: Scenario) -> None:
    """An RSCN about the tester's port is accepted, and the login with that port is good, or is made again."""
    _courteous(t)
    _log_in(t)
    exchange = t.tester.send_els(els.RSCN, els.rscn([t.tester.n_port_id]), {"S_ID": _CONTROLLER})
    t.expect(["LS_ACC"], RULE, exchange=exchange, within_us=4_000_000, why="to RSCN")
    t.wait(_BUSY_US)
    _log_in(t)
    _alive(t)


def _process_login(t: Scenario, fc4: int) -> Received:
    """PRLI as an initiator; its head has lengths where other requests have zeros."""
    exchange = t.tester.open_exchange()
    frame = els.request(t.tester.envelope(exchange), _PRLI, bytes(16))
    page = bytes([fc4, 0, 0x20, 0]) + bytes(8) + _INITIATOR.to_bytes(4, "big")
    t.tester.send_frame(replace(frame, data=frame.data[:24] + bytes([_PRLI, 16, 0, 20]) + page))
    return t.expect(["LS_ACC", "LS_RJT"], RULE, exchange=exchange, within_us=4_000_000, why=f"to PRLI of TYPE {fc4:02X}h")


def target(t: Scenario) -> None:
    """The target takes the process login of SCSI, and none of FC-VI, which it does not have; then it lives on."""
    _courteous(t)
    _log_in(t)
    answer = _process_login(t, _FCP)
    body = answer.payload
    t.require(answer.kind == "LS_ACC" and len(body) >= 20, RULE, "PRLI of SCSI", answer.kind, "LS_ACC with a page", at=answer)
    t.require(body[4] == _FCP and body[6] & 0x0F == 1, RULE, "response code of PRLI", body[4:8].hex(), "08..x1..", at=answer)
    t.require(bool(body[19] & _TARGET), RULE, "the port is no target", body[16:20].hex(), "bit 4", at=answer)
    answer = _process_login(t, _FCVI)
    refused = answer.kind == "LS_RJT" or answer.payload[6] & 0x0F != 1
    t.require(refused, RULE, "a process login of FC-VI", answer.kind, "LS_RJT, or another response code than 1", at=answer)
    _alive(t)


def fabric(t: Scenario) -> None:
    """The guest logs in with our FCF, logs in with the Name Server, registers, and asks it."""
    _courteous(t)

    def asked() -> set[int]:
        seen = {codec.get("CT", "CT_Command", r.payload) for r in t.tester.inbox if r.kind == "CT" and len(r.payload) >= 16}
        return {one for one in seen if isinstance(one, int)}

    wanted = {0x0213, 0x0217}  # RNN_ID, RFT_ID
    t.until(lambda: wanted <= asked(), _FABRIC_US)
    seen = [f"{command:04X}h" for command in sorted(asked())]
    t.require(wanted <= asked(), RULE, "registration with the Name Server", seen, "0213h and 0217h")
    _log_in(t)
    _alive(t)


CASES: dict[str, list[Callable[[Scenario], None]]] = {
    "vn2vn": [login, again, logout, unknown, spoilt, foreign],
    "fabric": [fabric, again, changed, logout, unknown, foreign],
    "target": [login, target, again, logout, unknown, foreign],
}  # fmt: skip


def run(dut: Dut, mode: str) -> list[Result]:
    """The cases of a mode; each frame of the kernel is decoded strictly and followed by the monitor as well."""
    results = []
    for body in CASES[mode]:
        title = " ".join((body.__doc__ or "").split())
        case = CaseInfo(f"{mode}.{body.__name__}", title, "", title, (RULE,), (), (), "", (Variant(),), body)
        result = run_variant(dut, case, case.variants[0], {}, pixit(mode), {RULE: "shall"}, 1)
        results.append(result)
        print(f"{result.verdict.value:12} {case.id}: {title}", flush=True)
        found = (f"{f.cls}: {f.message}: seen {f.seen}, required {f.required}" for f in result.findings)
        for words in dict.fromkeys([result.reason, *found]):
            if words:
                print(f"             {words}", flush=True)
    return results


def main() -> int:
    """0 when all pass, 1 when not, 3 when the guest cannot be reached."""
    mode, interface, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    spec = f"fcoe:{interface},role={ROLES[mode]},wait={seconds:g}"
    started = time.monotonic()
    try:
        dut = attach_live(parse(spec), pixit(mode).dut.as_json(), rpc_timeout_s=5, log=None)
    except (AttachError, DutError) as error:
        print(f"interop: {error}", file=sys.stderr)
        return 3
    try:
        results = run(dut, mode)
    finally:
        dut.close()
    for name, (clause, why) in DEVIATIONS.items():
        print(f"deviation    {name} ({clause}): {why}")
    print(f"{sum(r.verdict is Verdict.PASS for r in results)} of {len(results)} pass, {time.monotonic() - started:.0f} s")
    return 0 if all(r.verdict is Verdict.PASS for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
