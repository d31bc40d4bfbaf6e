"""Tell what a vendor's vipl.h lacks, or has otherwise than the VI Architecture Developer's Guide 1.0 (VI-DG 4) declares it.

The compiler is asked about one name at a time, so that one header error does not hide the others. With --out, the names that
are missing are written into a header by which the agent is built: a code that is missing gets the guide's number, and a
call that is missing becomes a method that the agent does not serve.

Exit status: 0 the header is the guide's, 1 it differs, 2 there is no vipl.h that can be compiled, 3 --out cannot be written.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

RETURNS = (
    "SUCCESS NOT_DONE INVALID_PARAMETER ERROR_RESOURCE TIMEOUT REJECT INVALID_RELIABILITY_LEVEL INVALID_MTU INVALID_QOS "
    "INVALID_PTAG INVALID_RDMAREAD DESCRIPTOR_ERROR INVALID_STATE ERROR_NAMESERVICE NO_MATCH NOT_REACHABLE"
).split()
ERRORS = (
    "POST_DESC CONN_LOST RECVQ_EMPTY VI_OVERRUN RDMAW_PROT RDMAW_DATA RDMAW_ABORT RDMAR_PROT COMP_PROT RDMA_TRANSPORT "
    "CATASTROPHIC"
).split()
#: Name to the guide's value. VIP_INFINITE is all ones, of whatever size VIP_ULONG has.
CONSTANTS: dict[str, str] = {
    **{f"VIP_{name}": str(number) for number, name in enumerate(RETURNS)},
    "VIP_TRUE": "1", "VIP_FALSE": "0", "VIP_INFINITE": "((VIP_ULONG)-1)", "VIP_DESCRIPTOR_ALIGNMENT": "64",
    "VIP_SMI_AUTODISCOVERY": "1", "VIP_CONTROL_OP_SENDRECV": "0", "VIP_CONTROL_OP_RDMAWRITE": "1", "VIP_CONTROL_OP_RDMAREAD": "2",
    "VIP_CONTROL_OP_RESERVED": "3", "VIP_CONTROL_OP_MASK": "3", "VIP_CONTROL_IMMEDIATE": "4", "VIP_CONTROL_QFENCE": "8",
    "VIP_CONTROL_RESERVED": "0xFFF0", "VIP_STATUS_DONE": "0x1", "VIP_STATUS_FORMAT_ERROR": "0x2",
    "VIP_STATUS_PROTECTION_ERROR": "0x4", "VIP_STATUS_LENGTH_ERROR": "0x8", "VIP_STATUS_PARTIAL_ERROR": "0x10",
    "VIP_STATUS_DESC_FLUSHED_ERROR": "0x20", "VIP_STATUS_TRANSPORT_ERROR": "0x40", "VIP_STATUS_RDMA_PROT_ERROR": "0x80",
    "VIP_STATUS_REMOTE_DESC_ERROR": "0x100", "VIP_STATUS_ERROR_MASK": "0x1FE", "VIP_STATUS_OP_SEND": "0",
    "VIP_STATUS_OP_RECEIVE": "0x10000", "VIP_STATUS_OP_RDMA_WRITE": "0x20000", "VIP_STATUS_OP_REMOTE_RDMA_WRITE": "0x30000",
    "VIP_STATUS_OP_RDMA_READ": "0x40000", "VIP_STATUS_OP_MASK": "0x70000", "VIP_STATUS_IMMEDIATE": "0x80000",
    "VIP_STATUS_RESERVED": "0xFFF0FE00", "VIP_SERVICE_UNRELIABLE": "1", "VIP_SERVICE_RELIABLE_DELIVERY": "2",
    "VIP_SERVICE_RELIABLE_RECEPTION": "4", "VIP_STATE_IDLE": "0", "VIP_STATE_CONNECTED": "1", "VIP_STATE_CONNECT_PENDING": "2",
    "VIP_STATE_ERROR": "3", "VIP_RESOURCE_NIC": "0", "VIP_RESOURCE_VI": "1", "VIP_RESOURCE_CQ": "2",
    "VIP_RESOURCE_DESCRIPTOR": "3",
    **{f"VIP_ERROR_{name}": str(number) for number, name in enumerate(ERRORS)},
}  # fmt: skip
MEMBERS = {
    "VIP_CONTROL_SEGMENT": "Next NextHandle SegCount Control Reserved ImmediateData Length Status",
    "VIP_ADDRESS_SEGMENT": "Data Handle Reserved",
    "VIP_DATA_SEGMENT": "Data Handle Length",
    "VIP_DESCRIPTOR": "CS DS",
    "VIP_ERROR_DESCRIPTOR": "NicHandle ViHandle CQHandle DescriptorPtr OpCode ResourceCode ErrorCode",
    "VIP_NIC_ATTRIBUTES": "Name HardwareVersion ProviderVersion NicAddressLen LocalNicAddress ThreadSafe MaxDiscriminatorLen "
                          "MaxRegisterBytes MaxRegisterRegions "
                          "MaxRegisterBlockBytes MaxVI MaxDescriptorsPerQueue MaxSegmentsPerDesc "
                          "MaxCQ MaxCQEntries MaxTransferSize NativeMTU MaxPtags ReliabilityLevelSupport RDMAReadSupport",
    "VIP_VI_ATTRIBUTES": "ReliabilityLevel MaxTransferSize QoS Ptag EnableRdmaWrite EnableRdmaRead",
    "VIP_MEM_ATTRIBUTES": "Ptag EnableRdmaWrite EnableRdmaRead",
    "VIP_NET_ADDRESS": "HostAddressLen DiscriminatorLen HostAddress",
    "VIP_AUTODISCOVERY_LIST": "NumberOfHops ADAddrArray NumAdAddrs",
}  # fmt: skip
#: Bytes of what the provider and the program share (VI-DG 4.3, 5).
SIZES = {"VIP_CONTROL_SEGMENT": 32, "VIP_ADDRESS_SEGMENT": 16, "VIP_DATA_SEGMENT": 16, "VIP_DESCRIPTOR": 64, "VIP_UINT8": 1,
         "VIP_UINT16": 2, "VIP_UINT32": 4, "VIP_UINT64": 8, "VIP_MEM_HANDLE": 4}  # fmt: skip
#: Each call with an argument of the right kind for every parameter.
_NIC, _VI, _CQ, _CONN = "(VIP_NIC_HANDLE)0", "(VIP_VI_HANDLE)0", "(VIP_CQ_HANDLE)0", "(VIP_CONN_HANDLE)0"
_PTAG, _NET, _ATT = "(VIP_PROTECTION_HANDLE)0", "(VIP_NET_ADDRESS *)0", "(VIP_VI_ATTRIBUTES *)0"
_MEM = "(VIP_MEM_ATTRIBUTES *)0"
_D, _DD = "(VIP_DESCRIPTOR *)0", "(VIP_DESCRIPTOR **)0"
CALLS: dict[str, tuple[str, ...]] = {
    "VipOpenNic": ('(VIP_CHAR *)0', "(VIP_NIC_HANDLE *)0"), "VipCloseNic": (_NIC,),
    "VipCreateVi": (_NIC, _ATT, _CQ, _CQ, "(VIP_VI_HANDLE *)0"), "VipDestroyVi": (_VI,),
    "VipConnectWait": (_NIC, _NET, "(VIP_ULONG)0", _NET, _ATT, "(VIP_CONN_HANDLE *)0"), "VipConnectAccept": (_CONN, _VI),
    "VipConnectReject": (_CONN,), "VipConnectRequest": (_VI, _NET, _NET, "(VIP_ULONG)0", _ATT), "VipDisconnect": (_VI,),
    "VipConnectPeerRequest": (_VI, _NET, _NET, "(VIP_ULONG)0"), "VipConnectPeerDone": (_VI, _ATT),
    "VipConnectPeerWait": (_VI, _ATT),
    "VipCreatePtag": (_NIC, "(VIP_PROTECTION_HANDLE *)0"), "VipDestroyPtag": (_NIC, _PTAG),
    "VipRegisterMem": (_NIC, "(VIP_PVOID)0", "(VIP_ULONG)0", _MEM, "(VIP_MEM_HANDLE *)0"),
    "VipDeregisterMem": (_NIC, "(VIP_PVOID)0", "(VIP_MEM_HANDLE)0"),
    "VipPostSend": (_VI, _D, "(VIP_MEM_HANDLE)0"), "VipSendDone": (_VI, _DD), "VipSendWait": (_VI, "(VIP_ULONG)0", _DD),
    "VipPostRecv": (_VI, _D, "(VIP_MEM_HANDLE)0"), "VipRecvDone": (_VI, _DD), "VipRecvWait": (_VI, "(VIP_ULONG)0", _DD),
    "VipCQDone": (_CQ, "(VIP_VI_HANDLE *)0", "(VIP_BOOLEAN *)0"),
    "VipCQWait": (_CQ, "(VIP_ULONG)0", "(VIP_VI_HANDLE *)0", "(VIP_BOOLEAN *)0"),
    "VipSendNotify": (_VI, "(VIP_PVOID)0", "on_descriptor"), "VipRecvNotify": (_VI, "(VIP_PVOID)0", "on_descriptor"),
    "VipCQNotify": (_CQ, "(VIP_PVOID)0", "on_entry"), "VipCreateCQ": (_NIC, "(VIP_ULONG)0", "(VIP_CQ_HANDLE *)0"),
    "VipDestroyCQ": (_CQ,), "VipResizeCQ": (_CQ, "(VIP_ULONG)0"), "VipQueryNic": (_NIC, "(VIP_NIC_ATTRIBUTES *)0"),
    "VipSetViAttributes": (_VI, _ATT), "VipQueryVi": (_VI, "(VIP_VI_STATE *)0", _ATT, "(VIP_BOOLEAN *)0", "(VIP_BOOLEAN *)0"),
    "VipSetMemAttributes": (_NIC, "(VIP_PVOID)0", "(VIP_MEM_HANDLE)0", _MEM),
    "VipQueryMem": (_NIC, "(VIP_PVOID)0", "(VIP_MEM_HANDLE)0", _MEM),
    "VipQuerySystemManagementInfo": (_NIC, "(VIP_ULONG)0", "(VIP_PVOID)0"), "VipErrorCallback": (_NIC, "(VIP_PVOID)0", "on_error"),
    "VipNSInit": (_NIC, "(VIP_PVOID)0"), "VipNSGetHostByName": (_NIC, "(VIP_CHAR *)0", _NET, "(VIP_ULONG)0"),
    "VipNSGetHostByAddr": (_NIC, _NET, "(VIP_CHAR *)0", "(VIP_ULONG *)0"), "VipNSShutdown": (_NIC,),
}  # fmt: skip
#: Which names the agent tells of, in the order of vipl_has.h.
TOLD = [f"VIP_{name}" for name in RETURNS] + [name for name in CONSTANTS if name[4:] not in RETURNS]
_HEAD = "#include <stddef.h>\n#include <vipl.h>\n"
_HANDLERS = (
    "static void on_descriptor(VIP_PVOID c, VIP_NIC_HANDLE n, VIP_VI_HANDLE v, VIP_DESCRIPTOR *d)"
    "{(void)c, (void)n, (void)v, (void)d;}\n"
    "static void on_entry(VIP_PVOID c, VIP_NIC_HANDLE n, VIP_VI_HANDLE v, VIP_BOOLEAN r) {(void)c, (void)n, (void)v, (void)r;}\n"
    "static void on_error(VIP_PVOID c, VIP_ERROR_DESCRIPTOR *e) {(void)c, (void)e;}\n"
)


class Compiler:
    """The compiler that the agent is to be built with, and the vendor's header."""

    def __init__(self, command: list[str], include: str) -> None:
        self._command = [*command, "-std=gnu11", "-x", "c", "-w", "-Werror=implicit-function-declaration",
                         "-Werror=incompatible-pointer-types", "-Werror=int-conversion", f"-I{include}"]  # fmt: skip

    def errors(self, lines: list[str], head: str = _HEAD) -> tuple[set[int], str]:
        """Which of the lines cannot be compiled, and the first message about the header itself."""
        with tempfile.TemporaryDirectory(prefix="fcvi-vipl-") as folder:
            source = Path(folder, "probe.c")
            source.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
            ran = subprocess.run([*self._command, "-fsyntax-only", str(source)], capture_output=True, text=True, check=False)
            first = head.count("\n") + 1
            bad: set[int] = set()
            other = ""
            for line in ran.stderr.splitlines():
                where = re.match(re.escape(str(source)) + r":(\d+):(?:\d+:)? (?:fatal )?error: (.*)", line)
                if where and int(where[1]) >= first:
                    bad.add(int(where[1]) - first)
                elif " error: " in line and not other:
                    other = line.replace(folder + "/", "")
            if ran.returncode != 0 and not bad and not other:
                other = ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit status {ran.returncode}"
            return bad, other

    def values(self, names: list[str]) -> dict[str, int]:
        """What the names are, where a program of this compiler can be run."""
        body = "".join(f'printf("{name} %lld\\n", (long long)({name}));\n' for name in names)
        with tempfile.TemporaryDirectory(prefix="fcvi-vipl-") as folder:
            source, program = Path(folder, "values.c"), Path(folder, "values")
            source.write_text(f"#include <stdio.h>\n{_HEAD}int main(void) {{\n{body}return 0;\n}}\n", encoding="utf-8")
            built = subprocess.run([*self._command, str(source), "-o", str(program)], capture_output=True, text=True, check=False)
            if built.returncode != 0:
                return {}
            try:
                said = subprocess.run([str(program)], capture_output=True, text=True, timeout=10, check=False).stdout
            except OSError:
                return {}
        return {name: int(value) for name, value in (line.split() for line in said.splitlines())}


