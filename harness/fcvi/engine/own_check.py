"""Mistakes of whoever writes a case of their own, found when its file is read: each is one line, ``file:line: words``.

What is looked for would otherwise show only when a device breaks the requirement, or would blame the device: a requirement or an
IU that does not exist, a name that is not defined, a primitive that the scenario does not have or does not take so.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import re
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Iterable, Iterator, Mapping, Optional, get_type_hints

from .blame import code_of
from .case import CaseInfo, load_cases
from .catalogue import load_errata, load_requirements
from .files import FileError
from .pics import PicsError, applies, complete
from .pixit import pixit_for
from .protocol import judging_by, protocol_of, registered
from .words import near, printable

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_VARIANT = re.compile(r"[^\s,*?\[\]]*")  # what --select can name
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
Found = Iterator[tuple[int, str]]
Words = dict[str, dict[int, frozenset[str]]]


def mistake(path: Path, line: Optional[int], words: str) -> FileError:
    """One line for the author."""
    return FileError(printable(f"{path}:{line}: {words}" if line else f"{path}: {words}")[:400])


def check(path: Path, text: bytes, module: ModuleType, declared: Iterable[CaseInfo]) -> None:
    """Look through a file that was read. Raises FileError for the first mistake, by its line."""
    tree = ast.parse(text)
    found = [*_requirements(tree), *_undefined(path, module), *_functions(tree, module)]
    functions: dict[str, ast.FunctionDef] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, node)
    for case in declared:
        found += _declaration(case)
        found += _primitives(case, functions)
    if found:
        raise mistake(path, *min(found))


def _requirements(tree: ast.AST) -> Found:
    levels = {one.id for one in load_requirements(registered())}
    like = re.compile(rf"({'|'.join(re.escape(p.prefix) for p in registered())})(?:[A-Z]?\d|[A-Z][.-])[\w.-]*")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not like.fullmatch(node.value):
            continue
        if not any(ident.startswith(node.value) for ident in levels):  # the beginning of one is put together with its end
            yield node.lineno, f"there is no requirement {node.value}{near(node.value, levels)}"


def _undefined(path: Path, module: ModuleType) -> Found:
    known = {*vars(builtins), *vars(module), *_made_global(module)}
    for function in [one for one in vars(module).values() if isinstance(one, FunctionType)]:
        for code in _codes(inspect.unwrap(function).__code__):
            line = code.co_firstlineno
            for step in dis.get_instructions(code) if code.co_filename == str(path) else ():
                line = step.starts_line or line
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval not in known:
                    yield line, f"the name {step.argval!r} is not defined{near(step.argval, {*known, *code.co_varnames})}"


def _made_global(module: ModuleType) -> Iterator[str]:
    for function in [one for one in vars(module).values() if isinstance(one, FunctionType)]:
        for code in _codes(function.__code__):
            yield from (step.argval for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _declaration(case: CaseInfo) -> Found:
    code, protocol = code_of(case), protocol_of(case.protocol)
    line = code.co_firstlineno if code is not None else 0
    if not _ID.fullmatch(case.id):
        yield line, f"case {case.id!r}: an id has letters, digits, points, dashes and underscores, at most 61"
    errata = load_errata(registered())
    yield from ((line, f"case {case.id}: there is no erratum {one}{near(one, errata)}") for one in case.errata if one not in errata)
    for name in (v.suffix for v in case.variants if not _VARIANT.fullmatch(v.suffix)):
        yield line, f"case {case.id}: variant {name!r:.60}: a name has no blanks, commas, brackets, * and ?"
    tags = {tag for other in load_cases([protocol]) if other.id != case.id for tag in other.tags}
    for tag in (tag for tag in case.tags if tag not in tags and near(tag, tags)):  # another one may be the author's own
        yield line, f"case {case.id}: no other case has the tag {tag!r}{near(tag, tags)}"
    if len(set(case.variant_ids())) < len(case.variants):
        yield line, f"case {case.id}: two variants have the same name"
    with judging_by(protocol):
        items = complete({}, case.id)
    for expression in (case.applies, *(v.applies for v in case.variants)):
        yield from ((line, f"case {case.id}: {words}") for words in _expression(expression, items))
    members = _configured(case)
    body = inspect.unwrap(case.body)
    if inspect.iscoroutinefunction(body) or inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        yield line, f"case {case.id}: a function with async or yield does nothing when it is called"
    for name in (name for v in case.variants for name in v.config if name not in members):
        yield line, f"case {case.id}: the configuration has no member {name!r}{near(name, members)}"
    if code is not None and code.co_argcount != 1:
        yield line, f"case {case.id}: its function takes one argument, the scenario: def {code.co_name}(t)"


def _configured(case: CaseInfo) -> set[str]:
    """The members of a configuration: those of every reset, and those that other cases of the book, or of its base, set."""
    protocol = protocol_of(case.protocol)
    books = [protocol] if protocol.base is None else [protocol, protocol.base]
    others = (other for other in load_cases(books) if other.id != case.id)
    return set(protocol.configuration(pixit_for("virtual"), 0, {})) | {n for o in others for v in o.variants for n in v.config}


def _expression(expression: str, items: dict[str, Any]) -> Iterator[str]:
    try:
        nodes = ast.walk(ast.parse(expression, mode="eval")) if expression else ()
        unknown = [node.id for node in nodes if isinstance(node, ast.Name) and node.id not in items]
        yield from (f"there is no PICS item {name!r}{near(name, items)}" for name in unknown)
        if not unknown:
            applies(expression, items)
    except SyntaxError:
        yield f"cannot read the PICS expression {expression!r}"
    except PicsError as error:
        yield str(error).partition(" (<unknown>")[0]


def _primitives(case: CaseInfo, functions: Mapping[str, ast.FunctionDef]) -> Found:
    """Calls of the scenario's methods in the function of the case, where it says of what kind the scenario is."""
    body = inspect.unwrap(case.body)
    code = code_of(case)
    function = functions.get("" if code is None else code.co_name)
    if function is None or not function.args.args:
        return
    name = function.args.args[0].arg
    try:
        kind = get_type_hints(body).get(name)
    except Exception:  # whatever an annotation may raise: the scenario is not known then
        return
    if not isinstance(kind, type):
        return
    known = set(dir(kind))
    for base in kind.__mro__:  # members that are set when it is made
        known |= set(vars(base).get("__annotations__", ()))
        known.update(*(one.__code__.co_names for one in vars(base).values() if isinstance(one, FunctionType)))
    words: Words = getattr(kind, "words", dict)()
    yield from _members(case, function, name)
    for node in ast.walk(function):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id != name:
            continue
        if node.attr not in known and not hasattr(kind, "__getattr__"):
            yield node.lineno, f"{name} has no {node.attr!r}{near(node.attr, known)}"
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of = node.func.value
        if isinstance(of, ast.Name) and of.id == name:
            method = getattr(kind, node.func.attr, None)
            if isinstance(method, FunctionType):
                yield from _bound(node, node.func.attr, method, None)
            yield from _named(node, node.func.attr, words)
        elif len(node.args) == 1:
            yield from _named(node, f".{node.func.attr}", words)


