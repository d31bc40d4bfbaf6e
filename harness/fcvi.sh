#!/bin/sh
# The fcvi command: finds its Python parts relative to itself, in a build tree and when installed alike. Start-up counts: no
# other process, no site module, and nothing out of the working directory (-P).
self=$0
if [ -L "$self" ]; then self=$(readlink -f "$self"); fi
here=${self%/*}
case $here in /*) ;; *) here=$PWD/$here ;; esac
PYTHONPATH="$here/python:$here/../harness:$here/..${PYTHONPATH:+:$PYTHONPATH}:/usr/local/lib/python3.11/dist-packages:/usr/lib/python3/dist-packages" \
    exec /usr/bin/python3 -S -P -c 'import sys; from conformance.__main__ import main; sys.exit(main())' "$@"
