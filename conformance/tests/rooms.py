"""Says where the rooms of the tree lie, which may use which, and what uses what: from includes, symbols and imports.

A room is a folder with one purpose. The tables below are the whole rule: an arrow that is not in them points up.

Usage: PYTHONPATH=harness:. python3 -m conformance.tests.rooms [--build DIR] lists what breaks the rule and ends with status 1 if
anything does.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A file belongs to the room of the longest path here that it begins with.
C_ROOMS = {
    "codec/include": "codec",
    "codec/src/core": "codec/core",
    "codec/src/fc": "codec/fc",
    "codec/src/vitcp": "codec/vitcp",
    "refimpl/include/fcvi/port.h": "port.h",
    "refimpl/include/fcvi/fabric.h": "fabric.h",
    "refimpl/include": "port.h",
    "refimpl/vipl/include/fcvi/vip_codes.h": "port.h",
    "refimpl/src/block": "block",
    "refimpl/src/vi": "vi",
    "refimpl/src/fc2": "fc2",
    "refimpl/src/fcvi": "fcvi",
    "refimpl/src/vitcp": "vitcp",
    "refimpl/src/port": "port",
    "refimpl/src/fabric": "fabric",
    "refimpl/vipl": "vipl",
    "conformance/monitor/include": "monitor.h",
    "conformance/monitor": "monitor",
    "conformance/monitor/src/vitcp": "monitor/vitcp",
    "conformance/explore": "explore",
    "harness/capture": "capture",
    "harness/judge": "judge",
    "harness/sandbox": "sandbox",
    "harness/lines": "lines",
    "harness/host": "host",
    "harness/agent": "agent",
    "harness/verbs": "verbs",
    "harness/interop": "guest",  # programs that run beside the agent in a guest, without the suite
    "harness/opener": "opener",
    "harness/load": "agent",  # a program of the same providers
    "harness/shims": "shims",
    "harness/ffi": "ffi",
    "harness/starters": "starters",
    "harness/mutator": "mutator",
}

# Which rooms a room may use besides itself. The names that end in .h are public headers: what stands behind them is the
# library, so a symbol that such a header declares may be used by whoever may use the header.
C_ARROWS: dict[str, set[str]] = {
    "codec": set(),
    "codec/core": {"codec"},
    "codec/fc": {"codec", "codec/core"},
    "codec/vitcp": {"codec", "codec/core"},
    "port.h": {"codec"},
    "fabric.h": {"codec", "port.h"},
    "monitor.h": {"codec"},
    "block": {"port.h"},
    "vi": {"codec", "port.h", "block"},
    "fc2": {"codec", "port.h", "block"},
    "fcvi": {"codec", "port.h", "block", "fc2", "vi"},
    "vitcp": {"codec", "port.h", "block", "vi"},
    "port": {"codec", "port.h", "block", "vi", "fc2", "fcvi", "vitcp"},
    "fabric": {"codec", "port.h", "block", "fabric.h"},
    "vipl": {"codec", "port.h", "fabric.h"},
    "monitor": {"codec", "monitor.h"},
    "monitor/vitcp": {"codec", "monitor.h"},
    "explore": {"codec", "port.h", "fabric.h", "monitor.h"},
    "capture": {"codec"},
    "judge": {"codec", "monitor.h", "capture"},
    "lines": set(),
    "host": {"codec", "port.h", "vipl", "capture"},
    "agent": {"lines", "host", "codec", "port.h", "vipl", "capture"},
    "verbs": {"lines"},
    "guest": set(),
    "ffi": {"codec", "port.h", "fabric.h", "monitor.h", "capture", "judge", "sandbox", "mutator", "lines"},
    "mutator": {"codec"},
    "sandbox": set(),
    "opener": set(),
    "shims": {"codec", "port.h", "vipl"},
    "starters": set(),
}
# Headers that more than half of the files of their layer may include, with the reason.
COMMON_HEADERS = {
    "codec/include/fcvi/codec.h": "it is the codec's interface",
    "codec/include/fcvi/access.h": "it is the codec's interface: the accessors of each field",
    "codec/include/fcvi/table.h": "it is the codec's interface: the table of fields",
    "codec/include/fcvi/iu.h": "it is the codec's interface: the names of the IUs",
    "refimpl/src/block/block.h": "it declares the block of a port",
    "refimpl/include/fcvi/port.h": "it is the port's interface",
}
# What the headers of a layer are counted against: the sources of its rooms. A header for one room is right.
LAYERS = {
    "codec": ["codec/src"],
    "refimpl": ["refimpl/src", "refimpl/vipl/src"],
    "conformance": ["conformance/monitor", "conformance/explore"],
    "harness": [
        f"harness/{room}"
        for room in ("capture", "judge", "sandbox", "lines", "host", "agent", "verbs", "opener", "load", "shims", "ffi", "mutator")
    ],
}

PREFIXES = ("fcvi_", "mon_", "vipl_", "Vip")
ARCHIVES = ("libfcvi.a", "libvipl.a", "libfcvi-capture.a", "libfcvi-mutator.a", "libfcvi-sandbox.a")
OF_COMPILERS = ("__", "_GLOBAL_")

# Rooms of Python, by the longest beginning of a module's name. `fcvi` alone is the command line.
PY_ROOMS = {
    "fcvi": "commands",
    "fcvi.cli": "commands",
    "fcvi.attach": "attach",
    "fcvi.arguments": "commands",
    "fcvi.commands": "commands",
    "fcvi.capture": "capture",
    "fcvi.engine.files": "files",
    "fcvi.engine.strict": "files",
    "fcvi.engine.words": "files",
    "fcvi.engine.output": "files",
    "fcvi.engine.interrupt": "files",
    "fcvi.engine": "engine",
    "fcvi.fc": "fc",
    "fcvi.fc.codec": "codec",
    "fcvi.vitcp": "vitcp",
    "fcvi.vitcp.codec": "codec",
    "fcvi.dut": "dut",
    "fcvi.live": "live",
    "fcvi.report": "report",
    "fcvi.replay": "replay",
    "fcvi.flows": "flows",
    "fcvi.attack": "attack",
    "fcvi.explore": "explore",
    "fcvi.random": "random",
    "fcvi.learn": "learn",
    "conformance": "conformance",
}
_WIRES = {"fc", "vitcp"}
_BASE = {"engine", "files", "codec", "capture"}
PY_ARROWS: dict[str, set[str]] = {
    "files": set(),
    "engine": {"files"},
    "codec": {"engine", "files"},
    "capture": {"codec", "engine", "files"},
    "fc": _BASE,
    "vitcp": _BASE,
    "attach": _BASE | {"dut", "live"},
    "dut": _BASE | _WIRES,
    "report": _BASE,
    "replay": _BASE | _WIRES | {"dut", "report"},
    "flows": {"engine", "files", "codec", "capture"},
    "live": _BASE | _WIRES | {"dut", "report"},
    "attack": _BASE | _WIRES | {"dut", "report"},
    "explore": _BASE | _WIRES | {"dut", "report"},
    "random": _BASE | _WIRES | {"dut", "report", "replay"},
    "learn": _BASE | _WIRES | {"dut", "random"},
    "commands": _BASE | _WIRES | {"dut", "report", "replay", "flows", "live", "attack", "explore", "random", "learn"},
    "conformance": _BASE | _WIRES | {"attach", "dut", "report", "replay", "flows", "live", "attack", "explore", "commands"},
}
# The single place where the command hands a standard's folder to the engine: the modules that may import conformance.
REGISTRATION = {"fcvi.protocols", "fcvi.commands.protocols", "fcvi.cli", "fcvi.attach"}
REGISTRATIONS = 1


@dataclass
class Found:
    """What breaks the rule, and what was looked at: a look at nothing proves nothing."""

    broken: list[str] = field(default_factory=list)
    seen: int = 0


def room_of(path: str, rooms: dict[str, str] = C_ROOMS) -> str:
    """The room of a file or a module; empty when it is in none."""
    best = max((begin for begin in rooms if path == begin or path.startswith((f"{begin}/", f"{begin}."))), key=len, default="")
    return rooms.get(best, "")


def _allowed(room: str, target: str) -> bool:
    return room == target or target in C_ARROWS.get(room, set())


def _c_files() -> list[str]:
    found = [path for top in ("codec", "refimpl", "conformance", "harness", "fuzz") for path in (ROOT / top).rglob("*.[ch]")]
    names = sorted(str(path.relative_to(ROOT)) for path in found)
    return [name for name in names if not {"tests", "bench", "example", "examples"} & set(Path(name).parts) and room_of(name)]


_SEARCHED = (
    "codec/include",
    "refimpl/include",
    "conformance/monitor/include",
    "refimpl/vipl/include",
    "harness/capture",
    "harness/judge",
    "harness/mutator",
    "harness/sandbox",
    "harness/ffi",
)


def includes(name: str) -> list[str]:
    """The project's own files that one includes."""
    found = []
    for included in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', (ROOT / name).read_text(encoding="utf-8"), re.M):
        for folder in (Path(name).parent, *map(Path, _SEARCHED)):
            path = (ROOT / folder / included).resolve()
            if path.is_file() and path.is_relative_to(ROOT):
                found.append(str(path.relative_to(ROOT)))
                break
    return found


