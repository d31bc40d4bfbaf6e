"""Holds what a run produces: findings, results and the run as a whole, as report.json has them (report/report.schema.json)."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    from .deviation import Outcome


class Verdict(str, enum.Enum):
    """Verdicts after ISO/IEC 9646."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not-applicable"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One thing the DUT did against (or beside) a requirement.

    frame: 1-based number of the frame in the case's capture, None when no frame is at fault (silence, a
    VIPL result). byte: offset from the first header byte; bits: "hi-lo" in the container that starts there.
    cls: "malformed", "violation", "notice" or "behaviour".
    """

    requirement: str
    cls: str
    message: str
    seen: str
    required: str
    frame: Optional[int] = None
    byte: Optional[int] = None
    bits: Optional[str] = None
    erratum: Optional[str] = None
    time_us: Optional[int] = None

    def as_json(self) -> dict[str, Any]:
        """The finding as report.json has it."""
        return {
            "requirement": self.requirement,
            "class": self.cls,
            "message": self.message,
            "frame": self.frame,
            "byte": self.byte,
            "bits": self.bits,
            "seen": self.seen,
            "required": self.required,
            "erratum": self.erratum,
            "time_us": self.time_us,
        }


@dataclass(slots=True)
class TraceFrame:
    """One frame of a case as it crossed the simulated or real wire."""

    time_us: int
    sender: str  # "dut" or "tester"
    data: bytes  # header and Data_Field
    sof: int  # one-byte codes, as in fcvi/codec.h
    eof: int
    crc_ok: bool = True
    lost: bool = False  # dropped by the harness on the way to the other side
    note: str = ""
    findings: list[Finding] = field(default_factory=list)


class Expectation(NamedTuple):
    """What a case waited for, for the ladder diagram.

    words: the IU, or "no ..." when silence was expected. frames: what came, numbers in the capture; empty when nothing
    did. after: how many frames the capture had when the waiting was over.
    """

    words: str
    requirement: str
    frames: tuple[int, ...]
    after: int
    time_us: int
    silence: bool = False


@dataclass
class Result:
    """The outcome of one case variant."""

    id: str
    title: str
    verdict: Verdict
    reason: str = ""
    qualifier: Optional[str] = None  # "deviation" or "interpretation"
    requirements: Sequence[str] = ()  # the case's: all of its results share them
    errata: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    frames: list[TraceFrame] = field(default_factory=list)
    virtual_us: int = 0
    wall_us: int = 0
    log: list[object] = field(default_factory=list)  # the case's steps and the control plane, in words
    expectations: list[Expectation] = field(default_factory=list)
    #: How many frames of the DUT the codec and the monitor judged, by IU.
    judged: dict[str, int] = field(default_factory=dict)
    #: The requirements that a check of the case named in this run, whatever came of it.
    checked: set[str] = field(default_factory=set)
    #: The requirements whose breach failed the case, also when a declared deviation covers them.
    broken: list[str] = field(default_factory=list)
    #: The requirements of the case that it left open: this run says nothing of them, whatever the verdict.
    undecided: list[str] = field(default_factory=list)
    #: What the frames of the device of --against broke. They are no verdict: that device is not the judged one.
    far: list[Finding] = field(default_factory=list)
    #: The suite's own host stood still while it waited.
    disturbed: bool = False
    #: Whether what it says against the device follows from silence or a time alone, which a busy host can cause as well.
    untimely: bool = False
    #: How many times as long the timers were, as it was tried again on a busy host.
    slower: int = 1
    #: How its timers were drawn (Pixit.pace).
    pace: str = ""
    #: With longer timers it might have been decided otherwise.
    hasty: bool = False
    #: It failed for want of time, and passed when it was run once more with the same timers.
    unsteady: bool = False
    #: What passed between suite and DUT (engine/record.py) when it was kept, as lines; None when the case did not run.
    evidence: Optional[bytes] = None
    protocol: str = ""  # the name of the case's standard; "": of a case that this suite has not

    def forget(self) -> None:
        """Let go of what the case saw: nobody is going to look at it."""
        self.frames, self.log, self.expectations = [], [], []

    def as_json(self) -> dict[str, Any]:
        """The result as report.json has it (no frames: those are in the case's capture)."""
        return {
            "id": self.id,
            "verdict": self.verdict.value,
            "qualifier": self.qualifier,
            "reason": self.reason,
            "requirements": self.requirements,
            "errata": self.errata,
            "broken": self.broken,
            "findings": [f.as_json() for f in self.findings],
            **({"undecided": self.undecided} if self.undecided else {}),
            **({"far": [f.as_json() for f in self.far]} if self.far else {}),
            "virtual_us": self.virtual_us,
            "wall_us": self.wall_us,
            "frames": len(self.frames),
        }


@dataclass(frozen=True)
class Review:
    """Something wrong with the PICS itself. cls: "violation" or "notice"; kind: "contradiction" or "missing"."""

    requirement: str
    cls: str
    kind: str
    message: str
    seen: str
    required: str
    erratum: Optional[str] = None

    def as_json(self) -> dict[str, Any]:
        """As report.json has it."""
        return {
            "requirement": self.requirement, "class": self.cls, "kind": self.kind, "message": self.message,
            "seen": self.seen, "required": self.required, "erratum": self.erratum,
        }  # fmt: skip


#: How the reason of a case begins that had no chance after what went wrong before it.
NOT_TRIED = "not tried"


@dataclass
class RunReport:
    """A whole run."""

    suite_version: str
    catalogue_sha256: str
    attachment: str
    implementation: str
    implementation_version: str
    pics: dict[str, Any]
    pixit: dict[str, Any]
    seed: int
    results: list[Result] = field(default_factory=list)
    #: Why nothing ran: a selection, a PICS or an attachment that cannot be used. Empty when cases ran.
    error: str = ""
    #: The signal that ended the run before every case had run; empty when none did.
    interrupted: str = ""
    ended_after: str = ""  # the case after which the user wanted no more; its successors have no result
    not_tried: int = 0  # so many
    clock: str = ""  # the DUT's: "virtual" or "real"; empty when none was attached
    certification: bool = False  # a run of fcvi certify: what is mandatory and not claimed counts
    date: str = ""  # when the run began: ISO 8601, UTC
    ended: str = ""  # and when it ended; empty where a run was cut off
    baseline: dict[str, Any] = field(default_factory=dict)  # "name" of an earlier run, and of what "failed" there its verdict
    host: str = ""  # on what the suite ran: system and Python
    review: list[Review] = field(default_factory=list)
    deviations: list[Outcome] = field(default_factory=list)
    #: No case ran, for the device did not attach; error says why.
    unattached: bool = False
    #: Cases whose failure does not count in the exit status, and why: known from a baseline, or in quarantine.
    waived: dict[str, str] = field(default_factory=dict)
    #: Options of the command line that a case needs to be run again as it was: --agent, --pics, timers.
    given: str = ""
    lab: dict[str, str] = field(default_factory=dict)  # who tests for whom, and
    item: dict[str, str] = field(default_factory=dict)  # what exactly: tables of the PICS file
    commit: str = ""  # of the suite, when it is known
    select: str = ""  # the selection of the cases; "": all of them
    #: The last lines that a device that did not attach wrote to standard error.
    last_words: list[str] = field(default_factory=list)
    #: Which part of the selected cases this is, of how many: (1, 1) is all of them.
    shard: tuple[int, int] = (1, 1)
    book: str = ""  # which judged: as --book takes it
    #: A second device at the far side: attachment, implementation, version, clock and pics.
    against: dict[str, Any] = field(default_factory=dict)

    def flaws(self) -> list[str]:
        """What is wrong beyond the cases, one line each: the PICS, and declared deviations that did not occur."""
        lines = [
            f"PICS: {r.requirement}: {r.message} (claimed {r.seen}; required {r.required})"
            for r in self.review
            if r.cls == "violation" and (r.kind == "contradiction" or self.certification)
        ]
        lines += [
            f"declared deviation did not occur: {o.deviation.words()} ({o.deviation.reason})"
            for o in self.deviations
            if o.status == "absent"
        ]
        return lines

    def decisive(self) -> dict[str, int]:
        """The summary without the results that are waived: what the exit status is made from."""
        counts = self.summary()
        for r in self.results:
            if r.id in self.waived:
                counts[r.verdict.value] -= 1
                counts[Verdict.PASS.value] += 1
        return counts

    def summary(self) -> dict[str, int]:
        """How many results have each verdict. A device that did not attach is one error."""
        verdicts = [r.verdict for r in self.results]
        counts = {v.value: verdicts.count(v) for v in Verdict}
        counts[Verdict.ERROR.value] += self.unattached
        return counts