class Findings:
    """What a header lacks and what it has otherwise, in words."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.calls: list[str] = []
        self.lines: list[str] = []

    def add(self, words: str) -> None:
        """One more."""
        self.lines.append(words)


def examine(compiler: Compiler) -> Findings:
    """Ask about every name. Raises ValueError when the header itself does not compile."""
    _, other = compiler.errors([])
    if other:
        raise ValueError(other)
    found = Findings()
    _constants(compiler, found)
    _types(compiler, found)
    _calls(compiler, found)
    return found


def _constants(compiler: Compiler, found: Findings) -> None:
    names = list(CONSTANTS)
    bad, _ = compiler.errors([f"long long p{i}(void) {{ return (long long)({name}); }}" for i, name in enumerate(names)])
    found.constants = [names[i] for i in sorted(bad)]
    there = [name for name in names if name not in found.constants]
    wrong, _ = compiler.errors(
        [f'_Static_assert((unsigned long long)({name}) == (unsigned long long)({CONSTANTS[name]}), "");' for name in there]
    )
    values = compiler.values([there[i] for i in sorted(wrong)]) if wrong else {}
    for name in found.constants:
        found.add(f"lacks {name} (the guide: {CONSTANTS[name]})")
    for i in sorted(wrong):
        found.add(f"numbers {there[i]} {values.get(there[i], 'otherwise')} (the guide: {CONSTANTS[there[i]]})")


def _types(compiler: Compiler, found: Findings) -> None:
    wanted = [(kind, name) for kind, names in MEMBERS.items() for name in names.split()]
    bad, _ = compiler.errors([f"size_t p{i} = offsetof({kind}, {name});" for i, (kind, name) in enumerate(wanted)])
    for i in sorted(bad):
        found.add(f"lacks the member {wanted[i][1]} of {wanted[i][0]}: the agent cannot be built without it")
    sizes = list(SIZES)
    bad, _ = compiler.errors([f'_Static_assert(sizeof({name}) == {SIZES[name]}, "");' for name in sizes])
    for i in sorted(bad):
        found.add(f"has not {SIZES[sizes[i]]} bytes for {sizes[i]}")


def _calls(compiler: Compiler, found: Findings) -> None:
    names = list(CALLS)
    there = [f"void *p{i} = (void *){name};" for i, name in enumerate(names)]
    missing, _ = compiler.errors(there)
    found.calls = [names[i] for i in sorted(missing)]
    rest = [name for name in names if name not in found.calls]
    bad, _ = compiler.errors(
        [f"void q{i}(void) {{ VIP_RETURN r = {name}({', '.join(CALLS[name])}); (void)r; }}" for i, name in enumerate(rest)],
        _HEAD + _HANDLERS,
    )
    for name in found.calls:
        found.add(f"lacks {name}: the agent does not serve it")
    for i in sorted(bad):
        found.add(f"declares {rest[i]} with other parameters than the guide's {len(CALLS[rest[i]])}")


def lists(found: Findings) -> str:
    """The header by which the agent is built."""
    def many(macro: str, names: list[str]) -> str:
        told = " \\\n".join(f"    {'LACKS' if name in found.constants else 'NAME'}({name})" for name in names)
        return f"#define {macro} \\\n{told}\n"

    text = ["/* Made by vipl_header.py: what the vendor's vipl.h has. */\n#include <vipl.h>\n"]
    text += [f"#define {name} {CONSTANTS[name]} /* as the guide has it */\n" for name in found.constants]
    text.append(many("VIPL_RETURNS", TOLD[: len(RETURNS)]) + many("VIPL_CONSTANTS", TOLD))
    if found.calls:
        text.append("static inline VIP_RETURN vipl_is_missing(int first, ...)\n"
                    "{\n    (void)first;\n    return VIP_ERROR_RESOURCE;\n}\n")  # fmt: skip
        text += [f"#define {name}(...) vipl_is_missing(0, __VA_ARGS__)\n" for name in found.calls]
        text.append('#define VIPL_MISSING_CALLS "' + "".join(f"{name} " for name in found.calls) + '"\n')
    return "".join(text)


def main(arguments: Optional[list[str]] = None) -> int:
    """Examine a header, say what was found, and give the exit status."""
    p = argparse.ArgumentParser(prog="vipl_header.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("include", metavar="DIR", help="The vendor's vipl.h is in this folder.")
    p.add_argument("--cc", default=os.environ.get("CC", "cc"), metavar="COMMAND", help="Compile with this (default: $CC, or cc).")
    p.add_argument("--out", type=Path, metavar="FILE", help="Write the lists for the agent into this file.")
    args = p.parse_args(arguments)
    if not Path(args.include, "vipl.h").is_file():
        print(f"vipl_header.py: {args.include}: there is no vipl.h in it", file=sys.stderr)
        return 2
    try:
        found = examine(Compiler(shlex.split(args.cc), args.include))
    except (ValueError, OSError) as error:
        print(f"vipl_header.py: {args.include}/vipl.h cannot be compiled: {error}", file=sys.stderr)
        return 2
    for line in found.lines:
        print(f"{args.include}/vipl.h {line}")
    kinds = f"{len(CONSTANTS)} constants, {sum(len(m.split()) for m in MEMBERS.values())} members, {len(CALLS)} calls"
    print(f"{args.include}/vipl.h: {kinds}; {len(found.lines)} differ from the guide" if found.lines else
          f"{args.include}/vipl.h: {kinds}; all are the guide's")  # fmt: skip
    try:
        if args.out is not None:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(lists(found), encoding="utf-8")
    except OSError as error:
        print(f"vipl_header.py: --out {args.out}: cannot write there: {error.strerror}", file=sys.stderr)
        return 3
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
