"""The templates of the page as Python has compiled them: to compile them takes as long as to run forty cases.

The build writes them beside the extension modules (``python -m fcvi.report.compiled DIR``). Where they are missing, or were made of
other templates, by another Python or for another Jinja, they are compiled as they are needed.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import _fcvi_text
from jinja2 import BytecodeCache, Environment, FileSystemLoader
from jinja2.bccache import Bucket

_SUFFIX = ".compiled"
BUILT = Path(_fcvi_text.__file__).parent


class Templates(FileSystemLoader):
    """Templates that do not know in which directory they lie: compiled ones say the same wherever they were built."""

    def get_source(self, environment: Environment, template: str) -> Any:
        """The source, without the name of its file."""
        source, _, is_current = super().get_source(environment, template)
        return source, None, is_current


class Compiled(BytecodeCache):
    """Those that the build wrote; they are only read."""

    def __init__(self, directory: Path = BUILT) -> None:
        """directory: where they are."""
        self._directory = directory

    def get_cache_key(self, name: str, filename: Optional[str] = None) -> str:
        """The name of the file, but for its ending."""
        return name

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill it with the code, if there is some that fits."""
        with suppress(OSError), open(self._directory / (bucket.key + _SUFFIX), "rb") as file:
            bucket.load_bytecode(file)  # leaves it empty when it was made of another template or by others

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Nothing: what was compiled at run time is not kept."""


class _Written(Compiled):
    def load_bytecode(self, bucket: Bucket) -> None:
        pass

    def dump_bytecode(self, bucket: Bucket) -> None:
        with open(self._directory / (bucket.key + _SUFFIX), "wb") as file:
            bucket.write_bytecode(file)


def main() -> int:
    """Write them into the directory that is named."""
    from .html import environment

    env = environment()
    env.bytecode_cache = _Written(Path(sys.argv[1]))
    for name in env.list_templates():
        if name.endswith(".j2"):
            env.get_template(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
