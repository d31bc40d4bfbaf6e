#!/bin/bash
# run_tests.sh PROGRAM...: C test programs on all cores; what each prints stays together. Fails when one fails.
# What a test frees serves the next one, instead of new pages from the kernel each time (half of the time of some).
set -u
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=2000000000
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c '
    if out=$("{}" 2>&1); then
        tail -n 1 <<< "$out" | sed "s|^|$(basename "{}"): |"
    else
        status=$?
        printf "%s\n%s: status %s\n" "$out" "{}" "$status"
        exit 1
    fi'
