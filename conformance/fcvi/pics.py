"""The items of the PICS of FC-VI with their meaning; harness and device exchange them in ``hello``."""

from fcvi.engine.pics import Item, Items

#: Each item: what a device that claims it does, and the clause that says so.
MEANINGS = {
    "client": Item("originates Client-Server Connection Setups", "5.3.2"),
    "server": Item("answers Client-Server Connection Setups", "5.3.2"),
    "peer_to_peer": Item("does Peer-to-Peer Connection Setups", "5.3.3"),
    "loopback": Item("connects two VIs of its own port to each other", "5.3.4"),
    "unreliable_delivery": Item("has the Reliability Level Unreliable Delivery", "4.2"),
    "reliable_delivery": Item("has the Reliability Level Reliable Delivery", "4.2"),
    "reliable_reception": Item("has the Reliability Level Reliable Reception", "4.2"),
    "send": Item("sends and receives Send Messages", "5.2.1"),
    "rdma_write": Item("does RDMA Writes", "5.2.2"),
    "rdma_read": Item("does RDMA Reads", "5.2.5"),
    "immediate_data": Item("sends and receives Immediate Data", "6.2.2"),
    "class2": Item("uses Class 2 service, with an acknowledgement of each frame", "4.2"),
    "class3": Item("uses Class 3 service", "4.2"),
    "out_of_order_fabric": Item("works over a Fabric that delivers frames out of order", "Annex B"),
    "preference": Item("sends the Preference bit (every device has to receive it)", "5.8.2"),
    "connect_info": Item("sends connect information in a setup (every device has to receive it)", "6.9.3"),
    "explicit_login": Item("begins with PLOGI where no login is there; after a logout every device has to (7.7.2)", "5.6"),
    "farp": Item("resolves Host Addresses by FARP", "7.5"),
    "name_server": Item("resolves Host Addresses by the Name Server", "7.6"),
    "loop": Item("attaches to an Arbitrated Loop", "7.7.3"),
    "retry_waits_for_ba_acc": Item("waits for BA_ACC before it retries a setup", "C.3"),
    "disconnect_retry": Item("repeats an FCVI_DISCONNECT_RQST that stays unanswered", "D.1"),
    "unreliable_error_state": Item("goes to Error after a Message Error of an Unreliable Connection (choice c)", "8.4.2"),
    "pipeline_depth": Item("the FCVI_PIPELINE_DEPTH that it offers", "7.3"),
    "max_transfer_size": Item("the largest Message that it sends or receives, in bytes", "7.3"),
    "max_vis": Item("how many VIs it can have at a time", "4.2"),
    "max_discriminator_len": Item("the longest Discriminator that it takes, in bytes (MaxDiscriminatorLen)", "7.2"),
    "revision": Item("the text that it follows: the International Standard (2007) or Revision 1 of the draft (rev1)", "1"),
}

ITEMS = Items(
    booleans=(
        "client", "server", "peer_to_peer", "loopback", "unreliable_delivery", "reliable_delivery",
        "reliable_reception", "send", "rdma_write", "rdma_read", "immediate_data", "class2", "class3",
        "out_of_order_fabric", "preference", "connect_info", "explicit_login", "farp", "name_server", "loop",
        "retry_waits_for_ba_acc", "disconnect_retry", "unreliable_error_state",
    ),
    numbers={"pipeline_depth": 0, "max_transfer_size": 32768, "max_vis": 1, "max_discriminator_len": 128},
    words={"revision": ("2007", "rev1")},
    meanings=MEANINGS,
)  # fmt: skip
