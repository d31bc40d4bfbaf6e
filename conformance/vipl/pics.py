"""The items of the PICS that the cases of VIPL ask for. An item that FC-VI or VI/TCP has as well means the same here."""

from fcvi.engine.pics import Item, Items

ITEMS = Items(
    booleans=("peer_to_peer", "unreliable_delivery", "reliable_delivery", "reliable_reception", "rdma_read", "tcp"),
    meanings={"tcp": Item("speaks VI/TCP", "2.2.2.2")},
)
