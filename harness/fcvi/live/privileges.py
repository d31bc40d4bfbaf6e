"""Giving up what only the opening of an interface needs.

Whoever opened the interface, by whatever way the right to it came, has no capability afterwards, and neither has anything that
it starts: an interface that is open needs none.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Mapping, Optional

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 23, 24, 28, 38, 47
_CLEAR_ALL = 4  # of the ambient capabilities
_NOROOT_LOCKED = 0x3  # SECBIT_NOROOT and its lock: the user root is a user like any other
_CAPABILITY_VERSION_3 = 0x20080522


def wanted_ids(real: tuple[int, int], effective: tuple[int, int], environment: Mapping[str, str]) -> Optional[tuple[int, int]]:
    """Whom to become, (uid, gid): the user who called sudo or a setuid program. None: stay."""
    if real != effective and effective[0] == 0:
        return real
    if effective[0] != 0:
        return None
    try:
        uid, gid = int(environment["SUDO_UID"]), int(environment["SUDO_GID"])
    except (KeyError, ValueError):
        return None  # root by login: nobody to become
    return (uid, gid) if uid > 0 and gid >= 0 else None


def _caller() -> Optional[tuple[int, int]]:
    return wanted_ids((os.getuid(), os.getgid()), (os.geteuid(), os.getegid()), os.environ)


@contextmanager
def as_caller() -> Iterator[None]:
    """Be that user for a while: files made before an interface is open are the user's, and where the user may make them."""
    ids = _caller()
    if ids is None:
        yield
        return
    before, groups = (os.geteuid(), os.getegid()), os.getgroups()
    os.setgroups([ids[1]])
    os.setegid(ids[1])
    os.seteuid(ids[0])
    try:
        yield
    finally:
        os.seteuid(before[0])
        os.setegid(before[1])
        os.setgroups(groups)


def drop() -> None:
    """Become that user, and give up every capability, for good. Raises OSError when it cannot be done.

    Call it before there is a second thread: capabilities belong to threads.
    """
    ids, libc = _caller(), ctypes.CDLL(None, use_errno=True)
    _drop_bounding(libc)
    if ids is not None:
        uid, gid = ids
        os.setgroups([gid])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _must(libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0), but=errno.EINVAL)  # the kernel is older than ambient capabilities
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    _must(libc.capset(header, none))
    _must(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _drop_bounding(libc: ctypes.CDLL) -> None:
    """What a program that root starts could get back. Only CAP_SETPCAP may do this; no_new_privs closes the same way for all."""
    capability = 0
    while libc.prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        _must(libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0), but=errno.EPERM)
        capability += 1
    _must(libc.prctl(_PR_SET_SECUREBITS, _NOROOT_LOCKED, 0, 0, 0), but=errno.EPERM)


def _must(status: int, but: int = 0) -> None:
    number = ctypes.get_errno()
    if status < 0 and number != but:
        raise OSError(number, os.strerror(number))


def keeps_writing(directory: Path) -> bool:
    """Whether files can still be made in the directory after ``drop``: root without capabilities writes where it owns."""
    if _caller() is not None or os.geteuid() != 0:
        return True  # as_caller, or the kernel, has found out by making the first file
    found = directory.stat()
    of_group = found.st_gid in (os.getegid(), *os.getgroups())
    writable = stat.S_IWUSR if found.st_uid == 0 else stat.S_IWGRP if of_group else stat.S_IWOTH
    return bool(found.st_mode & writable)
