"""Writes a finding: the word, a recording that ``fcvi replay`` plays, and the start of a case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fcvi.engine.files import encoded, write_file
from fcvi.engine.folder import Folder
from fcvi.engine.record import RecordingDut, entries_of
from fcvi.replay import keep, trace

from .campaign import Found
from .play import Player

_STUB = '''"""{title}: the start of a case, found by fcvi random. Say in its docstring what is required, and give it an id."""

from __future__ import annotations

from conformance.fcvi.steps.connection import REGISTRY
from conformance.fcvi.words.stage import play
from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

WORD = {word!r}


@case(
    REGISTRY,
    "{clause}.random",
    "{title}",
    clause="{clause}",
    requirements=["{requirement}"],
    applies="client or server",
)
def found_by_random(t: Scenario) -> None:
    """{message}: required is {required}, seen was {seen}."""
    play(t, WORD)
    t.control("the word was played to its end")
'''


def clause_of(requirement: str) -> str:
    """The clause that the id of a requirement names, as far as one can tell."""
    found = re.match(r"[A-Z0-9]+-([0-9A-F]+(?:\.[0-9]+)*)", requirement)
    return found[1] if found else "x"


def as_json(found: Found) -> dict[str, Any]:
    """One finding, as --json prints it and word.json holds it."""
    first, word = found.played.findings[0], found.played.word
    return {
        "fcvi-random": 1, "class": "breach", "requirement": first.requirement, "message": first.message, "seen": first.seen,
        "required": first.required, "word": str(word), "seed": word.seed, "words": found.words, "reproduced": found.reproduced,
        "frame": first.frame, "byte": first.byte, "bits": first.bits,
    }  # fmt: skip


def write(directory: Path, player: Player, found: Found) -> Path:
    """Write word.json, word.pcapng with word.toml, and case.py in a folder of its own. Raises OSError."""
    first, word = found.played.findings[0], found.played.word
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{first.requirement}-{word.seed}")
    place = directory / name
    with Folder(place, ours=True, named=False) as folder:
        folder.write("word.json", encoded(json.dumps(as_json(found), indent=1) + "\n"))
    recorder = RecordingDut(player.dut)
    recording = Player(recorder, player.pics, player.pixit, player.levels)
    recorder.take()
    recording.play(word)
    entries = entries_of(recorder.take())
    comment = f"{first.requirement}: {first.message} (seen {first.seen}, required {first.required}); the word is {word}"
    keep.keep(trace.of_entries(str(place), entries), place, "word", comment)
    words = {key: _plain(value) for key, value in as_json(found).items()}
    title = f"Word {word.seed}"
    text = _STUB.format(**{**words, "word": str(word)}, title=title, clause=clause_of(first.requirement))
    write_file(place / "case.py", encoded(text))
    return place


def _plain(value: object) -> str:
    return str(value).replace("\\", "").replace('"', "'").replace("\n", " ")
