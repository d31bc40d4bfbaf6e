"""Conditions that users write: which frames, findings or Connections are to be shown.

One grammar for all commands (harness/docs/filters.md). Nothing here knows what is filtered: who does gives the names that there
are, and for each of them the values of the thing at hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Iterable, Optional, Sequence

from .words import UsageError


class FilterError(ValueError, UsageError):
    """A condition that is none: one line with the column, from 1."""

    def __init__(self, column: int, words: str) -> None:
        super().__init__(f"column {column}: {words}")


@dataclass(frozen=True)
class Value:
    """One value of a name: as a number, where it is one, and in each of the words that stand for it."""

    number: Optional[float] = None
    words: tuple[str, ...] = ()
    is_address: bool = False  # six digits stand for an N_Port_ID


Values = Sequence[Value]
Lookup = Callable[[str], Values]
Condition = Callable[[Lookup], bool]
Codes = Callable[[str], Sequence[str]]


def plain(text: str) -> str:
    """A name without what people leave out or write differently: FCVI_MSG_ID, msg_id, "msg id" and fcvi.msg_id are one."""
    return re.sub(r"^fcvi[._]", "", re.sub(r"[^0-9a-z.]+", "_", text.lower().replace(".fcvi_", ".")).strip("_"))


def number_of(text: str, is_address: bool = False) -> Optional[float]:
    """20h, 0x20, 32, 0.5, and 0C18BBE8 or 0103 as they are printed; None when it is no number."""
    if is_address and re.fullmatch(r"[0-9A-Fa-f]{6}|([0-9A-Fa-f]{2}\.){2}[0-9A-Fa-f]{2}", text):
        return int(text.replace(".", ""), 16)
    if re.fullmatch(r"0\d{3}(\d{4})?|(?=\d*[A-F])([0-9A-F]{4}|[0-9A-F]{8})", text):
        return int(text, 16)
    if re.fullmatch(r"[0-9A-Fa-f]{1,16}[hH]", text):
        return int(text[:-1], 16)
    if re.fullmatch(r"0[xX][0-9A-Fa-f]{1,16}", text):
        return int(text, 16)
    if re.fullmatch(r"-?\d{1,20}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", text) else None


# ---- comparisons ----


def _equals(value: Value, literal: str) -> bool:
    wanted = number_of(literal, value.is_address)
    if wanted is not None and value.number is not None:
        return value.number == wanted
    return any(word == literal or plain(word) == plain(literal) != "" for word in value.words) or (
        literal == "" and "" in value.words
    )


def _contains(value: Value, literal: str) -> bool:
    return any(literal.lower() in word.lower() for word in value.words)


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def comparison(name: str, sign: str, literals: Sequence[str]) -> Condition:
    """Of several values one is enough; != holds where there is a value and none is the literal."""
    if sign in _ORDER:
        holds = _ORDER[sign]

        def ordered(lookup: Lookup) -> bool:
            for value in lookup(name):
                limit = number_of(literals[0], value.is_address)
                if value.number is not None and limit is not None and holds(value.number, limit):
                    return True
            return False

        return ordered
    match = _contains if sign == "~" else _equals

    def found(lookup: Lookup) -> bool:
        values = lookup(name)
        same = any(match(value, literal) for value in values for literal in literals)
        return bool(values) and not same if sign == "!=" else same

    return found


# ---- the grammar ----

_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>==|!=|<=|>=|[=<>~])|(?P<mark>[(){},])|(?P<quoted>"[^"]*"|'[^']*')|(?P<word>[^\s(){},=!<>~'"]+))"""
)
_SIGNS = {"=": "=="}
_OTHERS = {"&&": "and", "||": "or", "&": "and", "|": "or", "AND": "and", "OR": "or", "NOT": "not"}  # of other grammars
_KEYWORDS = ("and", "or", "not", "in")
_CLOSES = {"(": ")", "{": "}"}
_DEEPEST = 64


@dataclass(frozen=True)
class _Token:
    kind: str  # sign, mark, quoted, word, end
    text: str
    at: int
    end: int


def _tokens(text: str) -> list[_Token]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            if text[column] == "!":
                raise FilterError(column + 1, "'!' is written as `not`")
            raise FilterError(column + 1, f"{text[column]!r} begins nothing that a condition has")
        kind = str(match.lastgroup)
        if match[kind] in _OTHERS:
            raise FilterError(match.start(kind) + 1, f"{match[kind]!r} is written as `{_OTHERS[match[kind]]}`")
        found.append(_Token(kind, match[kind], match.start(kind), match.end(kind)))
        at = match.end()
    return [*found, _Token("end", "", len(text), len(text))]


