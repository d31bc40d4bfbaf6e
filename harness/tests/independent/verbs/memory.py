"""Memory, Memory Regions, Memory Windows, and who may touch what (clause 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple, Union

from .words import EBUSY, EFAULT, EINVAL, LOCAL_WRITE, MW_BIND, REMOTE_READ, REMOTE_WRITE, TOP, ZERO_BASED, Refused

if TYPE_CHECKING:
    from .model import Model, Pd
    from .qp import Qp

PAGE = 4096
ANY_REMOTE = REMOTE_READ | REMOTE_WRITE
KNOWN = LOCAL_WRITE | ANY_REMOTE | MW_BIND | ZERO_BASED | 8 | 64 | 128 | 1 << 20


class Memory:
    """Pages of the consumer."""

    __slots__ = ("va", "data", "writable")

    def __init__(self, va: int, data: bytearray, writable: bool) -> None:
        self.va, self.data, self.writable = va, data, writable


class Region:
    """A Memory Region: an STag, a base TO, a length, rights."""

    kind = "mr"

    def __init__(self, pd: "Pd") -> None:
        self.pd = pd
        self.memory: Memory = Memory(0, bytearray(), False)
        self.offset = self.length = self.base = self.rights = self.lkey = self.rkey = 0
        self.valid = True
        self.alive = True
        self.windows: List["Window"] = []

    def place(self, memory: Memory, offset: int, length: int, base: int) -> None:
        """What the region covers, and the TO of its first byte."""
        self.memory, self.offset, self.length, self.base = memory, offset, length, base

    def read(self, addr: int, length: int) -> bytes:
        """Bytes by TO."""
        begin = max(0, self.offset + addr - self.base)
        found = bytes(self.memory.data[begin:begin + length])
        return found + bytes(length - len(found))

    def write(self, addr: int, data: bytes) -> None:
        """Bytes by TO; what has no memory behind it is lost."""
        begin = self.offset + addr - self.base
        if begin < 0:
            data, begin = data[-begin:], 0
        room = len(self.memory.data) - begin
        if room > 0:
            part = data[:room]
            self.memory.data[begin:begin + len(part)] = part


class Window:
    """A Memory Window: bound to a part of a region (and, but for type 1, to a QP)."""

    kind = "mw"

    def __init__(self, pd: "Pd", sort: int, rkey: int) -> None:
        self.pd, self.sort, self.rkey = pd, sort, rkey
        self.valid = False
        self.alive = True
        self.region: Optional[Region] = None
        self.qp: Optional["Qp"] = None
        self.start = self.base = self.length = self.rights = 0
        self.first: Optional[Region] = None  # that it was bound to, for a fault
        self.most_rights = self.most_length = 0  # that it had, for faults

    def loose(self) -> None:
        """Invalid, and bound to nothing."""
        if self.region and self in self.region.windows:
            self.region.windows.remove(self)
        self.region, self.qp, self.valid = None, None, False

    def read(self, addr: int, length: int) -> bytes:
        """Bytes by TO of the window."""
        assert self.region
        return self.region.read(self.start + addr - self.base, length)

    def write(self, addr: int, data: bytes) -> None:
        """Bytes by TO of the window."""
        assert self.region
        self.region.write(self.start + addr - self.base, data)


Target = Union[Region, Window]


class Stags:
    """The STags of one RNIC, and the checks of every access (7.6.3, 7.10.6)."""

    def __init__(self, model: "Model") -> None:
        self.model = model
        self.local: Dict[int, Target] = {}
        self.remote: Dict[int, Target] = {}
        #: For faults: the first PD of a region, and regions that had local write.
        self.first_pd: Dict[int, "Pd"] = {}
        self.had_write: Set[int] = set()
        self.had_read: Set[int] = set()
        self.freed: Dict[int, Target] = {}
        self._index = 0
        self._free: List[int] = []

    # STags

    def fresh(self) -> int:
        """An STag that is not in use; the provider chooses all 32 bits of a region's."""
        if self._free and self.model.choose.key_reuse == "yes":
            index = self._free.pop(0)
        else:
            self._index += 1 + self.model.chance.randrange(3)
            index = 0x100 + self._index
        if self.model.choose.stags == "high":
            return (0xffffff - index if index < 0x800000 else index) << 8 | 0xff
        return index << 8 | self.model.chance.randrange(256)

    def give(self, region: Region) -> None:
        """Put a region under new STags."""
        self.first_pd.setdefault(id(region), region.pd)
        self.had_read |= {id(region)} if region.rights & REMOTE_READ else set()
        self.had_write |= {id(region)} if region.rights & LOCAL_WRITE else set()
        region.lkey = region.rkey = self.fresh()
        if self.model.choose.keys == "different":
            region.rkey = self.fresh()
        if self.model.flavour == "ib" and self.model.choose.zero_rkey == "yes" and 0 not in self.remote:
            region.rkey = 0
        self.local[region.lkey], self.remote[region.rkey] = region, region

    def take(self, target: Target) -> None:
        """No STag of this one any more."""
        gone = [key for key, held in self.local.items() if held is target]
        for key in gone:
            del self.local[key]
        for key in [key for key, held in self.remote.items() if held is target]:
            del self.remote[key]
            gone.append(key)
        self._free += sorted({key >> 8 for key in gone})

    def rename(self, window: Window, rkey: int) -> None:
        """A window has this STag from now on, and no other (7.10.2)."""
        if self.model.fault != "window-old-key-works":
            self.remote.pop(window.rkey, None)
            self.local.pop(window.rkey, None)
        window.rkey = rkey
        self.remote[rkey] = self.local[rkey] = window

    def find(self, table: Dict[int, Target], key: int, fault: str) -> Optional[Target]:
        """By all 32 bits (7.4)."""
        found = table.get(key)
        if found is None and self.model.fault == fault:
            return next((held for stag, held in table.items() if stag >> 8 == key >> 8), None)
        return found

    # Checks; each gives a word for what is wrong, or "" when nothing is.

    def sge(self, pd: "Pd", sge: Tuple[int, int, int], writes: bool) -> Tuple[Optional[Target], str]:
        """Local access through an SGE (7.4.1, 7.5.1); not for length 0."""
        key, addr, length = sge
        fault = self.model.fault
        target = self.find(self.local, key, "local-key-unchecked")
        if isinstance(target, Window):
            if fault == "sge-window-accepted" and target.valid:
                return target, ""
            return None, "window"
        if target is None or not (target.valid or fault == ("invalidated-receives" if writes else "invalidated-local-works")):
            return None, "stag"
        own = self.first_pd.get(id(target), target.pd) if fault == "rereg-pd-not-local" else target.pd
        if own is not pd and fault != ("local-pd-unchecked" if not writes else "receive-pd-unchecked"):
            return None, "pd"
        if addr + length > TOP and fault != "local-wrap-unchecked":
            return None, "wrap"
        if not self._inside(target.base, target.length, addr, length, "local"):
            return None, "bounds"
        had = fault == "rereg-posted-keeps-rights" and id(target) in self.had_write
        if writes and not (target.rights & LOCAL_WRITE or had) and fault != "local-write-unchecked":
            return None, "rights"
        if writes and fault == "receive-needs-remote-right" and not target.rights & REMOTE_WRITE:
            return None, "rights"
        return target, ""

    def _inside(self, base: int, held: int, addr: int, length: int, where: str) -> bool:
        fault = self.model.fault
        low, high = base, base + held
        if fault == f"{where}-start-minus-one":
            low -= 1
        elif fault == f"{where}-end-plus-one":
            high += 1
        elif fault == f"{where}-bounds-by-page":
            low, high = low // PAGE * PAGE, -(-high // PAGE) * PAGE
        elif fault == f"{where}-length-ignored":
            return low <= addr <= high
        elif fault == f"{where}-wrap-unchecked" and addr + length > TOP:
            return low <= addr <= high
        return low <= addr and addr + length <= high

    def tagged(self, qp: "Qp", key: int, addr: int, length: int, right: int, table: str = "remote") -> Tuple[Optional[Target], str]:
        """Access by an incoming tagged message (7.4.2, 7.6.3, 7.10.6.2); not for length 0."""
        fault = self.model.fault
        name = "write" if right == REMOTE_WRITE else "read"
        target = self.find(getattr(self, table), key, "remote-key-unchecked")
        if fault == "freed-window-read" and right == REMOTE_READ and target is None:
            target = self.freed.get(key)
        if target is None or not (target.valid or (fault == "invalidated-remote-works" and isinstance(target, Region))):
            return None, "stag"
        if isinstance(target, Window):
            if fault == "sink-window-unchecked" and table == "local":
                return target, ""
            return self._window(qp, target, addr, length, right)
        if target.pd is not qp.pd and fault != f"remote-{name}-pd-unchecked":
            return None, "pd"
        if addr + length > TOP and fault != "remote-wrap-unchecked":
            return None, "wrap"
        if not self._inside(target.base, target.length, addr, length, "remote"):
            return None, "bounds"
        if fault == "rereg-keeps-read-right" and right == REMOTE_READ and id(target) in self.had_read:
            return target, ""
        if not target.rights & right and fault != f"remote-{name}-right-unchecked":
            if not (fault == "one-remote-right-is-both" and target.rights & ANY_REMOTE):
                return None, "rights"
        return target, ""

    def sink(self, qp: "Qp", key: int, addr: int, length: int) -> Optional[Target]:
        """Where a Read Response is placed: by the rights of remote write (iwarp: 7.4.2), or of local write (ib: B29)."""
        fault = self.model.fault
        found = self.local.get(key)
        if fault == "sink-bounds-unchecked" and found is not None and found.valid and found.pd is qp.pd:
            return found
        if fault == "sink-pd-unchecked" and found is not None:
            return self.sge(found.pd, (key, addr, length), True)[0]
        if fault == "sink-key-unchecked":
            found = self.find(self.local, key, fault)
            return self.sge(qp.pd, (found.lkey if isinstance(found, Region) else key, addr, length), True)[0]
        if self.model.flavour == "ib":
            return self.sge(qp.pd, (key, addr, length), True)[0]
        if fault == "sink-right-unchecked":
            return self.sge(qp.pd, (key, addr, length), False)[0]
        target, _ = self.tagged(qp, key, addr, length, REMOTE_WRITE, "local")
        enabled = qp.access & REMOTE_WRITE or fault in ("sink-enable-unchecked", "qp-write-enable-ignored")
        return target if enabled else None

    def _window(self, qp: "Qp", window: Window, addr: int, length: int, right: int) -> Tuple[Optional[Target], str]:
        fault = self.model.fault
        if window.sort == 1 and self.model.flavour == "ib":
            if window.pd is not qp.pd:
                return None, "pd"
        elif window.qp is not qp and fault != "window-any-qp":
            return None, "pd"
        if addr + length > TOP:
            return None, "wrap"
        region = window.region
        assert region
        low, high = window.base, window.base + window.length
        if fault == "window-bounds-of-region":
            low, high = window.base - (window.start - region.base), window.base - (window.start - region.base) + region.length
        elif fault == "window-end-plus-one":
            high += 1
        if not (low <= addr and addr + length <= high) and not (
                fault == "zero-based-window-unbounded" and not window.base or
                fault == "window-reads-unbounded" and right == REMOTE_READ):
            return None, "bounds"
        if not window.rights & right and fault != "window-right-unchecked":
            return None, "rights"
        if fault == "window-needs-region-right" and not region.rights & right:
            return None, "rights"
        return window, ""

    # Binding and invalidating

    def bind_error(self, qp: "Qp", bind: Dict[str, Any]) -> str:
        """7.10.6.1, Figures 19 and 20."""
        fault = self.model.fault
        window, region = bind["mw"], bind["mr"]
        if not window.alive:
            return "window"
        old = window.sort == 1 and self.model.flavour == "ib"
        if window.valid and not old and fault != "bind-bound-window":
            return "valid"
        if self.model.choose.bind_enable == "asked" and not qp.access & MW_BIND:
            return "qp-right"
        if window.pd is not qp.pd and fault != "bind-window-pd-unchecked":
            return "pd"
        if old and not bind["length"]:
            return ""
        if region is None or not region.alive or not (region.valid or fault == "invalid-region-bound"):
            return "region"
        if region.pd is not qp.pd and fault != "bind-region-pd-unchecked":
            return "pd"
        if not region.rights & MW_BIND and fault != "bind-without-bind-right":
            return "bind-right"
        if region.rights & ZERO_BASED and fault != "bind-zero-based":
            return "zero-based"
        rights = bind["access"] & ANY_REMOTE
        if not rights:
            return "rights"
        if fault == "window-read-needs-local-write" and not region.rights & LOCAL_WRITE:
            return "rights"
        if rights & REMOTE_WRITE and not region.rights & LOCAL_WRITE and fault != "bind-write-without-local-write":
            return "rights"
        addr, length = bind["addr"], bind["length"]
        if not (region.base <= addr and addr + length <= region.base + region.length) and fault != "bind-bounds-unchecked":
            return "bounds"
        if not old and bind["rkey"] >> 8 != window.rkey >> 8:
            return "index"
        return ""

    def bind(self, qp: "Qp", bind: Dict[str, Any]) -> None:
        """7.10.2: what a bind does."""
        window, fault = bind["mw"], self.model.fault
        window.loose()
        if window.sort == 1 and self.model.flavour == "ib":
            self.rename(window, bind["rkey"])
            if not bind["length"]:
                return
        elif fault != "bind-key-ignored":
            self.rename(window, bind["rkey"])
        window.region, window.valid = bind["mr"], True
        window.qp = qp
        window.start, window.length = bind["addr"], bind["length"]
        window.base = 0 if bind["access"] & ZERO_BASED else bind["addr"]
        if fault == "window-keeps-its-region":
            window.first = window.first or bind["mr"]
            window.region, window.start = window.first, window.first.base + bind["addr"] - bind["mr"].base
        window.rights = bind["access"] & ANY_REMOTE
        if fault == "window-keeps-its-rights":
            window.rights = window.most_rights = window.rights | window.most_rights
        elif fault == "window-keeps-its-bounds":
            window.length = window.most_length = max(window.length, window.most_length)
        if fault == "window-write-implied":
            window.rights |= REMOTE_WRITE
        if fault == "bind-gives-region-rights":
            bind["mr"].rights |= window.rights
        bind["mr"].windows.append(window)

    def _named(self, key: int) -> Optional[Target]:
        """What an invalidation names."""
        found = self.find(self.remote, key, "invalidate-key-unchecked") or self.local.get(key)
        if found is None and self.model.choose.window_key == "unchecked":
            found = next((one for stag, one in self.remote.items() if isinstance(one, Window) and stag >> 8 == key >> 8), None)
        return found

    def invalidate_error(self, qp: "Qp", key: int, remote: bool) -> str:
        """7.8, 7.10.6.3."""
        fault = self.model.fault
        if not key and fault == "invalidate-stag-zero":
            return ""
        target = self._named(key)
        if target is None:
            return "stag"
        if isinstance(target, Window):
            if target.sort == 1 and self.model.flavour == "ib":
                return "type"
            if target.valid and target.qp is not qp and fault != "invalidate-window-any-qp":
                return "qp"
            if not target.valid and target.pd is not qp.pd and fault != "invalidate-window-any-pd":
                return "pd"
            if not target.valid and fault == "invalidate-twice-refused":
                return "invalid"
            if remote and target.valid and not self._remote_right(qp, target.rights):
                return "rights"
            return ""
        if self.model.flavour == "ib" and self.model.choose.region_invalidate == "no":
            return "type"
        if fault == "error-keeps-regions" and any(one.pd is qp.pd and one.state == "ERR" for one in qp.device.qps.values()):
            return "error"
        own = qp.srq.pd if qp.srq and fault == "invalidate-pd-of-srq" else qp.pd
        if target.pd is not own and fault != "invalidate-region-any-pd":
            return "pd"
        if target.windows and fault != "invalidate-bound-region":
            return "bound"
        if remote and not self._remote_right(qp, target.rights):
            return "rights"
        if not target.valid and (fault == "invalidate-twice-refused" or remote and fault == "send-inv-twice-refused"):
            return "invalid"
        return ""

    def _remote_right(self, qp: "Qp", rights: int) -> bool:
        if self.model.fault == "send-inv-local-rights":
            return True
        if self.model.fault == "send-inv-needs-both-rights" and rights & ANY_REMOTE != ANY_REMOTE:
            return False
        return bool(rights & ANY_REMOTE and qp.access & ANY_REMOTE)

    def invalidate(self, qp: "Qp", key: int) -> None:
        """What an invalidation does; overlapping regions stay (7.8)."""
        fault = self.model.fault
        target = self._named(key)
        if isinstance(target, Window):
            target.loose()
            target.pd = qp.pd
        elif target is not None:
            target.valid = False
            if fault == "invalid-region-loses-pd":
                target.pd = type(qp.pd)(qp.context)
            if fault == "invalidate-takes-overlapping":
                for other in list(self.local.values()):
                    if isinstance(other, Region) and other.memory is target.memory:
                        other.valid = False