def include_arrows() -> Found:
    """Includes of a header of a room that the including room must not use."""
    found = Found()
    for name in _c_files():
        for header in includes(name):
            found.seen += 1
            target = room_of(header)
            if target and not _allowed(room_of(name), target):
                found.broken.append(f"{name} includes {header}: {room_of(name)} must not use {target}")
    return found


@functools.cache
def _symbols(file: Path) -> tuple[set[str], set[str]]:
    """Names that an object or archive defines for others, and those that it needs."""
    text = subprocess.run(["nm", "-P", "-g", "--no-demangle", str(file)], capture_output=True, text=True, check=True).stdout
    defined: set[str] = set()
    needed: set[str] = set()
    for words in (line.split() for line in text.splitlines()):
        if len(words) >= 2 and len(words[1]) == 1:
            (needed if words[1] in "Uvw" else defined).add(words[0])
    return defined, needed


def _objects(build: Path) -> dict[str, Path]:
    """The object of each source that has a room."""
    paths = {name: build / "obj" / f"{name[:-2]}.o" for name in _c_files() if name.endswith(".c")}
    return {name: path for name, path in paths.items() if path.is_file()}


def _public() -> dict[str, str]:
    """The public header that declares a symbol, as a room."""
    found = {}
    for name in _c_files():
        target = room_of(name)
        if name.endswith(".h") and target in ("codec", "port.h", "fabric.h", "monitor.h"):
            text = re.sub(r"/\*.*?\*/", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S)
            found.update({symbol: target for symbol in re.findall(r"\b(fcvi_\w+|Vip\w+)\s*[(\[;]", text)})
    return found


