"""The editions of FC-VI that the program can be: that of 2007, and Rev 1.0, the draft of 1999."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from . import faults as faults_2007
from .choices import CHOICES
from .chosen import Choices
from .faults import Faults
from .port import Port
from .rev1 import choices as choices_rev1
from .rev1 import faults as faults_rev1
from .rev1.port import Rev1Port
from .rev1.vipl import Rev1Vipl, rev1_pics
from .vipl import MAX_TRANSFER, Vipl

Table = Dict[str, Tuple[str, str]]


@dataclass(frozen=True)
class Edition:
    """All that differs between the editions for the server of the DUT protocol."""

    revision: str
    choices: Table
    listing: Callable[[], Table]
    faults: Callable[[Optional[str]], Faults]
    port: Callable[..., Port]
    vipl: Callable[[Any], Vipl]
    calls: Dict[str, str]
    pics: Callable[[Choices], Dict[str, Any]]
    classes: Tuple[int, ...]

    def choose(self, settings: Iterable[str] = ()) -> Choices:
        """The choices of this edition with these settings."""
        return Choices(self.choices, settings)


def _pics_2007(choose: Choices) -> Dict[str, Any]:
    yes = ("client", "server", "unreliable_delivery", "send", "immediate_data", "class3")
    no = ("peer_to_peer", "loopback", "reliable_delivery", "reliable_reception", "rdma_write",
          "rdma_read", "class2", "out_of_order_fabric", "explicit_login", "farp", "name_server", "loop")
    named = ("connect_info", "retry_waits_for_ba_acc", "disconnect_retry")
    chosen = {name: choose.yes(name) for name in named}
    return {**dict.fromkeys(yes, True), **dict.fromkeys(no, False), **chosen,
            "preference": choose("pref") != "no", "unreliable_error_state": choose("message_error") == "error",
            "pipeline_depth": 16, "max_transfer_size": MAX_TRANSFER, "max_vis": choose.number("vis")}


OF_2007 = Edition("2007", CHOICES, faults_2007.listing, Faults, Port, Vipl, Vipl.table, _pics_2007, (3,))
REV1 = Edition("rev1", choices_rev1.CHOICES, faults_rev1.listing, faults_rev1.Rev1Faults, Rev1Port, Rev1Vipl, Rev1Vipl.table,
               rev1_pics, (2, 3))
EDITIONS = {edition.revision: edition for edition in (OF_2007, REV1)}
