#!/bin/bash
# run_tests.sh PROGRAM...: C test programs on all cores; what each prints stays together. Fails when one fails.
set -u
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c '
    if out=$("{}" 2>&1); then
        tail -n 1 <<< "$out" | sed "s|^|$(basename "{}"): |"
    else
        status=$?
        printf "%s\n%s: status %s\n" "$out" "{}" "$status"
        exit 1
    fi'