@dataclass(frozen=True)
class Use:
    """One object needs a symbol that another defines."""

    source: str
    definer: str
    symbol: str
    target: str


def symbol_uses(build: Path) -> list[Use]:
    """Which object needs which symbol of which room."""
    tables = {name: _symbols(path) for name, path in _objects(build).items()}
    definers = {symbol: name for name, (defined, _) in tables.items() for symbol in defined}
    public = _public()
    uses = []
    for name, (_, needed) in tables.items():
        for symbol in sorted(needed & definers.keys()):
            definer = definers[symbol]
            if room_of(name) != room_of(definer):
                uses.append(Use(name, definer, symbol, room_of(definer)))
    return [_by_header(use, public.get(use.symbol, "")) for use in uses]


def _by_header(use: Use, header: str) -> Use:
    """The use as one of the public header, where the user may use that."""
    if header and _allowed(room_of(use.source), header):
        return Use(use.source, use.definer, use.symbol, header)
    return use


def symbol_arrows(build: Path) -> Found:
    """Symbols of a room that the needing room must not use."""
    uses = symbol_uses(build)
    found = Found(seen=len(uses))
    for use in uses:
        room = room_of(use.source)
        if not _allowed(room, use.target):
            found.broken.append(f"{use.source} needs {use.symbol} of {use.definer}: {room} must not use {use.target}")
    return found


