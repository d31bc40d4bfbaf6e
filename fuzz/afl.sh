#!/bin/bash
# afl.sh TARGET [INSTANCES] [SECONDS]: AFL++ over cores, and over hosts that share a directory.
#
# The first instance on the first host is the main one, the others are secondaries with other schedules; every second
# one of a target that says its format has the field-aware mutator. FCVI_AFL_SYNC is the directory they share
# (build/fuzz/afl), FCVI_AFL_HOST the name of this host in it: start the script on each host with the same FCVI_AFL_SYNC
# on a network file system, or copy the directories of FCVI_AFL_HOST to and fro while they run.
set -eu
if [ $# -lt 1 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
name=${1#fuzz_}
instances=${2:-$(nproc)}
seconds=${3:-0}
cd "$(dirname "$0")/.."
binary=build/fuzz/afl-fuzz_$name
sync=${FCVI_AFL_SYNC:-build/fuzz/afl/$name}
host=${FCVI_AFL_HOST:-$(hostname)}
if ! command -v afl-fuzz > /dev/null || [ ! -x "$binary" ]; then
  echo "afl.sh: needs the package afl++ and $binary (make fuzz-afl)" >&2
  exit 2
fi
seeds=build/fuzz/afl-seeds-$name
mkdir -p "$seeds" "$sync"
for folder in "fuzz/corpus/$name" "fuzz/regressions/$name" "build/fuzz/seeds/$name"; do
  [ ! -d "$folder" ] || cp -n "$folder"/* "$seeds/"
done
[ -n "$(ls -A "$seeds")" ] || printf 'fcvi' > "$seeds/any"
format=$(sed -n 's/.*fcvi_fuzz_format = {\(.*\)};.*/\1/p' "fuzz/fuzz_$name.c" | tr -d '. ' | sed 's/=true//g')
case $format in frames*) words=frames ;; *) words=frame,$format ;; esac
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_AUTORESUME=1
schedules=(fast explore coe rare lin quad)
limit=()
[ "$seconds" -gt 0 ] && limit=(-V "$seconds")
pids=()
for ((i = 0; i < instances; i++)); do
  role=(-S "$host-$i")
  [ "$i" -eq 0 ] && [ -z "${FCVI_AFL_SECONDARY:-}" ] && role=(-M "$host-$i")
  mutator=()
  [ -n "$format" ] && [ $((i % 2)) -eq 0 ] &&
    mutator=("AFL_CUSTOM_MUTATOR_LIBRARY=$PWD/build/libfcvi-mutator.so" "FCVI_MUTATOR=$words")
  env "${mutator[@]}" afl-fuzz -i "$seeds" -o "$sync" "${role[@]}" -p "${schedules[i % 6]}" "${limit[@]}" \
    -- "$binary" > "$sync/$host-$i.log" 2>&1 &
  pids+=($!)
done
trap 'kill "${pids[@]}" 2> /dev/null || true' INT TERM
wait
for ((i = 0; i < instances; i++)); do
  stats=$sync/$host-$i/fuzzer_stats
  [ -e "$stats" ] && echo "$host-$i: $(grep -E '^(execs_done|execs_per_sec|corpus_count|saved_crashes|edges_found)' "$stats" | tr -s ' \n' ' ')"
done
# crashes are findings
crashes=$(find "$sync" -path '*/crashes/id*' | wc -l)
[ "$crashes" -eq 0 ] || { echo "$crashes crashing inputs under $sync/*/crashes" >&2; exit 1; }
