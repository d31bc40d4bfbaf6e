"""Says what the texts leave to the provider (the errata A.. name each choice), and the named sets of choices that all conform."""

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
    travel_s: float = 0.0
    """How long a message is on its way. At UD and RD its Send is complete when it leaves (S 2.5.2, Table 1)."""
    aborts: bool = False
    """VipDisconnect takes back what is on its way (S 4.2: it aborts the Connection)."""
    ud_loses: int = 0
    """Above 0: each so manieth message at UD is lost (S 2.5.1, A105)."""
    ud_overtakes: bool = False
    """At UD each second message takes three times as long (S 2.5.1)."""
    entries_late_s: float = 0.0
    """The entry of a Completion Queue comes so long after DONE (A80)."""
    handlers_late_s: float = 0.0
    """Handlers of errors and of Notify are called so much later."""
    handlers_within: bool = False
    """The error handler is called in the thread of the call that found the error (G 3.8.1 guarantees no thread)."""
    one_handler_thread: bool = False
    """One thread calls every handler of Notify (G 3.5.12 recommends one for each queue)."""
    scribbles: str = "no"
    """When a receive's buffers are written: "early" while it waits, "unused" behind the message, "failed" in error (G 5.5)."""
    stale_fields: bool = False
    """Next, NextHandle and an ImmediateData that is not valid hold anything (G 5.5)."""
    error_length: int = 0
    """The Length of a Descriptor in error, other than an overrun (A84)."""
    error_operation: bool = True
    """False: the code of the operation of a Descriptor in error is 0 (A82)."""
    partial: bool = False
    """PARTIAL stands beside each error (A59, A86)."""
    flushed_transport: bool = False
    """A receive or an RDMA Read that is flushed at a reliable level has TRANSPORT as well (A28)."""
    lost_as_well: bool = False
    """Behind the named error the target hears of VIP_ERROR_CONN_LOST (A42)."""
    local_tells: bool = False
    """An error that a Descriptor tells at a reliable level calls the handler of its VI, too (A57)."""
    ud_tells: bool = False
    """UD: the target hears of what it dropped (A19, A54)."""
    no_match: str = "VIP_NO_MATCH"
    """What a client gets when nobody waits (A24)."""
    calls_take_s: float = 0.0
    """How long every call takes."""
    waits_begin_s: float = 0.0
    """How long the thread of a VipConnectWait takes to begin: requests until then find nobody (G 3.3.4)."""
    late_timeouts_s: float = 0.0
    """How much later than asked a call returns whose time is over; a little sooner by the grain of a clock (A75)."""
    idle_sends_late_s: float = 0.0
    """How long a Send takes to fail in Idle and Pending (S 5.1: immediately)."""
    overrun: str = "catastrophe"
    """One post too many: "catastrophe", there is "room", it is "refused", or comes back in "error" (A97)."""
    misaligned_refused: bool = False
    """A Descriptor that is not aligned: VIP_INVALID_PARAMETER at the post (A99)."""
    cq_zero: bool = False
    """A Completion Queue of no entries can be made (A39)."""
    stale_entries: bool = True
    """False: an entry goes when its Descriptor is taken without it (A81)."""
    small_sizes: bool = True
    """False: a VI with a MaxTransferSize under 32 KB is refused (A68)."""
    size_zero: bool = False
    """A VI with a MaxTransferSize of 0 can be made (A69)."""
    read_on_ud: bool = False
    """EnableRdmaRead is taken at UD (A100)."""
    zero_checked: bool = False
    """Segments of no bytes are checked, too (A62)."""
    short_discriminators: bool = True
    """False: Discriminators under 16 bytes are refused (A41)."""
    padded: bool = False
    """Discriminators match when one is the other and zeros (A48)."""
    many_segments_format: bool = False
    """Too many segments are a FORMAT error (A13)."""
    vi_maximum: bool = True
    """False: a Send above the VI's maximum and below the NIC's succeeds (A08)."""
    copies: bool = False
    """What lies in memory that was registered at the post is carried out, though it was de-registered meanwhile (A96)."""
    bad_receives_early: bool = False
    """A faulty receive comes back when it is at the head, without a message (A88)."""
    write_both_bits: bool = False
    """RR: a refused RDMA Write with Immediate Data has REMOTE_DESC beside RDMA_PROT (A14)."""
    handle_values: str = "addresses"
    """Handles look like "addresses", are "high", or a value is given out anew at once: "reused" (A51)."""
    mem_handles: str = "random"
    """Memory handles: "random", "counted", "high", from "zero", "each" NIC counts its own, the least free: "reused" (A71)."""
    reads_at: str = "both"
    """At which reliable levels there are RDMA Reads: "both", "delivery", "reception" (G 4.5)."""
    thread_safe: bool = True
    """ThreadSafe."""
    most_vis: int = 96
    most_cqs: int = 48
    most_regions: int = 600
    most_ptags: int = 160
    mtu: int = 1500
    """NativeMTU, which has nothing to do with MaxTransferSize."""
    peer_again: bool = False
    """The outcome of a peer request is told as often as it is asked for (A32)."""
    peers_one_told: bool = False
    """Peers with unequal attributes: the one that came second is told, the other one times out (A91)."""
    short_name_len: bool = False
    """VipNSGetHostByAddr without room tells the length without the NUL (A36)."""
    nodes: int = 1
    """How many other nodes autodiscovery finds one link away."""
    links: int = 1
    """How many links away the other NIC is: a switch makes two of one (G 3.7.6)."""
    most_opens: int = 64
    """How many handles of one NIC there can be; more than one (G 3.1.1)."""
    no_name: bool = False
    """NULL and the empty string name the default device (A107)."""
    phase: str = "Full"
    """The phase of conformance: "Early Adopter" and "Functional" have fewer calls, and the first no tags (G 2.2)."""
    cq_overrun: str = "none"
    """An entry for which a Completion Queue has no room: there is more room, the "newest" or the "oldest" is lost, or the VIs are
    disconnected in a "catastrophe" (S 6.4.1, G 6.3.2)."""
    next_told: bool = False
    """A Next that was altered after the post is told of (G 3.8.1); otherwise nobody looks at it (A98)."""
    damage: str = "dropped"
    """UD: a message that is damaged or cut is "dropped", or comes in "error" (S 2.5.1, 2.5-05)."""
    loss_seen: str = "next"
    """RD: a loss is seen with the "next" message, by a "timer" (0.3 s), or is "repaired" (A55)."""
    partition_seen: bool = True
    """The NIC can detect a partition; without that there are timeouts alone (G 3.3.4)."""
    remote_ptag: str = "none"
    """What RemoteViAttribs has as the tag, which is exchanged with nobody (G 6.7): "none", "zero", or the "first" of the NIC."""
    address_bytes: int = 16
    """NicAddressLen."""
    notify_within: bool = False
    """A handler of Notify whose Descriptor is complete already is called within the call (G 3.5.12 recommends a thread)."""
    names_from_files: bool = False
    """VipNSInit needs a file: default behaviour is recommended alone (G 3.9.1)."""
    names_upper: bool = False
    """VipNSGetHostByAddr tells names in capitals: case is nothing to a name (G 3.9.2)."""
    disconnect_takes_s: float = 0.0
    """How long VipDisconnect takes."""
    accept_takes_s: float = 0.0
    """How long VipConnectAccept takes; its VI is Pending meanwhile (S 5.2)."""
    sink_early: bool = False
    """The sink of an RDMA Read holds anything before the Read is complete (S 6.3.1.1)."""
    empty_late_s: float = 0.0
    """How much later than the message the target finds that it had no receive."""
    peers_meet_late_s: float = 0.0
    """How long two peer requests take to find each other."""
    flush_late_s: float = 0.0
    """How long behind the transition to Error its Descriptors come back."""
    zero_remote_checked: bool = False
    """The target checks the address of an RDMA of no bytes, too (A62)."""
    block_bytes: int = 1 << 26
    """MaxRegisterBlockBytes."""
    empty_when_done: bool = False
    """A queue whose Descriptors are all complete is empty for VipQueryVi (A06)."""
    cq_grows: bool = True
    """False: there is no room for more entries than a Completion Queue has (G 3.6.3)."""
    own_nics_listed: bool = True
    """False: autodiscovery leaves out the other NIC of the same node (A111)."""
    long_name: bool = False
    """The name of the NIC has all the characters that there is room for."""
    busy_code: str = "VIP_INVALID_STATE"
    """What VipDestroyVi tells of a VI that is not Idle (A02)."""
    no_time: str = "VIP_INVALID_PARAMETER"
    """What VipConnectRequest tells of a timeout of zero (A03)."""
    cq_wait_code: str = "VIP_ERROR_RESOURCE"
    """What a wait on a queue of a Completion Queue is told (A05)."""
    sizes_meet: bool = False
    """Unequal maxima become the smaller one at both ends (A07)."""
    ud_ends: bool = False
    """UD: a message that finds a bad receive moves its VI to Error (A15)."""
    idle_told: bool = False
    """An error of the Idle state is told at once, too (A26)."""
    accept_returns_s: float = 0.0
    """How long after the connection is up VipConnectAccept returns (A27)."""
    idle_format: bool = False
    """A Send in Idle or Pending is a FORMAT error (A28)."""
    unreachable_idle: bool = False
    """VIP_NOT_REACHABLE leaves the VI in Idle at every level (A31)."""
    late_accept_ends: bool = False
    """An accept whose client has gone leaves its VI in Error (A33)."""
    cut_off: str = "VIP_INVALID_STATE"
    """What a request is told whose VI is disconnected meanwhile (A74)."""
    unfit_refused: bool = False
    """A Descriptor that the VI may not reach: VIP_INVALID_PARAMETER at the post (A99)."""
    one_wait: bool = False
    """A second wait with the discriminator of one that waits is refused (A108)."""
    last_first: bool = False
    """Of the threads and waits that could go on, the youngest goes first: no text gives them an order."""
    told_twice: bool = False
    """Each error is told twice (A42)."""
    control_changed: bool = False
    """Bit 2 of the Control field is set in what has completed (A11)."""
    writes_next: bool = True
    """False: the library keeps a list of its own, and Next stays as it was (A98)."""
    last_name: bool = False
    """Of several names of an address VipNSGetHostByAddr tells the last (G 3.9.3)."""
    shrinks_with_loss: bool = False
    """VipResizeCQ below the entries that are there loses the newest (A40)."""
    versions: int = 5
    """HardwareVersion and ProviderVersion, which are the vendor's (G 4.5)."""
    rdma_read: bool = True
    reception: bool = True
    delivery: bool = True
    unreliable: bool = True
    discriminator: int = 40
    """MaxDiscriminatorLen (at least 16)."""
    segments: int = 253
    """MaxSegmentsPerDesc with the address segment (A16)."""
    per_queue: int = 200
    transfer: int = 65536


