"""Single faults: each breaks one sentence of the specification."""
from typing import List, NamedTuple, Tuple


class Fault(NamedTuple):
    """One fault."""

    name: str
    row: str
    flavours: Tuple[str, ...]
    what: str


FAULTS: List[Fault] = []


def names() -> List[str]:
    """Their names."""
    return [fault.name for fault in FAULTS]
