#!/bin/sh
# The fcvi command: finds its Python parts relative to itself, in a build tree and when installed alike.
here=$(dirname "$(readlink -f "$0")")
PYTHONPATH="$here/python:$here/../harness:$here/..${PYTHONPATH:+:$PYTHONPATH}" exec /usr/bin/python3 -m fcvi "$@"
