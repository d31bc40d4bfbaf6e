"""Says what a PICS may not claim together, and what it may not lack: the static review of ISO/IEC 9646."""

from __future__ import annotations

from fcvi.engine.review import PicsRule


def _missing(requirement: str, broken: str, message: str, required: str, erratum: str = "") -> PicsRule:
    return PicsRule(requirement, "missing", broken, message, required, erratum)


def _contradiction(requirement: str, broken: str, message: str, required: str) -> PicsRule:
    return PicsRule(requirement, "contradiction", broken, message, required)


RULES = (
    _contradiction(
        "FCVI-5.2.4-02", "rdma_read and not (reliable_delivery or reliable_reception)",
        "RDMA Read is claimed without a Reliability Level that permits it", "reliable_delivery or reliable_reception",
    ),
    _contradiction(
        "FCVI-8.4.2-c", "unreliable_error_state and not unreliable_delivery",
        "the choice of the Error state after a Message Error belongs to Unreliable Delivery", "unreliable_delivery",
    ),
    _contradiction(
        "FCVI-6.2.2-04", "immediate_data and not (send or rdma_write)",
        "Immediate Data is claimed, but no Message that could carry it", "send or rdma_write",
    ),
    _contradiction(
        "FCVI-4.2-01", "(send or rdma_write or rdma_read) and not (client or server or peer_to_peer)",
        "VI Messages are claimed, but no way to the FC-VI Connection they need", "client, server or peer_to_peer",
    ),
    _contradiction(
        "FCVI-7.3-04", "(send or rdma_write or rdma_read) and not max_transfer_size >= 1",
        "VI Messages are claimed, but the largest has no bytes", "max_transfer_size >= 1",
    ),
    _contradiction(
        "FCVI-4.2-01", "(client or server or peer_to_peer) and not max_vis >= 1",
        "connections are claimed, but no VI to connect", "max_vis >= 1",
    ),
    _contradiction(
        "FCVI-7.2-06", "max_discriminator_len >= 129",
        "Discriminators are longer than FCVI_NET_ADDRESS has room for", "max_discriminator_len of 128 at most",
    ),
    _missing("FCVI-T01-CONNECT_RQST-pos", "not client", "connections cannot be requested (5.1, Table 1)", "client"),
    _missing("FCVI-T01-CONNECT_RESP1-pos", "not server", "connections cannot be accepted (5.1, Table 1)", "server"),
    _missing("FCVI-T01-SEND_RQST-pos", "not send", "Send is mandatory (Table 1)", "send"),
    _missing("FCVI-T01-WRITE_RQST-pos", "not rdma_write", "RDMA Write is mandatory (Table 1)", "rdma_write"),
    _missing("FCVI-4.2-14", "not unreliable_delivery", "Unreliable Delivery is mandatory", "unreliable_delivery"),
    _missing("FCVI-4.2-14", "not reliable_delivery", "Reliable Delivery is expected", "reliable_delivery", "E111"),
    _missing("FCVI-4.2-15", "not peer_to_peer", "Peer-to-Peer is expected", "peer_to_peer", "E111"),
    _missing("FCVI-4.2-17", "not (class2 or class3)", "no class of service is claimed", "class2 or class3"),
    _missing("FCVI-7.4-02", "not farp", "FARP is mandatory", "farp"),
)  # fmt: skip
