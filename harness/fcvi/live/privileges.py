"""Giving up what only the opening of an interface needs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator, Mapping, Optional


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
    """Become that user for good. Raises OSError when it cannot be done."""
    ids = _caller()
    if ids is None:
        return
    uid, gid = ids
    os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