class _Parser:
    """Recursive descent: or, and, not, then a comparison, a name or a condition in parentheses."""

    def __init__(self, text: str, names: Iterable[str], codes: Codes) -> None:
        self._text, self._codes = text, codes
        self._tokens = _tokens(text)
        self._at = self._depth = 0
        self._names = {plain(name): name for name in names}

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _is(self, *words: str) -> bool:
        return self._next.kind in ("word", "mark") and self._next.text in words

    def whole(self) -> Condition:
        """All of the text."""
        found = self._any()
        if self._next.kind != "end":
            raise FilterError(self._next.at + 1, f"{self._next.text[:20]!r} is too much here; `and` or `or` joins two conditions")
        return found

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._is("or"):
            self._take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else lambda lookup: any(part(lookup) for part in parts)

    def _all(self) -> Condition:
        parts = [self._one()]
        while self._is("and"):
            self._take()
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda lookup: all(part(lookup) for part in parts)

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FilterError(self._next.at + 1, "more conditions are in each other than anybody reads")
        found = self._simple()
        self._depth -= 1
        return found

    def _simple(self) -> Condition:
        if self._is("not"):
            self._take()
            inner = self._one()
            return lambda lookup: not inner(lookup)
        if self._is("("):
            opened = self._take()
            inner = self._any()
            if not self._is(")"):
                raise FilterError(opened.at + 1, "the parenthesis that opens here is never closed")
            self._take()
            return inner
        return self._of_name()

    def _name(self) -> str:
        token = self._take()
        if token.kind != "word" or token.text in _KEYWORDS:
            raise FilterError(token.at + 1, f"a name should stand here{f', not {token.text[:20]!r}' if token.text else ''}")
        name = self._names.get(plain(token.text))
        if name is None:
            meant = nearest(token.text, self._names.values())
            raise FilterError(token.at + 1, f"{token.text[:40]!r} is no name that is known here{meant}")
        return name

    def _of_name(self) -> Condition:
        name = self._name()
        if self._next.kind == "sign":
            token = self._take()
            sign = _SIGNS.get(token.text, token.text)
            at, literal = self._next.at, self._literal()
            if sign in _ORDER and number_of(literal, True) is None:
                raise FilterError(at + 1, f"{literal[:20]!r} is no number, and {token.text} compares numbers (20h, 0x20, 32)")
            if sign in ("==", "!="):
                self._check(name, at, literal)
            return comparison(name, sign, [literal])
        if self._is("in"):
            self._take()
            return comparison(name, "in", self._list(name))
        return lambda lookup: any(value.number is not None or any(value.words) for value in lookup(name))

    def _check(self, name: str, at: int, literal: str) -> None:
        """A value that the name never has would hold of nothing, without a word."""
        known = self._codes(name)
        if known and number_of(literal, True) is None and plain(literal) not in map(plain, known):
            raise FilterError(at + 1, f"{literal[:40]!r} is no value of {name}{nearest(literal, known)}")

    def _list(self, name: str) -> list[str]:
        opened = self._take()
        if opened.text not in _CLOSES or opened.kind != "mark":
            raise FilterError(opened.at + 1, "behind `in` stands a list: (A, B)")
        found: list[str] = []
        while not found or self._is(","):
            if found:
                self._take()
            at = self._next.at
            found.append(self._literal())
            self._check(name, at, found[-1])
        if not self._is(_CLOSES[opened.text]):
            raise FilterError(opened.at + 1, "the list that opens here is never closed")
        self._take()
        return found

    def _literal(self) -> str:
        """A quoted text, or words up to `and`, `or` or a mark: Invalid Service Parm needs no quotes."""
        if self._next.kind == "quoted":
            return self._take().text[1:-1]
        first = self._next
        if first.kind != "word":
            raise FilterError(first.at + 1, "a value should stand here: a number (20h, 0x20, 32), a name of a code, or 'text'")
        last = self._take()
        while self._next.kind == "word" and not self._is("and", "or"):
            last = self._take()
        return self._text[first.at : last.end]


def nearest(name: str, names: Iterable[str]) -> str:
    """What may have been meant, for the end of a message."""
    import difflib

    known = {plain(one): one for one in names}
    found = difflib.get_close_matches(plain(name), known, 1, 0.6)
    return f"; did you mean {known[found[0]]}?" if found else ""


def parsed(text: str, names: Iterable[str], codes: Codes = lambda name: ()) -> Condition:
    """A condition over these names. codes: the words that a name can have, none where it can have any. Raises FilterError."""
    known = list(names)
    try:
        return _Parser(text, known, codes).whole()
    except FilterError:
        simple = re.fullmatch(r"\s*(\w+)\s*(!=|=|~)(?!=)(.*)", text)  # NAME=VALUE, whatever VALUE has
        by_name = {plain(name): name for name in known}
        if simple is None or plain(simple[1]) not in by_name or re.search(r"\b(and|or)\b|==", simple[3]):
            raise
        return comparison(by_name[plain(simple[1])], _SIGNS.get(simple[2], simple[2]), [simple[3].strip()])


def chosen(text: str, names: Iterable[str]) -> list[str]:
    """A list of names, as --fields takes it. Raises FilterError."""
    by_name = {plain(name): name for name in names}
    found, column = [], 1
    for word in text.split(","):
        name = by_name.get(plain(word))
        if name is None:
            meant = nearest(word, by_name.values())
            raise FilterError(column, f"{word.strip()[:40]!r} is no name that is known here{meant}")
        found.append(name)
        column += len(word) + 1
    return found


def _said(option: str, error: FilterError) -> FilterError:
    error.args = (f"{option}: {error.args[0]}",)
    return error


def conditions_of(texts: Iterable[str], names: Iterable[str], codes: Codes = lambda name: ()) -> list[Condition]:
    """What --filter says, each time that it is there. Raises FilterError."""
    try:
        return [parsed(text, names, codes) for text in texts]
    except FilterError as error:
        raise _said("--filter", error) from None


def fields_of(text: Optional[str], names: Iterable[str]) -> list[str]:
    """What --fields says. Raises FilterError."""
    try:
        return [] if text is None else chosen(text, names)
    except FilterError as error:
        raise _said("--fields", error) from None