def _unit(name: str) -> str:
    """A source and its header are one."""
    return str(Path(name).with_suffix(""))


def _file_graph(build: Path) -> dict[str, set[str]]:
    """Which file uses which, by includes and by symbols. A symbol of several files is used in each: programs differ in theirs."""
    tables = {name: _symbols(path) for name, path in _objects(build).items()}
    definers: dict[str, set[str]] = {}
    for name, (defined, _) in tables.items():
        for symbol in defined:
            definers.setdefault(symbol, set()).add(_unit(name))
    graph: dict[str, set[str]] = {_unit(name): set() for name in _c_files()}
    for name in _c_files():
        graph[_unit(name)] |= {_unit(header) for header in includes(name)} - {_unit(name)}
    for name, (_, needed) in tables.items():
        graph[_unit(name)] |= set().union(*(definers[symbol] for symbol in needed & definers.keys())) - {_unit(name)}
    return graph


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    rest = [start]
    while rest:
        for target in graph.get(rest.pop(), set()) - seen:
            seen.add(target)
            rest.append(target)
    return seen


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The files that reach each other, each set once, where there are more than two."""
    reached = {name: _reached(graph, name) for name in graph}
    found = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in graph}
    return sorted(sorted(circle) for circle in found if len(circle) > 2)


def file_circles(build: Path) -> Found:
    """Circles of more than two files."""
    graph = _file_graph(build)
    found = Found(seen=sum(len(targets) for targets in graph.values()))
    for circle in circles(graph):
        found.broken.append(f"a circle of {len(circle)} files, at most 2: {', '.join(circle)}")
    return found


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """The rooms of one cycle, or none."""
    done: set[str] = set()

    def walk(room: str, path: list[str]) -> list[str]:
        if room in path:
            return [*path[path.index(room) :], room]
        if room in done:
            return []
        for target in sorted(graph.get(room, ())):
            if cycle := walk(target, [*path, room]):
                return cycle
        done.add(room)
        return []

    return next((cycle for room in sorted(graph) if (cycle := walk(room, []))), [])


def call_cycles(build: Path) -> Found:
    """Rooms that need each other's symbols; one cycle after the other, each with what closes it."""
    graph: dict[str, set[str]] = {}
    uses = symbol_uses(build)
    for use in uses:
        if not use.target.endswith(".h") and use.target != "codec":
            graph.setdefault(room_of(use.source), set()).add(use.target)
    found = Found(seen=len(uses))
    while cycle := _cycle(graph):
        arrows = []
        for room, target in zip(cycle, cycle[1:]):
            count = sum(room_of(use.source) == room and use.target == target for use in uses)
            arrows.append(f"{room} needs {count} of {target}")
        found.broken.append(f"a cycle: {', '.join(arrows)}")
        graph[cycle[-2]].discard(cycle[-1])
    return found


def unprefixed(build: Path) -> Found:
    """Globals of the static libraries that a program may have too."""
    found = Found()
    for archive in ARCHIVES:
        defined, _ = _symbols(build / archive)
        found.seen += len(defined)
        found.broken += [f"{archive} defines {name}" for name in sorted(defined) if not name.startswith((*PREFIXES, *OF_COMPILERS))]
    return found


