"""What a report makes of a plain pass while the run goes on: its capture and its ladder.

Most cases are plain passes, and nothing that comes later changes what the report says of one. So its frames need not stay in
memory until the end of the run, which has tens of thousands of them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Collection, Optional

from fcvi.engine.files import Folder
from fcvi.engine.results import Ladder, Result
from . import case_capture, file_name

if TYPE_CHECKING:
    from .packs import Pack, Room


class Early:
    """Settles results one by one, in every process of a run.

    hashes: whether the captures are going to be listed with their SHA-256. in_order: results come in the order of the report, so
    that their ladders are packed as the page has them. Whatever cannot be written is left for the end of the run, which says so.
    """

    def __init__(self, folder: Folder, formats: Collection[str], hashes: bool, in_order: bool) -> None:
        self._folder, self._formats, self._hashes, self._in_order = folder, formats, hashes, in_order
        self._failed = False
        self._pack: Optional[Pack] = None
        self._room: Optional[Room] = None  # of all packs, one after the other

    def settle(self, result: Result) -> None:
        """Write its capture, draw its ladder, and let go of its frames, if it is a plain pass."""
        if self._failed or not result.is_plain:
            return
        try:
            capture = self._written(result)
        except OSError:
            self._failed = True
            return
        result.settle(capture, self._ladder(result))

    def _written(self, result: Result) -> Optional[str]:
        """The hash of the capture, if it has one and hashes are wanted."""
        data = case_capture(result) if "pcapng" in self._formats else None
        if data is None:
            return None
        self._folder.write_case(file_name(result.id), (data,))
        return hashlib.sha256(data).hexdigest() if self._hashes else None

    def _ladder(self, result: Result) -> Optional[Ladder]:
        if "html" not in self._formats or not (result.frames or result.log):
            return None
        from . import explain, packs, plain  # what they need is loaded for pages only

        parts = plain.parts_of(result, True, explain.clauses())
        if not self._in_order:
            return packs.Drawn(b"".join(parts))
        if self._pack is None or self._pack.packed:
            self._room = self._room or packs.Room()
            self._pack = packs.Pack(self._room)
        return self._pack.add(parts)
