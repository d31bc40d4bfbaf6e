#!/bin/bash
# Programs and the libraries that they need, as what is laid over the initial file system: rdma_programs.sh OUT.gz PROGRAM...
set -euo pipefail
out=$1
shift
root=$(mktemp -d)
part=$out.$$ # another lane may be making the same
trap 'rm -rf "$root" "$part"' EXIT
mkdir -p "$root/bin" "$root/lib/x86_64-linux-gnu" "$root/lib64" "$root/usr/lib/x86_64-linux-gnu/libibverbs" "$root/etc/libibverbs.d"
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$root/lib/x86_64-linux-gnu/" # a thread that ends asks for it
for kind in rxe siw; do
    cp -L /usr/lib/x86_64-linux-gnu/libibverbs/lib$kind-rdmav*.so "$root/usr/lib/x86_64-linux-gnu/libibverbs/"
    cp "/etc/libibverbs.d/$kind.driver" "$root/etc/libibverbs.d/"
done
for program in "$@"; do
    cp -L "$program" "$root/bin/"
    case $program in *san/*) ;; *) strip "$root/bin/$(basename "$program")" ;; esac
    ldd "$program" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
    cp -L "$library" "$root/lib/x86_64-linux-gnu/"
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$part"
mv "$part" "$out"
