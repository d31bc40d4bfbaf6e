#!/bin/bash
# check.sh check: what a commit needs. check.sh nightly: the rest of the tests. Stage by stage; targets that a "+" joins run
# beside each other as one. Each tier ends with "N passed, N failed", counted over its stages.
# check.sh TIER LIMIT: what ends within so many seconds. The last line then names the stages that did not; they prove nothing.
set -u
cd "$(dirname "$0")/.." || exit 2
case ${1:-check} in
check) stages="all check-c check-python check-types+check-docs+check-pcaps+format-check+certify" ;;
nightly) stages="check-san check-tidy coverage check-install check-dist check-speed fuzz-smoke fuzz-replay check-slow" ;;
*) echo "check.sh: unknown tier '$1'; use check or nightly" >&2; exit 2 ;;
esac
limit=${2:-}
if [[ $limit && ! $limit =~ ^[1-9][0-9]{0,5}$ ]]; then
    echo "check.sh: '$limit' is no number of seconds; use 1 to 999999" >&2
    exit 2
fi
jobs=$(nproc)
passed=0
failed=0
red=""
open=""
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

run() { # the stage $1, which make puts into the log too
    local beside="" bounded=""
    [ "$1" = "${1/+/}" ] || beside="--keep-going --output-sync=target"
    [ -z "$limit" ] || bounded="timeout --signal=INT --kill-after=60 $((limit - SECONDS))"
    # shellcheck disable=SC2086
    $bounded make --no-print-directory -j"$jobs" $beside ${1//+/ } 2>&1 | tee "$log"
    return "${PIPESTATUS[0]}"
}

for stage in $stages; do
    if [ -n "$limit" ] && [ "$SECONDS" -ge "$limit" ]; then
        open="$open $stage"
        continue
    fi
    start=$SECONDS
    echo "== $stage"
    run "$stage"
    status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "== $stage: passed in $((SECONDS - start)) s"
    elif [[ $limit && $status =~ ^(124|137)$ ]] && ! grep -qE '^(FAILED|ERROR) ' "$log"; then
        open="$open $stage" # ended by timeout(1), and no test of it had failed
        echo "== $stage: cut off after $((SECONDS - start)) s"
    else
        failed=$((failed + 1))
        red="$red $stage"
        echo "== $stage: FAILED after $((SECONDS - start)) s"
    fi
done
echo "$passed passed, $failed failed${red:+:$red}${open:+; not ended within $limit s:$open}"
[ "$failed" -eq 0 ]
