"""Builds the extension module ``_fcvi`` (cffi, API mode) over the codec, the reference port and the captures.

The declarations come from the C headers themselves by way of the preprocessor, so that no layout is written twice.
Usage: build.py --build BUILD_DIR --out OUT_DIR [--shared DIR]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parents[2]
INCLUDES = [
    ROOT / "codec/include",
    ROOT / "refimpl/include",
    ROOT / "refimpl/vipl/include",
    ROOT / "conformance/monitor/include",
    ROOT / "harness/capture",
    ROOT / "harness/judge",
    ROOT / "harness/mutator",
    ROOT / "harness/sandbox",
    ROOT / "harness/ffi",
    ROOT / "harness/lines",
]
HEADERS = [
    "fcvi/codes.h", "fcvi/codec.h", "fcvi/assembly.h", "fcvi/table.h", "fcvi/pdu.h", "fcvi/vip_codes.h", "fcvi/port.h",
    "fcvi/vitcp.h", "fcvi/fabric.h", "fcvi/monitor.h", "fcvi/vitcp_monitor.h", "capture.h", "editions.h", "tcp.h",
    "cut.h", "connects.h", "samples.h", "flows.h", "judge.h", "live.h", "tap.h",
    "sandbox.h", "fcvi_mutator.h", "calls.h", "door.h",
]  # fmt: skip
DEFINES = ["-DFCVI_MUTATOR_WITHOUT_TARGET"]
SOURCES = ["calls.c", "first.c", "owner.c", "door.c"]  # of this room, and the door of the agents, which the endpoint has as well
_SYSTEM = ["stdint.h", "stddef.h", "stdbool.h"]


def declarations() -> str:
    """What the headers declare, without inline functions and with the system's own types left to cffi."""
    with tempfile.TemporaryDirectory() as fake:
        for name in _SYSTEM:
            Path(fake, name).write_text("", encoding="ascii")
        command = ["gcc", "-E", "-P", "-nostdinc", *DEFINES, f"-I{fake}", *(f"-I{path}" for path in INCLUDES), "-"]
        source = "".join(f"#include <{name}>\n" for name in HEADERS)
        text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"static inline [^{]*\{[^}]*\}", "", text)
    return re.sub(r"enum \{[^}]*_(BYTE|SIZE|LENGTH) = [^}]*\};", "", text)


def main() -> int:
    """Build the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--flags", default="", help="more for the compiler and the linker")
    parser.add_argument("--lto", action="store_true", help="optimise what judges frames as a whole")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shared", type=Path, help="where a libfcvi.so is, to link instead of libfcvi.a")
    args = parser.parse_args()
    static = ["libfcvi-mutator.a", "libfcvi-capture.a", "libfcvi-sandbox.a", *([] if args.shared else ["libfcvi.a"])]
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(
        "_fcvi",
        "".join(f"#include <{name}>\n" for name in [*HEADERS, *SOURCES]),
        include_dirs=[str(path) for path in INCLUDES],
        extra_objects=[str((args.build / name).resolve()) for name in static],
        libraries=[*(["fcvi"] if args.shared else []), "isal", "pcap", "jansson"],
        library_dirs=[str(args.shared.resolve())] if args.shared else [],
        extra_compile_args=["-std=c11", "-O2", *DEFINES, *(word for word in args.flags.split() if not word.startswith("-Wl"))],
        extra_link_args=["-O2", *args.flags.split(), *(["-flto=auto"] if args.lto else [])],
    )
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(ffi.compile(tmpdir=scratch))
        made = args.out / f"{built.name}.new"
        made.write_bytes(built.read_bytes())
        made.replace(args.out / built.name)  # a process that runs has the old one in its memory, and keeps it whole
    return 0


if __name__ == "__main__":
    sys.exit(main())
