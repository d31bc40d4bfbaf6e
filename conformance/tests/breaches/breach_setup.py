"""Setups and Disconnects broken in their course."""
from conformance.tests.breaches.scene import Scene
from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.scene import start


def refused(reason: int = 4) -> Scene:
    """A setup that the Server refuses."""
    w, a, b = start()
    c = flows.pair(w, a, b, 2)
    w.run(flows.connect(c, reason=reason))
    names = {"RQST": wire.CONNECT_RQST, "RESP1": wire.RESP1, "RESP2": wire.RESP2, "RESP3": wire.RESP3}
    return Scene(w, a, b, c, {name: c.ius[opcode] for name, opcode in names.items()})
