"""What the texts leave to the provider (the errata A.. name each choice), and the named sets of choices that all conform."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choices:
    """One conforming provider."""

    delay_s: float = 0.0
    """How long work waits before it is done (S 6.3: processing may begin at any time after the post)."""
    batch_s: float = 0.0
    """Above 0: work is done at multiples of this time only."""
    reads_late_s: float = 0.0
    """Above 0: RDMA Reads take so long, and on Reliable Delivery what is behind them passes (S 6.3.1.1)."""
    receive_flushed_first: bool = True
    """Which queue is flushed first (A59)."""
    tell_of_disconnect: bool = True
    """False: the remote end learns of VipDisconnect at its next transfer (A17)."""
    named_at_target: bool = True
    """False: on RD and RR an error at the target is told by VIP_ERROR_CONN_LOST alone (A89)."""
    unfit_comes_back: bool = False
    """A Descriptor that the VI may not reach comes back, and nothing is written there (G 3.8.1); otherwise it is not queued."""
    pages: bool = True
    """Protection by page (S 3.2.1); False: by byte."""
    read_only_refused: bool = False
    """Read-only pages are refused (A64); otherwise they are registered, and nothing is written there."""
    bits_not_valid: bool = False
    """A Descriptor in error has bits, too, that are not valid at its level (A112)."""
    names_any_room: bool = False
    """VipNSGetHostByName gives an address whatever HostAddressLen says: the room is the caller's to see to (G 3.9.2)."""
    wire_gives_up_s: float = 0.0
    """Above 0: after so long the wire ends a request without limit. The header of the time has no name for the code (A34)."""
    null_handles: bool = False
    """The first NIC, tag, VI and connection have the handle NULL, which is a handle as good as any (A71)."""
    entries: int = 1536
    """MaxCQEntries; it may be told as a number with a sign (A76)."""
    rdma_read: bool = True
    reception: bool = True
    unreliable: bool = True
    discriminator: int = 40
    """MaxDiscriminatorLen (at least 16)."""
    segments: int = 253
    """MaxSegmentsPerDesc with the address segment (A16)."""
    per_queue: int = 200
    transfer: int = 65536


VARIANTS: dict[str, Choices] = {
    "plain": Choices(),
    "late": Choices(delay_s=0.004, receive_flushed_first=False),
    "batches": Choices(batch_s=0.010, pages=False),
    "reads-last": Choices(reads_late_s=0.020, named_at_target=False),
    "silent": Choices(tell_of_disconnect=False, named_at_target=False, read_only_refused=True),
    "unfit-comes-back": Choices(unfit_comes_back=True),
    "of-the-time": Choices(bits_not_valid=True, names_any_room=True, wire_gives_up_s=1.0),
    "odd-handles": Choices(null_handles=True, entries=(1 << 64) - 2),
    "least": Choices(rdma_read=False, reception=False, discriminator=16, per_queue=64, transfer=32768),
}

#: Values that are mixed by seed beside the default of each.
LIBERTIES: dict[str, tuple[object, ...]] = {
    "delay_s": (0.001, 0.02, 0.2), "batch_s": (0.005, 0.05), "reads_late_s": (0.005, 0.1), "receive_flushed_first": (False,),
    "tell_of_disconnect": (False,), "named_at_target": (False,), "unfit_comes_back": (True,), "pages": (False,),
    "read_only_refused": (True,), "bits_not_valid": (True,), "names_any_room": (True,), "wire_gives_up_s": (1.0,),
    "null_handles": (True,), "entries": (1024, (1 << 31) - 1, (1 << 63) + 5, (1 << 64) - 2), "rdma_read": (False,),
    "reception": (False,), "unreliable": (False,), "discriminator": (16, 4096), "segments": (252, 1024, 65535),
    "per_queue": (16, 64, 1024), "transfer": (32768, 1 << 31),
}
