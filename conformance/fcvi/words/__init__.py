"""Words: what an application and a far port may do to a device, letter by letter, and what the device owes for it.

``fcvi random`` and ``fcvi learn`` make words of these letters. A letter is a call, an IU of the tester's, a loss, a link event or
some time. In place (where a conforming pair of ports would do it) it comes with duties: what every conforming device does then.
Out of place it comes with none, and only what holds always is judged.
"""

from __future__ import annotations

from . import apt, client, errors, link, messages, peer, plain, server
from .letters import ALPHABETS, LETTERS, WANDER, Letter
from .settings import SETTINGS, Setting, applicable, configuration, parameters
from .world import Slot, World

__all__ = [
    "ALPHABETS", "LETTERS", "Letter",
    "SETTINGS", "Setting", "Slot", "WANDER", "World", "applicable", "apt", "client", "configuration", "errors",
    "link", "messages", "parameters", "peer", "plain", "server",
]
