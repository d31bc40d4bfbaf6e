#!/usr/bin/python3
"""Write the C of a library that stands before a libvipl (LD_PRELOAD) and changes what its calls return.

make_shim.py VIPL_H > wrappers.c: one wrapper for each call that the header declares, so that no call can be forgotten.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_HEAD = """/* Written by make_shim.py. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stddef.h>
#include <vipl.h>

#include "shim.h"
"""
_CALL = re.compile(r"^VIP_RETURN (Vip\w+)\(([^;]*)\);", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(\w+)$")
_HANDLER = re.compile(r"\(\*(\w+)\)\s*\(")


def _name(parameter: str) -> str:
    handler = _HANDLER.search(parameter)
    found = handler or _NAME.search(parameter.strip())
    if found is None:
        raise SystemExit(f"make_shim.py: a parameter without a name: {parameter!r}")
    return found.group(1)


def _split(parameters: str) -> list[str]:
    """At the commas outside parentheses."""
    parts, depth = [""], 0
    for c in parameters:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def wrapper(call: str, parameters: str) -> str:
    """The call, as the library has it: what the provider answers goes through vipl_shim_changed."""
    names = ", ".join(_name(p) for p in _split(parameters))
    descriptor = "*DescriptorPtr" if re.search(r"VIP_DESCRIPTOR \*\*DescriptorPtr", parameters) else "NULL"
    return (
        f"VIP_RETURN {call}({parameters})\n{{\n"
        f"    VIP_RETURN code;\n    if (vipl_shim_answers(&code))\n        return code;\n"
        f"    VIP_RETURN (*real)({parameters}) = NULL;\n"
        f'    *(void **)&real = dlsym(RTLD_NEXT, "{call}");\n'
        f"    code = real({names});\n"
        f"    const bool brought = code == VIP_SUCCESS || code == VIP_DESCRIPTOR_ERROR;\n"
        f'    return vipl_shim_changed("{call}", code, brought ? {descriptor} : NULL);\n}}\n'
    )


def main(argv: list[str]) -> int:
    text = Path(argv[-1]).read_text(encoding="utf-8")
    calls = [(call, " ".join(parameters.split())) for call, parameters in _CALL.findall(text)]
    print(_HEAD)
    print("\n".join(wrapper(call, parameters) for call, parameters in calls))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
