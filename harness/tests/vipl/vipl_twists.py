"""The providers that do something wrong, and those that are odd and right: what harness/shims makes of ours, and what it breaks.

A line is a kind, the twist with its arguments (harness/shims/twists_*.c tell what they mean), and the rows that it breaks.
Each pair of a twist and a row is a faulty provider of its own. The rows were chosen by the catalogue alone, before a case was read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Twist:
    """A provider, and the rows that it breaks (none: it is right)."""

    kind: str
    variable: str  # FCVI_VIPL_FAULT
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return self.variable.removeprefix("twist ").replace(" ", "-")


# bits of a status word
_F, _P, _L, _PA, _FL, _T, _RP, _RD = 2, 4, 8, 16, 32, 64, 128, 256
_ANY = 0x1FE

_TABLE = f"""
memory | byte-beyond | S2.3.1-01
memory | byte-before | S2.3.1-01
memory | last-byte | S2.3.1-01 S2.5.2-01 S6.1.1.2-01
memory | segments-swapped | S2.3.1-01 S2.3.2-02
memory | remote-byte 1 1 | S2.3.2-01
memory | remote-byte 1 0 | S2.3.2-01 S2.3.2-06 S2.5.3-01
memory | remote-byte 2 0 | S2.3.2-02
memory | remote-offset 1 | G5.3-02 S2.3.2-01
memory | remote-offset 2 | G5.3-02 S2.3.2-02
memory | late-data 1 0 | S6.4.1-02
memory | late-data 0 2 | S2.5.2-06
memory | late-write | S2.3.2-04 S2.5.3-01
memory | written-later | S6.1-04
memory | writes-anything | S3.2.2.2-03 S3.2.2.2-01 S6.3.2-01 S1.5.3-02
memory | reads-anything | S3.2.2.2-03 S6.3.2-01
memory | copies-anything | S2.2-01 S3.2.1-05
memory | register-touches | G3.4.3-05
memory | deregister-touches | G3.4.4-01
memory | twice | S2.5-06 S2.3.1-02 S2.5.2-01
memory | stale | S4.1-01
memory | long-address | G3.9.2-05
memory | name-told 3 | G3.9.3-02
protection | tags-unenforced | S3.2.2.1-04 S3.2.2.1-05 G2.2.2-01
protection | enables 1 | S3.2.2.2-01 S3.2.2.2-03
protection | enables 2 | S3.2.2.2-01 S3.2.2.2-03
protection | enables 3 | S6.3.2-01 G5.2-32
protection | enables 4 | S3.2.2.2-01 G3.4.3-02
protection | enables 8 | S3.2.2.2-01 G3.2.1-01
protection | enables-here | S3.2.2.2-02
protection | any-handle 0 | S1.5.3-02 S2.2-01
protection | any-handle 1 | S1.5.3-02
protection | deregister-nothing | S2.2-01 S3.2.1-09 G3.4.4-01
protection | thread-regions | S3.2.1-06
protection | same-tag | S3.2.2.1-01 G3.4.1-01
protection | set-mem 0 | S3.2.2.1-03 G3.7.4-01
protection | set-mem 1 | G3.7.4-02
protection | mem-told 0 | G3.4.3-02 G3.7.5-01
protection | mem-told 1 | G3.4.3-02 G3.7.5-01
registration | register-picks 0 | G3.4.3-02
registration | register-picks 1 | G3.4.3-02
registration | register-picks 2 | S3.2.1-08
registration | register-same | S3.2.1-08
registration | register-fails-with | G3.4.3-01
descriptor | refuse-segments 0 252 252 | S6.1.1.1-01 S6.1.1.1-04
descriptor | refuse-segments 1 252 252 | S6.1.1.1-01 S6.1.1.1-04
descriptor | refuse-segments 0 251 65535 | S6.1-02
descriptor | refuse-segments 2 0 0 | S6.1.1.1-01 S6.1.1.1-02
descriptor | refuse-empty-segment | S6.1.1.1-03
descriptor | refuse-length 0 32768 32768 | S6.1.1.2-01 S6.1.1.2-03
descriptor | refuse-length 0 4097 4097 | S6.1.1.2-01
descriptor | refuse-length 0 3 3 | S6.1.1.2-01
descriptor | refuse-length 1 0 0 | G5.2-13
descriptor | refuse-length 1 0xFFFFFFFF 0xFFFFFFFF | G5.2-13
descriptor | refuse-control 0 1 0 | S2.3.2-06 G5.2-05 G2.2.1-01
descriptor | refuse-control 0 2 0 | G5.2-06 S2.3.2-08
descriptor | refuse-control 0 2 4 | G5.2-09
descriptor | refuse-control 0 0 0 | G5.2-04 S5.3-02
descriptor | refuse-control 1 0 4 | G5.2-10
descriptor | refuse-control 1 0 8 | G5.2-10
descriptor | refuse-control 0 0 8 | G5.2-11
descriptor | refuse-next | G5.2-02
descriptor | mask-control 0 0xFFF0 | G5.2-01
descriptor | mask-control 1 0xFFF0 | G5.2-01
descriptor | mask-control 0 0x8000 | G5.2-01
descriptor | mask-control 0 0x0010 | G5.2-01
descriptor | mask-reserved | G5.2-01
descriptor | mask-address | G5.3-01
descriptor | any-operation 0 3 | G5.2-07
descriptor | any-operation 1 3 | G5.2-07
descriptor | any-operation 1 1 | G5.2-05 S6.2-01
descriptor | any-operation 1 2 | G5.2-06 S6.2-01
descriptor | any-length | G5.2-12
descriptor | immediate-added 1 | S2.3.2-03
descriptor | immediate-added 0 | G5.2-39
descriptor | immediate-dropped 1 | S2.3.2-04 G5.2-08
descriptor | immediate-dropped 0 | G5.2-08 G5.2-39
descriptor | immediate-other | G5.2-08 S6.4.1-01
descriptor | stale-status | G5.2-18
descriptor | post-lost 5 | S2.1.1-02 S2.1.1-01 S6.2-02
descriptor | post-lost 40 | S2.1.1-01 S2.1.1-02 S2.2-02
descriptor | needs-call 0 | G6.6-01
status | immediate-counts | G5.2-16
status | length-told 0 7 | G5.2-14
status | length-told 2 0 | G5.2-14
status | length-told 4 0 | G5.2-14
status | length-told 3 0 | G5.2-17
status | length-told 1 9 | S6.1.1.2-02 S6.4.1-01
status | overrun-length | S6.4.1-05
status | operation-told 0 5 | G5.2-37
status | operation-told 2 0 | G5.2-37
status | operation-told 4 0 | G5.2-37
status | operation-told 1 0 | G5.2-37
status | operation-told 3 1 | G5.2-37 S2.3.2-04
status | bits 0 0 0x80000 | G5.2-39
status | bits 0 0 0x200 | G5.2-36
status | bits 1 0 0x100000 | G5.2-36
status | bits 0 {_F} {_P} | G5.2-20
status | bits 1 {_F} {_P} | G5.2-05
status | bits 2 {_F} 0 | G5.2-07 G5.2-01
status | bits 0 {_P} {_F} | G5.2-21
status | bits 1 {_P} {_F} | G5.2-21
status | bits 0 {_P} 0 | S2.2-01 S3.2.2.1-04 G5.2-21
status | bits 1 {_P} 0 | G5.2-21
status | bits 0 {_L} {_F} | G5.2-24
status | bits 1 {_L} {_F} | G5.2-25 S6.4.1-05
status | bits 1 {_L} 0 | G5.2-25 S2.3.1-03
status | bits 0 {_L} 0 | G5.2-12 G4.5-04
status | bits 2 {_FL} 0 | S5.1-05 S5.4-01 G5.2-29 G3.3.5-01 G3.3.5-07
status | bits 1 {_FL} 0 | S2.5.2-04 G2.4-03
status | bits 1 0 {_FL} | G5.2-29 G5.2-19
status | bits 0 {_RP} {_F} | G5.2-32
status | bits 0 {_RP} 0 | G5.2-32 S2.5.3-02
status | bits 0 {_RD} {_T} 4 | G5.2-34
status | bits 0 {_RD} 0 4 | G5.2-34 S2.5.3-02
status | bits 0 0 {_PA} | G5.2-27
status | bits 0 0 {_T} 1 | G5.2-31
status | bits 0 0 {_T} 2 | G5.2-30 G5.2-31
status | bits 0 0 {_RP} 2 | G5.2-33
status | bits 0 0 {_RD} 2 | G5.2-35
status | bits 0 0 {_RP} 4 | G5.2-33
status | bits 0 0 {_RD} 1 | G5.2-35
status | bits 0 {_ANY} 0 1 | S2.5.1-06 S2.5.1-07
status | bits 0 {_ANY} 0 4 | S2.5.2-07 S2.5.3-02 S2.5.3-03 S2.5.3-05
status | bits 0 {_F} {_L} 1 | S2.5.1-07
order | out-of-order 0 | S6.3.1.1-01 G3.5.2-01
order | out-of-order 1 | S6.3.1.1-01 G3.5.5-01
order | swapped 1 | S6.3.1.1-02 S2.3.1-01 S2.5.2-01
order | swapped 0 | S6.3.1.1-03 S2.5.2-01 S6.3.1.1-06
order | done-twice 0 | G3.5.2-01
order | done-twice 1 | G3.5.5-01
queue | slow 0 12000 | G3.5.2-05
queue | slow 1 12000 | G3.5.5-03
queue | slow 2 12000 | G3.5.7-03
queue | slow 3 12000 | G3.5.1-01
queue | slow 4 12000 | G3.5.4-01
queue | slow 5 4500 | G3.5.3-01
queue | slow 6 4500 | G3.5.6-01
queue | slow 7 4500 | G3.5.8-01
queue | early-wait 6 | G3.5.6-01
queue | early-wait 7 | G3.5.8-01
queue | overslept 6 | G3.5.6-01 G3.5.6-04
queue | overslept 7 | G3.5.8-01
queue | flushed-lost | G3.3.5-01 G3.3.5-07 S5.4-01
queue | vi-told 2 | G3.7.3-02
queue | vi-told 3 | G3.7.3-02 S5.1-01
completion queue | entry 0 | S6.4.1-03 G3.6.1-01 S3.4-04
completion queue | entry 1 | S6.4.1-03 G3.5.7-01
completion queue | entry 2 | S6.4.1-03 G3.5.7-01
completion queue | entry 3 | G3.5.7-02 G6.1-02
completion queue | entry 4 | G6.2-02 S2.4-01
completion queue | entry 5 | S2.4-01 S6.4.1-03
completion queue | entry-twice | G3.5.7-01 G6.1-02
completion queue | small-cq | G3.6.1-01 S3.4-04
completion queue | emptying-resize | G3.6.3-01 S3.4-06
completion queue | idle-resize | G3.6.3-01
completion queue | cq-tied 0 | S2.4-01
completion queue | cq-tied 1 | S2.4-01 S3.4-01
completion queue | cq-tied 2 | S2.4-01
callback | notify-times 2 1 | G3.5.9-03 G3.5.10-02
callback | notify-times 0 1 | G3.5.9-02 G3.5.9-01 G3.5.10-01 G6.4-01
callback | notify-times 1 0 | G3.5.9-08 G3.5.10-03
callback | notify-times 1 2 | G3.5.10-03 G3.5.9-08
callback | notify-other | G3.5.9-01 G3.5.10-01 G5.5-02
callback | notify-unflushed | G3.5.10-05
callback | notify-context | G3.5.9-01 G3.5.9-04 G3.5.10-02
callback | notify-kept | G3.5.9-01 G3.5.10-01
callback | notify-at-once | G3.5.10-01
callback | notify-after-end | G3.5.9-05 G3.5.10-02 G3.5.11-03
callback | entry-notify 0 | G3.5.11-01
callback | entry-notify 1 | G3.5.11-02
callback | entry-notify 2 | G3.5.11-01
callback | entry-notify 3 | G3.5.11-01
callback | error-silent | G3.8.1-01 S2.5.2-08 S5.1-06 G3.8.1-05
callback | error-context | G3.8.1-01
callback | error-stays | G3.8.1-02
callback | error-on-disconnect | G3.3.5-04
callback | error-instead 6 | G3.8.1-04 S2.5.2-07
callback | error-field 0 | G4.4-01
callback | error-field 1 | G4.4-01
callback | error-field 2 | G4.4-02
callback | error-code 0 5 | G3.8.1-05
connection | address 0 | S4.3-01 G6.7-02 G3.3.4-07
connection | address 1 | G3.3.1-01 G3.3.4-01 G3.3.6-02
connection | wait-tells 0 | G3.3.1-05
connection | wait-tells 1 | G3.3.1-05
connection | wait-tells 2 | G3.3.1-05 G4.9-01
connection | wait-tells 3 | G3.3.1-06
connection | wait-tells 4 | G3.3.1-06
connection | wait-tells 5 | G3.3.1-06
connection | other-attributes | G3.3.4-05 G3.3.7-03
connection | accept-any | G3.3.2-02 S2.5-04 G3.3.2-04
connection | accept-once | G3.3.2-05 S4.1-05 G3.3.2-06
connection | accept-strict | G3.3.2-03
connection | accept-nothing | S5.2-01
connection | reject-nothing | G3.3.3-01
connection | conns-exchanged | G3.3.1-07
connection | disconnect-nothing 1 | G3.3.5-01 G3.3.5-06 G6.3.3-02
connection | disconnect-nothing 2 | G3.3.5-06
connection | disconnect-nothing 3 | G3.3.5-05 G3.3.5-06
connection | disconnect-nothing 0 | G3.3.5-07
connection | disconnect-refused 0 | G3.3.5-06
connection | disconnect-refused 3 | G3.3.5-06 G3.3.5-05
connection | disconnect-untold | S4.2-03
time | timed 0 4000 100 | G3.3.1-03
time | timed 0 0 50 | G3.3.1-03
time | timed 1 300 100 | G3.3.4-03
time | timed 1 0 50 | G3.3.4-06
time | timed 1 0 300 | G3.3.4-06
time | timed 2 300 100 | G3.3.6-03
time | timed 2 20000 100 | G3.3.6-04
time | finite | G3.3.4-04 G3.3.6-03 G3.3.1-03
time | sleeping-peer-request | G3.3.6-01
time | sleeping-peer-done | G3.3.7-01
time | impatient-peer-wait | G3.3.8-01
state | state-told 0 3 | S5.1-01 G3.7.3-01
state | state-told 1 0 | S5.2-01 G3.7.3-01
state | state-told 2 0 | S5.1-02 G3.3-06
state | state-told 3 1 | S2.5.2-04 S2.5.3-05 G3.8.1-07 G3.3.5-05
state | broken-by 0 | S5.2-02
state | broken-by 1 | S5.1-03
state | broken-by 2 | S2.5.1-05
state | early-posts 1 0 | S5.1-04
state | early-posts 1 2 | S5.2-04
state | early-posts 0 0 | S5.1-05
state | early-posts 0 2 | S5.2-05
state | vi-told 0 | G3.2.1-01 G3.7.3-01
state | vi-told 1 | G3.2.1-01 G3.7.3-01
state | vi-told 4 | G3.2.1-01 G3.7.3-01
state | set-vi 0 | G3.7.2-04 S3.2.2.1-03 G3.3.2-06
state | set-vi 1 | G3.7.2-02
state | destroy-nothing | G3.2.2-02
nic | nic-told 0 0 | G3.7.1-01
nic | nic-told 1 4 | G3.7.1-01 G4.5-02
nic | nic-told 2 7 | G2.3-01
nic | nic-told 3 8 | G3.3-03
nic | nic-told 4 100 | S6.1.1.1-04
nic | nic-told 5 100 | S3.4-04
nic | nic-told 6 16384 | S6.1.1.2-03
nic | nic-told 7 1 | S3.2.2.1-06
nic | nic-told 8 15 | G4.5-05
nic | nic-told 8 4 | G4.5-05
nic | nic-told 9 0 | G4.5-06 S2.3.2-08
nic | nic-told 10 0 | G4.5-01
nic | nic-told 11 100000 | G4.5-07
nic | open-same | G3.1.1-02
nic | close-nothing | G3.1.2-01
names | exact-name | G3.9.2-02
names | first-index | G3.9.2-03
names | other-address | G3.9.2-01
names | name-told 0 | G3.9.3-01
names | name-told 1 | G3.9.3-01
names | name-told 2 | G3.9.3-01
names | name-told 4 | G3.9.3-02
names | found 0 | G3.7.6-01
names | found 1 | G3.7.6-02
names | found 2 | G3.7.6-03
names | found 3 | G3.7.6-01
code | CreateVi INVALID_RDMAREAD INVALID_PARAMETER | G3.2.1-07
code | CreateVi ERROR_RESOURCE INVALID_PARAMETER | G3.2.1-08
code | ConnectAccept INVALID_RELIABILITY_LEVEL INVALID_MTU | G3.3.2-04
code | ConnectAccept TIMEOUT REJECT | G6.7-07 G3.3.2-07
code | ConnectAccept TIMEOUT SUCCESS | G6.7-07 G3.3.2-07
code | ConnectReject SUCCESS TIMEOUT | G6.7-08
code | ConnectRequest INVALID_STATE SUCCESS | S5-01 S1.5.3-01
code | ConnectRequest REJECT TIMEOUT | G3.3.3-01
code | ConnectRequest TIMEOUT REJECT | G6.7-09
code | ConnectRequest NO_MATCH SUCCESS | G6.7-05 G3.3-01
code | ConnectRequest SUCCESS NOT_DONE | G4.2-02 S5.3-02
code | ConnectPeerDone INVALID_RELIABILITY_LEVEL NOT_DONE | G3.3.7-04
code | ConnectPeerDone TIMEOUT REJECT | G3.3.6-04
code | ConnectPeerWait TIMEOUT SUCCESS | G3.3.6-04 G3.3.8-01
code | CreatePtag SUCCESS ERROR_RESOURCE | G3.4.1-01
code | PostRecv SUCCESS NOT_DONE | G3.5.4-02 G4.2-02
code | SendWait DESCRIPTOR_ERROR SUCCESS | G3.5.3-03
code | RecvDone NOT_DONE TIMEOUT | G3.5.5-02 G4.2-02
code | RecvDone DESCRIPTOR_ERROR SUCCESS | G5.2-19 G3.5.5-02
code | SendNotify SUCCESS NOT_DONE | G3.5.9-01
code | RecvNotify INVALID_PARAMETER SUCCESS | G1.2.3-01
code | QueryVi INVALID_PARAMETER SUCCESS | G1.2.3-01
code | CreateCQ SUCCESS ERROR_RESOURCE | G3.6.1-01 S3.4-04
code | ResizeCQ SUCCESS ERROR_RESOURCE | G3.6.3-01 S3.4-06
code | SetViAttributes INVALID_PTAG INVALID_MTU | G3.7.2-03
code | SetMemAttributes INVALID_PTAG INVALID_RDMAREAD | G3.7.4-02
code | QueryMem INVALID_PARAMETER SUCCESS | G3.4.4-01 G3.7.5-01
code | QueryNic SUCCESS ERROR_RESOURCE | G3.7.1-01
code | OpenNic SUCCESS ERROR_RESOURCE | G3.1.1-01
code | CloseNic SUCCESS ERROR_RESOURCE | G3.1.2-02
code | DestroyCQ SUCCESS ERROR_RESOURCE | G3.6.2-01
code | DestroyVi SUCCESS INVALID_STATE | G3.3.5-07
code | ErrorCallback SUCCESS ERROR_RESOURCE | S7-01 G3.8.1-02
"""

_ODD = f"""
deliberate
roomy
scribbles
lengths
links
partial
quiet
fresh-immediate
operation-of-errors
slow 5 20
bits 0 {_P} {_P | _F}
"""


def _twists() -> list[Twist]:
    found = []
    for line in _TABLE.strip().splitlines():
        kind, what, rows = (part.strip() for part in line.split("|"))
        found.append(Twist(kind, what if kind == "code" else f"twist {what}", tuple(rows.split())))
    return found


TWISTS = _twists()
ODD = [Twist("odd", f"twist {line}", ()) for line in _ODD.strip().splitlines()]
