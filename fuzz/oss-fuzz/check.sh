#!/bin/bash -eu
# Runs build.sh with the flags and the environment of OSS-Fuzz in a copy of the tree, and starts every target that comes of it with
# an empty environment. Usage: check.sh [TARGET...]; without a name every target is built. Exit status: 0 all start, 1 one does not.
root=$(cd "$(dirname "$0")/../.." && pwd)
clang=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -1 || true)
clang=$(command -v clang || command -v "$clang") || { echo "check.sh: there is no clang here" >&2; exit 1; }
cxx=$(command -v clang++ || echo "${clang/clang/clang++}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/src/fcvi" "$place/work" "$place/out"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar cf - --null --verbatim-files-from -T -) | tar xf - -C "$place/src/fcvi"
# what make has compiled of these sources here it need not compile again; it looks at the times of both, and at the command
(cd "$root" && for made in build/obj build/libfcvi.a build/libfcvi-mutator.so* build/python/libfcvi-streams.so; do
  [ ! -e "$made" ] || cp -a --parents "$made" "$place/src/fcvi"
done)

flags="-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
flags+=" -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
env -i PATH="$PATH" HOME="$place" SRC="$place/src" WORK="$place/work" OUT="$place/out" ONLY="$*" SEEDS=no TOOLS_CC=cc SANITIZER=address \
  FUZZING_ENGINE=libfuzzer CC="$clang" CXX="$cxx" CFLAGS="$flags" CXXFLAGS="$flags" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
  bash -eu "$place/src/fcvi/fuzz/oss-fuzz/build.sh"

status=0 started=0
for target in "$place"/out/fuzz_*; do
  if [ -d "$target" ] || [ ! -x "$target" ]; then continue; fi
  if beside=$(env -i LD_TRACE_LOADED_OBJECTS=1 "$target" | grep -E 'not found|lib(isal|jansson|pcap|fcvi)' | grep -v "$place/out/lib/"); then
    printf 'check.sh: %s needs libraries that are not beside it:\n%s\n' "$(basename "$target")" "$beside" >&2
    status=1
  fi
  if (cd / && env -i "$target" -runs=200 -seed=1) > "$place/said" 2>&1; then
    started=$((started + 1))
  else
    printf 'check.sh: %s does not run:\n%s\n' "$(basename "$target")" "$(tail -5 "$place/said")" >&2
    status=1
  fi
done
echo "check.sh: $started targets start"
[ "$started" -gt 0 ] || status=1
exit $status