def common_headers() -> Found:
    """Headers that more than half of the files of their layer include. A room's own header is for all files of that room."""
    found = Found()
    names = _c_files()
    for layer, folders in LAYERS.items():
        files = [name for name in names if name.startswith(tuple(f"{folder}/" for folder in folders)) and name.endswith(".c")]
        counts: dict[str, int] = {}
        for name in files:
            for header in {path for path in includes(name) if Path(path).parent != Path(name).parent}:
                counts[header] = counts.get(header, 0) + 1
        found.seen += len(counts)
        for header, count in sorted(counts.items()):
            if header.startswith(f"{layer}/") and 2 * count > len(files) and header not in COMMON_HEADERS:
                found.broken.append(f"{header} is included by {count} of {len(files)} files of {layer}")
    return found


def _module(path: Path) -> str:
    base = ROOT / "harness" if path.is_relative_to(ROOT / "harness") else ROOT
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_IMPORTERS = ("import_module", "__import__")


def _imports(path: Path, known: set[str]) -> list[tuple[int, str]]:
    """Modules that a file imports, by line: by statement wherever it stands, and by name through importlib."""
    package = _module(path) if path.name == "__init__.py" else _module(path).rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [(node.lineno, inner if (inner := f"{base}.{name.name}") in known else base) for name in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _IMPORTERS:
            word = node.args[0] if node.args else None
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                found.append((node.lineno, word.value))
    return found


def import_arrows() -> Found:
    """Imports of a room that the importing room must not use, and registrations in more than one place."""
    found = Found()
    paths = [path for top in ("harness/fcvi", "conformance") for path in sorted((ROOT / top).rglob("*.py"))]
    paths = [path for path in paths if "tests" not in path.relative_to(ROOT).parts]
    known = {_module(path) for path in paths}
    registering = set()
    for path in paths:
        module = _module(path)
        room = room_of(module, PY_ROOMS)
        for line, name in _imports(path, known):
            target = room_of(name, PY_ROOMS)
            if not target or name == "fcvi":
                continue
            found.seen += 1
            if target == "conformance" and room != "conformance" and module in REGISTRATION:
                registering.add(module)
            elif target != room and target not in PY_ARROWS.get(room, set()):
                found.broken.append(f"{path.relative_to(ROOT)}:{line} imports {name}: {room} must not use {target}")
    if len(registering) > REGISTRATIONS:
        found.broken.append(f"standards are registered in more than one place: {', '.join(sorted(registering))}")
    return found


def homeless() -> Found:
    """Files of the libraries and modules of the suite that are in no room: nobody would check their arrows."""
    found = Found()
    for top in ("codec/src", "codec/include", "refimpl", "conformance/monitor", "conformance/explore", "harness"):
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            if {"tests", "bench", "examples"} & set(path.relative_to(ROOT).parts):
                continue
            found.seen += 1
            if not room_of(str(path.relative_to(ROOT))):
                found.broken.append(f"{path.relative_to(ROOT)} is in no room of the table")
    for path in sorted((ROOT / "harness/fcvi").iterdir()):
        found.seen += 1
        module = f"fcvi.{path.stem}"
        package = path.is_dir() and path.name != "__pycache__"
        code = path.suffix == ".py" and path.stem not in ("__init__", "__main__")
        if (package or code) and module not in PY_ROOMS and module not in REGISTRATION:
            found.broken.append(f"{path.relative_to(ROOT)} is in no room of the table")
    return found


def main() -> int:
    """List what breaks the rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    build = parser.parse_args().build
    status = 0
    for title, found in (
        ("files in no room", homeless()),
        ("includes", include_arrows()),
        ("symbols", symbol_arrows(build)),
        ("cycles of rooms", call_cycles(build)),
        ("circles of files", file_circles(build)),
        ("globals without a prefix", unprefixed(build)),
        ("headers that most files include", common_headers()),
        ("imports", import_arrows()),
    ):
        print(f"{title}: {len(found.broken)} against the rule, of {found.seen}")
        print("".join(f"  {line}\n" for line in found.broken), end="")
        status |= bool(found.broken)
    return status


if __name__ == "__main__":
    sys.exit(main())
