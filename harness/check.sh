#!/bin/bash
# Every test of the project, stage by stage. Ends with "N passed, N failed", counted over the stages.
set -u
cd "$(dirname "$0")/.." || exit 2
stages="all check-c check-san check-python check-types check-docs check-pcaps check-speed format-check check-tidy coverage check-install check-dist fuzz-smoke fuzz-replay certify"
jobs=$(nproc)
passed=0
failed=0
red=""
for stage in $stages; do
    start=$(date +%s)
    echo "== $stage"
    if make --no-print-directory -j"$jobs" "$stage"; then
        passed=$((passed + 1))
        echo "== $stage: passed in $(($(date +%s) - start)) s"
    else
        failed=$((failed + 1))
        red="$red $stage"
        echo "== $stage: FAILED after $(($(date +%s) - start)) s"
    fi
done
echo "$passed passed, $failed failed${red:+:$red}"
[ "$failed" -eq 0 ]
