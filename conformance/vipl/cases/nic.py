"""Opening and closing, attributes of the NIC, and handles that are NULL or gone."""

from __future__ import annotations

from conformance.vipl.steps.declare import LEVELS, RD, UD, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import BAD, OK, RESOURCE, Node, alive, best_level, connect, nodes, pair, transfer


@vipl("C1", "A device name that no device has", "G3.1.1-03", errata="A107")
def unknown_device(t: Calls) -> None:
    """VipOpenNic refuses a name that no device has; the empty name and NULL are recorded only."""
    end = t.ends[0]
    code = end.call("VipOpenNic", DeviceName="NO-SUCH-NIC-77").returned()
    t.codes("G3.1.1-03", "VipOpenNic of a name that no device has", code, BAD, {RESOURCE: "A107"})
    for name in ("", None):
        t.step(f"{name!r} gives {end.call('VipOpenNic', DeviceName=name).returned()}")
    alive(t)
