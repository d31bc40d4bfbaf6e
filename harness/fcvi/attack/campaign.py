"""How far a campaign has come, in its corpus directory: what --resume goes on from."""

from __future__ import annotations

import json
from pathlib import Path

from fcvi.engine.files import FileError, damage, encoded, read_json, write_file

from . import novelty
from .corpus import Corpus

_FILE = "campaign.json"


def keep(folder: Path, corpus: Corpus, following: int) -> None:
    """Write the signals that are known, and the seed of the batch that would have come next."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"fcvi-campaign": 1, "next": following, **novelty.as_json(corpus.known)}) + "\n"
    write_file(folder / _FILE, encoded(text))


def resume(folder: Path, corpus: Corpus, seed: int) -> int:
    """Let the corpus know what was seen; the seed of the next batch. A directory without a campaign begins with `seed`.

    Raises FileError, with one line, for a file that is no campaign.
    """
    path = folder / _FILE
    if not path.exists():
        return seed
    try:
        data = read_json(path)
        if data["fcvi-campaign"] != 1 or int(data["next"]) < 0:
            raise ValueError("another version")
        known = novelty.map_of(data)
        following = int(data["next"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(f"{path}: not a campaign of fcvi fuzz ({damage(error)}); remove it, or leave --resume out") from error
    corpus.take_up(known)
    return following
