"""Passing over captures in C, and stopping where something is wrong.

It comes with the extension module alone: for a capture in which nothing is wrong the rest of the package would take longer to
load than the capture to read.
"""

from __future__ import annotations

import os

from _fcvi import ffi, lib

from fcvi.engine.words import UsageError, number

from .limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional

_ERROR_SIZE = 512
_EXCHANGES, _ENDPOINTS = 16384, 8192
_LINE = 64  # of a cache
_uncleared = ffi.new_allocator(should_clear_after_alloc=False)


class ScanError(Exception):
    """A capture that cannot be read: one line that says what, where and how far."""


_CUT = "cut off before what is needed to judge it"
_FRAGMENTS = "fragment of an IP datagram whose other fragments are missing or cut off"
_PARTS = "part of a TCP stream of port 3225 that holds no whole FC-2 frame, or whose other parts are missing"


def protocol_name(protocol: int) -> str:
    """A protocol of foreign records in words."""
    if protocol == 0:
        return "FIP"
    words = ffi.new("char[]", 64)
    lib.fcvi_capture_protocol(protocol, words, 64)
    return str(ffi.string(words), "ascii")


def foreign_of(tally: Any) -> dict[str, int]:
    """The foreign records of one file by protocol."""
    foreign = {protocol_name(f.protocol): int(f.count.records) for f in tally.foreign[0 : tally.protocols]}
    foreign["other protocols"] = foreign.get("other protocols", 0) + int(tally.others.records)
    return foreign


_MOST_NAMES = 6  # of what a capture has instead of FC-VI


