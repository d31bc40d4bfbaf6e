#!/bin/bash -eu
exec "$SRC/fcvi/fuzz/oss-fuzz/build.sh"
