"""Holds what both ends share: time and memory; and the calls on NICs, tags, regions and queries (G 3.1, 3.4, 3.7)."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any, Callable, Optional

from . import codes as c
from .memory import PAGE, Space
from .objects import Attributes, ErrorReport, Nic, Ptag, Region
from .threads import Steps, Thread, Threads
from .variants import Choices

ADDRESSES = {
    "VINIC": bytes.fromhex("fd00000000000000000000000000a101"),
    "VINIC1": bytes.fromhex("fd00000000000000000000000000a202"),
}
ALIAS = {"VINIC0": "VINIC"}
MAX_BYTES = 1 << 27


def _with_sign(number: int) -> int:
    """As a language tells it whose numbers of 64 bits have a sign (A76)."""
    return number if number < 1 << 63 else number - (1 << 64)


class World:
    """One process with one NIC for each device."""

    def __init__(self, choices: Choices, seed: int, threads: Threads) -> None:
        self.choices, self.space, self.threads = choices, Space(), threads
        self.ended = False
        self.nics: list[Nic] = []
        self._random = random.Random(seed)
        self._handles = itertools.count(0 if choices.mem_handles == "zero" else 1)
        threads.last_first = choices.last_first
        self.notifier = Thread(threads)

    # ---- time ----

    def until(self, met: Callable[[], bool], seconds: Optional[float]) -> Steps[None]:
        """Block until ``met`` or the time is up. The end of the world meets everything."""
        late = self.choices.late_timeouts_s if seconds else 0
        yield self.threads.until(lambda: self.ended or met(), max(seconds + late, 0.001) if seconds else seconds)

    def later(self, job: Callable[[], None]) -> None:
        """Call a handler now, or when the provider gets to it."""
        if self.choices.handlers_late_s:
            self.threads.after(self.choices.handlers_late_s, job)
        else:
            job()

    def end(self) -> None:
        """Every NIC goes away and every call returns."""
        self.ended = True
        for nic in list(self.nics):
            nic.handler = None

    # ---- errors ----

    def report(self, report: ErrorReport) -> None:
        """VipErrorCallback's handler, or the log of the default one (G 3.8.1)."""
        handler = report.nic.handler
        if handler is None or report.nic.gone:
            return
        if self.choices.told_twice:
            again = functools.partial(handler, report)
            self.later(lambda: report.nic.thread.do(again))
        if self.choices.handlers_within and self.threads.current.call is not None:
            handler(report)
            return
        call = functools.partial(handler, report)
        self.later(lambda: report.nic.thread.do(call))

    # ---- NICs ----

    def open_nic(self, name: Optional[str]) -> tuple[str, Optional[Nic]]:
        """G 3.1.1; NULL and the empty name are no device here (A107)."""
        device = ALIAS.get(name or "", name or ("VINIC" if self.choices.no_name else ""))
        if device not in ADDRESSES:
            return c.PARAMETER, None
        if sum(nic.device == device for nic in self.nics) >= self.choices.most_opens:
            return c.RESOURCE, None
        (other,) = (address for known, address in ADDRESSES.items() if known != device)
        nic = Nic(device, self.address_of(ADDRESSES[device]), self.address_of(other), Thread(self.threads))
        self.nics.append(nic)
        return c.OK, nic

    def address_of(self, whole: bytes) -> bytes:
        """An address of 16 bytes, as long as they are here."""
        return whole[-self.choices.address_bytes:].rjust(self.choices.address_bytes, b"\x0a")

    def query_nic(self) -> dict[str, Any]:
        """VIP_NIC_ATTRIBUTES without name and address (G 4.5)."""
        choices = self.choices
        levels = [c.LEVEL_NAMES[level] for level in (c.UD, c.RD, c.RR) if self.has_level(level)]
        reads = [c.LEVEL_NAMES[level] for level in (c.RD, c.RR) if self.reads(level)]
        return {
            "HardwareVersion": choices.versions, "ProviderVersion": choices.versions, "NicAddressLen": choices.address_bytes,
            "ThreadSafe": choices.thread_safe,
            "MaxDiscriminatorLen": choices.discriminator, "MaxRegisterBytes": MAX_BYTES, "MaxRegisterRegions": choices.most_regions,
            "MaxRegisterBlockBytes": choices.block_bytes, "MaxVI": choices.most_vis, "MaxDescriptorsPerQueue": choices.per_queue,
            "MaxSegmentsPerDesc": choices.segments, "MaxCQ": choices.most_cqs, "MaxCQEntries": _with_sign(choices.entries),
            "MaxTransferSize": choices.transfer, "NativeMTU": choices.mtu, "MaxPtags": self.most_ptags,
            "ReliabilityLevelSupport": levels, "RDMAReadSupport": reads,
        }

    @property
    def most_ptags(self) -> int:
        """At least one for each VI (S 3.2.2.1)."""
        return max(self.choices.most_ptags, self.choices.most_vis)

    def has_level(self, level: int) -> bool:
        """Whether exactly one level that the NIC has is named."""
        choices = self.choices
        return {c.UD: choices.unreliable, c.RD: choices.delivery, c.RR: choices.reception}.get(level, False)

    def reads(self, level: int) -> bool:
        """Whether there are RDMA Reads at this level."""
        at = {c.RD: ("both", "delivery"), c.RR: ("both", "reception")}.get(level, ())
        return self.choices.rdma_read and self.has_level(level) and self.choices.reads_at in at

    # ---- tags and regions ----

    def create_ptag(self, nic: Nic) -> tuple[str, Optional[Ptag]]:
        """G 3.4.1."""
        if len(nic.ptags) >= self.most_ptags:
            return c.RESOURCE, None
        nic.ptags.append(Ptag(nic))
        return c.OK, nic.ptags[-1]

    def destroy_ptag(self, nic: Nic, ptag: Optional[Ptag]) -> str:
        """G 3.4.2: a tag in use stays."""
        if ptag is None or ptag.gone or ptag.nic is not nic:
            return c.PARAMETER
        if ptag.users:
            return c.RESOURCE
        ptag.gone = True
        nic.ptags.remove(ptag)
        return c.OK

    def _rights(self, nic: Nic, ptag: Optional[Ptag], read: bool) -> str:
        if ptag is None or ptag.gone or ptag.nic is not nic:
            return c.PTAG
        return c.RDMAREAD if read and not (self.reads(c.RD) or self.reads(c.RR)) else c.OK

    def register(self, nic: Nic, va: int, length: int, ptag: Optional[Ptag], write: bool, read: bool) -> tuple[str, int]:
        """G 3.4.3: the code, and the handle or 0."""
        if length == 0:
            return c.PARAMETER, 0
        if (code := self._rights(nic, ptag, read)) != c.OK:
            return code, 0
        assert ptag is not None
        total = sum(region.length for region in nic.regions.values())
        if length > self.choices.block_bytes or total + length > MAX_BYTES or len(nic.regions) >= self.choices.most_regions:
            return c.RESOURCE, 0
        block = self.space.block(va, length)
        if block is None or block.pages == "unmapped" or (block.pages == "read-only" and self.choices.read_only_refused):
            return c.PARAMETER, 0
        mine = [nic] if self.choices.mem_handles == "each" else self.nics
        handle = self._handle(nic)
        while any(handle in other.regions for other in mine):
            handle = self._handle(nic)
        nic.regions[handle] = Region(va, length, ptag, write, read)
        ptag.users += 1
        return c.OK, handle

    def _handle(self, nic: Nic) -> int:
        if self.choices.mem_handles == "random":
            return self._random.randrange(1, 1 << 32)
        if self.choices.mem_handles == "reused":
            return next(number for number in itertools.count(1) if all(number not in other.regions for other in self.nics))
        if self.choices.mem_handles == "each":
            nic.counted += 1
            return nic.counted
        number = next(self._handles)
        return 0xFFFFFFFF - number if self.choices.mem_handles == "high" else number

    def region(self, nic: Nic, va: int, handle: int) -> Optional[Region]:
        """The region that was registered at this very address under this handle."""
        region = nic.regions.get(handle)
        return region if region is not None and region.va == va else None

    def deregister(self, nic: Nic, va: int, handle: int) -> str:
        """G 3.4.4."""
        region = self.region(nic, va, handle)
        if region is None:
            return c.PARAMETER
        del nic.regions[handle]
        region.ptag.users -= 1
        return c.OK

    def set_region(self, nic: Nic, va: int, handle: int, ptag: Optional[Ptag], write: bool, read: bool) -> str:
        """G 3.7.4: all or nothing."""
        region = self.region(nic, va, handle)
        if region is None:
            return c.PARAMETER
        if (code := self._rights(nic, ptag, read)) != c.OK:
            return code
        assert ptag is not None
        region.ptag.users -= 1
        ptag.users += 1
        region.ptag, region.write, region.read = ptag, write, read
        return c.OK

    def reach(self, nic: Nic, va: int, length: int, handle: int, ptag: Optional[Ptag]) -> Optional[Region]:
        """The region under ``handle`` when its pages hold the range and its tag fits (S 3.2.1, 3.2.2.1)."""
        region = nic.regions.get(handle)
        if region is None or region.ptag is not ptag:
            return None
        low, high = region.va, region.va + region.length
        if self.choices.pages:
            low, high = low // PAGE * PAGE, -(-high // PAGE) * PAGE
        return region if low <= va and va + length <= high else None

    # ---- attributes ----

    def check_attributes(self, nic: Nic, a: Attributes) -> str:
        """The codes of VipCreateVi and VipSetViAttributes; the order is open (A47)."""
        if a.ptag is None or a.ptag.gone or a.ptag.nic is not nic:
            return c.PTAG
        if a.qos is not None:
            return c.QOS
        if not self.has_level(a.level):
            return c.LEVEL
        least = 0 if self.choices.size_zero else 1
        if not least <= a.size <= self.choices.transfer or (0 < a.size < 32768 and not self.choices.small_sizes):
            return c.MTU
        if a.read and not (self.choices.read_on_ud if a.level == c.UD else self.reads(a.level)):
            return c.RDMAREAD
        return c.OK
