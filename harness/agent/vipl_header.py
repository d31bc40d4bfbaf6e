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
#: What the guide does not give a value, or the copies of it print in two ways (A77): that there is one is enough.
UNSAID = {"VIP_INFINITE", "VIP_SMI_AUTODISCOVERY", "VIP_CONTROL_RESERVED", "VIP_STATUS_RESERVED"}
#: The structures as the guide declares them.
MEMBERS = {
    "VIP_PVOID64": "VIP_UINT64 AddressBits; VIP_PVOID Address",
    "VIP_CONTROL_SEGMENT": "VIP_PVOID64 Next; VIP_MEM_HANDLE NextHandle; VIP_UINT16 SegCount; VIP_UINT16 Control; "
                           "VIP_UINT32 Reserved; VIP_UINT32 ImmediateData; VIP_UINT32 Length; VIP_UINT32 Status",
    "VIP_ADDRESS_SEGMENT": "VIP_PVOID64 Data; VIP_MEM_HANDLE Handle; VIP_UINT32 Reserved",
    "VIP_DATA_SEGMENT": "VIP_PVOID64 Data; VIP_MEM_HANDLE Handle; VIP_UINT32 Length",
    "VIP_DESCRIPTOR": "VIP_CONTROL_SEGMENT CS; VIP_DESCRIPTOR_SEGMENT DS[2]",
    "VIP_ERROR_DESCRIPTOR": "VIP_NIC_HANDLE NicHandle; VIP_VI_HANDLE ViHandle; VIP_CQ_HANDLE CQHandle; "
                            "VIP_DESCRIPTOR *DescriptorPtr; VIP_ULONG OpCode; VIP_RESOURCE_CODE ResourceCode; "
                            "VIP_ERROR_CODE ErrorCode",
    "VIP_NIC_ATTRIBUTES": "VIP_CHAR Name[64]; VIP_ULONG HardwareVersion; VIP_ULONG ProviderVersion; VIP_UINT16 NicAddressLen; "
                          "const VIP_UINT8 *LocalNicAddress; VIP_BOOLEAN ThreadSafe; VIP_UINT16 MaxDiscriminatorLen; "
                          "VIP_ULONG MaxRegisterBytes; VIP_ULONG MaxRegisterRegions; VIP_ULONG MaxRegisterBlockBytes; "
                          "VIP_ULONG MaxVI; VIP_ULONG MaxDescriptorsPerQueue; VIP_ULONG MaxSegmentsPerDesc; VIP_ULONG MaxCQ; "
                          "VIP_ULONG MaxCQEntries; VIP_ULONG MaxTransferSize; VIP_ULONG NativeMTU; VIP_ULONG MaxPtags; "
                          "VIP_RELIABILITY_LEVEL ReliabilityLevelSupport; VIP_RELIABILITY_LEVEL RDMAReadSupport",
    "VIP_VI_ATTRIBUTES": "VIP_RELIABILITY_LEVEL ReliabilityLevel; VIP_ULONG MaxTransferSize; VIP_QOS QoS; "
                         "VIP_PROTECTION_HANDLE Ptag; VIP_BOOLEAN EnableRdmaWrite; VIP_BOOLEAN EnableRdmaRead",
    "VIP_MEM_ATTRIBUTES": "VIP_PROTECTION_HANDLE Ptag; VIP_BOOLEAN EnableRdmaWrite; VIP_BOOLEAN EnableRdmaRead",
    "VIP_NET_ADDRESS": "VIP_UINT16 HostAddressLen; VIP_UINT16 DiscriminatorLen; VIP_UINT8 HostAddress[1]",
    "VIP_AUTODISCOVERY_LIST": "VIP_ULONG NumberOfHops; VIP_NET_ADDRESS **ADAddrArray; VIP_ULONG NumAdAddrs",
}  # fmt: skip
#: What other headers of the time call a member.
ALSO = {"CS": "Control", "DS": "Data"}
#: Types whose own declaration the guide gives (VI-DG 4.1, 4.6); VIP_ULONG has 32 or 64 bits (A76).
TYPES = {"VIP_PVOID": "void *", "VIP_BOOLEAN": "int", "VIP_CHAR": "char", "VIP_UCHAR": "unsigned char",
         "VIP_USHORT": "unsigned short", "VIP_RELIABILITY_LEVEL": "VIP_USHORT", "VIP_QOS": "VIP_PVOID"}  # fmt: skip
