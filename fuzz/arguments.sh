#!/bin/bash
# arguments.sh NAME [BUILD]: what libFuzzer is told about a target, a line each: length, schedule, and the inputs of the
# repository; with BUILD also the dictionary and the seeds that `make fuzz-seeds` has made there.
set -eu
name=$1 build=${2:-}
here=$(dirname "$0")
short=${name#fuzz_}
# A connect IU has 652 bytes; more of a frame is Message Data.
case $short in
capture | unpack) length=8192 ;;
message) length=1000 ;;
monitor) length=1600 ;;
port | *pair | descriptor | reassembly) length=600 ;;
*) length=704 ;;
esac
echo "-max_len=$length"
# Counting how rare each branch is costs more than a whole execution of the codec's targets, and a third of one of the
# ports'; a corpus that has most branches gains nothing by it. So it is with the search for shorter inputs of the same
# branches, which `make fuzz-minimise` does at leisure.
# The engine takes late inputs more often than early ones, and would have the short ones first: in any order, connect IUs
# are no longer two of three.
case $short in
frame | iu | values | print) printf '%s\n' -entropic=0 -reduce_inputs=0 -prefer_small=0 ;;
message | port | *pair | descriptor) echo -entropic=0 ;;
esac
folders=("$here/corpus/$short" "$here/regressions/$short")
if [ -n "$build" ]; then
  [ ! -e "$build/fuzz/fcvi.dict" ] || echo "-dict=$build/fuzz/fcvi.dict"
  folders+=("$build/fuzz/seeds/$short")
fi
for folder in "${folders[@]}"; do
  [ ! -d "$folder" ] || echo "$folder"
done
