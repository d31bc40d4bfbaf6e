"""The items of the PICS that the cases of RDMA verbs ask for. They are what ``hello`` of the agent says of its provider."""

from fcvi.engine.pics import Item, Items

ITEMS = Items(
    booleans=("srq", "mw", "local_inv", "send_with_inv", "resize_cq", "rereg_mr", "resize_qp", "zero_based", "cm", "threads",
              "lossy"),
    words={"flavour": ("iwarp", "ib")},
    meanings={
        "flavour": Item("is of the iWARP or of the InfiniBand family", "B54, States"),
        "srq": Item("has shared receive queues", "6.3"),
        "mw": Item("has memory windows that can be bound", "7.10"),
        "local_inv": Item("takes Invalidate Local Stag", "7.8"),
        "send_with_inv": Item("takes Send with Invalidate", "7.8"),
        "resize_cq": Item("can change the size of a CQ", "5.3.3"),
        "rereg_mr": Item("can reregister a region", "7.3.2.3"),
        "resize_qp": Item("can change the size of the queues of a QP", "6.1.3"),
        "zero_based": Item("has regions whose offsets begin at zero", "7.3.1.1"),
        "cm": Item("is connected by librdmacm", "6.2.1.2"),
        "lossy": Item("is joined to the other end by a link that loses, doubles, delays and damages frames", "8.2.4"),
        "threads": Item("can be called by several threads at the same time", "7.9"),
    },
)
