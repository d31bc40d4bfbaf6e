"""Whose line a mistake in a case is: the author's file first, then what it called."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import CodeType
from typing import Optional

from .case import CaseInfo


def code_of(case: CaseInfo) -> Optional[CodeType]:
    """Of the function that the author wrote, whatever is around it."""
    body: object = case.body
    while inner := getattr(body, "__wrapped__", getattr(body, "func", None)):
        body = inner
    code = getattr(body, "__code__", None)
    return code if isinstance(code, CodeType) else None


def declared(case: CaseInfo) -> str:
    """File and line of the function that is the case; "" where it is no function."""
    code = code_of(case)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else ""


def places(case: CaseInfo, error: BaseException) -> str:
    """Where an exception came from: the last line in the file of the case, then in the files beside it and in the steps of its
    book, then where it was raised. Where no line of the author's is among them, the case itself comes first.
    """
    code = code_of(case)
    file = Path(code.co_filename) if code else Path()
    near = (file.parent, file.parent.parent / "steps")
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [frame for frame in frames if frame[0] == file]
    beside = [frame for frame in frames if frame[0].parent in near]
    told = dict.fromkeys(f"{some[-1][0].name}:{some[-1][1]}" for some in (own, beside, frames) if some)
    return " -> ".join(told if own else dict.fromkeys((declared(case), *told)))
