"""Mistakes of use: each is one line on standard error that names what is wrong, the documented status, and no traceback."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from conformance import register_all
from fcvi.cli import main

#: Files that the mistakes are about: what they hold.
FILES = {
    "text.txt": b"no capture\n", "empty.pcap": b"", "half.pcap": bytes.fromhex("d4c3b2a1020004"), "empty.toml": b"",
    "item.toml": b"[item]\nserial = '1'\n",
    "lba.toml": b"[lba]\nname = 'x'\n", "wings.toml": b"[pics]\nwings = true\n", "word.toml": b"[pics]\nclient = 'yes'\n",
    "broken.toml": b"[pics\n", "latin.toml": b"[pics]\n# \xe9\n", "pixit.toml": b"[pixit]\nr_a_tov = 3\n",
    "late.toml": b"[pixit]\nr_a_tov_ms = 0\n", "lab.toml": b"[lab]\nnmae = 'x'\n", "date.toml": b"[lab]\nissued = 'today'\n",
    "deviation.toml": b"[[deviation]]\ncase = 'Z.9'\nreason = 'x'\n", "because.toml": b"[[deviation]]\ncase = 'D.R1'\n",
    "quarantine.toml": b"[[quarantine]]\ncase = 'D.R1'\nreason = 'x'\n", "report.json": b"{}", "list.json": b"[1]",
    "own/broken.py": b"import nothing_of_this_name\n", "kept/report.json": b'{"results": [1]}', "signed/SHA256SUMS.sig": b"x",
    "certified/certificate.json": b"{}", "finding/dead-x-1/finding.json": b"{}", "machine/machine.json": b"{}", "key": b"no key\n",
    "matrix/matrix.html": b"x", "large": b"[" * 70000, "recorded/a.pcapng": b"x", "run/evidence/run.json": b"{}",
    "good.pcapng": (Path(__file__).parents[3] / "pcaps/regressions/retry-succeeds.pcapng").read_bytes(),
}  # fmt: skip

#: What is typed (D: the folder of these files), the status, and a word of the line.
MISTAKES = [line.rsplit(" | ", 2) for line in """
rnu | 2 | did you mean run?
lnit D/text.txt | 2 | did you mean lint
merge D/kept | 2 | did you mean `fcvi report merge`?
verify D/certified | 2 | did you mean `fcvi certify --verify`?
sign D/certified | 2 | did you mean `fcvi certify sign`?
help run | 2 | did you mean `fcvi --help`?
run ref | 2 | did you mean --dut ref?
run --dut ref exec:./my-device | 2 | did you mean --dut exec:./my-device?
show --book vitcp 5.3.2 | 2 | no such case
run --select tag:xyzzy | 2 | no case matches 'tag:xyzzy'
run --formats , | 2 | '' is none of
run --r-a-tov nan | 2 | --r-a-tov
run --budget memory=0 | 2 | step-mb
certify sign D/certified | 2 | name the directory and the key
pics convert D/word.toml | 2 | there is no action 'convert'
pics new --out D | 2 | is there already
show FCVI-99 | 2 | did you mean FCVI-
decode --from pdf D/text.txt | 2 | none of capture, hex
decode --from hex D/text.txt | 2 | line 1: 'no' is not hexadecimal
lint -i nosuchif0 | 2 | there is no such interface
lint --filter fc.xx D/half.pcap | 2 | column 1
flows --wire udp D/half.pcap | 2 | none of tcp
explain | 2 | no capture named
learn --dut ref --role nobody | 2 | none of server
learn diff D/none D/none | 2 | D/none
explore --losses -1 reconnect | 2 | from 0 to 255
endpoint --on fcoe:nosuchif0 | 2 | there is no such interface
fuzz --dut ref --seconds x | 2 | between 0 and
random --dut exec:/none/here | 3 | cannot start it
dut check tcp:127.0.0.1:1 | 3 | cannot connect
--nonsense | 2 | --nonsense
run --jbos 2 | 2 | did you mean --jobs?
run --job 2 | 2 | fcvi run --help
run extra | 2 | unrecognized arguments: extra
run --jobs | 2 | expected one argument
run --jobs 0 | 2 | must be a number from 1 to 1024
run --jobs many | 2 | --jobs
run --seed x | 2 | --seed
run --r-a-tov -1 | 2 | --r-a-tov
run --r-a-tov 1e9 | 2 | --r-a-tov
run --e-d-tov 20000 --r-a-tov 100 --select D.R1 | 2 | E_D_TOV is 20000 ms and R_A_TOV 100 ms
run -dut ref | 2 | did you mean --dut?
run --dut | 2 | expected one argument
run --dut REF | 2 | did you mean ref?
run --dut ref --agent exec:x | 2 | has a control plane of its own
run --dut ref --agent2 exec:x | 2 | whose other end it is
run --dut ref --inject x | 2 | only for --dut api
run --dut fcoe:lo,role=none | 2 | there are point-to-point, vn2vn, fabric, enode
run --dut fcoe:lo,colour=red | 2 | there are role, mac
run --dut fcoe:lo,vlan=9999 | 2 | not a VLAN
run --dut exec:'unfinished | 2 | No closing quotation
run --dut vitcp:127.0.0.1 | 2 | vitcp:HOST:PORT
run --dut api --agent manual2 | 2 | or manual
run --frames nonsense | 2 | unknown adapter
run --debug gdb | 2 | it goes with exec:
run --seed 1.5 | 2 | must be a number
run --budget foo=3 | 2 | step-mb
run --fail-fast=yes | 2 | ignored explicit argument
run --select not | 2 | cannot read the term
run --select 5.3.2/dut-sever | 2 | did you mean 5.3.2/dut-server
run --pics /dev/null --select D.R1 | 2 | not a regular file
run --rerun-failed D/kept --select D.R1 | 2 | selects by itself
run --dut ref:vitcp --profile D/none.toml | 2 | No such file
run --resume D/kept --force | 2 | --force: --resume keeps
certify --select D.R1 | 2 | unrecognized arguments: --select
certify --baseline D/kept | 2 | unrecognized arguments: --baseline
certify sing D/certified | 2 | did you mean sign?
certify sign D/none --sign D/key | 2 | no report directory
decode --filter nonsense==1 D/half.pcap | 2 | column 1
decode --form hex D/text.txt | 2 | did you mean --from?
replay D/half.pcap --side zz | 2 | no N_Port Identifier
pics chek D/word.toml | 2 | did you mean check?
show E999 | 2 | did you mean E99?
new-case 5.3.2 --out D/text.txt | 2 | name a directory
run --rpc-timeout 0 | 2 | between 0 and 3600
run --budget memory | 2 | --budget
run --shard 3/2 | 2 | part K of N
run --shard 2 | 2 | part K of N
run --progress sometimes | 2 | auto, always, never
run --formats json,pdf | 2 | 'pdf' is none of
run --times 0 | 2 | --times
run --times 2 --resume D/kept | 2 | leave out --resume
run --fail-on may | 2 | --fail-on
run --select Z.9 | 2 | no case matches 'Z.9'
run --select C.5.99 | 2 | did you mean
run --select D.R1,,D.R2 | 2 | cannot read the term
run --select tag:timig | 2 | did you mean tag:timing
run --select= | 2 | names nothing
run --select D.R1 --shard 2/2 --book fcv | 2 | no such book
run --book fcvi --revision rev1 | 2 | leave one out
run --revision 2008 | 2 | 2007
run --dut= | 2 | write SPEC, or leave the option out
run --dut exce:foo | 2 | did you mean exec?
run --dut ref:2008 | 2 | there are ref:fcvi
run --dut D/text.txt | 2 | did you mean exec:D/text.txt?
run --dut api --agent exec:/none/here | 3 | fcvi: --agent exec:/none/here: cannot start it
run --dut fcoe:lo,mac=zz | 2 | not the Ethernet address of one station
run --dut fcoe:lo,role | 2 | 'role' is not OPTION=VALUE
run --dut exec:D/text.txt --select D.R1 | 3 | Permission denied
run --dut unix: | 2 | write unix:PATH
run --dut tcp:127.0.0.1:99999 | 2 | '99999' is no port
run --select FCVI-5.3.2-01 | 2 | `fcvi show FCVI-5.3.2-01` names its cases
run --select d.r1 | 2 | did you mean D.R1?
run --verbos | 2 | did you mean --verbose?
certify verify D/certified | 2 | did you mean --verify?
certify --verify D/text.txt | 2 | D/text.txt: is no directory
certify --times 2 | 2 | unrecognized arguments: --times
certify sign D/kept --sign D/key | 2 | no report directory with a certificate.json
judge D/run | 2 | not the evidence of a run
report html D/kept | 2 | there are diff, merge, github, matrix
report matrix --out D/new a= b= | 2 | a=: names no report
report diff D/kept D/kept | 2 | not a report of fcvi
decode --frames 3-1 D/half.pcap | 2 | is no range
decode --filter ( D/half.pcap | 2 | column 2
run --dut exec: | 2 | exec:
run --dut tcp:127.0.0.1 | 2 | tcp:
run --dut tcp:127.0.0.1:port | 2 | no port
run --dut tcp:a..b:1 | 2 | no host has such a name
run --dut tcp:127.0.0.1:1 --select D.R1 | 3 | cannot connect
run --dut unix:D/none | 3 | unix:
run --dut exec:/nonexistent/device --select D.R1 | 3 | cannot start it
run --dut fcoe:nosuchif0 --pics D/item.toml --select D.R1 | 2 | fcoe:nosuchif0
run --dut api | 2 | --agent
run --dut verbs | 2 | --agent
run --profile D/text.txt | 2 | --profile
run --pics D/none.toml | 2 | cannot read it
run --pics D | 2 | not a regular file
run --pics= | 2 | the name is empty
run --pics D/lba.toml | 2 | did you mean lab?
run --pics D/wings.toml | 2 | unknown PICS item 'wings'
run --pics D/word.toml | 2 | true or false
run --pics D/broken.toml | 2 | not a TOML file
run --pics D/latin.toml | 2 | not UTF-8
run --pics D/pixit.toml | 2 | did you mean r_a_tov_ms
run --pics D/late.toml | 2 | milliseconds from 1
run --pics D/lab.toml | 2 | did you mean name?
run --pics D/date.toml | 2 | must be a date
run --pics D/deviation.toml | 2 | no case matches 'Z.9'
run --pics D/because.toml | 2 | it needs a reason
run --quarantine D/quarantine.toml | 2 | it needs until
run --quarantine D/none.toml | 2 | cannot read it
run --quarantine D/latin.toml | 2 | not UTF-8 at byte 9
run --book vitcp --profile D/latin.toml | 2 | not UTF-8 at byte 9
run --book vitcp --profile /dev/zero | 2 | not a regular file
run --baseline D/none | 2 | cannot read it
run --baseline D/report.json | 2 | not a report.json
run --baseline D/text.txt | 2 | not JSON
run --rerun-failed D/none | 2 | cannot read it
run --rerun-failed D/list.json | 2 | not a report.json
run --cases D/none | 2 | --cases
run --cases D/own | 2 | broken.py
run --report D/text.txt | 2 | name a directory
run --report D/kept | 2 | --force
run --report D/certified | 2 | the certificate of an earlier run
run --report D/signed --force | 2 | never replaced
run --report D/signed --times 2 --force | 2 | never replaced
lint D/text.txt --sarif D/signed/report.sarif | 2 | never replaced
flows D/text.txt --html D/signed/report.html | 2 | never replaced
replay D/text.txt --out D/signed/report.tap | 2 | never replaced
replay D/text.txt --keep D/signed | 2 | never replaced
report github D/kept --summary D/signed/report.txt | 2 | never replaced
new-case FCVI-8.5.3-a3 --out D/signed | 2 | never replaced
pics new --out D/signed/pics.toml | 2 | never replaced
learn --dut ref --answers D/signed/answers.json | 2 | never replaced
run --report /proc/none | 3 | cannot write there
run --report= | 2 | the name is empty
run --report - | 2 | nor a stream
learn --dut ref --out - | 2 | nor a stream
lint D/text.txt --sarif - | 2 | nor a stream
judge - | 2 | nor a stream
explore client-server --resets 3 | 2 | none of these scenarios is of VI/TCP
explore peer --cuts 0 | 2 | none of these scenarios is of VI/TCP
run --record D/recorded --select D.R1 | 2 | --force
run --record D/text.txt --select D.R1 | 2 | name a directory
run --resume D/none | 2 | no report directory
run --resume D/finding | 2 | cannot read it
run --resume D/kept --select D.R1 | 2 | --select: --resume goes on
run --step --jobs 2 | 2 | leave out --jobs
run --against exce:x | 2 | did you mean exec?
run --against fcoe:x | 2 | two devices of FC-VI at one link
run --against ref --record D/new | 2 | leave out --record
run --against exec:/none/here | 3 | --against exec:/none/here: cannot start it
run --resume D/kept --report D/new | 2 | leave out --report
run --frames exec:x --dut exec:y | 2 | both name the device
run --formats html | 2 | add --report DIR
run --budget step-mb=1,step-mb=2 | 2 | twice
run --dut ref: | 2 | names no book
run --dut tcp:[::1:4000 | 2 | bracket
run --dut fcoe:lo,vlan= | 2 | not a VLAN
run --report / | 2 | the root of the file system
run --report D/run/evidence | 2 | holds the evidence of a report
run --cases D/none --watch | 2 | no such folder
run --against ref --select D.R1 | 2 | tag:far-side alone
certify --key D/key | 2 | goes with --verify
certify --verify D/certified --sign D/key | 2 | --sign: --verify runs nothing
certify --shard 1/2 | 2 | a certification runs every case
certify --cases D/own | 2 | the cases of the suite alone
certify --sign D/none --report D/new | 2 | cannot read it
certify --sign D/key --report D/new | 2 | cannot sign with it
certify --sign D/large --report D/new | 2 | 70000 bytes are no key
certify --report D/certified | 2 | the certificate of an earlier run
certify --verify D/none | 2 | D/none
certify --verify D/certified --key D/key | 2 | not a certificate
judge D/none | 2 | cannot read it
judge D/kept --out D/kept | 2 | --force
judge | 2 | DIR
report merge D/kept | 2 | --out
report merge --out D/new D/none | 2 | cannot read it
report dif D/kept D/kept | 2 | did you mean diff?
report diff D/kept | 2 | required: B
report diff D/none D/kept | 2 | cannot read it
report diff D/text.txt D/kept | 2 | not JSON
report matrix --out D/new D/none | 2 | cannot read it
report matrix --out D/matrix D/kept | 2 | --force
report github D/kept --summary D | 2 | is a directory
pics new --out D/none/x.toml | 2 | make it first
flows --every 5 D/half.pcap | 2 | goes with -i
flows --html D D/half.pcap | 2 | is a directory
explain --glossary D/half.pcap | 2 | leave the rest out
endpoint --token D/key | 2 | goes with --listen
pics check D/none.toml | 2 | cannot read it
pics check D/item.toml | 2 | no [pics] in it
pics new --out D/text.txt | 2 | is there already
pics new --dut exce:x | 2 | did you mean exec?
list --select Z.9 | 2 | no case matches
show | 2 | wants a case
show C.5.9.11 | 2 | did you mean C.5.9.1
show --errata --map | 2 | takes one of
lint | 2 | fcvi lint --help
lint D/none.pcap | 2 | D/none.pcap
lint D/text.txt | 2 | --from hex
lint D/empty.pcap | 2 | D/empty.pcap
lint D/half.pcap | 2 | D/half.pcap
lint D | 2 | D
lint --sarif D/none/x.sarif D/text.txt | 2 | make it first
lint --sarif D D/text.txt | 2 | is a directory
decode D/none.pcap | 2 | D/none.pcap
flows D/none.pcap | 2 | D/none.pcap
explain D/none.pcap | 2 | D/none.pcap
replay D/none.pcapng | 2 | D/none.pcapng
replay D/text.txt --offline | 2 | text.txt
fuzz | 2 | --dut
fuzz --dut ref --out D/finding | 2 | --force
fuzz --dut ref --repeat D/report.json | 2 | not a finding
fuzz --dut ref --state nowhere | 2 | --state nowhere
random --word nonsense | 2 | --word
random --dut ref --out D/certified | 2 | --force
learn | 2 | --dut SPEC
learn diff D/machine/machine.json | 2 | diff A B
learn --dut ref --out D/machine | 2 | --force
explore nowhere | 2 | no scenario
endpoint --listen nowhere | 2 | nowhere
new-case 99.99 | 2 | neither a requirement nor a clause
dut check fcoe:eth0 | 2 | exec:COMMAND
dut chek exec:x | 2 | did you mean check?
run --dut ref --agent= | 2 | write SPEC, or leave the option out
run --dut api --agent exec:x --inject= | 2 | write COMMAND, or leave the option out
run --debug= | 2 | write COMMAND, or leave the option out
run --book= | 2 | write NAME, or leave the option out
run --dut tcp://127.0.0.1:80 | 2 | write HOST:PORT without slashes
run --quiet --verbose | 2 | not allowed with argument --quiet
endpoint --listen unix: | 2 | use unix:PATH or tcp:HOST:PORT
endpoint --listen= | 2 | write ADDR, or leave the option out
endpoint --listen tcp:127.0.0.1:99999 | 2 | with a port from 0 to 65535
run --shard ١/٢ | 2 | part K of N
endpoint --listen tcp:127.0.0.1:0 --token D/none | 2 | is no file that can be read
endpoint --listen tcp:127.0.0.1:0 --token D | 2 | is no file that can be read
run --budget step-mb=١ | 2 | step-mb
run --report D/text.txt/r --select D.R1 | 2 | is no directory
run --dut tcp::4000 --select D.R1 | 2 | names no host
certify sign D/certified --sign D/key | 2 | its SHA256SUMS
judge D/run --force | 2 | --force: goes with --out
judge D/run --json --quiet | 2 | not allowed with argument --json
judge D/run D/run | 2 | unrecognized arguments
judge D/run/evidence | 2 | cannot read it
replay --offline D/good.pcapng --dut exec:/none | 2 | --dut: --offline asks no device
replay --offline D/good.pcapng --r-a-tov 5 | 2 | --r-a-tov: --offline asks no device
replay --offline D/good.pcapng | 2 | no recorded case
replay --keep D/new D/good.pcapng --strict | 2 | --strict: --keep asks no device
replay D/good.pcapng D/good.pcapng --keep D/new | 2 | go with one FILE
replay D/good.pcapng --edition 1999 | 2 | none of auto, 2007, rev1
replay D/good.pcapng --expect D/none.toml | 2 | cannot read it
pics new --rpc-timeout 3 | 2 | --rpc-timeout: goes with --dut
pics new --rpc-timeout -1 --dut ref | 2 | between 0 and 3600
pics new --book nothing | 2 | no such book
pics check D/empty.toml | 2 | declares nothing
pics check D/good.pcapng | 2 | not a TOML file
run --pics D/empty.toml | 2 | declares nothing
decode --link frame D/good.pcapng | 2 | --link: a capture says
decode --frames 9999 D/good.pcapng | 2 | none of them from 9999 on
decode --frames 0 D/good.pcapng | 2 | is no range
decode --fields fc.nope D/good.pcapng | 2 | no name that is known
decode --fields= D/good.pcapng | 2 | column 1
decode --family vitcp D/good.pcapng | 2 | no PDU of VI/TCP
decode --json --summary D/good.pcapng | 2 | not allowed with argument --json
decode --limits fish=3 D/good.pcapng | 2 | is no limit
decode --tcp-port 70000 D/good.pcapng | 2 | a port from 1 to 65535
decode --profile D/word.toml D/good.pcapng | 2 | D/word.toml
lint --link frame D/good.pcapng | 2 | goes with --from hex
lint --keep D/new,files=0 -i lo | 2 | files takes a whole number from 1
lint --keep D/new,fils=2 -i lo | 2 | is not files=N
lint --trust most D/good.pcapng | 2 | must be of all
lint --wire fc D/good.pcapng | 2 | none of tcp
lint -i lo --ring | 2 | -i goes without
lint --ring --jobs 2 - D/good.pcapng | 2 | stands alone
flows --link frame D/good.pcapng | 2 | goes with --from hex
flows --tcp-port 4000 D/good.pcapng | 2 | --tcp-port: goes with --wire tcp
flows --profile D/none.toml D/good.pcapng | 2 | --profile: goes with --wire tcp
flows --wire tcp --exporter 9999 D/good.pcapng | 2 | --exporter: goes without --wire tcp
flows --wire tcp --edition rev1 D/good.pcapng | 2 | --edition: goes without --wire tcp
flows --wire tcp --no-monitor D/good.pcapng | 2 | --no-monitor: goes without --wire tcp
flows --ladder 2 D/good.pcapng | 2 | goes with --html
flows --exporter x -i lo | 2 | is not [ADDRESS:]PORT
explain --link frame D/good.pcapng | 2 | goes with --from hex
explain --glossary --r-a-tov 5 | 2 | leave the rest out
explain --limits cpu=-1 D/good.pcapng | 2 | is no limit
fuzz --dut ref --restart-wait 5 | 2 | goes with --restart-cmd
fuzz --dut ref --repeat D/none --seed 3 | 2 | --seed: --repeat plays
fuzz --dut ref --force | 2 | --force: goes with --out
fuzz --dut api | 2 | nothing of what to attack
random --letters --dut exec:/none | 2 | --dut: --letters plays nothing
random --word x --steps 5 | 2 | --steps: --word is one word
random --against exec:/none/here | 3 | --against exec:/none/here: cannot start it
random --against ref --jobs 2 | 2 | --jobs: --against prints
random --force | 2 | --force: goes with --out
random --jobs 2 --dut tcp:127.0.0.1:1 | 2 | is one device
learn diff D/none D/none --dut ref | 2 | --dut: diff asks no device
learn --dut ref --most 3 | 2 | --most: goes with diff
learn --dut ref --letters nope | 2 | no letter that can be played
learn --dut ref --settings nope | 2 | no setting of this device
explore --list --losses 1 | 2 | --losses: --list explores nothing
explore reconect | 2 | did you mean reconnect?
explore vitcp-peer --losses 2 | 2 | none of these scenarios is of FC-VI
explore vitcp-peer --class 3 | 2 | none of these scenarios is of FC-VI
explore peer --fabric in-order --reorderings 2 | 2 | reorders nothing
run --watch --select D.R1 | 2 | no file that the run depends on
run --watch --resume D/run | 2 | leave one out
run --force --select D.R1 | 2 | --force: goes with --report
run --resume D/run --seed 4 | 2 | --seed: --resume goes on
run --resume D/run --formats json | 2 | needs the evidence
run --dut vitcp:127.0.0.1:1,off=x | 2 | is no option
run --dut fcoe:lo,role=enode,role=fabric | 2 | is given twice
certify --verify D/certified --dut exec:x | 2 | --dut: --verify runs nothing
certify --verify D/certified --quiet | 2 | --quiet: --verify runs nothing
certify sign D/certified --sign D/key --seed 3 | 2 | --seed: sign runs nothing
certify sign D/certified --verify D/certified | 2 | leave out sign
endpoint --on fcoe:lo --control unix:D/c --clock virtual | 2 | --clock: on a link time is real
endpoint --control unix:D/c | 2 | takes --control or --config
endpoint --on fcoe:lo --config D/list.json | 2 | not an object
dut check exec:true --timeout 0 | 2 | between 0 and 3600
new-case 5.3.2 --id ../x | 2 | letters, digits
show --diff 2007 2007 | 2 | no such pair
list --book fcvi --wire tcp | 2 | leave one out
""".strip().splitlines()]  # fmt: skip


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mistakes")
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def typed(*words: str) -> tuple[int, str, str]:
    """A command in this process: status, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(words, register_all)
    sys.stdout.flush()
    return status, out.getvalue(), err.getvalue()


def test_none_is_there_twice() -> None:
    assert len(MISTAKES) >= 320 and len({line for line, _, _ in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("line, status, word", MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_a_mistake_is_one_line_and_a_status(line: str, status: str, word: str, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    words = [part.replace("D", str(folder), 1) if part in ("D", "exec:D") or "D/" in part else part for part in line.split(" ")]
    got, out, err = typed(*words)
    assert got == int(status), err
    assert len(err.splitlines()) == 1 and err.startswith("fcvi") and "Traceback" not in err, err
    assert word.replace("D/", f"{folder}/") in err if word != "D" else str(folder) in err
    assert len(err) < 900 and out == ""
    for path, content in before.items():
        assert path.read_bytes() == content, f"{path} was changed"


@pytest.mark.parametrize("words, what", [((), "COMMAND"), (("report",), "matrix"), (("pics",), "check"), (("dut",), "check")])
def test_a_bare_command_shows_its_help(words: tuple[str, ...], what: str) -> None:
    status, out, err = typed(*words)
    assert status == 2 and out.startswith("usage: fcvi") and what in out
    assert err.startswith("fcvi") and len(err.splitlines()) == 1 and "name a" in err


def test_an_empty_name_is_no_name() -> None:
    for words in (("show", ""), ("show", "--map", "")):
        status, out, err = typed(*words)
        assert (status, out) == (2, "") and err.startswith("fcvi: show: the name is empty"), words


def test_a_report_is_replaced_with_force_and_what_is_signed_never(tmp_path: Path) -> None:
    place = tmp_path / "r"
    run = ("run", "--quiet", "--select", "D.R1", "--formats", "json", "--report", str(place))
    assert typed(*run)[0] == 0
    kept = (place / "report.json").read_bytes()
    assert typed(*run)[0] == 2 and (place / "report.json").read_bytes() == kept
    assert typed(*run, "--seed", "2", "--force")[0] == 0
    assert json.loads((place / "report.json").read_text())["seed"] == 2
    (place / "SHA256SUMS.sig").write_text("of a laboratory")
    assert typed(*run, "--force")[0] == 2 and (place / "SHA256SUMS.sig").read_text() == "of a laboratory"


def test_a_run_is_not_gone_on_with_as_a_certification(tmp_path: Path) -> None:
    """It would end with status 0 and no certificate."""
    place = str(tmp_path / "r")
    assert typed("run", "--quiet", "--select", "D.R1", "--report", place)[0] == 0
    status, out, err = typed("certify", "--resume", place)
    assert (status, out) == (2, "") and "was no certification; fcvi run --resume goes on with it" in err


def test_a_path_over_a_directory_that_is_not_there_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NEW/../OLD is OLD, which is kept, and no NEW is made."""
    monkeypatch.chdir(tmp_path)
    run = ("run", "--quiet", "--select", "D.R1", "--formats", "json", "--report")
    assert typed(*run, "old")[0] == 0
    kept = (tmp_path / "old/report.json").read_bytes()
    status, _, err = typed(*run, "new/../old", "--seed", "2")
    assert status == 2 and "old: holds" in err and (tmp_path / "old/report.json").read_bytes() == kept
    assert typed(*run, "new/../fresh")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "old"]


def test_a_matrix_of_two_books_compares_nothing_across_them(tmp_path: Path) -> None:
    for name, words in (("a", ("--select", "D.R1")), ("b", ("--book", "vitcp", "--select", "TCP.3.1.k"))):
        assert typed("run", "--quiet", "--formats", "json", "--report", str(tmp_path / name), *words)[0] == 0
    status, out, _ = typed("report", "matrix", "--out", str(tmp_path / "m"), str(tmp_path / "a"), str(tmp_path / "b"))
    assert status == 0 and "2 runs, 0 differences, 0 of them worse" in out
    assert "they are of 2 books (FCVI, VITCP), of which nothing is compared with another" in out


def test_what_is_selected_twice_is_both() -> None:
    _, out, _ = typed("list", "--select", "D.R1", "--select", "D.R2")
    assert {line.split()[0].split("/")[0] for line in out.splitlines() if line.startswith("D.")} == {"D.R1", "D.R2"}


def test_a_report_that_nothing_ran_is_of_no_value(tmp_path: Path) -> None:
    """Whoever mends the mistake types the same command again."""
    words = ("run", "--quiet", "--select", "D.R1", "--report", str(tmp_path / "r"))
    assert typed(*words, "--pics", str(tmp_path / "none.toml"))[0] == 2 and (tmp_path / "r/report.json").exists()
    assert typed(*words)[0] == 0


def test_a_mark_of_order_before_a_file_of_toml_is_no_word_of_it(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbf[pics]\nclient = true\n")
    assert typed("pics", "check", str(tmp_path / "p.toml"))[0] == 1  # FARP is mandatory, and not claimed