HANDLES = [f"VIP_{kind}_HANDLE" for kind in ("NIC", "VI", "CQ", "CONN", "PROTECTION")]
#: Bytes of what the provider and the program share (VI-DG 4.3, 5).
SIZES = {"VIP_CONTROL_SEGMENT": 32, "VIP_ADDRESS_SEGMENT": 16, "VIP_DATA_SEGMENT": 16, "VIP_DESCRIPTOR": 64, "VIP_UINT8": 1,
         "VIP_UINT16": 2, "VIP_UINT32": 4, "VIP_UINT64": 8, "VIP_MEM_HANDLE": 4}  # fmt: skip
_FLAT = "VipQuerySystemManagementInfo"
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
                # of a name that is a macro gcc blames the header, and notes where it was used
                place = re.escape(str(source)) + r":(\d+):(?:\d+:)? "
                where = re.match(place + r"(?:(?:fatal )?error|note: in expansion of macro)", line)
                if where and int(where[1]) >= first:
                    bad.add(int(where[1]) - first)
                elif " error: " in line and not other:
                    other = line.replace(folder + "/", "")
            if ran.returncode != 0 and not bad and not other:
                other = ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit status {ran.returncode}"
            return bad, other

    def macros(self) -> set[str]:
        """What the header defines as a macro."""
        command = [*self._command, "-E", "-dM", "-"]
        said = subprocess.run(command, input=_HEAD, capture_output=True, text=True, check=False).stdout
        return set(re.findall(r"^#define (\w+)", said, re.MULTILINE))

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
        #: Lines of the header by which the agent is built.
        self.told: list[str] = []

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
    there = [name for name in names if name not in found.constants and name not in UNSAID]
    wrong, _ = compiler.errors(
        [f'_Static_assert((unsigned long long)({name}) == (unsigned long long)({CONSTANTS[name]}), "");' for name in there]
    )
    values = compiler.values([there[i] for i in sorted(wrong)]) if wrong else {}
    for name in found.constants:
        found.add(f"lacks {name} (the guide: {CONSTANTS[name]})")
    for i in sorted(wrong):
        found.add(f"numbers {there[i]} {values.get(there[i], 'otherwise')} (the guide: {CONSTANTS[there[i]]})")


def _name(declared: str) -> str:
    """The name of a member that is declared so."""
    return re.split(r"\W+", declared.partition("[")[0].strip())[-1]


def _types(compiler: Compiler, found: Findings) -> None:
    wanted = [(kind, member.strip()) for kind, members in MEMBERS.items() for member in members.split(";")]
    names = [(kind, _name(member)) for kind, member in wanted]
    bad, _ = compiler.errors([f"size_t p{i} = offsetof({kind}, {name});" for i, (kind, name) in enumerate(names)])
    other = {names[i][1]: ALSO[names[i][1]] for i in bad if names[i][1] in ALSO}
    lines = [f"size_t p{i} = offsetof(VIP_DESCRIPTOR, {name});" for i, name in enumerate(other.values())]
    gone = {list(other)[i] for i in compiler.errors(lines)[0]}
    for i in sorted(bad):
        kind, name = names[i]
        if name in other and name not in gone:
            found.add(f"calls the member {name} of {kind} {other[name]}")
            found.told.append(f"#define VIPL_{name} {other[name]}\n")
        else:
            found.add(f"lacks the member {name} of {kind}: the agent cannot be built without it")
    _declared(compiler, found, [(*names[i], member) for i, (_, member) in enumerate(wanted) if i not in bad])
    types = list(TYPES)
    bad, _ = compiler.errors([f'_Static_assert(__builtin_types_compatible_p({name}, {TYPES[name]}), "");' for name in types])
    for i in sorted(bad):
        found.add(f"declares {types[i]} otherwise than `{TYPES[types[i]]}`")
    sizes = list(SIZES)
    bad, _ = compiler.errors([f'_Static_assert(sizeof({name}) == {SIZES[name]}, "");' for name in sizes])
    for i in sorted(bad):
        found.add(f"has not {SIZES[sizes[i]]} bytes for {sizes[i]}")
    bad, _ = compiler.errors([f'_Static_assert(sizeof({name}) == sizeof(void *), "");' for name in HANDLES])
    for i in sorted(bad):
        found.add(f"has not the bytes of a pointer for {HANDLES[i]}: the agent cannot be built with it")
        found.told.append(f'#error "{HANDLES[i]} is not as large as a pointer"\n')


