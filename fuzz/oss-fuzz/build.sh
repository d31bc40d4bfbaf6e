#!/bin/bash -eu
# What OSS-Fuzz and ClusterFuzzLite run: CC, CFLAGS, LIB_FUZZING_ENGINE and OUT come from them.
cd "$SRC/fcvi"
make -s build/libfcvi-mutator.so CC=gcc
(unset CFLAGS CXXFLAGS LD_PRELOAD; make -s fuzz-seeds CC=gcc)
includes="-Icodec/include -Irefimpl/include -Irefimpl/vipl/include -Iconformance/monitor/include -Iharness/capture -Iharness/judge -Ifuzz"
for target in fuzz/fuzz_*.c; do
  name=$(basename "$target" .c)
  case $name in fuzz_empty*) continue ;; esac
  mutator=""
  if grep -q fcvi_fuzz_format "$target"; then
    mutator="-Lbuild -lfcvi-mutator -Wl,-rpath,\$ORIGIN"
    cp -P build/libfcvi-mutator.so build/libfcvi-mutator.so.? "$OUT"
  fi
  for source in codec/src/*/*.c refimpl/src/*/*.c conformance/monitor/src/*.c harness/capture/*.c harness/judge/*.c "$target"; do
    object=${source//\//-} # two rooms may have a file of the same name
    # shellcheck disable=SC2086
    $CC $CFLAGS -std=gnu11 $includes -c "$source" -o "${object%.c}.o"
  done
  # shellcheck disable=SC2086
  $CXX $CXXFLAGS ./*.o $LIB_FUZZING_ENGINE $mutator -Wl,-Bstatic -lisal -ljansson -Wl,-Bdynamic -lpcap -o "$OUT/$name"
  rm -f ./*.o
  folders=()
  for folder in "fuzz/corpus/${name#fuzz_}" "fuzz/regressions/${name#fuzz_}" "build/fuzz/seeds/${name#fuzz_}"; do
    [ -d "$folder" ] && folders+=("$folder")
  done
  [ ${#folders[@]} -eq 0 ] || zip -qjr "$OUT/${name}_seed_corpus.zip" "${folders[@]}"
  cp build/fuzz/fcvi.dict "$OUT/$name.dict"
  printf '[libfuzzer]\nmax_len = %s\n' "$(fuzz/arguments.sh "$name" | sed -n 's/^-max_len=//p')" > "$OUT/$name.options"
done
