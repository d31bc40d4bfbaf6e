"""The items of the PICS of VI/TCP with their meaning. An item that FC-VI has as well means the same on both wires."""

from fcvi.engine.pics import Item, Items

MEANINGS = {
    "tcp": Item("speaks VI/TCP", "2.2.2.2"),
    "ipv6": Item("uses IP version 6 as well as version 4", "2.2.2.2.1"),
    "flow_control": Item("offers Descriptor Flow Control when it connects", "2.2.1"),
    "long_counts": Item("may be posted 65,600 Descriptors of either queue in one connection, which can take minutes", "3.1"),
}

ITEMS = Items(
    booleans=(
        "client", "server", "peer_to_peer", "unreliable_delivery", "reliable_delivery", "reliable_reception", "send", "rdma_write",
        "rdma_read", "immediate_data", "tcp", "ipv6", "flow_control",
        "long_counts",
    ),
    numbers={"max_transfer_size": 32768, "max_vis": 1},
    meanings=MEANINGS,
)  # fmt: skip
