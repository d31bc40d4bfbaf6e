"""Holds what follows the options in the help of a command: examples, and what cannot be said in one line of an option."""

from __future__ import annotations

_SELECT = """an expression of --select:
  Terms are joined by commas. A term is the id of a case or of a variant, a
  glob of ids, or tag:NAME. "not" before a term takes away what it matches.
  An expression of "not" terms alone starts from every case. A term that
  matches nothing is wrong usage (status 2).

"""

_TAGS = """tags:
  address      network addresses and their sizes
  arbitration  which of two concurrent Peers wins (Table 2)
  class2       service with acknowledgements (class 2)
  disconnect   the end of a Connection (Annex D)
  error        error handling of a link or of an Exchange
  fabric       what a Fabric does to frames
  far-side     a second port stands in the tester's place (--against)
  farp         address resolution by FARP
  fields       values of single header fields
  handles      FCVI_HANDLE values
  link         link events, such as loss of signal
  load         many Connections at once
  login        FLOGI, PLOGI, LOGO and their kin
  loop         an arbitrated loop
  loopback     a Connection of a port to itself
  loss         a frame is lost on purpose
  matching     how a request finds its Connectionpoint
  message      Send, RDMA Write and RDMA Read
  name-server  address resolution by the Name Server
  order        frames arrive out of order
  peer         peer-to-peer setup
  rdma         RDMA Write and RDMA Read
  refusal      a Connection is refused
  retry        a setup is tried again (Annex C)
  setup        Connection Setup
  streaming    several Messages are under way at once (Annex E)
  timing       the case waits for a timer

"""

_REPORT = """files that --report writes:
  report.html    the report for people; one file without network access
  report.json    the report for machines; the other files are made from it
  junit.xml      the results for a CI server
  report.sarif   the findings for a code host
  report.tap     the results in the Test Anything Protocol
  *.pcapng       the frames of one case each, with findings as comments
  evidence/      what the verdicts follow from; fcvi judge reads it
  dut.log        what the device wrote to its standard error

"""

#: What each command (as argparse names it) prints after its options.
EXAMPLES = {
    "fcvi run": _SELECT + _REPORT + """examples:
  fcvi run --dut ref --report report
  fcvi run --dut 'exec:./my-device --flags' --select 'C.5.*,not tag:timing'
  fcvi run --dut exec:./my-device --against exec:./their-device --report pair
  fcvi run --dut tcp:192.0.2.7:4000 --pics my.toml --report report""",
    "fcvi certify": _REPORT + """certify also writes certificate.html and certificate.json.

examples:
  fcvi certify --dut tcp:192.0.2.7:4000 --pics my.toml --report report
  fcvi certify sign report --sign lab_key
  fcvi certify --verify report --key lab_key.pub""",
    "fcvi judge": """DIR is a directory that fcvi run or fcvi certify wrote with --report.

examples:
  fcvi judge report
  fcvi judge --out again report""",
    "fcvi replay": """FILE is the capture of one case in a report directory, or any capture.

examples:
  fcvi replay report/5.3.2__dut-server.pcapng --dut tcp:192.0.2.7:4000
  fcvi replay field.pcap --side 010100 --dut exec:./my-device --out now.pcapng""",
    "fcvi report diff": """example:
  fcvi report diff before after""",
    "fcvi list": _SELECT + _TAGS + """examples:
  fcvi list --select 'tag:setup,not tag:timing'
  fcvi list --json""",
    "fcvi show": """examples:
  fcvi show C.5.9.1
  fcvi show 5.3.4.c/class2
  fcvi show FCVI-8.5.3-a3
  fcvi show E03""",
    "fcvi decode": """FILE is a pcap or pcapng file, compressed or not; - is standard input.

examples:
  fcvi decode --frames 3-7 capture.pcapng
  fcvi decode --json capture.pcapng
  fcvi decode --filter 'iu == CONNECT_RESP1 and Reason_Code == 20h' capture.pcapng
  fcvi decode --fields frame,iu,S_ID,D_ID,FCVI_MSG_ID capture.pcapng""",
    "fcvi lint": """FILE is a pcap or pcapng file, compressed or not; - is standard input.

examples:
  fcvi lint capture.pcap
  fcvi lint --trust whole --json capture.pcap
  fcvi lint --filter 'class == violation and S_ID == 010200' capture.pcap
  tcpdump -i eth1 -w - | fcvi lint -""",
    "fcvi new-case": """examples:
  fcvi new-case FCVI-8.5.3-a3 --out cases
  fcvi show own.8.5.3 --cases cases
  fcvi run --cases cases --select 'own.*' --watch
  fcvi run --cases cases --select own.8.5.3 --step""",
    "fcvi fuzz": """files that --out writes for each finding:
  a capture with its calls, which fcvi replay plays,
  and a file of the steps, which --repeat plays.

examples:
  fcvi fuzz --dut exec:./my-device --out found
  fcvi fuzz --dut tcp:192.0.2.7:4000 --state idle --seconds 600""",
    "fcvi random": """examples:
  fcvi random --dut exec:./my-device --steps 2000 --out found
  fcvi random --dut exec:./my-device --against ref --seconds 60""",
    "fcvi learn": """examples:
  fcvi learn --dut exec:./my-device --role server --out machine
  fcvi learn diff machine/machine.json other/machine.json""",
    "fcvi explore": """examples:
  fcvi explore --list
  fcvi explore --losses 1 --reorderings 0 retry""",
    "fcvi endpoint": """examples:
  fcvi endpoint --listen tcp:127.0.0.1:4000
  fcvi run --dut 'exec:fcvi endpoint'""",
    "fcvi dut check": """examples:
  fcvi dut check exec:./my-device
  fcvi dut check --json tcp:192.0.2.7:4000""",
}
