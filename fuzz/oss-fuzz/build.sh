#!/bin/bash -eu
# What OSS-Fuzz and ClusterFuzzLite run: CC, CFLAGS, CXX, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT come from them.
# ONLY="fuzz_frame fuzz_iu" builds these targets alone, SEEDS=no makes no seeds, TOOLS_CC=cc takes that compiler
# for what is no target; check.sh asks for all three.
cd "$SRC/fcvi"
includes="-Icodec/include -Irefimpl/include -Irefimpl/vipl/include -Iconformance/monitor/include -Iharness/capture -Iharness/judge -Iharness/mutator -Ifuzz"
tools() { env -u CFLAGS -u CXXFLAGS -u LDFLAGS -u CPPFLAGS -u LD_PRELOAD -u CC -u CXX make -s -j"$(nproc)" CC="${TOOLS_CC:-gcc}" "$@"; }

# What is no target runs on the machine that builds, so it has neither the sanitizers nor the compiler of the targets.
# It is made in build/, and the objects of the targets in $WORK.
tools build/libfcvi-mutator.so build/python/libfcvi-streams.so
[ "${SEEDS:-yes}" = no ] || tools fuzz-seeds || echo "build.sh: no seeds could be made: the corpora hold what the repository keeps" >&2

# Two rooms may have files of the same name: an object has the path of its source.
compile() { # the sources, on every core; their objects are added to `objects`
  local source
  for source in "$@"; do
    mkdir -p "$WORK/objects/$(dirname "$source")"
    objects+=("$WORK/objects/${source%.c}.o")
  done
  # shellcheck disable=SC2016,SC2086
  printf '%s\n' "$@" | CC="$CC" xargs -P "$(nproc)" -I '{}' sh -c \
    'source=$1 && shift && exec $CC "$@" -c "$source" -o "$WORK/objects/${source%.c}.o"' compile '{}' $CFLAGS -std=gnu11 $includes
}
export WORK
rm -rf "$WORK/objects"
objects=()
compile codec/src/*/*.c refimpl/src/*/*.c conformance/monitor/src/*.c conformance/monitor/src/*/*.c harness/capture/*.c harness/judge/*.c
library=("${objects[@]}")
objects=()
compile refimpl/vipl/src/*.c
vipl=("${objects[@]}")

# Targets run where only the C library is sure to be: the other libraries go beside them. An RPATH holds for the libraries of a
# library too, a RUNPATH would not.
mkdir -p "$OUT/lib"
bundle() {
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | while read -r file; do
    case $(basename "$file") in
      libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.*) ;;
      *) [ "$file" -ef "$OUT/lib/$(basename "$file")" ] || cp -L "$file" "$OUT/lib/" ;;
    esac
  done
}
cp build/libfcvi-mutator.so build/libfcvi-mutator.so.? "$OUT/lib/"
mkdir -p "$OUT/python" # where a target looks for it
cp build/python/libfcvi-streams.so "$OUT/python/"
bundle "$OUT/python/libfcvi-streams.so"

for target in fuzz/fuzz_*.c; do
  name=$(basename "$target" .c)
  [[ -z ${ONLY:-} || " $ONLY " == *" $name "* ]] || continue
  mutator=""
  ! grep -q fcvi_fuzz_format "$target" || mutator="-L$OUT/lib -lfcvi-mutator"
  objects=("${library[@]}")
  ! grep -q fcvi/vipl_host "$target" || objects+=("${vipl[@]}") # another target has VIPL calls of its own
  compile "$target"
  # shellcheck disable=SC2086,SC2016
  $CXX $CXXFLAGS "${objects[@]}" $LIB_FUZZING_ENGINE $mutator -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN/lib' \
    -lisal -ljansson -lpcap -o "$OUT/$name"
  bundle "$OUT/$name"
  folders=()
  for folder in "fuzz/corpus/${name#fuzz_}" "fuzz/regressions/${name#fuzz_}" "build/fuzz/seeds/${name#fuzz_}"; do
    [ -d "$folder" ] && folders+=("$folder")
  done
  [ ${#folders[@]} -eq 0 ] || zip -qjr "$OUT/${name}_seed_corpus.zip" "${folders[@]}"
  [ ! -f "build/fuzz/fcvi.dict" ] || cp "build/fuzz/fcvi.dict" "$OUT/$name.dict"
  printf '[libfuzzer]\nmax_len = %s\n' "$(fuzz/arguments.sh "$name" | sed -n 's/^-max_len=//p')" > "$OUT/$name.options"
done
