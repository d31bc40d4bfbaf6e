"""SHA256SUMS, which covers every file of a certification, and the signature of it that ssh-keygen makes and checks.

The signature is a file of its own beside the manifest, so that ``sha256sum --check`` and ``ssh-keygen -Y verify`` do without us.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Mapping, Sequence

from fcvi.engine.files import FileError, encoded, read_file
from fcvi.engine.folder import Folder

NAME, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
#: The files of a certificate.
CERTIFICATE = ("certificate.json", "certificate.html", "statement.json", "certificate.pdf")
_NAMESPACE, _SIGNER = "fcvi-certificate", "laboratory"
_LONGEST_KEY = 1 << 16  # bytes
_LONGEST_S = 60
_BEGINS = b"-----BEGIN SSH SIGNATURE-----"
#: ssh-keygen looks at nothing behind the first end.
_ALONE = re.compile(_BEGINS + rb"\s[A-Za-z0-9+/=\s]*-----END SSH SIGNATURE-----\s*")


def render(hashes: Mapping[str, str]) -> bytes:
    """The file: what sha256sum would print, in the order of the names."""
    return encoded("".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)))


def hashes_in(said: bytes) -> dict[str, str]:
    """The hash of each name in a manifest, whatever it holds; what is no line of one is left out."""
    lines = (line.partition("  ") for line in said.decode("utf-8", "replace").splitlines())
    return {name: digest for digest, between, name in lines if between}


def _keygen(*words: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    """It reads standard input and writes standard output: no name of a report ever reaches it."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise FileError("ssh-keygen is not here: signatures need the package openssh-client")
    try:
        return subprocess.run([tool, *words], input=given, capture_output=True, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired as error:
        raise FileError(f"ssh-keygen has not answered in {_LONGEST_S} seconds") from error


def _why(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode("utf-8", "backslashreplace").strip().splitlines()
    return " ".join(lines[-1].split())[:200] if lines else f"exit status {done.returncode}"


def _key(path: Path) -> bytes:
    """The file of a key: ssh-keygen takes minutes to find that a large file is none. Raises FileError."""
    data = read_file(path)
    if len(data) > _LONGEST_KEY:
        raise FileError(f"{path}: {len(data)} bytes are no key of OpenSSH")
    return data


def try_key(key: Path) -> None:
    """Sign something that is thrown away, so that a key that cannot be used is known before a run. Raises FileError, OSError."""
    _key(key)
    done = _keygen("-q", "-Y", "sign", "-n", f"{_NAMESPACE}-trial", "-f", str(key), given=b"trial")
    if done.returncode or b"SIGNATURE" not in done.stdout:
        raise FileError(f"{key}: cannot sign with it: {_why(done)}")


def sign(folder: Folder, key: Path, said: bytes) -> None:
    """Sign what was judged to be the manifest with a private key of OpenSSH (or the public one, when an agent has it). Raises
    FileError, OSError.
    """
    _key(key)  # says plainly what is wrong with the name
    done = _keygen("-q", "-Y", "sign", "-n", _NAMESPACE, "-f", os.path.abspath(key), given=said)
    if done.returncode or not done.stdout.startswith(_BEGINS):
        raise FileError(f"{key}: cannot sign with it: {_why(done)}")
    refused = _refused("check-novalidate", done.stdout, said)
    if refused:
        raise FileError(f"{key}: what it signed is not {NAME}: {refused}")
    folder.write(SIGNATURE, done.stdout)


def _refused(how: str, signature: bytes, said: bytes, allowed: str = "") -> str:
    """"" when this is a signature of what is said, by one of those that are allowed; else why it is not."""
    with tempfile.TemporaryDirectory(prefix="fcvi-") as place:  # nobody else's, so that its names can be given away
        signed, who = Path(place, "signature"), Path(place, "allowed")
        signed.write_bytes(signature)
        who.write_text(allowed, encoding="utf-8")
        known = ["-f", str(who), "-I", _SIGNER] if allowed else []
        done = _keygen("-Y", how, *known, "-n", _NAMESPACE, "-s", str(signed), given=said)
    return _why(done) if done.returncode else ""


def _is_key(words: Sequence[str]) -> bool:
    """Whether this is "KIND BASE64 ...". What stands before it in a file of signers (a name, options) is none of a key, and a
    signature is not bad because of it; nor does a certificate of OpenSSH sign by itself.
    """
    try:
        kind, blob = words[0], base64.b64decode(words[1], validate=True)
    except (IndexError, ValueError):
        return False
    name = kind.encode()
    return "-cert-" not in kind and blob.startswith(len(name).to_bytes(4, "big") + name)


def check(folder: Folder, public: Path) -> str:
    """"" when the manifest is signed with this key, else why it is not. Raises FileError when the key cannot be used."""
    lines = [line for line in _key(public).decode("utf-8", "replace").splitlines() if line.strip() and line[0] != "#"]
    if len(lines) != 1 or not _is_key(lines[0].split()):
        raise FileError(f"{public}: not a public key of OpenSSH on one line")
    if not folder.has(SIGNATURE):
        return f"{SIGNATURE} is not there: nobody signed the manifest"
    signature = folder.read(SIGNATURE)
    if not _ALONE.fullmatch(signature):
        return f"{SIGNATURE} is not a signature of OpenSSH and nothing else"
    kind, key = lines[0].split()[:2]
    allowed = f'{_SIGNER} namespaces="{_NAMESPACE}" {kind} {key}\n'
    refused = _refused("verify", signature, folder.read(NAME), allowed)
    return f"{SIGNATURE} is not a signature of {NAME} with {public.name}: {refused}" if refused else ""