def _members(case: CaseInfo, function: ast.FunctionDef, name: str) -> Found:
    """t.pics[...], t.params[...] and t.config[...] with a name that no variant has."""
    with judging_by(protocol_of(case.protocol)):
        known = {"pics": set(complete({}, case.id)), "params": {one for v in case.variants for one in v.params}}
    known["config"] = _configured(case) | {one for v in case.variants for one in v.config}
    for node in ast.walk(function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        of, member = node.value.value, node.slice
        if not isinstance(of, ast.Name) or of.id != name or not isinstance(member, ast.Constant):
            continue
        there = known.get(node.value.attr)
        if there is not None and isinstance(member.value, str) and member.value not in there:
            yield node.lineno, f"{name}.{node.value.attr} has no {member.value!r}{near(member.value, there)}"


def _functions(tree: ast.AST, module: ModuleType) -> Found:
    """Calls of functions that the file has or imports, with arguments that they do not take; and errata that do not exist."""
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    errata = load_errata(registered())
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(node.func, ast.Name) and node.func.id not in own:
            function = vars(module).get(node.func.id)
            if isinstance(function, FunctionType):
                yield from _bound(node, node.func.id, function)
        for given in (k.value for k in node.keywords if k.arg == "erratum" and isinstance(k.value, ast.Constant)):
            if isinstance(given.value, str) and given.value not in errata:
                yield given.lineno, f"there is no erratum {given.value}{near(given.value, errata)}"


def _bound(node: ast.Call, name: str, function: FunctionType, *first: object) -> Found:
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return
    signature = inspect.signature(function)
    try:
        signature.bind(*first, *node.args, **{str(k.arg): k.value for k in node.keywords})
    except TypeError as error:
        wrong = _UNEXPECTED.search(str(error))
        yield node.lineno, f"{name}: {error}{near(wrong[1], signature.parameters) if wrong else ''}"


def _named(node: ast.Call, method: str, words: Words) -> Found:
    """Names in the arguments of a call, where they stand as they are: alone, in a list, or as keys."""
    for place, known in words.get(method, {}).items():
        for argument in node.args[place:] if method in ("discard", "tolerate") else node.args[place : place + 1]:
            all_of = argument.keys if isinstance(argument, ast.Dict) else getattr(argument, "elts", [argument])
            for one in (one for one in all_of if isinstance(one, ast.Constant) and isinstance(one.value, str)):
                if one.value not in known:
                    yield one.lineno, f"{method.lstrip('.')}: there is no {one.value!r}{near(one.value, known)}"


__all__ = ["check", "mistake"]
