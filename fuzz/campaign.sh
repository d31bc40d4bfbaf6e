#!/bin/bash
# campaign.sh BUILD SECONDS SLICE TARGET[*WEIGHT]...: the libFuzzer targets in turn, SLICE seconds each time, for SECONDS in all.
#
# A target with a weight comes that many times a round. The targets are copied first, so that a build in between does
# not disturb. BUILD/fuzz/campaign.tsv gets a line a slice: when, target, CPU seconds (user and system), executions,
# exit status; the total is printed at the end, or of what there is with SECONDS 0. An input that broke something is
# kept in BUILD/fuzz/found, and the campaign goes on.
set -eu
build=$1 seconds=$2 slice=$3
shift 3
here=$(dirname "$0")
log=$build/fuzz/campaign.tsv found=$build/fuzz/found copies=$build/campaign/targets
mkdir -p "$found" "$copies"
turns=()
for entry in "$@"; do
  target=${entry%\**} weight=1
  [ "$target" = "$entry" ] || weight=${entry##*\*}
  cp "$target" "$copies/"
  for ((i = 0; i < weight; i++)); do turns+=("$(printf '%d %s' "$i" "$(basename "$target")")"); done
done
if [ $# -ne 0 ]; then # where the targets look for them
  cp -P "$build/libfcvi-mutator.so" "$build"/libfcvi-mutator.so.? "$build/campaign/"
  mkdir -p "$build/campaign/python"
  cp "$build"/python/libfcvi-*.so "$build/campaign/python/" # without it no stream of FCIP is read
fi
# every target once before any comes again
mapfile -t turns < <(printf '%s\n' "${turns[@]}" | sort -s -n -k1,1 | cut -d' ' -f2)
end=$((SECONDS + seconds))
TIMEFORMAT='%U + %S'
while [ "$SECONDS" -lt "$end" ]; do
  for name in "${turns[@]}"; do
    left=$((end - SECONDS))
    [ "$left" -gt 0 ] || break
    corpus=$build/fuzz/corpus-$name out=$copies/$name.log
    mkdir -p "$corpus"
    mapfile -t arguments < <("$here/arguments.sh" "$name" "$build")
    status=0
    times=$({ time "$copies/$name" -max_total_time=$((left < slice ? left : slice)) -print_final_stats=1 \
      -artifact_prefix="$found/$name-" "$corpus" "${arguments[@]}" > "$out" 2>&1; } 2>&1) || status=$?
    [ "$status" -eq 0 ] || cp "$out" "$found/$name-$(date -u +%H%M%S).log"
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out")
    printf '%s\t%s\t%s\t%s\t%d\n' "$(date -u +%FT%TZ)" "$name" "$(bc <<< "$times")" "${executions:-0}" "$status" >> "$log"
  done
done
awk -F'\t' '{cpu[$2] += $3; runs[$2] += $4; bad[$2] += $5 != 0; total += $3; all += $4; broken += $5 != 0}
  END {for (t in cpu) printf "%-14s %8.0f CPU seconds %14.0f executions %d findings\n", t, cpu[t], runs[t], bad[t] | "sort";
       close("sort"); printf "total %.2f CPU hours, %.0f executions, %d findings\n", total / 3600, all, broken}' "$log"