class Records:
    """What became of the records of captures: each is judged, not judged (by reason) or foreign (by protocol)."""

    def __init__(self) -> None:
        self.all = self.judged = self.in_part = self.gaps = self.appended = self.bare = 0
        self.rev1 = self.undecided = self.setups_2007 = self.setups_rev1 = 0  # IUs; each try of a setup
        self.vitcp = 0  # PDUs
        self.late = 0  # records whose time is before that of one before them
        self.empty: list[tuple[int, int]] = []  # of each file that has such, records without a byte, and the number of the first
        self.capture: list[str] = []  # what the capture point made of frames, a sentence each
        self.not_judged: dict[str, int] = {}
        self.foreign: dict[str, int] = {}

    def take(self, tally: Any) -> None:
        """Add the tally of one file."""
        foreign = foreign_of(tally)
        for entry in tally.foreign[0 : tally.protocols]:
            if entry.protocol >> 16 == lib.CAPTURE_EMPTY:
                self.empty.append((int(entry.count.records), int(entry.count.first)))
        cut = tally.unjudged[lib.JUDGE_CUT].records
        parts = tally.records - tally.judged.records - cut - tally.fragments - sum(foreign.values())
        self.all += tally.records
        self.judged += tally.judged.records
        self.in_part += tally.part.records
        self.gaps += tally.gaps.records
        self.appended += tally.appended.records
        self.bare += tally.bare.records
        self.late += tally.clock.late
        self.rev1 += tally.rev1
        self.undecided += tally.undecided
        self.setups_2007 += tally.setups[lib.FCVI_EDITION_2007]
        self.setups_rev1 += tally.setups[lib.FCVI_EDITION_REV1]
        _add(self.not_judged, {_CUT: cut, _PARTS: parts, _FRAGMENTS: tally.fragments})
        _add(self.foreign, foreign)

    def take_streams(self, records: tuple[int, int, dict[str, int], dict[str, int]]) -> None:
        """Of the records that ``take`` was told of these were taken for TCP: all, judged, not judged, foreign."""
        every, judged, not_judged, foreign = records
        if every and _PARTS in self.not_judged:
            self.not_judged[_PARTS] -= every
            if self.not_judged[_PARTS] == 0:
                del self.not_judged[_PARTS]
        self.judged += judged
        _add(self.not_judged, not_judged)
        _add(self.foreign, foreign)

    def add(self, other: Records) -> None:
        """And those of another."""
        self.all += other.all
        self.judged += other.judged
        self.in_part += other.in_part
        self.gaps += other.gaps
        self.appended += other.appended
        self.bare += other.bare
        self.late += other.late
        self.capture += other.capture
        self.empty += other.empty
        self.rev1 += other.rev1
        self.vitcp += other.vitcp
        self.undecided += other.undecided
        self.setups_2007 += other.setups_2007
        self.setups_rev1 += other.setups_rev1
        _add(self.not_judged, other.not_judged)
        _add(self.foreign, other.foreign)

    def as_json(self) -> dict[str, Any]:
        """``judged``, the values of ``not_judged`` and those of ``foreign`` add up to ``all``."""
        return {
            "all": self.all, "judged": self.judged, "judged_in_part": self.in_part, "not_judged": self.not_judged,
            "foreign": self.foreign, "gaps": self.gaps, "appended": self.appended, "late": self.late, "capture": self.capture,
        }  # fmt: skip

    def editions(self) -> Optional[dict[str, Any]]:
        """The editions of FC-VI, when any port spoke Rev 1.0. ``ius`` of 2007 are among all frames."""
        if not self.rev1:
            return None
        return {
            "rev1": {"ius": self.rev1, "connect_requests": self.setups_rev1},
            "2007": {"connect_requests": self.setups_2007}, "undecided": self.undecided,
        }  # fmt: skip

    def editions_text(self) -> str:
        """One line; empty when every port spoke that of 2007."""
        if not self.rev1:
            return ""
        both = f"; {self.undecided} IUs that either edition has" if self.undecided else ""
        return (
            f"editions: rev1: {self.rev1} IUs, {self.setups_rev1} connect requests; 2007: {self.setups_2007} connect requests{both}"
        )

    def text(self) -> str:
        """One line."""
        part = f" ({self.in_part} frames by their headers only: cut off)" if self.in_part else ""
        lacking = f" ({_listed(self.not_judged)})" if self.not_judged else ""
        foreign = f" ({_listed(self.foreign)})" if self.foreign else ""
        gaps = f"; the capture says that frames are missing in {self.gaps} places" if self.gaps else ""
        more = f"; behind {self.appended} FCoE frames stand bytes that a tap appended, or their sender" if self.appended else ""
        return (
            f"{self.all} records: {self.judged} judged{part}, {sum(self.not_judged.values())} not judged{lacking}, "
            f"{sum(self.foreign.values())} foreign{foreign}{gaps}{more}"
        )

    def about_capture(self) -> list[str]:
        """What is to be known of the capture, a line each."""
        order = "--reorder MS takes them in the order of their times"
        late = [f"{self.late} records are not in the order of their time stamps; {order}"] if self.late else []
        return late + [f"{said}: it is not judged" for said in self.capture] + self._zeros()

    def _zeros(self) -> list[str]:
        """Records without a byte are what a file has that was made larger than what was written into it."""
        return [f"{count} records without a byte, from record {first} on: zeros, where the file was not written to its end; "
                + (f"`editcap -r FILE OUT 1-{first - 1}` keeps what stands before them" if first > 1 else "take the capture anew")
                for count, first in self.empty]  # fmt: skip

    def instead(self) -> str:
        """What a capture has in which nothing of FC-VI is."""
        if self.all == 0:
            return "the capture has no records"
        judged = {"FC-2 frames that are not of FC-VI": self.judged} if self.judged else {}
        has = f"the capture has {_listed({**judged, **self.foreign, **self.not_judged}, _MOST_NAMES)}"
        if 2 * self.bare <= self.all:
            return has
        return (
            f"{has}; {self.bare} records begin as FC-2 frames do: if the linktype of the file is wrong, `editcap -T fc2` writes it "
            "anew, or `editcap -T fc2sof` where they begin with the SOF"
        )


