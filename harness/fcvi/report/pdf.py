"""certificate.pdf of certificate.html, by a program that is here.

It works in a directory that is nobody else's, on a copy of the page: what it writes, and by what name, touches no report.
What came is looked at before it goes into the report.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from fcvi.engine.files import FileError
from fcvi.engine.folder import Folder
from . import manifest

_, _HTML, _, _PDF = manifest.CERTIFICATE
_LONGEST_S = 300


def make(folder: Folder, said: bytes) -> bytes:
    """Write it of the page that the manifest names; give the manifest with its hash. Raises FileError, OSError,
    subprocess.SubprocessError.
    """
    page_now = folder.read(_HTML)
    if hashlib.sha256(page_now).hexdigest() != manifest.hashes_in(said).get(_HTML):
        raise FileError(f"--pdf: {folder.path / _HTML} was changed since it was judged")
    with tempfile.TemporaryDirectory(prefix="fcvi-") as place:
        page, pdf = Path(place, _HTML), Path(place, _PDF)
        page.write_bytes(page_now)
        words = _words(page, pdf)
        done = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LONGEST_S)
        with Folder(Path(place)) as scratch:
            made = scratch.read(_PDF) if scratch.has(_PDF) else b""
    if done.returncode or not made.startswith(b"%PDF-"):
        why = done.stderr.decode("utf-8", "replace")[-200:]
        raise FileError(f"--pdf: {Path(words[0]).name} failed with status {done.returncode}: {why}")
    folder.write(_PDF, made)
    said = manifest.render({**manifest.hashes_in(said), _PDF: hashlib.sha256(made).hexdigest()})
    folder.write(manifest.NAME, said)
    return said


def _words(page: Path, pdf: Path) -> list[str]:
    weasyprint, chromium = shutil.which("weasyprint"), shutil.which("chromium")
    if weasyprint is not None:
        return [weasyprint, "--quiet", str(page), str(pdf)]
    if chromium is not None:
        return [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                "--disable-sync", "--no-pdf-header-footer", f"--user-data-dir={page.parent}", f"--print-to-pdf={pdf}", page.as_uri()]  # fmt: skip  # noqa: E501
    raise FileError("--pdf: neither weasyprint nor chromium is here; install one, or print certificate.html")
