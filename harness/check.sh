#!/bin/bash
# check.sh check: what a commit needs. check.sh nightly: the rest of the tests. Stage by stage; targets that a "+" joins run
# beside each other as one. Each tier ends with "N passed, N failed", counted over its stages.
set -u
cd "$(dirname "$0")/.." || exit 2
case ${1:-check} in
check) stages="all check-c check-python check-types+check-docs+check-pcaps+format-check+certify" ;;
nightly) stages="check-san check-slow check-speed check-tidy coverage check-install check-dist fuzz-smoke fuzz-replay" ;;
*) echo "check.sh: unknown tier '$1'; use check or nightly" >&2; exit 2 ;;
esac
jobs=$(nproc)
passed=0
failed=0
red=""
for stage in $stages; do
    start=$(date +%s)
    echo "== $stage"
    beside=""
    [ "$stage" = "${stage/+/}" ] || beside="--keep-going --output-sync=target"
    # shellcheck disable=SC2086
    if make --no-print-directory -j"$jobs" $beside ${stage//+/ }; then
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
