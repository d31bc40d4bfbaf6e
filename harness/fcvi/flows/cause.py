"""A cause: what it is, or what it may be, how sure that is, and the frames that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Optional

from .table import Flow, Step

PROVEN, STRONG, PROBABLE, POSSIBLE, WEAK = 95, 90, 75, 60, 40
_LIKELY = 70  # from here on it is probable
R_A_TOV_US, E_D_TOV_US = 10_000_000, 2_000_000  # what FC-FS gives them where no login says otherwise


@dataclass(frozen=True)
class Claim:
    """What a sentence says of frames, and whether they bear it out. about: the frame that it is about; absent: names of frames
    that are not there, of its Exchange or behind it."""

    words: str
    holds: Callable[[], bool]
    about: Optional[Step] = None
    absent: tuple[str, ...] = ()


@dataclass
class Cause:
    """One thing that went wrong. names: what it is, or what it may be; party: N_Port_ID that a frame convicts."""

    names: tuple[str, ...]
    score: int
    text: str
    confirm: str
    frames: list[Step] = field(default_factory=list)
    party: Optional[int] = None
    flow: Optional[Flow] = None
    others: list[Flow] = field(default_factory=list)  # further Connections with the same
    claims: list[Claim] = field(default_factory=list)  # of the text; without one of them it is not told

    def add(self, sentence: str, *claims: Claim) -> None:
        """A further sentence, if its claims hold."""
        if all(claim.holds() for claim in claims):
            self.text += f" {sentence}"
            self.claims += claims

    @property
    def is_borne_out(self) -> bool:
        """Whether all that it says is so."""
        return all(claim.holds() for claim in self.claims)

    @property
    def name(self) -> str:
        """What it is, most likely."""
        return self.names[0]

    @property
    def grade(self) -> int:
        """How sure it is, as the reader is told: of causes of one grade the first to begin comes first."""
        return (self.score >= STRONG) + (self.score >= _LIKELY)

    @property
    def sure(self) -> str:
        """In words, how sure it is."""
        return ("possible", "probable", "shown by the frames")[self.grade]

    @property
    def began(self) -> int:
        """The first frame that shows it."""
        return self.frames[0].number if self.frames else 0

    @property
    def is_known(self) -> bool:
        """Whether the capture tells it from everything that looks alike."""
        return len(self.names) == 1


#: What each name means, for the text.
TITLES = {
    "lost-request": "FCVI_CONNECT_RQST was lost",
    "lost-resp1": "FCVI_CONNECT_RESP1 was lost",
    "lost-resp2": "FCVI_CONNECT_RESP2 was lost",
    "lost-resp3": "FCVI_CONNECT_RESP3 was lost",
    "lost-message": "a frame of a Message was lost",
    "lost-response": "a Message Response was lost",
    "lost-disconnect": "an IU of a Disconnect was lost",
    "out-of-order": "frames overtook each other on a Connection that assumes order (IOD and OOD set differently)",
    "timeout-too-short": "R_A_TOV is shorter than the answer took: too short for the distance",
    "slow-accept": "the application at the responder took longer than R_A_TOV to accept",
    "credit-starvation": "frames waited with nothing lost: credit ran out, or the far side was slow",
    "busy": "the Fabric or the port answered busy",
    "reject": "the Fabric or the port rejected frames",
    "login-lost": "the login ended under a live Connection",
    "service-parameters": "a PLOGI without the service parameters that FC-VI needs",
    "no-match": "nobody waits under that Discriminator",
    "no-waiting": "the address is right, but no VipConnectWait is outstanding",
    "rejected": "the application refused",
    "peer-refused": "the other Peer refused",
    "refused-parameters": "the responder objects to service parameters",
    "withdrawn": "one side withdrew from the setup before it was complete",
    "given-up-early": "the sender gave up a Message long before any timeout",
    "unknown-revision": "one side sends a revision that no edition has",
    "connect-timeout": "the application at the responder did not accept in time",
    "peers-gave-up": "both Peers asked and both gave up",
    "memory-protection": "memory protection: the region, its handle or its attributes do not allow the access",
    "receive-queue-empty": "no receive Descriptor was posted, or one too small",
    "duplicate-addresses": "both Peers have one Host Address",
    "edition-mismatch": "one side speaks another edition (Rev 1.0 of 1999)",
    "bit-errors": "frames with a wrong CRC",
    "protocol-error": "one side took an IU of the other for a protocol error",
    "transport-error": "one side reports a transport error",
    "port-silent": "one of the two ports fell silent",
    "login-refused": "a login was refused",
    "login-unanswered": "a login was not answered",
    "address-unanswered": "no port answered for a Host Address",
    "connection-unknown": "one side says that the Connection does not exist",
    "wrong-handle": "a Message went to an FCVI_HANDLE that its receiver never gave",
    "no-answer": "no frame of the other side is in the capture",
    "unheard-refusal": "the responder refused, and the capture lacks its reason",
    "unheard-answer": "an answer did not reach the port that waited for it",
    "capture-gap": "the capture itself left frames out",
    "clock-set": "the clock of the capture was set",
    "keep-alive-stopped": "the keep-alives of FIP stopped, and the virtual link with them",
}
