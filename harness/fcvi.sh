#!/bin/sh
# The fcvi command: finds its Python parts relative to itself, in a build tree and when installed alike. Start-up counts: no
# other process, no site module (the build writes down which Python it is and where that keeps its packages), and nothing out
# of the working directory (-P). What the caller's PYTHONPATH holds comes last, so that it can replace nothing; the caller's
# own programs, such as a device, see it as it was.
self=$0
if [ -L "$self" ]; then self=$(readlink -f "$self"); fi
here=${self%/*}
case $here in /*) ;; *) here=$PWD/$here ;; esac
if [ -n "${PYTHONPATH:-}" ]; then export FCVI_CALLER_PYTHONPATH="$PYTHONPATH"; else unset FCVI_CALLER_PYTHONPATH; fi
PYTHONPATH="$here/python:$here/../harness:$here/.." exec @PYTHON@ -S -P -c 'import os, sys
sys.path += [@PACKAGES@]
del os.environ["PYTHONPATH"]
theirs = os.environ.pop("FCVI_CALLER_PYTHONPATH", "")
if theirs:
    os.environ["PYTHONPATH"] = theirs
    sys.path += theirs.split(":")
from conformance.__main__ import main
sys.exit(main())' "$@"
