#!/bin/bash
# run.sh CLANG BUILD: builds the example as harness/docs/testing-the-suite.md says and sees that the mutator finds its defect.
set -eu
clang=$1 build=$2
here=$(dirname "$0")
"$clang" -g -fsanitize=fuzzer,address -I"$here/../../harness/mutator" "$here/your_parser.c" -L"$build" -lfcvi-mutator -Wl,-rpath,"$PWD/$build" \
  -o "$build/fuzz/your_parser"
if "$build/fuzz/your_parser" -seed=1 -max_len=704 -runs=3000000 -artifact_prefix="$build/fuzz/example-" > "$build/fuzz/example.log" 2>&1; then
  echo "the mutator did not find the defect of the example" >&2
  exit 1
fi
grep -q global-buffer-overflow "$build/fuzz/example.log"
rm -f "$build"/fuzz/example-crash-*
echo "the example's defect was found"
