#!/bin/bash
# run.sh BUILD SECONDS TARGET...: each libFuzzer target for so many seconds. What it finds stays in BUILD/fuzz/corpus-NAME;
# an input that breaks something is written to BUILD/fuzz and ends the run.
set -eu
build=$1 seconds=$2
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then # libFuzzer takes 0 for no limit at all
  echo "fuzz: FUZZ_SECONDS is a number of seconds above 0, not '$seconds'" >&2
  exit 2
fi
shift 2
here=$(dirname "$0")
for target in "$@"; do
  name=$(basename "$target")
  corpus=$build/fuzz/corpus-$name
  mkdir -p "$corpus"
  mapfile -t arguments < <("$here/arguments.sh" "$name" "$build")
  echo "== $name"
  "$target" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/fuzz/" "$corpus" "${arguments[@]}" 2>&1 | grep -av '^#\|^"\|^stat::peak\|NEW_FUNC'
  test "${PIPESTATUS[0]}" -eq 0
done