def _add(to: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        if count:
            to[name] = to.get(name, 0) + count


def _listed(counts: dict[str, int], most: int = 1000) -> str:
    """The most frequent first."""
    named = sorted(counts.items(), key=lambda item: -item[1])
    shown = [f"{count} {name}" for name, count in named[:most]]
    if len(named) > most:
        shown.append(f"{sum(count for _, count in named[most:])} of {len(named) - most} other kinds")
    return ", ".join(shown)


def hash_seed() -> int:
    """Of the hash tables, so that nobody can make a capture whose frames collide. FCVI_HASH_SEED=N repeats a run."""
    said = os.environ.get("FCVI_HASH_SEED")
    if not said:
        return int.from_bytes(os.urandom(8), "little")
    seed = number(said, 0, (1 << 64) - 1)
    if seed is None:
        raise UsageError(f"FCVI_HASH_SEED: {said[:40]!r} is no number from 0 to 2**64 - 1")
    return seed


#: What --edition takes.
EDITIONS = {"auto": lib.EDITIONS_AUTO, "2007": lib.EDITIONS_2007, "rev1": lib.EDITIONS_REV1}


class Editions:
    """Which edition of FC-VI the ports of one stream speak, by their frames or as it is said."""

    def __init__(self, said: str = "auto") -> None:
        self.pointer = ffi.gc(lib.fcvi_editions_open(EDITIONS[said], hash_seed()), lib.fcvi_editions_close)
        self._known = ffi.new("bool *")

    def of(self, frame: Any, network: int, cut: bool = False, whole: int = 0) -> int:
        """The edition by which to read an IU (struct fcvi_frame, of kind FCVI_KIND_IU). cut: its end is missing; whole: how long
        it was, 0 when that is not known."""
        shown = ffi.new("struct editions_frame *", {"view": frame, "network": network, "cut": cut, "whole": whole})
        return int(lib.fcvi_editions_of(self.pointer, shown, self._known))


class Watch:
    """The monitor of one stream of frames, the editions of FC-VI in it, and its connect IUs of several frames."""

    def __init__(self, trust: int, r_a_tov_us: int, edition: str = "2007", monitor: bool = True) -> None:
        self.editions = Editions(edition)
        self.connects = ffi.gc(lib.fcvi_connects_open(), lib.fcvi_connects_close)
        self.frames = 0  # of the files before
        if not monitor:
            self.pointer = ffi.NULL
            return
        config = ffi.new("struct fcvi_monitor_config *")
        config.limits.exchanges, config.limits.endpoints = _EXCHANGES, _ENDPOINTS
        config.limits.setups = config.limits.sequences = config.limits.pairs = _EXCHANGES // 4
        config.trust, config.r_a_tov_us, config.seed = trust, r_a_tov_us, hash_seed()
        size = lib.fcvi_monitor_size(ffi.addressof(config.limits))
        self._memory = _uncleared("uint64_t[]", size // 8 + 9)  # pages that are not used are never there
        aligned = self._memory + -int(ffi.cast("uintptr_t", self._memory)) % _LINE // 8
        self.pointer = lib.fcvi_monitor_init(aligned, size, config)

    def gap(self) -> None:
        """Frames are missing here."""
        lib.fcvi_monitor_gap(self.pointer)

    def unjudged(self) -> list[tuple[str, int, Optional[int]]]:
        """What could not be judged so far: reason, how many frames, the first of them."""
        found = []
        for reason in range(lib.FCVI_UNJUDGED_COUNT):
            count = lib.fcvi_monitor_unjudged(self.pointer, reason)
            if count.frames:
                words = ffi.string(lib.fcvi_monitor_unjudged_text(reason)).decode()
                found.append((words, count.frames, count.first or None))
        return found


def opened(path: str, error: Any, limits: Limits) -> Any:
    """An open capture (struct capture), NULL with a line in error."""
    capture = lib.fcvi_capture_open(path.encode(errors="surrogateescape"), error, len(error))
    if capture != ffi.NULL:
        lib.fcvi_capture_limit(capture, limits.bytes_most())
    return capture


ANYBODY = 0xFFFFFFFF  # struct capture_shift


class Shift:
    """What is added to the time of frames of a port, or of ANYBODY, from a record of the file on."""

    def __init__(self, s_id: int, first: int, us: int) -> None:
        self.s_id, self.first, self.us = s_id, first, us


class Order:
    """In what order the records of a file are taken: by time within a window, with clocks put right. renumber: their numbers
    tell that order, and ``Scan.numbers`` those in the file."""

    def __init__(self, window_us: int = 0, shifts: Optional[list[Shift]] = None, renumber: bool = False) -> None:
        self.window_us, self.renumber = window_us, renumber
        self.shifts: list[Shift] = shifts or []

    def __bool__(self) -> bool:
        return bool(self.window_us or self.shifts)


def reorder(capture: Any, order: Order) -> bool:
    """Tell an open capture. False without memory."""
    if not order:
        return True
    shifts = ffi.new("struct capture_shift[]", [(s.s_id, s.first, s.us) for s in order.shifts])
    told = ffi.new("struct capture_order *", (order.window_us, shifts, len(order.shifts), order.renumber))
    return bool(lib.fcvi_capture_reorder(capture, told) == 0)


def artefacts(capture: Any) -> list[str]:
    """What the capture point made of frames, a sentence each with how that is known."""
    a, found = lib.fcvi_capture_artefacts(capture), []
    if a.crc.frames:
        known = f"all have the word {a.word:08X}h" if a.is_constant else "none is right, and others went on with what they say"
        found.append(f"the CRC of {a.crc.frames} frames of {_senders(a.crc)} is not in the capture: {known}, so it had not been "
                     f"computed where the capture was taken (first in frame {a.crc.first})")  # fmt: skip
    for name, which in (("SOF", a.sof), ("EOF", a.eof)):
        if which.frames:
            found.append(f"the {name} of {which.frames} frames of {_senders(which)} was made up by what wrote the capture: no "
                         f"frame of theirs has a valid one (first in frame {which.first})")  # fmt: skip
    return found


def _senders(which: Any) -> str:
    named = [f"{which.sender[i]:06X}" for i in range(min(which.senders, lib.CAPTURE_SENDERS))]
    return ", ".join(named) + (" and others" if which.senders > len(named) else "")


def source_of(path: str, dumps: dict[str, str | Exception]) -> str:
    """Where a file is read, given what stands for dumps (``hexdump.standing_in``). Raises ScanError."""
    name = dumps.get(path, path)
    if isinstance(name, Exception):
        raise ScanError(str(name))
    return name


class Scan:
    """A capture; iterating stops at the records that are to be seen (harness/judge/judge.h)."""

    def __init__(self, path: str, limits: Limits, order: Optional[Order] = None) -> None:
        self.path, self._limits = path, limits
        self._judge: Any = None
        self._error = ffi.new("char[]", _ERROR_SIZE)
        self._capture = opened(path, self._error, limits)
        if self._capture == ffi.NULL:
            raise ScanError(self._why())
        if order is not None and not reorder(self._capture, order):
            raise ScanError(limits.hint(f"{path}: out of memory"))
        self.is_file: bool = lib.fcvi_capture_is_file(self._capture)
        self.artefacts: list[str] = []  # when it is closed
        self.numbers: Optional[memoryview] = None  # when it is closed, and its records were numbered anew
        self.seen: Any = None  # struct judge_seen
        self.tally = ffi.new("struct judge_tally *")

    def _why(self) -> str:
        return self._limits.hint(str(ffi.string(self._error), errors="replace"))

    def close(self) -> None:
        """Close the file."""
        if self._judge is not None:
            self.tally = ffi.new("struct judge_tally *", self.tally[0])
            ffi.release(self._judge)
            self._judge = None
        self.artefacts = artefacts(self._capture)
        count = ffi.new("size_t *")
        numbers = lib.fcvi_capture_numbers(self._capture, count)
        if numbers != ffi.NULL:
            self.numbers = memoryview(bytes(ffi.buffer(numbers, 8 * count[0]))).cast("Q")
        lib.fcvi_capture_close(self._capture)

    def stops(self, watch: Watch, tick: Callable[[], None], streams: Any = ffi.NULL, flows: Any = ffi.NULL) -> Iterator[None]:
        """Each time ``seen`` says what is to be seen. tick: called now and then. streams: struct tcp_judge, which TCP goes to.
        flows: struct fcvi_flows, which say what is to be seen. Raises ScanError."""
        stream = ffi.new("struct judge_stream *", {
            "monitor": watch.pointer, "editions": watch.editions.pointer, "connects": watch.connects, "tcp": streams,
            "flows": flows, "before": watch.frames,
        })  # fmt: skip
        judge = self._judge = ffi.gc(lib.fcvi_judge_open(self._capture, stream), lib.fcvi_judge_close)
        if judge == ffi.NULL or watch.connects == ffi.NULL:
            raise ScanError(self._limits.hint(f"{self.path}: out of memory"))
        self.seen, self.tally = lib.fcvi_judge_seen(judge), lib.fcvi_judge_tally(judge)
        while status := lib.fcvi_judge_next(judge, self._error, _ERROR_SIZE):
            if status < 0:
                raise ScanError(f"{self.path}: {self._why()}")
            if status == 1:
                yield
            tick()

    def findings(self) -> list[Any]:
        """What the codec found in the record."""
        return _those(self.seen.findings)

    def breaches(self) -> list[Any]:
        """What the monitor found in the record."""
        return _those(self.seen.breaches)

    def whole(self) -> list[Any]:
        """What the codec found in a connect IU of several frames that ends here."""
        return _those(self.seen.whole)

    def progress(self) -> tuple[int, int]:
        """Bytes taken of the file, and its size, 0 when that is not known."""
        numbers = ffi.new("uint64_t[2]")
        lib.fcvi_capture_progress(self._capture, numbers, numbers + 1)
        return numbers[0], numbers[1]


def _those(found: Any) -> list[Any]:
    return [found.list[i] for i in range(min(found.count, found.capacity))]


def first_time(path: str, limits: Limits) -> Optional[int]:
    """When the first record was taken, None without one. Raises ScanError."""
    error = ffi.new("char[]", _ERROR_SIZE)
    record = ffi.new("struct capture_record *")
    capture = opened(path, error, limits)
    if capture == ffi.NULL:
        raise ScanError(str(ffi.string(error), errors="replace"))
    while (status := lib.fcvi_capture_next(capture, record, error, _ERROR_SIZE)) == 2:  # a pipe in which nothing is yet
        pass
    lib.fcvi_capture_close(capture)
    return record.time_us if status == 1 else None