def _declared(compiler: Compiler, found: Findings, there: list[tuple[str, str, str]]) -> None:
    """The types of the members that are there, and their order."""
    own = "".join(f"struct fcvi_{i} {{ {member}; }};\n" for i, (_, _, member) in enumerate(there))
    same = "__builtin_types_compatible_p(__typeof__((({kind} *)0)->{name}), __typeof__(((struct fcvi_{i} *)0)->{name}))"
    bad, _ = compiler.errors(
        [f'_Static_assert({same.format(kind=kind, name=name, i=i)}, "");' for i, (kind, name, _) in enumerate(there)], _HEAD + own
    )
    for i in sorted(bad):
        kind, name, member = there[i]
        found.add(f"declares the member {name} of {kind} otherwise than `{member}`")
        if name == "ADAddrArray":
            found.calls.append(_FLAT)
    pairs = [(one, two) for one, two in zip(there, there[1:]) if one[0] == two[0] != "VIP_PVOID64"]
    bad, _ = compiler.errors(
        [f'_Static_assert(offsetof({kind}, {one}) < offsetof({kind}, {two}), "");' for (kind, one, _), (_, two, _) in pairs]
    )
    for i in sorted(bad):
        found.add(f"has {pairs[i][1][1]} of {pairs[i][0][0]} not behind {pairs[i][0][1]}")


def _calls(compiler: Compiler, found: Findings) -> None:
    names = list(CALLS)
    head = _HEAD + _HANDLERS
    there, _ = compiler.errors([f"void *p{i} = (void *){name};" for i, name in enumerate(names)])
    bad, _ = compiler.errors(
        [f"void q{i}(void) {{ VIP_RETURN r = {name}({', '.join(CALLS[name])}); (void)r; }}" for i, name in enumerate(names)], head
    )
    macros = compiler.macros()
    missing = [names[i] for i in sorted(there) if names[i] not in macros]
    short = CALLS["VipQueryVi"][:3]
    three = not compiler.errors([f"VIP_RETURN q(void) {{ return VipQueryVi({', '.join(short)}); }}"], head)[0]
    for name in missing:
        found.add(f"lacks {name}: the agent does not serve it")
    for i in sorted(i for i in bad if names[i] not in missing):
        found.add(f"declares {names[i]} with other parameters than the guide's {len(CALLS[names[i]])}")
    if three and "VipQueryVi" not in missing:  # as the Architecture has it (A06)
        found.told.append("#define VIPL_QUERY_VI_OF_THREE 1\n"
                          "#define VipQueryVi(vi, state, attribs, send, recv) "
                          "((void)(send), (void)(recv), VipQueryVi(vi, state, attribs))\n")  # fmt: skip
    found.calls += missing


def lists(found: Findings) -> str:
    """The header by which the agent is built."""
    def many(macro: str, names: list[str]) -> str:
        told = " \\\n".join(f"    {'LACKS' if name in found.constants else 'NAME'}({name})" for name in names)
        return f"#define {macro} \\\n{told}\n"

    text = ["/* Made by vipl_header.py: what the vendor's vipl.h has. */\n#include <vipl.h>\n"]
    text += [f"#define {name} {CONSTANTS[name]} /* as the guide has it */\n" for name in found.constants] + found.told
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
        if "VIPL095" not in args.cc and isinstance(error, ValueError):
            if not Compiler([*shlex.split(args.cc), "-DVIPL095"], args.include).errors([])[1]:
                print("It can with CFLAGS=-DVIPL095.", file=sys.stderr)
        return 2
    for line in found.lines:
        print(f"{args.include}/vipl.h {line}")
    members = sum(kind.count(";") + 1 for kind in MEMBERS.values())
    kinds = f"{len(CONSTANTS)} constants, {members} members, {len(CALLS)} calls"
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
