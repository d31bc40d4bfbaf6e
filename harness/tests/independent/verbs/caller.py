"""Holds what the calls of all kinds share."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .model import Model
from .posting import Reader, thing
from .words import Params, number

Answer = Dict[str, Any]
Try = Callable[[bool], Optional[Answer]]


class Wait:
    """A call that waits: it is tried until it has an answer; the last try is when the time is up."""

    def __init__(self, us: Optional[int], attempt: Try) -> None:
        self.us, self.attempt = us, attempt


class Caller:
    """The verbs of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.read = Reader(model)

    def _thing(self, params: Params, name: str, kind: Any) -> Any:
        return thing(self.model, params, name, kind)

    def _maybe(self, params: Params, name: str, kind: Any) -> Any:
        return None if params.get(name) is None else self._thing(params, name, kind)

    def _gone(self, params: Params, name: str) -> Answer:
        self.model.drop(number(params, name))
        return {}

    def _entries(self, asked: int) -> int:
        sizes = self.model.choose.sizes
        if sizes == "larger":
            return asked + 3
        return 1 << (asked - 1).bit_length() if sizes == "power-of-two" else asked
