"""The items of the PICS of FC-VI; harness and device exchange them in ``hello``."""

from fcvi.engine.pics import Items

ITEMS = Items(
    booleans=(
        "client", "server", "peer_to_peer", "loopback", "unreliable_delivery", "reliable_delivery",
        "reliable_reception", "send", "rdma_write", "rdma_read", "immediate_data", "class2", "class3",
        "out_of_order_fabric", "preference", "connect_info", "explicit_login", "farp", "name_server", "loop",
        "retry_waits_for_ba_acc", "disconnect_retry", "unreliable_error_state",
    ),
    numbers={"pipeline_depth": 0, "max_transfer_size": 32768, "max_vis": 1},
    words={"revision": ("2007", "rev1")},
)  # fmt: skip
