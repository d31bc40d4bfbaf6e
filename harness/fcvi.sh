#!/bin/sh
# The fcvi command: finds its Python parts relative to itself, in a build tree and when installed alike. Start-up counts: no
# other process, no site module (the build writes down which Python it is and where that keeps its packages). -I: nothing of
# the caller's environment (PYTHONOPTIMIZE, PYTHONHOME) and nothing out of the working directory changes what the suite does.
# What the caller's PYTHONPATH holds comes last, so that it can replace nothing; the caller's own programs see it as it was.
# env --block-signal: an interrupt that comes while Python starts waits until engine/interrupt.py takes it, with one line for the user.
# whole: on a full disk Python keeps the half of a compiled module, and no later start can read it (python/cpython issue 126606).
# os._exit: main has written everything out, and Python would give back each piece of memory for itself before the system takes all.
self=$0
if [ -L "$self" ]; then self=$(readlink -f "$self"); fi
here=${self%/*}
case $here in /*) ;; *) here=$PWD/$here ;; esac
exec @ENV@@PYTHON@ -I -S -c 'import os, sys
here = sys.argv.pop(1)
sys.path = [here + "/python", here + "/../harness", here + "/..", *sys.path, @PACKAGES@]
sys.path += [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
import _frozen_importlib_external as loader
def whole(path, data, mode=0o666):
    part = path + "." + str(os.getpid())
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o666)
    try:
        if os.write(descriptor, data) < len(data): raise OSError("no room")
        os.replace(part, path)
    except OSError:
        os.unlink(part)
        raise
    finally: os.close(descriptor)
loader._write_atomic = whole
from conformance.__main__ import main
os._exit(main())' "$here" "$@"