def rights_error(rights: int) -> bool:
    """Figure 18; Local Read is always granted."""
    if rights & ~KNOWN:
        return True
    return bool(rights & (REMOTE_WRITE | 8) and not rights & LOCAL_WRITE)


def settle_region(model: "Model", region: Region, memory: Memory, offset: int, length: int, rights: int,
                  iova: Optional[int]) -> None:
    """Registration (7.3.2.2): verify, and place the region."""
    fault = model.fault
    if rights_error(rights) and not (fault == "remote-write-without-local" and not rights & ~KNOWN):
        raise Refused(EINVAL)
    if offset + length > len(memory.data):
        raise Refused(EFAULT)
    if rights & LOCAL_WRITE and not memory.writable and fault != "read-only-written":
        raise Refused(EFAULT)
    if rights & ZERO_BASED and model.choose.zero_based == "no":
        raise Refused(EINVAL)
    base = memory.va + offset
    if fault == "mr-aligned-only" and base % 8:
        raise Refused(EINVAL)
    if fault == "mr-even-length-only" and length % 2:
        raise Refused(EINVAL)
    if iova is not None:
        if iova and (iova % PAGE != base % PAGE and fault != "base-misfits" or iova + length > TOP):
            raise Refused(EINVAL)
        if not iova and model.choose.zero_based == "no":
            raise Refused(EINVAL)
        base = iova
    elif rights & ZERO_BASED and fault != "zero-based-ignored":
        base = 0
    region.place(memory, offset, length, base)
    region.rights = rights
    if iova == 0:
        region.rights |= ZERO_BASED


def bound(model: "Model", region: Region, fault: str) -> None:
    """No region with bound windows is destroyed or changed (7.9, 7.3.2.3)."""
    if region.windows and model.fault != fault:
        raise Refused(EBUSY)
