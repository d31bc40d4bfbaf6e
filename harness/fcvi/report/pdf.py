"""certificate.pdf of certificate.html, by a program that is here.

It works in a directory that is nobody else's, on a copy of the page: what it writes, and by what name, touches no report.
What came is looked at before it goes into the report.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from fcvi.engine.files import FileError
from fcvi.engine.folder import Folder
from . import manifest

_, _HTML, _, _PDF = manifest.CERTIFICATE
_LONGEST_S = 300


def make(folder: Folder) -> None:
    """Write it, with its hash in the manifest. Raises FileError, OSError, subprocess.SubprocessError."""
    with tempfile.TemporaryDirectory(prefix="fcvi-") as place:
        page, pdf = Path(place, _HTML), Path(place, _PDF)
        page.write_bytes(folder.read(_HTML))
        words = _words(page, pdf)
        done = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LONGEST_S)
        with Folder(Path(place)) as scratch:
            made = scratch.read(_PDF) if scratch.has(_PDF) else b""
    if done.returncode or not made.startswith(b"%PDF-"):
        why = done.stderr.decode("utf-8", "replace")[-200:]
        raise FileError(f"--pdf: {Path(words[0]).name} failed with status {done.returncode}: {why}")
    folder.write(_PDF, made)
    folder.write(manifest.NAME, manifest.render({**manifest.hashes_in(folder.read(manifest.NAME)), _PDF: folder.sha256(_PDF)}))


def _words(page: Path, pdf: Path) -> list[str]:
    weasyprint, chromium = shutil.which("weasyprint"), shutil.which("chromium")
    if weasyprint is not None:
        return [weasyprint, "--quiet", str(page), str(pdf)]
    if chromium is not None:
        return [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                "--disable-sync", "--no-pdf-header-footer", f"--user-data-dir={page.parent}", f"--print-to-pdf={pdf}", page.as_uri()]  # fmt: skip  # noqa: E501
    raise FileError("--pdf: neither weasyprint nor chromium is here; install one, or print certificate.html")
