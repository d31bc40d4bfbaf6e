"""The named values of the standards' code fields, from the codec's codes.def: written once, in C.

``R_CTL.ABTS`` is 81h, ``ELS.PLOGI`` 03h, ``TYPE.FC_VI`` 58h, ``REASON.CONNECT_REJECT`` 04h (Table 12). An unknown name raises
AttributeError.
"""

from __future__ import annotations

from . import codec


class Codes:
    """The values of one list of codes.def, as attributes; ``name_of`` goes the other way."""

    def __init__(self, name: str) -> None:
        begin = f"{name}_"
        self._values = {key.removeprefix(begin): value for key, value in codec.constants().items() if key.startswith(begin)}
        self._names = {value: key for key, value in reversed(self._values.items())}
        self.__dict__.update(self._values)  # Python finds these without __getattr__, which is for unknown names

    def __getattr__(self, name: str) -> int:
        values: dict[str, int] = self.__dict__["_values"]
        if name not in values:
            raise AttributeError(name)
        return values[name]

    def names(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self._values)

    def name_of(self, value: int) -> str:
        """The name of a value; "" when it has none."""
        return self._names.get(value, "")


R_CTL, TYPE, ELS = Codes("R_CTL"), Codes("TYPE"), Codes("ELS")
CT_COMMAND = Codes("CT_COMMAND")
