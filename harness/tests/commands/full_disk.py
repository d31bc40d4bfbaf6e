"""Commands on a disk that is full: ``full_disk.py DISK`` reads them as JSON, and prints of each what became of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Status, standard error, and the files with bytes in them that were left on the disk."""
    disk = Path(sys.argv[1])
    told = {}
    for name, words in json.load(sys.stdin).items():
        done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
        left = [str(path) for path in disk.rglob("*") if path.is_file() and path.name not in ("fill", "dut.log", "running")]
        told[name] = (done.returncode, done.stderr, [path for path in left if not path.endswith(".lock")])
        for entry in os.listdir(disk):
            if entry != "fill":
                shutil.rmtree(disk / entry) if (disk / entry).is_dir() else (disk / entry).unlink()
    json.dump(told, sys.stdout)


main()
