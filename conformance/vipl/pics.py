"""The items of the PICS that the cases of VIPL ask for. An item that FC-VI has as well means the same here."""

from fcvi.engine.pics import Items

ITEMS = Items(
    booleans=("peer_to_peer", "unreliable_delivery", "reliable_delivery", "reliable_reception", "rdma_read"),
)
