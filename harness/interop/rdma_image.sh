#!/bin/bash
# The Debian kernel and an initial file system with rdma_rxe, and with siw where it is asked for, for rdma.py:
# rdma_image.sh OUT [siw]
# Debian's kernel has rdma_rxe; siw is built here from Debian's own kernel source, as it is. Both are kept in OUT, and so are the
# packages that were loaded: another call loads nothing again. Nothing is installed but, when we are root, the tools; packages are only unpacked.
set -euo pipefail
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/sbin:/sbin"
siw=${2:-}
has_siw() { compgen -G "$out/siw-*.ko" > /dev/null; }
if [ -s "$out/vmlinuz" ] && [ -s "$out/base.gz" ] && [ "$out/base.gz" -nt "$here/init-rdma" ]; then
    if [ -z "$siw" ] || has_siw; then exit 0; fi
fi

missing=
for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod dpkg-deb:dpkg gcc-12:gcc-12 xz:xz-utils; do
    command -v "${pair%%:*}" > /dev/null || missing="$missing ${pair#*:}"
done
[ -e /etc/libibverbs.d/siw.driver ] || missing="$missing ibverbs-providers"
if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "interop-rdma: these packages are missing:$missing (apt-get install --no-install-recommends$missing)" >&2
        exit 3
    fi
    apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

# download PACKAGE...: each is told with its size, and unpacked into $work/root
download() {
    mkdir -p "$out/packages"
    (cd "$out/packages" && apt-get download -q "$@" 2>&1 | sed -n 's/^Get:[0-9]* [^ ]* /interop-rdma: downloads /p')
    for package; do
        for file in "$out/packages/${package}"_*.deb; do newest=$file; done
        dpkg-deb -x "$newest" "$work/root"
    done
}

image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
version=${image#linux-image-}  # 6.1.0-56-amd64
[ -n "$image" ] || { echo "interop-rdma: apt knows no kernel (linux-image-amd64): is there a list of packages?" >&2; exit 3; }
series=$(echo "$version" | cut -d. -f1,2)
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
download "$image" || { echo "interop-rdma: $image cannot be loaded" >&2; exit 3; }

# siw, which Debian's configuration leaves out
build_siw() {
    download "linux-source-$series" "linux-headers-$version" "linux-headers-${version%-*}-common" "linux-kbuild-$series" \
        linux-compiler-gcc-12-x86 || return
    tar -C "$work" -xf "$work/root/usr/src/linux-source-$series.tar.xz" --strip-components=4 --wildcards '*/drivers/infiniband/sw/siw'
    local headers=$work/root/usr/src/linux-headers-$version
    sed -i "s|/usr/src/|$work/root/usr/src/|g" "$headers/Makefile"
    make -s -C "$headers" "M=$work/siw" CONFIG_RDMA_SIW=m CC=gcc-12 modules > "$work/siw.log" 2>&1 || { tail -n 5 "$work/siw.log" >&2; return 1; }
    strip --strip-debug "$work/siw/siw.ko"
    cp "$work/siw/siw.ko" "$out/siw-$version.ko"
}
if [ -n "$siw" ] && [ ! -s "$out/siw-$version.ko" ]; then
    echo "interop-rdma: builds siw from Debian's kernel source"
    began=$(date +%s)
    if build_siw; then
        echo "interop-rdma: siw of Debian's kernel source built in $(($(date +%s) - began)) s"
    else
        echo "interop-rdma: siw could not be built; only rxe is there (remove $out to try again)" >&2
    fi
fi

root=$work/initrd
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/lib/modules" "$root/tmp" "$root/run"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh mount insmod ip cat echo ls mkdir sleep dmesg sed head grep poweroff kill timeout ps; do ln -sf busybox "$root/bin/$name"; done
kernel=$work/root
[ -d "$kernel/lib/modules/$version" ] || kernel=$work/root/usr
depmod -b "$kernel" "$version"
for module in virtio_pci virtio_net virtio_console ib_uverbs rdma_ucm rdma_rxe crc32_generic crc32c_generic libcrc32c; do
    # crc32c_intel asks for an instruction that the emulated processor does not have
    modprobe -d "$kernel" -S "$version" --show-depends "$module" 2> /dev/null | awk '$1 == "insmod" && !/crc32c-intel/ { print $2 }'
done | awk '!seen[$0]++' | while read -r path; do
    cp "$path" "$root/lib/modules/"
    basename "$path" >> "$root/lib/modules.order"
done
if [ -s "$out/siw-$version.ko" ]; then
    cp "$out/siw-$version.ko" "$root/lib/modules/siw.ko"
    echo siw.ko >> "$root/lib/modules.order"
fi
gcc -std=c11 -O1 -Wall -Werror -static -o "$root/bin/rdma_link" "$here/rdma_link.c"
install -m 755 "$here/init-rdma" "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$out/base.part"
cp "$work/root/boot/vmlinuz-$version" "$out/vmlinuz"
mv "$out/base.part" "$out/base.gz"
echo "interop-rdma: Debian kernel $version, $(du -k "$out/base.gz" | cut -f1) KiB of initial file system"
