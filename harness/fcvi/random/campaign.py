"""Plays words by the thousand: by their numbers, so that the same seed finds the same whatever the number of processes."""

from __future__ import annotations

import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Iterator, Optional

from fcvi.engine.attachment import AttachError, DutError
from fcvi.dut.base import Dut
from fcvi.engine import pics as pics_module
from fcvi.engine.pixit import pixit_for
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.target import Target

from .choose import Chooser
from .play import Played, Player
from .shrink import shrink
from .word import Word

BATCH = 16  # words that a process plays before it tells of them
_SPREAD = 1_000_000  # words of one seed
DEAD = 3  # attachments that fail in a row end the campaign


@dataclass(frozen=True)
class Attachment:
    """How a process attaches the device."""

    target: Target
    rpc_timeout_s: float = 5.0
    r_a_tov_us: Optional[int] = None

    def player(self) -> Player:
        """Attach it. Raises AttachError, DutError."""
        return player_of(self.target.attach(rpc_timeout_s=self.rpc_timeout_s), self.r_a_tov_us)


def player_of(dut: Dut, r_a_tov_us: Optional[int] = None) -> Player:
    """A player on an attached device. Raises AttachError for one that declares no role, or speaks something else."""
    if not pics_module.is_of_2007(dut.pics):
        dut.close()
        raise AttachError(f"{dut.spec}: words are of FC-VI of 2007 alone, and its hello names another edition or wire")
    pics = pics_module.declared(dut)
    if not (pics["client"] or pics["server"] or pics["peer_to_peer"]):
        dut.close()
        raise AttachError(f"{dut.spec} declares neither client nor server nor peer_to_peer: no word can be played on it")
    return Player(dut, pics, pixit_for(dut.clock, r_a_tov_us), load_catalogue().levels)


@dataclass
class Found:
    """Something that words found. played: the shortest word that found it."""

    played: Played
    words: int = 1  # that found it
    reproduced: bool = True


@dataclass
class Tally:
    """What was done."""

    words: int = 0
    steps: int = 0
    errors: int = 0
    last_error: str = ""
    refused: dict[str, int] = field(default_factory=dict)  # how many words ended for want of a call, by what was said
    letters: dict[str, int] = field(default_factory=dict)

    def note(self, played: Played) -> bool:
        """Whether a word came to no verdict; if so, why."""
        if played.error:
            self.errors, self.last_error = self.errors + 1, played.error
        elif played.refused:
            self.refused[played.refused] = self.refused.get(played.refused, 0) + 1
        return bool(played.error or played.refused)

    def without(self) -> list[str]:
        """The words that came to no verdict, in lines."""
        lines = [f"{count} words without a verdict: {why}" for why, count in sorted(self.refused.items())]
        if self.errors:
            lines.append(f"{self.errors} words without a verdict, for the attachment failed: {self.last_error}")
        return lines

    @property
    def status(self) -> int:
        """The exit status of a campaign that found nothing."""
        return 3 if self.errors else 4 if self.refused else 0


def play_word(player: Player, seed: int, number: int) -> Played:
    """Word so-and-so of a seed; without its trace."""
    chooser = Chooser(player.words, player.pics, seed * _SPREAD + number)
    played = player.run(chooser.settings, seed * _SPREAD + number, chooser)
    played.trace = []
    return played


_PLAYER: Optional[Player] = None  # of a process of the pool


def _attach(attachment: Attachment) -> None:
    global _PLAYER  # pylint: disable=global-statement
    _PLAYER = attachment.player()


def _batch(seed: int, first: int) -> list[Played]:
    assert _PLAYER is not None
    return [play_word(_PLAYER, seed, number) for number in range(first, first + BATCH)]


def _all_words(player: Player, attachment: Attachment, seed: int, jobs: int) -> Iterator[Played]:
    number = 0
    if jobs == 1:
        while True:
            yield play_word(player, seed, number)
            number += 1
    with ProcessPoolExecutor(jobs, initializer=_attach, initargs=(attachment,)) as pool:
        waiting: list[Future[list[Played]]] = []
        try:
            while True:
                while len(waiting) < 2 * jobs:
                    waiting.append(pool.submit(partial(_batch, seed, number)))
                    number += BATCH
                yield from waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass
class Limits:
    """When the campaign ends: after so many letters, seconds, or findings."""

    steps: int
    seconds: Optional[float] = None
    findings: int = 50


def search(
    player: Player, attachment: Attachment, seed: int, jobs: int, limits: Limits, tell: Callable[[Tally], None]
) -> tuple[list[Found], Tally]:
    """Play words until a limit is reached; what several found is kept once, and cut down. Raises DutError."""
    found: dict[tuple[str, str], Found] = {}
    tally, started, dead = Tally(), time.monotonic(), 0
    words = _all_words(player, attachment, seed, jobs)
    for played in words:
        tally.words += 1
        tally.steps += len(played.word.letters)
        for letter in played.word.letters:
            tally.letters[letter] = tally.letters.get(letter, 0) + 1
        tally.note(played)
        dead = dead + 1 if played.error else 0
        if dead >= DEAD:
            raise DutError(played.error)
        if played.findings:
            if played.key in found:
                found[played.key].words += 1
            else:
                found[played.key] = Found(played)
        tell(tally)
        if tally.steps >= limits.steps or len(found) >= limits.findings:
            break
        if limits.seconds is not None and time.monotonic() - started > limits.seconds:
            break
    words.close()  # type: ignore[attr-defined]
    return [cut_down(player, one) for one in found.values()], tally


def cut_down(player: Player, found: Found) -> Found:
    """The shortest word that finds the same."""
    key = found.played.key

    def finds(word: Word) -> bool:
        played = player.play(word)
        return bool(played.findings) and played.key == key

    if not finds(found.played.word):
        found.reproduced = False
        return found
    found.played = player.play(shrink(found.played.word, finds))
    return found