VARIANTS: dict[str, Choices] = {
    "plain": Choices(),
    "late": Choices(delay_s=0.004, waits_begin_s=0.03, receive_flushed_first=False),
    "batches": Choices(batch_s=0.010, pages=False),
    "reads-last": Choices(reads_late_s=0.020, named_at_target=False),
    "silent": Choices(tell_of_disconnect=False, named_at_target=False, read_only_refused=True),
    "unfit-comes-back": Choices(unfit_comes_back=True),
    "of-the-time": Choices(bits_not_valid=True, names_any_room=True, wire_gives_up_s=1.0, empty_when_done=True,
                           own_nics_listed=False, cq_grows=False),
    "odd-handles": Choices(null_handles=True, entries=(1 << 64) - 2),
    "early": Choices(phase="Early Adopter", unreliable=False, reception=False, rdma_read=False),
    "functional": Choices(phase="Functional", unreliable=False, cq_overrun="catastrophe", next_told=True),
    "long-descriptors": Choices(segments=1024, cq_overrun="oldest"),
    "least": Choices(rdma_read=False, reception=False, discriminator=16, per_queue=64, transfer=32768),
}

#: Values that are mixed by seed beside the default of each.
LIBERTIES: dict[str, tuple[object, ...]] = {
    "delay_s": (0.001, 0.02, 0.2), "batch_s": (0.005, 0.05), "reads_late_s": (0.005, 0.1), "receive_flushed_first": (False,),
    "tell_of_disconnect": (False,), "named_at_target": (False,), "unfit_comes_back": (True,), "pages": (False,),
    "read_only_refused": (True,), "bits_not_valid": (True,), "names_any_room": (True,), "wire_gives_up_s": (1.0,),
    "null_handles": (True,), "entries": (1024, (1 << 31) - 1, (1 << 63) + 5, (1 << 64) - 2), "rdma_read": (False,),
    "reception": (False,), "unreliable": (False,), "discriminator": (16, 4096), "segments": (252, 1024, 65535),
    "per_queue": (16, 64, 1024), "transfer": (32768, 1 << 31), "delivery": (False,),
    "travel_s": (0.001, 0.02, 0.15), "aborts": (True,),
    "ud_loses": (2, 3, 7), "ud_overtakes": (True,), "entries_late_s": (0.003, 0.1), "handlers_late_s": (0.003, 0.3),
    "handlers_within": (True,), "one_handler_thread": (True,), "scribbles": ("early", "unused", "failed"), "stale_fields": (True,),
    "error_length": (1, 0xFFFFFFFF), "error_operation": (False,), "partial": (True,), "flushed_transport": (True,),
    "lost_as_well": (True,), "local_tells": (True,), "ud_tells": (True,), "no_match": ("VIP_REJECT", "VIP_TIMEOUT"),
    "calls_take_s": (0.0005, 0.02), "waits_begin_s": (0.01, 0.12), "late_timeouts_s": (0.01, 0.7, -0.015),
    "idle_sends_late_s": (0.002, 0.4),
    "overrun": ("room", "refused", "error"), "misaligned_refused": (True,), "cq_zero": (True,),
    "stale_entries": (False,), "small_sizes": (False,), "size_zero": (True,), "read_on_ud": (True,), "zero_checked": (True,),
    "short_discriminators": (False,), "padded": (True,), "many_segments_format": (True,), "vi_maximum": (False,), "copies": (True,),
    "bad_receives_early": (True,), "write_both_bits": (True,), "handle_values": ("high", "reused"),
    "mem_handles": ("counted", "high", "zero", "each", "reused"), "reads_at": ("delivery", "reception"), "thread_safe": (False,),
    "most_vis": (2, 8, 4096), "most_cqs": (4, 1024), "most_regions": (8, 24, 100_000), "most_ptags": (96, 1 << 31),
    "mtu": (48, 1 << 24),
    "peer_again": (True,), "peers_one_told": (True,), "short_name_len": (True,), "nodes": (2, 5), "no_name": (True,),
    "links": (2, 7), "most_opens": (3,),
    "remote_ptag": ("zero", "first"), "address_bytes": (4, 6, 20, 64), "notify_within": (True,), "names_from_files": (True,),
    "names_upper": (True,), "disconnect_takes_s": (0.004, 0.4), "accept_takes_s": (0.004, 0.4), "sink_early": (True,),
    "empty_late_s": (0.004, 0.3), "peers_meet_late_s": (0.004, 0.3), "flush_late_s": (0.004, 0.3), "zero_remote_checked": (True,),
    "block_bytes": (1 << 18,), "empty_when_done": (True,), "own_nics_listed": (False,), "cq_grows": (False,),
    "long_name": (True,), "busy_code": ("VIP_ERROR_RESOURCE",), "no_time": ("VIP_TIMEOUT",),
    "cq_wait_code": ("VIP_INVALID_PARAMETER",), "sizes_meet": (True,), "ud_ends": (True,), "idle_told": (True,),
    "accept_returns_s": (0.004, 0.4), "idle_format": (True,), "unreachable_idle": (True,), "late_accept_ends": (True,),
    "cut_off": ("VIP_TIMEOUT", "VIP_REJECT", "VIP_ERROR_RESOURCE"), "unfit_refused": (True,),
    "one_wait": (True,), "last_first": (True,), "told_twice": (True,), "control_changed": (True,), "writes_next": (False,),
    "last_name": (True,), "shrinks_with_loss": (True,), "versions": (0, 0xFFFF_FFFF),
    "phase": ("Functional", "Early Adopter"), "cq_overrun": ("newest", "oldest", "catastrophe"), "next_told": (True,),
    "damage": ("error",), "loss_seen": ("timer", "repaired"), "partition_seen": (False,),
}
