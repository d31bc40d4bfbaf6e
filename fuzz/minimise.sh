#!/bin/bash
# minimise.sh BUILD .../plain-NAME: merge what is known into fuzz/corpus/NAME, without what adds nothing.
set -eu
build=$1 target=$2
here=$(dirname "$0")
[ -x "$target" ] || { echo "minimise.sh: there is no target $target: make $target builds it" >&2; exit 2; }
name=$(basename "$target")
name=fuzz_${name#plain-}
out=$here/corpus/${name#fuzz_}
fresh=$build/fuzz/minimised-$name
rm -rf "$fresh"
mkdir -p "$fresh" "$out"
mapfile -t arguments < <("$here/arguments.sh" "$name" "$build")
[ ! -d "$build/fuzz/corpus-$name" ] || arguments+=("$build/fuzz/corpus-$name")
# How often an edge is taken counts for the small targets only: for the others that would keep thousands of inputs.
counters=()
case ${name#fuzz_} in capture | monitor | message | port | pair) counters=(-use_counters=0) ;; esac
"$target" -set_cover_merge=1 -use_value_profile=0 "${counters[@]}" "$fresh" "${arguments[@]}" > "$build/fuzz/minimise-$name.log" 2>&1 ||
  { tail -20 "$build/fuzz/minimise-$name.log"; exit 1; }
rm -rf "$out"
mv "$fresh" "$out"
echo "$name: $(find "$out" -type f | wc -l) inputs, $(du -sb "$out" | cut -f1) bytes"
